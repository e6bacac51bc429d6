//! What a server keeps of rooms that sleep: nothing.

#[path = "../examples/rooms/heap.rs"]
mod heap;

use std::time::{Duration, Instant};

use room::prelude::*;
use room::server::{Server, ServerHandle, SqliteStore};
use tokio::time::sleep;

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// Rooms that come and go.
const ROOMS: usize = 64;
/// Bytes that may stay of them all: tables have sizes of their own, and the last statements are let go with others.
const LEFT: usize = 4 << 10;

struct Empty;

impl Game for Empty {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new()
    }
}

/// Somebody comes into each of these rooms and leaves, until all sleep. Returns what the process has of the heap then.
async fn visit(server: &ServerHandle<Empty>, wave: usize) -> usize {
    for number in 0..ROOMS {
        let url = server.url(&format!("wave-{wave}-room-{number}"));
        let mut client = room_client::connect(url, Empty::schema()).await.expect("she joins");
        assert!(client.leave().await);
    }
    let began = Instant::now();
    while !server.rooms().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "they do not sleep");
        sleep(Duration::from_millis(20)).await;
    }
    // The last tasks come to their end.
    sleep(Duration::from_millis(500)).await;
    heap::held()
}

#[tokio::test]
async fn rooms_that_sleep_leave_nothing_in_the_memory_of_their_server() {
    let folder = std::env::temp_dir().join(format!("room-asleep-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let store = SqliteStore::open(folder.join("rooms.db")).expect("a store");
    let server = Server::new(|_: &str| Empty).port(0).store(store).sleep_seconds(0).rooms_per_minute(100_000);
    let server = server.sockets_per_second(100_000).start().await.expect("it starts");
    // What the first rooms of a server need stays with it.
    let first = visit(&server, 0).await;
    let second = visit(&server, 1).await;
    assert!(second < first + LEFT, "{first} bytes, and then {second}");
    assert_eq!(server.label("wave-1-room-7").await.expect("it sleeps").code.len(), 6);
    server.shutdown().await;
    std::fs::remove_dir_all(&folder).expect("it is closed");
}

//! Servers with a store, over real sockets: stopped, started again, failing, asleep.

#[path = "restart/gate.rs"]
mod gate;
#[path = "restart/rough.rs"]
mod rough;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use room::prelude::*;
use room::server::{Server, ServerHandle, SqliteOptions, SqliteStore};
use room::storage::{Commit, Done, MemoryStore, Store, StoreError, StoredRoom, Taken};
use room_client::{Client, Event, Status};
use tokio::time::sleep;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Entity, Clone, Debug, Default, PartialEq)]
struct Tally {
    count: u32,
    text: String,
}

/// Events are words: `panic` panics, `mail` writes to the room `post`, `work` waits for something, `effect` asks for one.
#[derive(Default)]
struct Hall;

static PERFORMED: AtomicU32 = AtomicU32::new(0);

impl Game for Hall {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().state::<Tally>()
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: String) {
        let count = room.state::<Tally>().count + 1;
        room.state_mut::<Tally>().set_count(count);
        match event.as_str() {
            "fill" => room.state_mut::<Tally>().set_text("x".repeat(12_000)).expect("it is short"),
            "panic" => panic!("the test asked for it"),
            "mail" => room.send_to("post", &("a letter", count)).expect("it is short"),
            "work" => room.spawn("sum", async { 40 + 2 }),
            "effect" => room.after_commit("once").expect("it is short"),
            _ => room.send(peer.conn, &event).expect("it is short"),
        }
    }

    fn on_message(&mut self, room: &mut Room<Self>, from: &str, message: Payload) {
        let (text, count): (String, u32) = message.read().expect("a letter");
        let mut tally = room.state_mut::<Tally>();
        tally.set_text(format!("{text} from {from}")).expect("it is short");
        tally.set_count(count);
    }

    fn on_answer(&mut self, room: &mut Room<Self>, name: &str, answer: Answer) {
        let sum: u32 = answer.expect("it works").read().expect("a sum");
        room.state_mut::<Tally>().set_text(format!("{name} {sum}")).expect("it is short");
    }

    async fn perform(effect: Effect) -> Result<(), String> {
        assert_eq!(effect.payload.read::<String>().as_deref(), Ok("once"));
        // The first try fails.
        if PERFORMED.fetch_add(1, Ordering::SeqCst) == 0 { Err("not yet".into()) } else { Ok(()) }
    }
}

fn hall(store: &MemoryStore) -> Server<Hall> {
    Server::new(|_: &str| Hall).port(0).store(store.clone())
}

/// A server on a port of its own, so that clients find the next one.
async fn started(server: Server<Hall>, port: u16) -> ServerHandle<Hall> {
    server.port(port).start().await.expect("it starts")
}

async fn until(client: &mut Client, mut done: impl FnMut(&mut Client) -> bool) {
    let began = Instant::now();
    loop {
        client.update(Instant::now());
        if done(client) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{client:?}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// A client that has joined.
async fn join(url: String) -> Client {
    room_client::connect(url, Hall::schema()).auth(&"friend").await.expect("she joins")
}

fn count(client: &Client) -> Option<u32> {
    client.state::<Tally>().map(|tally| tally.count)
}

fn lost(client: &mut Client) -> bool {
    client.events().any(|event| matches!(event, Event::SessionLost { .. }))
}

#[tokio::test]
async fn players_go_on_in_the_next_process() {
    let store = MemoryStore::new();
    let server = started(hall(&store), 0).await;
    let port = server.local_addr().port();
    let mut ada = join(server.url("a")).await;
    let session = ada.session();
    ada.send("one").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    server.shutdown().await;
    until(&mut ada, |ada| *ada.status() == Status::Reconnecting).await;
    ada.send("two").unwrap();
    let server = started(hall(&store), port).await;
    assert_eq!(server.rooms(), ["a"], "a room that ran when the server ended is woken at once");
    until(&mut ada, |ada| count(ada) == Some(2)).await;
    assert_eq!(ada.session(), session);
    assert!(!lost(&mut ada));
    server.shutdown().await;
}

#[tokio::test]
async fn a_room_that_fails_is_woken_and_an_event_that_always_fails_it_is_given_up() {
    let store = MemoryStore::new();
    let server = started(hall(&store), 0).await;
    let (mut ada, mut bo) = (join(server.url("a")).await, join(server.url("a")).await);
    bo.send("one").unwrap();
    until(&mut bo, |bo| count(bo) == Some(1)).await;
    let failing = ada.send("panic").unwrap();
    bo.send("two").unwrap();
    let (mut failed, mut codes) = (false, Vec::new());
    until(&mut ada, |ada| {
        if let Some(drop) = ada.last_drop() {
            codes.push(format!("{drop:?}"));
        }
        failed |= ada.events().any(|event| matches!(event, Event::Failed(id) if id == failing));
        failed && ada.is_joined()
    })
    .await;
    assert!(codes.iter().any(|drop| drop.contains("4012") && drop.contains("saved")), "{codes:?}");
    // What the failed event wrote is gone with each failure.
    until(&mut bo, |bo| count(bo) == Some(2)).await;
    until(&mut ada, |ada| count(ada) == Some(2)).await;
    server.shutdown().await;
}

#[tokio::test]
async fn what_a_room_asks_for_outside_is_done() {
    let store = MemoryStore::new();
    let server = started(hall(&store), 0).await;
    let (mut ada, mut postman) = (join(server.url("a")).await, join(server.url("post")).await);
    let text = |client: &mut Client| client.state::<Tally>().map(|tally| tally.text.clone());
    ada.send("work").unwrap();
    until(&mut ada, |ada| text(ada).as_deref() == Some("sum 42")).await;
    ada.send("mail").unwrap();
    until(&mut postman, |postman| text(postman).as_deref() == Some("a letter from a")).await;
    ada.send("effect").unwrap();
    until(&mut ada, |_| PERFORMED.load(Ordering::SeqCst) == 2).await;
    server.shutdown().await;
}

#[tokio::test]
async fn a_room_sleeps_and_is_woken_by_who_joins_or_writes() {
    let store = MemoryStore::new();
    let quick = || hall(&store).sleep_seconds(0).hold_seconds(0);
    let server = started(quick(), 0).await;
    let mut ada = join(server.url("post")).await;
    ada.send("one").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    ada.leave().await;
    until(&mut ada, |_| server.rooms().is_empty()).await;
    assert!(!store.rooms().unwrap()[0].awake);
    let mut bo = join(server.url("a")).await;
    let before = store.bytes("post");
    bo.send("mail").unwrap();
    until(&mut bo, |_| store.bytes("post") > before).await;
    server.shutdown().await;
    let server = started(quick(), 0).await;
    let mut ada = join(server.url("post")).await;
    until(&mut ada, |ada| ada.state::<Tally>().is_some_and(|tally| tally.text == "a letter from a")).await;
    server.shutdown().await;
}

/// A store that refuses for a while.
#[derive(Clone, Default)]
struct Full {
    store: MemoryStore,
    full: Arc<AtomicU32>,
}

impl Store for Full {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.store.rooms()
    }
    fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.store.awake()
    }
    fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError> {
        self.store.find(room)
    }
    fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
        self.store.by_code(code)
    }
    fn take(&self, room: &str) -> Result<Taken, StoreError> {
        self.store.take(room)
    }
    fn commit(&self, commit: Arc<Commit>, done: Done) {
        let full = self.full.load(Ordering::SeqCst) > 0;
        done(if full { Err(StoreError::Full("the test".into())) } else { self.store.keep(&commit) });
    }
}

#[tokio::test]
async fn what_cannot_be_stored_is_not_sent() {
    let store = Full::default();
    let server = Server::new(|_: &str| Hall).port(0).store(store.clone());
    let server = started(server, 0).await;
    let mut ada = join(server.url("a")).await;
    ada.send("one").unwrap();
    until(&mut ada, |ada| count(ada) == Some(1)).await;
    store.full.store(1, Ordering::SeqCst);
    ada.send("two").unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        ada.update(Instant::now());
        assert_eq!((count(&ada), ada.unacknowledged()), (Some(1), 1));
        sleep(Duration::from_millis(20)).await;
    }
    store.full.store(0, Ordering::SeqCst);
    until(&mut ada, |ada| count(ada) == Some(2) && ada.unacknowledged() == 0).await;
    assert!(ada.last_drop().is_none(), "a short time costs nobody her connection");
    // For longer than a room waits.
    store.full.store(1, Ordering::SeqCst);
    ada.send("three").unwrap();
    until(&mut ada, |ada| ada.last_drop().is_some_and(|drop| format!("{drop:?}").contains("4012"))).await;
    assert_eq!(count(&ada), Some(2));
    store.full.store(0, Ordering::SeqCst);
    until(&mut ada, |ada| count(ada) == Some(3) && ada.unacknowledged() == 0).await;
    assert!(!lost(&mut ada));
    server.shutdown().await;
}

#[tokio::test]
async fn a_damaged_room_is_refused_and_the_others_run() {
    let store = MemoryStore::new();
    let server = started(hall(&store), 0).await;
    for name in ["a", "b"] {
        let mut ada = join(server.url(name)).await;
        ada.send("one").unwrap();
        until(&mut ada, |ada| count(ada) == Some(1)).await;
    }
    server.shutdown().await;
    store.edit("a", |rows| rows[0][5] ^= 1);
    let server = started(hall(&store), 0).await;
    let mut bo = join(server.url("b")).await;
    until(&mut bo, |bo| count(bo) == Some(1)).await;
    let refused = room_client::connect(server.url("a"), Hall::schema()).auth(&"friend").await;
    let error = refused.expect_err("it cannot be loaded").to_string();
    assert!(error.contains("could not be loaded"), "{error}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_full_disk_holds_back_what_it_does_not_take_and_nothing_acknowledged_is_lost() {
    let folder = std::env::temp_dir().join(format!("room-full-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("rooms.db");
    let open = |max_bytes| {
        let options = SqliteOptions { max_bytes, ..SqliteOptions::default() };
        Server::new(|_: &str| Hall).port(0).store(SqliteStore::open_with(&file, options).expect("it opens"))
    };
    let server = started(open(Some(120_000)), 0).await;
    let port = server.local_addr().port();
    let mut ada = join(server.url("a")).await;
    let mut sent = 0;
    let (mut acknowledged, mut seen) = (0, 0);
    until(&mut ada, |ada| {
        if sent < 40 && ada.unacknowledged() < 3 {
            ada.send("fill").expect("she may");
            sent += 1;
        }
        acknowledged = acknowledged.max(sent - ada.unacknowledged() as u32);
        seen = seen.max(count(ada).unwrap_or_default());
        ada.last_drop().is_some_and(|drop| format!("{drop:?}").contains("4012"))
    })
    .await;
    assert!((1..40).contains(&seen) && acknowledged <= seen, "{acknowledged} of {sent}, {seen} seen");
    server.shutdown().await;
    // Space is back.
    let server = started(open(None), port).await;
    until(&mut ada, |ada| count(ada) == Some(sent) && ada.unacknowledged() == 0).await;
    assert!(!lost(&mut ada));
    server.shutdown().await;
    std::fs::remove_dir_all(&folder).expect("it is the test's own");
}

/// What the next test starts: a server that runs until it is told to stop.
#[cfg(unix)]
#[tokio::test]
#[ignore = "another test starts it"]
async fn a_server_of_its_own() {
    let Ok(file) = std::env::var(FILE) else { return };
    let port = std::env::var(PORT).expect("a port").parse().expect("a port");
    let store = SqliteStore::open(file).expect("it opens");
    Server::new(|_: &str| Hall).port(port).store(store).run().await.expect("it runs");
}

#[cfg(unix)]
const FILE: &str = "ROOM_RESTART_FILE";
#[cfg(unix)]
const PORT: &str = "ROOM_RESTART_PORT";

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_is_told_to_stop_keeps_everything_and_ends_well() {
    use rustix::process::{Pid, Signal, kill_process};

    let folder = std::env::temp_dir().join(format!("room-stop-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("free").port();
    let start = || {
        std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "a_server_of_its_own", "--ignored", "--nocapture"])
            .env(FILE, folder.join("rooms.db"))
            .env(PORT, port.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a process")
    };
    let mut server = start();
    let url = format!("ws://127.0.0.1:{port}/rooms/a");
    let mut ada = room_client::connect(url, Hall::schema()).auth(&"friend").start().expect("it is a URL");
    until(&mut ada, |ada| ada.is_joined()).await;
    let session = ada.session();
    for round in 1..=3 {
        ada.send("one more").expect("she may");
        until(&mut ada, |ada| count(ada) == Some(round) && ada.unacknowledged() == 0).await;
        kill_process(Pid::from_child(&server), Signal::TERM).expect("it runs");
        until(&mut ada, |ada| *ada.status() == Status::Reconnecting).await;
        let drop = format!("{:?}", ada.last_drop());
        assert!(drop.contains("1001"), "{drop}");
        let ended = server.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
        server = start();
        until(&mut ada, |ada| ada.is_joined() && count(ada) == Some(round)).await;
        assert_eq!(ada.session(), session);
    }
    kill_process(Pid::from_child(&server), Signal::KILL).expect("it runs");
    server.wait().expect("it ends");
    std::fs::remove_dir_all(&folder).expect("it is the test's own");
}

//! Many at once, and much at once.

use std::time::{Duration, Instant};

use crate::common::raw::{PATIENCE, Raw, hello, hello_message};
use crate::common::stage::{Avatar, Beside, ROOM, Stage, server};
use crate::event;
use room::prelude::*;
use room::runtime::Identity;
use room_client::connect;
use tokio::net::TcpStream;
use tokio::time::sleep;

#[tokio::test]
async fn two_hundred_half_open_sockets_keep_nobody_out() {
    let mut beside = Beside::new(server()).await;
    let address = beside.server.local_addr();
    let mut silent = Vec::new();
    for _ in 0..220 {
        silent.push(TcpStream::connect(address).await.expect("a connection"));
    }
    let mut bob = connect(&beside.url, Stage::schema()).name("Bob").await.expect("Bob joins");
    for _ in 0..100 {
        silent.push(TcpStream::connect(address).await.expect("a connection"));
    }
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(Raw::open(&beside.url).await);
    }
    let deadline = Instant::now() + PATIENCE;
    while bob.all::<Avatar>().count() != 2 {
        assert!(Instant::now() < deadline, "{:?}", bob.status());
        bob.update(Instant::now());
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(open[0].closed().await.0, 1013);
    assert!(bob.leave().await);
    beside.unchanged().await;
}

#[tokio::test]
async fn an_account_that_joins_twice_at_once_plays_once() {
    let guarded = server().max_players(1).authenticate(|_| async { Ok(Identity::account("ada")) });
    let beside = Beside::new(guarded).await;
    let mut raws = Vec::new();
    for _ in 0..12 {
        raws.push(Raw::open(&beside.url).await);
    }
    for raw in &mut raws {
        raw.send(&hello_message(hello(&Stage::schema()))).await;
    }
    let mut last = raws.pop().expect("twelve");
    for mut raw in raws {
        assert_eq!(raw.closed().await.0, 4005);
    }
    assert_eq!(last.message().await[0], 0x81);
    assert_eq!(beside.players().await, 1);
}

/// The longest time that a player waits for an answer within `span`.
async fn longest_gap(url: &str, span: Duration) -> Duration {
    let mut raw = Raw::joined::<Stage>(url).await;
    let end = Instant::now() + span;
    let mut longest = Duration::ZERO;
    while Instant::now() < end {
        let asked = Instant::now();
        raw.send(&event("echo")).await;
        while raw.message().await[0] != 0x83 {}
        longest = longest.max(asked.elapsed());
    }
    longest
}

/// Small events, one frame each, in one run of bytes.
fn small_events() -> Vec<u8> {
    let mut one = Vec::new();
    frame(&mut one, &event(""));
    one.repeat(20_000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_small_events_do_not_keep_a_player_waiting() {
    let mut beside = Beside::new(server()).await;
    let mut floods = Vec::new();
    for _ in 0..8 {
        let mut raw = Raw::joined::<Stage>(&beside.url).await;
        floods.push(tokio::spawn(async move {
            let many = small_events();
            // As fast as the room takes them, closed or not.
            loop {
                raw.bytes(&many).await;
                tokio::task::yield_now().await;
            }
        }));
    }
    let longest = longest_gap(&beside.url, Duration::from_secs(2)).await;
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    for flood in floods {
        flood.abort();
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn small_events_without_number_in_one_tick_are_4008() {
    let mut beside = Beside::new(server().tick_rate(1)).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.bytes(&small_events()).await;
    assert_eq!(raw.closed().await.0, 4008);
    beside.unchanged().await;
}

fn frame(out: &mut Vec<u8>, message: &[u8]) {
    out.extend([0x82, 0x80 | message.len() as u8, 0, 0, 0, 0]);
    out.extend(message);
}

#[tokio::test]
async fn large_events_in_one_tick_are_4008() {
    let mut beside = Beside::new(server().tick_rate(2)).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    let text = "x".repeat(900);
    for _ in 0..400 {
        raw.send(&event(&text)).await;
    }
    assert_eq!(raw.closed().await.0, 4008);
    beside.unchanged().await;
}

#[test]
fn who_plays_hears_1001_though_the_process_ends_right_behind_the_shutdown() {
    let outside = tokio::runtime::Runtime::new().expect("a runtime");
    for _ in 0..5 {
        let inside =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = inside.block_on(server().start()).expect("a server");
        let url = server.url(ROOM);
        let mut raws = Vec::new();
        for _ in 0..10 {
            raws.push(outside.block_on(Raw::joined::<Stage>(&url)));
        }
        let heard = outside.spawn(async move {
            for mut raw in raws {
                assert_eq!(raw.closed().await.0, 1001);
            }
        });
        inside.block_on(server.shutdown());
        inside.shutdown_background();
        outside.block_on(heard).expect("everybody hears so");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_under_load_stops_in_time() {
    let server = server().start().await.expect("a server");
    let address = server.local_addr();
    let mut busy = Vec::new();
    for turn in 0..15 {
        let url = server.url(&format!("room-{}", turn % 3));
        busy.push(tokio::spawn(async move {
            let mut raw = Raw::joined::<Stage>(&url).await;
            raw.send(&event("flood")).await;
            for _ in 0..1_000_000 {
                raw.send(&event("")).await;
            }
        }));
    }
    let mut idle = Vec::new();
    for _ in 0..30 {
        idle.push(TcpStream::connect(address).await.expect("a connection"));
    }
    sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    server.shutdown().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for task in busy {
        task.abort();
    }
}

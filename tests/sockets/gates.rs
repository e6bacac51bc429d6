//! How many may knock, and what a flood of them costs who plays.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use room::Game;
use room::runtime::Identity;
use room::server::Server;
use room::wire::message::Token;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::common::raw::{Raw, Request, Seat, hello, hello_message};
use crate::common::stage::{Beside, ROOM, Stage, server};
use crate::event;

/// A socket from a loopback address, joined or closed with a code; `None` where the connection was just dropped.
async fn knock(request: Request) -> Option<Result<Raw, u16>> {
    let mut raw = request.try_open().await.ok()?.expect("an upgrade");
    raw.send(&hello_message(hello(&Stage::schema()))).await;
    match raw.next().await? {
        (0x2, message) => {
            assert_eq!(message[0], 0x81);
            Some(Ok(raw))
        }
        (0x8, payload) => Some(Err(u16::from_be_bytes([payload[0], payload[1]]))),
        other => panic!("{other:?}"),
    }
}

fn code(knocked: Option<Result<Raw, u16>>) -> u16 {
    knocked.expect("an answer").err().expect("refused")
}

#[tokio::test]
async fn sockets_past_the_limit_are_1013_and_another_address_comes_in() {
    let mut beside = Beside::new(server().sockets_per_second(20)).await;
    // All that this address may open in a second, and more.
    let mut idle = Vec::new();
    for _ in 0..30 {
        idle.push(TcpStream::connect(beside.server.local_addr()).await.expect("a connection"));
    }
    assert_eq!(code(knock(Request::new(&beside.url)).await), 1013);
    let other = knock(Request::new(&beside.url).from([127, 0, 0, 2])).await;
    drop(other.expect("an answer").expect("joined"));
    drop(idle);
    sleep(Duration::from_millis(1100)).await;
    drop(knock(Request::new(&beside.url)).await.expect("an answer").expect("credit comes back"));
    beside.unchanged().await;
}

#[tokio::test]
async fn of_very_many_that_are_refused_most_are_just_dropped() {
    let mut beside = Beside::new(server().sockets_per_second(20)).await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        // One that is dropped soon enough has never been there.
        idle.extend(TcpStream::connect(beside.server.local_addr()).await.ok());
    }
    let mut stand = 0;
    for stream in &mut idle {
        stand += usize::from(timeout(Duration::from_millis(5), stream.read_u8()).await.is_err());
    }
    assert!((1..100).contains(&stand), "{stand}");
    beside.unchanged().await;
}

#[tokio::test]
async fn behind_a_proxy_each_of_its_clients_has_her_own_limit() {
    let seen = Arc::new(Mutex::new(Vec::<IpAddr>::new()));
    let told = seen.clone();
    let behind = server().sockets_per_second(12).trusted_proxies(["127.0.0.9", "10.0.0.0/8"]).authenticate(
        move |request| {
            told.lock().unwrap().push(request.address);
            async { Ok(Identity::guest()) }
        },
    );
    let mut beside = Beside::new(behind).await;
    let through = |list: &str| Request::new(&beside.url).from([127, 0, 0, 9]).with("X-Forwarded-For", list);
    let mut raws = Vec::new();
    for _ in 0..10 {
        raws.push(through("9.9.9.9, 192.0.2.1, 10.0.0.3").open().await.expect("a socket"));
    }
    let mut refused = 0;
    for mut raw in raws {
        raw.send(&hello_message(hello(&Stage::schema()))).await;
        match raw.next().await.expect("an answer") {
            (0x8, payload) => refused += usize::from(payload[..2] == 1013u16.to_be_bytes()),
            (_, message) => assert_eq!(message[0], 0x81),
        }
    }
    assert!((2..=4).contains(&refused), "{refused}");
    drop(knock(through("192.0.2.2")).await.expect("an answer").expect("joined"));
    // From anybody else the header means nothing.
    let invented = Request::new(&beside.url).from([127, 0, 0, 3]).with("X-Forwarded-For", "192.0.2.7");
    drop(knock(invented).await.expect("an answer").expect("joined"));
    let mut seen: Vec<String> = seen.lock().unwrap().iter().map(ToString::to_string).collect();
    seen.dedup();
    assert_eq!(seen, ["127.0.0.1", "192.0.2.1", "192.0.2.2", "127.0.0.3"]);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_setting_that_cannot_be_is_named() {
    let fault = |server: Server<Stage>| async { server.start().await.err().expect("a fault").to_string() };
    assert_eq!(
        fault(server().sockets_per_second(0)).await,
        "the setting `sockets_per_second` is 0; allowed is 1 to 1048576"
    );
    assert!(
        fault(server().trusted_proxies(["10.0.0.0/40"])).await.contains("`trusted_proxies` is 10.0.0.0/40")
    );
    assert!(fault(server().hold_seconds(301)).await.contains("hold_seconds is 301"));
    assert!(fault(server().events(0, 1 << 20)).await.contains("events"));
    assert!(fault(server().events(10, 1)).await.contains("events"));
    assert!(fault(server().messages_per_second(0)).await.contains("messages_per_second is 0"));
    assert!(fault(server().messages_burst(0)).await.contains("messages_burst is 0"));
}

/// What a flood did.
#[derive(Default)]
struct Flood {
    over: AtomicBool,
    sockets: AtomicUsize,
    refused: AtomicUsize,
}

impl Flood {
    /// Knocks with wrong tokens from 127.0.0.1, as fast as it goes.
    async fn guess(&self, request: impl Fn() -> Request, frame: &[u8]) {
        while !self.over.load(Ordering::Relaxed) {
            self.sockets.fetch_add(1, Ordering::Relaxed);
            let Ok(Ok(mut raw)) = request().followed_by(frame).try_open().await else { continue };
            while let Ok(Some((opcode, payload))) = timeout(Duration::from_secs(1), raw.next()).await {
                if opcode == 0x8 {
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    assert!([1013, 4007].contains(&code), "{code}");
                    self.refused.fetch_add(usize::from(code == 4007), Ordering::Relaxed);
                    break;
                }
            }
            raw.reset();
        }
    }

    /// Opens connections that say nothing, as fast as it goes, and keeps the last of them.
    async fn stand(&self, address: std::net::SocketAddr) {
        let mut kept = std::collections::VecDeque::new();
        while !self.over.load(Ordering::Relaxed) {
            self.sockets.fetch_add(1, Ordering::Relaxed);
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.set_zero_linger().expect("a socket");
            if let Ok(stream) = socket.connect(address).await {
                kept.push_back(stream);
            }
            if kept.len() > 500 {
                kept.pop_front();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Floods a server for so long; a player from another address gets in and plays.
fn flooded(server: Server<Stage>, span: Duration) {
    let runtime = |threads| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
    };
    // What floods and what plays share no thread with what serves.
    let (inside, outside, beyond) = (runtime(2), runtime(1), runtime(1));
    let server = inside.block_on(server.start()).expect("a server");
    let (url, address) = (server.url(ROOM), server.local_addr());
    let (mut owner, seat) = outside.block_on(Raw::seated(&url, hello(&Stage::schema())));
    let flood = Arc::new(Flood::default());
    let mut frame = vec![0x82, 0x80, 0, 0, 0, 0];
    let wrong = hello_message(Seat { token: Token([7; 16]), ..seat }.hello(&Stage::schema()));
    frame[1] |= wrong.len() as u8;
    assert!(wrong.len() < 126);
    frame.extend(wrong);
    let mut floods = Vec::new();
    for turn in 0..16 {
        let (flood, url, frame) = (flood.clone(), url.clone(), frame.clone());
        floods.push(beyond.spawn(async move {
            match turn % 4 {
                0 => flood.stand(address).await,
                _ => flood.guess(|| Request::new(&url), &frame).await,
            }
        }));
    }
    let (joined, longest) = outside.block_on(async {
        sleep(span / 4).await;
        let began = Instant::now();
        let other = knock(Request::new(&url).from([127, 0, 0, 2])).await;
        let mut other = other.expect("an answer").expect("joined");
        let joined = began.elapsed();
        let mut longest = Duration::ZERO;
        while began.elapsed() < span * 3 / 4 {
            for raw in [&mut other, &mut owner] {
                let asked = Instant::now();
                raw.send(&event("echo")).await;
                while raw.message().await[0] != 0x83 {}
                longest = longest.max(asked.elapsed());
            }
            sleep(Duration::from_millis(50)).await;
        }
        (joined, longest)
    });
    let stats = inside.block_on(server.stats(ROOM)).expect("the room");
    flood.over.store(true, Ordering::Relaxed);
    for task in floods {
        beyond.block_on(task).expect("no code but those that are due");
    }
    let (sockets, refused) = (flood.sockets.load(Ordering::Relaxed), flood.refused.load(Ordering::Relaxed));
    println!(
        "flood: {sockets} sockets in {span:?}, {refused} wrong tokens; joined in {joined:?}, longest answer \
         {longest:?}, {} ticks, {} dropped, longest {:.2} ms",
        stats.ticks,
        stats.dropped_ticks,
        stats.tick_ms(1.0)
    );
    assert_eq!(stats.dropped_ticks, 0, "the room's ticks are on time");
    assert!(stats.ticks >= span.as_secs() * 18, "{}", stats.ticks);
    assert_eq!(stats.sessions, 2);
    assert!(refused > 0);
    assert!(joined < Duration::from_secs(2), "{joined:?}");
    inside.block_on(server.shutdown());
}

#[test]
fn a_flood_of_wrong_tokens_and_half_open_sockets_keeps_nobody_out() {
    flooded(server().sockets_per_second(200), Duration::from_secs(3));
}

#[test]
fn nor_does_one_that_no_limit_holds_back() {
    flooded(server(), Duration::from_secs(3));
}

#[test]
#[ignore = "takes ten seconds; for a release build"]
fn a_flood_of_ten_seconds_keeps_nobody_out() {
    flooded(server().sockets_per_second(200), Duration::from_secs(10));
    flooded(server(), Duration::from_secs(10));
}

//! Many at once who try everything at the worst moment, and servers that die.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use room::Tick;
use room::prelude::*;
use room::server::Server;
use room::session::Hello;
use room::wire::message::ClientMessage;
use room_client::{Client, Event, Status, connect};
use tokio::time::sleep;

use crate::common::raw::{PATIENCE, Raw, Request, Seat, hello, hello_message, hello_with};
use crate::common::stage::{Beside, Stage, server};
use crate::event;

/// A generator of numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn bytes(message: ClientMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

/// Comes in, with one of the seats that all know or as a new player, says something, and goes in some way.
async fn mischief(url: &str, seats: &Mutex<Vec<Seat>>, dice: &mut Dice) {
    let schema = Stage::schema();
    let known = {
        let seats = seats.lock().unwrap();
        let at = dice.below(seats.len() as u64 + 2) as usize;
        seats.get(at).copied()
    };
    let mut raw = Raw::open(url).await;
    let first = known.map_or_else(|| hello(&schema), |seat| seat.hello(&schema));
    raw.send(&hello_message(Hello { name: "Mallory".to_owned(), ..first })).await;
    if dice.below(4) == 0 {
        // Gone before the welcome, with a leave or without.
        if dice.below(2) == 0 {
            raw.leave().await;
        }
        return;
    }
    if let Some((2, first)) = raw.next().await
        && let Some(seat) = Seat::of(&first)
    {
        let mut seats = seats.lock().unwrap();
        if seats.len() < 6 {
            seats.push(seat);
        } else {
            let at = dice.below(6) as usize;
            seats[at] = seat;
        }
    }
    for _ in 0..dice.below(6) {
        match dice.below(7) {
            0 => raw.acknowledge(Tick(dice.below(1000))).await,
            1 => raw.send(&bytes(ClientMessage::Hidden(true))).await,
            2 => raw.send(&bytes(ClientMessage::Hidden(false))).await,
            3 => raw.send(&event("kick")).await,
            4 => raw.leave().await,
            5 => sleep(Duration::from_millis(dice.below(60))).await,
            _ => raw.send(&event("echo")).await,
        }
    }
    match dice.below(3) {
        0 => raw.reset(),
        1 => raw.leave().await,
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_at_once_with_each_others_tokens_leaves_nothing_behind() {
    let mut beside = Beside::new(server().hold_seconds(1)).await;
    let seats = Arc::new(Mutex::new(Vec::new()));
    let until = Instant::now() + Duration::from_secs(4);
    let rogues: Vec<_> = (0..8)
        .map(|n| {
            let (seats, url) = (seats.clone(), beside.url.clone());
            tokio::spawn(async move {
                let mut dice = Dice(n);
                let mut turns = 0;
                while Instant::now() < until {
                    mischief(&url, &seats, &mut dice).await;
                    turns += 1;
                }
                turns
            })
        })
        .collect();
    let mut turns = 0;
    for rogue in rogues {
        turns += rogue.await.expect("it does not panic");
    }
    assert!(turns > 50, "{turns}");
    beside.unchanged().await;
}

/// A game that keeps what it hears.
struct Ear(Arc<Mutex<Vec<(String, u64)>>>);

impl Game for Ear {
    type Event = u64;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new()
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: u64) {
        let name = room.connection(peer.conn).map(|conn| conn.name().to_owned()).unwrap_or_default();
        self.0.lock().unwrap().push((name, event));
        let _ = room.send(peer.conn, &event);
    }
}

/// A server in a runtime of its own, which can be ended as a process is.
fn doomed(port: u16, heard: Arc<Mutex<Vec<(String, u64)>>>) -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let heard = heard.clone();
        let server = Server::new(move |_: &str| Ear(heard.clone())).port(port).hold_seconds(30);
        match runtime.block_on(server.start()) {
            Ok(handle) => {
                std::mem::forget(handle);
                return runtime;
            }
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn servers_that_are_killed_lose_what_they_held_and_repeat_nothing() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("ws://127.0.0.1:{port}/rooms/a");
    let players = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = players.enter();
    let start = |n: usize| connect(&url, Ear::schema()).name(n.to_string()).rejoin(true).start().unwrap();
    let mut clients: Vec<Client> = (0..6).map(start).collect();
    let mut next = [0u64; 6];
    let mut lost: HashMap<usize, Vec<u64>> = HashMap::new();
    let mut got: HashMap<usize, Vec<u64>> = HashMap::new();
    let mut all = Vec::new();
    for round in 0..4 {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let server = doomed(port, heard.clone());
        let until = Instant::now() + Duration::from_millis(1500);
        while Instant::now() < until
            || round == 3 && clients.iter().any(|c| !c.is_joined() || c.unacknowledged() > 0)
        {
            assert!(Instant::now() < until + PATIENCE, "{clients:?}");
            for (n, client) in clients.iter_mut().enumerate() {
                client.update(Instant::now());
                for event in client.events() {
                    match event {
                        Event::Message(message) => got.entry(n).or_default().push(message.decode().unwrap()),
                        Event::SessionLost { undelivered } => lost
                            .entry(n)
                            .or_default()
                            .extend(undelivered.iter().map(|lost| lost.message.decode::<u64>().unwrap())),
                        _ => {}
                    }
                }
                assert!(!client.status().is_closed(), "{:?}", client.status());
                if Instant::now() < until && client.status() != &Status::Lost && client.send(&next[n]).is_ok()
                {
                    next[n] += 1;
                }
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        server.shutdown_background();
        all.push(heard);
    }
    let heard: Vec<(String, u64)> = all.iter().flat_map(|heard| heard.lock().unwrap().clone()).collect();
    for (n, end) in next.into_iter().enumerate() {
        let his: Vec<u64> =
            heard.iter().filter(|(name, _)| *name == n.to_string()).map(|(_, event)| *event).collect();
        assert!(his.windows(2).all(|pair| pair[0] < pair[1]), "{n}: each once, in order: {his:?}");
        let lost = lost.remove(&n).unwrap_or_default();
        for event in 0..end {
            assert!(
                his.contains(&event) || lost.contains(&event),
                "{n}: {event} is neither handled nor told of"
            );
        }
        let got = got.remove(&n).unwrap_or_default();
        assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "{n}: {got:?}");
        assert!(got.iter().all(|event| his.contains(event)));
        assert!(his.len() > 10, "{n}: {}", his.len());
    }
}

#[tokio::test]
async fn one_address_that_waits_for_authentication_keeps_no_other_out() {
    let slow = server().authenticate(|request| async move {
        match request.auth::<String>() {
            Ok(Some(word)) if word == "friend" => {}
            _ => sleep(Duration::from_secs(8)).await,
        }
        Ok(room::runtime::Identity::guest())
    });
    let mut beside = Beside::new(slow).await;
    let mut crowd = Vec::new();
    for _ in 0..60 {
        let mut raw = Request::new(&beside.url).from([127, 0, 0, 2]).open().await.expect("a socket");
        raw.send(&hello_message(hello(&Stage::schema()))).await;
        crowd.push(raw);
    }
    sleep(Duration::from_millis(200)).await;
    let mut other = Request::new(&beside.url).from([127, 0, 0, 3]).open().await.expect("a socket");
    other.send(&hello_message(hello_with(&Stage::schema(), "friend"))).await;
    other.welcome().await;
    drop((crowd, other));
    beside.unchanged().await;
}

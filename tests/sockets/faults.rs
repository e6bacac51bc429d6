//! Games that fail, and rooms that change while a client does nothing.

use std::time::{Duration, Instant};

use room::prelude::*;
use room::runtime::Identity;
use room::server::Server;
use room::wire::message::{Ack, ClientMessage};
use room_client::connect;
use tokio::time::{sleep, timeout};

use crate::common::raw::{PATIENCE, Raw, hello, hello_message};
use crate::common::stage::{Beside, Stage, server};
use crate::event;

/// What changes all the time.
#[derive(Clone, Debug, Entity)]
struct Churn {
    bytes: Bytes,
}

/// A room that panics in the hook it is named after.
struct Brittle {
    room: String,
}

impl Brittle {
    fn at(&self, hook: &str) {
        assert!(self.room != hook, "the room called {hook} fails");
    }
}

impl Game for Brittle {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().entity::<Churn>()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        self.at("create");
        for _ in 0..8 {
            room.create(Churn { bytes: Bytes::default() }).expect("an entity");
        }
    }

    fn on_join(&mut self, _room: &mut Room<Self>, _peer: Peer) -> Result<(), Refused> {
        self.at("join");
        Ok(())
    }

    fn on_event(&mut self, _room: &mut Room<Self>, _peer: Peer, _event: String) {
        self.at("event");
    }

    fn on_leave(&mut self, _room: &mut Room<Self>, _player: PlayerId, _why: LeaveReason) {
        self.at("leave");
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        if room.players() > 1 {
            self.at("tick");
        }
        let ids: Vec<_> = room.all::<Churn>().map(|(id, _)| id).collect();
        let byte = room.tick().0 as u8;
        for id in ids {
            let bytes: Vec<u8> =
                (0..30_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 ^ byte).collect();
            room.get_mut::<Churn>(id).expect("an entity").set_bytes(bytes.into()).expect("short enough");
        }
    }
}

fn brittle() -> Server<Brittle> {
    Server::new(|room: &str| {
        assert!(room != "make", "the room called make fails");
        Brittle { room: room.to_owned() }
    })
    .port(0)
    .hold_seconds(0)
    .sockets_per_second(1 << 20)
    .rooms_per_minute(1 << 20)
}

#[tokio::test]
async fn whatever_hook_panics_costs_its_room_alone() {
    let server = brittle().start().await.expect("a server");
    let mut safe = connect(server.url("safe"), Brittle::schema()).await.expect("joined");
    for (room, joins, code) in [
        ("make", 0, 4012),
        ("create", 0, 4012),
        ("join", 0, 4014),
        ("event", 1, 4012),
        ("leave", 2, 4012),
        ("tick", 1, 4012),
    ] {
        let url = server.url(room);
        let mut raws = Vec::new();
        for _ in 0..joins {
            raws.push(Raw::joined::<Brittle>(&url).await);
        }
        match room {
            "event" => raws[0].send(&event("x")).await,
            "leave" => drop(raws.remove(0)),
            _ => {
                let mut raw = Raw::open(&url).await;
                raw.send(&hello_message(hello(&Brittle::schema()))).await;
                raws.push(raw);
            }
        }
        for mut raw in raws {
            assert_eq!(raw.closed().await.0, code, "{room}");
        }
    }
    let before = safe.tick().0;
    let deadline = Instant::now() + PATIENCE;
    while safe.tick().0 < before + 5 {
        assert!(Instant::now() < deadline && !safe.status().is_closed(), "{:?}", safe.status());
        safe.update(Instant::now());
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_on_the_way_into_a_room_that_fails_hears_4012() {
    let server = brittle().max_players(40).start().await.expect("a server");
    for room in ["make", "create"].repeat(3) {
        let url = server.url(room);
        let mut clients = Vec::new();
        for _ in 0..40 {
            let mut raw = Raw::open(&url).await;
            clients.push(tokio::spawn(async move {
                raw.send(&hello_message(hello(&Brittle::schema()))).await;
                raw.closed().await.0
            }));
        }
        for client in clients {
            assert_eq!(client.await.expect("closed"), 4012);
        }
    }
    assert!(server.rooms().is_empty());
}

#[tokio::test]
async fn an_authenticate_hook_that_panics_before_it_waits_costs_its_client_alone() {
    let guarded = server().authenticate(|request| {
        assert!(request.name != "Mallory", "the hook fails");
        async { Ok(Identity::guest()) }
    });
    let mut beside = Beside::new(guarded).await;
    let mut raw = Raw::open(&beside.url).await;
    raw.send(&hello_message(hello(&Stage::schema()))).await;
    assert_eq!(raw.closed().await.0, 4500);
    beside.unchanged().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_nothing_is_owed_no_more_than_a_window_and_holds_up_nobody() {
    let server = brittle().start().await.expect("a server");
    let url = server.url("safe");
    let mut silent = Vec::new();
    for _ in 0..5 {
        silent.push(Raw::joined::<Brittle>(&url).await);
    }
    let mut bob = connect(&url, Brittle::schema()).await.expect("joined");
    let (mut last, mut changed, mut longest) = (bob.tick(), Instant::now(), Duration::ZERO);
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        bob.update(Instant::now());
        if bob.tick() > last {
            longest = longest.max(changed.elapsed());
            (last, changed) = (bob.tick(), Instant::now());
        }
        sleep(Duration::from_millis(5)).await;
    }
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    for mut raw in silent {
        let mut bytes = 0;
        while let Ok(Some((_, message))) = timeout(Duration::from_millis(300), raw.next()).await {
            bytes += message.len();
        }
        assert!((10_000..300_000).contains(&bytes), "{bytes}");
    }
}

#[tokio::test]
async fn on_a_deployed_server_a_hook_that_panics_costs_its_room_nothing() {
    let mut beside = Beside::new(server().authenticate(|_| async { Ok(Identity::guest()) }).deployed()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&event("panic")).await;
    raw.send(&event("echo")).await;
    while raw.message().await[0] != 0x87 {}
    while raw.message().await[0] != 0x83 {}
    drop(raw);
    beside.unchanged().await;
}

#[tokio::test]
async fn acknowledgements_of_what_never_was_change_nothing() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    for tick in [u64::MAX, 0, 1 << 63, 1, u64::MAX, 1 << 40] {
        let mut message = Vec::new();
        ClientMessage::Ack(Ack { tick: room::Tick(tick), parts: tick as u32, events: tick })
            .encode(&mut message);
        for _ in 0..200 {
            raw.send(&message).await;
        }
    }
    raw.send(&event("echo")).await;
    while raw.message().await[0] != 0x83 {}
    let mut leave = Vec::new();
    ClientMessage::Leave.encode(&mut leave);
    raw.send(&leave).await;
    raw.send(&leave).await;
    raw.send(&event("kick")).await;
    assert_eq!(raw.closed().await.0, 1000);
    beside.unchanged().await;
}

#[tokio::test]
async fn players_that_come_and_go_as_fast_as_they_can_leave_nothing_behind() {
    let mut beside = Beside::new(server()).await;
    let mut raws = Vec::new();
    for turn in 0..300 {
        let mut raw = Raw::open(&beside.url).await;
        raw.send(&hello_message(hello(&Stage::schema()))).await;
        if turn % 3 == 0 {
            raws.push(raw);
        }
        if raws.len() > 10 {
            raws.clear();
        }
    }
    raws.clear();
    beside.unchanged().await;
}

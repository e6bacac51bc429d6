//! Over real sockets: each mistake of a client gets its code, and changes nothing for who plays beside it.

#[path = "sockets/assets.rs"]
mod assets;
#[path = "sockets/attacks.rs"]
mod attacks;
mod common;
#[path = "sockets/crowds.rs"]
mod crowds;
#[path = "sockets/faults.rs"]
mod faults;
#[path = "sockets/frames.rs"]
mod frames;
#[path = "sockets/gates.rs"]
mod gates;
#[path = "sockets/http.rs"]
mod http;
#[path = "sockets/lists.rs"]
mod lists;
#[path = "sockets/races.rs"]
mod races;
#[path = "sockets/rooms.rs"]
mod rooms;
#[path = "sockets/sessions.rs"]
mod sessions;
#[path = "sockets/silence.rs"]
mod silence;

use std::time::{Duration, Instant};

use common::raw::{BINARY, CLOSE, CONTINUATION, PATIENCE, PING, PONG, Raw, TEXT, hello, hello_message};
use common::stage::{Avatar, Beside, ROOM, Stage, server};
use room::prelude::*;
use room::runtime::Identity;
use room::server::{Denied, Server, StartError};
use room::wire::PROTOCOL_VERSION;
use room::wire::message::{ClientMessage, RoomMessage};
use room_client::{Client, ConnectError, Event, Status, connect};
use tokio::time::sleep;

/// Opens two sockets, one that has not said hello and one that has joined, makes the mistake on both, and expects
/// the code.
async fn mistake(code: u16, reason: &str, make: impl AsyncFn(&mut Raw)) {
    let mut beside = Beside::new(server()).await;
    for joined in [false, true] {
        let mut raw =
            if joined { Raw::joined::<Stage>(&beside.url).await } else { Raw::open(&beside.url).await };
        make(&mut raw).await;
        let (got, why) = raw.closed().await;
        assert_eq!(got, code, "joined {joined}: {why}");
        assert!(why.contains(reason), "joined {joined}: {why}");
        drop(raw);
        beside.unchanged().await;
    }
}

fn event(text: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    room::wire::payload::encode(text, 1000, &mut payload).unwrap();
    let mut message = Vec::new();
    ClientMessage::Event { gap: 1, payload: &payload }.encode(&mut message);
    message
}

#[tokio::test]
async fn a_text_message_is_4000() {
    mistake(4000, "text", async |raw| raw.frame(true, TEXT, b"hello").await).await;
}

#[tokio::test]
async fn a_fragmented_message_is_4000() {
    mistake(4000, "fragmented", async |raw| {
        raw.frame(false, BINARY, b"he").await;
        raw.frame(true, CONTINUATION, b"llo").await;
    })
    .await;
}

#[tokio::test]
async fn a_message_of_33_kib_is_1009() {
    mistake(1009, "32 KiB", async |raw| raw.send(&vec![2; 33 * 1024]).await).await;
}

#[tokio::test]
async fn a_message_that_only_claims_to_be_large_is_1009_before_it_is_read() {
    mistake(1009, "32 KiB", async |raw| raw.bytes(&[0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4]).await)
        .await;
}

#[tokio::test]
async fn garbage_is_4000() {
    mistake(4000, "", async |raw| raw.send(b"\xde\xad\xbe\xef").await).await;
    mistake(4000, "", async |raw| raw.send(b"").await).await;
}

#[tokio::test]
async fn a_compressed_frame_is_4000() {
    mistake(4000, "", async |raw| raw.bytes(&[0xc2, 0x81, 0, 0, 0, 0, 7]).await).await;
}

#[tokio::test]
async fn a_payload_that_is_none_is_4000() {
    let mut beside = Beside::new(server()).await;
    for payload in [&[0xc1][..], &[0xdd, 0, 15, 66, 64, 0, 0, 0, 0, 0, 0], &[0x92, 1]] {
        let mut raw = Raw::joined::<Stage>(&beside.url).await;
        let mut message = Vec::new();
        ClientMessage::Event { gap: 1, payload }.encode(&mut message);
        raw.send(&message).await;
        assert_eq!(raw.closed().await.0, 4000, "{payload:?}");
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn another_protocol_is_4006_with_a_reason_for_machines() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::open(&beside.url).await;
    let theirs = PROTOCOL_VERSION + 1;
    raw.send(&hello_message(room::session::Hello { protocol: theirs, ..hello(&Stage::schema()) })).await;
    let reason = format!(r#"{{"room":"protocol {PROTOCOL_VERSION}","client":"protocol {theirs}"}}"#);
    assert_eq!(raw.closed().await, (4006, reason));
    // A hello that ends before any version names none.
    let mut raw = Raw::open(&beside.url).await;
    raw.send(&[1]).await;
    let (code, reason) = raw.closed().await;
    assert_eq!(code, 4006);
    assert!(reason.contains(r#""client":"none""#), "{reason}");
    beside.unchanged().await;
}

#[tokio::test]
async fn a_message_before_the_hello_is_4001() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::open(&beside.url).await;
    raw.send(&event("echo")).await;
    assert_eq!(raw.closed().await.0, 4001);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_hello_that_never_comes_is_4001() {
    let mut beside = Beside::new(server().hello_seconds(1)).await;
    let began = Instant::now();
    let mut raw = Raw::open(&beside.url).await;
    // Pings are answered and are no hello.
    raw.frame(true, PING, b"?").await;
    assert_eq!(raw.next().await, Some((PONG, b"?".to_vec())));
    assert_eq!(raw.closed().await.0, 4001);
    // Nor does half of one stop the time.
    let mut raw = Raw::open(&beside.url).await;
    raw.bytes(&[0x82, 0x90, 1, 2]).await;
    assert_eq!(raw.closed().await.0, 4001);
    assert!((2.0..6.0).contains(&began.elapsed().as_secs_f64()));
    beside.unchanged().await;
}

#[tokio::test]
async fn a_second_hello_is_4002() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&hello_message(hello(&Stage::schema()))).await;
    assert_eq!(raw.closed().await.0, 4002);
    beside.unchanged().await;
    // Right behind the first one, too.
    let mut raw = Raw::open(&beside.url).await;
    raw.send(&hello_message(hello(&Stage::schema()))).await;
    raw.send(&hello_message(hello(&Stage::schema()))).await;
    assert_eq!(raw.closed().await.0, 4002);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_bad_build_name_is_4000() {
    let mut beside = Beside::new(server().build("1.0")).await;
    let mut raw = Raw::open(&beside.url).await;
    let good =
        hello_message(room::session::Hello { build: Some("1_0".to_owned()), ..hello(&Stage::schema()) });
    let at = good.windows(3).position(|window| window == b"1_0").expect("the build");
    let mut bad = good.clone();
    bad[at + 1] = b' ';
    raw.send(&bad).await;
    assert_eq!(raw.closed().await.0, 4000);
    beside.unchanged().await;
    let local = connect(&beside.url, Stage::schema()).build("1 0").await;
    assert!(matches!(local, Err(ConnectError::Build { .. })));
}

#[tokio::test]
async fn another_build_plays_on_and_both_are_told() {
    let mut beside = Beside::new(server().build("1.0")).await;
    let mut client = connect(&beside.url, Stage::schema()).build("1.1").await.expect("joined");
    client.update(Instant::now());
    let told = Event::BuildMismatch { room: "1.0".to_owned(), client: "1.1".to_owned() };
    assert_eq!(client.events().collect::<Vec<_>>(), [told]);
    assert!(client.leave().await);
    beside.unchanged().await;
}

mod other {
    use room::prelude::*;

    /// The same kind as another game would have it.
    #[derive(Clone, Debug, Entity)]
    pub(crate) struct Avatar {
        pub(crate) name: String,
        pub(crate) hp: f32,
        pub(crate) mana: u8,
    }

    #[derive(Clone, Debug, Entity)]
    pub(crate) struct Pet {
        pub(crate) legs: u8,
    }

    pub(crate) fn schema() -> Schema {
        Schema::new().without_presence().entity::<Avatar>().entity::<Pet>()
    }
}

#[tokio::test]
async fn another_schema_is_4006_and_says_what_differs_but_nothing_of_hidden_kinds() {
    let mut beside = Beside::new(server()).await;
    let refused = connect(&beside.url, other::schema()).await;
    let Err(ConnectError::Refused { code: 4006, differences, .. }) = &refused else { panic!("{refused:?}") };
    let all = differences.join("\n");
    for part in ["avatar", "hp", "mana", "pet"] {
        assert!(all.contains(part), "{part} in:\n{all}");
    }
    let shown = refused.as_ref().unwrap_err().to_string();
    assert!(differences.iter().all(|line| shown.contains(line)), "{shown}");

    let mut raw = Raw::open(&beside.url).await;
    raw.send(&hello_message(hello(&other::schema()))).await;
    let (code, reason) = raw.closed().await;
    assert_eq!(code, 4006);
    let closing = raw.messages.pop().expect("a closing message");
    assert!(
        matches!(RoomMessage::decode(&closing), Ok(RoomMessage::Closing(closing)) if closing.code == 4006)
    );
    for text in [all.as_bytes(), shown.as_bytes(), reason.as_bytes(), &closing] {
        for hidden in ["vault", "combination"] {
            assert!(
                !text.windows(hidden.len()).any(|window| window == hidden.as_bytes()),
                "{hidden} is told"
            );
        }
    }
    let only_hidden = connect(&beside.url, Schema::new().without_presence().entity::<Avatar>()).await;
    let Err(ConnectError::Refused { code: 4006, differences, .. }) = only_hidden else { panic!("let in") };
    assert_eq!(differences, ["hidden kinds differ"]);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_refused_join_is_4014_and_undone() {
    let mut beside = Beside::new(server()).await;
    let refused = connect(&beside.url, Stage::schema()).name("nobody").await;
    let Err(ConnectError::Refused { code: 4014, reason, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(reason, "nobody may not come in");
    beside.unchanged().await;
}

#[tokio::test]
async fn a_full_room_is_4004_and_says_how_full() {
    let mut beside = Beside::new(server().max_players(4)).await;
    let mut others = Vec::new();
    for name in ["Bob", "Cleo", "Dan"] {
        others.push(connect(&beside.url, Stage::schema()).name(name).await.expect("a seat"));
    }
    let mut raw = Raw::open(&beside.url).await;
    raw.send(&hello_message(hello(&Stage::schema()))).await;
    assert_eq!(raw.closed().await, (4004, r#"{"players":4,"max":4}"#.to_owned()));
    assert_eq!(beside.players().await, 4);
    for mut other in others {
        assert!(other.leave().await);
    }
    Raw::joined::<Stage>(&beside.url).await;
    beside.unchanged().await;
}

fn guarded() -> Server<Stage> {
    server().authenticate(|request| async move {
        match request.auth::<String>() {
            Ok(Some(word)) if word == "friend" => Ok(Identity::account("ada")),
            Ok(Some(word)) if word == "later" => Err(Denied::retry("the account service does not answer")),
            Ok(Some(word)) if word == "panic" => panic!("asked for it"),
            Ok(Some(_)) => Err(Denied::new("wrong word")),
            _ => Err(Denied::new("speak, friend, and enter")),
        }
    })
}

#[tokio::test]
async fn who_is_not_allowed_is_4003_for_good_or_for_now() {
    let mut beside = Beside::new(guarded()).await;
    let elsewhere = beside.server.url("elsewhere");
    for (auth, code, reason) in [
        (None, 4003, "speak, friend, and enter"),
        (Some("foe"), 4003, "wrong word"),
        (Some("later"), 4003, r#"{"retry":true}"#),
        (Some("panic"), 4500, "the server failed to authenticate this client"),
    ] {
        let mut attempt = connect(&elsewhere, Stage::schema());
        if let Some(auth) = auth {
            attempt = attempt.auth(auth);
        }
        let mut client = attempt.start().expect("it dials");
        assert_eq!(dropped_with(&mut client, code).await, reason);
        let again = matches!(auth, Some("later" | "panic"));
        assert_eq!(client.status().is_closed(), !again, "{auth:?}: {:?}", client.status());
    }
    assert_eq!(beside.server.rooms(), [ROOM], "who is not let in creates no room");
    beside.unchanged().await;
}

#[tokio::test]
async fn who_is_kicked_hears_4013_and_why() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&event("kick")).await;
    assert_eq!(raw.closed().await, (4013, "asked for it".to_owned()));
    beside.unchanged().await;
}

#[tokio::test]
async fn leaving_is_answered_with_1000() {
    let mut beside = Beside::new(server()).await;
    let mut client = connect(&beside.url, Stage::schema()).name("Bob").await.expect("joined");
    assert!(client.leave().await);
    assert_eq!(client.status(), &Status::Closed { code: Some(1000), reason: String::new() });
    beside.unchanged().await;
}

#[tokio::test]
async fn a_socket_that_breaks_or_closes_leaves_the_room() {
    let mut beside = Beside::new(server()).await;
    drop(Raw::joined::<Stage>(&beside.url).await);
    beside.unchanged().await;
    drop(connect(&beside.url, Stage::schema()).name("Bob").await.expect("joined"));
    beside.unchanged().await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.frame(true, CLOSE, &[0x0f, 0xa1]).await;
    assert_eq!(raw.closed().await.0, 4001, "a close frame is answered with its code");
    beside.unchanged().await;
}

#[tokio::test]
async fn a_socket_that_does_not_drain_is_ended() {
    let mut beside = Beside::new(server()).await;
    let mut raw = Raw::joined::<Stage>(&beside.url).await;
    raw.send(&event("flood")).await;
    beside.unchanged().await;
    while raw.next().await.is_some_and(|(opcode, _)| opcode != CLOSE) {}
}

#[tokio::test]
async fn a_client_that_floods_is_slowed_or_closed_and_others_are_not() {
    let mut beside = Beside::new(server()).await;
    let raw = Raw::joined::<Stage>(&beside.url).await;
    let flood = tokio::spawn(async move {
        let mut raw = raw;
        for _ in 0..50_000 {
            raw.send(&event("nothing")).await;
        }
        raw
    });
    sleep(Duration::from_millis(300)).await;
    let stats = beside.server.stats(ROOM).await.expect("the room");
    sleep(Duration::from_millis(500)).await;
    let later = beside.server.stats(ROOM).await.expect("the room");
    assert!(later.ticks >= stats.ticks + 5, "the room stands still: {stats:?} {later:?}");
    flood.abort();
    drop(flood.await);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_server_that_goes_away_says_1001_to_all() {
    let beside = Beside::new(server()).await;
    let mut waiting = Raw::open(&beside.url).await;
    let mut joined = Raw::joined::<Stage>(&beside.url).await;
    let mut client = connect(&beside.url, Stage::schema()).name("Bob").await.expect("joined");
    let Beside { server, url, .. } = beside;
    let began = Instant::now();
    tokio::join!(server.shutdown(), async {
        assert_eq!(waiting.closed().await.0, 1001);
        drop(waiting);
        assert_eq!(joined.closed().await.0, 1001);
        drop(joined);
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    dropped_with(&mut client, 1001).await;
    assert_eq!(client.status(), &Status::Reconnecting);
    let late = connect(url, Stage::schema()).give_up(Duration::from_millis(500));
    assert!(matches!(late.await, Err(ConnectError::Dial { .. })));
}

/// Waits until a client's connection has ended with a code; returns the reason.
async fn dropped_with(client: &mut Client, code: u16) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        client.update(Instant::now());
        if let Some(drop) = client.last_drop() {
            assert_eq!(drop.code, Some(code), "{drop:?}");
            return drop.reason.clone();
        }
        assert!(Instant::now() < deadline, "{:?}", client.status());
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_room_that_fails_is_4012_and_others_go_on() {
    let mut beside = Beside::new(server()).await;
    let other = beside.server.url("other");
    let mut raw = Raw::joined::<Stage>(&other).await;
    raw.send(&event("panic")).await;
    assert_eq!(raw.closed().await, (4012, r#"{"saved":false}"#.to_owned()));
    assert_eq!(beside.server.rooms(), [ROOM]);
    // The next to come finds a new room of that name.
    Raw::joined::<Stage>(&other).await;
    beside.unchanged().await;
}

#[tokio::test]
async fn a_room_too_many_is_1013() {
    let mut beside = Beside::new(server().max_rooms(1)).await;
    let refused = connect(beside.server.url("other"), Stage::schema()).await;
    assert!(matches!(refused, Err(ConnectError::Refused { code: 1013, .. })), "{refused:?}");
    beside.unchanged().await;
}

#[tokio::test]
async fn of_too_many_sockets_that_do_not_join_the_oldest_is_1013() {
    let mut beside = Beside::new(server().max_players(16)).await;
    let mut idle = Vec::new();
    let mut players = Vec::new();
    for _ in 0..14 {
        players.push(Raw::joined::<Stage>(&beside.url).await);
    }
    for _ in 0..33 {
        idle.push(Raw::open(&beside.url).await);
    }
    assert_eq!(idle.remove(0).closed().await.0, 1013);
    // Who plays does not stand at the door.
    idle[0].frame(true, PING, b"").await;
    assert_eq!(idle[0].next().await, Some((PONG, Vec::new())));
    Raw::joined::<Stage>(&beside.url).await;
    drop(players);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_room_that_nobody_is_in_stops() {
    let mut beside = Beside::new(server().sleep_seconds(1)).await;
    let mut client = connect(beside.server.url("other"), Stage::schema()).await.expect("joined");
    assert_eq!(beside.server.rooms(), ["other", ROOM]);
    assert!(client.leave().await);
    let deadline = Instant::now() + PATIENCE;
    while beside.server.rooms() != [ROOM] {
        assert!(Instant::now() < deadline, "the room does not stop");
        sleep(Duration::from_millis(50)).await;
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let beside = Beside::new(server()).await;
    let port = beside.server.local_addr().port();
    let taken = server().port(port).start().await.err().expect("the port is taken");
    assert_eq!(
        taken.to_string(),
        format!(
            "port {port} of 127.0.0.1 is taken; stop the program that has it or choose another with `port(…)`"
        )
    );
    let deployed = server().deployed().start().await;
    assert!(matches!(deployed.err(), Some(StartError::NoAuthentication)));
}

#[tokio::test]
async fn a_url_that_leads_nowhere_says_so() {
    let beside = Beside::new(server()).await;
    let secure = beside.url.replace("ws://", "wss://");
    assert!(matches!(connect(secure, Stage::schema()).await, Err(ConnectError::BadUrl { .. })));
    let refused = connect(format!("{}x%20y", beside.url), Stage::schema()).await;
    assert!(matches!(refused, Err(ConnectError::Http { status: 404, .. })), "{refused:?}");
}

#[tokio::test]
async fn the_loop_tells_what_it_did() {
    let beside = Beside::new(server().tick_rate(100)).await;
    sleep(Duration::from_millis(300)).await;
    let stats = beside.server.stats(ROOM).await.expect("the room");
    assert!(stats.ticks >= 10, "{stats:?}");
    assert!(stats.bytes_sent > 0 && stats.connections == 1 && stats.tick_ms(1.0) > 0.0, "{stats:?}");
    assert!(beside.server.stats("nowhere").await.is_none());
}

//! Who comes back, and who only says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use room::prelude::*;
use room::runtime::{Identity, Sessions};
use room::server::{Denied, Server};
use room::session::Hello;
use room::wire::message::{Resume, Token};
use room::{SessionId, Tick};
use tokio::time::sleep;

use crate::common::raw::{Raw, Seat, auth, hello, hello_with};
use crate::common::stage::{Beside, ROOM, Stage, server};
use crate::event;

/// A server where whoever says a name has the account of that name.
fn named() -> Server<Stage> {
    server().authenticate(|request| async move {
        match request.auth::<String>() {
            Ok(Some(name)) => Ok(Identity::account(name)),
            _ => Err(Denied::new("say your name")),
        }
    })
}

/// A server where a guest is held for as long as it takes.
fn holding() -> Server<Stage> {
    server().hold_seconds(30)
}

fn schema() -> Schema {
    Stage::schema()
}

/// Whether a player is answered.
async fn plays(raw: &mut Raw) {
    raw.send(&event("echo")).await;
    while raw.message().await[0] != 0x83 {}
}

/// Joins, confirms her token and vanishes.
async fn vanished(url: &str, hello: Hello) -> Seat {
    let (mut raw, seat) = Raw::seated(url, hello).await;
    raw.acknowledge(Tick::ZERO).await;
    plays(&mut raw).await;
    seat
}

async fn comes_back(url: &str, seat: &Seat) -> (Raw, Seat) {
    let (raw, again) = Raw::seated(url, seat.hello(&schema())).await;
    assert!(again.resumed);
    assert_eq!((again.session, again.player), (seat.session, seat.player));
    assert_eq!(again.epoch, seat.epoch + 1);
    assert!(again.token != seat.token, "each welcome brings a new token");
    (raw, again)
}

#[tokio::test]
async fn a_token_brings_its_player_back() {
    let beside = Beside::new(holding()).await;
    let seat = vanished(&beside.url, hello(&schema())).await;
    assert!(!seat.resumed);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(beside.avatars().await, ["Ada", "Mallory"], "what she owns is held");
    let (mut raw, _) = comes_back(&beside.url, &seat).await;
    plays(&mut raw).await;
    assert_eq!(beside.avatars().await, ["Ada", "Mallory"], "she has not joined again");
}

#[tokio::test]
async fn a_welcome_that_was_lost_loses_nobody() {
    let beside = Beside::new(holding()).await;
    let mut seat = vanished(&beside.url, hello(&schema())).await;
    // No welcome but the first is ever confirmed, so its token stays good.
    for turn in 0..3 {
        let (raw, again) = Raw::seated(&beside.url, seat.hello(&schema())).await;
        drop(raw);
        assert_eq!((again.session, again.epoch), (seat.session, 2 + turn));
    }
    let (mut raw, again) = Raw::seated(&beside.url, seat.hello(&schema())).await;
    raw.acknowledge(Tick::ZERO).await;
    plays(&mut raw).await;
    assert_eq!(Raw::refused(&beside.url, seat.hello(&schema())).await.0, 4007, "now it is used");
    drop(raw);
    seat = again;
    comes_back(&beside.url, &seat).await;
}

#[tokio::test]
async fn a_token_that_was_used_is_4007_and_changes_nothing() {
    let beside = Beside::new(holding()).await;
    let seat = vanished(&beside.url, hello(&schema())).await;
    let (mut raw, _) = comes_back(&beside.url, &seat).await;
    raw.acknowledge(Tick::ZERO).await;
    plays(&mut raw).await;
    assert_eq!(Raw::refused(&beside.url, seat.hello(&schema())).await.0, 4007);
    plays(&mut raw).await;
    assert_eq!(beside.players().await, 2);
}

#[tokio::test]
async fn a_token_past_its_hold_is_4007_and_its_seat_is_free() {
    let mut beside = Beside::new(server().hold_seconds(1)).await;
    let seat = vanished(&beside.url, hello(&schema())).await;
    assert_eq!(beside.sessions().await, 2);
    beside.unchanged().await;
    assert_eq!(beside.server.stats(ROOM).await.expect("the room").sessions, 1);
    assert_eq!(Raw::refused(&beside.url, seat.hello(&schema())).await.0, 4007);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_token_that_was_guessed_is_4007_and_changes_nothing() {
    let beside = Beside::new(holding()).await;
    let (mut raw, seat) = Raw::seated(&beside.url, hello(&schema())).await;
    let absent = vanished(&beside.url, Hello { name: "Bob".to_owned(), ..hello(&schema()) }).await;
    for owner in [seat, absent] {
        let mut near = owner.token;
        near.0[15] ^= 1;
        for token in [Token([0; 16]), Token([0xff; 16]), near] {
            let refused = Raw::refused(&beside.url, Seat { token, ..owner }.hello(&schema())).await;
            assert_eq!(refused.0, 4007, "{refused:?}");
        }
    }
    for session in [0, seat.session.0 + 1000, u64::MAX].map(SessionId) {
        let refused = Raw::refused(&beside.url, Seat { session, ..seat }.hello(&schema())).await;
        assert_eq!(refused.0, 4007, "{refused:?}");
    }
    // Nor is one session's token good for another.
    let crossed = Seat { token: seat.token, ..absent };
    assert_eq!(Raw::refused(&beside.url, crossed.hello(&schema())).await.0, 4007);
    plays(&mut raw).await;
    comes_back(&beside.url, &absent).await;
}

#[tokio::test]
async fn a_token_of_another_room_is_4007_and_makes_no_room() {
    let beside = Beside::new(holding()).await;
    let seat = vanished(&beside.url, hello(&schema())).await;
    let other = beside.server.url("other");
    let (mut raw, _) = Raw::seated(&other, hello(&schema())).await;
    assert_eq!(Raw::refused(&other, seat.hello(&schema())).await.0, 4007);
    let nowhere = beside.server.url("nowhere");
    assert_eq!(Raw::refused(&nowhere, seat.hello(&schema())).await.0, 4007);
    assert_eq!(beside.server.rooms(), ["other", ROOM]);
    plays(&mut raw).await;
    comes_back(&beside.url, &seat).await;
}

#[tokio::test]
async fn a_good_token_with_another_account_is_4003_and_its_owner_comes_back() {
    let beside = Beside::new(named().hold_seconds(30)).await;
    let seat = vanished(&beside.url, hello_with(&schema(), "bob")).await;
    for thief in ["mallory", "friend"] {
        let stolen = Hello { auth: auth(thief), ..seat.hello(&schema()) };
        assert_eq!(Raw::refused(&beside.url, stolen).await.0, 4003, "{thief}");
    }
    let unnamed = Raw::refused(&beside.url, seat.hello(&schema())).await;
    assert_eq!(unnamed, (4003, "say your name".to_owned()));
    let own = Hello { auth: auth("bob"), ..seat.hello(&schema()) };
    let (mut raw, again) = Raw::seated(&beside.url, own.clone()).await;
    assert!(again.resumed);
    raw.acknowledge(Tick::ZERO).await;
    plays(&mut raw).await;
    // While she plays it is no different.
    let stolen = Hello { auth: auth("mallory"), ..again.hello(&schema()) };
    assert_eq!(Raw::refused(&beside.url, stolen).await.0, 4003);
    plays(&mut raw).await;
}

#[tokio::test]
async fn a_token_is_checked_before_anybody_is_asked() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let told = asked.clone();
    let listening = holding().authenticate(move |request| {
        told.lock().unwrap().push(request.resuming());
        async { Ok(Identity::guest()) }
    });
    let beside = Beside::new(listening).await;
    let seat = vanished(&beside.url, hello(&schema())).await;
    let guess = Resume { session: seat.session, token: Token([7; 16]), ..Resume::default() };
    let guess = Hello { resume: Some(guess), ..hello(&schema()) };
    assert_eq!(Raw::refused(&beside.url, guess).await.0, 4007);
    comes_back(&beside.url, &seat).await;
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked, [None, None, Some((seat.session, seat.player))]);
}

#[tokio::test]
async fn a_resume_of_who_is_still_connected_takes_over_and_the_older_hears_4005() {
    let beside = Beside::new(holding()).await;
    let (mut older, seat) = Raw::seated(&beside.url, hello(&schema())).await;
    older.acknowledge(Tick::ZERO).await;
    let (mut newer, _) = comes_back(&beside.url, &seat).await;
    assert_eq!(older.closed().await.0, 4005);
    plays(&mut newer).await;
    let drops = |game: &Stage, _: &Room<Stage>| game.dropped.clone();
    assert_eq!(beside.server.inspect(ROOM, drops).await.expect("the room"), [], "nobody was dropped");
    assert_eq!(beside.players().await, 2);
}

#[tokio::test]
async fn the_same_account_elsewhere_goes_on_and_the_older_token_is_4005() {
    let beside = Beside::new(named().hold_seconds(30)).await;
    let (mut older, seat) = Raw::seated(&beside.url, hello_with(&schema(), "bob")).await;
    older.acknowledge(Tick::ZERO).await;
    plays(&mut older).await;
    let (mut newer, again) = Raw::seated(&beside.url, hello_with(&schema(), "bob")).await;
    assert_eq!(older.closed().await.0, 4005);
    assert!(!again.resumed, "it holds nothing");
    assert_eq!((again.session, again.player), (seat.session, seat.player));
    newer.acknowledge(Tick::ZERO).await;
    let back = Hello { auth: auth("bob"), ..seat.hello(&schema()) };
    assert_eq!(Raw::refused(&beside.url, back).await.0, 4005, "it does not steal back");
    plays(&mut newer).await;
}

#[tokio::test]
async fn a_game_may_refuse_the_newer_or_seat_both() {
    let beside = Beside::new(named().sessions(Sessions::Refuse)).await;
    let (mut older, _) = Raw::seated(&beside.url, hello_with(&schema(), "bob")).await;
    assert_eq!(Raw::refused(&beside.url, hello_with(&schema(), "bob")).await.0, 4003);
    plays(&mut older).await;
    let beside = Beside::new(named().sessions(Sessions::Several)).await;
    let (mut older, one) = Raw::seated(&beside.url, hello_with(&schema(), "bob")).await;
    let (mut newer, two) = Raw::seated(&beside.url, hello_with(&schema(), "bob")).await;
    assert_eq!(one.player, two.player);
    assert_ne!(one.session, two.session);
    plays(&mut older).await;
    plays(&mut newer).await;
}

#[tokio::test]
async fn a_full_room_lets_its_own_come_back() {
    let beside = Beside::new(holding().max_players(2)).await;
    let seat = vanished(&beside.url, hello(&schema())).await;
    let refused = Raw::refused(&beside.url, hello(&schema())).await;
    assert_eq!(refused, (4004, r#"{"players":2,"max":2}"#.to_owned()), "who is held counts");
    comes_back(&beside.url, &seat).await;
}

#[tokio::test]
async fn who_left_or_was_kicked_does_not_come_back() {
    let mut beside = Beside::new(holding()).await;
    for word in ["kick", "leave"] {
        let (mut raw, seat) = Raw::seated(&beside.url, hello(&schema())).await;
        raw.acknowledge(Tick::ZERO).await;
        let code = if word == "kick" {
            raw.send(&event("kick")).await;
            4013
        } else {
            raw.leave().await;
            1000
        };
        assert_eq!(raw.closed().await.0, code);
        assert_eq!(Raw::refused(&beside.url, seat.hello(&schema())).await.0, 4007, "{word}");
        beside.unchanged().await;
    }
}

#[tokio::test]
async fn a_held_session_keeps_its_room_awake() {
    let beside = Beside::new(server().hold_seconds(3).sleep_seconds(1)).await;
    let other = beside.server.url("other");
    let seat = vanished(&other, hello(&schema())).await;
    sleep(Duration::from_secs(2)).await;
    let (mut raw, _) = comes_back(&other, &seat).await;
    raw.leave().await;
    assert_eq!(raw.closed().await.0, 1000);
}

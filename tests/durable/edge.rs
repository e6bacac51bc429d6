//! What is at the edge of what a durable room meets: late answers of the store, bounds, clocks, names.

use std::time::Duration;

use room::prelude::*;
use room::runtime::{Closed, ConnectionId, Identity, Join, Origin, Outgoing, Runtime, Settings, Site};
use room::session::{Hello, Resume, Token, code};
use room::storage::{MemoryStore, State, Store};
use room_client::Status;

use super::game::{Ask, Purse, Rock, Walker, World, room, room_with};

fn open<G: Game>(game: G, settings: Settings, store: &MemoryStore, unix: u64) -> Runtime<G> {
    let taken = store.take("a").expect("it is there");
    let site = Site { name: "a".into(), ..Site::default() };
    Runtime::open(game, settings, [9; 32], Origin { site, taken, unix }).expect("it wakes")
}

/// A tick without the store's answer.
fn step<G: Game>(runtime: &mut Runtime<G>) {
    runtime.tick(Duration::from_millis(50 * runtime.now().0));
    while runtime.poll_transmit().is_some() {}
}

fn keep<G: Game>(runtime: &mut Runtime<G>, store: &MemoryStore) {
    if let Some(commit) = runtime.poll_commit() {
        store.keep(&commit).expect("it is the owner's");
        runtime.handle_committed();
        while runtime.poll_transmit().is_some() {}
    }
}

fn run<G: Game>(runtime: &mut Runtime<G>, store: &MemoryStore, ticks: u64) {
    for _ in 0..ticks {
        step(runtime);
        keep(runtime, store);
    }
}

fn join<G: Game>(runtime: &mut Runtime<G>, conn: u64, account: &str) {
    let hello = Hello { name: format!("player {conn}"), ..Hello::default() };
    let join = Join { hello, identity: Identity::account(account), token: Token([conn as u8; 16]) };
    runtime.handle_open(ConnectionId(conn), Duration::ZERO, join);
}

/// The code with which a client is refused that would go on in a session.
fn refused<G: Game>(runtime: &mut Runtime<G>, conn: u64, account: &str, resume: &Resume) -> Option<u16> {
    if let Err(refusal) = runtime.check_resume(resume) {
        return Some(refusal.code);
    }
    let hello = Hello { resume: Some(resume.clone()), ..Hello::default() };
    let join = Join { hello, identity: Identity::account(account), token: Token([conn as u8; 16]) };
    runtime.handle_open(ConnectionId(conn), Duration::ZERO, join);
    let mut codes = Vec::new();
    while let Some(transmit) = runtime.poll_transmit() {
        if let Outgoing::Close { code, .. } = transmit.outgoing {
            codes.push(code);
        }
    }
    codes.pop()
}

#[test]
fn that_a_session_is_just_ending_hears_its_player_and_nobody_else() {
    let store = MemoryStore::new();
    let settings = Settings { hold_seconds: Some(0), ..Settings::default() };
    let mut room = open(World::default(), settings, &store, 5);
    join(&mut room, 1, "ada");
    run(&mut room, &store, 2);
    // Another device of hers.
    join(&mut room, 2, "ada");
    run(&mut room, &store, 2);
    let player = room.room().presences().next().expect("she is there").player;
    let session = room.room().sessions_of(player).next().expect("she has one");
    let [displaced, good, guessed] = [1, 2, 9].map(|token| {
        let token = Token([token; 16]);
        Resume { session, token, ..Resume::default() }
    });
    let of_none = Resume { session: SessionId(77), ..guessed.clone() };
    // A commit is on its way that does not have the session's end.
    room.parts_mut().1.create(Rock::default()).expect("it is short");
    step(&mut room);
    let older = room.poll_commit().expect("a rock is new");
    room.handle_close(ConnectionId(2), Duration::ZERO, Closed::Broken);
    for stage in [0, 10] {
        step(&mut room);
        assert_eq!(room.room().sessions(), 0);
        assert_eq!(refused(&mut room, stage + 3, "ada", &good), Some(code::BUSY));
        assert_eq!(refused(&mut room, stage + 4, "eve", &good), Some(code::NOT_ALLOWED), "as while it lives");
        assert_eq!(room.check_resume(&guessed), room.check_resume(&of_none), "as if there were none");
        assert_eq!(refused(&mut room, stage + 5, "ada", &guessed), Some(code::NO_SESSION));
        assert_eq!(refused(&mut room, stage + 6, "ada", &displaced), Some(code::REPLACED));
        if stage == 0 {
            store.keep(&older).expect("it is the owner's");
            room.handle_committed();
            while room.poll_transmit().is_some() {}
        }
    }
    keep(&mut room, &store);
    for resume in [&good, &guessed, &displaced] {
        assert_eq!(room.check_resume(resume).map_err(|refusal| refusal.code), Err(code::NO_SESSION));
    }
}

#[test]
fn a_room_that_is_discarded_with_something_new_in_it_begins_its_log_anew() {
    let store = MemoryStore::new();
    let mut room = open(World::default(), Settings::default(), &store, 5);
    run(&mut room, &store, 1);
    room.parts_mut().1.create(Rock::default()).expect("it is short");
    room.rest(State::Gone);
    keep(&mut room, &store);
    assert_eq!(store.rooms(), Ok(Vec::new()));
    // Somebody was on the way in.
    join(&mut room, 1, "ada");
    run(&mut room, &store, 2);
    let woken = open(World::default(), Settings::default(), &store, 5);
    assert_eq!((woken.room().count::<Rock>(), woken.room().sessions()), (1, 1));
}

#[test]
fn coarse_fields_are_stored_though_the_store_is_slow() {
    let store = MemoryStore::new();
    let mut room = open(World::default(), Settings::default(), &store, 5);
    let (_, it) = room.parts_mut();
    let (walker, rock) = (
        it.create(Walker::default()).expect("it is short"),
        it.create(Rock::default()).expect("it is short"),
    );
    for n in 1..200 {
        let (_, it) = room.parts_mut();
        it.get_mut(walker).expect("it lives").set_x(f64::from(n));
        it.get_mut(rock).expect("it lives").set_label(n.to_string()).expect("it is short");
        step(&mut room);
        if room.now().0 % 20 != 19 {
            keep(&mut room, &store);
        }
    }
    keep(&mut room, &store);
    let at = room.room().get(walker).expect("it lives").x;
    let woken = open(World::default(), Settings::default(), &store, 5);
    let stored = woken.room().get(walker).expect("it lives").x;
    assert!(at - stored <= 25.0, "{at} was {stored}");
}

#[test]
fn who_has_taken_a_great_many_events_is_held_like_anybody_else() {
    let mut room = room_with(Settings { events_most: 20, ..Settings::default() });
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.edit(|_, room| {
        for n in 0..60 {
            room.broadcast(&format!("line {n}")).unwrap();
        }
    });
    room.advance(5);
    assert_eq!(ada.messages::<String>().len(), 60);
    room.advance(5);
    room.drop_link(&ada);
    room.kill_and_wake();
    room.advance(45);
    assert_eq!(bo.status(), Status::Joined);
    room.resume(&ada);
    assert_eq!(ada.status(), Status::Joined, "she has acknowledged all of them");
}

#[test]
fn an_account_without_a_name_is_one_like_any_other() {
    let store = MemoryStore::new();
    let mut room = open(World::default(), Settings::default(), &store, 5);
    join(&mut room, 1, "");
    run(&mut room, &store, 2);
    let player = room.room().presences().next().expect("she is there").player;
    // Enough for a snapshot.
    for _ in 0..20 {
        let rock = Rock { data: vec![7; 40_000].into(), ..Rock::default() };
        room.parts_mut().1.create(rock).expect("it is short");
        run(&mut room, &store, 1);
    }
    let mut room = open(World::default(), Settings::default(), &store, 6);
    join(&mut room, 2, "");
    run(&mut room, &store, 2);
    assert_eq!(room.room().presences().map(|presence| presence.player).collect::<Vec<_>>(), [player]);
}

#[test]
fn who_left_while_nobody_knew_the_time_is_not_forgotten_when_it_is_known() {
    let store = MemoryStore::new();
    let mut room =
        open(World::default(), Settings { hold_seconds: Some(0), ..Settings::default() }, &store, 0);
    join(&mut room, 1, "ada");
    run(&mut room, &store, 2);
    let player = room.room().presences().next().expect("she is there").player;
    room.parts_mut().1.private_mut::<Purse>(player).expect("she has one").set_coins(7);
    room.handle_close(ConnectionId(1), Duration::ZERO, room::runtime::Closed::Broken);
    run(&mut room, &store, 2);
    assert_eq!(room.room().sessions(), 0);
    room.handle_time(1_800_000_000);
    run(&mut room, &store, 2);
    assert_eq!(room.room().private::<Purse>(player), Some(&Purse { coins: 7 }));
    room.handle_time(1_800_000_000 + 23 * 3600);
    let mut room = open(World::default(), Settings::default(), &store, 1_800_000_000 + 23 * 3600);
    assert_eq!(room.room().private::<Purse>(player), Some(&Purse { coins: 7 }));
    room.handle_time(1_800_000_000 + 25 * 3600);
    assert_eq!(room.room().private::<Purse>(player), None);
}

#[test]
fn the_longest_retention_is_for_ever() {
    let store = MemoryStore::new();
    let settings =
        Settings { hold_seconds: Some(0), retention_hours: Some(u64::MAX / 3600), ..Settings::default() };
    let mut room = open(World::default(), settings, &store, 1_800_000_000);
    join(&mut room, 1, "ada");
    run(&mut room, &store, 2);
    let player = room.room().presences().next().expect("she is there").player;
    room.handle_close(ConnectionId(1), Duration::ZERO, room::runtime::Closed::Broken);
    run(&mut room, &store, 2);
    room.handle_time(1_900_000_000);
    assert!(room.room().private::<Purse>(player).is_some());
}

#[test]
fn a_test_kills_its_room_as_often_as_it_likes() {
    let mut room = room();
    for _ in 0..300 {
        room.kill_and_wake();
    }
}

mod poor {
    use super::*;

    pub(super) struct Poor;

    impl Game for Poor {
        type Event = Ask;
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().entity::<Rock>()
        }
    }

    pub(super) struct Rich;

    impl Game for Rich {
        type Event = Ask;
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().private::<Purse>().entity::<Rock>()
        }
    }
}

#[test]
fn who_goes_on_in_a_build_with_private_state_has_it() {
    let store = MemoryStore::new();
    let mut room = open(poor::Poor, Settings::default(), &store, 5);
    join(&mut room, 1, "ada");
    run(&mut room, &store, 2);
    let player = room.room().presences().next().expect("she is there").player;
    let mut room = open(poor::Rich, Settings::default(), &store, 5);
    assert_eq!(room.room().sessions(), 1);
    assert_eq!(room.room().private::<Purse>(player), Some(&Purse::default()));
    run(&mut room, &store, 2);
    let room = open(poor::Rich, Settings::default(), &store, 5);
    assert_eq!(room.room().private_players().count(), 1);
}

#[test]
fn what_is_said_to_everyone_is_stored_once() {
    let mut room = room();
    let clients: Vec<_> = (0..20).map(|n| room.join(&format!("player {n}"))).collect();
    room.advance(2);
    let before = room.store().expect("it has one").bytes("test");
    let said = "all the same ".repeat(3000);
    // Nobody has it yet.
    clients.iter().for_each(|client| room.drop_link(client));
    room.edit(|_, room| room.broadcast(&said)).expect("it is short");
    room.edit(|_, room| room.broadcast(&"and another")).expect("it is short");
    room.advance(1);
    let added = room.store().expect("it has one").bytes("test") - before;
    assert!(added < said.len() + 4000, "{added} bytes");
    room.kill_and_wake();
    room.kill_and_wake();
    for client in &clients {
        room.resume(client);
        assert_eq!(client.messages::<String>(), [said.as_str(), "and another"]);
    }
}

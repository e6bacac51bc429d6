//! Joining, leaving, and what closes a connection.

use room::prelude::*;
use room::room::log::Log;
use room::runtime::{Identity, Settings};
use room::session::{self, code};
use room::wire::PROTOCOL_VERSION;
use room::wire::message::RoomMessage;

use super::lab::{self, Board, Dot, Hand, Heard, Lab, dot};
use super::link::{self, Link};

fn hello(change: impl FnOnce(&mut session::Hello)) -> Vec<u8> {
    let mut hello = link::hello::<Lab>("Ada", None);
    change(&mut hello);
    let mut bytes = Vec::new();
    hello.encode(&mut bytes);
    bytes
}

fn refusal(first: &[u8]) -> session::Refusal {
    let refusal = session::admit(first, &Lab::schema()).expect_err("it lets nobody in");
    assert!(refusal.reason.len() <= 123);
    refusal
}

fn close_code(link: &Link<Lab>, conn: ConnectionId) -> Option<u16> {
    link.client(conn).closed.as_ref().map(|(code, _)| *code)
}

#[test]
fn a_first_message_that_is_no_hello_of_this_room_gets_its_code() {
    assert!(session::admit(&hello(|_| {}), &Lab::schema()).is_ok());
    assert_eq!(refusal(&[]).code, code::BAD_MESSAGE);
    assert_eq!(refusal(&[0x77, 1, 2]).code, code::BAD_MESSAGE);
    assert_eq!(refusal(&[0x02, 0xc0]).code, code::NO_HELLO);
    let cut = hello(|_| {});
    assert_eq!(refusal(&cut[..cut.len() - 1]).code, code::BAD_MESSAGE);
    assert_eq!(refusal(&[cut, vec![0]].concat()).code, code::BAD_MESSAGE);
    let other = refusal(&hello(|hello| hello.protocol += 1));
    assert_eq!(other.code, code::VERSION);
    let (room, client) = (PROTOCOL_VERSION, PROTOCOL_VERSION + 1);
    assert_eq!(other.reason, format!(r#"{{"room":"protocol {room}","client":"protocol {client}"}}"#));
    assert_eq!(refusal(&[0x01]).code, code::VERSION, "a hello that names no version");
    let mut build = hello(|hello| hello.build = Some(String::from("a-b")));
    let dash = build.iter().position(|byte| *byte == b'-').expect("the build is in it");
    assert!(session::admit(&build, &Lab::schema()).is_ok());
    build[dash] = b' ';
    assert_eq!(refusal(&build).code, code::BAD_MESSAGE);
}

#[test]
fn another_schema_is_told_what_differs_and_nothing_of_hidden_kinds() {
    let refusal = refusal(&hello(|hello| hello.schema_hash ^= 1));
    assert_eq!(refusal.code, code::VERSION);
    let closing = refusal.closing.expect("a closing message comes before");
    let Ok(RoomMessage::Closing(closing)) = RoomMessage::decode(&closing) else { panic!("it is a closing") };
    assert_eq!((closing.code, closing.hash), (code::VERSION, Lab::schema().hash()));
    assert!(closing.schema.contains("dot") && !closing.schema.contains("deck"), "{}", closing.schema);
}

#[test]
fn a_full_room_closes_with_4004_and_a_seat_is_free_again_after_a_leave() {
    let mut link = lab::with(Settings { seats: 2, ..Settings::default() });
    let first = link.join();
    let waiting = link.open(Identity::guest());
    let third = link.open(Identity::guest());
    assert_eq!(close_code(&link, third), Some(code::FULL), "one that waits to be seated counts");
    let reason = link.client(third).closed.as_ref().map(|(_, reason)| reason.clone()).expect("it was closed");
    assert!(reason.starts_with('{') && reason.ends_with('}') && reason.contains('2'), "{reason}");
    link.tick();
    assert!(link.client(waiting).is_joined());
    link.leave(first);
    link.tick();
    assert_eq!(close_code(&link, first), Some(code::LEFT));
    let fourth = link.join();
    assert!(link.client(fourth).is_joined());
}

#[test]
fn a_refused_join_is_undone() {
    for panics in [false, true] {
        let mut link = lab::with(Settings { seats: 2, ..Settings::default() });
        let witness = link.join();
        let kept = link.add(dot(5.0));
        link.tick();
        let before = (link.room.room().entities(), link.room.room().private_players().count());
        link.room.parts_mut().0.on_join = Some(Box::new(move |room, peer| {
            let mine = room.create(dot(1.0)).expect("it is created");
            room.create_with_id(900, dot(2.0)).expect("it is free");
            room.delete(mine);
            room.private_mut::<Hand>(peer.player).expect("it is there").set_card(5);
            if panics {
                std::panic::resume_unwind(Box::new("no"));
            }
            Err(Refused::new("not today ".repeat(40)))
        }));
        link.log.clear();
        let (newborn, conn) = (link.add(dot(6.0)), link.join());
        assert_eq!(close_code(&link, conn), Some(code::JOIN_REFUSED));
        let reason = &link.client(conn).closed.as_ref().expect("it was closed").1;
        assert!(panics || reason.starts_with("not today") && reason.len() <= 123, "{reason}");
        assert_eq!(link.client(conn).player, None, "no welcome");
        assert_eq!(link.logged("hook_panicked"), usize::from(panics));
        let room = link.room.room();
        let after = (room.entities(), room.private_players().count());
        assert_eq!(after, (before.0 + 1, before.1), "what the hook created is gone, what was there is not");
        assert_eq!(room.players(), 1);
        assert_eq!(link.held::<Dot>(witness), [kept.get(), newborn.get()], "nobody hears of it");
        assert_eq!(link.heard().len(), 2, "on_leave does not run for one who never joined");
        link.room.parts_mut().0.on_join = None;
        let next = link.join();
        assert!(link.client(next).is_joined(), "the seat is free");
    }
}

#[test]
fn a_refused_join_keeps_what_the_account_had_before() {
    let mut link = lab::open();
    let ada = link.open(Identity::account("ada"));
    link.tick();
    let player = link.player(ada);
    link.edit(|room| room.private_mut::<Hand>(player).expect("it is there").set_card(5));
    link.leave(ada);
    link.tick();
    link.heard();
    link.room.parts_mut().0.on_join = Some(Box::new(|_, _| Err(Refused::new("no"))));
    let second = link.open(Identity::account("ada"));
    link.tick();
    assert_eq!(close_code(&link, second), Some(code::JOIN_REFUSED));
    assert_eq!(link.heard(), [Heard::Joined(player)], "on_leave does not run");
    link.room.parts_mut().0.on_join = None;
    let third = link.open(Identity::account("ada"));
    link.tick();
    assert_eq!(link.player(third), player);
    assert_eq!(link.replica(third).private::<Hand>().map(|hand| hand.card), Some(5));
}

#[test]
fn an_account_keeps_number_and_private_state_and_a_guest_does_not() {
    let mut link = lab::open();
    let (ada, guest) = (link.open(Identity::account("ada")), link.open(Identity::guest()));
    link.tick();
    let (player, stranger) = (link.player(ada), link.player(guest));
    link.edit(|room| room.private_mut::<Hand>(player).expect("it is there").set_card(42));
    link.leave(ada);
    link.leave(guest);
    link.tick();
    assert!(link.room.room().private_players().eq([player]));
    link.edit(|room| room.private_mut::<Hand>(player).expect("reached connected or not").set_card(43));
    let (again, other) = (link.open(Identity::account("ada")), link.open(Identity::guest()));
    link.tick();
    assert_eq!(link.player(again), player);
    assert_eq!(link.replica(again).private::<Hand>().map(|hand| hand.card), Some(43));
    assert!(link.player(other) != stranger && link.player(other) != player, "a number is never given twice");
}

#[test]
fn an_account_that_joins_again_takes_its_older_connection_over() {
    let mut link = lab::open();
    let older = link.open(Identity::account("ada"));
    link.tick();
    link.heard();
    link.room.parts_mut().0.on_join = Some(Box::new(|_, _| Err(Refused::new("no"))));
    let newer = link.open(Identity::account("ada"));
    link.tick();
    assert_eq!(close_code(&link, older), Some(code::REPLACED));
    assert!(link.client(newer).is_joined());
    assert!(link.heard().is_empty(), "she plays on: no hook runs, so none can refuse");
    assert_eq!(link.player(older), link.player(newer));
    assert_eq!(link.room.room().players(), 1);
}

#[test]
fn a_kick_runs_on_leave_and_then_closes_with_4013_and_the_message() {
    let mut link = lab::open();
    let (conn, other) = (link.join(), link.join());
    let player = link.player(conn);
    link.heard();
    link.edit(|room| room.kick(player, "cheating"));
    link.tick();
    assert_eq!(link.heard(), [Heard::Left(player, LeaveReason::Kicked)]);
    assert_eq!(link.client(conn).closed, Some((code::KICKED, String::from("cheating"))));
    assert_eq!(link.room.room().players(), 1);
    assert!(link.client(other).is_joined());
    link.send(conn, &"late");
    link.ticks(2);
    assert_eq!(link.heard(), [], "nothing more is taken from it");
}

#[test]
fn a_second_hello_gets_4002_and_garbage_4000_and_others_play_on() {
    let mut link = lab::open();
    let other = link.join();
    let cases = [(hello(|_| {}), code::SECOND_HELLO), (vec![0x55, 1], code::BAD_MESSAGE), (vec![], 4000)];
    let more =
        [(vec![0x02, 0xc1], 4000), (vec![0x0a, 0x80], 4000), (vec![0x0c, 0], 4000), (vec![0x82], 4000)];
    for (bytes, expected) in cases.into_iter().chain(more) {
        let conn = link.join();
        let player = link.player(conn);
        link.heard();
        link.send_bytes(conn, &bytes);
        link.tick();
        assert_eq!(close_code(&link, conn), Some(expected), "{bytes:?}");
        assert_eq!(link.heard(), [Heard::Dropped(player, Dropped::Misbehaved)], "{bytes:?}");
        assert!(link.client(other).is_joined());
    }
}

#[test]
fn an_event_of_another_type_gets_4000_and_no_hook_sees_it() {
    let mut link = lab::open();
    let conn = link.join();
    link.heard();
    link.send(conn, &vec![1, 2, 3]);
    link.tick();
    assert_eq!(close_code(&link, conn), Some(code::BAD_MESSAGE));
    assert!(!link.heard().iter().any(|heard| matches!(heard, Heard::Event(..))));
}

#[test]
fn what_arrives_is_handled_in_its_order() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.heard();
    link.send(conn, &"one");
    link.send(conn, &"two");
    link.leave(conn);
    let late = link.open(Identity::guest());
    link.tick();
    let event = |text: &str| Heard::Event(player, text.to_owned());
    let left = Heard::Left(player, LeaveReason::Left);
    assert_eq!(link.heard(), [event("one"), event("two"), left, Heard::Joined(link.player(late))]);
    assert_eq!(close_code(&link, conn), Some(code::LEFT));
}

#[test]
fn what_is_said_before_the_welcome_but_a_ping_gets_4000() {
    for bytes in [&[0x02, 1, 0xc0][..], &[0x03, 0xc0], &[0x0a, 0, 0, 0], &[0x08, 1]] {
        let mut link = lab::open();
        let conn = link.open(Identity::guest());
        link.send_bytes(conn, &[0x0b, 7]);
        assert_eq!(link.client(conn).pongs, [7]);
        link.send_bytes(conn, bytes);
        link.tick();
        assert_eq!(close_code(&link, conn), Some(code::BAD_MESSAGE), "{bytes:?}");
        assert!(link.heard().is_empty());
    }
}

#[test]
fn a_broken_link_is_held_and_leaves_once_the_hold_has_run_out() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.heard();
    link.send(conn, &"last");
    link.drop_link(conn);
    link.ticks(2);
    let last = Heard::Event(player, String::from("last"));
    assert_eq!(link.heard(), [last, Heard::Dropped(player, Dropped::Broken)]);
    assert_eq!(link.room.sessions(), 1, "the seat is held");
    link.ticks(30 * 20 - 1);
    assert!(link.heard().is_empty());
    link.tick();
    assert_eq!(link.heard(), [Heard::Left(player, LeaveReason::Dropped)]);
    assert_eq!(link.room.sessions(), 0);
}

#[test]
fn one_who_is_gone_before_her_join_leaves_nothing_behind() {
    let mut link = lab::open();
    let conn = link.open(Identity::guest());
    link.drop_link(conn);
    link.ticks(2);
    assert_eq!((link.room.sessions(), link.room.room().players()), (0, 0));
    assert_eq!(link.room.room().private_players().count(), 0);
    let heard = link.heard();
    assert!(heard.is_empty(), "{heard:?}");
}

#[test]
fn another_build_is_logged_with_both_and_play_goes_on() {
    let mut link = lab::with(Settings { build: String::from("2.0"), ..Settings::default() });
    let (same, other) = (
        link.open_as("Ada", Some("2.0"), Identity::guest()),
        link.open_as("Bo", Some("1.9"), Identity::guest()),
    );
    link.tick();
    let logs: Vec<&Log> = link.log.iter().filter(|log| log.kind() == "build_mismatch").collect();
    let [log] = logs[..] else { panic!("one is another build: {logs:?}") };
    assert!(log.to_string().contains("2.0") && log.to_string().contains("1.9"), "{log}");
    assert!(link.client(same).is_joined() && link.client(other).is_joined());
}

#[test]
fn one_seed_makes_one_run() {
    let run = || {
        let mut link = lab::open();
        link.keep = true;
        link.room.parts_mut().0.on_tick = Some(Box::new(|room| {
            let draw = rand_chacha::rand_core::RngCore::next_u32(room.rng());
            room.create(Dot { hp: draw, ..Dot::default() }).expect("it is created");
            room.create(lab::Ghost { hp: draw }).expect("it is created");
            room.state_mut::<Board>().set_round(draw);
        }));
        let conn = link.join();
        link.ticks(5);
        link.client(conn).raw.clone()
    };
    assert_eq!(run(), run());
}

#[test]
fn nothing_follows_the_close_of_a_client_that_erred_before_it_was_seated() {
    let mut link = lab::open();
    let conn = link.open(Identity::guest());
    link.send_bytes(conn, &[0xde, 0xad]);
    assert_eq!(link.client(conn).closed.as_ref().map(|(code, _)| *code), Some(4000));
    // The link itself asserts that nothing follows.
    link.ticks(2);
    assert_eq!(link.room.sessions(), 0);
}

#[test]
fn a_connection_that_erred_is_not_closed_again_by_its_replacement() {
    let mut link = lab::open();
    let older = link.open(Identity::account("ada"));
    link.tick();
    let newer = link.open(Identity::account("ada"));
    link.send_bytes(older, &[0xde, 0xad]);
    link.ticks(2);
    assert_eq!(link.client(older).closed.as_ref().map(|(code, _)| *code), Some(4000));
    assert!(link.client(newer).is_joined());
}

//! Connections that are hidden, take nothing, or say too much.

use room::limits;
use room::prelude::*;
use room::runtime::Settings;
use room::session::code;
use room::wire::message::{Ack, ClientMessage};

use super::lab::{self, Board, Crate, Dot, Heard, Lab, dot, noise};
use super::link::{Link, Pace, encoded};

/// Ticks a second.
const RATE: usize = 20;

fn hide(link: &mut Link<Lab>, conn: ConnectionId, hidden: bool) {
    link.say(conn, &ClientMessage::Hidden(hidden));
}

fn move_dots(link: &mut Link<Lab>, round: u32) {
    let dots: Vec<Id<Dot>> = link.room.room().all::<Dot>().map(|(id, _)| id).collect();
    link.edit(|room| dots.iter().for_each(|id| room.get_mut(*id).expect("it lives").set_hp(round)));
}

fn same(link: &Link<Lab>, conn: ConnectionId) {
    let hp = |(id, it): (Id<Dot>, &Dot)| (id, it.hp);
    assert!(link.room.room().all().map(hp).eq(link.replica(conn).all().map(hp)));
    assert!(link.room.room().is_drained(conn));
}

fn session(link: &Link<Lab>, conn: ConnectionId) -> SessionId {
    link.client(conn).welcome.expect("it was welcomed").session
}

#[test]
fn a_hidden_page_gets_events_and_no_updates_and_one_merged_update_when_it_is_shown() {
    let mut link = lab::open();
    let conn = link.join();
    let gone = link.add(dot(0.0));
    (0..20).for_each(|n| {
        link.add(dot(f64::from(n)));
    });
    link.ticks(2);
    hide(&mut link, conn, true);
    let (applied, shown) = (link.client(conn).applied.len(), link.replica(conn).tick());
    for round in 1..50 {
        move_dots(&mut link, round);
        link.edit(|room| {
            room.broadcast(&format!("event {round}")).expect("it is short");
            room.broadcast_transient("effect").expect("it is short");
        });
        if round == 25 {
            link.edit(|room| room.delete(gone));
            link.add(dot(99.0));
        }
        link.tick();
    }
    assert_eq!((link.client(conn).applied.len(), link.replica(conn).tick()), (applied, shown));
    assert_eq!(link.client_mut(conn).take_events::<String>().len(), 49);
    assert!(link.client(conn).transients.is_empty(), "effects of meanwhile are gone");
    hide(&mut link, conn, false);
    link.tick();
    assert_eq!(link.client(conn).applied.len(), applied + 1);
    same(&link, conn);
    assert_eq!(link.replica(conn).complete(), link.replica(conn).tick());
    link.edit(|room| room.broadcast_transient("effect")).expect("it is short");
    link.tick();
    assert_eq!(link.client(conn).transients.len(), 1);
}

#[test]
fn a_hidden_page_is_never_behind() {
    let mut link = lab::open();
    let conn = link.join();
    link.add(dot(0.0));
    link.ticks(2);
    hide(&mut link, conn, true);
    for round in 0..150 * RATE as u32 {
        move_dots(&mut link, round);
        link.tick();
    }
    assert!(link.client(conn).is_joined());
    hide(&mut link, conn, false);
    link.tick();
    same(&link, conn);
}

#[test]
fn one_that_resumes_hidden_gets_its_updates_when_it_is_shown() {
    let mut link = lab::open();
    let conn = link.join();
    (0..5).for_each(|n| {
        link.add(dot(f64::from(n)));
    });
    link.ticks(2);
    link.drop_link(conn);
    link.tick();
    let again = link.resume(conn);
    link.client_mut(again).pace = Pace::Stalled;
    move_dots(&mut link, 7);
    link.tick();
    hide(&mut link, again, true);
    link.client_mut(again).pace = Pace::Prompt;
    link.ticks(3);
    move_dots(&mut link, 8);
    link.ticks(3);
    hide(&mut link, again, false);
    link.ticks(2);
    same(&link, again);
}

#[test]
fn one_that_acknowledges_nothing_for_a_minute_is_ended_as_broken_and_held() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.ticks(2);
    link.heard();
    link.client_mut(conn).pace = Pace::Silent;
    link.add(dot(0.0));
    link.tick();
    for second in 0..59 {
        link.say(conn, &ClientMessage::Ping(second));
        link.ticks(RATE);
    }
    assert!(link.client(conn).is_joined(), "pings do not count, and a minute has not passed");
    link.ticks(3 * RATE);
    assert_eq!(link.client(conn).closed, Some((1006, String::new())), "without a close frame");
    assert_eq!(link.heard(), [Heard::Dropped(player, Dropped::FellBehind)]);
    assert_eq!(link.room.sessions(), 1);
    let again = link.rejoin(conn);
    assert!(link.client(again).is_joined());
    link.tick();
    same(&link, again);
}

#[test]
fn events_that_are_not_acknowledged_count_as_outstanding() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.ticks(2);
    link.heard();
    link.client_mut(conn).pace = Pace::Silent;
    link.edit(|room| room.send(conn, "one")).expect("it is short");
    link.ticks(59 * RATE);
    assert!(link.client(conn).is_joined());
    link.ticks(3 * RATE);
    assert_eq!(link.heard(), [Heard::Dropped(player, Dropped::FellBehind)]);
    // One that acknowledges something stays, whatever its game leaves untaken.
    let again = link.rejoin(conn);
    link.client_mut(again).takes_events = false;
    link.edit(|room| room.send(again, "two")).expect("it is short");
    for round in 0..150 {
        link.edit(|room| room.state_mut::<Board>().set_round(round));
        link.ticks(RATE);
    }
    assert!(link.client(again).is_joined());
}

#[test]
fn an_effect_for_a_client_that_is_behind_is_dropped_as_stale() {
    let mut link = lab::with(Settings { window: limits::PART, ..Settings::default() });
    let conn = link.join();
    link.ticks(2);
    link.client_mut(conn).pace = Pace::Stalled;
    let came = |link: &Link<Lab>| link.client(conn).messages;
    for seed in 0..8 {
        link.add(Crate { data: Bytes::from(noise(20_000, seed)), ..Crate::default() });
        link.edit(|room| room.broadcast_transient(&"x".repeat(1000))).expect("it is short");
        link.tick();
    }
    let before = came(&link);
    for round in 0..100 {
        link.edit(|room| room.state_mut::<Board>().set_round(round));
        link.edit(|room| room.broadcast_transient(&"x".repeat(1000))).expect("it is short");
        link.tick();
    }
    assert_eq!(came(&link), before, "nothing is put behind a window that is full");
    link.client_mut(conn).pace = Pace::Prompt;
    link.ticks(5);
    let effects = link.client(conn).transients.len();
    link.edit(|room| room.broadcast_transient("again")).expect("it is short");
    link.tick();
    assert_eq!(link.client(conn).transients.len(), effects + 1);
}

#[test]
fn parts_that_come_count_as_progress() {
    let mut link = lab::open();
    let conn = link.join();
    link.ticks(2);
    link.client_mut(conn).pace = Pace::Silent;
    (0..4).for_each(|seed| {
        link.add(Crate { data: Bytes::from(noise(15_000, seed)), ..Crate::default() });
    });
    link.tick();
    let outstanding = link.room.room().unacknowledged_bytes(conn);
    assert!(outstanding > 0);
    link.ticks(50 * RATE);
    // Nothing is complete, but something has come.
    link.say(conn, &ClientMessage::Ack(Ack { tick: Tick::ZERO, parts: 1, events: 0 }));
    link.ticks(50 * RATE);
    assert!(link.client(conn).is_joined());
}

#[test]
fn what_is_on_the_wire_never_passes_the_window() {
    let mut link = lab::with(Settings { window: limits::PART, ..Settings::default() });
    let conn = link.join();
    for seed in 0..30 {
        link.add(Crate { data: Bytes::from(noise(9_000, seed)), ..Crate::default() });
    }
    link.client_mut(conn).pace = Pace::Late(7);
    let crates: Vec<Id<Crate>> = link.room.room().all::<Crate>().map(|(id, _)| id).collect();
    for round in 0..200 {
        let id = crates[round as usize * 7 % crates.len()];
        let data = Bytes::from(noise(9_000, 1000 + round));
        link.edit(|room| room.get_mut(id).expect("it lives").set_data(data)).expect("it fits");
        link.tick();
        let bytes = link.room.room().unacknowledged_bytes(conn);
        assert!(bytes <= limits::PART + 1024, "{bytes} bytes in round {round}");
    }
    link.client_mut(conn).pace = Pace::Prompt;
    link.ticks(30);
    assert!(link.room.room().is_drained(conn));
}

#[test]
fn events_past_their_bounds_for_half_a_minute_end_the_connection() {
    let small = Settings { events_most: 10, ..Settings::default() };
    let bytes = Settings { events_bytes: limits::ROOM_MESSAGE, ..Settings::default() };
    for (settings, count, len) in [(small, 11, 1), (bytes, 2, 40_000)] {
        let mut link = lab::with(settings);
        let conn = link.join();
        let player = link.player(conn);
        link.heard();
        link.client_mut(conn).takes_events = false;
        for _ in 0..count {
            link.edit(|room| room.send(conn, &"x".repeat(len))).expect("it fits");
        }
        link.ticks(30 * RATE - 1);
        assert!(link.client(conn).is_joined(), "updates flow, and half a minute has not passed");
        link.ticks(2 * RATE);
        assert_eq!(link.client(conn).closed, Some((1006, String::new())));
        assert_eq!(link.heard()[0], Heard::Dropped(player, Dropped::FellBehind));
    }
}

#[test]
fn events_that_come_back_within_their_bounds_in_time_are_fine() {
    let mut link = lab::with(Settings { events_most: 10, ..Settings::default() });
    let conn = link.join();
    for _ in 0..5 {
        link.client_mut(conn).takes_events = false;
        for _ in 0..11 {
            link.edit(|room| room.send(conn, "x")).expect("it is short");
        }
        link.ticks(20 * RATE);
        link.client_mut(conn).takes_events = true;
        link.edit(|room| room.send(conn, "x")).expect("it is short");
        link.ticks(2 * RATE);
    }
    assert!(link.client(conn).is_joined());
    assert_eq!(link.client(conn).events.len(), 5 * 12);
}

#[test]
fn a_session_far_past_its_bounds_is_ended_at_once() {
    for (count, len) in [(limits::EVENTS_MOST + 1, 1), (90, 50_000)] {
        let mut link = lab::open();
        let conn = link.join();
        let player = link.player(conn);
        link.heard();
        link.client_mut(conn).takes_events = false;
        let text = "x".repeat(len);
        for _ in 0..count {
            link.edit(|room| room.send(conn, &text)).expect("it fits");
        }
        link.ticks(RATE + 1);
        assert_eq!(link.client(conn).closed, Some((1006, String::new())));
        assert_eq!(link.heard(), [Heard::Left(player, LeaveReason::Dropped)]);
        assert_eq!(link.room.sessions(), 0);
        let again = link.rejoin(conn);
        assert_eq!(link.client(again).code(), Some(code::NO_SESSION));
    }
}

#[test]
fn a_held_session_past_the_lower_bound_is_ended() {
    let mut link = lab::with(Settings { events_most: 10, ..Settings::default() });
    let conn = link.join();
    let player = link.player(conn);
    link.drop_link(conn);
    link.tick();
    link.heard();
    for n in 0..11 {
        assert_eq!(link.room.sessions(), 1, "{n} events wait");
        link.edit(|room| room.send_player(player, "x")).expect("it is short");
        link.ticks(RATE);
    }
    link.ticks(RATE);
    assert_eq!((link.heard(), link.room.sessions()), (vec![Heard::Left(player, LeaveReason::Dropped)], 0));
}

#[test]
fn events_wait_for_acknowledgements_behind_a_window_of_their_own() {
    let mut link = lab::open();
    let conn = link.join();
    link.client_mut(conn).takes_events = false;
    for _ in 0..10 {
        link.edit(|room| room.send(conn, &"x".repeat(50_000))).expect("it fits");
    }
    link.ticks(3);
    let came = link.client(conn).events.len();
    assert!(came * 50_000 <= limits::EVENTS_WINDOW && came >= 5, "{came} events are on the wire");
    link.edit(|room| room.state_mut::<Board>().set_round(3));
    link.tick();
    assert_eq!(link.replica(conn).state::<Board>().map(|board| board.round), Some(3), "updates go on");
    link.client_mut(conn).takes_events = true;
    link.edit(|room| room.send(conn, "x")).expect("it is short");
    link.ticks(5);
    assert_eq!(link.client(conn).events.len(), 11);
    assert_eq!(link.room.room().unacknowledged_events(session(&link, conn)), (0, 0));
}

fn texts(link: &mut Link<Lab>) -> (Vec<String>, usize) {
    let (mut events, mut transients) = (Vec::new(), 0);
    for heard in link.heard() {
        match heard {
            Heard::Event(_, text) => events.push(text),
            Heard::Transient(..) => transients += 1,
            _ => {}
        }
    }
    (events, transients)
}

#[test]
fn past_the_credit_transients_are_dropped_and_counted_and_events_wait_in_order() {
    let mut link = lab::open();
    let conn = link.join();
    link.heard();
    for n in 0..150 {
        link.say(conn, &ClientMessage::Transient(&encoded(&format!("{n}"))));
    }
    link.tick();
    assert_eq!(texts(&mut link), (vec![], 120), "so many at once");
    for n in 0..60 {
        link.send(conn, &format!("{n}"));
    }
    let mut came = Vec::new();
    for tick in 0..20 {
        link.tick();
        let (events, _) = texts(&mut link);
        assert!(events.len() <= if tick == 0 { 6 } else { 3 }, "sixty a second");
        came.extend(events);
    }
    link.ticks(2);
    came.extend(texts(&mut link).0);
    assert_eq!(came, (0..60).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(link.client(conn).handled, 60);
    link.ticks(limits::HEARTBEAT_SECONDS as usize * RATE);
    assert_eq!(link.logged("flooded"), 1, "one line a heartbeat");
}

#[test]
fn a_transient_past_the_credit_is_not_even_looked_at() {
    let mut link = lab::with(Settings { messages_burst: 1, messages_per_second: 1, ..Settings::default() });
    let conn = link.join();
    link.say(conn, &ClientMessage::Transient(&encoded(&"fine")));
    link.send_bytes(conn, &[0x03, 0xc1]);
    link.tick();
    assert!(link.client(conn).is_joined());
    link.ticks(2 * RATE);
    link.send_bytes(conn, &[0x03, 0xc1]);
    link.tick();
    assert_eq!(link.client(conn).code(), Some(code::BAD_MESSAGE));
}

#[test]
fn events_past_the_inbox_close_with_4008_and_what_was_taken_is_handled() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.heard();
    let text = "x".repeat(20_000);
    let mut sent = 0;
    while link.client(conn).closed.is_none() {
        link.send(conn, &text);
        sent += 1;
        assert!(sent * 20_000 < 2 * limits::INBOX);
    }
    assert_eq!(link.client(conn).code(), Some(code::FLOOD));
    link.tick();
    let heard = link.heard();
    assert_eq!(heard.len(), sent, "all but the last, and the drop");
    assert_eq!(heard.last(), Some(&Heard::Dropped(player, Dropped::Misbehaved)));
    // She comes back, and sends the last again.
    let again = link.rejoin(conn);
    assert_eq!(link.client(again).welcome.map(|welcome| welcome.received), Some(sent as u64 - 1));
    link.send(again, &text);
    link.tick();
    assert!(link.heard().contains(&Heard::Event(player, text)));
}

#[test]
fn what_waits_for_credit_is_handled_while_she_is_held() {
    let mut link = lab::with(Settings { messages_burst: 2, messages_per_second: 20, ..Settings::default() });
    let conn = link.join();
    link.heard();
    for n in 0..10 {
        link.send(conn, &format!("{n}"));
    }
    link.drop_link(conn);
    link.ticks(12);
    let (events, _) = texts(&mut link);
    assert_eq!(events, (0..10).map(|n| n.to_string()).collect::<Vec<_>>());
    let again = link.rejoin(conn);
    assert_eq!(link.client(again).handled, 10);
}

#[test]
fn who_leaves_has_all_handled_that_she_said() {
    let mut link = lab::with(Settings { messages_burst: 2, messages_per_second: 20, ..Settings::default() });
    let conn = link.join();
    let player = link.player(conn);
    link.heard();
    (0..10).for_each(|n| link.send(conn, &format!("{n}")));
    link.leave(conn);
    link.tick();
    assert_eq!(link.heard().len(), 2, "a leave buys no credit");
    link.ticks(8);
    let heard = link.heard();
    assert_eq!((heard.len(), heard.last()), (9, Some(&Heard::Left(player, LeaveReason::Left))));
}

#[test]
fn acknowledgements_are_outside_the_credit() {
    let mut link = lab::with(Settings { messages_burst: 1, messages_per_second: 1, ..Settings::default() });
    let conn = link.join();
    link.add(dot(0.0));
    for round in 0..100 {
        move_dots(&mut link, round);
        link.tick();
        same(&link, conn);
    }
    link.send(conn, &"hello");
    link.tick();
    assert_eq!(texts(&mut link).0, ["hello"]);
}

//! How long a session is held whose connection has ended, and what the game hears of it.

use room::prelude::*;
use room::runtime::{Closed, Identity, Settings};
use room::session::code;
use room::wire::message::ClientMessage;

use super::lab::{self, Hand, Heard, Lab};
use super::link::Link;

/// Ticks a second.
const RATE: usize = 20;

/// The seconds that a session is held after its connection ended so.
fn held(settings: Settings, hidden_ticks: usize, end: impl FnOnce(&mut Link<Lab>, ConnectionId)) -> usize {
    let mut link = lab::with(settings);
    let conn = link.join();
    let player = link.player(conn);
    if hidden_ticks > 0 {
        link.say(conn, &ClientMessage::Hidden(true));
        link.ticks(hidden_ticks);
    }
    end(&mut link, conn);
    link.tick();
    let mut ticks = 0;
    while link.room.sessions() > 0 {
        assert!(!link.heard().iter().any(|heard| matches!(heard, Heard::Left(..))), "her seat is held");
        link.tick();
        ticks += 1;
    }
    assert_eq!(link.heard().last(), Some(&Heard::Left(player, LeaveReason::Dropped)));
    ticks / RATE
}

#[test]
fn how_a_connection_ended_says_how_long_its_session_is_held() {
    let end = |how| move |link: &mut Link<Lab>, conn| link.close(conn, how);
    for (how, seconds) in
        [(Closed::WithFrame, 15), (Closed::Broken, 30), (Closed::Silent, 30), (Closed::FellBehind, 30)]
    {
        assert_eq!(held(Settings::default(), 0, end(how)), seconds, "{how:?}");
        assert_eq!(held(Settings::default(), 2 * RATE, end(how)), 120, "hidden, then {how:?}");
        assert_eq!(held(Settings::default(), 2 * RATE - 2, end(how)), seconds, "just hidden, then {how:?}");
    }
    let misbehave = |link: &mut Link<Lab>, conn| link.send_bytes(conn, &[0xff]);
    assert_eq!(held(Settings::default(), 0, misbehave), 15, "a code that the room sent");
}

#[test]
fn a_game_sets_one_hold_for_all_ends() {
    for seconds in [1, 300] {
        let settings = Settings { hold_seconds: Some(seconds), ..Settings::default() };
        for how in [Closed::WithFrame, Closed::Broken] {
            let end = |link: &mut Link<Lab>, conn| link.close(conn, how);
            assert_eq!(held(settings.clone(), 3 * RATE, end), seconds as usize);
        }
    }
    assert!(Settings { hold_seconds: Some(301), ..Settings::default() }.validate().is_err());
}

#[test]
fn without_a_hold_she_is_gone_at_once() {
    let mut link = lab::with(Settings { hold_seconds: Some(0), ..Settings::default() });
    let conn = link.join();
    let player = link.player(conn);
    link.heard();
    link.send(conn, &"last");
    link.drop_link(conn);
    link.tick();
    assert_eq!(link.room.sessions(), 0);
    let last = Heard::Event(player, String::from("last"));
    assert_eq!(link.heard(), [last, Heard::Left(player, LeaveReason::Dropped)]);
    let late = link.rejoin(conn);
    assert_eq!(link.client(late).code(), Some(code::NO_SESSION));
}

#[test]
fn a_page_that_was_shown_again_counts_as_never_hidden() {
    let shown = |link: &mut Link<Lab>, conn| {
        link.say(conn, &ClientMessage::Hidden(false));
        link.close(conn, Closed::Broken);
    };
    assert_eq!(held(Settings::default(), 5 * RATE, shown), 30);
}

#[test]
fn a_leave_is_answered_with_1000_and_holds_nothing() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.heard();
    link.leave(conn);
    link.tick();
    assert_eq!(link.client(conn).closed, Some((code::LEFT, String::new())));
    assert_eq!((link.heard(), link.room.sessions()), (vec![Heard::Left(player, LeaveReason::Left)], 0));
    let late = link.rejoin(conn);
    assert_eq!(link.client(late).code(), Some(code::NO_SESSION));
}

#[test]
fn a_seat_is_held_and_a_resume_is_never_refused_as_full() {
    let mut link = lab::with(Settings { seats: 2, ..Settings::default() });
    let (conn, _) = (link.join(), link.join());
    link.drop_link(conn);
    link.tick();
    assert_eq!((link.room.sessions(), link.room.room().players()), (2, 1));
    let third = link.open(Identity::guest());
    assert_eq!(link.client(third).code(), Some(code::FULL));
    let reason = link.client(third).closed.as_ref().map(|(_, reason)| reason.as_str());
    assert_eq!(reason, Some(r#"{"players":2,"max":2}"#), "held players count");
    let again = link.rejoin(conn);
    assert!(link.client(again).is_joined());
    // So does a takeover, which takes no seat.
    let newer = link.rejoin(again);
    assert!(link.client(newer).is_joined());
}

#[test]
fn everything_that_is_hers_stays_while_she_is_held() {
    let mut link = lab::open();
    let conn = link.join();
    let player = link.player(conn);
    link.stand(conn, Some([5.0, 6.0, 7.0]));
    link.edit(|room| room.private_mut::<Hand>(player).expect("it is there").set_card(9));
    let session = link.client(conn).welcome.map(|welcome| welcome.session).expect("she was welcomed");
    link.drop_link(conn);
    link.tick();
    let until = link.room.room().held_until(session).expect("she is held");
    assert_eq!(until.0, link.tick_number() + 30 * RATE as u64);
    link.edit(|room| room.private_mut::<Hand>(player).expect("also while held").set_card(10));
    link.tick();
    let again = link.rejoin(conn);
    assert_eq!(link.player(again), player);
    assert_eq!(link.room.room().held_until(session), None);
    let scratch = &link.room.room().connection(again).expect("she is back").scratch;
    assert_eq!(scratch.at, Some([5.0, 6.0, 7.0]), "the game's scratch data is kept");
    assert_eq!(link.replica(again).private::<Hand>().map(|hand| hand.card), Some(10));
}

#[test]
fn the_game_hears_of_each_drop_resume_and_leave_in_order() {
    let mut link = lab::open();
    let mut conn = link.join();
    let player = link.player(conn);
    assert_eq!(link.heard(), [Heard::Joined(player)]);
    for how in [Dropped::Broken, Dropped::Closed, Dropped::Silent] {
        link.close(
            conn,
            match how {
                Dropped::Broken => Closed::Broken,
                Dropped::Closed => Closed::WithFrame,
                _ => Closed::Silent,
            },
        );
        link.tick();
        assert_eq!(link.heard(), [Heard::Dropped(player, how)]);
        conn = link.rejoin(conn);
        assert_eq!(link.heard(), [Heard::Resumed(player)], "and no join");
    }
    // In one tick.
    link.drop_link(conn);
    conn = link.rejoin(conn);
    assert_eq!(link.heard(), [Heard::Dropped(player, Dropped::Broken), Heard::Resumed(player)]);
    link.leave(conn);
    link.tick();
    assert_eq!(link.heard(), [Heard::Left(player, LeaveReason::Left)]);
}

#[test]
fn a_resume_in_the_last_tick_of_the_hold_counts_and_one_past_it_gets_4007() {
    for (late, expected) in [(0, None), (2, Some(code::NO_SESSION))] {
        let mut link = lab::open();
        let conn = link.join();
        link.drop_link(conn);
        link.ticks(1 + 30 * RATE + late - 1);
        let again = link.rejoin(conn);
        assert_eq!(link.client(again).code(), expected);
    }
}

//! Events and calls: each exactly once, in order, in both directions, over any number of connections.

use room::prelude::*;
use room::runtime::{Identity, Settings};
use room::wire::message::{Ack, Call, ClientMessage};

use super::lab::{self, Board, Heard, Lab, dot, dots};
use super::link::{Answer, Link, Pace, encoded};

fn texts(link: &mut Link<Lab>, conn: ConnectionId) -> Vec<String> {
    link.client_mut(conn).take_events()
}

/// The texts of the events that the game handled.
fn events(link: &mut Link<Lab>) -> Vec<String> {
    let heard = link.heard().into_iter();
    heard.filter_map(|heard| if let Heard::Event(_, text) = heard { Some(text) } else { None }).collect()
}

/// An event with the number `gap` above the last of its connection.
fn send(link: &mut Link<Lab>, conn: ConnectionId, gap: u64, text: &str) {
    link.say(conn, &ClientMessage::Event { gap, payload: &encoded(&text) });
}

#[test]
fn an_event_that_came_is_not_handled_again_after_a_drop() {
    let mut link = lab::open();
    let conn = link.join();
    send(&mut link, conn, 1, "one");
    send(&mut link, conn, 1, "two");
    link.drop_link(conn);
    let again = link.rejoin(conn);
    assert_eq!(link.client(again).welcome.map(|welcome| welcome.received), Some(2));
    assert_eq!(events(&mut link), ["one", "two"]);
    send(&mut link, again, 1, "three");
    link.tick();
    assert_eq!((events(&mut link), link.client(again).handled), (vec![String::from("three")], 3));
}

#[test]
fn numbers_may_jump_and_one_that_came_before_is_dropped() {
    let mut link = lab::open();
    let older = link.join();
    // It comes while the newer connection waits for its tick, and counts.
    let newer = link.resume(older);
    send(&mut link, older, 5, "five");
    link.tick();
    assert_eq!(link.client(newer).welcome.map(|welcome| welcome.received), Some(5));
    send(&mut link, newer, 10, "fifteen");
    link.tick();
    assert_eq!(events(&mut link), ["five", "fifteen"]);
    assert_eq!(link.client(newer).handled, 15);
    link.drop_link(newer);
    let last = link.rejoin(newer);
    assert_eq!(link.client(last).welcome.map(|welcome| welcome.received), Some(15));
}

#[test]
fn events_of_several_clients_are_handled_in_the_order_of_their_arrival() {
    let mut link = lab::open();
    let (a, b) = (link.join(), link.join());
    link.heard();
    for (conn, text) in [(a, "1"), (b, "2"), (a, "3"), (b, "4"), (a, "5")] {
        send(&mut link, conn, 1, text);
    }
    let late = link.open(Identity::guest());
    send(&mut link, a, 1, "6");
    link.tick();
    let joined = Heard::Joined(link.player(late));
    let heard = link.heard();
    assert_eq!(heard[5], joined, "what arrived behind her join is handled behind it");
    let texts =
        heard.iter().filter_map(|heard| if let Heard::Event(_, t) = heard { Some(t.as_str()) } else { None });
    assert_eq!(texts.collect::<Vec<_>>(), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn the_room_acknowledges_what_it_has_handled_behind_its_effects() {
    let mut link = lab::with(Settings { send_every: 3, ..Settings::default() });
    let conn = link.join();
    link.ticks(2);
    assert!(link.tick_number().is_multiple_of(3));
    send(&mut link, conn, 1, "echo");
    for _ in 0..2 {
        link.tick();
        assert_eq!(link.client(conn).handled, 0, "its effects have not left");
    }
    assert_eq!(events(&mut link), ["echo"]);
    link.tick();
    assert_eq!((link.client(conn).handled, texts(&mut link, conn)), (1, vec![String::from("echo")]));
}

#[test]
fn events_for_a_client_come_once_whether_it_had_them_or_not() {
    let mut link = lab::open();
    let mut conn = link.join();
    let mut all = Vec::new();
    for round in 0..6 {
        // Taken and acknowledged; taken, and the link breaks before it says so; never arrived.
        let ways = [Pace::Prompt, Pace::Silent, Pace::Stalled];
        for pace in ways {
            link.client_mut(conn).pace = pace;
            link.edit(|room| room.send(conn, &format!("{round} {pace:?}"))).expect("it is short");
            link.tick();
        }
        all.extend(texts(&mut link, conn));
        link.drop_link(conn);
        if round % 2 == 0 {
            link.ticks(3);
        }
        conn = link.rejoin(conn);
    }
    all.extend(texts(&mut link, conn));
    let expected =
        (0..6).flat_map(|round| ["Prompt", "Silent", "Stalled"].map(|pace| format!("{round} {pace}")));
    assert_eq!(all, expected.collect::<Vec<_>>());
    assert_eq!(link.room.room().unacknowledged_events(SessionId(1)), (0, 0));
}

#[test]
fn what_is_sent_to_a_held_session_arrives_and_effects_do_not() {
    let mut link = lab::seen_by(|| dots(8.0).range(5.0));
    let conn = link.join();
    let player = link.player(conn);
    let id = link.add(dot(1.0));
    link.tick();
    link.drop_link(conn);
    link.tick();
    link.edit(|room| {
        room.send(conn, "send").expect("its session lives");
        room.send_player(player, "player").expect("it is short");
        room.broadcast("all").expect("it is short");
        room.send_seeing(id, "seen").expect("it lives");
        room.send_transient(conn, "effect").expect("its session lives");
        room.broadcast_transient("effect").expect("it is short");
    });
    link.tick();
    let again = link.rejoin(conn);
    assert_eq!(texts(&mut link, again), ["send", "player", "all"], "a held session sees nothing");
    assert!(link.client(again).transients.is_empty());
}

#[test]
fn what_was_said_before_a_join_does_not_reach_who_joins() {
    let mut link = lab::open();
    link.join();
    let late = link.open(Identity::guest());
    link.edit(|room| {
        room.broadcast("before").expect("it is short");
        room.broadcast_transient("before").expect("it is short");
    });
    link.tick();
    assert!(link.client(late).is_joined());
    assert!(texts(&mut link, late).is_empty() && link.client(late).transients.is_empty());
    link.edit(|room| room.broadcast("after")).expect("it is short");
    link.tick();
    assert_eq!(texts(&mut link, late), ["after"]);
}

#[test]
fn an_event_comes_behind_the_update_of_its_send_also_after_a_resume() {
    let mut link = lab::open();
    let conn = link.join();
    link.drop_link(conn);
    link.tick();
    link.edit(|room| {
        room.state_mut::<Board>().set_round(5);
        room.broadcast("round five").expect("it is short");
    });
    link.tick();
    let again = link.rejoin(conn);
    let at = link.client(again).events.iter().map(|event| event.at.0).collect::<Vec<_>>();
    assert_eq!(at, [link.tick_number()], "behind the update that has the round");
    assert_eq!(link.replica(again).state::<Board>().map(|board| board.round), Some(5));
}

#[test]
fn a_hook_that_panics_has_handled_its_event_and_the_client_hears_so_once() {
    let mut link = lab::with(Settings { deployed: true, ..Settings::default() });
    let conn = link.join();
    for text in ["one", "panic", "three"] {
        send(&mut link, conn, 1, text);
    }
    link.client_mut(conn).takes_events = false;
    link.tick();
    assert_eq!((events(&mut link), link.client(conn).handled), (vec!["one".into(), "three".into()], 3));
    assert_eq!(link.client(conn).answers, [Answer::Failed(2)]);
    assert_eq!(link.logged("hook_panicked"), 1);
    // Not handled again, and told again where the client has not acknowledged that it knows.
    link.drop_link(conn);
    let again = link.resume_as(conn, None, |resume| resume.received = 0);
    link.tick();
    assert_eq!(link.client(again).answers, [Answer::Failed(2)]);
    link.drop_link(again);
    let last = link.rejoin(again);
    assert!(link.client(last).answers.is_empty() && events(&mut link).is_empty());
}

fn double(n: i64) -> Vec<u8> {
    encoded(&n)
}

#[test]
fn a_call_gets_one_result_which_is_kept_until_it_is_acknowledged() {
    let mut link = lab::open();
    let conn = link.join();
    link.call(conn, "double", &21);
    link.call(conn, "double", &i64::MAX);
    link.client_mut(conn).pace = Pace::Stalled;
    link.tick();
    link.drop_link(conn);
    link.tick();
    let again = link.resume(conn);
    link.client_mut(again).takes_events = false;
    link.tick();
    let results = [Answer::Accepted(1, double(42)), Answer::Refused(2, "too large".into())];
    assert_eq!(link.client(again).answers, results);
    assert_eq!(events(&mut link).len(), 2, "each ran once");
    link.drop_link(again);
    let last = link.resume_as(again, None, |resume| resume.received = 0);
    link.tick();
    assert_eq!(link.client(last).answers, results, "it was not acknowledged");
    link.drop_link(last);
    let end = link.rejoin(last);
    assert!(link.client(end).answers.is_empty());
}

#[test]
fn a_call_is_refused_with_its_reason() {
    let mut link = lab::with(Settings { deployed: true, ..Settings::default() });
    let conn = link.join();
    let player = link.player(conn);
    let [mine, theirs] =
        [player, PlayerId(99)].map(|owner| link.add(lab::Dot { owner, ..dot(0.0) }).entity());
    link.tick();
    let (n, nothing) = (double(1), encoded(&()));
    let now = link.tick_number();
    let call =
        |name, through, deadline, payload| Call { gap: 1, name, through, deadline: Tick(deadline), payload };
    for call in [
        call("double", Some(mine), now + 1, &n),
        call("double", Some(theirs), 0, &n),
        call("double", Some(EntityId::from_wire(77).expect("it is one")), 0, &n),
        call("double", None, now, &n),
        call("nothing", None, 0, &n),
        call("rare", None, 0, &nothing),
        call("rare", None, 0, &nothing),
        call("rare", None, 0, &nothing),
    ] {
        link.say(conn, &ClientMessage::Call(call));
    }
    link.tick();
    let reasons = link.client(conn).answers.iter().map(|answer| match answer {
        Answer::Refused(_, reason) => reason.as_str(),
        _ => "",
    });
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        ["", "not_owner", "not_owner", "late", "unknown_call", "", "", "too_many"]
    );
    link.ticks(20);
    link.call(conn, "rare", &());
    link.tick();
    assert!(matches!(link.client(conn).answers.last(), Some(Answer::Accepted(9, _))), "the rate fills");
}

#[test]
fn calls_and_events_share_their_numbers_and_their_order() {
    let mut link = lab::open();
    let conn = link.join();
    send(&mut link, conn, 1, "one");
    link.call(conn, "double", &2);
    send(&mut link, conn, 1, "three");
    link.tick();
    assert_eq!(events(&mut link), ["one", "double 2", "three"]);
    assert_eq!(link.client(conn).answers, [Answer::Accepted(2, double(4))]);
    assert_eq!(link.client(conn).handled, 3);
}

#[test]
fn an_acknowledgement_that_lies_forgets_only_what_was_sent() {
    let mut link = lab::open();
    let conn = link.join();
    link.client_mut(conn).pace = Pace::Silent;
    link.edit(|room| room.send(conn, "sent")).expect("it is short");
    link.tick();
    link.say(conn, &ClientMessage::Ack(Ack { tick: Tick(u64::MAX), parts: u32::MAX, events: u64::MAX }));
    link.edit(|room| room.send(conn, "later")).expect("it is short");
    link.tick();
    assert_eq!(link.room.room().unacknowledged_events(SessionId(1)).0, 1);
    assert_eq!(texts(&mut link, conn), ["sent", "later"]);
}

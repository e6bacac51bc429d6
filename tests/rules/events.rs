//! Messages from the room.

use room::prelude::*;
use room::runtime::Settings;
use room::wire::payload::PayloadError;
use room::{Keys, SendError, limits};

use super::lab::{self, Board, ByKey, Lab, dot, dots};
use super::link::{Link, Pace};

fn texts(link: &mut Link<Lab>, conn: ConnectionId) -> Vec<String> {
    link.client_mut(conn).take_events()
}

#[test]
fn an_event_comes_behind_the_update_it_speaks_of() {
    let mut link = lab::with(Settings { send_every: 3, ..Settings::default() });
    let conn = link.join();
    link.ticks(3);
    link.edit(|room| room.broadcast("the round begins")).expect("it is short");
    link.edit(|room| room.state_mut::<Board>().set_round(3));
    let mut came = 0;
    for _ in 0..3 {
        link.tick();
        came += link.client(conn).events.len();
        for event in std::mem::take(&mut link.client_mut(conn).events) {
            assert_eq!(event.at.0, link.tick_number(), "in the tick of the send");
            assert_eq!(link.replica(conn).state::<Board>().map(|board| board.round), Some(3));
        }
    }
    assert_eq!(came, 1);
}

#[test]
fn events_keep_their_order_and_reach_whom_they_are_for() {
    let mut link = lab::open();
    let (a, b) = (link.join(), link.join());
    let player = link.player(b);
    link.edit(|room| {
        room.send(a, "to a").expect("it is short");
        room.broadcast("to all").expect("it is short");
        room.send_player(player, "to b").expect("it is short");
        room.send(a, "to a again").expect("it is short");
        let _ = room.send(ConnectionId(99), "to nobody");
        let _ = room.send_player(PlayerId(99), "to nobody");
    });
    link.tick();
    assert_eq!(texts(&mut link, a), ["to a", "to all", "to a again"]);
    assert_eq!(texts(&mut link, b), ["to all", "to b"]);
    link.ticks(3);
    assert!(texts(&mut link, a).is_empty());
}

#[test]
fn everyone_who_sees_is_everyone_who_was_sent_the_enter() {
    let mut link = lab::seen_by(|| dots(8.0).range(5.0));
    let (near, far, leaver, comer) = (link.join(), link.join(), link.join(), link.join());
    let silent = link.join();
    for (conn, x) in [(far, 100.0), (comer, 100.0)] {
        link.stand(conn, Some([x, 0.0, 0.0]));
    }
    let id = link.add(dot(0.0));
    link.tick();
    link.client_mut(silent).pace = Pace::Silent;
    // In the tick of the event one goes, who saw it until then, and one comes.
    link.stand(leaver, Some([100.0, 0.0, 0.0]));
    link.stand(comer, Some([1.0, 0.0, 0.0]));
    link.edit(|room| room.send_seeing(id, "boom")).expect("it is short");
    link.tick();
    for (conn, hears) in [(near, true), (far, false), (leaver, true), (comer, true), (silent, true)] {
        assert_eq!(texts(&mut link, conn).len(), usize::from(hears), "client {}", conn.0);
    }
}

#[test]
fn an_event_about_an_entity_deleted_in_the_same_tick_reaches_those_who_saw_it() {
    let mut link = lab::seen_by(|| dots(8.0).range(5.0));
    let (near, far) = (link.join(), link.join());
    link.stand(far, Some([100.0, 0.0, 0.0]));
    let id = link.add(dot(0.0));
    link.tick();
    link.edit(|room| {
        room.send_seeing(id, "it bursts").expect("it is short");
        room.delete(id);
        assert!(matches!(room.send_seeing(id, "gone"), Err(SendError::NoEntity { .. })));
    });
    link.tick();
    assert!(!link.sees(near, id));
    assert_eq!(texts(&mut link, near), ["it bursts"]);
    assert!(texts(&mut link, far).is_empty());
    // One created and deleted between two sends was seen by nobody, also where its ID is used again.
    link.edit(|room| {
        let blink = room.create_with_id(77, dot(0.0)).expect("it is free");
        room.send_seeing(blink, "never").expect("it lives");
        room.delete(blink);
        room.create_with_id(77, dot(0.0)).expect("it is free");
    });
    link.tick();
    assert!(texts(&mut link, near).is_empty());
}

#[test]
fn everyone_with_a_key_is_everyone_who_subscribes_to_it() {
    let keys = |_: RoomRef<'_, Lab>, _: EntityRef<'_>, _: &mut Keys| {};
    let mut link = lab::seen_by(move || combine((dots(8.0).range(5.0), custom(ByKey(keys)))));
    let (red, blue) = (link.join(), link.join());
    link.subscribe(red, vec!["red".into(), 1_u64.into()]);
    link.subscribe(blue, vec!["blue".into()]);
    link.tick();
    link.edit(|room| {
        room.send_key("red", "to red").expect("it is short");
        room.send_key(1_u64, "to one").expect("it is short");
        room.send_key("nobody", "to nobody").expect("it is short");
    });
    link.tick();
    assert_eq!(texts(&mut link, red), ["to red", "to one"]);
    assert!(texts(&mut link, blue).is_empty());
}

#[test]
fn a_payload_too_large_is_refused_with_its_size_and_nothing_is_sent() {
    let mut link = lab::open();
    let conn = link.join();
    link.ticks(2);
    let messages = link.client(conn).messages;
    link.edit(|room| {
        // Text of that length has a head of three bytes.
        let error = room.broadcast(&"x".repeat(limits::ROOM_PAYLOAD - 2)).expect_err("it is too large");
        let (size, limit) = (limits::ROOM_PAYLOAD + 1, limits::ROOM_PAYLOAD);
        assert_eq!(error, SendError::Payload(PayloadError::TooLarge { size, limit }));
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    });
    link.tick();
    assert_eq!(link.client(conn).messages, messages);
    link.edit(|room| room.broadcast(&"x".repeat(limits::ROOM_PAYLOAD - 3))).expect("it fits");
    link.tick();
    assert_eq!(texts(&mut link, conn)[0].len(), limits::ROOM_PAYLOAD - 3);
}

#[test]
fn an_event_never_comes_between_the_parts_of_an_update() {
    let mut link = lab::open();
    let conn = link.join();
    link.client_mut(conn).pace = Pace::Stalled;
    for seed in 0..4 {
        link.add(lab::Crate { data: vec![seed; 40_000].into(), ..lab::Crate::default() });
        link.edit(|room| room.broadcast("behind")).expect("it is short");
    }
    link.tick();
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    assert!(link.client(conn).parts >= 4, "{}", link.client(conn).parts);
    let tick = link.tick_number();
    assert!(link.client(conn).events.iter().all(|event| event.at.0 == tick));
    assert_eq!(texts(&mut link, conn).len(), 4);
}

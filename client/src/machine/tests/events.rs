use super::*;
use crate::event::{CallId, EventId};

fn gaps(gaps: &[(u64, &str)]) -> Vec<(u64, String)> {
    gaps.iter().map(|(gap, text)| (*gap, (*text).to_owned())).collect()
}

#[test]
fn events_wait_for_the_welcome_and_get_numbers_above_what_it_names() {
    let mut machine = machine();
    assert_eq!(machine.send("one"), Ok(EventId(1)));
    assert_eq!(machine.transient("now"), Err(SendError::NotJoined));
    join(&mut machine, ms(0), Welcome { received: 9, ..first() });
    assert_eq!(machine.send("two"), Ok(EventId(2)));
    machine.transient("now").unwrap();
    let said = said(&mut machine);
    assert!(said.contains(&Said::Transient("now".into())));
    let events: Vec<_> = said.iter().filter(|said| matches!(said, Said::Event(..))).collect();
    assert_eq!(events, [&Said::Event(1, "one".into()), &Said::Event(1, "two".into())]);
    assert_eq!(machine.unacknowledged(), 2);
    // 10 and 11 they are.
    hear(&mut machine, ms(0), RoomMessage::Ack(10));
    assert_eq!(machine.unacknowledged(), 1);
    hear(&mut machine, ms(0), RoomMessage::Ack(11));
    assert_eq!(machine.unacknowledged(), 0);
}

#[test]
fn a_resume_sends_again_what_the_room_has_not_and_nothing_else() {
    let mut machine = joined();
    for text in ["one", "two", "three", "four"] {
        machine.send(text).unwrap();
    }
    assert_eq!(sent(&mut machine).len(), 4);
    hear(&mut machine, ms(0), RoomMessage::Ack(1));
    // Two came and is not handled: it stays here, and is not sent again.
    resume(&mut machine, ms(10), Welcome { received: 2, ..again() });
    machine.send("five").unwrap();
    assert_eq!(sent(&mut machine), gaps(&[(1, "three"), (1, "four"), (1, "five")]));
    assert_eq!(machine.unacknowledged(), 4);
    hear(&mut machine, ms(10), RoomMessage::Ack(5));
    assert_eq!(machine.unacknowledged(), 0);
    // Nothing waits: nothing is sent again.
    resume(&mut machine, ms(20), Welcome { received: 5, ..again() });
    assert_eq!(sent(&mut machine), []);
}

#[test]
fn events_that_were_sent_during_the_drop_come_after_those_before() {
    let mut machine = joined();
    machine.send("before").unwrap();
    said(&mut machine);
    machine.handle_close(ms(1), None, "");
    machine.send("meanwhile").unwrap();
    assert_eq!(said(&mut machine), []);
    machine.handle_online(ms(1));
    join(&mut machine, ms(1), Welcome { received: 0, ..again() });
    assert_eq!(sent(&mut machine), gaps(&[(1, "before"), (1, "meanwhile")]));
}

#[test]
fn what_another_device_sent_meanwhile_is_numbered_over() {
    let mut machine = joined();
    machine.send("one").unwrap();
    assert_eq!(sent(&mut machine), gaps(&[(1, "one")]));
    hear(&mut machine, ms(0), RoomMessage::Ack(1));
    machine.handle_close(ms(1), None, "");
    let two = machine.send("two").unwrap();
    machine.handle_online(ms(1));
    join(&mut machine, ms(1), Welcome { received: 40, ..again() });
    assert_eq!(sent(&mut machine), gaps(&[(1, "two")]));
    // 41 is its number, and names it.
    hear(&mut machine, ms(1), RoomMessage::Failed(41));
    machine.update(ms(1));
    assert_eq!(machine.events().collect::<Vec<_>>(), [Event::Failed(two)]);
}

#[test]
fn failures_name_their_events_also_after_the_acknowledgement() {
    let mut machine = joined();
    let ids: Vec<EventId> = ["a", "b", "c"].map(|text| machine.send(text).unwrap()).into();
    said(&mut machine);
    hear(&mut machine, ms(0), RoomMessage::Ack(3));
    hear(&mut machine, ms(0), RoomMessage::Failed(2));
    // Numbers that nobody gave.
    for strange in [0, 4, u64::MAX] {
        hear(&mut machine, ms(0), RoomMessage::Failed(strange));
        hear(&mut machine, ms(0), RoomMessage::Ack(strange));
    }
    machine.update(ms(0));
    assert_eq!(machine.events().collect::<Vec<_>>(), [Event::Failed(ids[1])]);
    machine.update(ms(100));
    let ack = Said::Ack(Ack { tick: Tick(0), parts: 0, events: 4 });
    assert!(said(&mut machine).contains(&ack), "they count as the room's all the same");
}

#[test]
fn past_the_bounds_send_refuses_and_sends_nothing() {
    let mut machine = machine();
    for _ in 0..limits::EVENTS {
        machine.send("x").unwrap();
    }
    let full = SendError::Full { waiting: limits::EVENTS, bytes: 2 * limits::EVENTS };
    assert_eq!(machine.send("x"), Err(full));
    assert_eq!(machine.unacknowledged(), limits::EVENTS);

    let mut machine = joined();
    let big = "x".repeat(20 * 1024);
    let count = (0..).take_while(|_| machine.send(&big).is_ok()).count();
    assert_eq!(count, limits::EVENTS_BYTES / (20 * 1024 + 3));
    assert!(matches!(machine.send(&big), Err(SendError::Full { .. })));
    said(&mut machine);
    hear(&mut machine, ms(0), RoomMessage::Ack(1));
    assert!(machine.send(&big).is_ok());
    assert!(matches!(machine.send(&"x".repeat(25 * 1024)), Err(SendError::Payload(_))));
}

#[test]
fn the_rooms_own_bound_is_kept() {
    let mut machine = machine();
    join(&mut machine, ms(0), Welcome { events_max: 2, payload_max: 10, ..first() });
    assert!(matches!(machine.send("longer than that"), Err(SendError::Payload(_))));
    machine.send("a").unwrap();
    machine.send("b").unwrap();
    assert!(matches!(machine.send("c"), Err(SendError::Full { .. })));
}

#[test]
fn no_more_is_on_the_wire_than_the_rooms_inbox_takes() {
    let mut machine = joined();
    for _ in 0..limits::EVENTS {
        machine.send(&"x".repeat(200)).unwrap();
    }
    let cost = 202 + limits::MESSAGE_COST;
    let first = sent(&mut machine).len();
    assert!(first * cost <= limits::INBOX && (first + 1) * cost > limits::INBOX / 2);
    assert_eq!(sent(&mut machine).len(), 0);
    hear(&mut machine, ms(0), RoomMessage::Ack(10));
    assert_eq!(sent(&mut machine).len(), 10);
    // All of them get there, also over drops.
    let mut received = first as u64 + 10;
    while received < limits::EVENTS as u64 {
        resume(&mut machine, ms(0), Welcome { received, ..again() });
        received += sent(&mut machine).len() as u64;
        hear(&mut machine, ms(0), RoomMessage::Ack(received));
    }
    assert_eq!(machine.unacknowledged(), 0);
}

#[test]
fn a_call_has_one_result_and_64_may_wait() {
    let mut machine = joined();
    let options = CallOptions::default();
    let buy = machine.call("buy", "sword", options).unwrap();
    let sell = machine.call("sell", "shield", options).unwrap();
    assert_eq!((buy, EventId::from(sell)), (CallId(1), EventId(2)));
    assert_eq!(
        said(&mut machine),
        [Said::Call(1, "buy".into(), Tick::ZERO), Said::Call(1, "sell".into(), Tick::ZERO)]
    );
    hear(&mut machine, ms(0), RoomMessage::Ack(2));
    let receipt = packed("receipt");
    let accepted = |call| RoomMessage::Result { call, tick: Tick(101), outcome: Outcome::Accepted(&receipt) };
    hear(&mut machine, ms(0), accepted(1));
    hear(
        &mut machine,
        ms(0),
        RoomMessage::Result { call: 2, tick: Tick(102), outcome: Outcome::Refused("no") },
    );
    // A second one, and one of a call that this client did not make, are none.
    hear(&mut machine, ms(0), accepted(1));
    hear(&mut machine, ms(0), accepted(77));
    machine.update(ms(0));
    let message = Message::new(receipt.as_slice());
    assert_eq!(
        machine.events().collect::<Vec<_>>(),
        [
            Event::Result { call: buy, tick: Tick(101), outcome: Ok(message) },
            Event::Result { call: sell, tick: Tick(102), outcome: Err("no".into()) }
        ]
    );
    for _ in 0..limits::CALLS {
        machine.call("buy", "x", options).unwrap();
    }
    assert_eq!(machine.call("buy", "x", options), Err(SendError::Calls));
    assert!(machine.send("events go on").is_ok());
    said(&mut machine);
    hear(&mut machine, ms(0), RoomMessage::Ack(99));
    assert_eq!(machine.call("buy", "x", options), Err(SendError::Calls), "handled is not answered");
    assert_eq!(machine.call("", "x", options), Err(SendError::CallName { size: 0 }));
    assert_eq!(machine.call(&"n".repeat(65), "x", options), Err(SendError::CallName { size: 65 }));
}

#[test]
fn a_calls_result_comes_over_a_drop() {
    let mut machine = joined();
    let buy = machine.call("buy", "sword", CallOptions::default()).unwrap();
    said(&mut machine);
    hear(&mut machine, ms(0), RoomMessage::Ack(1));
    resume(&mut machine, ms(1), Welcome { received: 1, ..again() });
    assert_eq!(sent(&mut machine), []);
    hear(
        &mut machine,
        ms(1),
        RoomMessage::Result { call: 1, tick: Tick(9), outcome: Outcome::Refused("late") },
    );
    machine.update(ms(1));
    let result = Event::Result { call: buy, tick: Tick(9), outcome: Err("late".into()) };
    assert_eq!(machine.events().collect::<Vec<_>>(), [result]);
}

#[test]
fn a_deadline_is_a_tick_of_the_room_and_stays_it() {
    let mut machine = joined();
    let options = CallOptions { deadline: Some(ms(500)), through: Some(id(9)) };
    machine.update(ms(1000));
    machine.call("buy", "x", options).unwrap();
    // 20 ticks since the welcome at 100, and 10 more.
    let call = Said::Call(1, "buy".into(), Tick(130));
    assert!(said(&mut machine).contains(&call));
    resume(&mut machine, ms(9000), Welcome { tick: Tick(280), ..again() });
    assert!(said(&mut machine).contains(&call), "it is late now");
}

#[test]
fn transients_go_with_their_connection_and_wait_within_bounds() {
    let mut machine = joined();
    machine.transient("old").unwrap();
    resume(&mut machine, ms(1), again());
    assert!(!said(&mut machine).contains(&Said::Transient("old".into())));
    let big = "x".repeat(20_000);
    let count = (0..).take_while(|_| machine.transient(&big).is_ok()).count();
    assert_eq!(count, limits::CLIENT_QUEUE / 20_004);
    assert_eq!(machine.transient(&big), Err(SendError::Busy));
    assert!(machine.send(&big).is_ok(), "events have room of their own");
    assert!(said(&mut machine).len() >= count);
    assert!(machine.transient(&big).is_ok());
}

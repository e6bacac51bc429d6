//! Rooms, games and clocks that do not behave.

use super::*;

#[test]
fn a_game_that_stood_still_while_it_had_no_socket_does_not_give_up_without_a_try() {
    let mut machine = joined();
    machine.handle_close(seconds(1), None, "the link broke");
    machine.update(seconds(1));
    // The device sleeps for ten minutes.
    machine.update(seconds(601));
    assert_eq!(machine.status(), &Status::Reconnecting, "it has not tried even once");
    assert!(machine.poll_dial(seconds(601)));
    // It does give up where it keeps trying.
    let mut now = seconds(601);
    while !machine.status().is_closed() {
        now += seconds(1);
        machine.handle_dial_failed(now, "no route");
        machine.update(now);
        machine.poll_dial(now);
        assert!(now <= seconds(661));
    }
    assert!(now >= seconds(655));
}

#[test]
fn what_waits_in_the_room_over_drops_counts_for_its_inbox() {
    let mut machine = joined();
    for _ in 0..limits::EVENTS {
        machine.send(&"x".repeat(200)).unwrap();
    }
    let cost = 202 + limits::MESSAGE_COST;
    let mut received = sent(&mut machine).len();
    // The room's game handles none of them meanwhile.
    for _ in 0..5 {
        resume(&mut machine, ms(0), Welcome { received: received as u64, ..again() });
        received += sent(&mut machine).len();
    }
    assert!(received * cost <= limits::INBOX, "{} bytes wait in the room", received * cost);
    // It goes on as the room does.
    hear(&mut machine, ms(0), RoomMessage::Ack(10));
    assert_eq!(sent(&mut machine).len(), 10);
}

#[test]
fn large_transients_that_nobody_reads_do_not_pile_up() {
    let mut machine = joined();
    let payload = packed(&"x".repeat(20_000));
    let mut now = ms(0);
    for _ in 0..2000 {
        hear(&mut machine, now, RoomMessage::Transient(&payload));
        machine.update(now);
        now += ms(1);
    }
    let bytes: usize = machine
        .events()
        .map(|event| if let Event::Transient(message) = event { message.bytes().len() } else { 0 })
        .sum();
    assert!(bytes > 0 && bytes <= limits::CLIENT_WAITING, "{bytes}");
}

#[test]
fn messages_without_a_byte_do_not_pile_up_before_an_update() {
    let mut machine = joined();
    let mut came = 0;
    while machine.is_joined() && came < 1_000_000 {
        machine.handle_message(ms(0), Vec::new());
        came += 1;
    }
    assert!(came < 1_000_000, "{came} messages wait");
}

#[test]
fn acknowledgements_of_what_was_never_sent_and_results_of_unknown_calls_are_harmless() {
    let mut machine = joined();
    machine.send("a").unwrap();
    machine.call("b", "b", CallOptions::default()).unwrap();
    hear(&mut machine, ms(0), RoomMessage::Ack(limits::ID_MOST));
    assert_eq!(machine.unacknowledged(), 2, "they have no numbers yet");
    assert_eq!(sent(&mut machine).len(), 2);
    hear(&mut machine, ms(0), RoomMessage::Ack(u64::MAX));
    hear(&mut machine, ms(0), RoomMessage::Ack(0));
    assert_eq!(machine.unacknowledged(), 0);
    for call in [0, 1, 3, u64::MAX] {
        let outcome = Outcome::Refused("no");
        hear(&mut machine, ms(0), RoomMessage::Result { call, tick: Tick(u64::MAX), outcome });
        hear(&mut machine, ms(0), RoomMessage::Failed(call));
    }
    hear(&mut machine, ms(0), RoomMessage::Pong { clock: u64::MAX, time: u64::MAX });
    hear(&mut machine, ms(0), RoomMessage::Pong { clock: 0, time: u64::MAX });
    machine.update(ms(5));
    machine
        .call("late", "b", CallOptions { deadline: Some(Duration::MAX), ..CallOptions::default() })
        .unwrap();
    assert_eq!(sent(&mut machine).len(), 1);
    assert!(machine.room_time(ms(7)).is_some());
    assert!(machine.is_joined());
}

#[test]
fn a_welcome_with_the_highest_numbers_panics_nowhere() {
    let mut machine = machine();
    let highest = Welcome {
        received: limits::ID_MOST,
        sent: limits::ID_MOST,
        tick: Tick(u64::MAX),
        tick_rate: u32::MAX,
        send_every: 0,
        payload_max: u32::MAX,
        events_max: u32::MAX,
        epoch: u32::MAX,
        ..first()
    };
    join(&mut machine, ms(0), highest.clone());
    machine.send("x").unwrap();
    machine.call("y", "y", CallOptions { deadline: Some(seconds(5)), ..CallOptions::default() }).unwrap();
    event(&mut machine, ms(0), "past the last number");
    machine.update(ms(1));
    said(&mut machine);
    let saved = machine.checkpoint().unwrap();
    let restored = Machine::restore(schema(), options(), saved, u64::MAX, 1);
    if let Ok(mut restored) = restored {
        join(&mut restored, ms(0), highest);
        said(&mut restored);
        restored.update(ms(1));
    }
}

#[test]
fn a_second_welcome_ends_it() {
    for before_update in [true, false] {
        let mut machine = machine();
        join(&mut machine, ms(0), first());
        if !before_update {
            machine.update(ms(1));
        }
        hear(&mut machine, ms(1), RoomMessage::Welcome(again()));
        machine.update(ms(2));
        assert_eq!(closed(&machine).0, Some(4000));
    }
}

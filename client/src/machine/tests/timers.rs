use super::*;

/// The room answers each second until then.
fn pongs(machine: &mut Machine, until: u64) {
    for n in 1..=until {
        machine.update(seconds(n));
        hear(machine, seconds(n), pong(n * 1_000_000, 0));
    }
    said(machine);
}

#[test]
fn it_pings_each_second_with_its_clock() {
    let mut machine = joined();
    assert_eq!(machine.poll_timeout(), Some(seconds(1)));
    machine.update(ms(999));
    assert_eq!(said(&mut machine), []);
    machine.update(ms(1010));
    assert_eq!(said(&mut machine), [Said::Ping(1_010_000)]);
    machine.update(ms(2009));
    assert_eq!(said(&mut machine), []);
    // A socket that takes nothing gets one, not many.
    machine.update(ms(2010));
    machine.update(ms(3010));
    assert_eq!(said(&mut machine), [Said::Ping(3_010_000)]);
}

#[test]
fn a_silent_room_is_dropped_without_a_close_frame_after_15_seconds() {
    let mut machine = joined();
    pongs(&mut machine, 5);
    for n in 6..20 {
        machine.update(seconds(n));
    }
    machine.update(seconds(20) - ms(1));
    assert!(machine.is_joined());
    said(&mut machine);
    machine.update(seconds(20));
    assert_eq!((said(&mut machine), machine.status()), (vec![Said::Abort], &Status::Reconnecting));
    assert_eq!(machine.last_drop().unwrap().code, None);
    assert!(machine.last_drop().unwrap().reason.contains("15 seconds"));
    // What its socket says later is nothing to this machine.
    machine.handle_close(seconds(20), Some(4013), "late");
    event(&mut machine, seconds(20), "late");
    machine.update(seconds(20));
    assert_eq!(machine.events().count(), 0);
    assert_eq!(machine.status(), &Status::Reconnecting);
    assert!(next_dial(&mut machine, seconds(20)) <= seconds(20) + ms(251));
}

#[test]
fn a_game_that_stood_still_does_not_blame_the_room() {
    let mut machine = joined();
    pongs(&mut machine, 5);
    machine.update(seconds(65));
    assert!(machine.is_joined(), "nobody asked the room meanwhile");
    for n in 66..90 {
        machine.update(seconds(n));
    }
    assert_eq!(machine.status(), &Status::Reconnecting, "now it was asked");
}

#[test]
fn a_dial_waits_for_the_abort_to_be_taken() {
    let mut machine = joined();
    machine.handle_foreground(seconds(1));
    machine.update(seconds(3));
    assert!(!machine.poll_dial(seconds(3)));
    assert!(said(&mut machine).contains(&Said::Abort));
    assert!(machine.poll_dial(seconds(3)));
}

#[test]
fn a_welcome_that_does_not_come_is_given_up_after_30_seconds() {
    let mut machine = machine();
    open(&mut machine, seconds(2));
    assert_eq!(machine.poll_timeout(), Some(seconds(2 + limits::CONNECT_SECONDS)));
    machine.update(seconds(32) - ms(1));
    assert_eq!(said(&mut machine), []);
    machine.update(seconds(32));
    assert_eq!((said(&mut machine), machine.status()), (vec![Said::Abort], &Status::Reconnecting));
}

#[test]
fn a_connection_that_says_nothing_in_the_foreground_is_replaced_at_once() {
    let mut machine = joined();
    machine.handle_foreground(ms(300));
    assert_eq!(said(&mut machine), [Said::Ping(300_000)], "it is asked");
    assert_eq!(machine.poll_timeout(), Some(ms(1300)));
    machine.update(ms(1799));
    assert!(machine.is_joined());
    machine.update(ms(1800));
    assert!(said(&mut machine).contains(&Said::Abort));
    assert!(machine.poll_dial(ms(1800)));

    let mut machine = joined();
    machine.handle_foreground(ms(300));
    hear(&mut machine, ms(1700), pong(300_000, 0));
    machine.update(ms(5000));
    assert!(machine.is_joined(), "it said something");

    let mut machine = joined();
    machine.handle_foreground(ms(300));
    // It came before, and was not looked at yet.
    event(&mut machine, ms(299), "old");
    machine.update(ms(1800));
    assert!(!machine.is_joined(), "that is no answer");

    let mut machine = joined();
    machine.handle_foreground(ms(300));
    machine.handle_bytes(ms(400));
    machine.update(ms(1800));
    assert!(machine.is_joined(), "it is saying something");
}

#[test]
fn leaving_comes_behind_what_was_sent_and_is_answered_with_1000() {
    let mut machine = joined();
    machine.send("bye").unwrap();
    machine.leave(ms(10));
    assert_eq!(machine.send("more"), Err(SendError::Over));
    assert_eq!(said(&mut machine), [Said::Event(1, "bye".into()), Said::Leave]);
    machine.handle_close(ms(50), Some(1000), "");
    assert_eq!(closed(&machine), (Some(1000), ""));
    assert!(machine.checkpoint().is_none() && machine.session().is_none());
}

#[test]
fn leaving_waits_for_events_that_the_room_has_no_room_for() {
    let mut machine = joined();
    for _ in 0..20 {
        machine.send(&"x".repeat(20_000)).unwrap();
    }
    machine.leave(ms(10));
    let mut all = said(&mut machine);
    assert!(all.len() < 20 && !all.contains(&Said::Leave));
    while all.len() < 21 {
        hear(&mut machine, ms(20), RoomMessage::Ack(all.len() as u64));
        let more = said(&mut machine);
        assert!(!more.is_empty());
        all.extend(more);
    }
    assert_eq!(all.last(), Some(&Said::Leave));
}

#[test]
fn a_leave_without_an_answer_stops_after_a_second_and_keeps_the_token() {
    let mut machine = joined();
    machine.leave(ms(10));
    assert_eq!(said(&mut machine), [Said::Leave]);
    machine.update(ms(1009));
    assert!(machine.is_joined());
    assert!(said(&mut machine).len() <= 1);
    machine.update(ms(1010));
    assert_eq!(closed(&machine).0, None);
    assert!(matches!(said(&mut machine).as_slice(), [Said::Close(1000, _)]));
    assert!(machine.checkpoint().is_some());

    // A link that breaks meanwhile is not made again.
    let mut machine = joined();
    machine.leave(ms(10));
    machine.handle_close(ms(20), None, "the link broke");
    assert_eq!(closed(&machine), (None, "the link broke"));
    assert!(machine.checkpoint().is_some());
}

#[test]
fn leaving_without_a_connection_stops_at_once() {
    let mut waiting = joined();
    waiting.handle_close(ms(0), None, "");
    waiting.leave(ms(1));
    assert_eq!(closed(&waiting).0, None);
    assert!(!waiting.poll_dial(seconds(9)) && waiting.checkpoint().is_some());
    let mut opening = machine();
    open(&mut opening, ms(0));
    opening.leave(ms(1));
    assert!(opening.status().is_closed());
    assert!(matches!(said(&mut opening).as_slice(), [Said::Close(1000, _)]));
}

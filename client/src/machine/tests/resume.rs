use super::*;
use crate::event::{CallId, EventId, Undelivered};

/// A machine that holds dots 2, 3 and 4 as of tick 101.
fn holding() -> Machine {
    let mut machine = joined();
    update(101).enter(2, 20).enter(3, 30).enter(4, 40).complete(99).to(&mut machine, ms(0));
    machine.update(ms(0));
    said(&mut machine);
    machine
}

fn resumed(machine: &mut Machine) -> Vec<usize> {
    let restored = machine.events().filter_map(|event| match event {
        Event::Resumed { restored } => Some(restored),
        _ => None,
    });
    restored.collect()
}

#[test]
fn it_claims_what_it_holds_and_keeps_it() {
    let mut machine = holding();
    event(&mut machine, ms(0), "held, not taken");
    machine.update(ms(0));
    let hello = resume(&mut machine, ms(10), Welcome { sent: 1, ..again() });
    let claim = hello.resume.clone().unwrap();
    assert_eq!((claim.session, claim.token, claim.received), (SessionId(5), Token([1; 16]), 1));
    let (claim, ids) = (claim.claim, [2, 3, 4].map(id));
    assert_eq!((claim.generation, claim.incarnation, claim.complete), (3, 1, Tick(99)));
    assert_eq!(claim.ids, ids);
    machine.update(ms(10));
    assert_eq!((machine.len(), resumed(&mut machine)), (3, vec![]), "no update has come");
    // The room's ticks may have started over.
    update(50).leave(2).enter(9, 90).to(&mut machine, ms(20));
    machine.update(ms(20));
    assert_eq!(resumed(&mut machine), [2]);
    assert_eq!(machine.entered::<Dot>().map(|(id, _)| id).collect::<Vec<_>>(), [dot(9)]);
    assert_eq!(machine.left::<Dot>().collect::<Vec<_>>(), [dot(2)]);
    assert_eq!((machine.tick(), machine.epoch(), machine.stats().resumes), (Tick(50), 2, 1));
    update(51).to(&mut machine, ms(30));
    machine.update(ms(30));
    assert!(resumed(&mut machine).is_empty(), "told once");
}

#[test]
fn the_next_hello_has_the_newest_token() {
    let mut machine = joined();
    resume(&mut machine, ms(1), again());
    let hello = resume(&mut machine, ms(2), Welcome { epoch: 3, ..again() });
    assert_eq!(hello.resume.unwrap().token, Token([2; 16]));
    assert_eq!(machine.epoch(), 3);
}

#[test]
fn a_welcome_acknowledges_at_once_and_begins_with_nothing_applied() {
    let mut machine = holding();
    event(&mut machine, ms(0), "taken");
    machine.update(ms(0));
    assert_eq!(machine.events().count(), 1);
    resume(&mut machine, ms(10), Welcome { sent: 1, ..again() });
    let ack = Said::Ack(Ack { tick: Tick::ZERO, parts: 0, events: 1 });
    assert_eq!(said(&mut machine), [ack, Said::Ping(10_000)]);
}

#[test]
fn a_second_drop_before_an_update_claims_the_same_again() {
    let mut machine = holding();
    // A new run of the room, of which no update comes.
    resume(&mut machine, ms(10), Welcome { incarnation: 2, tick: Tick(3), ..again() });
    machine.update(ms(10));
    machine.handle_message(ms(10), update(4).enter(8, 1).part(true, false));
    machine.update(ms(10));
    let hello = resume(&mut machine, ms(20), Welcome { incarnation: 2, ..again() });
    let claim = hello.resume.unwrap().claim;
    assert_eq!((claim.incarnation, claim.complete, claim.ids.len()), (1, Tick(99), 3));
    update(5).to(&mut machine, ms(20));
    machine.update(ms(20));
    let claim = resume(&mut machine, ms(30), again()).resume.unwrap().claim;
    assert_eq!((claim.incarnation, claim.complete), (2, Tick(5)), "that run's ticks are known now");
}

#[test]
fn parts_of_a_broken_off_update_are_gone() {
    let mut machine = holding();
    machine.handle_message(ms(0), update(102).enter(5, 50).part(true, false));
    machine.handle_close(ms(0), None, "");
    machine.update(ms(0));
    assert_eq!(machine.replica().open_parts(), 0);
    resume(&mut machine, ms(1), again());
    update(103).enter(5, 51).to(&mut machine, ms(1));
    machine.update(ms(1));
    assert_eq!(machine.get(dot(5)).unwrap().x, 51);
}

#[test]
fn what_came_before_the_drop_is_claimed_and_reported() {
    let mut machine = holding();
    update(102).enter(5, 50).to(&mut machine, ms(0));
    event(&mut machine, ms(0), "came");
    machine.handle_close(ms(0), None, "");
    machine.handle_online(ms(0));
    let claim = join(&mut machine, ms(0), Welcome { sent: 1, ..again() }).resume.unwrap();
    assert_eq!((claim.received, claim.claim.ids.len(), claim.claim.complete), (1, 4, Tick(102)));
    machine.update(ms(0));
    assert_eq!(machine.entered::<Dot>().map(|(id, _)| id).collect::<Vec<_>>(), [dot(5)]);
    assert_eq!(texts(&mut machine), ["came"]);
    machine.update(ms(0));
    assert_eq!(machine.entered::<Dot>().count(), 0);
}

#[test]
fn a_claim_that_is_too_long_forgets_what_does_not_fit() {
    let mut machine = joined();
    let ids: Vec<u64> = (0..10_000).map(|n| 2 + n * 3_000_000).collect();
    for (n, chunk) in ids.chunks(2000).enumerate() {
        let whole = chunk.iter().fold(update(101 + n as u64), |update, id| update.enter(*id, 1));
        whole.to(&mut machine, ms(0));
    }
    machine.update(ms(0));
    machine.update(ms(0));
    assert_eq!(machine.len(), 10_000);
    let claim = resume(&mut machine, ms(1), again()).resume.unwrap().claim;
    assert!(claim.ids.len() < 10_000 && claim.ids.len() > limits::CLAIM / 4 - 2, "{}", claim.ids.len());
    machine.update(ms(1));
    assert_eq!(machine.len(), claim.ids.len());
    assert_eq!(machine.left::<Dot>().count(), 10_000 - claim.ids.len());
}

#[test]
fn a_session_that_goes_on_without_its_view_starts_with_an_empty_one() {
    let mut machine = holding();
    resume(&mut machine, ms(10), Welcome { resumed: false, ..again() });
    assert_eq!(machine.len(), 3, "it is shown until the game looks");
    machine.update(ms(10));
    assert_eq!((machine.len(), machine.left::<Dot>().count()), (0, 3));
    update(7).enter(2, 1).to(&mut machine, ms(10));
    machine.update(ms(10));
    assert_eq!((machine.len(), resumed(&mut machine)), (1, vec![]));
}

#[test]
fn a_message_that_came_before_is_dropped_by_its_number() {
    let mut machine = joined();
    for text in ["one", "two", "three"] {
        event(&mut machine, ms(0), text);
    }
    machine.update(ms(0));
    assert_eq!(texts(&mut machine), ["one", "two", "three"]);
    // The acknowledgement got lost: the room holds two and three still.
    resume(&mut machine, ms(1), Welcome { sent: 1, ..again() });
    for text in ["two", "three", "four"] {
        event(&mut machine, ms(1), text);
    }
    machine.update(ms(1));
    assert_eq!((texts(&mut machine), machine.stats().repeats), (vec!["four".to_owned()], 2));
    // Where the room begins further on, the numbers go on from there.
    resume(&mut machine, ms(2), Welcome { sent: 9, ..again() });
    let hello = resume(&mut machine, ms(2), Welcome { sent: 9, ..again() });
    assert_eq!(hello.resume.unwrap().received, 9);
    event(&mut machine, ms(2), "ten");
    machine.update(ms(2));
    assert_eq!(texts(&mut machine), ["ten"]);
    machine.update(ms(100));
    assert!(said(&mut machine).contains(&Said::Ack(Ack { tick: Tick::ZERO, parts: 0, events: 10 })));
}

#[test]
fn a_session_that_is_gone_is_reported_with_what_was_not_delivered() {
    let mut machine = holding();
    machine.send("handled").unwrap();
    let call = machine.call("buy", "sword", CallOptions::default()).unwrap();
    machine.send("on the wire").unwrap();
    said(&mut machine);
    hear(&mut machine, ms(0), RoomMessage::Ack(2));
    event(&mut machine, ms(0), "unread");
    machine.update(ms(0));
    machine.handle_close(ms(0), None, "");
    machine.call("sell", "shield", CallOptions::default()).unwrap();
    machine.handle_online(ms(0));
    open(&mut machine, ms(0));
    machine.handle_close(ms(0), Some(4007), "unknown session");
    assert_eq!((machine.status(), machine.session(), machine.player()), (&Status::Lost, None, None));
    assert_eq!(machine.send("x"), Err(SendError::Over));
    assert!(machine.checkpoint().is_none() && machine.poll_timeout().is_none());
    let undelivered = vec![
        Undelivered { id: EventId(3), message: Message::new(packed("on the wire")), call: None },
        Undelivered { id: EventId(4), message: Message::new(packed("shield")), call: Some("sell".into()) },
    ];
    let events: Vec<Event> = machine.events().collect();
    assert!(matches!(&events[0], Event::Message(message) if message.decode::<String>().unwrap() == "unread"));
    let lost = Event::Result { call, tick: Tick::ZERO, outcome: Err("lost".into()) };
    assert_eq!(events[1..], [lost, Event::SessionLost { undelivered }]);

    assert!(!machine.poll_dial(seconds(1)), "it waits for the game");
    machine.rejoin(seconds(1));
    assert_eq!(
        (machine.status(), machine.notice().unwrap().kind),
        (&Status::Rejoining, NoticeKind::Rejoining)
    );
    machine.send("new").unwrap();
    let hello =
        join(&mut machine, seconds(1), Welcome { session: SessionId(6), player: PlayerId(8), ..first() });
    assert_eq!(hello.resume, None);
    assert_eq!(sent(&mut machine).iter().map(|(_, text)| text).collect::<Vec<_>>(), ["new"]);
    machine.update(seconds(1));
    assert_eq!((machine.player(), machine.len()), (Some(PlayerId(8)), 0));
    event(&mut machine, seconds(1), "of the new session");
    // IDs are ahead of numbers now; one that was never given is none.
    hear(&mut machine, seconds(1), RoomMessage::Failed(u64::MAX));
    machine.update(seconds(1));
    assert_eq!(texts(&mut machine), ["of the new session"], "numbers start over");
    assert_eq!(machine.unacknowledged(), 1);
}

#[test]
fn a_new_session_is_made_by_itself_once_a_drop_where_that_is_set() {
    let mut machine = joined_with(Options { rejoin: true, ..options() });
    let lose = |machine: &mut Machine, now| {
        machine.handle_online(now);
        open(machine, now);
        machine.handle_close(now, Some(4007), "");
    };
    machine.handle_close(seconds(1), None, "");
    lose(&mut machine, seconds(1));
    assert_eq!(machine.status(), &Status::Rejoining);
    // The new one drops before it is welcomed, and is refused again.
    open(&mut machine, seconds(1));
    machine.handle_close(seconds(1), None, "");
    assert_eq!(machine.status(), &Status::Rejoining);
    lose(&mut machine, seconds(1));
    assert_eq!(machine.status(), &Status::Lost);
    machine.rejoin(seconds(2));
    join(&mut machine, seconds(2), Welcome { session: SessionId(6), ..first() });
    machine.handle_close(seconds(3), None, "");
    lose(&mut machine, seconds(3));
    assert_eq!(machine.status(), &Status::Rejoining, "each welcome allows one more");
    assert_eq!(machine.events().filter(|event| matches!(event, Event::SessionLost { .. })).count(), 3);
}

#[test]
fn a_room_that_makes_another_session_unasked_gets_no_old_events() {
    let mut machine = joined();
    machine.send("old").unwrap();
    resume(&mut machine, ms(1), Welcome { session: SessionId(9), resumed: false, ..first() });
    assert_eq!(sent(&mut machine), []);
    let events: Vec<Event> = machine.events().collect();
    assert!(matches!(events.as_slice(), [Event::SessionLost { undelivered }] if undelivered.len() == 1));
    assert_eq!(machine.call("a", "b", CallOptions::default()), Ok(CallId(2)));
}

#[test]
fn moving_things_jump_after_a_return() {
    let mut machine = holding();
    assert!(machine.jumped(), "nothing was there before");
    let step = |tick, machine: &mut Machine| {
        update(tick).to(machine, ms(tick));
        machine.update(ms(tick));
        machine.jumped()
    };
    assert!(!step(102, &mut machine));
    resume(&mut machine, ms(110), again());
    machine.update(ms(110));
    assert!(!machine.jumped(), "nothing has come");
    assert!(step(111, &mut machine));
    assert!(!step(112, &mut machine));
    machine.handle_hidden(ms(113), true);
    assert!(!step(114, &mut machine));
    machine.handle_hidden(ms(115), false);
    assert!(step(116, &mut machine));
    assert!(!step(117, &mut machine));
}

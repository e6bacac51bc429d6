use super::*;
use crate::event::EventId;

/// A wall clock.
const UNIX_MS: u64 = 1_800_000_000_000;

/// A checkpoint as a page finds it in its storage.
fn stored(machine: &mut Machine) -> Checkpoint {
    let checkpoint = machine.checkpoint().expect("there is a session");
    serde_json::from_str(&serde_json::to_string(&checkpoint).unwrap()).unwrap()
}

fn restored(checkpoint: &Checkpoint, unix_ms: u64) -> Machine {
    Machine::restore(schema(), options(), checkpoint.clone(), unix_ms, 1).unwrap()
}

/// The numbers of what it sends behind such a welcome.
fn numbers(machine: &mut Machine, received: u64) -> Vec<(u64, String)> {
    let mut number = received;
    sent(machine)
        .into_iter()
        .map(|(gap, text)| {
            number += gap;
            (number, text)
        })
        .collect()
}

#[test]
fn a_reloaded_page_goes_on_where_the_other_ended() {
    let mut page = joined();
    page.send("sent").unwrap();
    said(&mut page);
    page.handle_close(ms(0), None, "");
    let waits = page.send("waits").unwrap();
    let call = page.call("buy", "sword", CallOptions::default()).unwrap();
    let checkpoint = stored(&mut page);

    let mut page = restored(&checkpoint, UNIX_MS);
    assert_eq!((page.status(), page.session()), (&Status::Connecting, Some(SessionId(5))));
    assert_eq!(page.unacknowledged(), 3);
    let new = page.send("new").unwrap();
    assert_eq!(new, EventId(4), "IDs go on");
    let hello = join(&mut page, ms(0), Welcome { received: 1, ..again() });
    let resume = hello.resume.unwrap();
    assert_eq!((resume.session, resume.token), (SessionId(5), Token([1; 16])));
    assert_eq!(resume.claim.ids, []);
    let numbers = numbers(&mut page, 1);
    assert_eq!(numbers[..2], [(2, "waits".to_owned()), (3, "buy".to_owned())]);
    let [_, _, (number, text)] = numbers.as_slice() else { panic!("{numbers:?}") };
    assert!(text == "new" && *number > 100_000_000_000_000 && *number < limits::ID_MOST, "{number}");
    // What the room says of them names them.
    hear(&mut page, ms(0), RoomMessage::Failed(2));
    hear(&mut page, ms(0), RoomMessage::Result { call: 3, tick: Tick(9), outcome: Outcome::Refused("no") });
    hear(&mut page, ms(0), RoomMessage::Failed(*number));
    page.update(ms(0));
    let result = Event::Result { call, tick: Tick(9), outcome: Err("no".into()) };
    let events: Vec<Event> = page.events().collect();
    assert_eq!(events, [Event::Failed(waits), result, Event::Failed(new)]);
}

#[test]
fn an_old_checkpoint_repeats_nothing_and_gives_no_number_twice() {
    let mut page = joined();
    page.send("one").unwrap();
    let old = stored(&mut page);
    page.send("two").unwrap();
    page.send("three").unwrap();
    assert_eq!(numbers(&mut page, 0).len(), 3);
    // The room has all three; the page that knew it is gone.
    let mut second = restored(&old, UNIX_MS);
    join(&mut second, ms(0), Welcome { received: 3, ..again() });
    second.send("four").unwrap();
    let four = numbers(&mut second, 3);
    assert_eq!((four.len(), four[0].1.as_str()), (1, "four"));
    // Another reload, from the same old checkpoint.
    let mut third = restored(&old, UNIX_MS + 1);
    join(&mut third, ms(0), Welcome { received: four[0].0, ..again() });
    third.send("five").unwrap();
    let five = numbers(&mut third, four[0].0);
    assert!(five.len() == 1 && five[0].0 > four[0].0);
    // One whose page sent nothing the room has.
    let mut fourth = restored(&old, UNIX_MS);
    join(&mut fourth, ms(0), again());
    assert_eq!(numbers(&mut fourth, 0), [(1, "one".to_owned())]);
}

#[test]
fn a_checkpoint_fixes_the_numbers_of_what_waits() {
    let mut page = joined();
    page.handle_close(ms(0), None, "");
    page.send("waits").unwrap();
    let checkpoint = stored(&mut page);
    // Page and checkpoint both go on: the room sees one event under one number.
    page.handle_online(ms(0));
    join(&mut page, ms(0), again());
    assert_eq!(numbers(&mut page, 0), [(1, "waits".to_owned())]);
    let mut other = restored(&checkpoint, UNIX_MS);
    join(&mut other, ms(0), Welcome { received: 1, ..again() });
    assert_eq!(numbers(&mut other, 1), []);
}

#[test]
fn what_the_page_before_took_is_not_handed_out_again_and_the_rest_is() {
    let mut page = joined();
    event(&mut page, ms(0), "one");
    page.update(ms(0));
    assert_eq!(texts(&mut page), ["one"]);
    event(&mut page, ms(0), "two");
    page.update(ms(0));
    let checkpoint = stored(&mut page);

    // The room holds two, which the page before did not take.
    let mut next = restored(&checkpoint, UNIX_MS);
    let hello = join(&mut next, ms(0), Welcome { sent: 1, ..again() });
    assert_eq!(hello.resume.unwrap().received, 1, "two is asked for");
    event(&mut next, ms(0), "two");
    next.update(ms(0));
    assert_eq!(texts(&mut next), ["two"]);

    // The page before took two after the checkpoint, and three as well.
    let mut next = restored(&checkpoint, UNIX_MS);
    join(&mut next, ms(0), Welcome { sent: 3, ..again() });
    event(&mut next, ms(0), "four");
    next.update(ms(0));
    assert_eq!(texts(&mut next), ["four"]);
}

#[test]
fn a_hidden_page_acknowledges_by_its_checkpoint_which_keeps_what_came() {
    let mut page = joined();
    page.handle_hidden(ms(0), true);
    assert_eq!(said(&mut page), [Said::Hidden(true)]);
    event(&mut page, ms(0), "one");
    let call = page.call("buy", "x", CallOptions::default()).unwrap();
    said(&mut page);
    let receipt = packed("receipt");
    hear(
        &mut page,
        ms(0),
        RoomMessage::Result { call: 1, tick: Tick(9), outcome: Outcome::Accepted(&receipt) },
    );
    page.update(ms(100));
    assert!(!said(&mut page).iter().any(|said| matches!(said, Said::Ack(ack) if ack.events > 0)));
    let checkpoint = stored(&mut page);
    page.update(ms(200));
    assert!(said(&mut page).contains(&Said::Ack(Ack { tick: Tick::ZERO, parts: 0, events: 2 })));

    // The room keeps neither any more: the next page has them from the checkpoint, once it is let in.
    let mut next = restored(&checkpoint, UNIX_MS);
    assert_eq!(next.events().count(), 0);
    let again_stored = stored(&mut next);
    for checkpoint in [checkpoint, again_stored] {
        let mut next = restored(&checkpoint, UNIX_MS);
        assert_eq!(next.events().count(), 0);
        let hello = join(&mut next, ms(0), Welcome { sent: 2, ..again() });
        assert_eq!(hello.resume.unwrap().received, 2);
        // Not taken yet, and only here: another checkpoint keeps them, also one of a page that is shown.
        assert_eq!(stored(&mut next).clone().inbox_len(), 2);
        event(&mut next, ms(0), "three");
        next.update(ms(0));
        let events: Vec<Event> = next.events().collect();
        let [Event::Message(one), result, Event::Message(three)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!(one.decode::<String>().unwrap(), "one");
        let outcome = Ok(Message::new(receipt.as_slice()));
        assert_eq!(*result, Event::Result { call, tick: Tick(9), outcome });
        assert_eq!(three.decode::<String>().unwrap(), "three");
        assert_eq!(stored(&mut next).inbox_len(), 0);
    }
}

#[test]
fn a_hidden_page_acknowledges_no_more_than_either_end_keeps() {
    let mut page = joined();
    page.handle_hidden(ms(0), true);
    for _ in 0..limits::EVENTS + 5 {
        event(&mut page, ms(0), "x");
    }
    page.update(ms(0));
    assert_eq!(page.checkpoint().unwrap().inbox_len(), limits::EVENTS);
    said(&mut page);
    page.update(ms(500));
    let most = Said::Ack(Ack { tick: Tick::ZERO, parts: 0, events: limits::EVENTS as u64 });
    assert!(said(&mut page).contains(&most));
}

#[test]
fn a_checkpoint_that_could_not_be_stored_acknowledges_nothing() {
    let mut page = joined();
    page.handle_hidden(ms(0), true);
    event(&mut page, ms(100), "one");
    page.absorb(ms(100));
    stored(&mut page);
    page.absorb(ms(200));
    let acks = |page: &mut Machine| {
        let acks = said(page).into_iter().filter_map(|said| match said {
            Said::Ack(ack) => Some(ack.events),
            _ => None,
        });
        acks.max()
    };
    assert_eq!(acks(&mut page), Some(1));
    event(&mut page, ms(300), "two");
    page.absorb(ms(300));
    assert_eq!(page.checkpoint().expect("there is a session").inbox_len(), 2);
    page.checkpoint_failed();
    page.absorb(ms(600));
    assert_ne!(acks(&mut page), Some(2), "the only copy is in a page that may be gone");
    assert_eq!(stored(&mut page).inbox_len(), 2);
    page.absorb(ms(900));
    assert_eq!(acks(&mut page), Some(2));
    assert_eq!(texts(&mut page), ["one", "two"]);
}

#[test]
fn what_came_to_a_hidden_page_is_one_report_with_what_comes_when_it_is_shown() {
    let mut page = joined();
    page.handle_hidden(ms(0), true);
    update(101).enter(1, 10).to(&mut page, ms(50));
    page.absorb(ms(50));
    update(102).enter(2, 20).to(&mut page, ms(100));
    page.absorb(ms(100));
    page.absorb(ms(150));
    page.handle_hidden(ms(200), false);
    update(103).enter(3, 30).to(&mut page, ms(200));
    page.update(ms(200));
    let entered: Vec<u32> = page.entered::<Dot>().map(|(_, dot)| dot.x).collect();
    assert_eq!(entered, [10, 20, 30]);
    assert!(page.jumped());
    page.update(ms(250));
    assert_eq!(page.entered::<Dot>().count(), 0);
}

#[test]
fn hidden_is_said_when_it_changes_and_at_each_welcome() {
    let mut page = joined();
    page.handle_hidden(ms(0), true);
    page.handle_hidden(ms(0), true);
    assert_eq!(said(&mut page), [Said::Hidden(true)]);
    resume(&mut page, ms(1), again());
    assert!(said(&mut page).contains(&Said::Hidden(true)));
    page.handle_hidden(ms(2), false);
    assert_eq!(said(&mut page), [Said::Hidden(false)]);
    resume(&mut page, ms(3), again());
    assert!(!said(&mut page).iter().any(|said| matches!(said, Said::Hidden(_))));
}

#[test]
fn a_restored_session_that_is_gone_reports_what_was_not_delivered() {
    let mut page = joined();
    page.send("waits").unwrap();
    page.handle_hidden(ms(0), true);
    event(&mut page, ms(0), "only here");
    page.update(ms(0));
    let checkpoint = stored(&mut page);
    let mut next = restored(&checkpoint, UNIX_MS);
    open(&mut next, ms(0));
    next.handle_close(ms(0), Some(4007), "");
    assert_eq!(next.status(), &Status::Lost);
    let events: Vec<Event> = next.events().collect();
    let [Event::Message(_), Event::SessionLost { undelivered }] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(undelivered[0].message.decode::<String>().unwrap(), "waits");
}

#[test]
fn a_checkpoint_is_of_one_room_and_shows_no_secret() {
    assert!(machine().checkpoint().is_none(), "there is no session");
    let mut page = joined();
    page.send("a secret word").unwrap();
    let checkpoint = stored(&mut page);
    let shown = format!("{checkpoint:?} {page:?}");
    assert!(!shown.contains("AQEB") && !shown.contains("secret"), "{shown}");
    let elsewhere = Options { room: "ws://here/rooms/b".into(), ..options() };
    let refused = Machine::restore(schema(), elsewhere, checkpoint, UNIX_MS, 1);
    let Err(CheckpointError::OtherRoom { checkpoint, client }) = refused else { panic!("restored") };
    assert_eq!((checkpoint.as_str(), client.as_str()), ("ws://here/rooms/a", "ws://here/rooms/b"));
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let mut page = joined();
    page.send("one").unwrap();
    page.call("buy", "two", CallOptions::default()).unwrap();
    page.handle_hidden(ms(0), true);
    event(&mut page, ms(0), "x");
    page.update(ms(0));
    let good = serde_json::to_value(stored(&mut page)).unwrap();
    let refused = |path: &str, value: serde_json::Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap_or_else(|| panic!("{path} in {good}")) = value;
        let Ok(checkpoint) = serde_json::from_value::<Checkpoint>(bad) else { return true };
        Machine::restore(schema(), options(), checkpoint, UNIX_MS, 1).is_err()
    };
    assert!(!refused("/session", 6.into()));
    let values: [(&str, serde_json::Value); 16] = [
        ("/token", "AQ".into()),
        ("/token", "?".into()),
        ("/items/0/number", 0.into()),
        ("/items/1/number", 1.into()),
        ("/items/1/id", 1.into()),
        ("/items/1/id", 3.into()),
        ("/items/0/payload", "".into()),
        ("/items/1/call/name", "".into()),
        ("/items/1/call/name", "n".repeat(65).into()),
        ("/last", 1.into()),
        ("/last", u64::MAX.into()),
        ("/last_id", u64::MAX.into()),
        ("/runs/0", vec![u64::MAX, 1].into()),
        ("/calls", (0..65).collect::<Vec<u64>>().into()),
        ("/inbox/0/0", 2.into()),
        ("/taken", u64::MAX.into()),
    ];
    for (path, value) in values {
        assert!(refused(path, value.clone()), "{path} = {value}");
    }
}

#[test]
fn a_checkpoint_is_of_the_room_and_of_what_led_there() {
    let given = |url: &str| Options { room: url.into(), ..options() };
    let mut page = Machine::new(schema(), given("ws://here/any/duel"), 1);
    assert_eq!((page.room(), page.room_name()), ("ws://here/any/duel", None));
    join(&mut page, ms(0), Welcome { room: "duel-1", ..first() });
    assert_eq!((page.room(), page.room_name()), ("ws://here/rooms/duel-1", Some("duel-1")));
    let checkpoint = stored(&mut page);
    assert_eq!(checkpoint.room(), "ws://here/rooms/duel-1");
    for url in ["ws://here/any/duel", "ws://here/rooms/duel-1"] {
        let page = Machine::restore(schema(), given(url), checkpoint.clone(), UNIX_MS, 1).unwrap();
        assert_eq!(page.room(), "ws://here/rooms/duel-1", "it is where the session is");
    }
    for url in
        ["ws://here/any/ball", "ws://there/any/duel", "ws://here/rooms/duel-2", "ws://here/codes/KWMTRX"]
    {
        let other = Machine::restore(schema(), given(url), checkpoint.clone(), UNIX_MS, 1);
        assert!(matches!(other, Err(CheckpointError::OtherRoom { .. })), "{url}");
    }
    // Once the session is lost it goes the way that it was given.
    page.handle_close(ms(1), Some(4007), "");
    assert_eq!((page.status(), page.room()), (&Status::Lost, "ws://here/any/duel"));
}

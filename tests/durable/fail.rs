//! A room that a hook fails again and again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use room_client::Event;
use room_client::testing::TestRoom;

use super::game::{Ask, World, room};

/// Lets ticks pass, and wakes the room whenever it fails; how often that was. `each` acts before each tick.
fn advance(room: &mut TestRoom<World>, ticks: u64, mut each: impl FnMut()) -> usize {
    let mut failures = 0;
    for _ in 0..ticks {
        each();
        failures += wakes(room, |room| room.advance(1));
    }
    failures
}

/// Does something with a room, and wakes the room as often as it fails.
fn wakes(room: &mut TestRoom<World>, act: impl FnOnce(&mut TestRoom<World>)) -> usize {
    let mut failures = 0;
    let mut ended = catch_unwind(AssertUnwindSafe(|| act(room)));
    while ended.is_err() {
        failures += 1;
        ended = catch_unwind(AssertUnwindSafe(|| room.fail_and_wake()));
    }
    failures
}

#[test]
fn an_event_that_always_fails_the_room_is_given_up_whatever_others_send() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    let mut line = 0;
    let mut speak = || {
        ada.send(&Ask::Say(format!("line {line}"))).unwrap();
        line += 1;
    };
    assert_eq!(advance(&mut room, 3, &mut speak), 0);
    let fatal = bo.send(&Ask::Panic).unwrap();
    bo.send(&Ask::Say("still here".into())).unwrap();
    assert_eq!(advance(&mut room, 300, &mut speak), 3, "once, and twice more with care");
    assert!(bo.events().into_iter().any(|event| matches!(event, Event::Failed(id) if id == fatal)));
    assert_eq!(advance(&mut room, 1500, || ()), 0);
    let heard = ada.messages::<String>();
    assert!(heard.contains(&"still here".to_owned()));
    let lines: Vec<_> = heard.into_iter().filter(|text| text != "still here").collect();
    assert!(lines.into_iter().eq((0..line).map(|n| format!("line {n}"))), "each once, in order");
}

#[test]
fn an_event_after_which_a_tick_fails_is_given_up_though_the_room_is_killed_in_between() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    let mut speak = || assert!(ada.send(&Ask::Hit(1)).is_ok());
    bo.send(&Ask::Poison).unwrap();
    let mut failures = 0;
    for _ in 0..20 {
        failures += advance(&mut room, 1, &mut speak);
        failures += wakes(&mut room, TestRoom::kill_and_wake);
        failures += advance(&mut room, 10, &mut speak);
    }
    assert_eq!(failures, 3, "once, and twice more with care");
    assert!(bo.events().into_iter().any(|event| matches!(event, Event::Failed(_))));
}

#[test]
fn another_device_is_not_blamed_for_what_the_first_one_sent() {
    let mut room = room();
    let (ada, phone) = (room.join("ada"), room.join_account("bo", "bo"));
    let fails = |room: &mut TestRoom<World>, act: fn(&mut TestRoom<World>)| {
        catch_unwind(AssertUnwindSafe(|| act(room))).is_err()
    };
    phone.send(&Ask::Panic).unwrap();
    assert!(fails(&mut room, |room| room.advance(2)));
    for _ in 0..2 {
        let again = fails(&mut room, TestRoom::fail_and_wake) || fails(&mut room, |room| room.advance(20));
        assert!(again, "it is tried again");
    }
    // Next it would be given up.
    room.drop_link(&phone);
    room.fail_and_wake();
    let tablet = room.join_account("bo", "bo");
    tablet.send(&Ask::Say("hello".into())).unwrap();
    room.advance(10);
    assert_eq!(ada.messages::<String>(), ["hello"]);
}

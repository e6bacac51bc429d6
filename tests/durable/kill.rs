//! A room that is killed goes on as it was.

use room_client::{CallOptions, Event, Status};

use super::game::{Ask, Purse, Rock, Score, Spark, Vault, Walker, room, same};

#[test]
fn everything_that_was_committed_is_there_again() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    for ask in [
        Ask::Rock("grey".into()),
        Ask::Rock("red".into()),
        Ask::Hit(7),
        Ask::Hide(99),
        Ask::Roll,
        Ask::Earn(5),
    ] {
        ada.send(&ask).unwrap();
    }
    room.advance(2);
    let red = room.stored::<Rock>()[1].0.get();
    bo.send(&Ask::Dig(red, 1500, 9)).unwrap();
    room.advance(1);
    bo.send(&Ask::Paint(red, "blue".into())).unwrap();
    room.advance(1);
    same(&room, &ada);
    let before = (room.stored::<Rock>(), room.stored::<Walker>(), room.stored::<Vault>());
    let score = room.room().state::<Score>().clone();
    room.kill_and_wake();
    assert!(room.game().woken);
    assert_eq!((room.stored::<Rock>(), room.stored::<Walker>(), room.stored::<Vault>()), before);
    assert_eq!(room.room().state::<Score>(), &score);
    assert_eq!(room.game().drops.len(), 2, "both lost their connections");
    for client in [&ada, &bo] {
        assert_eq!(client.status(), Status::Joined);
        same(&room, client);
    }
    assert_eq!(ada.private::<Purse>(), Some(Purse { coins: 5 }));
    let entered = [ada.replica().entered::<Rock>().count(), ada.replica().left::<Rock>().count()];
    assert_eq!(entered, [0, 0], "what did not change keeps its objects");
}

#[test]
fn a_resume_after_a_kill_costs_what_changed_and_no_more() {
    let mut room = room();
    let ada = room.join("ada");
    for n in 0..50 {
        ada.send(&Ask::Rock(format!("rock {n}"))).unwrap();
    }
    room.advance(5);
    let (before, _) = ada.received();
    let first = before.len();
    room.kill_and_wake();
    same(&room, &ada);
    let (after, _) = ada.received();
    assert!(after.len() - first < 200, "{} bytes for a room at rest", after.len() - first);
}

#[test]
fn ranges_that_a_client_missed_before_a_kill_come_with_those_after_it() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    bo.send(&Ask::Rock("grey".into())).unwrap();
    room.advance(1);
    let rock = room.stored::<Rock>()[0].0.get();
    room.drop_link(&ada);
    bo.send(&Ask::Dig(rock, 1500, 9)).unwrap();
    room.advance(1);
    room.kill_and_wake();
    bo.send(&Ask::Dig(rock, 10, 8)).unwrap();
    room.advance(1);
    room.resume(&ada);
    same(&room, &ada);
}

#[test]
fn what_is_ephemeral_goes_and_what_is_coarse_is_corrected() {
    let mut room = room();
    let ada = room.join("ada");
    ada.send(&Ask::Spark(3)).unwrap();
    ada.send(&Ask::Walk(1.0)).unwrap();
    room.advance(40);
    // Changes only what is not stored at once: the tick is not committed.
    ada.send(&Ask::Walk(2.5)).unwrap();
    ada.send(&Ask::Spark(4)).unwrap();
    room.advance(1);
    assert_eq!(ada.view::<Walker>()[0].1.x, 2.5);
    let sparks: Vec<_> = ada.view::<Spark>().iter().map(|(id, _)| id.get()).collect();
    assert_eq!(sparks.len(), 2);
    room.kill_and_wake();
    assert!(room.stored::<Walker>()[0].1.x < 2.6);
    same(&room, &ada);
    assert_eq!(ada.view::<Spark>(), []);
    ada.send(&Ask::Spark(5)).unwrap();
    room.advance(1);
    let again = ada.view::<Spark>()[0].0.get();
    assert!(!sparks.contains(&again), "an ID that a client has seen does not come again");
}

#[test]
fn events_are_handled_once_and_heard_once() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    for n in 0..30 {
        ada.send(&Ask::Say(format!("line {n}"))).unwrap();
        if n % 7 == 3 {
            room.advance(1);
        }
        if n % 10 == 5 {
            room.kill_and_wake();
        }
    }
    room.advance(5);
    let lines: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
    assert_eq!(bo.messages::<String>(), lines);
}

#[test]
fn a_call_has_its_one_result_across_a_kill() {
    let mut room = room();
    let ada = room.join("ada");
    let call = ada.call("earn", &5u32, CallOptions::default()).unwrap();
    room.kill_and_wake();
    room.advance(2);
    let results: Vec<_> = ada
        .events()
        .into_iter()
        .filter(|event| matches!(event, Event::Result { call: id, .. } if *id == call))
        .collect();
    assert_eq!(results.len(), 1);
    assert_eq!(ada.private::<Purse>(), Some(Purse { coins: 5 }));
}

#[test]
fn random_numbers_do_not_come_again() {
    let mut room = room();
    let ada = room.join("ada");
    let mut seen = Vec::new();
    for n in 0..6 {
        ada.send(&Ask::Roll).unwrap();
        room.advance(1);
        seen.push(room.room().state::<Score>().dice);
        if n % 2 == 1 {
            room.kill_and_wake();
        }
    }
    let mut different = seen.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), seen.len());
}

#[test]
fn a_hold_runs_out_in_a_woken_room() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.drop_link(&bo);
    room.advance(2);
    room.kill_and_wake();
    assert_eq!(room.room().sessions(), 2);
    room.advance(31 * 20);
    assert_eq!(room.room().sessions(), 1);
    assert_eq!(room.game().leaves.len(), 1);
    assert_eq!(ada.status(), Status::Joined);
}

#[test]
fn many_kills_and_snapshots_leave_the_room_as_it_is() {
    let mut room = room();
    let ada = room.join("ada");
    for n in 0..400u32 {
        ada.send(&Ask::Rock(format!("rock {n}"))).unwrap();
        if n % 3 == 0 && n > 10 {
            let id = room.stored::<Rock>()[n as usize % 7].0.get();
            ada.send(&Ask::Dig(id, n % 2000, n as u8)).unwrap();
        }
        if n % 11 == 0 && n > 10 {
            let id = room.stored::<Rock>()[0].0.get();
            ada.send(&Ask::Break(id)).unwrap();
        }
        room.advance(1);
        if n % 23 == 0 {
            room.kill_and_wake();
        }
    }
    room.advance(20);
    let stored = room.stored::<Rock>();
    room.kill_and_wake();
    assert_eq!(room.stored::<Rock>(), stored);
    same(&room, &ada);
    let bytes = room.store().unwrap().bytes("test");
    assert!(bytes < 4 * 350 * 2000, "snapshots keep the log short: {bytes} bytes");
}

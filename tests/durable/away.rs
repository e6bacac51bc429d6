//! Clients that were away while the room was killed, and while it was killed again.

use super::game::{Ask, Rock, Spark, room, same};

#[test]
fn what_was_dug_before_a_kill_and_what_was_dug_after_it_both_come() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    ada.send(&Ask::Rock("grey".into())).unwrap();
    room.advance(1);
    let rock = room.stored::<Rock>()[0].0.get();
    room.drop_link(&bo);
    ada.send(&Ask::Dig(rock, 100, 1)).unwrap();
    room.advance(1);
    room.kill_and_wake();
    ada.send(&Ask::Dig(rock, 900, 2)).unwrap();
    room.advance(1);
    room.resume(&bo);
    same(&room, &bo);
}

#[test]
fn a_run_that_a_client_saw_reached_no_further_than_it_was_kept() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    ada.send(&Ask::Rock("grey".into())).unwrap();
    room.advance(40);
    // Ticks that are not kept, for they change nothing that is.
    for heat in 0..10 {
        room.edit(|_, room| room.create(Spark { heat }).map(drop)).unwrap();
        room.advance(1);
    }
    room.drop_link(&ada);
    room.drop_link(&bo);
    room.kill_and_wake();
    // In one of those ticks, as the next run counts them.
    let rock = room.stored::<Rock>()[0].0;
    room.edit(|_, room| room.get_mut(rock).expect("it lives").set_label("red".into())).unwrap();
    room.advance(1);
    room.kill_and_wake();
    room.resume(&bo);
    assert_eq!(bo.view::<Rock>()[0].1.label, "red");
    same(&room, &bo);
}

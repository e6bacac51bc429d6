//! What a client is told entered, changed and left.

use room::prelude::*;

use super::lab::{self, Dot, Lab, dot, dots};
use super::link::Link;

struct Reported {
    entered: Vec<u64>,
    changed: Vec<(u64, FieldMask)>,
    left: Vec<u64>,
}

use room::FieldMask;

fn reported(link: &mut Link<Lab>, conn: ConnectionId) -> Reported {
    let replica = &mut link.client_mut(conn).replica;
    let reported = Reported {
        entered: replica.entered::<Dot>().map(|(id, _)| id.get()).collect(),
        changed: replica.changed::<Dot>().map(|change| (change.id.get(), change.fields)).collect(),
        left: replica.left::<Dot>().map(|id| id.get()).collect(),
    };
    replica.forget_report();
    reported
}

#[test]
fn ten_changes_are_reported_once_with_the_union_of_their_fields() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.tick();
    assert_eq!(reported(&mut link, conn).entered, [id.get()]);
    for n in 1..=10 {
        link.edit(|room| {
            let mut dot = room.get_mut(id).expect("it lives");
            if n % 2 == 0 { dot.set_hp(n) } else { dot.set_x(f64::from(n)) }
        });
        link.tick();
    }
    let Reported { entered, changed, left } = reported(&mut link, conn);
    assert!(entered.is_empty() && left.is_empty());
    let [(changed, fields)] = changed[..] else { panic!("one change: {changed:?}") };
    assert_eq!(changed, id.get());
    assert!(fields.contains(Dot::HP) && fields.contains(Dot::X) && fields.len() == 2, "{fields:?}");
    assert!(reported(&mut link, conn).changed.is_empty(), "and not again");
}

#[test]
fn what_entered_and_changed_is_reported_as_entered() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.tick();
    link.edit(|room| room.get_mut(id).expect("it lives").set_hp(9));
    link.tick();
    let Reported { entered, changed, left } = reported(&mut link, conn);
    assert_eq!((entered, changed.len(), left.len()), (vec![id.get()], 0, 0));
}

#[test]
fn what_entered_and_left_is_not_reported() {
    let mut link = lab::seen_by(|| dots(8.0).range(5.0));
    let conn = link.join();
    reported(&mut link, conn);
    let (deleted, walked) = (link.add(dot(0.0)), link.add(dot(1.0)));
    link.tick();
    assert!(link.sees(conn, deleted) && link.sees(conn, walked));
    link.edit(|room| {
        room.delete(deleted);
        room.get_mut(walked).expect("it lives").set_x(50.0);
    });
    link.tick();
    let Reported { entered, changed, left } = reported(&mut link, conn);
    assert!(entered.is_empty() && changed.is_empty() && left.is_empty(), "{entered:?} {left:?}");
}

#[test]
fn what_changed_and_left_is_reported_as_left() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.tick();
    reported(&mut link, conn);
    link.edit(|room| room.get_mut(id).expect("it lives").set_hp(9));
    link.tick();
    link.edit(|room| room.delete(id));
    link.tick();
    let Reported { entered, changed, left } = reported(&mut link, conn);
    assert_eq!((entered.len(), changed.len(), left), (0, 0, vec![id.get()]));
}

#[test]
fn a_new_entity_under_an_old_id_is_reported_as_left_and_entered() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.edit(|room| room.create_with_id(9, dot(0.0))).expect("it is free");
    link.tick();
    reported(&mut link, conn);
    link.edit(|room| room.delete(id));
    link.tick();
    link.edit(|room| room.create_with_id(9, dot(4.0))).expect("it is free");
    link.tick();
    let Reported { entered, changed, left } = reported(&mut link, conn);
    assert_eq!((entered, changed.len(), left), (vec![9], 0, vec![9]));
}

#[test]
fn tick_and_complete_follow_the_updates() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(dot(0.0));
    for hp in 1..5 {
        link.edit(|room| room.get_mut(id).expect("it lives").set_hp(hp));
        link.tick();
        let replica = link.replica(conn);
        assert_eq!((replica.tick().0, replica.complete()), (link.tick_number(), replica.tick()));
    }
}

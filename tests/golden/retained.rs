//! The vectors of what leaves a view, is retained, and returns.

use std::collections::BTreeMap;

use room::wire::DecodeError;
use room::{EntityId, Game, Id};
use room_client::Replica;

use super::chapter;
use super::game::{Golden, Point};
use super::{Session, apply};

/// What a room sends in which clients keep what left.
pub(crate) fn sent_by_a_room() -> BTreeMap<&'static str, Vec<u8>> {
    let mut session = Session::new(Golden { retain: 8, ..Golden::default() }, false);
    let mut first = session.play(|_| ());
    session.runtime.parts_mut().0.away = true;
    let mut away = session.play(|room| {
        let gone = room.id::<Point>(EntityId::from_wire(12).unwrap()).unwrap();
        assert!(room.delete(gone));
    });
    session.runtime.parts_mut().0.away = false;
    let mut back = session.play(|room| {
        let moved = room.id::<Point>(EntityId::from_wire(10).unwrap()).unwrap();
        room.get_mut(moved).unwrap().set_y(1.0);
    });
    assert_eq!((first.len(), away.len(), back.len()), (2, 1, 1));
    let last = |sent: &mut Vec<Vec<u8>>| sent.pop().unwrap();
    BTreeMap::from([
        ("update-near", last(&mut first)),
        ("update-away", last(&mut away)),
        ("update-returns", last(&mut back)),
    ])
}

#[test]
fn what_is_retained_returns_with_what_changed() {
    let mut replica = Replica::new(&Golden::schema());
    replica.retain(8);
    apply(&mut replica, "update-near");
    replica.forget_report();
    apply(&mut replica, "update-away");
    assert_eq!(replica.retained_ids().map(EntityId::get).collect::<Vec<_>>(), [10, 14]);
    assert_eq!(replica.left::<Point>().map(Id::get).collect::<Vec<_>>(), [10, 12, 14]);
    assert_eq!((replica.len(), replica.retained::<Point>().count()), (1, 2));
    apply(&mut replica, "update-returns");
    let points: Vec<_> = replica.all::<Point>().map(|(id, point)| (id.get(), point.x, point.y)).collect();
    assert_eq!(points, [(10, -1000.0, 1.0), (14, 0.0, 0.0)]);
    assert_eq!((replica.retained_ids().count(), replica.entered::<Point>().count()), (0, 2));
}

#[test]
fn what_is_not_retained_cannot_return() {
    let vectors = chapter::vectors();
    let returns = &vectors["update-returns"][1..];
    // Nothing is retained at all; it never left; or it left too long ago.
    for (retain, before) in [(0, "update-away"), (8, "update-near"), (1, "update-away")] {
        let mut replica = Replica::new(&Golden::schema());
        replica.retain(retain);
        apply(&mut replica, "update-near");
        if before == "update-away" {
            apply(&mut replica, before);
        }
        assert_eq!(replica.handle_part(returns), Err(DecodeError::Unknown), "{retain} {before}");
    }
}

//! IDs.

use room::prelude::*;
use room::{CreateError, limits};

use super::lab::{self, Crate, Deck, Dot, Ghost, dot};

#[test]
fn a_taken_id_is_an_error_that_names_the_kind_that_has_it() {
    let mut link = lab::open();
    link.edit(|room| {
        let id = room.create_with_id(500, Crate::default()).expect("it is free");
        assert_eq!(id.get(), 500);
        let error = room.create_with_id(500, dot(0.0)).expect_err("it is taken");
        assert_eq!(error, CreateError::Taken { id: id.entity(), kind: "crate" });
        assert!(error.to_string().contains("500") && error.to_string().contains("crate"), "{error}");
        assert!(room.get(id).is_some());
        assert!(room.delete(id));
        room.create_with_id(500, dot(0.0)).expect("the ID of a deleted entity is free at once");
        assert!(room.get(id).is_none(), "a stale typed ID never reaches another kind");
        assert!(room.get_mut(id).is_none());
    });
}

#[test]
fn explicit_ids_go_from_2_to_2_to_the_52() {
    let mut link = lab::open();
    link.edit(|room| {
        for id in [0, 1, (1 << 52) + 1, u64::MAX] {
            assert_eq!(room.create_with_id(id, dot(0.0)), Err(CreateError::BadId { id }));
        }
        for id in [1 << 52, (1 << 52) - 1, 1 << 32] {
            assert_eq!(room.create_with_id(id, dot(0.0)).map(Id::get), Ok(id));
        }
        assert!(room.create(dot(0.0)).expect("it is created").get() < 1 << 32);
    });
}

#[test]
fn automatic_ids_lie_above_the_highest_that_was_ever_used_below_2_to_the_32() {
    let mut link = lab::open();
    link.edit(|room| {
        let high = room.create_with_id(70_000, dot(0.0)).expect("it is free");
        room.delete(high);
        let mut last = 70_000;
        for _ in 0..5 {
            let id = room.create(dot(0.0)).expect("it is created");
            assert!(id.get() > last);
            last = id.get();
            room.delete(id);
        }
    });
}

#[test]
fn running_out_of_automatic_ids_is_an_error() {
    let mut link = lab::open();
    link.edit(|room| {
        room.create_with_id(limits::ID_AUTOMATIC_END - 2, dot(0.0)).expect("it is free");
        let last = room.create(dot(0.0)).expect("one is left");
        assert_eq!(last.get(), limits::ID_AUTOMATIC_END - 1);
        assert_eq!(room.create(dot(0.0)), Err(CreateError::OutOfIds));
        assert!(room.create_with_id(9, dot(0.0)).is_ok(), "explicit ones are not affected");
        assert!(room.create(Ghost::default()).is_ok(), "nor random ones");
    });
}

#[test]
fn random_ids_lie_above_2_to_the_52_and_tell_nothing() {
    let mut link = lab::open();
    let ids: Vec<u64> = (0..50).map(|hp| link.add(Ghost { hp }).get()).collect();
    assert!(ids.iter().all(|id| (1 << 52) < *id && *id < 1 << 53));
    assert!(!ids.is_sorted() && !ids.iter().rev().is_sorted());
    let draw = |ghosts: u32| {
        let mut link = lab::open();
        (0..ghosts).for_each(|hp| {
            link.add(Ghost { hp });
        });
        link.edit(|room| rand_chacha::rand_core::RngCore::next_u64(room.rng()))
    };
    assert_eq!(draw(0), draw(9), "nor do they take from the game's generator");
    let conn = link.join();
    link.tick();
    let held = link.held::<Ghost>(conn);
    assert_eq!(held.len(), 50);
    assert!(held.is_sorted(), "clients walk them in order of IDs");
}

#[test]
fn an_id_used_again_within_a_tick_leaves_and_enters() {
    let mut link = lab::open();
    let conn = link.join();
    let same =
        link.edit(|room| room.create_with_id(40, Dot { hp: 1, ..Dot::default() })).expect("it is free");
    let other = link.edit(|room| room.create_with_id(41, dot(0.0))).expect("it is free");
    link.tick();
    link.client_mut(conn).replica.forget_report();
    link.edit(|room| {
        room.delete(same);
        room.create_with_id(40, Dot { hp: 2, ..Dot::default() }).expect("it is free");
        room.delete(other);
        room.create_with_id(41, Crate::default()).expect("it is free");
    });
    link.tick();
    let replica = link.replica(conn);
    assert_eq!(replica.left::<Dot>().collect::<Vec<_>>(), [same, other]);
    assert_eq!(replica.entered::<Dot>().map(|(id, dot)| (id, dot.hp)).collect::<Vec<_>>(), [(same, 2)]);
    assert_eq!(replica.entered::<Crate>().count(), 1);
    assert_eq!(replica.changed::<Dot>().count(), 0);
    assert!(replica.get(other).is_none(), "a stale typed ID reaches no other kind on a client either");
}

#[test]
fn an_id_can_go_from_and_to_a_hidden_kind() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.edit(|room| room.create_with_id(40, dot(0.0))).expect("it is free");
    link.tick();
    assert!(link.sees(conn, id));
    link.edit(|room| {
        room.delete(id);
        room.create_with_id(40, Deck::default()).expect("it is free");
    });
    link.tick();
    assert_eq!(link.replica(conn).len(), 2);
    link.edit(|room| {
        room.delete(id.entity());
        room.create_with_id(40, dot(3.0)).expect("it is free");
    });
    link.tick();
    assert_eq!(link.replica(conn).get(id).map(|dot| dot.x), Some(3.0));
}

#[test]
fn the_rooms_state_and_private_states_cannot_be_deleted() {
    let mut link = lab::open();
    let conn = link.join();
    let hand = link.replica(conn).all::<lab::Hand>().next().map(|(id, _)| id).expect("it came");
    link.edit(|room| assert!(!room.delete(EntityId::STATE) && !room.delete(hand)));
    link.tick();
    assert!(link.replica(conn).state::<lab::Board>().is_some() && link.sees(conn, hand));
}

#[test]
fn all_walks_one_kind_in_order_of_ids() {
    let mut link = lab::open();
    link.edit(|room| {
        for id in [90, 7, 50, 8] {
            room.create_with_id(id, dot(0.0)).expect("it is free");
            room.create_with_id(id + 1000, Crate::default()).expect("it is free");
        }
        assert!(room.all::<Dot>().map(|(id, _)| id.get()).eq([7, 8, 50, 90]));
        assert!(room.all::<Dot>().rev().map(|(id, _)| id.get()).eq([90, 50, 8, 7]));
        assert_eq!(room.count::<Crate>(), 4);
    });
}

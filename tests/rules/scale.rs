//! Cost follows work: what a send looks at, counted.

use room::prelude::*;
use room::{Key, Keys};

use super::audit::{Audit, Said, Thing};
use super::lab::{self, ByKey, Crate, Dot, Lab, Stand, dot, dots};
use super::link::Link;

/// Cells and distances that a tick looks at, after a change.
fn looked(link: &mut Link<Lab>, change: impl FnOnce(&mut Room<Lab>)) -> (u64, u64) {
    let before = link.room.room().stats();
    link.edit(change);
    link.tick();
    let after = link.room.room().stats();
    (after.cells - before.cells, after.distances - before.distances)
}

/// A crowd of 900 dots over a square of 60 by 60, two a unit square, with one connection in the middle. Returns its
/// range's grid's dots by place.
fn crowd(interest: impl Fn() -> Visibility<Lab> + Send + Sync + 'static) -> (Link<Lab>, ConnectionId) {
    let mut link = lab::seen_by(interest);
    let conn = link.join();
    for n in 0..900 {
        let (x, z) = (f64::from(n % 30) * 2.0 - 30.0, f64::from(n / 30) * 2.0 - 30.0);
        link.add(Dot { x, z, hp: 1, ..Dot::default() });
    }
    link.ticks(5);
    (link, conn)
}

fn at(link: &Link<Lab>, x: f64, z: f64) -> Id<Dot> {
    let mut all = link.room.room().all::<Dot>();
    all.find(|(_, dot)| dot.x == x && dot.z == z).expect("there is one").0
}

fn step(room: &mut Room<Lab>, id: Id<Dot>, by: f64) {
    let x = room.get(id).expect("it lives").x;
    room.get_mut(id).expect("it lives").set_x(x + by);
}

#[test]
fn a_connection_that_did_not_move_looks_at_what_moved_alone() {
    for axes in [Xz, Xyz] {
        let (mut link, conn) = crowd(move || dots(10.0).dims(axes).range(18.0).into());
        assert_eq!(looked(&mut link, |_| {}), (0, 0), "nothing moves");
        let (near, edge, corner, away) =
            (at(&link, 0.0, 0.0), at(&link, 16.0, 4.0), at(&link, 18.0, 18.0), at(&link, -28.0, -28.0));
        let (cells, distances) = looked(&mut link, |room| step(room, near, 0.5));
        assert!(cells <= 1 && distances <= 1, "one step in one cell: {cells} cells, {distances} distances");
        assert_eq!(looked(&mut link, |room| step(room, edge, 0.5)), (1, 1), "in a cell that the circle cuts");
        let (cells, distances) = looked(&mut link, |room| step(room, corner, 0.5));
        assert!(
            cells <= 1 && distances <= 1,
            "in the corner of the box: {cells} cells, {distances} distances"
        );
        assert_eq!(looked(&mut link, |room| step(room, away, 0.5)), (0, 0), "in none of its cells");
        let hp = |room: &mut Room<Lab>, id: Id<Dot>| room.get_mut(id).expect("it lives").set_hp(7);
        assert_eq!(looked(&mut link, |room| hp(room, edge)), (1, 0), "a field that is no position");
        assert_eq!(looked(&mut link, |room| hp(room, edge)), (0, 0), "a field set to what it was");
        let both = |room: &mut Room<Lab>| [near, edge].into_iter().for_each(|id| step(room, id, 0.5));
        let (cells, distances) = looked(&mut link, both);
        assert!(cells <= 2 && distances <= 2, "two in two cells: {cells} cells, {distances} distances");
        let crossing = |room: &mut Room<Lab>| step(room, edge, -10.0);
        let (cells, distances) = looked(&mut link, crossing);
        assert!(cells <= 2 && distances <= 1, "from cell to cell: {cells} cells, {distances} distances");
        let (cells, distances) = looked(&mut link, |room| {
            room.delete(near);
        });
        assert!(cells <= 1 && distances == 0, "one is deleted: {cells} cells, {distances} distances");
        let (cells, distances) = looked(&mut link, |room| {
            room.create(Dot { x: 1.0, z: 1.0, ..Dot::default() }).expect("it is created");
        });
        assert!(cells <= 1 && distances <= 1, "one is created: {cells} cells, {distances} distances");
        assert_eq!(looked(&mut link, |room| room.rekey(edge)), (0, 0), "asked again, and the same");
        let (_, distances) = looked(&mut link, |room| room.state_mut::<lab::Board>().set_round(9));
        assert_eq!(distances, 0, "the room's state has no place");
        assert_eq!(looked(&mut link, |_| {}), (0, 0), "nothing moves");
        assert_eq!(link.held::<Dot>(conn).len(), link.room.room().all::<Dot>().filter(in_range).count());
    }
}

fn in_range((_, dot): &(Id<Dot>, &Dot)) -> bool {
    dot.x * dot.x + dot.y * dot.y + dot.z * dot.z <= 18.0 * 18.0
}

#[test]
fn an_axis_that_does_not_count_is_no_move() {
    let (mut link, _) = crowd(|| dots(10.0).dims(Xz).range(18.0).into());
    let id = at(&link, 16.0, 4.0);
    let up = |room: &mut Room<Lab>| room.get_mut(id).expect("it lives").set_y(70.0);
    assert_eq!(looked(&mut link, up), (1, 0));
}

#[test]
fn a_connection_that_moves_costs_the_others_nothing() {
    let cost = |others: usize| {
        let (mut link, conn) = crowd(|| dots(10.0).dims(Xz).range(18.0).into());
        (0..others).for_each(|_| {
            link.join();
        });
        link.ticks(3);
        let mut costs = Vec::new();
        // Within its cell, over its border, far away, out of the world, and back.
        for place in [Some(1.0), Some(-4.0), Some(40.0), None, Some(0.0)] {
            let place = place.map(|x| [x, 0.0, 0.0]);
            costs.push(looked(&mut link, |room| {
                room.connection_mut(conn).expect("it joined").scratch.at = place;
            }));
        }
        costs
    };
    let alone = cost(0);
    assert!(alone.iter().all(|(cells, distances)| *cells <= 40 && *distances < 700), "{alone:?}");
    assert_eq!(cost(25), alone);
}

#[test]
fn one_that_joins_or_was_hidden_costs_the_others_nothing() {
    let (mut link, conn) = crowd(|| dots(10.0).dims(Xz).range(18.0).into());
    (0..10).for_each(|_| {
        link.join();
    });
    link.ticks(3);
    let before = link.room.room().stats();
    link.join();
    let first = link.room.room().stats();
    link.join();
    let second = link.room.room().stats();
    assert_eq!(second.cells - first.cells, first.cells - before.cells);
    link.say(conn, &room::wire::message::ClientMessage::Hidden(true));
    let edge = at(&link, 16.0, 4.0);
    let (cells, distances) = looked(&mut link, |room| step(room, edge, 0.5));
    assert!(cells <= 12 && distances <= 12, "one each, and none of the hidden one: {cells}, {distances}");
}

#[test]
fn whole_cells_and_keys_need_no_distance() {
    let keys = |_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys| {
        keys.add(u64::from(entity.get::<Dot>().map_or(0, |dot| dot.hp)));
    };
    let (mut link, conn) = crowd(|| dots(10.0).dims(Xz).radius(2).into());
    let id = at(&link, 16.0, 4.0);
    assert_eq!(looked(&mut link, |room| step(room, id, 0.5)), (1, 0));
    link.stand(conn, Some([9.0, 0.0, 3.0]));
    assert_eq!(looked(&mut link, |_| {}), (0, 0), "a step within its cell");
    let (mut link, conn) = crowd(move || custom(ByKey(keys)).into());
    link.subscribe(conn, vec![1_u64.into(), 2_u64.into()]);
    link.ticks(2);
    let id = at(&link, 16.0, 4.0);
    assert_eq!(looked(&mut link, |_| {}), (0, 0));
    assert_eq!(looked(&mut link, |room| step(room, id, 0.5)), (1, 0));
    let to = |room: &mut Room<Lab>| room.get_mut(id).expect("it lives").set_hp(2);
    assert_eq!(looked(&mut link, to), (2, 0), "from one key to another");
}

#[test]
fn an_idle_room_looks_at_nothing_whatever_its_interest() {
    let interests: [fn() -> Visibility<Lab>; 6] = [
        Visibility::everything,
        || dots(10.0).range(18.0).release(20.0).into(),
        || dots(10.0).range(18.0).rates([(5.0, 1), (18.0, 4)]).into(),
        || dots(10.0).range(18.0).retain(100),
        || dots(10.0).range(18.0).budget(50_000),
        || dots(10.0).range(18.0).limit(100, |_, _, entity| entity.id().get() as f64).on_change(),
    ];
    for (number, interest) in interests.into_iter().enumerate() {
        let (mut link, conn) = crowd(interest);
        link.ticks(60);
        assert!(link.room.room().is_drained(conn));
        assert_eq!(looked(&mut link, |_| {}), (0, 0), "interest {number}");
    }
}

#[test]
fn a_connection_that_did_not_move_looks_at_what_moved_alone_whatever_the_interest() {
    let interests: [fn() -> Visibility<Lab>; 5] = [
        || dots(10.0).range(18.0).release(20.0).into(),
        || dots(10.0).range(18.0).limit(100, |_, _, entity| entity.id().get() as f64).on_change(),
        || dots(10.0).range(18.0).rates([(5.0, 1), (18.0, 4)]).into(),
        || dots(10.0).range(18.0).retain(100),
        || dots(10.0).range(18.0).budget(50_000),
    ];
    let mut over = Vec::new();
    for (number, interest) in interests.into_iter().enumerate() {
        let (mut link, _) = crowd(interest);
        link.ticks(60);
        let id = at(&link, 4.0, 4.0);
        let (cells, distances) = looked(&mut link, |room| step(room, id, 0.5));
        if cells > 1 || distances > 1 {
            over.push((number, cells, distances));
        }
    }
    assert!(over.is_empty(), "interest, cells, distances: {over:?}");
}

fn keys_of_crates(_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys) {
    let list = entity.get::<Crate>().map(|it| it.list.to_vec());
    list.into_iter().flatten().for_each(|key| keys.add(key as u64));
}

fn keyed(keys: &[i64]) -> Crate {
    Crate { list: Json::new(keys.to_vec()), ..Crate::default() }
}

fn shares_a_key(stand: &Stand, thing: Thing<'_>) -> bool {
    let Thing::Crate(it) = thing else { return false };
    it.list.iter().any(|key| stand.words.contains(&Key::from(*key as u64)))
}

#[test]
fn an_entity_with_several_keys_in_one_view_is_sent_once() {
    let mut link = lab::seen_by(|| custom(ByKey(keys_of_crates)));
    let conns: Vec<ConnectionId> = (0..3).map(|_| link.join()).collect();
    for (conn, words) in conns.iter().zip([&[1_u64, 2, 3][..], &[2], &[4]]) {
        link.subscribe(*conn, words.iter().map(|word| Key::from(*word)).collect());
    }
    let single = link.add(keyed(&[2]));
    let id = link.add(keyed(&[1, 2, 3, 3]));
    link.tick();
    let mut audit = Audit::new(&link, shares_a_key);
    let said = |enters, changes, leaves| Said { enters, changes, leaves };
    let label = |link: &mut Link<Lab>, id: Id<Crate>, text: &str| {
        link.edit(|room| {
            room.get_mut(id).expect("it lives").set_label(text.to_owned()).expect("it is short")
        });
    };
    label(&mut link, id, "a");
    assert_eq!(audit.tick(&mut link), said(0, 2, 0), "to each of two once");
    let to = |link: &mut Link<Lab>, keys: &[i64]| {
        let keys = keys.to_vec();
        link.edit(|room| room.get_mut(id).expect("it lives").set_list(Json::new(keys)).expect("it is short"));
    };
    to(&mut link, &[1]);
    assert_eq!(audit.tick(&mut link), said(0, 1, 1), "of several keys to one of them");
    label(&mut link, single, "b");
    assert_eq!(audit.tick(&mut link), said(0, 2, 0));
    to(&mut link, &[3]);
    assert_eq!(audit.tick(&mut link), said(0, 1, 0), "from one key to another in the same view");
    to(&mut link, &[2, 3]);
    assert_eq!(audit.tick(&mut link), said(1, 1, 0), "from one key to several");
    to(&mut link, &[4]);
    assert_eq!(audit.tick(&mut link), said(1, 0, 2));
    to(&mut link, &[]);
    assert_eq!(audit.tick(&mut link), said(0, 0, 1));
    to(&mut link, &[1, 2, 4]);
    assert_eq!(audit.tick(&mut link), said(3, 0, 0));
    link.edit(|room| room.delete(id));
    assert_eq!(audit.tick(&mut link), said(0, 0, 3));
    label(&mut link, single, "c");
    assert_eq!(audit.tick(&mut link), said(0, 2, 0));
}

#[test]
fn an_entity_that_two_grids_place_is_sent_once() {
    let make = || combine((dots(10.0).range(12.0), dots(7.0).radius(1)));
    let sees = |stand: &Stand, thing: Thing<'_>| {
        let (Thing::Dot(dot), Some([x, y, z])) = (thing, stand.at) else { return false };
        let d = [dot.x - x, dot.y - y, dot.z - z];
        let cell = |x: f64| (x / 7.0).floor();
        let near =
            [(dot.x, x), (dot.y, y), (dot.z, z)].iter().all(|(a, b)| (cell(*a) - cell(*b)).abs() <= 1.0);
        d.iter().map(|d| d * d).sum::<f64>() <= 144.0 || near
    };
    let mut link = lab::seen_by(make);
    link.join();
    let far = link.join();
    link.stand(far, Some([100.0, 0.0, 0.0]));
    let id = link.add(dot(1.0));
    link.tick();
    let mut audit = Audit::new(&link, sees);
    // Within both, across cells of both, out of the circle and still in the cells, out of both, and into others' view.
    for x in [1.5, 6.5, 9.0, 11.0, 12.5, 13.5, 30.0, 95.0, 100.0, -3.0] {
        link.edit(|room| room.get_mut(id).expect("it lives").set_x(x));
        audit.tick(&mut link);
        link.edit(|room| room.get_mut(id).expect("it lives").set_hp(x as u32));
        audit.tick(&mut link);
    }
    link.edit(|room| room.delete(id));
    audit.tick(&mut link);
}

#[test]
fn a_room_turns_from_entities_of_one_key_to_some_of_several_and_back() {
    let mut link = lab::seen_by(|| custom(ByKey(keys_of_crates)));
    for words in [&[1_u64, 2, 3][..], &[2], &[4, 5], &[1, 5]] {
        let conn = link.join();
        link.subscribe(conn, words.iter().map(|word| Key::from(*word)).collect());
    }
    let ids: Vec<Id<Crate>> = (0..150).map(|n| link.add(keyed(&[n % 6]))).collect();
    link.ticks(2);
    let mut audit = Audit::new(&link, shares_a_key);
    let mut dice = super::audit::Dice(5);
    for turn in 0..120_i64 {
        link.edit(|room| {
            for _ in 0..dice.below(20) {
                let id = ids[dice.below(150) as usize];
                let several = turn / 10 % 2 == 1 && dice.below(3) == 0;
                let keys = if several { dice.below(4) } else { 1 };
                let keys: Vec<i64> = (0..keys).map(|_| dice.below(6) as i64).collect();
                let mut it = room.get_mut(id).expect("it lives");
                if dice.below(2) == 0 {
                    it.set_list(Json::new(keys)).expect("it is short");
                }
                it.set_x(dice.below(9) as f64);
            }
            if turn % 10 == 9 {
                // All have one key again.
                for id in &ids {
                    let first = room.get(*id).and_then(|it| it.list.first().copied());
                    let keys = vec![first.unwrap_or(1)];
                    room.get_mut(*id).expect("it lives").set_list(Json::new(keys)).expect("it is short");
                }
            }
        });
        audit.tick(&mut link);
    }
    link.ticks(2);
    let before = link.room.room().stats();
    link.ticks(3);
    assert_eq!(link.room.room().stats(), before, "at rest");
}

//! Who sees what: grids, keys, `sees`, and what fails closed.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use room::prelude::*;
use room::room::interest::CellKey;
use room::{Keys, limits};

use super::lab::{self, ByKey, Crate, Deck, Dot, Lab, dot, dots};

#[test]
fn without_an_interest_everyone_sees_everything_but_hidden_kinds() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(dot(1e9));
    link.add(Deck::default());
    link.tick();
    assert!(link.sees(conn, id));
    assert_eq!(link.replica(conn).len(), 3, "the dot, state and private state");
}

#[test]
fn a_range_is_exact_at_the_distance_wherever_in_its_cell() {
    for cell in [3.0, 10.0, 32.0, 1000.0] {
        let mut link = lab::seen_by(move || dots(cell).range(5.0));
        let conn = link.join();
        for around in [0.0, -31.5, 1.0e6] {
            link.stand(conn, Some([around, around, around]));
            let (seen, beyond) = (around + 5.0, (around + 5.0).next_up());
            let diagonal = |x: f64, z: f64| Dot { x: around + x, y: around, z: around + z, ..Dot::default() };
            let along = |x: f64| Dot { x, y: around, z: around, ..Dot::default() };
            let at = [link.add(along(seen)), link.add(diagonal(-3.0, 4.0)), link.add(diagonal(-4.0, -3.0))];
            let past = [
                link.add(along(beyond)),
                link.add(Dot { x: (around - 3.0).next_down(), ..diagonal(0.0, 4.0) }),
                link.add(Dot { z: (around - 3.0).next_down(), ..diagonal(-4.0, 0.0) }),
            ];
            link.tick();
            assert!(at.iter().all(|id| link.sees(conn, *id)), "cell {cell}, around {around}");
            assert!(!past.iter().any(|id| link.sees(conn, *id)), "cell {cell}, around {around}");
        }
    }
}

#[test]
fn a_release_lets_go_past_its_distance_and_takes_again_within_the_range() {
    let mut link = lab::seen_by(|| dots(4.0).range(10.0).release(12.0));
    let conn = link.join();
    let id = link.add(dot(11.0));
    let mut at = |x: f64| {
        link.edit(|room| room.get_mut(id).expect("it lives").set_x(x));
        link.tick();
        link.sees(conn, id)
    };
    assert!(!at(11.0), "between range and release nothing enters");
    assert!(at(10.0));
    assert!(at(12.0), "and nothing leaves");
    assert!(!at(12.0_f64.next_up()));
    assert!(!at(12.0));
    assert!(at(-10.0));
}

#[test]
fn a_radius_is_cells_not_a_distance() {
    let mut link = lab::seen_by(|| dots(10.0).dims(Xz).radius(1));
    let conn = link.join();
    link.stand(conn, Some([9.0, 500.0, 9.0]));
    let near = link.add(Dot { x: -10.0, z: -10.0, ..Dot::default() });
    let edge = link.add(Dot { x: 20.0_f64.next_down(), z: 0.0, ..Dot::default() });
    let past = link.add(dot(20.0));
    let below = link.add(dot((-10.0_f64).next_down()));
    link.tick();
    assert!(link.sees(conn, near) && link.sees(conn, edge));
    assert!(!link.sees(conn, past) && !link.sees(conn, below));
}

#[test]
fn axes_that_a_grid_does_not_use_do_not_count() {
    for (axes, unused) in [(Xy, 2), (Xz, 1)] {
        let mut link = lab::seen_by(move || dots(8.0).dims(axes).range(5.0));
        let conn = link.join();
        let mut far = [0.0; 3];
        far[unused] = 1e6;
        let id = link.add(Dot { x: far[0], y: far[1], z: far[2], ..Dot::default() });
        link.tick();
        assert!(link.sees(conn, id));
    }
}

#[test]
fn two_coordinates_go_to_the_first_two_axes_in_use() {
    let make = || {
        let grid = grid::<Lab>(8.0).dims(Xz).kind::<Dot, _>(|dot| [dot.x, dot.z]);
        grid.around(|_, conn: &Connection<Lab>| conn.scratch.at.map(|[x, _, z]| [x, z])).range(5.0)
    };
    let mut link = lab::seen_by(make);
    let conn = link.join();
    let near = link.add(Dot { y: 100.0, z: 5.0, ..Dot::default() });
    let far = link.add(Dot { z: 5.5, ..Dot::default() });
    link.tick();
    assert!(link.sees(conn, near) && !link.sees(conn, far));
}

#[test]
fn a_position_of_none_is_seen_from_everywhere() {
    let make = || grid(8.0).kind::<Dot, _>(|dot| (dot.hp > 0).then_some([dot.x, dot.y, dot.z])).range(5.0);
    let mut link = lab::seen_by(move || make().around(|_, conn: &Connection<Lab>| conn.scratch.at));
    let (near, nowhere) = (link.join(), link.join());
    link.stand(nowhere, None);
    let everywhere = link.add(dot(1e7));
    let placed = link.add(Dot { hp: 1, ..dot(1.0) });
    link.tick();
    assert_eq!(link.held::<Dot>(near), [everywhere.get(), placed.get()]);
    assert_eq!(link.held::<Dot>(nowhere), [everywhere.get()], "without a place only what is everywhere");
}

#[test]
fn a_position_that_is_not_finite_is_nowhere_and_logged_with_the_entity() {
    let mut link = lab::seen_by(|| dots(8.0).range(1e6));
    let conn = link.join();
    link.log.clear();
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let id = link.add(dot(x));
        link.tick();
        assert!(!link.sees(conn, id));
        let log = link.log.iter().find(|log| log.kind() == "bad_position").expect("it is logged").to_string();
        assert!(log.contains("dot") && log.contains(&id.get().to_string()), "{log}");
        link.log.clear();
    }
}

#[test]
fn an_around_that_is_not_finite_counts_as_none_and_is_logged_with_the_player() {
    let mut link = lab::seen_by(|| dots(8.0).range(1e6));
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.tick();
    assert!(link.sees(conn, id));
    link.log.clear();
    link.stand(conn, Some([0.0, f64::NAN, 0.0]));
    link.tick();
    assert!(!link.sees(conn, id));
    let player = link.player(conn).to_string();
    let log = link.log.iter().find(|log| log.kind() == "bad_position").expect("it is logged").to_string();
    assert!(log.contains(&player), "{log}");
    link.log.clear();
    link.ticks(10);
    assert_eq!(link.logged("bad_position"), 0, "once a minute, not every tick");
}

#[test]
fn a_kind_that_no_part_can_show_is_logged_once() {
    let mut link = lab::seen_by(|| dots(8.0).range(10.0));
    let conn = link.join();
    link.add(Crate::default());
    link.ticks(3);
    let unseen: Vec<String> =
        link.log.iter().filter(|log| log.kind() == "unseen_kind").map(ToString::to_string).collect();
    assert_eq!(unseen.len(), 2, "the crate and the ghost, but not the hidden deck: {unseen:?}");
    assert!(unseen.iter().any(|log| log.contains("crate")) && unseen.iter().any(|log| log.contains("ghost")));
    assert!(link.held::<Crate>(conn).is_empty());
    link.log.clear();
    link.add(Crate::default());
    link.ticks(3);
    assert_eq!(link.logged("unseen_kind"), 0);
}

#[test]
fn numbers_and_strings_are_different_keys() {
    let keys = |_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys| {
        if let Some(dot) = entity.get::<Dot>() {
            keys.add(u64::from(dot.hp));
        } else {
            keys.add("5");
        }
    };
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let (number, text, both) = (link.join(), link.join(), link.join());
    link.subscribe(number, vec![5_u64.into()]);
    link.subscribe(text, vec!["5".into()]);
    link.subscribe(both, vec![4_u64.into(), "5".into(), 5_u64.into()]);
    let five = link.add(Dot { hp: 5, ..Dot::default() });
    let labelled = link.add(Crate::default());
    link.tick();
    assert!(link.sees(number, five) && !link.sees(number, labelled));
    assert!(!link.sees(text, five) && link.sees(text, labelled));
    assert!(link.sees(both, five) && link.sees(both, labelled));
    link.subscribe(both, vec![]);
    link.tick();
    assert!(!link.sees(both, five) && !link.sees(both, labelled));
}

#[test]
fn keys_that_depend_on_more_than_the_entity_change_when_they_are_asked_again() {
    let keys = |room: RoomRef<'_, Lab>, _: EntityRef<'_>, keys: &mut Keys| keys.add(room.game.key);
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let conn = link.join();
    link.subscribe(conn, vec![9_u64.into()]);
    let id = link.add(dot(0.0));
    link.tick();
    assert!(!link.sees(conn, id));
    link.room.parts_mut().0.key = 9;
    link.tick();
    assert!(!link.sees(conn, id), "nobody asked");
    link.edit(|room| room.rekey(id));
    link.tick();
    assert!(link.sees(conn, id));
}

#[test]
fn a_grids_own_key_of_a_cell_serves_custom_keys() {
    let keys = |_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys| {
        let x = entity.get::<Dot>().map_or(0.0, |dot| dot.x);
        keys.add(grid::<Lab>(10.0).prefix(3).cell_key([(x / 10.0).floor() as i64, 0, 0]));
    };
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let conn = link.join();
    link.subscribe(conn, vec![CellKey { prefix: 3, cell: [-1, 0, 0] }.into()]);
    let (inside, outside) = (link.add(dot(-0.5)), link.add(dot(0.5)));
    link.tick();
    assert!(link.sees(conn, inside) && !link.sees(conn, outside));
}

#[test]
fn one_part_alone_is_enough_and_parts_keep_their_keys_apart() {
    let keys = |_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys| {
        keys.add(u64::from(entity.get::<Dot>().map_or(0, |dot| dot.hp)));
    };
    let other = |_: RoomRef<'_, Lab>, _: EntityRef<'_>, keys: &mut Keys| keys.add(77_u64);
    let never = move || custom(ByKey(other)).sees(|_, _, _| false);
    let mut link = lab::seen_by(move || combine((dots(8.0).range(5.0), custom(ByKey(keys)), never())));
    let conn = link.join();
    link.subscribe(conn, vec![7_u64.into(), 77_u64.into()]);
    let near = link.add(dot(1.0));
    let keyed = link.add(Dot { hp: 7, ..dot(100.0) });
    let neither = link.add(dot(100.0));
    let both = link.add(Dot { hp: 7, ..dot(1.0) });
    link.tick();
    assert_eq!(link.held::<Dot>(conn), [near, keyed, both].map(Id::get));
    assert!(!link.sees(conn, neither));
    link.edit(|room| room.get_mut(both).expect("it lives").set_hp(0));
    link.edit(|room| room.get_mut(keyed).expect("it lives").set_hp(0));
    link.tick();
    assert_eq!(link.held::<Dot>(conn), [near, both].map(Id::get));
}

#[test]
fn sees_is_asked_every_tick_though_nothing_changed() {
    let make = || dots(8.0).range(5.0).sees(|room, _, _| room.game.key == 0);
    let mut link = lab::seen_by(make);
    let conn = link.join();
    let id = link.add(dot(0.0));
    for (key, seen) in [(0, true), (1, false), (0, true)] {
        link.room.parts_mut().0.key = key;
        link.tick();
        assert_eq!(link.sees(conn, id), seen);
    }
}

/// Runs with panics that say nothing.
fn quietly(run: impl FnOnce()) {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(panic::AssertUnwindSafe(run));
    panic::set_hook(hook);
    if let Err(panicked) = result {
        panic::resume_unwind(panicked);
    }
}

#[test]
fn an_interest_that_panics_makes_nothing_visible() {
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let broken = || assert!(!BROKEN.load(Ordering::Relaxed), "the interest is broken");
    let keys = move |_: RoomRef<'_, Lab>, _: EntityRef<'_>, keys: &mut Keys| {
        keys.add(7_u64);
        assert!(!BROKEN.load(Ordering::Relaxed), "the interest is broken");
    };
    let place = move |dot: &Dot| {
        broken();
        [dot.x, dot.y, dot.z]
    };
    let around = move |_: RoomRef<'_, Lab>, conn: &Connection<Lab>| {
        broken();
        conn.scratch.at
    };
    let interests: [fn(&Lab) -> bool; 4] = [|_| true; 4];
    quietly(|| {
        for which in 0..interests.len() {
            BROKEN.store(false, Ordering::Relaxed);
            let mut link = lab::seen_by(move || -> Visibility<Lab> {
                match which {
                    0 => custom(ByKey(keys)).into(),
                    1 => grid(8.0)
                        .kind::<Dot, _>(place)
                        .around(|_, conn: &Connection<Lab>| conn.scratch.at)
                        .range(5.0)
                        .into(),
                    2 => dots(8.0).around(around).range(5.0).into(),
                    _ => dots(8.0)
                        .range(5.0)
                        .sees(move |_, _, _| {
                            broken();
                            true
                        })
                        .into(),
                }
            });
            let conn = link.join();
            link.subscribe(conn, vec![7_u64.into()]);
            let before = link.add(dot(0.0));
            link.tick();
            assert!(link.sees(conn, before), "interest {which} works");
            link.log.clear();
            BROKEN.store(true, Ordering::Relaxed);
            let after = link.add(dot(0.0));
            link.tick();
            assert!(!link.sees(conn, after), "interest {which} fails closed");
            assert!(link.logged("hook_panicked") > 0, "interest {which} says so");
            link.ticks(3);
            assert!(!link.sees(conn, after));
            BROKEN.store(false, Ordering::Relaxed);
            link.edit(|room| room.rekey(after));
            link.tick();
            assert!(link.sees(conn, after), "interest {which} works again");
        }
    });
}

#[test]
fn keys_past_the_bound_are_left_out_and_logged() {
    let keys =
        |_: RoomRef<'_, Lab>, _: EntityRef<'_>, keys: &mut Keys| (0..65_u64).for_each(|key| keys.add(key));
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.log.clear();
    link.subscribe(conn, vec![64_u64.into()]);
    link.tick();
    assert!(!link.sees(conn, id), "the 65th is left out");
    assert_eq!(link.logged("key_cap"), 1);
    // The everywhere key is one of the 4,096.
    link.subscribe(conn, (1000..5095_u64).chain([63]).map(Into::into).collect());
    link.tick();
    assert!(!link.sees(conn, id), "the 4,097th is left out");
    assert_eq!(link.logged("key_cap"), 1);
    link.subscribe(conn, (1000..5094_u64).chain([63]).map(Into::into).collect());
    link.tick();
    assert!(link.sees(conn, id));
    link.ticks(5);
    assert_eq!(link.logged("key_cap"), 0, "a line a connection and minute");
}

#[test]
fn entities_past_the_bound_of_a_view_are_left_out_by_id_and_logged() {
    let mut link = lab::open();
    let conn = link.join();
    let ids: Vec<u64> = (0..limits::VIEW + 5).map(|_| link.add(dot(0.0)).get()).collect();
    link.log.clear();
    link.ticks(30);
    // The room's state and private state are two of them.
    assert_eq!(link.held::<Dot>(conn), ids[..limits::VIEW - 2]);
    assert_eq!(link.logged("view_cap"), 1);
    link.edit(|room| room.delete(EntityId::explicit(ids[0]).expect("it is one")));
    link.ticks(3);
    assert_eq!(link.held::<Dot>(conn), ids[1..limits::VIEW - 1]);
}

#[test]
fn places_far_out_are_as_exact() {
    for far in [1e15, 1e30, -1e200] {
        let mut link = lab::seen_by(|| dots(8.0).range(5.0));
        let conn = link.join();
        link.stand(conn, Some([far, 0.0, 0.0]));
        let (here, there) = (link.add(dot(far)), link.add(dot(far * 1.5)));
        link.tick();
        assert!(link.sees(conn, here) && !link.sees(conn, there), "{far}");
    }
}

#[test]
fn explain_says_which_part_shows_an_entity_and_why() {
    let keys = |_: RoomRef<'_, Lab>, _: EntityRef<'_>, keys: &mut Keys| keys.add("team");
    let mut link = lab::seen_by(move || combine((dots(8.0).range(5.0), custom(ByKey(keys)))));
    let conn = link.join();
    let (near, far) = (link.add(dot(3.0)), link.add(dot(30.0)));
    link.tick();
    let answer = link.room.room().explain(link.room.game(), conn, near).expect("both are there");
    assert!(answer.sent && answer.member && answer.held.is_none());
    assert!(answer.parts[1].shows && !answer.parts[2].shows);
    assert_eq!(answer.parts[1].distance, Some(3.0));
    let answer = link.room.room().explain(link.room.game(), conn, far).expect("both are there");
    assert!(!answer.sent && !answer.member && !answer.parts[1].shows && !answer.parts[2].shows);
    link.subscribe(conn, vec!["team".into()]);
    link.tick();
    let answer = link.room.room().explain(link.room.game(), conn, far).expect("both are there");
    assert!(
        answer.sent && answer.parts[2].shows && answer.parts[2].common.iter().any(|key| key.contains("team"))
    );
    assert_eq!(link.room.room().explain(link.room.game(), ConnectionId(99), far), None);
}

#[test]
fn cells_may_be_larger_than_single_precision_holds() {
    for cell in [1e12, 1e20, 1e39, 1e300] {
        let mut link = lab::seen_by(move || dots(cell).range(5.0));
        let conn = link.join();
        link.stand(conn, Some([-1.0; 3]));
        let near = link.add(Dot { x: -4.0, y: -1.0, z: -1.0, ..Dot::default() });
        let far = link.add(Dot { x: -7.0, y: -1.0, z: -1.0, ..Dot::default() });
        link.tick();
        assert!(link.sees(conn, near) && !link.sees(conn, far), "cells of {cell}");
    }
}

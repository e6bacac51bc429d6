//! Views compared cell by cell: whatever the members of cells do in one tick, each is named once and rightly.

use room::prelude::*;
use room::runtime::Settings;

use super::audit::{Audit, Dice};
use super::churn::{Make, both, within};
use super::lab::{self, Crate, Dot, Lab, dot, dots, noise};
use super::link::Link;

#[test]
fn a_cell_grows_and_shrinks_over_its_words() {
    let mut link = lab::seen_by(|| dots(10.0).range(6.0));
    let (conn, _) = (link.join(), link.join());
    let mut ids: Vec<Id<Dot>> = (0..10).map(|n| link.add(dot(f64::from(n)))).collect();
    link.ticks(3);
    let mut audit = Audit::new(&link, |stand, thing| within(stand, thing, [true; 3], 6.0));
    let sizes = [63, 64, 65, 64, 63, 65, 127, 128, 129, 128, 200, 64, 1, 0, 65, 0, 129, 130, 3, 66];
    for (turn, size) in sizes.into_iter().enumerate() {
        while ids.len() > size {
            // The first, the last, one of the middle.
            let id = ids.remove([0, ids.len() - 1, ids.len() / 2][ids.len() % 3]);
            link.edit(|room| room.delete(id));
        }
        while ids.len() < size {
            ids.push(link.add(dot((ids.len() % 10) as f64)));
        }
        audit.tick(&mut link);
        for step in 0..3 {
            for (n, id) in ids.iter().enumerate().filter(|(n, _)| (n + step) % 3 == 0) {
                let x = (n % 10) as f64 + 0.25 * step as f64;
                link.edit(|room| {
                    let mut dot = room.get_mut(*id).expect("it lives");
                    dot.set_x(x);
                    dot.set_hp((turn + step) as u32);
                });
            }
            if (turn + step) % 4 == 0 {
                link.stand(conn, Some([step as f64, 0.0, 0.0]));
            }
            audit.tick(&mut link);
        }
    }
}

#[test]
fn all_members_of_two_cells_change_places_in_one_tick() {
    let mut link = lab::seen_by(|| dots(10.0).range(30.0));
    let conn = link.join();
    let ids: Vec<Id<Dot>> = (0..400).map(|n| link.add(dot(if n % 2 == 0 { 5.0 } else { 15.0 }))).collect();
    link.ticks(3);
    let mut audit = Audit::new(&link, |stand, thing| within(stand, thing, [true; 3], 30.0));
    for turn in 0..6 {
        link.edit(|room| {
            for (n, id) in ids.iter().enumerate() {
                room.get_mut(*id).expect("it lives").set_x(if (n + turn) % 2 == 0 { 15.0 } else { 5.0 });
            }
        });
        if turn == 3 {
            link.stand(conn, Some([10.0, 0.0, 0.0]));
        }
        let said = audit.tick(&mut link);
        assert_eq!((said.enters, said.leaves, said.changes), (0, 0, 400));
    }
}

#[test]
fn a_room_where_all_see_all_sends_updates_of_many_parts_from_the_cells() {
    for make in [Visibility::everything as Make, || dots(1e6).range(1e5).into()] {
        let settings = Settings { window: 4 << 20, update_cap: 4 << 20, ..Settings::default() };
        let mut link = lab::seen_with(settings, make);
        let conns: Vec<ConnectionId> = (0..2).map(|_| link.join()).collect();
        let ids: Vec<Id<Dot>> = (0..3000).map(|n| link.add(dot(f64::from(n)))).collect();
        for turn in 0..60 {
            // Windows grow with what is acknowledged.
            link.edit(|room| {
                ids.iter().for_each(|id| room.get_mut(*id).expect("it lives").set_rank(f64::from(turn)))
            });
            link.tick();
        }
        link.ticks(5);
        let mut audit = Audit::new(&link, |_, _| true);
        let mut steady = 0;
        for turn in 0..40_u32 {
            link.edit(|room| {
                for (n, id) in ids.iter().enumerate() {
                    let mut dot = room.get_mut(*id).expect("it lives");
                    dot.set_y(f64::from(turn) + n as f64);
                    dot.set_z(f64::from(turn));
                    dot.set_rank(-f64::from(turn));
                    // Two groups, and one of them small.
                    if n % 50 == 0 {
                        dot.set_hp(turn);
                    }
                }
            });
            if turn % 7 == 6 {
                // An enter and a leave beside it.
                link.edit(|room| room.delete(ids[turn as usize]));
                let again = link.add(dot(f64::from(turn)));
                assert!(!ids.contains(&again));
                audit.tick(&mut link);
                return_to(&mut link, &ids, turn);
                continue;
            }
            let (cells, parts) = (link.room.room().stats().cells, link.client(conns[0]).parts);
            audit.tick(&mut link);
            let parts = link.client(conns[0]).parts - parts;
            assert!(parts >= 2, "it is larger than one part: {parts}");
            steady += u32::from(link.room.room().stats().cells - cells == conns.len() as u64);
        }
        assert!(steady >= 20, "only {steady} of the updates came from the cells alone");
    }
}

/// Puts back what was deleted, under its own ID.
fn return_to(link: &mut Link<Lab>, ids: &[Id<Dot>], n: u32) {
    let id = ids[n as usize];
    link.edit(|room| room.create_with_id(id.get(), dot(1.0))).expect("the ID is free");
}

#[test]
fn members_with_more_sets_of_changed_fields_than_a_seal_keeps_groups() {
    let mut link = lab::seen_by(|| both(50.0).range(20.0));
    let conns: Vec<ConnectionId> = (0..3).map(|_| link.join()).collect();
    let dots: Vec<Id<Dot>> = (0..220).map(|n| link.add(dot(f64::from(n % 40) - 10.0))).collect();
    let crates: Vec<Id<Crate>> =
        (0..30).map(|n| link.add(Crate { x: f64::from(n), ..Crate::default() })).collect();
    link.ticks(5);
    let mut audit = Audit::new(&link, |stand, thing| within(stand, thing, [true; 3], 20.0));
    let mut dice = Dice(11);
    for turn in 0..80_u32 {
        let few = turn % 3 == 0;
        link.edit(|room| {
            for id in &dots {
                let mask = if few { dice.below(2) } else { dice.below(128) };
                let mut dot = room.get_mut(*id).expect("it lives");
                let n = turn * 3 + (mask as u32);
                if mask & 1 != 0 {
                    dot.set_x(f64::from(n % 45) - 12.0);
                }
                if mask & 2 != 0 {
                    dot.set_y(f64::from(n % 3));
                }
                if mask & 4 != 0 {
                    dot.set_z(f64::from(n % 5));
                }
                if mask & 8 != 0 {
                    dot.set_hp(n);
                }
                if mask & 16 != 0 {
                    dot.set_rank(f64::from(n));
                }
                if mask & 32 != 0 {
                    dot.set_aim((n % 20) as f32 * 0.5 - 5.0);
                }
                if mask & 64 != 0 {
                    dot.set_owner(PlayerId(n % 7));
                }
            }
            for id in &crates {
                // Longer than one step of a copy, and a difference of a few bytes.
                let mut it = room.get_mut(*id).expect("it lives");
                match dice.below(4) {
                    0 => it
                        .set_data(Bytes::from(noise(dice.below(700) as usize, turn.into())))
                        .expect("it fits"),
                    1 => it.set_label("x".repeat(dice.below(60) as usize)).expect("it fits"),
                    2 => it.set_x(f64::from(turn % 30)),
                    _ => {}
                }
            }
        });
        if turn % 4 == 0 {
            link.stand(conns[1], Some([dice.within(-5.0, 5.0), 0.0, 0.0]));
        }
        audit.tick(&mut link);
    }
}

#[test]
fn walkers_find_cells_whose_numbers_others_had() {
    for make in
        [(|| both(10.0).dims(Xz).range(22.0).into()) as Make, || both(3.0).dims(Xz).range(22.0).into()]
    {
        let mut link = lab::seen_by(make);
        let conns: Vec<ConnectionId> = (0..5).map(|_| link.join()).collect();
        let mut dots: Vec<Id<Dot>> = (0..150).map(|n| link.add(dot(f64::from(n % 30) - 15.0))).collect();
        link.ticks(3);
        let mut audit = Audit::new(&link, |stand, thing| within(stand, thing, [true, false, true], 22.0));
        let mut dice = Dice(21);
        for turn in 0..250_u32 {
            let middle = f64::from(turn) * 6.0;
            for (n, conn) in conns.iter().enumerate() {
                match dice.below(12) {
                    0 => link.stand(*conn, None),
                    1 => link.stand(*conn, Some([-1e7 * n as f64, 0.0, 1e7])),
                    2 => {}
                    _ => link
                        .stand(*conn, Some([middle + dice.within(-20.0, 20.0), 0.0, dice.within(-9.0, 9.0)])),
                }
            }
            for id in &mut dots {
                match dice.below(6) {
                    0 => {
                        link.edit(|room| room.delete(*id));
                        *id = link.add(dot(middle + dice.within(-30.0, 30.0)));
                    }
                    1 | 2 => {
                        let x = middle + dice.within(-30.0, 30.0);
                        link.edit(|room| room.get_mut(*id).expect("it lives").set_x(x));
                    }
                    _ => {}
                }
            }
            audit.tick(&mut link);
        }
    }
}

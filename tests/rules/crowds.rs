//! Large and hostile crowds: cells with everyone in them, views past their bound, what panics on several threads.

use std::collections::BTreeSet;
use std::panic;
use std::time::Duration;

use room::prelude::*;
use room::runtime::{Identity, Settings};
use room::server::Threads;
use room::sync::workers::Workers;
use room::{Key, Keys, limits};

use super::audit::{Audit, Dice, Thing};
use super::lab::{self, ByKey, Crate, Dot, Lab, Stand, dot, dots, noise};
use super::link::Link;
use super::workers::{Shuffled, Spread};

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

fn roomy() -> Settings {
    Settings { window: 8 << 20, update_cap: 4 << 20, seats: 4000, ..Settings::default() }
}

fn threads(jobs: usize) -> Box<Spread> {
    Box::new(Spread { threads: 3, jobs })
}

#[test]
fn a_cell_of_seventy_thousand_is_walked_only_by_those_who_move() {
    const MANY: u32 = 70_000;
    let mut link = lab::seen_with(roomy(), || dots(1000.0).dims(Xz).range(15.0));
    link.room.set_workers(threads(5));
    let conns: Vec<ConnectionId> = (0..4).map(|_| link.join()).collect();
    let ids: Vec<Id<Dot>> = (0..MANY)
        .map(|n| link.add(Dot { x: f64::from(n % 1000), z: f64::from(n / 1000), ..Dot::default() }))
        .collect();
    link.ticks(20);
    let sees = |stand: &Stand, thing: Thing<'_>| {
        let (Thing::Dot(dot), Some([x, _, z])) = (thing, stand.at) else { return false };
        (dot.x - x).powi(2) + (dot.z - z).powi(2) <= 225.0
    };
    let mut audit = Audit::new(&link, sees);
    let cost = |link: &mut Link<Lab>, audit: &mut Audit<_>| {
        let before = link.room.room().stats();
        audit.tick(link);
        link.room.room().stats().distances - before.distances
    };
    assert_eq!(cost(&mut link, &mut audit), 0);
    for (n, id) in ids.iter().enumerate().step_by(7000) {
        link.edit(|room| room.get_mut(*id).expect("it lives").set_x((n % 90) as f64));
        assert!(cost(&mut link, &mut audit) <= conns.len() as u64);
    }
    link.stand(conns[0], Some([500.5, 0.0, 30.0]));
    let walked = cost(&mut link, &mut audit);
    assert!(walked <= u64::from(MANY) + 64, "by one connection, once: {walked}");
    // All of them go but a few, and come again.
    link.edit(|room| ids[100..].iter().for_each(|id| assert!(room.delete(*id))));
    audit.tick(&mut link);
    (0..300).for_each(|n| {
        link.add(dot(f64::from(n)));
    });
    audit.tick(&mut link);
}

#[test]
fn a_view_past_its_bound_keeps_the_lowest_ids_and_comes_back() {
    for everything in [true, false] {
        let make = move || match everything {
            true => Visibility::everything(),
            false => dots(1e6).range(1e5).into(),
        };
        let mut link = lab::seen_with(roomy(), make);
        let conn = link.join();
        let mut ids: Vec<Id<Dot>> =
            (0..limits::VIEW as u32 + 300).map(|n| link.add(dot(f64::from(n)))).collect();
        link.ticks(20);
        let own = 2;
        let check = |link: &mut Link<Lab>, ids: &[Id<Dot>]| {
            link.ticks(3);
            let seen = link.held::<Dot>(conn);
            let most = limits::VIEW - own;
            let all: BTreeSet<u64> = ids.iter().map(|id| id.get()).collect();
            let expected: Vec<u64> = all.into_iter().take(most.max(seen.len().min(limits::VIEW))).collect();
            assert!(seen.len() >= most.min(ids.len()) && seen.len() <= limits::VIEW);
            assert_eq!(seen, expected, "the lowest IDs");
            for (id, dot) in link.replica(conn).all::<Dot>() {
                assert_eq!(link.room.room().get(id).map(|dot| dot.hp), Some(dot.hp));
            }
        };
        check(&mut link, &ids);
        assert!(link.logged("view_cap") > 0, "it is logged");
        let mut dice = Dice(3);
        for turn in 0..12 {
            for _ in 0..150 {
                let at = dice.below(ids.len() as u64) as usize;
                if turn % 4 < 2 {
                    let id = ids.swap_remove(at);
                    link.edit(|room| room.delete(id));
                } else {
                    ids.push(link.add(dot(1.0)));
                }
                let id = ids[dice.below(ids.len() as u64) as usize];
                link.edit(|room| room.get_mut(id).expect("it lives").set_hp(turn));
            }
            check(&mut link, &ids);
        }
    }
}

#[test]
fn cells_past_the_bound_of_subscriptions_are_the_far_ones() {
    let mut link = lab::seen_with(roomy(), || dots(1.0).dims(Xz).range(60.0));
    let conn = link.join();
    let mut ids = Vec::new();
    for x in -60..=60 {
        ids.push(link.add(Dot { x: f64::from(x), z: 0.5, ..Dot::default() }));
    }
    link.ticks(3);
    assert_eq!(link.logged("key_cap"), 1, "once");
    // 4,095 cells are a circle of 36.
    let near = |link: &Link<Lab>, from: f64| {
        for id in &ids {
            let x = link.room.room().get(*id).expect("it lives").x;
            let away = (x - from).abs();
            let sees = link.sees(conn, *id);
            assert!(if away < 34.0 { sees } else { sees || away > 34.0 }, "{x} from {from}");
            assert!(away < 40.0 || !sees, "{x} from {from}");
        }
    };
    near(&link, 0.0);
    for (turn, from) in [10.0, 10.25, -3.5, 55.0].into_iter().enumerate() {
        link.stand(conn, Some([from, 0.0, 0.5]));
        let id = ids[turn];
        link.edit(|room| room.get_mut(id).expect("it lives").set_hp(5));
        link.tick();
        near(&link, from);
    }
}

#[test]
fn five_thousand_words_are_cut_and_changes_in_them_come_once() {
    let keys = |_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys| {
        keys.add(u64::from(entity.get::<Dot>().map_or(0, |dot| dot.hp)));
    };
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let conn = link.join();
    link.subscribe(conn, (0..5000_u64).map(Key::from).collect());
    let (kept, cut) = (link.add(Dot { hp: 4000, ..dot(0.0) }), link.add(Dot { hp: 4999, ..dot(0.0) }));
    link.tick();
    assert!(link.sees(conn, kept) && !link.sees(conn, cut));
    assert_eq!(link.logged("key_cap"), 1);
    let before = link.room.room().stats();
    link.edit(|room| room.get_mut(kept).expect("it lives").set_hp(17));
    link.tick();
    let after = link.room.room().stats();
    assert_eq!((after.changes - before.changes, after.cells - before.cells), (1, 2));
}

#[test]
fn a_key_that_is_there_counts_once() {
    let keys = |_: RoomRef<'_, Lab>, _: EntityRef<'_>, keys: &mut Keys| {
        (0..2 * limits::ENTITY_KEYS).for_each(|_| keys.add(1_u64));
        keys.add(2_u64);
    };
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let conn = link.join();
    let mut words = vec![Key::from(7_u64); 5000];
    words.push(2_u64.into());
    link.subscribe(conn, words);
    let id = link.add(dot(0.0));
    link.tick();
    assert!(link.sees(conn, id), "they share a key");
    assert_eq!(link.logged("key_cap"), 0);
}

#[test]
fn positions_that_are_not_finite_come_and_go_in_the_cells() {
    let sees = |stand: &Stand, thing: Thing<'_>| {
        let (Thing::Dot(dot), Some([x, y, z])) = (thing, stand.at) else { return false };
        let finite = [dot.x, dot.y, dot.z, x, y, z].iter().all(|it| it.is_finite());
        finite && (dot.x - x).powi(2) + (dot.y - y).powi(2) + (dot.z - z).powi(2) <= 81.0
    };
    let mut link = lab::seen_by(|| dots(10.0).range(9.0));
    link.room.set_workers(threads(3));
    let conns: Vec<ConnectionId> = (0..5).map(|_| link.join()).collect();
    let ids: Vec<Id<Dot>> = (0..100).map(|n| link.add(dot(f64::from(n % 20)))).collect();
    link.ticks(2);
    let mut audit = Audit::new(&link, sees);
    let odd =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, f64::MIN_POSITIVE, -0.0, 3.0, 8.5, 11.0];
    let mut dice = Dice(9);
    for _ in 0..200 {
        for _ in 0..dice.below(12) {
            let id = dice.pick(&ids).expect("there are some");
            let (x, y) =
                (dice.pick(&odd).expect("some"), dice.pick(&[0.0, 0.0, f64::NAN, 1e300]).expect("some"));
            link.edit(|room| {
                let mut dot = room.get_mut(id).expect("it lives");
                dot.set_x(x);
                dot.set_y(y);
            });
        }
        if dice.below(3) == 0 {
            let conn = dice.pick(&conns).expect("they joined");
            let at = dice.pick(&odd).expect("there are some");
            link.stand(conn, Some([at, 0.0, 0.0]));
        }
        audit.tick(&mut link);
    }
}

#[test]
fn connections_come_and_go_by_the_hundred() {
    let mut link = lab::seen_with(Settings { hold_seconds: Some(0), ..roomy() }, || dots(10.0).range(25.0));
    link.room.set_workers(threads(7));
    let ids: Vec<Id<Dot>> = (0..200).map(|n| link.add(dot(f64::from(n % 40)))).collect();
    let sees = |stand: &Stand, thing: Thing<'_>| matches!((thing, stand.at), (Thing::Dot(dot), Some([x, ..])) if (dot.x - x).abs() <= 25.0);
    let mut audit = Audit::new(&link, sees);
    let (mut dice, mut there) = (Dice(4), Vec::new());
    for turn in 0..60_u32 {
        for _ in 0..dice.below(40) {
            there.push(link.open(Identity::guest()));
        }
        for _ in 0..dice.below(40) {
            if there.is_empty() {
                break;
            }
            let conn = there.swap_remove(dice.below(there.len() as u64) as usize);
            if link.client(conn).is_joined() && dice.below(2) == 0 {
                link.leave(conn)
            } else {
                link.drop_link(conn)
            }
        }
        for conn in there.iter().filter(|conn| link.client(**conn).is_joined()).copied().collect::<Vec<_>>() {
            if dice.below(4) == 0 {
                link.stand(conn, Some([dice.within(0.0, 40.0), 0.0, 0.0]));
            }
        }
        for _ in 0..40 {
            let id = dice.pick(&ids).expect("there are some");
            link.edit(|room| room.get_mut(id).expect("it lives").set_x(f64::from(turn % 40)));
        }
        audit.tick_loosely(&mut link);
    }
    assert!(there.len() > 20);
    link.ticks(2);
    there.iter().for_each(|conn| assert!(link.client(*conn).is_joined()));
}

#[test]
fn what_panics_on_several_threads_shows_nothing_and_stops_nobody() {
    let odd = |entity: EntityRef<'_>| entity.id().get() % 2 == 1;
    let bad = move |dot: &Dot| {
        assert!(dot.hp != 13, "as asked");
        [dot.x, dot.y, dot.z]
    };
    let placed = move || grid(10.0).kind::<Dot, _>(bad).range(50.0);
    let here = |_: RoomRef<'_, Lab>, conn: &Connection<Lab>| {
        assert!(conn.scratch.at.is_none_or(|at| at[1] == 0.0), "as asked");
        conn.scratch.at
    };
    let interests: [Box<dyn Fn() -> Visibility<Lab> + Send + Sync>; 3] = [
        Box::new(move || placed().around(here).into()),
        Box::new(move || {
            placed()
                .around(here)
                .sees(move |_, _, entity| {
                    assert!(!odd(entity), "as asked");
                    true
                })
                .into()
        }),
        Box::new(move || {
            placed().around(here).limit(20, move |_, _, entity| {
                assert!(!odd(entity), "as asked");
                1.0
            })
        }),
    ];
    for (number, interest) in interests.into_iter().enumerate() {
        quietly(|| {
            let mut link = lab::seen_by(interest);
            link.room.set_workers(threads(9));
            let conns: Vec<ConnectionId> = (0..20).map(|_| link.join()).collect();
            let ids: Vec<Id<Dot>> = (0..40).map(|n| link.add(dot(f64::from(n)))).collect();
            link.edit(|room| room.get_mut(ids[4]).expect("it lives").set_hp(13));
            link.tick();
            link.stand(conns[3], Some([0.0, 1.0, 0.0]));
            for turn in 0..5 {
                link.edit(|room| {
                    ids.iter().for_each(|id| room.get_mut(*id).expect("it lives").set_rank(f64::from(turn)))
                });
                link.tick();
            }
            assert!(link.logged("hook_panicked") > 0, "interest {number} says so");
            assert!(link.held::<Dot>(conns[3]).is_empty(), "interest {number}: where it stands is not known");
            let whole = |id: &&Id<Dot>| **id != ids[4];
            let seen: Vec<u64> = match number {
                0 => ids.iter().filter(whole).map(|id| id.get()).collect(),
                1 => ids.iter().filter(whole).map(|id| id.get()).filter(|id| id % 2 == 0).collect(),
                // What has a rank, and then by ID.
                _ => {
                    let all = ids.iter().filter(whole).map(|id| id.get());
                    let mut ranked: Vec<u64> = all.collect();
                    ranked.sort_by_key(|id| (id % 2, *id));
                    ranked.truncate(20);
                    ranked.sort_unstable();
                    ranked
                }
            };
            for conn in conns.iter().filter(|conn| **conn != conns[3]) {
                assert_eq!(link.held::<Dot>(*conn), seen, "interest {number}");
            }
        });
    }
}

#[test]
fn workers_may_change_at_any_time() {
    let mut link = lab::seen_by(|| dots(10.0).range(25.0));
    let conns: Vec<ConnectionId> = (0..10).map(|_| link.join()).collect();
    let id = link.add(dot(0.0));
    link.tick();
    for (turn, jobs) in [8, 1, 3, 40, 2, 1].into_iter().enumerate() {
        link.edit(|room| room.get_mut(id).expect("it lives").set_hp(turn as u32 + 1));
        let now = Duration::from_secs(turn as u64 + 10);
        link.room.tick(now);
        // Before the messages of the tick are taken.
        link.room.set_workers(Box::new(Shuffled::new(jobs, 1)));
        link.deliver();
        for conn in &conns {
            let hp = link.replica(*conn).get(id).map(|dot| dot.hp);
            assert_eq!(hp, Some(turn as u32 + 1), "of what was laid out before");
        }
    }
}

/// A crowd with large entities, played with these threads; returns what each connection was sent.
fn play(workers: Option<Box<dyn Workers>>, crates: u64, size: usize) -> Vec<Vec<u8>> {
    let settings =
        Settings { window: 64 << 20, update_cap: limits::UPDATE_MOST, piece_level: 1, ..Settings::default() };
    let mut link =
        lab::seen_with(settings, || dots(10.0).kind::<Crate, _>(|it| [it.x, 0.0, 0.0]).dims(Xz).range(30.0));
    link.keep = true;
    if let Some(workers) = workers {
        link.room.set_workers(workers);
    }
    let conns: Vec<ConnectionId> = (0..9).map(|_| link.join()).collect();
    let ids: Vec<Id<Crate>> = (0..crates)
        .map(|n| {
            let data = Bytes::from(noise(size, n));
            link.add(Crate { x: (n % 40) as f64, data, ..Crate::default() })
        })
        .collect();
    let mut dice = Dice(8);
    for turn in 0..25 {
        for conn in &conns {
            if dice.below(3) == 0 {
                link.stand(*conn, Some([dice.within(-20.0, 60.0), 0.0, 0.0]));
            }
        }
        link.edit(|room| {
            for _ in 0..6 {
                let id = dice.pick(&ids).expect("there are some");
                let mut it = room.get_mut(id).expect("it lives");
                it.set_x(dice.within(0.0, 40.0));
                if dice.below(3) == 0 {
                    it.set_data(Bytes::from(noise(size, turn))).expect("it fits");
                }
            }
        });
        link.tick();
    }
    conns.iter().map(|conn| std::mem::take(&mut link.client_mut(*conn).raw)).collect()
}

#[test]
fn shared_pieces_are_the_same_for_any_number_of_jobs() {
    let alone = play(None, 60, 5000);
    for jobs in [1, 2, 3, 8, 40] {
        assert!(play(Some(threads(jobs)), 60, 5000) == alone, "{jobs} jobs");
    }
    let pool = Threads::new(2).expect("two threads");
    assert!(play(Some(Box::new(pool)), 60, 5000) == alone, "a server's threads");
}

#[test]
fn pieces_past_the_bound_of_their_memory_are_the_same_for_any_number_of_jobs() {
    let many = (limits::PIECE_CACHE / limits::BLOB) as u64 + 60;
    let alone = play(None, many, limits::BLOB);
    assert!(play(Some(threads(8)), many, limits::BLOB) == alone);
}

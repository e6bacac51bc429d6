//! Views that go from cells to slots and back: entities get a second key and lose it, links stall and break, pages
//! are hidden, IDs are used again. Every update carries a hash of the view; the same run on several threads sends the
//! same bytes.

use room::prelude::*;
use room::room::interest::Part;
use room::runtime::Settings;
use room::sync::workers::Workers;
use room::wire::message::ClientMessage;
use room::{EntityId, Key, limits};

use super::lab::{self, ByKey, Crate, Dot, Lab, dots, noise};
use super::link::{Link, Pace};

/// Shares work out in odd orders.
struct Backwards(usize);

impl Workers for Backwards {
    fn jobs(&self) -> usize {
        self.0
    }
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            let late = scope.spawn(move || (0..jobs / 2).rev().for_each(job));
            (jobs / 2..jobs).rev().for_each(job);
            late.join().expect("no job panics");
        });
    }
}

const RANGE: f64 = 10.0;

/// Dots and crates near by, and everywhere those of which the hit points are odd.
fn parts() -> Vec<Part<Lab>> {
    let keys = ByKey(|_, entity, keys| {
        if entity.get::<Dot>().is_some_and(|dot| dot.hp % 2 == 1) {
            keys.add("odd");
        }
    });
    let near = dots(4.0).kind::<Crate, _>(|it| [it.x, 0.0, 0.0]).dims(Xy).range(RANGE);
    vec![near.into(), custom(keys)]
}

fn visibility(kind: usize) -> Visibility<Lab> {
    match kind {
        0 => combine(parts()),
        1 => combine(parts()).retain(6),
        2 => combine(parts()).budget(4000),
        3 => {
            let near =
                dots(4.0).dims(Xy).range(RANGE).release(RANGE + 3.0).rates([(3.0, 1), (6.0, 3), (9.0, 4)]);
            combine((near, parts().remove(1))).retain(9)
        }
        4 => combine(parts()).limit(12, |_, _, entity| entity.get::<Dot>().map_or(0.5, |dot| dot.rank)),
        5 => {
            let sees = |_: RoomRef<'_, Lab>, conn: &Connection<Lab>, entity: EntityRef<'_>| {
                let high = conn.scratch.at.is_some_and(|at| at[0] > 0.0);
                entity.get::<Dot>().is_none_or(|dot| high || dot.hp % 3 != 0)
            };
            let near = dots(4.0).dims(Xy).range(RANGE).release(RANGE + 2.0).sees(sees);
            let limited = combine((near, parts().remove(1)))
                .limit(9, |_, _, entity| entity.get::<Dot>().map_or(0.5, |dot| dot.rank));
            limited.on_change().budget(6000).retain(5)
        }
        _ => dots(4.0).kind::<Crate, _>(|it| [it.x, 0.0, 0.0]).dims(Xy).range(RANGE).into(),
    }
}

fn named<K>(id: u64) -> Id<K> {
    Id::assume(EntityId::from_wire(id).expect("it is an ID"))
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
    fn at(&mut self) -> f64 {
        self.below(160) as f64 / 4.0 - 20.0
    }
}

fn change(link: &mut Link<Lab>, dice: &mut Dice) {
    for _ in 0..dice.below(12) {
        let (id, x, y, what) = (10 + dice.below(60), dice.at(), dice.at(), dice.below(40));
        let (near, hp) = (dice.below(9) as f64 / 4.0 - 1.0, 2 * dice.below(50) as u32);
        link.edit(|room| {
            let Some(mut dot) = room.get_mut(named::<Dot>(id)) else {
                let _ = room.create_with_id(id, Dot { x, y, hp, rank: near, ..Dot::default() });
                return;
            };
            match what {
                0 => {
                    dot.set_x(x);
                    dot.set_y(y);
                }
                1 | 2 => {
                    let id = dot.id();
                    room.delete(id);
                    if what == 2 {
                        let _ = room.create_with_id(id.get(), Dot { x, y, hp, ..Dot::default() });
                    }
                }
                3 => dot.set_hp(hp + 1),
                4..12 => dot.set_hp(hp),
                12 => dot.set_rank(near),
                13..16 => dot.set_aim(near as f32),
                16 => {
                    let id = dot.id();
                    room.rekey(id);
                }
                _ => {
                    let to = dot.x + near;
                    dot.set_x(to);
                    dot.set_aim(near as f32);
                }
            }
        });
    }
    if dice.below(6) == 0 {
        let (id, x, seed) = (200 + dice.below(8), dice.at(), dice.below(1000));
        link.edit(|room| match room.get_mut(named::<Crate>(id)) {
            Some(mut it) => {
                it.set_x(x);
                if seed % 3 == 0 {
                    let _ = it.set_data(Bytes::from(noise(20_000, seed)));
                }
            }
            None => {
                let data = Bytes::from(noise(30_000, seed));
                let _ = room.create_with_id(id, Crate { x, data, ..Crate::default() });
            }
        });
    }
}

fn play(kind: usize, seed: u64, threads: usize) -> Vec<Vec<u8>> {
    let settings =
        Settings { view_hash: true, update_cap: limits::PART, window: 80_000, ..Settings::default() };
    let mut link = lab::seen_with(settings, move || visibility(kind));
    link.keep = true;
    if threads > 1 {
        link.room.set_workers(Box::new(Backwards(threads)));
    }
    let mut dice = Dice(seed);
    let mut conns: Vec<_> = (0..5).map(|_| link.join()).collect();
    for step in 0..100 {
        change(&mut link, &mut dice);
        for conn in &mut conns {
            match dice.below(30) {
                0 => {
                    let at = [dice.at(), dice.at(), 0.0];
                    link.stand(*conn, (at[0] < 18.0).then_some(at));
                }
                1..8 => {
                    let by = dice.below(5) as f64 / 2.0 - 1.0;
                    link.edit(|room| {
                        let at = &mut room.connection_mut(*conn).expect("it joined").scratch.at;
                        *at = at.map(|[x, y, z]| [x + by, y, z]);
                    });
                }
                8 => {
                    let words = if dice.below(3) == 0 { vec![] } else { vec![Key::from("odd")] };
                    link.subscribe(*conn, words);
                }
                9 => link.client_mut(*conn).pace = Pace::Silent,
                10 => link.client_mut(*conn).pace = Pace::Stalled,
                11..14 => link.client_mut(*conn).pace = Pace::Prompt,
                14 => link.say(*conn, &ClientMessage::Hidden(true)),
                15 | 16 => link.say(*conn, &ClientMessage::Hidden(false)),
                17 if dice.below(4) == 0 => {
                    link.drop_link(*conn);
                    link.tick();
                    *conn = link.rejoin(*conn);
                    link.stand(*conn, Some([0.0; 3]));
                }
                _ => {}
            }
        }
        link.tick();
        if step % 20 == 19 {
            for conn in &conns {
                link.client_mut(*conn).pace = Pace::Prompt;
                link.say(*conn, &ClientMessage::Hidden(false));
            }
            for _ in 0..3000 {
                link.tick();
                if conns.iter().all(|conn| link.room.room().is_drained(*conn)) {
                    break;
                }
            }
            conns.iter().for_each(|conn| check(&mut link, *conn, kind, seed));
        }
    }
    link.clients.values().map(|client| client.raw.clone()).collect()
}

fn check(link: &mut Link<Lab>, conn: ConnectionId, kind: usize, seed: u64) {
    let room = link.room.room();
    assert!(room.is_drained(conn), "kind {kind}, seed {seed}");
    assert!(link.replica(conn).retained_ids().eq(room.retained(conn)), "kind {kind}, seed {seed}: retained");
    let stand = &room.connection(conn).expect("it joined").scratch;
    let odd = !stand.words.is_empty();
    let mut shown = Vec::new();
    for (id, dot) in room.all::<Dot>() {
        let near =
            stand.at.is_some_and(|at| (dot.x - at[0]).powi(2) + (dot.y - at[1]).powi(2) <= RANGE * RANGE);
        if near || (odd && dot.hp % 2 == 1) {
            shown.push((id.get(), format!("{dot:?}")));
        }
    }
    if [0, 1, 2, 6].contains(&kind) {
        let shown: Vec<_> = if kind == 6 {
            let near = |(id, _): &(u64, String)| {
                let dot = room.get(named::<Dot>(*id)).expect("it lives");
                stand.at.is_some_and(|at| (dot.x - at[0]).powi(2) + (dot.y - at[1]).powi(2) <= RANGE * RANGE)
            };
            shown.into_iter().filter(near).collect()
        } else {
            shown
        };
        let held: Vec<_> =
            link.replica(conn).all::<Dot>().map(|(id, dot)| (id.get(), format!("{dot:?}"))).collect();
        assert_eq!(held, shown, "kind {kind}, seed {seed}");
    }
    for (id, dot) in link.replica(conn).all::<Dot>() {
        let now = room.get(id).map(|dot| format!("{dot:?}"));
        assert_eq!(Some(format!("{dot:?}")), now, "kind {kind}, seed {seed}");
    }
    for (id, it) in link.replica(conn).all::<Crate>() {
        assert!(
            room.get(id).is_some_and(|now| now.data == it.data && now.x == it.x),
            "kind {kind}, seed {seed}"
        );
    }
}

#[test]
fn views_that_change_their_form_lose_and_double_nothing() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for seed in 0..seeds {
        for kind in 0..7 {
            let alone = play(kind, seed * 7 + kind as u64, 1);
            let shared = play(kind, seed * 7 + kind as u64, 4);
            assert!(alone == shared, "kind {kind}, seed {seed}: threads send the same");
        }
    }
}

/// A connection that stands still and by slots, in a room that is by cells for one seal in which not all fits. In that
/// seal `go` takes the dot that it is given out of sight.
fn one_seal_by_cells(go: fn(&mut Link<Lab>, Id<Dot>)) -> (Link<Lab>, ConnectionId, Id<Dot>) {
    let settings = Settings { update_cap: limits::PART, window: 80_000, ..Settings::default() };
    let mut link = lab::seen_with(settings, || combine(parts()));
    let conn = link.join();
    let [two_keys, walks, goes] = [1, 0, 0].map(|hp| link.add(Dot { hp, ..Dot::default() }));
    link.tick();
    // It stands as it stood, and looks.
    for x in [1.0, 2.0, 1.0] {
        link.edit(|room| room.get_mut(walks).expect("it lives").set_x(x));
        link.tick();
    }
    // No entity has several keys, and not all fits.
    link.edit(|room| room.get_mut(two_keys).expect("it lives").set_hp(2));
    for seed in 1..6 {
        link.add(Crate { data: Bytes::from(noise(30_000, seed)), ..Crate::default() });
    }
    go(&mut link, goes);
    link.tick();
    // One has several again, and somebody walks.
    link.edit(|room| {
        room.get_mut(two_keys).expect("it lives").set_hp(3);
        room.get_mut(walks).expect("it lives").set_x(2.0);
    });
    (link, conn, goes)
}

#[test]
fn what_walks_away_while_a_room_is_by_cells_for_one_seal_stays_away() {
    let (mut link, conn, goes) =
        one_seal_by_cells(|link, id| link.edit(|room| room.get_mut(id).expect("it lives").set_x(500.0)));
    for _ in 0..50 {
        link.tick();
    }
    assert!(!link.sees(conn, goes), "it is out of range");
}

#[test]
fn what_takes_the_slot_of_one_that_went_is_not_seen_for_it() {
    let (mut link, conn, _) = one_seal_by_cells(|link, id| {
        link.edit(|room| room.delete(id));
    });
    let far = link.add(Dot { x: 500.0, ..Dot::default() });
    for _ in 0..50 {
        link.tick();
    }
    assert!(!link.sees(conn, far), "it is out of range");
}

#[test]
fn a_hidden_one_that_takes_the_slot_of_one_that_went_stays_hidden() {
    let (mut link, conn, goes) = one_seal_by_cells(|link, id| {
        link.edit(|room| room.delete(id));
    });
    link.add(lab::Deck::default());
    for _ in 0..50 {
        link.tick();
    }
    assert!(!link.sees(conn, goes), "it was deleted");
}

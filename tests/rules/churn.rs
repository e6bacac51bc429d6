//! Random games in rooms whose views are compared cell by cell: each change is named once, to whom it concerns.

use room::prelude::*;
use room::runtime::Settings;
use room::wire::message::ClientMessage;
use room::{Key, Keys, limits};

use super::audit::{Audit, Dice, Thing};
use super::lab::{self, Board, ByKey, Crate, Dot, Lab, Stand, dots, noise};
use super::link::{Link, Pace};

/// Dots and crates in one grid.
pub(super) fn both(cell: f64) -> room::Grid<Lab> {
    dots(cell).kind::<Crate, _>(|it| [it.x, 0.0, 0.0])
}

fn place(thing: Thing<'_>) -> [f64; 3] {
    match thing {
        Thing::Dot(dot) => [dot.x, dot.y, dot.z],
        Thing::Crate(it) => [it.x, 0.0, 0.0],
    }
}

pub(super) fn within(stand: &Stand, thing: Thing<'_>, used: [bool; 3], r: f64) -> bool {
    let (at, Some(from)) = (place(thing), stand.at) else { return false };
    (0..3).filter(|axis| used[*axis]).map(|axis| (at[axis] - from[axis]).powi(2)).sum::<f64>() <= r * r
}

fn beside(stand: &Stand, thing: Thing<'_>, cell: f64, most: f64) -> bool {
    let (at, Some(from)) = (place(thing), stand.at) else { return false };
    (0..3).all(|axis| ((at[axis] / cell).floor() - (from[axis] / cell).floor()).abs() <= most)
}

type Sees = fn(&Stand, Thing<'_>) -> bool;
pub(super) type Make = fn() -> Visibility<Lab>;

fn odd(_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys) {
    if let Some(dot) = entity.get::<Dot>().filter(|dot| dot.hp % 2 == 1) {
        keys.add(u64::from(dot.hp % 4));
    }
}

fn even(_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys) {
    if let Some(dot) = entity.get::<Dot>().filter(|dot| dot.hp % 2 == 0) {
        keys.add(u64::from(dot.hp % 4));
    } else if let Some(it) = entity.get::<Crate>() {
        keys.add(if it.x < 0.0 { 0_u64 } else { 2 });
    }
}

/// Dots of an even number are in the grid, the others have keys.
fn shifting(cell: f64) -> room::Grid<Lab> {
    let grid = grid(cell).kind::<Dot, _>(|dot| (dot.hp % 2 == 0).then_some([dot.x, dot.y, dot.z]));
    grid.around(|_, conn: &Connection<Lab>| conn.scratch.at)
}

const INTERESTS: [(Make, Sees); 8] = [
    (Visibility::everything, |_, _| true),
    (
        || both(10.0).dims(Xz).range(12.0).into(),
        |stand, thing| within(stand, thing, [true, false, true], 12.0),
    ),
    (|| both(4.0).range(9.0).into(), |stand, thing| within(stand, thing, [true; 3], 9.0)),
    (|| both(100.0).range(9.0).into(), |stand, thing| within(stand, thing, [true; 3], 9.0)),
    (|| both(8.0).radius(1).into(), |stand, thing| beside(stand, thing, 8.0, 1.0)),
    (
        || {
            combine((
                dots(10.0).dims(Xy).range(8.0),
                grid(6.0)
                    .kind::<Crate, _>(|it| [it.x, 0.0, 0.0])
                    .around(|_, conn: &Connection<Lab>| conn.scratch.at),
            ))
        },
        |stand, thing| match thing {
            Thing::Dot(_) => within(stand, thing, [true, true, false], 8.0),
            Thing::Crate(_) => beside(stand, thing, 6.0, 1.0),
        },
    ),
    // From part to part.
    (
        || combine((custom(ByKey(odd)), custom(ByKey(even)))),
        |stand, thing| {
            let key = match thing {
                Thing::Dot(dot) => u64::from(dot.hp % 4),
                Thing::Crate(it) => {
                    if it.x < 0.0 {
                        0
                    } else {
                        2
                    }
                }
            };
            stand.words.contains(&Key::from(key))
        },
    ),
    // Some are everywhere.
    (
        || shifting(10.0).range(9.0).into(),
        |stand, thing| match thing {
            Thing::Dot(dot) => dot.hp % 2 == 1 || within(stand, thing, [true; 3], 9.0),
            Thing::Crate(_) => false,
        },
    ),
];

/// Positions on a lattice of half units, so that many stand exactly at a distance.
fn spot(dice: &mut Dice, wide: f64) -> [f64; 3] {
    let mut on = |most: f64| (dice.within(-most, most) * 2.0).floor() / 2.0;
    [on(wide), on(2.0), on(wide)]
}

struct Game {
    link: Link<Lab>,
    conns: Vec<ConnectionId>,
    dots: Vec<Id<Dot>>,
    crates: Vec<Id<Crate>>,
    dice: Dice,
    wide: f64,
}

impl Game {
    fn new(make: Make, settings: Settings, seed: u64, wide: f64, many: usize) -> Game {
        let link = lab::seen_with(settings, make);
        let mut game = Game { link, conns: vec![], dots: vec![], crates: vec![], dice: Dice(seed), wide };
        for n in 0..4_u64 {
            let conn = game.link.join();
            game.link.subscribe(conn, vec![Key::from(n), Key::from((n + 1) % 4)]);
            game.conns.push(conn);
        }
        (0..many).for_each(|_| game.create());
        game.link.ticks(12);
        game
    }

    fn create(&mut self) {
        let [x, y, z] = spot(&mut self.dice, self.wide);
        let hp = self.dice.below(8) as u32;
        if self.dice.below(4) == 0 {
            let data = Bytes::from(noise(self.dice.below(40) as usize, u64::from(hp)));
            self.crates.push(self.link.add(Crate { x, data, ..Crate::default() }));
        } else {
            self.dots.push(self.link.add(Dot { x, y, z, hp, ..Dot::default() }));
        }
    }

    fn delete(&mut self) {
        let kinds = (self.dice.below(4) == 0, self.dice.below(1 << 20) as usize);
        match kinds {
            (true, n) if !self.crates.is_empty() => {
                let id = self.crates.swap_remove(n % self.crates.len());
                self.link.edit(|room| room.delete(id));
            }
            (_, n) if !self.dots.is_empty() => {
                let id = self.dots.swap_remove(n % self.dots.len());
                self.link.edit(|room| room.delete(id));
            }
            _ => {}
        }
    }

    fn put(&mut self, id: Id<Dot>, [x, y, z]: [f64; 3]) {
        self.link.edit(|room| {
            let mut dot = room.get_mut(id).expect("it lives");
            dot.set_x(x);
            dot.set_y(y);
            dot.set_z(z);
        });
    }

    fn act(&mut self) {
        let (wide, crates) = (self.wide, self.crates.clone());
        let Some(id) = self.dice.pick(&self.dots) else { return self.create() };
        match self.dice.below(12) {
            0..3 => {
                let to = spot(&mut self.dice, wide);
                self.put(id, to);
            }
            3 => {
                // Two swap places.
                let other = self.dice.pick(&self.dots).expect("there are some");
                let at = |game: &Game, id| {
                    let dot = game.link.room.room().get::<Dot>(id).expect("it lives");
                    [dot.x, dot.y, dot.z]
                };
                let (a, b) = (at(self, id), at(self, other));
                self.put(id, b);
                self.put(other, a);
            }
            4 | 5 => {
                let hp = self.dice.below(9) as u32;
                self.link.edit(|room| room.get_mut(id).expect("it lives").set_hp(hp));
            }
            6 => {
                let (hp, rank) = (self.dice.below(9) as u32, self.dice.below(3) as f64);
                self.link.edit(|room| {
                    let mut dot = room.get_mut(id).expect("it lives");
                    dot.set_hp(hp);
                    dot.set_rank(rank);
                });
            }
            7 | 8 => {
                let Some(id) = self.dice.pick(&crates) else { return };
                let (x, len) = (spot(&mut self.dice, wide)[0], self.dice.below(90) as usize);
                let way = self.dice.below(3);
                self.link.edit(|room| {
                    let mut it = room.get_mut(id).expect("it lives");
                    if way != 0 {
                        it.set_x(x);
                    }
                    if way != 1 {
                        it.set_data(Bytes::from(noise(len, x as i64 as u64))).expect("it fits");
                    }
                });
            }
            9 => self.create(),
            10 => self.delete(),
            _ => {
                // One goes and another comes, mostly in the same cell.
                self.delete();
                self.create();
            }
        }
    }

    /// Many go to one place, or away from it.
    fn rush(&mut self) {
        let to = spot(&mut self.dice, self.wide);
        let ids = self.dots.clone();
        let gather = self.dice.below(2) == 0;
        for id in ids {
            if self.dice.below(3) != 0 {
                let at = spot(&mut self.dice, self.wide);
                self.put(id, if gather { to } else { at });
            }
        }
    }

    fn walk(&mut self) {
        let conn = self.dice.pick(&self.conns).expect("they joined");
        let mut at = Some(spot(&mut self.dice, self.wide));
        if self.dice.below(8) == 0 {
            at = None;
        }
        self.link.stand(conn, at);
        let words = (0..self.dice.below(4)).map(|_| Key::from(self.dice.below(4))).collect();
        if self.dice.below(2) == 0 {
            self.link.subscribe(conn, words);
        }
    }

    fn turn(&mut self) {
        let acts = self.dice.below(25);
        (0..acts).for_each(|_| self.act());
        match self.dice.below(12) {
            0 => self.rush(),
            1 | 2 => self.walk(),
            _ => {}
        }
    }
}

#[test]
fn whatever_members_do_each_is_named_once() {
    for (number, (make, sees)) in INTERESTS.into_iter().enumerate() {
        // Few in many cells, and more than two words of them in one.
        for (wide, many) in [(25.0, 60), (12.0, 250), (3.0, 170)] {
            let seed = number as u64 * 100 + many as u64;
            let mut game = Game::new(make, Settings::default(), seed, wide, many);
            let mut audit = Audit::new(&game.link, sees);
            for _ in 0..60 {
                game.turn();
                audit.tick(&mut game.link);
            }
        }
    }
}

#[test]
fn pages_windows_and_rushes_take_a_view_from_cells_to_slots_and_back_and_lose_nothing() {
    for (number, (make, sees)) in INTERESTS.into_iter().enumerate() {
        let settings = Settings {
            window: limits::PART,
            update_cap: limits::PART,
            hold_seconds: Some(0),
            messages_per_second: 10_000,
            messages_burst: 10_000,
            ..Settings::default()
        };
        let mut game = Game::new(make, settings, number as u64 + 77, 12.0, 120);
        let mut audit = Audit::new(&game.link, sees);
        let mut drained = 0;
        for turn in 0..120 {
            game.turn();
            let conn = game.dice.pick(&game.conns).expect("they joined");
            match game.dice.below(14) {
                0 => game.link.say(conn, &ClientMessage::Hidden(true)),
                1 | 2 => game.link.say(conn, &ClientMessage::Hidden(false)),
                3 => {
                    let pace = [Pace::Silent, Pace::Late(3), Pace::Stalled];
                    game.link.client_mut(conn).pace = game.dice.pick(&pace).expect("there are some");
                }
                4 | 5 => {
                    game.link.client_mut(conn).pace = Pace::Prompt;
                    game.link.deliver();
                }
                6 => {
                    // More than an update holds.
                    for _ in 0..4 {
                        let data = Bytes::from(noise(30_000, game.dice.below(1000)));
                        let x = spot(&mut game.dice, 12.0)[0];
                        game.crates.push(game.link.add(Crate { x, data, ..Crate::default() }));
                    }
                }
                7 if game.link.client(conn).is_joined() => {
                    let again = game.link.resume(conn);
                    let at = game.conns.iter().position(|it| *it == conn).expect("it is one");
                    game.conns[at] = again;
                    game.link.tick();
                    let seated = game.link.room.room().connection(again).is_some();
                    assert!(seated, "it is seated again at turn {turn}");
                }
                8 => game.link.edit(|room| {
                    let round = room.state::<Board>().round + 1;
                    room.state_mut::<Board>().set_round(round);
                }),
                _ => {}
            }
            drained += audit.tick_loosely(&mut game.link);
        }
        assert!(drained > 30, "interest {number}: only {drained} comparisons");
        for conn in game.conns.clone() {
            game.link.client_mut(conn).pace = Pace::Prompt;
            game.link.say(conn, &ClientMessage::Hidden(false));
        }
        game.link.deliver();
        for _ in 0..60 {
            audit.tick_loosely(&mut game.link);
        }
        // Back in the cells, where each is named exactly once.
        let mut audit = Audit::new(&game.link, sees);
        for _ in 0..20 {
            game.act();
            audit.tick(&mut game.link);
        }
    }
}

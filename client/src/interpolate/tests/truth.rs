//! Random walks over random links: what is drawn is what was, at the time that is drawn.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use proptest::prelude::*;
use room::prelude::*;

use super::link::Weather;
use super::town::{SNAP, Scene, Town, Walker, error, walker};

/// How a walker goes on, changed at random moments.
#[derive(Clone, Debug, Default)]
struct Gait {
    speed: [f64; 2],
    turning: f64,
    until: u64,
}

/// Walkers that walk, rest, turn and now and then are somewhere else.
pub(super) struct Walk {
    gaits: BTreeMap<Id<Walker>, Gait>,
    chance: u64,
}

/// The most that one of them moves in a tick: it is known, so that errors have a bound.
const FASTEST: f64 = 1.5;

impl Walk {
    pub(super) fn new(ids: &[Id<Walker>], seed: u64) -> Walk {
        let gaits = ids.iter().map(|id| (*id, Gait::default())).collect();
        Walk { gaits, chance: seed.wrapping_mul(2).wrapping_add(1) }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.chance >> 33) % below
    }

    fn part(&mut self) -> f64 {
        self.random(2001) as f64 / 1000.0 - 1.0
    }

    pub(super) fn step(&mut self, room: &mut Room<Town>, tick: u64) {
        // Once in a while everybody rests, and the room falls silent.
        let silent = tick % 100 > 75;
        for id in self.gaits.keys().copied().collect::<Vec<_>>() {
            if self.gaits[&id].until <= tick {
                let until = tick + 1 + self.random(25);
                let rests = self.random(3) == 0;
                let speed = if rests { [0.0; 2] } else { [self.part(), self.part()] };
                let turning = if rests { 0.0 } else { self.part() };
                self.gaits.insert(id, Gait { speed, turning, until });
            }
            let jumps = self.random(40) == 0;
            let Gait { speed: [x, y], turning, .. } = self.gaits[&id].clone();
            let mut walker = room.get_mut(id).unwrap();
            if jumps && !silent {
                let x = walker.x + if walker.x > 0.0 { -3.0 } else { 3.0 } * SNAP;
                walker.set_x(x);
            } else if !silent && (x, y, turning) != (0.0, 0.0, 0.0) {
                let (x, y) = (walker.x + x, walker.y + y as f32);
                walker.set_x(x);
                walker.set_y(y);
                walker.set_at([y * 0.5, (x * 0.1) as f32]);
                let heading = (f64::from(walker.heading) + turning).rem_euclid(TAU);
                walker.set_heading(heading as f32);
                walker.set_level((y * 3.0) as i32);
            }
        }
    }
}

/// A frame, as far as it is looked at.
struct Drawn {
    time: f64,
    tick: u64,
    walker: Walker,
}

/// Draws a walk; returns the scene and each walker's frames.
fn draw(
    mut scene: Scene,
    ids: &[Id<Walker>],
    seed: u64,
    ms: u64,
) -> (Scene, BTreeMap<Id<Walker>, Vec<Drawn>>) {
    let mut walk = Walk::new(ids, seed);
    let mut frames: BTreeMap<Id<Walker>, Vec<Drawn>> = BTreeMap::new();
    let look = |scene: &Scene| {
        for id in ids {
            let Some(walker) = scene.link.machine.drawn(*id).cloned() else { continue };
            let time = scene.link.machine.drawn_time(*id).unwrap();
            frames.entry(*id).or_default().push(Drawn { time, tick: scene.link.machine.tick().0, walker });
        }
    };
    scene.run(ms, |room, tick| walk.step(room, tick), look);
    (scene, frames)
}

/// The worst error against the states of some ticks, of frames up to the last due one that had come; and of frames past
/// that, as a part of what could have happened since.
fn worst(scene: &Scene, id: Id<Walker>, frames: &[Drawn], due: &[u64], knots: &[u64]) -> (f64, f64) {
    let (mut exact, mut beyond) = (0.0f64, 0.0f64);
    for frame in frames {
        let came = due.partition_point(|due| *due <= frame.tick);
        let Some(last) = came.checked_sub(1).map(|at| due[at] as f64) else { continue };
        let off = error(&frame.walker, scene.around(id, frame.time, knots));
        if frame.time <= last {
            exact = exact.max(off);
        } else if off < 2.0 * SNAP {
            // It went on, for 100 ms at the most, and the truth did whatever it did. (A jump cannot be foreseen.)
            beyond = beyond.max(off / ((frame.time - last + 2.0) * 2.0 * FASTEST * 3.0));
        }
    }
    (exact, beyond)
}

fn rising(frames: &[Drawn]) -> bool {
    frames.windows(2).all(|two| two[0].time <= two[1].time)
}

fn weathers() -> impl Strategy<Value = Weather> {
    let stalls = prop_oneof![Just((0, 0)), (1000u64..3000, 1u64..700)];
    (0u64..250, 0u64..80, stalls, any::<u64>()).prop_map(|(latency, jitter, (stall_every, stall), seed)| {
        Weather { latency, jitter, stall_every, stall, seed }
    })
}

/// Draws eight walkers, of a period each, and compares.
fn is_drawn_as_it_was(weather: Weather, send_every: u32, seed: u64) -> Result<(), TestCaseError> {
    let mut scene = Scene::new(send_every, weather);
    let ids: Vec<_> = (1..=8).map(|period| scene.add(walker(period))).collect();
    let (scene, frames) = draw(scene, &ids, seed, 8000);
    let end = scene.link.room.now().0;
    for (id, period) in ids.iter().zip(1u64..) {
        let frames = &frames[id];
        prop_assert!(frames.len() > 300 && rising(frames));
        // What comes first stands where it is, until the first record.
        let entered = frames[0].tick;
        let first = (entered + period * u64::from(send_every)) as f64;
        let frames = &frames[frames.partition_point(|frame| frame.time < first)..];
        // An entity is due at every so manieth send, counted from a number of its own, which a client does not know.
        let of_phase = |phase: u64| {
            let is_due = |tick: &u64| (tick / u64::from(send_every) + phase).is_multiple_of(period);
            let sends =
                (entered + 1..=end).filter(|tick| tick.is_multiple_of(send_every.into())).filter(is_due);
            let due: Vec<u64> = std::iter::once(entered).chain(sends).collect();
            // It is known to have stood still where nothing lagged behind, and it was not sent since.
            let sent = scene.link.sent.iter().filter(|(tick, complete)| {
                !(complete + 1..=*tick).any(|tick| due.binary_search(&tick).is_ok())
            });
            let still: Vec<u64> =
                sent.map(|(_, complete)| *complete).filter(|complete| *complete > entered).collect();
            let mut knots = [&due[..], &still].concat();
            knots.sort_unstable();
            knots.dedup();
            worst(&scene, *id, frames, &due, &knots)
        };
        let found = (0..period).map(of_phase).min_by(|a, b| a.0.total_cmp(&b.0));
        let (exact, beyond) = found.unwrap();
        prop_assert!(exact < 1e-3, "period {period}: {exact} off");
        prop_assert!(beyond < 1.0, "period {period}: {beyond} of what could be");
    }
    Ok(())
}

// Where the time waits with the last update at the very tick of a jump, a rounding back would be before the jump.
#[test]
fn what_has_jumped_is_not_drawn_at_a_time_before_the_jump_while_updates_stall() {
    let seed = 4_799_071_077_167_451_375;
    let weather = Weather { latency: 132, jitter: 27, stall_every: 1453, stall: 516, seed };
    is_drawn_as_it_was(weather, 1, 12_235_531_048_864_176_941).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_drawn_is_what_was(weather in weathers(), send_every in 1u32..4, seed: u64) {
        is_drawn_as_it_was(weather, send_every, seed)?;
    }

    #[test]
    fn merged_updates_are_drawn_over_the_time_that_they_span(latency in 100u64..400, seed: u64) {
        let weather = Weather { latency, seed, ..Weather::default() };
        let mut scene = Scene::new(1, weather);
        let id = scene.add(walker(1));
        // More than the window takes until the acknowledgement is back.
        scene.load(30_000);
        let (scene, frames) = draw(scene, &[id], seed, 6000);
        let knots: Vec<u64> = scene.link.sent.iter().map(|(tick, _)| *tick).collect();
        prop_assert!(knots.windows(2).any(|two| two[1] > two[0] + 1), "none was merged");
        prop_assert!(rising(&frames[&id]));
        let knots: Vec<u64> = knots.into_iter().filter(|tick| *tick >= frames[&id][0].tick).collect();
        let (exact, _) = worst(&scene, id, &frames[&id], &knots, &knots);
        prop_assert!(exact < 1e-3, "{exact} off");
    }
}

//! A world: where its entities are, and how they move.

use std::f64::consts::TAU;

use crate::rng::Rng;
use crate::spec::{Motion, Sees, Spec, TICK_RATE};
use crate::views;

/// Entities for each square unit, in all worlds.
const DENSITY: f64 = 0.01;

/// The most that one walks along an axis in a tick, in hundredths.
const STEP: i32 = 50;

/// The most that one turns in a tick, in hundredths of a radian.
const TURN: i32 = 10;

/// A world. Places and rotations are whole hundredths, so that one who sends steps of 0.01 loses nothing.
#[derive(Clone, Debug)]
pub struct World {
    /// What it was made from.
    pub spec: Spec,
    /// The length of a side of the square.
    pub side: f64,
    /// How far a connection sees.
    pub range: f64,
    hundredths: Vec<[i32; 2]>,
    turns: Vec<i32>,
    speeds: Vec<[i32; 2]>,
    movers: Vec<u32>,
    rng: Rng,
}

impl World {
    /// The world of a workload.
    pub fn new(spec: &Spec) -> World {
        let side = (f64::from(spec.entities) / DENSITY).sqrt().round();
        let most = (side * 100.0) as i32;
        let mut rng = Rng(1);
        let mut hundredth = || (rng.unit() * f64::from(most)) as i32;
        let hundredths = (0..spec.entities).map(|_| [hundredth(), hundredth()]).collect();
        let mut world = World {
            spec: *spec,
            side,
            range: side * 2.0,
            hundredths,
            turns: vec![0; spec.entities as usize],
            speeds: Vec::new(),
            movers: Vec::new(),
            rng: Rng(7),
        };
        if let Sees::Count(count) = spec.sees {
            world.range = views::range_for(&world, count);
        }
        if let Motion::Fly { ranges_per_second } = spec.motion {
            let speed = world.range * ranges_per_second / TICK_RATE * 100.0;
            world.speeds = (0..spec.entities)
                .map(|_| {
                    let (sin, cos) = (world.rng.unit() * TAU).sin_cos();
                    [(speed * cos).round() as i32, (speed * sin).round() as i32]
                })
                .collect();
        }
        world.movers = match spec.motion {
            Motion::Walk { every } => (0..spec.entities).filter(|i| i % every == 0).collect(),
            Motion::Rest => Vec::new(),
            Motion::Fly { .. } => (0..spec.entities).collect(),
        };
        world
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.hundredths.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.hundredths.is_empty()
    }

    /// How many connections there are. Connection `i` stands where entity `i` is.
    pub fn connections(&self) -> usize {
        self.spec.connections as usize
    }

    /// The entities that a step moves.
    pub fn movers(&self) -> &[u32] {
        &self.movers
    }

    /// Where an entity is.
    pub fn place(&self, entity: u32) -> [f32; 2] {
        self.hundredths[entity as usize].map(|h| (f64::from(h) / 100.0) as f32)
    }

    /// Where an entity is, in hundredths.
    pub fn hundredths(&self, entity: u32) -> [i32; 2] {
        self.hundredths[entity as usize]
    }

    /// Where it looks, in radians.
    pub fn rotation(&self, entity: u32) -> f32 {
        (f64::from(self.turns[entity as usize]) / 100.0) as f32
    }

    /// Where it looks, in hundredths.
    pub fn turn(&self, entity: u32) -> i32 {
        self.turns[entity as usize]
    }

    /// Moves all movers by one tick.
    pub fn step(&mut self) {
        let most = (self.side * 100.0) as i32;
        for &mover in &self.movers {
            let i = mover as usize;
            if self.speeds.is_empty() {
                self.hundredths[i] = self.hundredths[i].map(|h| (h + self.rng.within(STEP)).clamp(0, most));
            } else {
                for axis in 0..2 {
                    let to = self.hundredths[i][axis] + self.speeds[i][axis];
                    if !(0..=most).contains(&to) {
                        self.speeds[i][axis] = -self.speeds[i][axis];
                    }
                    self.hundredths[i][axis] = if to < 0 { -to } else { to.min(2 * most - to) };
                }
            }
            if self.spec.rotation {
                self.turns[i] = (self.turns[i] + self.rng.within(TURN)).rem_euclid(628);
            }
        }
    }
}

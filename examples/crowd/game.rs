//! The world: dots that all move, some of them players', and what it was like at the end of each of the last ticks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use room::prelude::*;
use serde::{Deserialize, Serialize};

/// How far a player sees.
pub const RANGE: f64 = 80.0;
/// Units of ground a dot: so many that about 200 dots are within range of each.
const GROUND: f64 = 100.0;
/// The most that a dot moves in a tick, along each axis.
const STEP: f64 = 0.5;
/// The most dots; more would not fit the range of their coordinates.
pub const DOTS_MOST: usize = 200_000;
/// Ticks of which the world is remembered: more than pass until a client's copy has come for comparison.
const REMEMBERED: usize = 100;

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
pub struct Dot {
    pub owner: PlayerId,
    #[field(quantize(step = 0.01, min = 0.0, max = 5000.0))]
    pub x: f32,
    #[field(quantize(step = 0.01, min = 0.0, max = 5000.0))]
    pub y: f32,
}

/// A dot as it is compared: bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    pub id: u64,
    pub owner: u32,
    pub x: u32,
    pub y: u32,
}

impl Spot {
    pub fn of(id: Id<Dot>, dot: &Dot) -> Spot {
        Spot { id: id.get(), owner: dot.owner.0, x: dot.x.to_bits(), y: dot.y.to_bits() }
    }

    pub fn place(&self) -> [f64; 2] {
        [self.x, self.y].map(|bits| f64::from(f32::from_bits(bits)))
    }
}

/// All dots at the end of a tick, by ID.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub tick: u64,
    pub spots: Vec<Spot>,
}

/// What is known of the world outside its room.
#[derive(Default)]
pub struct World {
    /// While true nothing moves.
    pub paused: AtomicBool,
    past: Mutex<VecDeque<Snapshot>>,
}

impl World {
    /// Calls `look` with the world of a tick, or of the last one before the world was paused. `None` where that was
    /// too long ago.
    pub fn at<T>(&self, tick: u64, look: impl FnOnce(&Snapshot) -> T) -> Option<T> {
        let past = self.past();
        let last = past.back()?;
        let index = past.binary_search_by_key(&tick, |snapshot| snapshot.tick).ok();
        let index = index.or_else(|| (tick > last.tick).then_some(past.len() - 1));
        index.map(|index| look(&past[index]))
    }

    fn past(&self) -> MutexGuard<'_, VecDeque<Snapshot>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side of the square in which so many dots move.
pub fn side(dots: usize) -> f64 {
    (GROUND * dots as f64).sqrt()
}

pub struct Crowd {
    world: Arc<World>,
    side: f64,
    dots: Vec<Id<Dot>>,
    // Dots that no player has.
    free: Vec<Id<Dot>>,
}

impl Crowd {
    /// A world of so many dots.
    pub fn new(world: Arc<World>, dots: usize) -> Crowd {
        let dots = Vec::with_capacity(dots);
        Crowd { world, side: side(dots.capacity()), dots, free: Vec::new() }
    }

    fn snapshot(&self, tick: Tick) -> Snapshot {
        let mut past = self.world.past();
        let mut snapshot = Snapshot::default();
        if past.len() == REMEMBERED {
            snapshot = past.pop_front().unwrap_or_default();
        }
        snapshot.tick = tick.0;
        snapshot.spots.clear();
        snapshot
    }
}

/// From 0 to 1. Quicker than the room's own generator, of which the figures would tell otherwise.
fn unit(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as f64 / (1u64 << 31) as f64
}

impl Game for Crowd {
    type Event = ();
    /// The player's own dot.
    type Scratch = Option<Id<Dot>>;

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Dot>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid::<Self>(60.0)
            .dims(Xy)
            .kind(|dot: &Dot| [dot.x, dot.y])
            .around(|room, conn| room.get(conn.scratch?).map(|dot| [dot.x, dot.y]))
            .range(RANGE)
            .into()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        let mut seed = 1;
        for _ in 0..self.dots.capacity() {
            let [x, y] = [0; 2].map(|_| (unit(&mut seed) * self.side) as f32);
            self.dots.push(room.create(Dot { owner: PlayerId(0), x, y }).expect("it is small"));
        }
        self.free = self.dots.iter().rev().copied().collect();
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let own = self.free.pop().ok_or_else(|| Refused::new("every dot has a player"))?;
        if let Some(mut dot) = room.get_mut(own) {
            dot.set_owner(peer.player);
        }
        if let Some(conn) = room.connection_mut(peer.conn) {
            conn.scratch = Some(own);
        }
        Ok(())
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        if self.world.paused.load(Ordering::Relaxed) {
            return;
        }
        let tick = room.tick();
        let mut snapshot = self.snapshot(tick);
        let mut seed = tick.0;
        for id in &self.dots {
            let mut dot = room.get_mut(*id).expect("nobody deletes it");
            let mut step = |from: f32| {
                let to = f64::from(from) + (unit(&mut seed) * 2.0 - 1.0) * STEP;
                to.clamp(0.0, self.side) as f32
            };
            let (x, y) = (step(dot.x), step(dot.y));
            dot.set_x(x);
            dot.set_y(y);
            snapshot.spots.push(Spot::of(*id, &dot));
        }
        self.world.past().push_back(snapshot);
    }
}

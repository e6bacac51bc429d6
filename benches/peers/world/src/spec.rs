//! The workloads.

/// How much of the world a connection sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sees {
    /// So many entities on average.
    Count(f64),
    /// Everything.
    All,
}

/// How entities move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// Every so-manyth entity walks at random, by at most half a unit a tick along each axis.
    Walk {
        /// 1: all of them.
        every: u32,
    },
    /// Nothing moves.
    Rest,
    /// Straight on, from wall to wall, by so much of the range a second.
    Fly {
        /// The part of the range.
        ranges_per_second: f64,
    },
}

/// A workload of moving entities.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// How many entities.
    pub entities: u32,
    /// How many connections. The first entities are their places.
    pub connections: u32,
    /// How many entities each sees.
    pub sees: Sees,
    /// How they move.
    pub motion: Motion,
    /// Whether they turn as well.
    pub rotation: bool,
    /// What it is, in a few words.
    pub about: &'static str,
}

/// Ticks a second in all worlds.
pub const TICK_RATE: f64 = 20.0;

const ALL_WALK: Motion = Motion::Walk { every: 1 };

const fn crowd(name: &'static str, motion: Motion, about: &'static str) -> Spec {
    Spec {
        name,
        entities: 10_000,
        connections: 500,
        sees: Sees::Count(100.0),
        motion,
        rotation: false,
        about,
    }
}

/// All workloads of moving entities. W6 is one of its own: see [`terrain`](crate::terrain).
pub const WORKLOADS: [Spec; 8] = [
    Spec {
        name: "W1",
        entities: 2_000,
        connections: 50,
        sees: Sees::Count(180.0),
        motion: ALL_WALK,
        rotation: true,
        about: "2,000 entities, 50 connections, 9 % visible, all move in x, y and rotation",
    },
    Spec {
        name: "W2",
        entities: 10_000,
        connections: 200,
        sees: Sees::Count(900.0),
        motion: ALL_WALK,
        rotation: false,
        about: "10,000 entities, 200 connections, 9 % visible, all move",
    },
    crowd("W3", ALL_WALK, "10,000 entities, 500 connections, 100 visible, all move"),
    crowd("W4", Motion::Walk { every: 10 }, "W3 with a tenth moving"),
    crowd("W5", Motion::Rest, "W3 with nothing moving"),
    // 0.617 of the range a second: half of what is visible leaves each second, and as much enters.
    crowd(
        "W7",
        Motion::Fly { ranges_per_second: 0.617 },
        "W3 flying: half of what each sees is exchanged each second",
    ),
    Spec {
        name: "W8",
        entities: 20_000,
        connections: 1_000,
        sees: Sees::Count(200.0),
        motion: ALL_WALK,
        rotation: false,
        about: "20,000 entities, 1,000 connections, 200 visible, all move",
    },
    Spec {
        name: "W9",
        entities: 1_000,
        connections: 200,
        sees: Sees::All,
        motion: ALL_WALK,
        rotation: false,
        about: "1,000 entities, 200 connections, everyone sees all, all move",
    },
];

impl Spec {
    /// The workload of a name.
    pub fn named(name: &str) -> Option<&'static Spec> {
        WORKLOADS.iter().find(|spec| spec.name == name)
    }
}

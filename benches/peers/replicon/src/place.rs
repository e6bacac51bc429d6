//! What entities carry, and how it is sent: for bevy_replicon, and for lightyear, which stands on it.

use bevy::prelude::*;
use bevy_replicon::prelude::*;
use serde::{Deserialize, Serialize};
use world::{Options, World as Ground};

/// Two coordinates.
#[derive(Component, Clone, Copy, Serialize, Deserialize)]
pub struct Place {
    pub x: f32,
    pub y: f32,
}

/// Two coordinates and a rotation.
#[derive(Component, Clone, Copy, Serialize, Deserialize)]
pub struct Pose {
    pub x: f32,
    pub y: f32,
    pub rotation: f32,
}

/// Two times 18 bits of hundredths.
#[derive(Serialize, Deserialize)]
struct PackedPlace([u8; 5]);

/// Two times 18 bits and once 10 bits of hundredths.
#[derive(Serialize, Deserialize)]
struct PackedPose([u8; 6]);

/// The largest world has 141,421 hundredths along a side.
const BITS: u32 = 18;
const MASK: u64 = (1 << BITS) - 1;

fn hundredths(v: f32) -> u64 {
    (v * 100.0).round() as u64
}

fn unit(bits: u64) -> f32 {
    (bits as f64 / 100.0) as f32
}

fn pack<const N: usize>(bits: u64) -> [u8; N] {
    std::array::from_fn(|i| (bits >> (8 * i)) as u8)
}

fn unpack(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

impl From<Place> for PackedPlace {
    fn from(place: Place) -> Self {
        PackedPlace(pack(hundredths(place.x) | hundredths(place.y) << BITS))
    }
}

impl From<PackedPlace> for Place {
    fn from(packed: PackedPlace) -> Self {
        let bits = unpack(&packed.0);
        Place { x: unit(bits & MASK), y: unit(bits >> BITS & MASK) }
    }
}

impl From<Pose> for PackedPose {
    fn from(pose: Pose) -> Self {
        let place = hundredths(pose.x) | hundredths(pose.y) << BITS;
        PackedPose(pack(place | hundredths(pose.rotation) << (2 * BITS)))
    }
}

impl From<PackedPose> for Pose {
    fn from(packed: PackedPose) -> Self {
        let bits = unpack(&packed.0);
        let [x, y, rotation] = [bits & MASK, bits >> BITS & MASK, bits >> (2 * BITS)].map(unit);
        Pose { x, y, rotation }
    }
}

/// What is replicated, and how.
pub fn register(app: &mut App, turning: bool, options: &Options) {
    match (turning, options.small) {
        (false, false) => app.replicate::<Place>(),
        (false, true) => app.replicate_as::<Place, PackedPlace>(),
        (true, false) => app.replicate::<Pose>(),
        (true, true) => app.replicate_as::<Pose, PackedPose>(),
    };
}

/// Puts an entity into the world, with the marker that makes it replicated.
pub fn spawn(world: &mut World, ground: &Ground, entity: u32, replicated: impl Bundle) -> Entity {
    let [x, y] = ground.place(entity);
    if ground.spec.rotation {
        world.spawn((Pose { x, y, rotation: ground.rotation(entity) }, replicated)).id()
    } else {
        world.spawn((Place { x, y }, replicated)).id()
    }
}

/// Writes where an entity is.
pub fn write(world: &mut World, ground: &Ground, entity: u32, at: Entity) {
    let [x, y] = ground.place(entity);
    if ground.spec.rotation {
        *world.get_mut::<Pose>(at).expect("it has one") = Pose { x, y, rotation: ground.rotation(entity) };
    } else {
        *world.get_mut::<Place>(at).expect("it has one") = Place { x, y };
    }
}

/// What a client's world holds.
pub fn held(world: &mut World) -> Vec<[f32; 3]> {
    let mut places = world.query_filtered::<&Place, With<Remote>>();
    let mut all: Vec<[f32; 3]> = places.iter(world).map(|place| [place.x, place.y, 0.0]).collect();
    let mut poses = world.query_filtered::<&Pose, With<Remote>>();
    all.extend(poses.iter(world).map(|pose| [pose.x, pose.y, pose.rotation]));
    all
}

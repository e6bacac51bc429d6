//! Places in blocks, and who sees whom.

use valence::prelude::*;
use world::{Sees, World as Ground};

/// Moves are sent in parts of a block.
const PARTS: f64 = 4096.0;

/// The shortest distance at which valence shows chunks.
const NEAREST: u8 = 2;

/// The farthest.
const FARTHEST: u8 = 32;

/// How a world's units become blocks.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    blocks: f64,
    /// How far players see, in chunks.
    pub distance: u8,
}

impl Scale {
    /// The scale nearest to 1 at which as many entities are visible as should be.
    pub fn of(ground: &Ground) -> Scale {
        let Sees::Count(count) = ground.spec.sees else {
            return Scale { blocks: 1.0, distance: FARTHEST };
        };
        let fits = (NEAREST..=FARTHEST).map(|distance| Scale::for_distance(ground, distance, count));
        let off = |scale: &Scale| scale.blocks.ln().abs();
        fits.min_by(|a, b| off(a).total_cmp(&off(b))).expect("there are distances")
    }

    fn for_distance(ground: &Ground, distance: u8, count: f64) -> Scale {
        let (mut low, mut high) = (0.05, 20.0);
        for _ in 0..16 {
            let middle = Scale { blocks: f64::sqrt(low * high), distance };
            // More blocks a unit: less is near.
            if middle.visible(ground) > count { low = middle.blocks } else { high = middle.blocks }
        }
        Scale { blocks: high, distance }
    }

    /// How many entities a connection sees, on average over some.
    pub fn visible(&self, ground: &Ground) -> f64 {
        let some: Vec<usize> = (0..ground.connections()).step_by(1 + ground.connections() / 50).collect();
        let seen = |connection: &usize| {
            (0..ground.len() as u32).filter(|entity| self.sees(ground, *connection, *entity)).count()
        };
        some.iter().map(seen).sum::<usize>() as f64 / some.len() as f64
    }

    /// Where an entity is, in blocks: in whole parts, so that differences lose nothing.
    pub fn place(&self, ground: &Ground, entity: u32) -> DVec3 {
        let [x, z] = ground.place(entity).map(|v| (f64::from(v) * self.blocks * PARTS).round() / PARTS);
        DVec3::new(x, 64.0, z)
    }

    /// From blocks to units; there is no rotation.
    pub fn back(&self, place: DVec3) -> [f32; 3] {
        [(place.x / self.blocks) as f32, (place.z / self.blocks) as f32, 0.0]
    }

    /// Whether a player is shown an entity. Nobody is shown himself.
    pub fn sees(&self, ground: &Ground, connection: usize, entity: u32) -> bool {
        let chunk = |entity| BlockPos::from_pos(self.place(ground, entity)).to_chunk_pos();
        let own = connection as u32;
        entity != own && ChunkView::new(chunk(own), self.distance).contains(chunk(entity))
    }
}

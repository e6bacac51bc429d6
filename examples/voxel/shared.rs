//! What the voxel server, its bots and its terminal client have in common: kinds, schema and events.

use room::prelude::*;
use room_client::Client;
use serde::{Deserialize, Serialize};

use crate::blocks::{self, Blocks};

/// The room's name.
pub const ROOM: &str = "forest";
/// Blocks a second that an avatar walks at the most.
pub const SPEED: f32 = 10.0;
/// How far from an avatar's eyes a block can be dug or placed.
pub const REACH: f32 = 6.0;
/// Height of the eyes above the feet.
pub const EYES: f32 = 1.5;

/// The room's state: what the world is made of.
#[derive(Entity, Clone, Debug, Default)]
pub struct World {
    /// Names by block; empty where a number is not used.
    pub palette: Json<Vec<String>>,
    /// The first block inside the world.
    pub low: [i32; 3],
    /// The first block past it.
    pub high: [i32; 3],
}

/// A player in the world. The position is that of the feet. Where she is and looks is stored once a second, which is
/// what a killed server may set her back by; what she did is stored with each change.
#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
pub struct Avatar {
    /// Whose it is.
    pub owner: PlayerId,
    /// The player's display name.
    pub name: String,
    /// East.
    #[field(coarse, quantize(step = 0.02, min = -131072.0, max = 131072.0))]
    pub x: f32,
    /// Up.
    #[field(coarse, quantize(step = 0.02, min = -131072.0, max = 131072.0))]
    pub y: f32,
    /// South.
    #[field(coarse, quantize(step = 0.02, min = -131072.0, max = 131072.0))]
    pub z: f32,
    /// Where it looks: radians from east towards south.
    #[field(coarse, quantize(step = 0.01, min = -3.15, max = 3.15))]
    pub yaw: f32,
    /// Blocks it dug.
    pub dug: u32,
    /// Blocks it placed.
    pub placed: u32,
}

impl Avatar {
    /// Where the feet are.
    pub fn feet(&self) -> [f32; 3] {
        [self.x, self.y, self.z]
    }
}

/// 16 × 16 × 16 blocks, a byte each, x fastest, then z, then y.
#[derive(Entity, Clone, Debug)]
pub struct Chunk {
    /// East, in chunks.
    pub cx: i16,
    /// Up, in chunks.
    pub cy: i16,
    /// South, in chunks.
    pub cz: i16,
    /// The blocks: numbers of the palette.
    pub blocks: Bytes,
}

/// Every kind, in the order that both ends agree on.
pub fn schema() -> Schema {
    Schema::new().state::<World>().entity::<Avatar>().entity::<Chunk>()
}

/// What a client asks of the room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// Walk to here and look there; the room finds the height.
    Walk { x: f32, z: f32, yaw: f32 },
    /// Take a block away.
    Dig { at: [i32; 3] },
    /// Put a block where there is none.
    Place { at: [i32; 3], block: u8 },
}

/// What the room tells a client besides the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    /// An action had no effect, and why.
    Refused { why: String },
    /// Somebody dug a block that this client could see.
    Dug { who: String, block: u8 },
    /// Somebody placed a block that this client can see.
    Placed { who: String, block: u8 },
}

/// The typed ID of the chunk that a block is in.
pub fn chunk_of(block: [i32; 3]) -> Option<Id<Chunk>> {
    blocks::chunk_id(blocks::chunk_of(block)).map(Id::assume)
}

impl Blocks for Client {
    fn block(&self, at: [i32; 3]) -> Option<u8> {
        self.get(chunk_of(at)?)?.blocks.get(blocks::offset(at)).copied()
    }
}

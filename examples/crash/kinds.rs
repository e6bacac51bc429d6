//! The kinds of the field: of every lifetime and size, and what of each only grows.

use room::prelude::*;
use serde::{Deserialize, Serialize};

/// What goes on in the field.
#[derive(FieldEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Everything changes.
    #[default]
    Busy,
    /// Only what is ephemeral or coarse changes.
    Calm,
    /// Nothing changes.
    Rest,
}

/// The room's state.
#[derive(Entity, Clone, Debug, Default)]
pub struct Tally {
    pub mode: Mode,
    /// Words that were heard.
    pub deeds: u64,
    /// Entities that were deleted.
    pub deaths: u64,
    /// Bells that were rung: events to everyone.
    pub bells: u64,
}

/// Private state.
#[derive(Entity, Clone, Debug, Default)]
pub struct Purse {
    pub coins: u64,
    /// Words of this player that were heard.
    pub heard: u64,
}

/// A player's figure.
#[derive(Entity, Clone, Debug, Default)]
#[entity(owner = owner)]
pub struct Walker {
    pub owner: PlayerId,
    #[field(coarse)]
    pub x: f32,
    #[field(coarse)]
    pub y: f32,
    #[field(coarse)]
    pub paces: u64,
    pub steps: u64,
    pub name: String,
}

/// Small, under an automatic ID, made and deleted.
#[derive(Entity, Clone, Debug, Default)]
pub struct Stone {
    pub x: f32,
    pub y: f32,
    pub hits: u64,
    pub label: String,
}

/// Large, under an explicit ID.
#[derive(Entity, Clone, Debug, Default)]
pub struct Chunk {
    pub x: f32,
    pub y: f32,
    pub version: u64,
    pub data: Bytes,
}

/// What is written on a sign.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Page {
    pub lines: Vec<String>,
    pub edits: u64,
}

/// A document, which a team sees wherever it is.
#[derive(Entity, Clone, Debug, Default)]
pub struct Sign {
    pub team: u8,
    pub page: Json<Page>,
}

/// Deleted, and made again under the same ID.
#[derive(Entity, Clone, Debug, Default)]
pub struct Plot {
    pub x: f32,
    pub y: f32,
    /// How often it was made.
    pub life: u32,
    pub grown: u32,
}

/// Of which only a coarse field changes.
#[derive(Entity, Clone, Debug, Default)]
pub struct Mill {
    pub x: f32,
    pub y: f32,
    #[field(coarse)]
    pub turns: u64,
}

/// Never stored.
#[derive(Entity, Clone, Debug, Default)]
#[entity(ephemeral)]
pub struct Spark {
    pub x: f32,
    pub y: f32,
    /// From the room's random numbers.
    pub mark: u64,
    pub heat: u32,
}

/// What the room heard of one life of a player.
#[derive(Entity, Clone, Debug, Default)]
#[entity(hidden)]
pub struct Ledger {
    pub life: u64,
    pub player: PlayerId,
    pub words: u64,
    /// The number of the last word, and a hash over all of them in their order.
    pub last: u64,
    pub hash: u64,
    /// Words heard again, and words that came too early.
    pub twice: u64,
    pub early: u64,
    pub calls: u64,
    /// Effects that were asked for.
    pub pays: u64,
    /// Answers that were given.
    pub said: u64,
}

/// Says that an entity with an automatic ID was deleted.
#[derive(Entity, Clone, Debug, Default)]
#[entity(hidden)]
pub struct Grave {
    pub of: u64,
}

/// Remembers a plot while there is none.
#[derive(Entity, Clone, Debug, Default)]
#[entity(hidden)]
pub struct Bed {
    pub plot: u64,
    pub lives: u32,
}

/// A hash under way.
#[derive(Clone, Copy, Debug)]
pub struct Sum(u64);

impl Sum {
    pub fn new(seed: u64) -> Sum {
        Sum(seed)
    }

    #[must_use]
    pub fn word(self, word: u64) -> Sum {
        let mixed = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Sum(mixed ^ (mixed >> 32))
    }

    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Sum {
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        words.fold(self.word(bytes.len() as u64), Sum::word)
    }

    #[must_use]
    pub fn place(self, x: f32, y: f32) -> Sum {
        self.word(u64::from(x.to_bits())).word(u64::from(y.to_bits()))
    }

    pub fn end(self) -> u64 {
        self.0
    }
}

/// A kind that clients see.
pub trait Thing: Visible {
    /// Tells kinds apart.
    const TAG: u8;
    /// A hash of every field.
    fn sum(&self) -> u64;
    /// What is durable and only grows, for as long as it is the same entity or a later one under its ID.
    fn grown(&self) -> [u64; 2] {
        [0; 2]
    }
    /// What is coarse and only grows.
    fn coarse(&self) -> u64 {
        0
    }
    /// Where it stands in the grid, if it does.
    fn place(&self) -> Option<[f32; 2]> {
        None
    }
}

impl Thing for Tally {
    const TAG: u8 = 1;
    fn sum(&self) -> u64 {
        Sum::new(1).word(self.mode as u64).word(self.deeds).word(self.deaths).word(self.bells).end()
    }
    fn grown(&self) -> [u64; 2] {
        [self.deeds, self.deaths]
    }
}

impl Thing for Purse {
    const TAG: u8 = 2;
    fn sum(&self) -> u64 {
        Sum::new(2).word(self.coins).word(self.heard).end()
    }
    fn grown(&self) -> [u64; 2] {
        [self.coins, self.heard]
    }
}

impl Thing for Walker {
    const TAG: u8 = 3;
    fn sum(&self) -> u64 {
        let sum = Sum::new(3).word(u64::from(self.owner.0)).place(self.x, self.y);
        sum.word(self.paces).word(self.steps).bytes(self.name.as_bytes()).end()
    }
    fn grown(&self) -> [u64; 2] {
        [self.steps, 0]
    }
    fn coarse(&self) -> u64 {
        self.paces
    }
    fn place(&self) -> Option<[f32; 2]> {
        Some([self.x, self.y])
    }
}

impl Thing for Stone {
    const TAG: u8 = 4;
    fn sum(&self) -> u64 {
        Sum::new(4).place(self.x, self.y).word(self.hits).bytes(self.label.as_bytes()).end()
    }
    fn grown(&self) -> [u64; 2] {
        [self.hits, 0]
    }
    fn place(&self) -> Option<[f32; 2]> {
        Some([self.x, self.y])
    }
}

impl Thing for Chunk {
    const TAG: u8 = 5;
    fn sum(&self) -> u64 {
        Sum::new(5).place(self.x, self.y).word(self.version).bytes(&self.data).end()
    }
    fn grown(&self) -> [u64; 2] {
        [self.version, 0]
    }
    fn place(&self) -> Option<[f32; 2]> {
        Some([self.x, self.y])
    }
}

impl Thing for Sign {
    const TAG: u8 = 6;
    fn sum(&self) -> u64 {
        Sum::new(6).word(u64::from(self.team)).bytes(self.page.text().as_bytes()).end()
    }
    fn grown(&self) -> [u64; 2] {
        [self.page.edits, 0]
    }
}

impl Thing for Plot {
    const TAG: u8 = 7;
    fn sum(&self) -> u64 {
        Sum::new(7).place(self.x, self.y).word(u64::from(self.life)).word(u64::from(self.grown)).end()
    }
    fn grown(&self) -> [u64; 2] {
        [u64::from(self.life) << 32 | u64::from(self.grown), 0]
    }
    fn place(&self) -> Option<[f32; 2]> {
        Some([self.x, self.y])
    }
}

impl Thing for Mill {
    const TAG: u8 = 8;
    fn sum(&self) -> u64 {
        Sum::new(8).place(self.x, self.y).word(self.turns).end()
    }
    fn coarse(&self) -> u64 {
        self.turns
    }
    fn place(&self) -> Option<[f32; 2]> {
        Some([self.x, self.y])
    }
}

impl Thing for Spark {
    const TAG: u8 = 9;
    fn sum(&self) -> u64 {
        Sum::new(9).place(self.x, self.y).word(self.mark).word(u64::from(self.heat)).end()
    }
    fn place(&self) -> Option<[f32; 2]> {
        Some([self.x, self.y])
    }
}

/// Something to be done with each kind of thing.
pub trait Visitor {
    fn visit<K: Thing>(&mut self);
}

/// Visits all kinds but those of room state and private state.
pub fn each_kind(visitor: &mut impl Visitor) {
    visitor.visit::<Walker>();
    visitor.visit::<Stone>();
    visitor.visit::<Chunk>();
    visitor.visit::<Sign>();
    visitor.visit::<Plot>();
    visitor.visit::<Mill>();
    visitor.visit::<Spark>();
}

pub fn schema() -> Schema {
    let schema = Schema::new().state::<Tally>().private::<Purse>();
    let schema = schema.entity::<Walker>().entity::<Stone>().entity::<Chunk>().entity::<Sign>();
    let schema = schema.entity::<Plot>().entity::<Mill>().entity::<Spark>();
    schema.entity::<Ledger>().entity::<Grave>().entity::<Bed>()
}

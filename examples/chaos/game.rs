//! The game under test: a forest that everyone sees, in which a few trees grow, and a book of all that players said.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use room::prelude::*;
use serde::{Deserialize, Serialize};

/// Trees that everyone sees.
pub const TREES: u32 = 2000;
/// Of these grow: 5 %.
pub const GROWING: u32 = TREES / 20;
/// Trees that grow in one tick: in half a second all of them have.
const A_TICK: u32 = GROWING / 10;

#[derive(Entity, Clone, Debug, PartialEq)]
pub struct Tree {
    pub name: String,
    pub height: u32,
    pub x: f32,
    pub y: f32,
}

/// What a life of a player says: its nth word.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Word {
    pub life: u64,
    pub n: u64,
}

/// What the room heard of one life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    /// The last word, and the last call.
    pub word: u64,
    pub call: u64,
    /// How many of each.
    pub words: u64,
    pub calls: u64,
    /// Heard again, and heard before an earlier one.
    pub twice: u64,
    pub out_of_order: u64,
    pub calls_twice: u64,
}

/// One forest.
pub struct Forest {
    /// While true nothing grows.
    pub calm: Arc<AtomicBool>,
    pub heard: BTreeMap<u64, Heard>,
    trees: Vec<Id<Tree>>,
}

impl Forest {
    pub fn new(calm: Arc<AtomicBool>) -> Forest {
        Forest { calm, heard: BTreeMap::new(), trees: Vec::new() }
    }
}

impl Game for Forest {
    type Event = Word;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Tree>()
    }

    fn calls() -> Calls<Self> {
        Calls::new().on("count", |forest: &mut Forest, _, _, word: Word| {
            let heard = forest.heard.entry(word.life).or_default();
            heard.calls_twice += u64::from(word.n <= heard.call);
            heard.call = heard.call.max(word.n);
            heard.calls += 1;
            Ok(word.n)
        })
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        use rand_chacha::rand_core::RngCore;
        for n in 0..TREES {
            let name = format!("{:016x}", room.rng().next_u64());
            let (x, y) = (room.rng().next_u32() as f32, room.rng().next_u32() as f32);
            self.trees.push(room.create(Tree { name, height: n, x, y }).expect("the names are short"));
        }
    }

    /// Each word is answered with its number.
    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, word: Word) {
        let heard = self.heard.entry(word.life).or_default();
        heard.twice += u64::from(word.n == heard.word);
        heard.out_of_order += u64::from(word.n < heard.word);
        heard.word = heard.word.max(word.n);
        heard.words += 1;
        let answer = Word { life: word.life, n: heard.words };
        room.send(peer.conn, &answer).expect("it is short and its session lives");
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        if self.calm.load(Ordering::Relaxed) {
            return;
        }
        let tick = room.tick().0;
        for n in 0..A_TICK {
            let tree = (tick as u32 * A_TICK + n) % GROWING;
            let every = (TREES / GROWING) as usize;
            if let Some(mut tree) = room.get_mut(self.trees[tree as usize * every]) {
                tree.set_height(tick as u32);
            }
        }
    }
}

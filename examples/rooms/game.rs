//! The game of each room: a square with coins, and walkers who pick them up.

use std::collections::BTreeMap;
use std::f32::consts::TAU;

use rand_chacha::rand_core::RngCore;
use room::prelude::*;
use serde::{Deserialize, Serialize};

/// The side of the square.
const SIDE: f32 = 64.0;
/// Coins that lie about in a room.
const COINS: usize = 12;
/// How far a walker comes in a second.
const SPEED: f32 = 8.0;
/// From how far she picks a coin up.
const REACH: f32 = 1.5;

/// A player. Where she is is stored once a second; what she has, with each change.
#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
pub struct Walker {
    pub owner: PlayerId,
    #[field(coarse, quantize(step = 0.01, min = 0.0, max = 64.0))]
    pub x: f32,
    #[field(coarse, quantize(step = 0.01, min = 0.0, max = 64.0))]
    pub y: f32,
    pub heading: f32,
    pub coins: u32,
}

/// A coin, until somebody comes by.
#[derive(Entity, Clone, Debug, PartialEq)]
pub struct Coin {
    #[field(quantize(step = 0.01, min = 0.0, max = 64.0))]
    pub x: f32,
    #[field(quantize(step = 0.01, min = 0.0, max = 64.0))]
    pub y: f32,
}

/// What all see.
#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub struct Square {
    /// Coins that were picked up since the room was made.
    pub picked: u32,
}

/// What a player asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Walk this way from now on: radians.
    Turn(f32),
}

/// The game.
#[derive(Default)]
pub struct Walk {
    walkers: BTreeMap<PlayerId, Id<Walker>>,
}

impl Game for Walk {
    type Event = Ask;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().state::<Square>().entity::<Walker>().entity::<Coin>()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for _ in 0..COINS {
            let [x, y] = anywhere(room);
            room.create(Coin { x, y }).expect("IDs do not run out");
        }
    }

    fn on_wake(&mut self, room: &mut Room<Self>) {
        self.walkers = room.all::<Walker>().map(|(id, walker)| (walker.owner, id)).collect();
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let [x, y] = anywhere(room);
        let walker = Walker { owner: peer.player, x, y, heading: 0.0, coins: 0 };
        let id = room.create(walker).map_err(|error| Refused::new(error.to_string()))?;
        self.walkers.insert(peer.player, id);
        Ok(())
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, Ask::Turn(heading): Ask) {
        let walker = self.walkers.get(&peer.player).and_then(|id| room.get_mut(*id));
        if let Some(mut walker) = walker.filter(|_| heading.is_finite()) {
            walker.set_heading(heading.rem_euclid(TAU));
        }
    }

    /// All walk, and turn about at the edge.
    fn on_tick(&mut self, room: &mut Room<Self>) {
        let step = SPEED * room.seconds() as f32;
        for id in self.walkers.values() {
            let Some(mut walker) = room.get_mut(*id) else { continue };
            let (sin, cos) = walker.heading.sin_cos();
            let [x, y] = [walker.x + step * cos, walker.y + step * sin];
            walker.set_x(x.clamp(0.0, SIDE));
            walker.set_y(y.clamp(0.0, SIDE));
            if [x, y] != [x.clamp(0.0, SIDE), y.clamp(0.0, SIDE)] {
                let heading = (walker.heading + TAU / 2.0).rem_euclid(TAU);
                walker.set_heading(heading);
            }
            let at = [walker.x, walker.y];
            pick_up(room, *id, at);
        }
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _why: LeaveReason) {
        if let Some(walker) = self.walkers.remove(&player) {
            room.delete(walker);
        }
    }
}

/// Who comes by a coin has it, and another one lies elsewhere.
fn pick_up(room: &mut Room<Walk>, id: Id<Walker>, [x, y]: [f32; 2]) {
    let near = |coin: &Coin| (coin.x - x).hypot(coin.y - y) < REACH;
    let Some(found) = room.all::<Coin>().find(|(_, coin)| near(coin)).map(|(id, _)| id) else { return };
    let place = anywhere(room);
    if let Some(mut coin) = room.get_mut(found) {
        coin.set_x(place[0]);
        coin.set_y(place[1]);
    }
    if let Some(mut walker) = room.get_mut(id) {
        let coins = walker.coins + 1;
        walker.set_coins(coins);
    }
    let mut square = room.state_mut::<Square>();
    let picked = square.picked + 1;
    square.set_picked(picked);
}

fn anywhere(room: &mut Room<Walk>) -> [f32; 2] {
    let random = room.rng().next_u64();
    [random as u32, (random >> 32) as u32].map(|part| part as f32 / u32::MAX as f32 * SIDE)
}

//! The game: its kinds, what a player does, and its rules. Room and page share it.

use room::prelude::*;
use room::step::math;
use serde::{Deserialize, Serialize};

/// The field's width and height.
pub const FIELD: (f32, f32) = (40.0, 20.0);
/// The most flowers; the oldest goes for a new one.
pub const FLOWERS: usize = 200;
/// How far a square walks in a second, on even ground.
const SPEED: f32 = 6.0;

/// A player's square.
#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
pub struct Square {
    /// Whose it is.
    pub owner: PlayerId,
    /// Where it stands, from the left.
    #[field(quantize(step = 0.001, min = 0.0, max = 40.0))]
    pub x: f32,
    /// Where it stands, from the top.
    #[field(quantize(step = 0.001, min = 0.0, max = 20.0))]
    pub y: f32,
    /// Its color, in degrees.
    pub hue: u16,
    /// How often it jumped.
    pub jumps: u32,
    /// How many flowers it planted.
    pub planted: u32,
}

/// Somebody planted it.
#[derive(Entity, Clone, Debug, PartialEq)]
pub struct Flower {
    /// Where it stands, from the left.
    pub x: f32,
    /// Where it stands, from the top.
    pub y: f32,
    /// The color of who planted it.
    pub hue: u16,
}

/// What a player does in a tick.
#[derive(Input, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steer {
    /// -1 to 1.
    pub right: f32,
    /// -1 to 1.
    pub down: f32,
    /// Once.
    #[input(once)]
    pub jump: bool,
}

/// What a player sends: each of them exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deed {
    /// Plants a flower where the square stands.
    Plant,
}

/// What the room tells everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// A player has planted a flower, her nth.
    Planted(PlayerId, u32),
}

/// How a square walks.
pub struct Walk;

impl Stepper for Walk {
    type Input = Steer;

    fn step(world: &mut impl StepWorld, input: &Steer, seconds: f32) {
        let Some(mut square) = world.own::<Square>().and_then(|id| world.get_mut(id)) else { return };
        let (right, down) = (input.right.clamp(-1.0, 1.0), input.down.clamp(-1.0, 1.0));
        let far = math::hypot(right, down).max(1.0);
        let pace = SPEED * seconds * ease(square.x, square.y) / far;
        let (x, y) = (square.x + right * pace, square.y + down * pace);
        square.set_x(x.clamp(0.0, FIELD.0));
        square.set_y(y.clamp(0.0, FIELD.1));
        if input.jump {
            let jumps = square.jumps + 1;
            square.set_jumps(jumps);
        }
    }
}

/// How easy the ground is to walk on there, 0.6 to 1.
#[must_use]
pub fn ease(x: f32, y: f32) -> f32 {
    0.8 + 0.2 * math::sin(x * 0.7) * math::cos(y * 0.9)
}

/// The rules.
#[derive(Debug, Default)]
pub struct Field;

impl Field {
    /// What client and room agree on.
    #[must_use]
    pub fn kinds() -> Schema {
        Schema::new().entity::<Square>().entity::<Flower>()
    }

    fn square(room: &Room<Self>, player: PlayerId) -> Option<Id<Square>> {
        room.all::<Square>().find(|(_, square)| square.owner == player).map(|(id, _)| id)
    }
}

impl Game for Field {
    type Event = Deed;
    type Scratch = ();

    fn schema() -> Schema {
        Field::kinds()
    }

    fn steps() -> Steps<Self> {
        Steps::by::<Walk>()
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let n = peer.player.0;
        let (x, y) = (8.0 + (n % 6) as f32 * 4.0, 10.0);
        let hue = (n.wrapping_mul(137) % 360) as u16;
        let square = Square { owner: peer.player, x, y, hue, jumps: 0, planted: 0 };
        room.create(square).map(|_| ()).map_err(|error| Refused::new(error.to_string()))
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, deed: Deed) {
        let Deed::Plant = deed;
        let Some(id) = Field::square(room, peer.player) else { return };
        let Some(Square { x, y, hue, planted, .. }) = room.get(id).cloned() else { return };
        let oldest = room.all::<Flower>().next().map(|(id, _)| id);
        if let Some(oldest) = oldest.filter(|_| room.all::<Flower>().count() >= FLOWERS) {
            room.delete(oldest);
        }
        if room.create(Flower { x, y, hue }).is_ok()
            && let Some(mut square) = room.get_mut(id)
        {
            square.set_planted(planted + 1);
            // It is short.
            let _ = room.broadcast(&News::Planted(peer.player, planted + 1));
        }
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        if let Some(id) = Field::square(room, player) {
            room.delete(id);
        }
    }
}

//! Steps: how a player's input moves the world, written once for the room and for the clients that predict it.
//!
//! A [`Stepper`] stands in the crate that room and clients share. The room steps every player once a tick; a client
//! steps its own player at once, ahead of the room, and does it again where the room came to another end.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entity::{Id, PlayerId, Visible};
use crate::tick::Tick;

/// What a player does in one tick. Implemented by `#[derive(Input)]`, never by hand.
///
/// It travels as MessagePack of at most [`limits::INPUT`](crate::limits::INPUT) bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no input",
    note = "put `#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]` on the struct"
)]
pub trait Input: Clone + fmt::Debug + Default + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What stands in for the next input where that has not come: the same, without what is done once.
    #[must_use]
    fn repeat(&self) -> Self;
    /// What stands in once that has lasted too long: the default, but for what is kept.
    #[must_use]
    fn rest(&self) -> Self;
    /// Whether something is in it that is done once.
    #[must_use]
    fn acts(&self) -> bool;
    /// The same; where a field that is done once is not set, it is as in `other`.
    #[must_use]
    fn with_actions_of(&self, other: &Self) -> Self;
}

/// A player's step.
///
/// On a room and on a client it must come to the same end, bit by bit: it works on the world and its input alone, and
/// with numbers as [`math`] has them. The world that it gets has what clients may see, and nothing else.
///
/// ```
/// use room::prelude::*;
/// use room::step::{Input, StepWorld, Stepper};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Entity, Clone, Debug)]
/// #[entity(owner = owner)]
/// pub struct Avatar {
///     pub owner: PlayerId,
///     pub x: f32,
/// }
///
/// #[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
/// pub struct Steer {
///     pub right: f32,
///     #[input(once)]
///     pub dash: bool,
/// }
///
/// pub struct Walk;
///
/// impl Stepper for Walk {
///     type Input = Steer;
///
///     fn step(world: &mut impl StepWorld, input: &Steer, seconds: f32) {
///         let Some(mut avatar) = world.own::<Avatar>().and_then(|id| world.get_mut(id)) else { return };
///         let speed = if input.dash { 40.0 } else { 4.0 };
///         let x = avatar.x + input.right.clamp(-1.0, 1.0) * speed * seconds;
///         avatar.set_x(x);
///     }
/// }
/// ```
pub trait Stepper: 'static {
    /// What a player does in a tick.
    type Input: Input;

    /// Moves the world by one tick of [`StepWorld::player`], which lasts so many seconds. A client that draws between two
    /// ticks asks for a part of one, in a world that it throws away.
    fn step(world: &mut impl StepWorld, input: &Self::Input, seconds: f32);
}

/// The world, as a step meets it: the room's, or what a client sees of it.
///
/// A client has not all that the room has: a step that reads what her player does not see comes to another end there, and
/// is corrected.
pub trait StepWorld {
    /// Whose step it is.
    fn player(&self) -> PlayerId;
    /// The tick that is stepped.
    fn tick(&self) -> Tick;
    /// An entity.
    fn get<K: Visible>(&self, id: Id<K>) -> Option<&K>;
    /// An entity, to write.
    fn get_mut<K: Visible>(&mut self, id: Id<K>) -> Option<K::Writer<'_>>;
    /// All entities of a kind, in ID order.
    fn all<K: Visible>(&self) -> impl Iterator<Item = (Id<K>, &K)> + '_;
    /// The first entity of a kind, in ID order, whose owner is the player.
    fn own<K: Visible>(&self) -> Option<Id<K>>;
    /// The room's state, once a client has it.
    fn state<K: Visible>(&self) -> Option<&K>;
    /// The player's own private state.
    fn private<K: Visible>(&self) -> Option<&K>;
    /// The player's own private state, to write.
    fn private_mut<K: Visible>(&mut self) -> Option<K::Writer<'_>>;
}

/// Seconds of a step, as the room and its clients both have them.
#[doc(hidden)]
#[must_use]
pub fn step_seconds(tick_rate: u32) -> f32 {
    1.0 / tick_rate.max(1) as f32
}

/// Numbers that are the same on every machine and in every browser: what the standard library takes from the system
/// (`sin`, `powf`, `exp`) differs between them, and these do not. `+`, `-`, `*`, `/` and `sqrt` never do.
pub mod math {
    pub use libm::{
        acosf as acos, asinf as asin, atan2f as atan2, atanf as atan, cosf as cos, expf as exp,
        fmodf as fmod, hypotf as hypot, logf as ln, powf, sinf as sin, sqrtf as sqrt, tanf as tan,
    };
}

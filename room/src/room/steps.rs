//! The room's side of steps: each player's inputs, and the world in which she is stepped.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;

use super::{Game, Room};
use crate::entity::{EntityId, Id, PlayerId, Visible};
use crate::presence::Presence;
use crate::session::inputs::Inputs;
use crate::step::{StepWorld, Stepper, step_seconds};
use crate::sync::world::{FirstOwned, World};
use crate::tick::Tick;
use crate::wire::message::Report;
use crate::wire::{DecodeError, payload};

/// How a game steps its players.
///
/// ```
/// # use room::prelude::*;
/// # #[derive(Input, Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
/// # struct Steer { right: f32 }
/// # struct Walk;
/// # impl Stepper for Walk {
/// #     type Input = Steer;
/// #     fn step(world: &mut impl StepWorld, input: &Steer, seconds: f32) {}
/// # }
/// # struct Forest;
/// # impl Game for Forest {
/// # type Event = (); type Scratch = (); fn schema() -> Schema { Schema::new() }
/// fn steps() -> Steps<Self> {
///     Steps::by::<Walk>()
/// }
/// # }
/// ```
pub struct Steps<G: Game> {
    by: Option<Box<dyn Stepping<G>>>,
}

impl<G: Game> Default for Steps<G> {
    fn default() -> Self {
        Steps { by: None }
    }
}

impl<G: Game> fmt::Debug for Steps<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps").field("any", &self.by.is_some()).finish()
    }
}

impl<G: Game> Steps<G> {
    /// Nobody is stepped.
    #[must_use]
    pub fn none() -> Self {
        Steps::default()
    }

    /// Every player is stepped by `S` once a tick, before [`Game::on_tick`], in the order of players.
    #[must_use]
    pub fn by<S: Stepper>() -> Self {
        Steps { by: Some(Box::new(Of::<S> { players: BTreeMap::new() })) }
    }

    pub(super) fn is_none(&self) -> bool {
        self.by.is_none()
    }

    /// Inputs of a player came, the first of them of this tick; `now` is the last tick stepped.
    pub(super) fn hear(
        &mut self,
        player: PlayerId,
        first: Tick,
        inputs: &[&[u8]],
        now: Tick,
    ) -> Result<(), DecodeError> {
        self.by.as_mut().map_or(Ok(()), |by| by.hear(player, first, inputs, now))
    }

    /// Steps a player.
    pub(super) fn step(&mut self, room: &mut Room<G>, player: PlayerId, first: &FirstOwned) {
        if let Some(by) = &mut self.by {
            by.step(room, player, first);
        }
    }

    /// A player is away.
    pub(super) fn rest(&mut self, player: PlayerId, now: Tick) {
        if let Some(by) = &mut self.by {
            by.rest(player, now);
        }
    }

    /// A player is gone.
    pub(super) fn forget(&mut self, player: PlayerId) {
        if let Some(by) = &mut self.by {
            by.forget(player);
        }
    }

    /// Whether a player's client sends inputs.
    pub(super) fn is_used(&self, player: PlayerId, now: Tick) -> bool {
        self.by.as_ref().is_some_and(|by| by.is_used(player, now))
    }

    /// What became of a player's inputs since the last call.
    pub(super) fn report(&mut self, player: PlayerId) -> Report {
        self.by.as_mut().map_or_else(Report::default, |by| by.report(player))
    }
}

/// [`Steps`] of a stepper, without its type.
trait Stepping<G: Game>: Send + Sync {
    fn hear(&mut self, player: PlayerId, first: Tick, inputs: &[&[u8]], now: Tick)
    -> Result<(), DecodeError>;
    fn step(&mut self, room: &mut Room<G>, player: PlayerId, first: &FirstOwned);
    fn rest(&mut self, player: PlayerId, now: Tick);
    fn forget(&mut self, player: PlayerId);
    fn is_used(&self, player: PlayerId, now: Tick) -> bool;
    fn report(&mut self, player: PlayerId) -> Report;
}

struct Of<S: Stepper> {
    players: BTreeMap<PlayerId, Inputs<S::Input>>,
}

impl<G: Game, S: Stepper> Stepping<G> for Of<S> {
    fn hear(
        &mut self,
        player: PlayerId,
        first: Tick,
        inputs: &[&[u8]],
        now: Tick,
    ) -> Result<(), DecodeError> {
        // Games clamp what they get, and NaN passes every clamp: one with that is as one that never came.
        let decode = |bytes: &&[u8]| {
            Ok(Some(payload::decode::<S::Input>(bytes)?).filter(|_| payload::is_finite(bytes)))
        };
        let inputs = inputs.iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        let filed = self.players.entry(player).or_default();
        for (tick, input) in (first.0..).zip(inputs) {
            // And so is one too far ahead.
            input.map(|input| filed.file(Tick(tick), input, now));
        }
        Ok(())
    }

    fn step(&mut self, room: &mut Room<G>, player: PlayerId, first: &FirstOwned) {
        let (tick, seconds) = (room.tick, step_seconds(room.tick_rate));
        let input = self.players.entry(player).or_default().next(tick);
        S::step(&mut RoomWorld { world: &mut room.world, player, tick, first }, &input, seconds);
    }

    fn rest(&mut self, player: PlayerId, now: Tick) {
        if let Some(inputs) = self.players.get_mut(&player) {
            inputs.rest(now);
        }
    }

    fn forget(&mut self, player: PlayerId) {
        self.players.remove(&player);
    }

    fn is_used(&self, player: PlayerId, now: Tick) -> bool {
        self.players.get(&player).is_some_and(|inputs| inputs.is_used(now))
    }

    fn report(&mut self, player: PlayerId) -> Report {
        self.players.get_mut(&player).map_or_else(Report::default, Inputs::take_report)
    }
}

/// The room's world, as a step meets it.
struct RoomWorld<'a> {
    world: &'a mut World,
    player: PlayerId,
    tick: Tick,
    first: &'a FirstOwned,
}

impl RoomWorld<'_> {
    /// Whether an entity is no other player's private state.
    fn may_see(&self, id: EntityId) -> bool {
        let private_to = self.world.slot(id).and_then(|slot| self.world.info(slot).private_to);
        private_to.is_none_or(|player| player == self.player)
    }
}

impl StepWorld for RoomWorld<'_> {
    fn player(&self) -> PlayerId {
        self.player
    }
    fn tick(&self) -> Tick {
        self.tick
    }
    fn get<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        self.world.get(id.entity()).filter(|_| self.may_see(id.entity()))
    }
    fn get_mut<K: Visible>(&mut self, id: Id<K>) -> Option<K::Writer<'_>> {
        if TypeId::of::<K>() == TypeId::of::<Presence>() || !self.may_see(id.entity()) {
            return None;
        }
        self.world.get_mut::<K>(id.entity())
    }
    fn all<K: Visible>(&self) -> impl Iterator<Item = (Id<K>, &K)> + '_ {
        self.world.all().filter(|(id, _)| self.may_see(id.entity()))
    }
    fn own<K: Visible>(&self) -> Option<Id<K>> {
        let id = self.world.owned_by::<K>(self.player, self.first).map(Id::assume)?;
        self.get(id).map(|_| id)
    }
    fn state<K: Visible>(&self) -> Option<&K> {
        self.world.at(self.world.state()?)
    }
    fn private<K: Visible>(&self) -> Option<&K> {
        self.world.at(self.world.private(self.player)?)
    }
    fn private_mut<K: Visible>(&mut self) -> Option<K::Writer<'_>> {
        let slot = self.world.private(self.player)?;
        self.world.at_mut::<K>(slot)
    }
}

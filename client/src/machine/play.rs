//! What the player does: inputs that are predicted, and writes to what she owns.

use std::time::Duration;

use room::entity::{EntityId, Id, Owned};
use room::store::ahead::Writer;
use room::wire::message::{ClientMessage, Report, WriteEntry};
use room::{PlayerId, Stepper, Tick, limits};
use serde::Serialize;

use super::{Machine, Phase};
use crate::event::{CallId, CallOptions, SendError};
use crate::predict::lead::Lead;
use crate::predict::{Effects, Predict, Predicted, Predictor, Who};

/// An entity that this client does not write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteRefused {
    /// There is no connection, over which the room could hear of it.
    #[error("nothing is written while the client is not joined")]
    NotJoined,
    /// This client has no such entity of that kind.
    #[error("this client sees no {kind} of the ID {id}")]
    Unseen {
        /// The kind.
        kind: &'static str,
        /// The ID.
        id: EntityId,
    },
    /// Another player owns it.
    #[error("the {kind} {id} is player {owner}'s; this client is player {player}")]
    NotOwner {
        /// The kind.
        kind: &'static str,
        /// The entity.
        id: EntityId,
        /// Whose it is.
        owner: PlayerId,
        /// Whose client this is.
        player: PlayerId,
    },
}

/// Inputs and writes of a client.
#[derive(Default)]
pub(super) struct Play {
    by: Option<Box<dyn Predict>>,
    lead: Lead,
    effects: Effects,
    /// The number of the last message of writes on this connection.
    writes: u64,
    /// When the last one was made.
    wrote: Option<Duration>,
    message: Option<Vec<u8>>,
}

impl Machine {
    /// The player does this from now on, as the game's [`Stepper`] has it: her steps are made at once, and by the room in
    /// the tick that they are meant for. Call it once a frame, before [`update`](Self::update). What is done once stays
    /// until a tick has had it, whatever the next frame says.
    ///
    /// The stepper of the first call is the client's for good.
    ///
    /// # Panics
    /// If an earlier call was with another stepper.
    pub fn input<S: Stepper>(&mut self, input: S::Input) {
        let by = self.play.by.get_or_insert_with(|| Box::new(Predictor::<S>::new()));
        let by = by.as_any_mut().downcast_mut::<Predictor<S>>();
        let by = by.unwrap_or_else(|| {
            panic!("a client has one stepper, and this is another: {}", std::any::type_name::<S>())
        });
        by.set(input);
    }

    /// An entity that this client's player owns, to write. What is written shows at once, goes out with the next send,
    /// and is corrected where the room refuses or changes it.
    ///
    /// # Errors
    /// Fails where the client is not joined, does not see the entity, or its player does not own it.
    pub fn write<K: Owned>(&mut self, id: Id<K>) -> Result<K::Owned<'_>, WriteRefused> {
        let (kind, player) = (K::KIND.name, self.player());
        let player = player.filter(|_| self.phase == Phase::Joined).ok_or(WriteRefused::NotJoined)?;
        let unseen = WriteRefused::Unseen { kind, id: id.entity() };
        let owner = self.replica.get(id).ok_or_else(|| unseen.clone())?.owner().unwrap_or_default();
        if owner != player {
            return Err(WriteRefused::NotOwner { kind, id: id.entity(), owner, player });
        }
        self.replica.open(id, Writer::Player).map(K::owned).ok_or(unseen)
    }

    /// As [`call`](Self::call), of which this client shows at once what it is expected to do: `effect` is done on top of
    /// what the room has, anew whenever that changes, until the result has come. What the call did is there by then, or
    /// it did something else, or nothing.
    ///
    /// # Errors
    /// As [`call`](Self::call); nothing is shown then.
    pub fn call_predicted<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
        options: CallOptions,
        effect: impl Fn(&mut Predicted<'_>) + Send + Sync + 'static,
    ) -> Result<CallId, SendError> {
        let call = self.call(name, value, options)?;
        self.play.effects.push(call.0, Box::new(effect));
        if let Some(who) = self.who() {
            self.play.effects.apply(&mut self.replica, who);
        }
        Ok(call)
    }

    /// A call's result has come, or none will.
    pub(super) fn call_ended(&mut self, call: CallId) {
        if self.play.effects.remove(call.0) {
            self.replica.uncall();
        }
    }

    /// A welcome was applied: what the room was told over another connection it may not have heard.
    pub(super) fn begin_play(&mut self) {
        if let Some(by) = &mut self.play.by {
            by.reset(&mut self.replica);
        }
        self.replica.write_again();
        let by = self.play.by.take();
        let effects = std::mem::take(&mut self.play.effects);
        self.play = Play { by, lead: self.play.lead, effects, ..Play::default() };
    }

    /// The room has stepped a tick, and handled writes up to a number.
    pub(super) fn room_stepped(&mut self, tick: Tick, writes: u64) {
        self.replica.settle_writes(writes);
        // Here and not once all has been applied: the next update is of another tick.
        if let (Some(who), Some(by)) = (self.who(), &mut self.play.by) {
            let done = by.settle(&mut self.replica, who, tick, &self.play.effects);
            self.stats.corrections += done.corrections;
            self.stats.replayed_inputs += done.replayed;
        }
    }

    /// Whose steps this client makes.
    fn who(&self) -> Option<Who> {
        let seat = self.seat.filter(|seat| self.phase == Phase::Joined && seat.tick_rate > 0)?;
        Some(Who { player: seat.player, tick_rate: seat.tick_rate })
    }

    /// What became of inputs since the last answer to a ping.
    pub(super) fn reported(&mut self, report: Report) {
        self.play.lead.reported(report);
        self.stats.late += u64::from(report.late);
        self.stats.starved += u64::from(report.starved);
    }

    /// After everything was applied: steps to where the client should be by now.
    pub(super) fn play(&mut self, now: Duration) {
        let Some(who) = self.who() else { return };
        if !self.play.effects.is_empty() {
            self.play.effects.apply(&mut self.replica, who);
        }
        if let Some(by) = &mut self.play.by {
            let time = self.clock.room_time(now).unwrap_or(0.0);
            let lead = self.play.lead.ticks(now, self.clock.round_trip(), who.tick_rate);
            let ahead = time + lead;
            // Past the last tick that there can be is no time of a room.
            if self.replica.tick() > Tick::ZERO && (0.0..limits::ID_MOST as f64).contains(&ahead) {
                by.advance(&mut self.replica, who, Tick(ahead as u64), ahead.fract() as f32);
            }
        }
        self.write_out(now);
    }

    /// Puts what the player wrote into a message, as often as the room sends.
    fn write_out(&mut self, now: Duration) {
        let seat = self.seat.map_or((1, 1), |seat| (seat.send_every, seat.tick_rate.max(1)));
        let gap = Duration::from_secs(1) * seat.0 / seat.1;
        if self.play.message.is_some() || self.play.wrote.is_some_and(|last| now.saturating_sub(last) < gap) {
            return;
        }
        let number = self.play.writes + 1;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        self.replica.send_writes(number, &mut |kind, id, fields| {
            let fits = entries.len() < limits::WRITES && bytes + fields.len() + 16 < limits::CLIENT_PAYLOAD;
            if fits {
                bytes += fields.len() + 16;
                entries.push((kind, id, fields.to_vec()));
            }
            fits
        });
        if entries.is_empty() {
            return;
        }
        (self.play.writes, self.play.wrote) = (number, Some(now));
        let entries =
            entries.iter().map(|(kind, id, fields)| WriteEntry { kind: *kind, id: *id, fields }).collect();
        let mut message = Vec::new();
        ClientMessage::Writes { number, entries }.encode(&mut message);
        self.play.message = Some(message);
    }

    /// The next message of what the player does.
    pub(super) fn next_play(&mut self) -> Option<Vec<u8>> {
        // Until the welcome is applied, what waits is for the connection before.
        self.seat.filter(|seat| seat.begun)?;
        let inputs = self.play.by.as_mut().and_then(|by| by.next_message());
        inputs.or_else(|| self.play.message.take())
    }

    /// How many ticks ahead of the room's clock the client plays; 0 where it sends no inputs.
    #[must_use]
    pub fn lead_ticks(&self) -> f64 {
        self.play.lead.last()
    }
}

//! Prediction: the player's own steps at once, and once more from what the room has where it came to another end.
//!
//! The client is ahead of the room by as many ticks as an input takes to it, and a little more ([`lead`]). What it predicts
//! lies over what the room said ([`room::store::ahead`]); when the room says that it has stepped a tick, both are compared
//! there.

pub(crate) mod lead;
mod world;

use std::any::Any;
use std::collections::VecDeque;

use room::step::{Input, Stepper, step_seconds};
use room::store::ahead::Writer;
use room::wire::message::ClientMessage;
use room::wire::payload;
use room::{PlayerId, Tick, limits};

use crate::replica::Replica;
pub use world::Predicted;

/// Ticks that are stepped at once where the game did not call for a while; past them it begins anew.
const CATCH_UP: u64 = limits::INPUT_AHEAD;

/// Ticks by which the room's time may go back before what was predicted counts no more.
const BACK: u64 = 5;

/// A player's steps, without the type of her input.
pub(crate) trait Predict: Send + Sync {
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// Steps every tick up to this one, and looks `part` of a tick further.
    ///
    /// What the player has said since the last call counts from the tick that is under way on, so that what is drawn goes on
    /// from where it was: a tick that ends now was drawn with what she said before.
    fn advance(&mut self, replica: &mut Replica, who: Who, to: Tick, part: f32);
    /// The room has stepped this tick. Returns whether it came to another end, and how many ticks were stepped again.
    fn settle(&mut self, replica: &mut Replica, who: Who, tick: Tick, effects: &Effects) -> Stepped;
    /// The next inputs that are to go, as a message.
    fn next_message(&mut self) -> Option<Vec<u8>>;
    /// Nothing is predicted any more, and nothing waits: the connection is another one.
    fn reset(&mut self, replica: &mut Replica);
}

/// Whose steps they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub(crate) player: PlayerId,
    pub(crate) tick_rate: u32,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stepped {
    pub(crate) corrections: u64,
    pub(crate) replayed: u64,
}

/// What a call is expected to do.
pub(crate) type Effect = Box<dyn Fn(&mut Predicted<'_>) + Send + Sync>;

/// What calls are expected to do whose results have not come, in the order in which they were made.
#[derive(Default)]
pub(crate) struct Effects(Vec<(u64, Effect)>);

impl Effects {
    /// Expects what a call does.
    pub(crate) fn push(&mut self, call: u64, effect: Effect) {
        self.0.push((call, effect));
    }

    /// A call's result has come; returns whether something was expected of it.
    pub(crate) fn remove(&mut self, call: u64) -> bool {
        let before = self.0.len();
        self.0.retain(|(of, _)| *of != call);
        self.0.len() < before
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does all of it, on what the room has and on top of one another.
    pub(crate) fn apply(&self, replica: &mut Replica, who: Who) {
        replica.uncall();
        let tick = replica.tick();
        for (_, effect) in &self.0 {
            effect(&mut Predicted { replica, player: who.player, tick, writer: Writer::Call });
        }
    }
}

/// The steps of one stepper.
pub(crate) struct Predictor<S: Stepper> {
    /// What the player does in the tick that is under way; what is done once stays in it until the tick has ended.
    input: S::Input,
    /// What she has said since it was last looked at.
    said: Option<S::Input>,
    /// The inputs of ticks that the room has not stepped yet, as far as is known.
    inputs: VecDeque<(Tick, S::Input)>,
    /// Those up to this tick went to the room.
    sent: Tick,
    /// The last tick that was stepped, and how far the next one was drawn.
    last: Tick,
    part: f32,
}

impl<S: Stepper> Predictor<S> {
    pub(crate) fn new() -> Self {
        let (sent, last) = (Tick::ZERO, Tick::ZERO);
        Predictor { input: S::Input::default(), said: None, inputs: VecDeque::new(), sent, last, part: 0.0 }
    }

    /// The player does this from now on.
    pub(crate) fn set(&mut self, input: S::Input) {
        self.said = Some(match &self.said {
            Some(said) => input.with_actions_of(said),
            None => input,
        });
    }

    /// What was said counts.
    fn listen(&mut self) {
        if let Some(said) = self.said.take() {
            self.input = said.with_actions_of(&self.input);
        }
    }

    /// The least of the future: what the screen shows between two ticks.
    fn look(&mut self, replica: &mut Replica, who: Who) {
        replica.begin_preview();
        Self::step(replica, who, self.last.next(), &self.input, self.part);
        replica.end_preview();
    }

    fn step(replica: &mut Replica, who: Who, tick: Tick, input: &S::Input, part: f32) {
        let seconds = step_seconds(who.tick_rate) * part;
        let mut world = Predicted { replica, player: who.player, tick, writer: Writer::Step };
        S::step(&mut world, input, seconds);
    }
}

impl<S: Stepper> Predict for Predictor<S> {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn advance(&mut self, replica: &mut Replica, who: Who, to: Tick, part: f32) {
        let first = self.inputs.front().map_or(to, |(tick, _)| *tick);
        // Another time of the room than it was a moment ago, or one that is silent on what it steps.
        let leaps = to.0.saturating_sub(self.last.0) > CATCH_UP || self.last.0.saturating_sub(to.0) > BACK;
        let jumps = leaps || to.0.saturating_sub(first.0) >= limits::PREDICTED;
        if self.last == Tick::ZERO || jumps {
            replica.unstep();
            self.inputs.clear();
            self.last = Tick(to.0.saturating_sub(1));
            self.sent = self.sent.min(self.last);
        }
        if self.last == to {
            self.listen();
        }
        // Whatever is otherwise than it was drawn, by a correction or by what was said in the middle of a tick, glides there.
        self.look(replica, who);
        replica.glide();
        while self.last < to {
            let tick = self.last.next();
            let input = std::mem::take(&mut self.input);
            self.input = input.repeat();
            Self::step(replica, who, tick, &input, 1.0);
            replica.stepped(tick);
            self.inputs.push_back((tick, input));
            self.last = tick;
        }
        self.listen();
        self.part = part;
        self.look(replica, who);
    }

    fn settle(&mut self, replica: &mut Replica, who: Who, tick: Tick, effects: &Effects) -> Stepped {
        let mut done = Stepped::default();
        while self.inputs.front().is_some_and(|(of, _)| *of <= tick) {
            self.inputs.pop_front();
        }
        if self.last < tick {
            // The room is ahead: what it has counts, and what is to come begins behind it.
            if self.last > Tick::ZERO {
                replica.unstep();
                self.last = tick;
            }
            return done;
        }
        if replica.differs(tick) {
            done.corrections = 1;
            replica.unstep();
            effects.apply(replica, who);
            for (tick, input) in &self.inputs {
                Self::step(replica, who, *tick, input, 1.0);
                replica.stepped(*tick);
                done.replayed += 1;
            }
        }
        replica.forget_steps(tick);
        done
    }

    fn next_message(&mut self) -> Option<Vec<u8>> {
        let from = self.inputs.partition_point(|(tick, _)| *tick <= self.sent);
        let first = self.inputs.get(from)?.0;
        let mut encoded = Vec::new();
        for (_, input) in self.inputs.iter().skip(from).take(limits::INPUTS) {
            let mut bytes = Vec::new();
            if payload::encode(input, limits::INPUT, &mut bytes).is_err() {
                // One that is too long never goes: the room repeats the one before.
                debug_assert!(false, "an input takes at most {} bytes", limits::INPUT);
                break;
            }
            encoded.push(bytes);
        }
        self.sent = Tick(first.0 + (encoded.len() as u64).max(1) - 1);
        if encoded.is_empty() {
            return self.next_message();
        }
        let inputs = encoded.iter().map(Vec::as_slice).collect();
        let mut message = Vec::new();
        ClientMessage::Inputs { first, inputs }.encode(&mut message);
        Some(message)
    }

    fn reset(&mut self, replica: &mut Replica) {
        replica.unstep();
        self.inputs.clear();
        // What was done once was done to no room.
        self.said = self.said.take().map(|said| said.repeat());
        self.input = self.input.repeat();
        (self.sent, self.last, self.part) = (Tick::ZERO, Tick::ZERO, 0.0);
    }
}

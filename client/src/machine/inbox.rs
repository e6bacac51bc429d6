//! What a client has for its game: the room's numbered messages, each once and in order, and reports of its own.

use std::collections::VecDeque;

use room::limits;
use room::wire::DecodeError;

use crate::event::Event;

/// An event that waits for the game.
#[derive(Debug)]
pub(super) struct Waiting {
    // The room's number, where it has one in this session.
    pub(super) number: Option<u64>,
    pub(super) event: Event,
    bytes: usize,
}

/// The events that the game has not taken.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) queue: VecDeque<Waiting>,
    // Of numbered events, each with `MESSAGE_COST`.
    bytes: usize,
    // How many others there are that may be dropped, and their bytes, counted alike.
    loose: usize,
    loose_bytes: usize,
    // The number of the last one that came on this connection.
    last: u64,
    /// The number of the last one that this client has.
    pub(super) held: u64,
    /// The number of the last one that the game has taken.
    pub(super) taken: u64,
    /// The number of the last one that was acknowledged by being in a checkpoint.
    pub(super) captured: u64,
    // The same before the last one.
    captured_before: u64,
    /// What a checkpoint brought back, for when the session goes on.
    restored: Vec<(u64, Event)>,
}

/// What a numbered event costs at the most is bounded by what a room keeps; a room that sends more is broken.
const MOST: usize = limits::CLIENT_WAITING;

/// Bytes of a game's message in an event.
fn size(event: &Event) -> usize {
    limits::MESSAGE_COST
        + match event {
            Event::Message(message) | Event::Transient(message) => message.bytes().len(),
            Event::Result { outcome, .. } => outcome.as_ref().map_or(0, |message| message.bytes().len()),
            _ => 0,
        }
}

fn is_loose(event: &Event) -> bool {
    matches!(event, Event::Transient(_) | Event::BuildMismatch { .. } | Event::Resumed { .. })
}

impl Inbox {
    /// What a checkpoint captured comes back.
    pub(super) fn restore(&mut self, taken: u64, captured: u64, restored: Vec<(u64, Event)>) {
        let held = taken.max(captured);
        *self = Inbox { held, taken, captured, captured_before: captured, restored, ..Inbox::default() };
    }

    /// What a checkpoint brought back and nobody has taken.
    pub(super) fn restored(&self) -> impl Iterator<Item = (u64, &Event)> {
        self.restored.iter().map(|(number, event)| (*number, event))
    }

    /// A connection begins, whose first numbered event comes after this one.
    pub(super) fn begin(&mut self, sent: u64) {
        self.last = sent;
        self.held = self.held.max(sent);
        self.release();
    }

    fn release(&mut self) {
        for (number, event) in std::mem::take(&mut self.restored).into_iter().rev() {
            self.bytes += size(&event);
            self.queue.push_front(Waiting { number: Some(number), bytes: size(&event), event });
        }
    }

    /// Counts a numbered event; returns whether it is new.
    pub(super) fn count(&mut self) -> bool {
        self.last += 1;
        let new = self.last > self.held;
        self.held = self.held.max(self.last);
        new
    }

    /// Keeps the numbered event that was just counted.
    pub(super) fn push_numbered(&mut self, event: Event) -> Result<(), DecodeError> {
        let bytes = size(&event);
        self.bytes += bytes;
        if self.bytes > MOST {
            return Err(DecodeError::TooLong);
        }
        self.queue.push_back(Waiting { number: Some(self.last), event, bytes });
        Ok(())
    }

    /// Keeps another event; returns how many had to go for it.
    pub(super) fn push(&mut self, event: Event) -> u64 {
        if is_loose(&event) {
            self.loose += 1;
            self.loose_bytes += size(&event);
        }
        self.queue.push_back(Waiting { number: None, event, bytes: 0 });
        let mut dropped = 0;
        while self.loose > limits::CLIENT_EVENTS || self.loose_bytes > MOST {
            let oldest = self.queue.iter().position(|waiting| is_loose(&waiting.event));
            let Some(oldest) = oldest.and_then(|at| self.queue.remove(at)) else { break };
            self.loose -= 1;
            self.loose_bytes -= size(&oldest.event);
            dropped += 1;
        }
        dropped
    }

    /// Hands everything to the game.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Event> + use<> {
        (self.bytes, self.loose, self.loose_bytes) = (0, 0, 0);
        self.taken = self.held;
        std::mem::take(&mut self.queue).into_iter().map(|waiting| waiting.event)
    }

    /// The number up to which the room needs to keep nothing.
    pub(super) fn acknowledged(&self) -> u64 {
        self.taken.max(self.captured)
    }

    /// A checkpoint captures what waits, up to the bounds of what either end keeps.
    pub(super) fn capture(&mut self) {
        self.captured_before = self.captured;
        let (mut count, mut bytes) = (0, 0);
        for waiting in &self.queue {
            let Some(number) = waiting.number else { continue };
            (count, bytes) = (count + 1, bytes + waiting.bytes);
            if count > limits::EVENTS || bytes > limits::EVENTS_BYTES {
                self.captured = self.captured.max(number - 1);
                return;
            }
        }
        self.captured = self.held;
    }

    /// The last checkpoint was not stored: what it captured is in here alone.
    pub(super) fn release_captured(&mut self) {
        self.captured = self.captured_before;
    }

    /// The session is gone. What came stays for the game; what was only in a checkpoint is handed out, too.
    pub(super) fn lose(&mut self) {
        self.release();
        for waiting in &mut self.queue {
            waiting.number = None;
        }
        (self.last, self.held, self.taken) = (0, 0, 0);
        (self.captured, self.captured_before) = (0, 0);
    }
}

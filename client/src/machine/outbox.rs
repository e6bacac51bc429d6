//! What a client has for its room: events and calls, each numbered once and kept until the room has handled it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use room::limits;
use room::wire::message::{Call, ClientMessage};
use room::{EntityId, Tick};

use super::clock::Clock;
use crate::event::{EventId, Message, SendError, Undelivered};

/// Bytes of events that were sent, over whichever connection, and that the room has not acknowledged, each with
/// [`limits::MESSAGE_COST`]; past it more wait here. The room's inbox always has room for so much.
const ON_WIRE: usize = limits::INBOX / 2;

/// Runs of numbers that are remembered. A new run begins only where another page of this player sent meanwhile.
pub(super) const RUNS: usize = 64;

/// An event, a call or a status.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) id: u64,
    // 0 before it has one.
    pub(super) number: u64,
    pub(super) payload: Vec<u8>,
    pub(super) sort: Sort,
}

/// What an item is.
#[derive(Clone, Debug)]
pub(super) enum Sort {
    Event,
    Call(CallHead),
    /// Its payload is UTF-8 of at most [`limits::STATUS`] bytes.
    Status,
}

/// What a call says besides its value.
#[derive(Clone, Debug)]
pub(super) struct CallHead {
    pub(super) name: String,
    pub(super) through: Option<EntityId>,
    // By when it must run, on the client's clock, until it gets its number and `deadline`.
    pub(super) due: Option<Duration>,
    pub(super) deadline: Tick,
}

/// IDs and numbers that rise together from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) id: u64,
}

/// The events and calls that the room has not acknowledged.
///
/// An event gets its number when it is first put on the wire or captured by a checkpoint, above all that the room
/// has named: so two lives of one page never give one number to two events.
#[derive(Debug)]
pub(super) struct Outbox {
    // Invariant: those with numbers come first, and numbers and IDs rise.
    pub(super) items: VecDeque<Item>,
    bytes: usize,
    pub(super) last_id: u64,
    // The highest number given.
    pub(super) last: u64,
    // What the last welcome named.
    received: u64,
    // No number at or below it is given.
    base: u64,
    pub(super) runs: VecDeque<Run>,
    /// IDs of calls without a result.
    pub(super) calls: BTreeSet<u64>,
    // How many of `items` need not be sent on this connection any more, and the number before the next one.
    cursor: usize,
    before: u64,
    // Invariant: what the first `cursor` items cost.
    on_wire: usize,
}

impl Item {
    fn size(&self) -> usize {
        self.payload.len() + self.call().map_or(0, |call| call.name.len())
    }

    fn cost(&self) -> usize {
        self.size() + limits::MESSAGE_COST
    }

    pub(super) fn call(&self) -> Option<&CallHead> {
        if let Sort::Call(head) = &self.sort { Some(head) } else { None }
    }
}

impl Outbox {
    pub(super) fn new(base: u64) -> Outbox {
        Outbox {
            items: VecDeque::new(),
            bytes: 0,
            last_id: 0,
            last: 0,
            received: 0,
            base,
            runs: VecDeque::new(),
            calls: BTreeSet::new(),
            cursor: 0,
            before: 0,
            on_wire: 0,
        }
    }

    /// Puts back what a checkpoint kept.
    pub(super) fn restore(&mut self, items: impl Iterator<Item = Item>) {
        self.items.extend(items);
        self.bytes = self.items.iter().map(Item::size).sum();
    }

    /// Keeps an event, a call or a status.
    pub(super) fn push(&mut self, payload: Vec<u8>, sort: Sort, most: usize) -> Result<u64, SendError> {
        if matches!(sort, Sort::Call(_)) && self.calls.len() >= limits::CALLS {
            return Err(SendError::Calls);
        }
        let item = Item { id: self.last_id + 1, number: 0, payload, sort };
        if self.items.len() >= most || self.bytes + item.size() > limits::EVENTS_BYTES {
            return Err(SendError::Full { waiting: self.items.len(), bytes: self.bytes });
        }
        self.last_id += 1;
        self.bytes += item.size();
        if item.call().is_some() {
            self.calls.insert(item.id);
        }
        self.items.push_back(item);
        Ok(self.last_id)
    }

    /// How many wait for the room.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether all were sent on this connection.
    pub(super) fn is_sent(&self) -> bool {
        self.cursor == self.items.len()
    }

    /// A new connection, whose room has everything up to a number.
    pub(super) fn welcomed(&mut self, received: u64) {
        (self.received, self.before) = (received, received);
        self.cursor = self.items.partition_point(|item| (1..=received).contains(&item.number));
        // What the room has and has not handled is in its inbox still.
        self.on_wire = self.items.iter().take(self.cursor).map(Item::cost).sum();
    }

    /// The next message for the wire, if it may have one.
    pub(super) fn next(&mut self, clock: &Clock) -> Option<Vec<u8>> {
        let cost = self.items.get(self.cursor)?.cost();
        if self.on_wire > 0 && self.on_wire + cost > ON_WIRE {
            return None;
        }
        self.number(self.cursor, clock);
        let item = &self.items[self.cursor];
        let gap = item.number - self.before;
        let message = match &item.sort {
            Sort::Event => ClientMessage::Event { gap, payload: &item.payload },
            Sort::Status => {
                ClientMessage::Status { gap, text: str::from_utf8(&item.payload).unwrap_or_default() }
            }
            Sort::Call(CallHead { name, through, deadline, .. }) => ClientMessage::Call(Call {
                gap,
                name,
                through: *through,
                deadline: *deadline,
                payload: &item.payload,
            }),
        };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        (self.before, self.cursor) = (item.number, self.cursor + 1);
        self.on_wire += cost;
        Some(bytes)
    }

    /// Gives an item its number, and a call the tick by which it must run.
    fn number(&mut self, at: usize, clock: &Clock) {
        let item = &mut self.items[at];
        if item.number != 0 {
            return;
        }
        item.number = self.last.max(self.received).max(self.base) + 1;
        self.last = item.number;
        if let Sort::Call(call) = &mut item.sort
            && let Some(due) = call.due.take()
        {
            call.deadline = clock.tick_at(due);
        }
        let (number, id) = (item.number, item.id);
        if self.runs.back().is_none_or(|run| number - run.number != id - run.id) {
            self.runs.push_back(Run { number, id });
            self.runs.drain(..self.runs.len().saturating_sub(RUNS));
        }
    }

    /// Gives all that wait their numbers.
    pub(super) fn number_all(&mut self, clock: &Clock) {
        (0..self.items.len()).for_each(|at| self.number(at, clock));
    }

    /// The room has handled everything up to a number.
    pub(super) fn acknowledge(&mut self, number: u64) {
        while self.items.front().is_some_and(|item| (1..=number).contains(&item.number)) {
            let Some(item) = self.items.pop_front() else { return };
            self.bytes -= item.size();
            if self.cursor > 0 {
                self.cursor -= 1;
                self.on_wire -= item.cost();
            }
        }
    }

    /// The ID that goes with a number.
    pub(super) fn id_of(&self, number: u64) -> Option<u64> {
        if number > self.last {
            return None;
        }
        let at = self.runs.partition_point(|run| run.number <= number).checked_sub(1)?;
        let run = self.runs[at];
        let id = run.id + (number - run.number);
        let end = self.runs.get(at + 1).map_or(self.last_id + 1, |next| next.id);
        (id < end).then_some(id)
    }

    /// A call's result came; returns the call's ID, unless it is none of this client's.
    pub(super) fn answered(&mut self, number: u64) -> Option<u64> {
        self.id_of(number).filter(|id| self.calls.remove(id))
    }

    /// The session is gone: hands over what was not handled, and the calls that were, but not answered.
    pub(super) fn lose(&mut self) -> (Vec<Undelivered>, Vec<u64>) {
        let mut unanswered = std::mem::take(&mut self.calls);
        let undelivered = self.items.drain(..).filter_map(|item| {
            unanswered.remove(&item.id);
            let call = match item.sort {
                Sort::Event => None,
                Sort::Call(call) => Some(call.name),
                // It was of the presence that is gone with the session.
                Sort::Status => return None,
            };
            Some(Undelivered { id: EventId(item.id), message: Message::new(item.payload), call })
        });
        let undelivered = undelivered.collect();
        self.runs.clear();
        (self.bytes, self.cursor, self.received, self.on_wire) = (0, 0, 0, 0);
        (undelivered, unanswered.into_iter().collect())
    }
}

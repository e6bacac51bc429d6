//! What outlives a page: enough to continue its session in another one.

mod base64;

use std::fmt;
use std::time::Duration;

use room::wire::message::Token;
use room::wire::payload;
use room::{EntityId, Schema, SessionId, Tick, limits};
use serde::{Deserialize, Serialize};

use super::outbox::{CallHead, Item, Outbox, RUNS, Run, Sort};
use super::{Machine, Options, Session};
use crate::event::{CallId, Event, EventId, Message};

/// A session as it can be stored and continued: by a page that reloads, by a game that restarts.
///
/// It holds a secret: keep it where only this player's client reads it, such as a browser's `sessionStorage`. It
/// serializes to plain text and numbers, so JSON holds it. Write a new one often, and always restore the newest:
/// one that was written in a hidden page holds the only copy of what the room sent meanwhile.
#[derive(Clone, Serialize, Deserialize)]
pub struct Checkpoint {
    room: String,
    // What the client was given, where that was another URL than the room's own.
    #[serde(default)]
    through: Option<String>,
    session: u64,
    #[serde(with = "base64")]
    token: Vec<u8>,
    items: Vec<SavedItem>,
    last_id: u64,
    last: u64,
    runs: Vec<(u64, u64)>,
    calls: Vec<u64>,
    taken: u64,
    captured: u64,
    inbox: Vec<(u64, SavedEvent)>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedItem {
    id: u64,
    number: u64,
    #[serde(with = "base64")]
    payload: Vec<u8>,
    call: Option<SavedCall>,
    #[serde(default)]
    status: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedCall {
    name: String,
    through: u64,
    deadline: u64,
}

#[derive(Clone, Serialize, Deserialize)]
enum SavedEvent {
    Message(#[serde(with = "base64")] Vec<u8>),
    Accepted {
        call: u64,
        tick: u64,
        #[serde(with = "base64")]
        payload: Vec<u8>,
    },
    Refused {
        call: u64,
        tick: u64,
        reason: String,
    },
    Failed(u64),
}

/// Why a checkpoint cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is of another room.
    #[error(
        "the checkpoint is of the room {checkpoint:?}, and this client is for {client:?}: join without it"
    )]
    OtherRoom {
        /// The room of the checkpoint.
        checkpoint: String,
        /// The room of the client.
        client: String,
    },
    /// It is not as it was written.
    #[error("the checkpoint is damaged ({0}): join without it")]
    Damaged(&'static str),
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the token, which appears in no log, and without what the player said.
        f.debug_struct("Checkpoint")
            .field("room", &self.room)
            .field("session", &self.session)
            .field("events", &self.items.len())
            .field("inbox", &self.inbox.len())
            .finish_non_exhaustive()
    }
}

impl Machine {
    /// A machine that continues a session: in a page that was loaded again, say. `unix_ms` is the wall clock, by
    /// which it numbers its events above those of the page before; otherwise as [`Machine::new`].
    ///
    /// Where the room does not know the session any more, [`Event::SessionLost`] tells so.
    ///
    /// # Errors
    /// Fails where the checkpoint is of another room, or damaged. It is of the room that it was made in, and of what
    /// the client was given that led there: a code, or a kind.
    pub fn restore(
        schema: Schema,
        options: Options,
        checkpoint: Checkpoint,
        unix_ms: u64,
        seed: u64,
    ) -> Result<Machine, CheckpointError> {
        let through = checkpoint.through.as_ref();
        if checkpoint.room != options.room && through != Some(&options.room) {
            return Err(CheckpointError::OtherRoom { checkpoint: checkpoint.room, client: options.room });
        }
        let token = checkpoint.token.as_slice().try_into();
        let token = Token(token.map_err(|_| CheckpointError::Damaged("its token"))?);
        let mut machine = Machine::new(schema, options, seed);
        machine.home = Some(checkpoint.room.clone());
        machine.session = Some(Session { id: SessionId(checkpoint.session), token });
        machine.outbox = checkpoint.outbox(base(unix_ms)).map_err(CheckpointError::Damaged)?;
        let inbox = checkpoint.inbox().map_err(CheckpointError::Damaged)?;
        machine.inbox.restore(checkpoint.taken, checkpoint.captured, inbox);
        Ok(machine)
    }

    /// What continues this session elsewhere later; `None` where there is none to continue. From then on the
    /// events that wait have their numbers. In a hidden page what the room sent counts as acknowledged once it is
    /// in here, so store it at once.
    pub fn checkpoint(&mut self) -> Option<Checkpoint> {
        let room = self.room().to_owned();
        let through = Some(&self.options.room).filter(|given| **given != room).cloned();
        let session = self.session.as_ref()?;
        self.outbox.number_all(&self.clock);
        if self.hidden {
            self.inbox.capture();
        }
        let Machine { outbox, inbox, .. } = self;
        // Results that came, were not taken and are not in here come again.
        let unread = inbox.queue.iter().filter_map(|waiting| match waiting.event {
            Event::Result { call, .. } if waiting.number? > inbox.captured => Some(call.0),
            _ => None,
        });
        let queued = inbox.queue.iter().filter_map(|waiting| Some((waiting.number?, &waiting.event)));
        // The room still has the others.
        let captured = inbox.restored().chain(queued).filter(|(number, _)| *number <= inbox.captured);
        Some(Checkpoint {
            room,
            through,
            session: session.id.0,
            token: session.token.0.to_vec(),
            items: outbox.items.iter().map(SavedItem::of).collect(),
            last_id: outbox.last_id,
            last: outbox.last,
            runs: outbox.runs.iter().map(|run| (run.number, run.id)).collect(),
            calls: outbox.calls.iter().copied().chain(unread).collect(),
            taken: inbox.taken,
            captured: inbox.captured,
            inbox: captured.filter_map(|(number, event)| Some((number, SavedEvent::of(event)?))).collect(),
        })
    }

    /// The last checkpoint could not be stored. What the room sent, and only that one had, is not acknowledged; call it
    /// before the socket is served.
    pub fn checkpoint_failed(&mut self) {
        self.inbox.release_captured();
    }
}

/// The number above which a page numbers its events that was restored at this time: 1,024 a millisecond since 2020,
/// which no page sends.
fn base(unix_ms: u64) -> u64 {
    const Y2020_MS: u64 = 1_577_836_800_000;
    unix_ms.saturating_sub(Y2020_MS).saturating_mul(1024).min(limits::ID_MOST / 2)
}

impl Checkpoint {
    /// The URL of the room that it was made in, for a client that is to continue it.
    #[must_use]
    pub fn room(&self) -> &str {
        &self.room
    }

    #[cfg(test)]
    pub(super) fn inbox_len(&self) -> usize {
        self.inbox.len()
    }

    fn outbox(&self, base: u64) -> Result<Outbox, &'static str> {
        let mut outbox = Outbox::new(base);
        let (mut id, mut number, mut bytes) = (0, 0, 0);
        for item in &self.items {
            if item.id <= id || item.number <= number {
                return Err("the order of its events");
            }
            (id, number, bytes) = (item.id, item.number, bytes + item.payload.len());
        }
        let rising = self.runs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
        let (run_number, run_id) = self.runs.last().copied().unwrap_or_default();
        let (number, id) = (number.max(run_number), id.max(run_id));
        let known = id <= self.last_id && number <= self.last;
        if !rising || !known || self.last.max(self.last_id) > limits::ID_MOST {
            return Err("the numbers of its events");
        }
        let many = self.items.len() > limits::EVENTS_MOST || self.runs.len() > RUNS;
        if many || bytes > limits::EVENTS_BYTES || self.calls.len() > limits::CALLS {
            return Err("more events than a client keeps");
        }
        let items: Result<Vec<Item>, _> = self.items.iter().map(SavedItem::item).collect();
        outbox.restore(items?.into_iter());
        (outbox.last_id, outbox.last) = (self.last_id, self.last);
        outbox.runs = self.runs.iter().map(|&(number, id)| Run { number, id }).collect();
        outbox.calls = self.calls.iter().copied().collect();
        Ok(outbox)
    }

    fn inbox(&self) -> Result<Vec<(u64, Event)>, &'static str> {
        let rising = self.inbox.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !rising || self.inbox.last().is_some_and(|(number, _)| *number > self.captured) {
            return Err("the numbers of its inbox");
        }
        if self.taken.max(self.captured) > limits::ID_MOST {
            return Err("the numbers of its inbox");
        }
        Ok(self.inbox.iter().map(|(number, event)| (*number, event.event())).collect())
    }
}

impl SavedItem {
    fn of(item: &Item) -> SavedItem {
        let call = item.call().map(|call| SavedCall {
            name: call.name.clone(),
            through: call.through.map_or(0, EntityId::get),
            deadline: call.deadline.0,
        });
        let status = matches!(item.sort, Sort::Status);
        SavedItem { id: item.id, number: item.number, payload: item.payload.clone(), call, status }
    }

    fn item(&self) -> Result<Item, &'static str> {
        let sound = if self.status {
            self.payload.len() <= limits::STATUS && str::from_utf8(&self.payload).is_ok()
        } else {
            self.payload.len() <= limits::CLIENT_PAYLOAD && payload::scan(&self.payload).is_ok()
        };
        if !sound || (self.status && self.call.is_some()) {
            return Err("an event");
        }
        let sort = match &self.call {
            None if self.status => Sort::Status,
            None => Sort::Event,
            Some(call) if (1..=limits::NAME).contains(&call.name.len()) => Sort::Call(CallHead {
                name: call.name.clone(),
                through: EntityId::from_wire(call.through),
                due: None::<Duration>,
                deadline: Tick(call.deadline),
            }),
            Some(_) => return Err("a call's name"),
        };
        Ok(Item { id: self.id, number: self.number, payload: self.payload.clone(), sort })
    }
}

impl SavedEvent {
    /// An event that has a number, as it is stored.
    fn of(event: &Event) -> Option<SavedEvent> {
        Some(match event {
            Event::Message(message) => SavedEvent::Message(message.bytes().to_vec()),
            Event::Result { call: CallId(call), tick: Tick(tick), outcome } => match outcome {
                Ok(value) => {
                    SavedEvent::Accepted { call: *call, tick: *tick, payload: value.bytes().to_vec() }
                }
                Err(reason) => SavedEvent::Refused { call: *call, tick: *tick, reason: reason.clone() },
            },
            Event::Failed(EventId(id)) => SavedEvent::Failed(*id),
            _ => return None,
        })
    }

    fn event(&self) -> Event {
        let result =
            |call: u64, tick: u64, outcome| Event::Result { call: CallId(call), tick: Tick(tick), outcome };
        match self {
            SavedEvent::Message(payload) => Event::Message(Message::new(payload.as_slice())),
            SavedEvent::Accepted { call, tick, payload } => {
                result(*call, *tick, Ok(Message::new(payload.as_slice())))
            }
            SavedEvent::Refused { call, tick, reason } => result(*call, *tick, Err(reason.clone())),
            SavedEvent::Failed(id) => Event::Failed(EventId(*id)),
        }
    }
}

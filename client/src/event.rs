//! What a client is told besides the state it sees.

use std::fmt;
use std::time::Duration;

use room::wire::{DecodeError, payload};
use room::{EntityId, Tick, limits};
use serde::de::DeserializeOwned;

/// Something that happened, in the order of the stream: what a message speaks of has been applied before it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The game on the server sent a message. It comes exactly once.
    Message(Message),
    /// The game on the server sent a message that may be lost with the connection.
    Transient(Message),
    /// A call's one result.
    Result {
        /// Which call.
        call: CallId,
        /// The tick that ran it; [`Tick::ZERO`] where none is known.
        tick: Tick,
        /// What the room answered, or why it refused: `late`, `too_many`, `not_owner`, `unknown_call`, `failed`,
        /// or the game's own words. `lost` where the session ended after the room had run the call, before its
        /// answer came.
        outcome: Result<Message, String>,
    },
    /// The game on the server failed at this event; it will not be sent again.
    Failed(EventId),
    /// The first update after a drop has been applied: the session goes on.
    Resumed {
        /// How many entities were kept as they were, and not sent again.
        restored: usize,
    },
    /// The session is gone, and with it the player. [`Status::Lost`] follows, or [`Status::Rejoining`].
    SessionLost {
        /// What the room has not handled, oldest first. It never reaches the next session by itself.
        undelivered: Vec<Undelivered>,
    },
    /// Room and client are of different builds. Play goes on; a player may want to reload.
    BuildMismatch {
        /// The room's build.
        room: String,
        /// This client's.
        client: String,
    },
}

/// Names an event that this client sent. Events, calls and statuses are counted together, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

/// Names a call that this client made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

impl From<CallId> for EventId {
    fn from(call: CallId) -> EventId {
        EventId(call.0)
    }
}

/// An event or call that the room has not handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Its ID; a call's [`CallId`] has the same number.
    pub id: EventId,
    /// What it said.
    pub message: Message,
    /// The call's name, where it was one.
    pub call: Option<String>,
}

/// How a call is to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The entity that it acts through: the room refuses with `not_owner` once the player does not own it.
    pub through: Option<EntityId>,
    /// How late the room may run it, from now; past it the room refuses with `late`.
    pub deadline: Option<Duration>,
}

/// A game's message.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    payload: Vec<u8>,
}

impl Message {
    pub(crate) fn new(payload: impl Into<Vec<u8>>) -> Message {
        Message { payload: payload.into() }
    }

    /// Reads it as a `T`.
    ///
    /// # Errors
    /// Fails where it is not a `T`, or nests deeper or holds more values than a payload may.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        payload::decode(&self.payload)
    }

    /// Its MessagePack bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.payload
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({} bytes)", self.payload.len())
    }
}

/// Where a client stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// No socket has opened yet, or the room has not answered the first one.
    Connecting,
    /// It is in the room.
    Joined,
    /// A socket that had opened has closed; the session is being resumed.
    Reconnecting,
    /// The session is gone. The client waits for the game to rejoin.
    Lost,
    /// A new session is being made.
    Rejoining,
    /// The client has stopped.
    Closed {
        /// The close code (see [`room::session::code`]), or `None` where no close frame said so: it gave up, or
        /// left without an answer.
        code: Option<u16>,
        /// What the room, or this client, said about it.
        reason: String,
    },
}

impl Status {
    /// Whether the client has stopped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Status::Closed { .. })
    }
}

/// Why a socket closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDrop {
    /// The close code (see [`room::session::code`]), or `None` where there was no close frame.
    pub code: Option<u16>,
    /// What was said about it.
    pub reason: String,
}

/// A message that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The client is not in a room, and what may be lost does not wait for one.
    #[error("a transient is not sent: the client is not joined; use `send` for what must arrive")]
    NotJoined,
    /// The client has stopped, or waits for the game to [`rejoin`](crate::machine::Machine::rejoin).
    #[error(
        "nothing can be sent: the client has stopped; `rejoin` where its session is lost or it gave up, or connect anew"
    )]
    Over,
    /// The value cannot travel.
    #[error(transparent)]
    Payload(#[from] payload::PayloadError),
    /// The room has not acknowledged what was sent before.
    #[error(
        "{waiting} events of {} KiB wait for the room already; try again once it has acknowledged some",
        bytes / 1024
    )]
    Full {
        /// Events that wait.
        waiting: usize,
        /// Their bytes.
        bytes: usize,
    },
    /// Too many calls wait for their results.
    #[error("{} calls wait for their results already; try again once one has come", limits::CALLS)]
    Calls,
    /// A call's name is empty or too long.
    #[error("a call's name has 1 to {} bytes; this one has {size}", limits::NAME)]
    CallName {
        /// Bytes of the name.
        size: usize,
    },
    /// A status is too long.
    #[error("a status has at most {} bytes; this one has {size}: shorten it", limits::STATUS)]
    Status {
        /// Bytes of the status.
        size: usize,
    },
    /// The game has no presence.
    #[error("there is no status to set: the schema is made `without_presence`")]
    NoPresence,
    /// The socket does not take what was sent before.
    #[error("{} KiB wait for the socket already; send fewer transients", limits::CLIENT_QUEUE / 1024)]
    Busy,
}

/// Figures of a client, over all its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientStats {
    /// Messages that came.
    pub messages_received: u64,
    /// Their bytes, WebSocket heads not counted.
    pub bytes_received: u64,
    /// Messages sent.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Updates applied.
    pub updates: u64,
    /// Times that more than a second of sends was applied as one.
    pub catch_ups: u64,
    /// Transients that were dropped: stale, or left unread by the game.
    pub transients_dropped: u64,
    /// Sockets that opened and closed.
    pub drops: u64,
    /// Welcomes that continued the session.
    pub resumes: u64,
    /// Numbered messages that came a second time and were dropped.
    pub repeats: u64,
    /// Times that the room came to another end than was predicted.
    pub corrections: u64,
    /// Inputs that were stepped again for that.
    pub replayed_inputs: u64,
    /// Inputs that came to the room after their tick.
    pub late: u64,
    /// Ticks for which the room had no input in time.
    pub starved: u64,
    /// How often an interpolated entity was drawn past its last state, once an entity and `update`.
    pub extrapolated: u64,
}

//! What a client is told besides the state it sees.

use std::fmt;

use room::wire::{DecodeError, payload};
use serde::de::DeserializeOwned;

/// Something that happened, in the order of the stream: what a message speaks of has been applied before it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The game on the server sent a message.
    Message(Message),
    /// Room and client are of different builds. Play goes on; a player may want to reload.
    BuildMismatch {
        /// The room's build.
        room: String,
        /// This client's.
        client: String,
    },
}

/// A game's message from the room.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    payload: Vec<u8>,
}

impl Message {
    pub(crate) fn new(payload: &[u8]) -> Message {
        Message { payload: payload.to_vec() }
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
    /// The room has not let it in yet.
    Connecting,
    /// It is in the room.
    Joined,
    /// The connection is over.
    Closed {
        /// The close code (see [`room::session::code`]), or `None` where the link broke without one.
        code: Option<u16>,
        /// What the room, or this client, said about it.
        reason: String,
    },
}

impl Status {
    /// Whether the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Status::Closed { .. })
    }
}

/// A message that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The client is not in a room.
    #[error("nothing can be sent: the client is not joined")]
    NotJoined,
    /// The value cannot travel.
    #[error(transparent)]
    Payload(#[from] payload::PayloadError),
    /// The socket does not take what was sent before.
    #[error(
        "{} KiB wait to be sent already; try again once the link has taken some",
        room::limits::CLIENT_QUEUE / 1024
    )]
    Full,
}

/// Figures of one connection.
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
    /// Events that the game left unread until they had to go.
    pub events_dropped: u64,
}

//! Messages of the game on their way out: encoded once, addressed at the next send.

use std::sync::Arc;

use serde::Serialize;

use super::ConnectionId;
use crate::entity::{EntityId, PlayerId, SessionId};
use crate::limits;
use crate::sync::keys::Key;
use crate::wire::message::tag;
use crate::wire::payload::{self, PayloadError};

/// An event that was not sent.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It is too large, or serde refused it.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The entity whose viewers were meant does not live.
    #[error("no entity {id} lives, so nobody sees it")]
    NoEntity {
        /// The ID.
        id: EntityId,
    },
    /// The connection is none of this room's, or its session has ended.
    #[error("connection {} is none of this room's", conn.0)]
    NoConnection {
        /// The connection.
        conn: ConnectionId,
    },
}

/// Whom a message is for.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Session(SessionId),
    /// Sessions of a player, up to this one: what comes later has no part in it.
    Player(PlayerId, SessionId),
    /// All sessions up to this one.
    Everyone(SessionId),
    Seeing(u32),
    Key(Key),
}

/// Whether a message is kept until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Event,
    Transient,
}

/// A message for the next send.
pub(super) struct Queued {
    pub(super) target: Target,
    pub(super) class: Class,
    pub(super) message: Arc<[u8]>,
}

/// Messages since the last send.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) queued: Vec<Queued>,
    scratch: Vec<u8>,
}

impl Messages {
    pub(super) fn push<E: Serialize + ?Sized>(
        &mut self,
        target: Target,
        class: Class,
        value: &E,
    ) -> Result<(), SendError> {
        self.scratch.clear();
        self.scratch.push(match class {
            Class::Event => tag::ROOM_EVENT,
            Class::Transient => tag::ROOM_TRANSIENT,
        });
        payload::encode(value, limits::ROOM_PAYLOAD, &mut self.scratch)?;
        self.queued.push(Queued { target, class, message: self.scratch.as_slice().into() });
        Ok(())
    }
}

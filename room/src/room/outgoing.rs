//! Events on their way out: encoded once, addressed at the next send.

use std::ops::Range;

use serde::Serialize;

use super::ConnectionId;
use crate::entity::{EntityId, PlayerId};
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
}

/// Whom an event is for.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Connection(ConnectionId),
    Player(PlayerId),
    Everyone,
    Seeing(u32),
    Key(Key),
}

/// Events since the last send.
#[derive(Default)]
pub(super) struct Events {
    pub(super) bytes: Vec<u8>,
    pub(super) queued: Vec<(Target, Range<usize>)>,
}

impl Events {
    pub(super) fn push<E: Serialize + ?Sized>(&mut self, target: Target, event: &E) -> Result<(), SendError> {
        let start = self.bytes.len();
        self.bytes.push(tag::ROOM_EVENT);
        if let Err(error) = payload::encode(event, limits::ROOM_PAYLOAD, &mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error.into());
        }
        self.queued.push((target, start..self.bytes.len()));
        Ok(())
    }
}

//! What players write of their own entities from their clients, as the game sees it first.

use std::fmt;

use crate::entity::{Entity, EntityId, FieldMask};
use crate::store::Proposal;

/// A player's write to an entity that she owns, which the game may change or refuse: see
/// [`Game::on_write`](super::Game::on_write).
pub struct Written {
    id: EntityId,
    fields: FieldMask,
    proposal: Proposal,
}

impl Written {
    pub(super) fn new(id: EntityId, fields: FieldMask, proposal: Proposal) -> Written {
        Written { id, fields, proposal }
    }

    /// The entity.
    #[must_use]
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// The fields that she writes; all are writable ones.
    #[must_use]
    pub fn fields(&self) -> FieldMask {
        self.fields
    }

    /// The entity as she would have it, if it is of kind `K`: rounded, and with floats that are finite. The room still
    /// has it as it was.
    #[must_use]
    pub fn get<K: Entity>(&self) -> Option<&K> {
        self.proposal.downcast_ref()
    }

    /// As [`get`](Self::get), to change. Of what is changed the fields that she writes are taken over, and no others.
    pub fn get_mut<K: Entity>(&mut self) -> Option<&mut K> {
        self.proposal.downcast_mut()
    }

    pub(super) fn proposal(&self) -> &Proposal {
        &self.proposal
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").field("id", &self.id).field("fields", &self.fields).finish_non_exhaustive()
    }
}

//! Slots: small numbers by which the core names entities. A slot stays with its entity for life.

use crate::entity::{EntityId, PlayerId};
use crate::tick::Tick;

/// What is known of a slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The entity's ID; of a deleted one until the next seal.
    pub id: EntityId,
    /// Its kind's place in the schema.
    pub kind: u8,
    /// Its row in the kind's store.
    pub row: u32,
    /// The seal that first had it; [`Tick::ZERO`] before that.
    pub created: Tick,
    /// The player whose private state it is.
    pub private_to: Option<PlayerId>,
    /// Whether the library shows it to everyone: the room's state, and presence unless the game scopes it.
    pub for_all: bool,
    /// Whether the entity lives.
    pub live: bool,
}

impl Slot {
    /// Whether the library itself says who sees it, and no game is asked.
    #[inline]
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.for_all || self.private_to.is_some()
    }
}

/// All slots of a world.
#[derive(Debug, Default)]
pub struct Slots(pub Vec<Slot>);

impl Slots {
    /// A slot whose entity lives.
    #[inline]
    #[must_use]
    pub fn live(&self, slot: u32) -> Option<&Slot> {
        self.0.get(slot as usize).filter(|s| s.live)
    }
}

//! What players own, and what they write of it from their clients.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::World;
use crate::entity::{Entity, EntityId, FieldMask, PlayerId};
use crate::field::write::WriteError;
use crate::store::past::Past;
use crate::store::{Proposal, Store};
use crate::wire::DecodeError;

/// Why a player's write is not even put before the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYours {
    /// There is no such entity of that kind.
    Gone,
    /// The player does not own it.
    Owner,
    /// A field is not hers to write.
    Field,
    /// A float is infinite or NaN.
    Infinite,
}

/// The first entity of each owner, by kind, as far as it was asked for. Good for as long as no entity comes, goes or
/// changes its owner.
#[derive(Debug, Default)]
pub struct FirstOwned {
    by_kind: Vec<OnceLock<BTreeMap<PlayerId, EntityId>>>,
}

impl World {
    /// An empty list of who owns what.
    #[must_use]
    pub fn first_owned(&self) -> FirstOwned {
        FirstOwned { by_kind: self.stores.iter().map(|_| OnceLock::new()).collect() }
    }

    /// The first entity of a kind that a player owns, in ID order.
    #[must_use]
    pub fn owned_by<K: Entity>(&self, player: PlayerId, first: &FirstOwned) -> Option<EntityId> {
        K::KIND.owner?;
        let kind = self.kind_of::<K>()?;
        let of_kind = first.by_kind.get(kind as usize)?;
        let of_kind = of_kind.get_or_init(|| {
            self.store::<K>(kind).map(|store| store.first_owned(&self.slots)).unwrap_or_default()
        });
        of_kind.get(&player).copied()
    }

    /// Remembers what entities were of kinds that ask for it, in a room of so many ticks a second.
    pub fn keep_past(&mut self, tick_rate: u32) {
        for (store, entry) in self.stores.iter_mut().zip(self.schema.entries()) {
            let ticks = u64::from(entry.kind.history_ms) * u64::from(tick_rate);
            if ticks > 0 {
                store.keep_past(ticks.div_ceil(1000), &self.slots);
            }
        }
    }

    /// What the entities of a kind were.
    ///
    /// # Panics
    /// If the kind has no history.
    #[must_use]
    pub fn past<K: Entity>(&self) -> &Past<K> {
        let store = self.kind_of::<K>().and_then(|kind| self.store::<K>(kind));
        store.and_then(Store::past).unwrap_or_else(|| {
            panic!("{} keeps no history: write `#[entity(history = \"1s\")]` on the struct", K::KIND.name)
        })
    }

    /// A copy of an entity as a player would have it, by the number with which its kind travels.
    pub fn propose(
        &mut self,
        player: PlayerId,
        (wire_kind, id): (u8, EntityId),
        mask: FieldMask,
        bytes: &[u8],
    ) -> Result<Result<Proposal, NotYours>, DecodeError> {
        let slot = self.slot(id).filter(|slot| self.wire_kind(*slot) == Some(wire_kind));
        let Some(slot) = slot else { return Ok(Err(NotYours::Gone)) };
        if self.owner(slot) != Some(player) {
            return Ok(Err(NotYours::Owner));
        }
        if !mask.without(self.entry(slot).kind.writable()).is_empty() {
            return Ok(Err(NotYours::Field));
        }
        let info = *self.info(slot);
        let store = &self.stores[info.kind as usize];
        let proposal = store.propose(id, info.row, mask, bytes, &mut self.clamped)?;
        Ok(proposal.ok_or(NotYours::Infinite))
    }

    /// Writes the fields of a mask as a proposal has them, where the entity is still there.
    pub fn adopt(&mut self, id: EntityId, mask: FieldMask, proposal: &Proposal) -> Result<(), WriteError> {
        let Some(slot) = self.slot(id) else { return Ok(()) };
        let info = *self.info(slot);
        self.stores[info.kind as usize].adopt(id, info.row, mask, proposal, &mut self.clamped)
    }
}

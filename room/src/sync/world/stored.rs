//! What a store gets of a world, and what makes a world of it again.

use super::World;
use crate::entity::{EntityId, FieldMask, PlayerId};
use crate::limits;
use crate::schema::Schema;
use crate::store::LoadError;
use crate::tick::Tick;
use crate::wire::record::StoredRecord;

/// An entity that was stored.
pub struct Restored<'a> {
    /// Its ID.
    pub id: EntityId,
    /// Its kind's place in the schema.
    pub kind: u8,
    /// The seal that first had it.
    pub created: Tick,
    /// When each field last changed.
    pub changed: &'a [Tick],
    /// The player whose private state it is.
    pub private_to: Option<PlayerId>,
    /// Its fields in whole values.
    pub record: &'a [u8],
}

impl World {
    /// A world of stored entities. Automatic IDs begin at `automatic`.
    pub fn restore<'a>(
        schema: Schema,
        seed: [u8; 32],
        automatic: u64,
        entities: impl Iterator<Item = Restored<'a>>,
    ) -> Result<World, (EntityId, LoadError)> {
        let mut world = World::empty(schema, seed);
        for entity in entities {
            let id = entity.id;
            world.load(&entity).map_err(|error| (id, error))?;
        }
        world.insert_state();
        world.next_automatic = automatic.max(limits::ID_LEAST);
        Ok(world)
    }

    fn load(&mut self, entity: &Restored<'_>) -> Result<(), LoadError> {
        let Restored { id, kind, created, changed, private_to, record } = *entity;
        let slot = self.free_slot();
        let store = &mut self.stores[kind as usize];
        let row = store.load(id, slot, record)?;
        store.restamp(row, created, changed);
        self.occupy(slot, kind, id, row);
        self.slots.0[slot as usize].created = created;
        self.restored(slot, private_to);
        Ok(())
    }

    /// From now on each seal says what it found changed.
    pub fn keep_changes(&mut self) {
        self.changes = Some(Vec::new());
    }

    /// What the last seal found changed of entities that were there before it, ephemeral ones left out.
    #[must_use]
    pub fn changes(&self) -> &[(u32, FieldMask)] {
        self.changes.as_deref().unwrap_or_default()
    }

    /// The next automatic ID.
    #[must_use]
    pub fn next_automatic(&self) -> u64 {
        self.next_automatic
    }

    /// Whether a slot's entity is stored.
    #[must_use]
    pub fn is_stored(&self, slot: u32) -> bool {
        !self.entry(slot).kind.ephemeral
    }

    /// The fields of a slot's kind that are stored only now and then.
    #[must_use]
    pub fn coarse(&self, slot: u32) -> FieldMask {
        self.coarse[self.info(slot).kind as usize]
    }

    /// Appends every field of a slot's entity in whole values, of whatever kind.
    pub fn put_stored(&self, slot: u32, out: &mut Vec<u8>) {
        let info = self.info(slot);
        self.stores[info.kind as usize].put_stored(info.row, out);
    }

    /// When each field of a slot's entity last changed.
    #[must_use]
    pub fn change_ticks(&self, slot: u32) -> &[Tick] {
        let info = self.info(slot);
        self.stores[info.kind as usize].change_ticks(info.row)
    }

    /// The entity of any kind in whole values, for stores and inspection.
    #[must_use]
    pub fn stored(&self, id: EntityId) -> Option<StoredRecord> {
        let info = self.info(self.slot(id)?);
        Some(self.stores[info.kind as usize].stored(info.row))
    }
}

//! The world: every entity by slot and by ID.

mod own;
mod owned;
mod stored;

pub use own::Present;
pub use owned::{FirstOwned, NotYours};
pub use stored::Restored;

use std::any::TypeId;
use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::entity::{Entity, EntityId, FieldMask, Id, PlayerId};
use crate::field::write::{Clamped, WriteError};
use crate::limits;
use crate::schema::{KindEntry, Role, Schema};
use crate::store::records::Records;
use crate::store::slots::{Slot, Slots};
use crate::store::{AnyStore, Store};
use crate::tick::Tick;
use crate::wire::record::SentBytes;
use own::Own;

/// An entity that could not be created; nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The kind is not in the schema as one that games create.
    #[error("{kind} is not an entity kind of this room's schema: add `.entity::<…>()` to it")]
    UnknownKind {
        /// The kind.
        kind: &'static str,
    },
    /// The kind is the library's own.
    #[error("{kind} is the library's own: the room itself makes one for each player who is in it")]
    BuiltIn {
        /// The kind.
        kind: &'static str,
    },
    /// The ID is outside what a game may give.
    #[error("{id} is no entity ID: explicit ones go from 2 to 2^52")]
    BadId {
        /// The number given.
        id: u64,
    },
    /// An entity with the ID lives.
    #[error("the ID {id} is taken by a {kind}: delete that one first or choose another ID")]
    Taken {
        /// The ID.
        id: EntityId,
        /// The kind of the entity that has it.
        kind: &'static str,
    },
    /// No automatic ID is left.
    #[error("no automatic ID below 2^32 is left: an explicit ID just below it uses them up")]
    OutOfIds,
    /// A value passes a limit.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// All entities of a room.
pub struct World {
    schema: Schema,
    stores: Vec<Box<dyn AnyStore>>,
    slots: Slots,
    free: Vec<u32>,
    by_id: HashMap<EntityId, u32, ahash::RandomState>,
    next_automatic: u64,
    random_ids: ChaCha8Rng,
    /// Created since the last seal.
    born: Vec<u32>,
    /// Deleted since the last seal.
    dead: Vec<u32>,
    /// Whose keys the game asked to be asked again.
    rekey: Vec<u32>,
    /// Values clamped by quantization, since the last look.
    pub clamped: Clamped,
    own: Own,
    /// What the last seal found changed of entities that were there before, for a store; none where there is none.
    changes: Option<Vec<(u32, FieldMask)>>,
    /// Of each kind, the fields that are stored only now and then.
    coarse: Vec<FieldMask>,
}

impl World {
    /// A world with nothing in it but the room's state. `seed` draws random IDs.
    #[must_use]
    pub fn new(schema: Schema, seed: [u8; 32]) -> World {
        let mut world = World::empty(schema, seed);
        world.insert_state();
        world
    }

    /// A world with nothing in it, to be filled with what was stored.
    fn empty(schema: Schema, seed: [u8; 32]) -> World {
        // Fixed keys: no order of a hash map may differ between two runs of one seed.
        let hasher = || ahash::RandomState::with_seeds(1, 2, 3, 4);
        let stores =
            schema.entries().iter().filter_map(|k| k.make.as_ref()).map(|make| (make.store)()).collect();
        World {
            stores,
            slots: Slots::default(),
            free: Vec::new(),
            by_id: HashMap::with_hasher(hasher()),
            next_automatic: limits::ID_LEAST,
            random_ids: ChaCha8Rng::from_seed(seed),
            born: Vec::new(),
            dead: Vec::new(),
            rekey: Vec::new(),
            clamped: Clamped::default(),
            own: Own::default(),
            changes: None,
            coarse: schema.entries().iter().map(|entry| entry.kind.coarse()).collect(),
            schema,
        }
    }

    /// The kinds.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    fn entry(&self, slot: u32) -> &KindEntry {
        &self.schema.entries()[self.info(slot).kind as usize]
    }

    fn kind_of<K: Entity>(&self) -> Option<u8> {
        self.schema.entries().iter().position(|k| k.type_id == TypeId::of::<K>()).map(|i| i as u8)
    }

    fn store<K: Entity>(&self, kind: u8) -> Option<&Store<K>> {
        self.stores[kind as usize].as_any().downcast_ref()
    }

    fn store_mut<K: Entity>(stores: &mut [Box<dyn AnyStore>], kind: u8) -> Option<&mut Store<K>> {
        stores[kind as usize].as_any_mut().downcast_mut()
    }

    /// Creates an entity under an automatic or random ID, as its kind says.
    pub fn create<K: Entity>(&mut self, value: K) -> Result<Id<K>, CreateError> {
        let kind = self.game_kind::<K>()?;
        let id = if K::KIND.random_ids { self.random_id() } else { self.automatic_id()? };
        self.insert(kind, id, value).map(|_| Id::assume(id))
    }

    /// Creates an entity under an ID that the game gives.
    pub fn create_with_id<K: Entity>(&mut self, id: u64, value: K) -> Result<Id<K>, CreateError> {
        let kind = self.game_kind::<K>()?;
        let id = EntityId::explicit(id).ok_or(CreateError::BadId { id })?;
        if let Some(slot) = self.slot(id) {
            return Err(CreateError::Taken { id, kind: self.kind_name(slot) });
        }
        self.insert(kind, id, value)?;
        if id.get() < limits::ID_AUTOMATIC_END {
            self.next_automatic = self.next_automatic.max(id.get() + 1);
        }
        Ok(Id::assume(id))
    }

    fn game_kind<K: Entity>(&self) -> Result<u8, CreateError> {
        let kind = self.kind_of::<K>().ok_or(CreateError::UnknownKind { kind: K::KIND.name })?;
        match self.schema.entries()[kind as usize].role {
            Role::Entity => Ok(kind),
            Role::Presence => Err(CreateError::BuiltIn { kind: K::KIND.name }),
            Role::State | Role::Private => Err(CreateError::UnknownKind { kind: K::KIND.name }),
        }
    }

    fn automatic_id(&mut self) -> Result<EntityId, CreateError> {
        if self.next_automatic >= limits::ID_AUTOMATIC_END {
            return Err(CreateError::OutOfIds);
        }
        let id = EntityId::explicit(self.next_automatic).ok_or(CreateError::OutOfIds)?;
        self.next_automatic += 1;
        Ok(id)
    }

    fn random_id(&mut self) -> EntityId {
        loop {
            // 52 random bits above 2^52: taken ones are as good as never met, and drawn again.
            let id = limits::ID_EXPLICIT_MOST + (self.random_ids.next_u64() >> 12);
            if let Some(id) = EntityId::from_wire(id).filter(|id| id.get() > limits::ID_EXPLICIT_MOST)
                && !self.by_id.contains_key(&id)
            {
                return id;
            }
        }
    }

    fn insert<K: Entity>(&mut self, kind: u8, id: EntityId, mut value: K) -> Result<u32, CreateError> {
        let size = Store::admit(id, &mut value, &mut self.clamped)?;
        let slot = self.free_slot();
        let store = Self::store_mut::<K>(&mut self.stores, kind).expect("a kind's store has its type");
        let row = store.push(id, slot, value, size);
        self.occupy(slot, kind, id, row);
        Ok(slot)
    }

    fn free_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or(self.slots.0.len() as u32)
    }

    fn occupy(&mut self, slot: u32, kind: u8, id: EntityId, row: u32) {
        let info = Slot {
            id,
            kind,
            row,
            created: Tick::ZERO,
            private_to: None,
            for_all: self.is_for_all(kind),
            live: true,
        };
        match self.slots.0.get_mut(slot as usize) {
            Some(free) => *free = info,
            None => self.slots.0.push(info),
        }
        self.by_id.insert(id, slot);
        self.born.push(slot);
    }

    /// Deletes an entity that a game may delete; returns whether there was one.
    pub fn delete(&mut self, id: EntityId) -> bool {
        let Some(slot) = self.slot(id) else { return false };
        if self.entry(slot).role != Role::Entity {
            return false;
        }
        self.remove_slot(slot);
        true
    }

    fn remove_slot(&mut self, slot: u32) {
        let info = &mut self.slots.0[slot as usize];
        info.live = false;
        let Slot { id, kind, row, .. } = *info;
        self.by_id.remove(&id);
        if let Some(moved) = self.stores[kind as usize].remove(id, row) {
            self.slots.0[moved as usize].row = row;
        }
        self.dead.push(slot);
    }

    /// The slot of a living entity.
    #[inline]
    #[must_use]
    pub fn slot(&self, id: EntityId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// What is known of a slot, also of one whose entity was deleted since the last seal.
    #[inline]
    #[must_use]
    pub fn info(&self, slot: u32) -> &Slot {
        &self.slots.0[slot as usize]
    }

    /// Whether the slot's entity lives.
    #[must_use]
    pub fn is_live(&self, slot: u32) -> bool {
        self.slots.live(slot).is_some()
    }

    /// How many slots there are, free ones too.
    #[must_use]
    pub fn slot_count(&self) -> usize {
        self.slots.0.len()
    }

    /// How many entities live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether nothing lives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Entities of a kind.
    #[must_use]
    pub fn count<K: Entity>(&self) -> usize {
        self.kind_of::<K>().map_or(0, |kind| self.stores[kind as usize].count())
    }

    /// The name of a slot's kind.
    #[must_use]
    pub fn kind_name(&self, slot: u32) -> &'static str {
        self.entry(slot).kind.name
    }

    /// The type of a slot's kind.
    #[inline]
    #[must_use]
    pub fn type_id(&self, slot: u32) -> TypeId {
        self.entry(slot).type_id
    }

    /// The entity of a slot, if it lives and is of this kind.
    #[inline]
    #[must_use]
    pub fn at<K: Entity>(&self, slot: u32) -> Option<&K> {
        let info = self.slots.live(slot)?;
        Some(self.store::<K>(info.kind)?.value(info.row))
    }

    /// Calls `f` with the entity of each of some living slots, all of this kind.
    #[inline]
    pub fn each_at<K: Entity>(&self, slots: &[u32], mut f: impl FnMut(&K)) {
        let store = self.kind_of::<K>().and_then(|kind| self.store::<K>(kind));
        for value in
            store.into_iter().flat_map(|store| slots.iter().map(|slot| store.value(self.info(*slot).row)))
        {
            f(value);
        }
    }

    /// Whether a living slot is of this kind.
    #[must_use]
    pub fn is<K: Entity>(&self, slot: u32) -> bool {
        self.slots.live(slot).is_some_and(|info| self.store::<K>(info.kind).is_some())
    }

    /// The entity of an ID, if it lives and is of this kind.
    #[inline]
    #[must_use]
    pub fn get<K: Entity>(&self, id: EntityId) -> Option<&K> {
        self.at(self.slot(id)?)
    }

    /// Opens an entity for writing.
    pub fn get_mut<K: Entity>(&mut self, id: EntityId) -> Option<K::Writer<'_>> {
        let slot = self.slot(id)?;
        self.at_mut::<K>(slot)
    }

    /// Opens a slot's entity for writing.
    pub fn at_mut<K: Entity>(&mut self, slot: u32) -> Option<K::Writer<'_>> {
        let info = *self.slots.live(slot)?;
        let store = Self::store_mut::<K>(&mut self.stores, info.kind)?;
        Some(store.write(info.id, info.row, &mut self.clamped))
    }

    /// Entities of a kind in ID order.
    pub fn all<K: Entity>(&self) -> impl DoubleEndedIterator<Item = (Id<K>, &K)> + '_ {
        let store = self.kind_of::<K>().and_then(|kind| self.store::<K>(kind));
        store.into_iter().flat_map(move |store| {
            store.order().map(|(id, slot)| (Id::assume(id), store.value(self.info(slot).row)))
        })
    }

    /// The player who owns a slot's entity.
    #[must_use]
    pub fn owner(&self, slot: u32) -> Option<PlayerId> {
        let info = self.slots.live(slot)?;
        self.stores[info.kind as usize].owner(info.row)
    }

    /// Asks an entity's keys again at the next seal.
    pub fn rekey(&mut self, id: EntityId) {
        if let Some(slot) = self.slot(id) {
            self.rekey.push(slot);
        }
    }

    /// Whether nothing was created, deleted or written since the last seal.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.born.is_empty() && self.dead.is_empty() && !self.stores.iter().any(|store| store.has_writes())
    }

    /// Ends the writes since the last seal and encodes what changed. Until [`end_seal`](Self::end_seal) slots of
    /// deleted entities keep their IDs.
    pub fn seal(&mut self, tick: Tick, records: &mut Records) {
        records.begin(self.slots.0.len());
        self.stores.iter_mut().for_each(|store| store.begin_seal(tick));
        for slot in &self.born {
            let info = &mut self.slots.0[*slot as usize];
            // What was stored keeps its ticks.
            if info.live && info.created == Tick::ZERO {
                info.created = tick;
                self.stores[info.kind as usize].born(info.id, info.row, tick);
            }
        }
        if let Some(changes) = &mut self.changes {
            changes.clear();
        }
        for (store, entry) in self.stores.iter_mut().zip(self.schema.entries()) {
            let changes = self.changes.as_mut().filter(|_| !entry.kind.ephemeral);
            store.seal(tick, &self.slots, entry.wire_index, records, changes);
            store.end_seal(tick);
        }
        records.end();
    }

    /// Created since the last seal, deleted ones left out by the caller.
    #[must_use]
    pub fn born(&self) -> &[u32] {
        &self.born
    }

    /// Deleted since the last seal.
    #[must_use]
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// To be asked for their keys again.
    #[must_use]
    pub fn to_rekey(&self) -> &[u32] {
        &self.rekey
    }

    /// After every view has dropped the deleted slots: they can be used again.
    pub fn end_seal(&mut self) {
        self.born.clear();
        self.rekey.clear();
        self.free.append(&mut self.dead);
    }

    /// The number by which a slot's kind travels; none where it is hidden.
    #[must_use]
    pub fn wire_kind(&self, slot: u32) -> Option<u8> {
        self.entry(slot).wire_index
    }

    /// How many fields a slot's kind has.
    #[must_use]
    pub fn fields(&self, slot: u32) -> usize {
        self.entry(slot).kind.fields.len()
    }

    /// The fields of a slot that changed after a tick.
    #[must_use]
    pub fn changed_since(&self, slot: u32, since: Tick) -> FieldMask {
        let info = self.info(slot);
        self.stores[info.kind as usize].changed_since(info.row, since)
    }

    /// Bytes of a slot's entity with every field encoded.
    #[must_use]
    pub fn size(&self, slot: u32) -> usize {
        let info = self.info(slot);
        self.stores[info.kind as usize].size(info.row)
    }

    /// Appends every field of a slot's entity.
    pub fn put_whole(&self, slot: u32, out: &mut SentBytes) {
        let info = self.info(slot);
        self.stores[info.kind as usize].put_whole(info.row, out);
    }

    /// Appends what changed of a slot's entity after a tick.
    pub fn put_since(&self, slot: u32, mask: FieldMask, since: Tick, out: &mut SentBytes) {
        let info = self.info(slot);
        self.stores[info.kind as usize].put_since(info.row, mask, since, out);
    }
}

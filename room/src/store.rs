//! Tables of entities: a [`Store`] a kind in the room, a [`replica::Table`] a visible kind in a client.

pub mod ahead;
pub mod bits;
pub mod past;
pub mod records;
pub mod replica;
pub mod retained;
pub mod slots;

use std::any::Any;
use std::collections::BTreeMap;

use crate::entity::{Entity, EntityId, FieldMask, PlayerId};
use crate::field::write::{self, Admit, Clamped, Write, WriteError};
use crate::limits;
use crate::tick::Tick;
use crate::wire::record::{self, SentBytes, StoredRecord};
use crate::wire::{DecodeError, Reader};
use past::Past;
use records::Records;
use slots::Slots;

/// A dense table of one kind's entities. A row moves when an earlier one is deleted; slots do not.
pub struct Store<K: Entity> {
    slots: Vec<u32>,
    values: Vec<K>,
    tracks: Vec<K::Track>,
    /// Bytes of each entity with every field encoded.
    sizes: Vec<u32>,
    /// Fields written since the last seal, row after row: a bit a field.
    pending: Vec<u64>,
    /// The tick each field last changed, row after row.
    changed: Vec<Tick>,
    /// Slots with writes since the last seal.
    dirty: Vec<u32>,
    order: BTreeMap<EntityId, u32>,
    /// What its entities were, where the kind has a history.
    past: Option<Past<K>>,
}

impl<K: Entity> Store<K> {
    const FIELDS: usize = K::KIND.fields.len();
    /// Words of a row's pending fields.
    const WORDS: usize = Self::FIELDS.div_ceil(64);
    /// The most bytes of a change besides whole values: tag, kind, two sets of fields, ID, the group's end, and
    /// the bytes by which `Bytes` fields are longer in a change.
    const CHANGE_HEAD: usize = 2 + 2 * Self::FIELDS.div_ceil(8) + 8 + 1 + write::CHANGE_SPARE;

    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Store {
            slots: Vec::new(),
            values: Vec::new(),
            tracks: Vec::new(),
            sizes: Vec::new(),
            pending: Vec::new(),
            changed: Vec::new(),
            dirty: Vec::new(),
            order: BTreeMap::new(),
            past: None,
        }
    }

    /// What its entities were, where the kind has a history.
    #[must_use]
    pub fn past(&self) -> Option<&Past<K>> {
        self.past.as_ref()
    }

    /// Checks and rounds a new entity; returns its size.
    pub fn admit(id: EntityId, value: &mut K, clamped: &mut Clamped) -> Result<u32, WriteError> {
        Admit::check(id, value, &mut K::Track::default(), clamped)
    }

    /// Appends an admitted entity; returns its row.
    pub fn push(&mut self, id: EntityId, slot: u32, value: K, size: u32) -> u32 {
        let row = self.slots.len() as u32;
        self.slots.push(slot);
        self.values.push(value);
        self.tracks.push(K::Track::default());
        self.sizes.push(size);
        self.pending.resize(self.pending.len() + Self::WORDS, 0);
        self.changed.resize(self.changed.len() + Self::FIELDS, Tick::ZERO);
        self.order.insert(id, slot);
        row
    }

    /// The entity of a row.
    #[inline]
    #[must_use]
    pub fn value(&self, row: u32) -> &K {
        &self.values[row as usize]
    }

    /// Opens a row for writing.
    pub fn write<'a>(&'a mut self, id: EntityId, row: u32, clamped: &'a mut Clamped) -> K::Writer<'a> {
        K::writer(self.open(id, row, clamped))
    }

    fn open<'a>(&'a mut self, id: EntityId, row: u32, clamped: &'a mut Clamped) -> Write<'a, K> {
        let row = row as usize;
        Write {
            id,
            slot: self.slots[row],
            value: &mut self.values[row],
            track: &mut self.tracks[row],
            pending: &mut self.pending[row * Self::WORDS..(row + 1) * Self::WORDS],
            size: &mut self.sizes[row],
            dirty: &mut self.dirty,
            clamped,
        }
    }

    /// The first entity of each owner, in ID order.
    pub fn first_owned(&self, slots: &Slots) -> BTreeMap<PlayerId, EntityId> {
        let mut first = BTreeMap::new();
        for (id, slot) in &self.order {
            let owner = slots.live(*slot).and_then(|info| self.value(info.row).owner());
            if let Some(owner) = owner {
                first.entry(owner).or_insert(*id);
            }
        }
        first
    }

    /// IDs and slots in ID order.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = (EntityId, u32)> + '_ {
        self.order.iter().map(|(id, slot)| (*id, *slot))
    }
}

/// A stored entity that a table does not take; nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Its bytes are none of its kind.
    #[error("a stored {kind} does not decode: {error}; put the room's storage back from a copy")]
    Decode {
        /// The kind.
        kind: &'static str,
        /// What is wrong with them.
        error: DecodeError,
    },
    /// JSON of it does not fit the Rust type any more. The schema does not say what a `Json` field holds, so only
    /// reading shows that.
    #[error(
        "a stored {kind} has JSON that does not fit its Rust type: let the type read what it read before \
         (#[serde(default)], #[serde(alias = \"…\")]), or give the field another name and fill it in `migrate`"
    )]
    Json {
        /// The kind.
        kind: &'static str,
    },
    /// It passes a limit, which is lower than when it was stored.
    #[error("a stored {}", .0)]
    Limit(WriteError),
}

/// Moves the last row of a table with so many values a row into the place of another, which goes.
fn move_last<T: Copy>(values: &mut Vec<T>, row: usize, last: usize, each: usize) {
    if row != last {
        values.copy_within(last * each..(last + 1) * each, row * each);
    }
    values.truncate(last * each);
}

/// An entity as a player would have it: of the type of its kind.
pub type Proposal = Box<dyn Any + Send>;

/// A [`Store`] without its type.
pub trait AnyStore: Any + Send + Sync {
    /// For the typed look-up.
    fn as_any(&self) -> &dyn Any;
    /// For the typed look-up.
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// How many entities.
    fn count(&self) -> usize;
    /// Remembers from now on what its entities were, for so many ticks.
    fn keep_past(&mut self, ticks: u64, slots: &Slots);
    /// Whether something was written since the last seal.
    fn has_writes(&self) -> bool;
    /// Removes a row by moving the last one into it; returns the slot of the one that moved.
    fn remove(&mut self, id: EntityId, row: u32) -> Option<u32>;
    /// Appends the default of a state or private kind; returns its row.
    fn push_default(&mut self, make: &dyn Any, id: EntityId, slot: u32) -> u32;
    /// Appends an entity of which these bytes are the whole record, checked as a new one is; returns its row.
    fn load(&mut self, id: EntityId, slot: u32, record: &[u8]) -> Result<u32, LoadError>;
    /// Stamps a new row's fields.
    fn born(&mut self, id: EntityId, row: u32, tick: Tick);
    /// A seal begins, before new entities are stamped.
    fn begin_seal(&mut self, tick: Tick);
    /// It has ended.
    fn end_seal(&mut self, tick: Tick);
    /// Ends the writes since the last seal: stamps what changed and encodes it where the kind is visible.
    /// `wire_kind` is the number by which the kind travels, none for a hidden one.
    /// Says of entities that were there before which fields changed.
    fn seal(
        &mut self,
        tick: Tick,
        slots: &Slots,
        wire_kind: Option<u8>,
        records: &mut Records,
        changes: Option<&mut Vec<(u32, FieldMask)>>,
    );
    /// Says when the fields of a row changed; those past the end of `changed` did when it was created.
    fn restamp(&mut self, row: u32, created: Tick, changed: &[Tick]);
    /// When each field of a row last changed.
    fn change_ticks(&self, row: u32) -> &[Tick];
    /// The player who owns an entity.
    fn owner(&self, row: u32) -> Option<PlayerId>;
    /// A copy of an entity with the fields that a player would have it have, read from `bytes`, which have nothing else.
    /// `None` where one of them is a float that is not finite.
    fn propose(
        &self,
        id: EntityId,
        row: u32,
        mask: FieldMask,
        bytes: &[u8],
        clamped: &mut Clamped,
    ) -> Result<Option<Proposal>, DecodeError>;
    /// Writes the fields of a mask as a proposal of the same kind has them.
    fn adopt(
        &mut self,
        id: EntityId,
        row: u32,
        mask: FieldMask,
        proposal: &Proposal,
        clamped: &mut Clamped,
    ) -> Result<(), WriteError>;
    /// The fields that changed after a tick.
    fn changed_since(&self, row: u32, since: Tick) -> FieldMask;
    /// Bytes of the entity with every field encoded.
    fn size(&self, row: u32) -> usize;
    /// Appends every field of an entity of a visible kind.
    fn put_whole(&self, row: u32, out: &mut SentBytes);
    /// Appends what changed after a tick of an entity of a visible kind.
    fn put_since(&self, row: u32, mask: FieldMask, since: Tick, out: &mut SentBytes);
    /// Appends the entity's whole record, for stores: what [`load`](Self::load) reads. Allocates nothing where `out`
    /// has room.
    fn put_stored(&self, row: u32, out: &mut Vec<u8>);
    /// The entity for stores and inspection.
    fn stored(&self, row: u32) -> StoredRecord;
}

impl<K: Entity> Default for Store<K> {
    fn default() -> Self {
        Store::new()
    }
}

impl<K: Entity> AnyStore for Store<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
    fn count(&self) -> usize {
        self.slots.len()
    }
    fn keep_past(&mut self, ticks: u64, slots: &Slots) {
        let mut past = Past::new(ticks);
        for (id, slot) in &self.order {
            if let Some(info) = slots.live(*slot) {
                past.note(Tick::ZERO, *id, self.value(info.row));
            }
        }
        self.past = Some(past);
    }
    fn has_writes(&self) -> bool {
        !self.dirty.is_empty()
    }

    fn remove(&mut self, id: EntityId, row: u32) -> Option<u32> {
        let row = row as usize;
        self.slots.swap_remove(row);
        self.values.swap_remove(row);
        self.tracks.swap_remove(row);
        self.sizes.swap_remove(row);
        let last = self.slots.len();
        move_last(&mut self.changed, row, last, Self::FIELDS);
        move_last(&mut self.pending, row, last, Self::WORDS);
        self.order.remove(&id);
        if let Some(past) = &mut self.past {
            past.delete(id);
        }
        self.slots.get(row).copied()
    }

    fn push_default(&mut self, make: &dyn Any, id: EntityId, slot: u32) -> u32 {
        let make: &fn() -> K = make.downcast_ref().expect("a kind's default makes that kind");
        let mut value = make();
        let size = Self::admit(id, &mut value, &mut Clamped::default());
        let size = size.expect("the default of a state or private kind is within its limits");
        self.push(id, slot, value, size)
    }

    fn load(&mut self, id: EntityId, slot: u32, record: &[u8]) -> Result<u32, LoadError> {
        let kind = K::KIND.name;
        let mut value: K = record::read_stored(record).map_err(|error| match error {
            DecodeError::Json => LoadError::Json { kind },
            error => LoadError::Decode { kind, error },
        })?;
        // What was stored was rounded then, so nothing is clamped now.
        let size = Self::admit(id, &mut value, &mut Clamped::default()).map_err(LoadError::Limit)?;
        Ok(self.push(id, slot, value, size))
    }

    fn born(&mut self, id: EntityId, row: u32, tick: Tick) {
        let row = row as usize;
        if let Some(past) = &mut self.past {
            past.note(tick, id, &self.values[row]);
        }
        self.changed[row * Self::FIELDS..(row + 1) * Self::FIELDS].fill(tick);
    }

    fn restamp(&mut self, row: u32, created: Tick, changed: &[Tick]) {
        let row = row as usize;
        let stamps = &mut self.changed[row * Self::FIELDS..(row + 1) * Self::FIELDS];
        stamps.fill(created);
        stamps.iter_mut().zip(changed).for_each(|(stamp, tick)| *stamp = *tick);
        record::restored(&mut self.values[row], &mut self.tracks[row], stamps);
    }

    fn change_ticks(&self, row: u32) -> &[Tick] {
        let row = row as usize;
        &self.changed[row * Self::FIELDS..(row + 1) * Self::FIELDS]
    }

    fn begin_seal(&mut self, tick: Tick) {
        if let Some(past) = &mut self.past {
            past.begin(tick);
        }
    }

    fn end_seal(&mut self, tick: Tick) {
        if let Some(past) = &mut self.past {
            past.end(tick);
        }
    }

    fn seal(
        &mut self,
        tick: Tick,
        slots: &Slots,
        wire_kind: Option<u8>,
        records: &mut Records,
        mut noted: Option<&mut Vec<(u32, FieldMask)>>,
    ) {
        let kind = K::SENT.zip(wire_kind);
        let Store { values, tracks, sizes, pending, changed, dirty, past, .. } = self;
        for slot in dirty.drain(..) {
            // A slot is used again only after a seal, so a live one is still the entity that was written.
            let Some(info) = slots.live(slot) else { continue };
            let row = info.row as usize;
            let words = &mut pending[row * Self::WORDS..(row + 1) * Self::WORDS];
            let mask = FieldMask::of_words(words);
            words.fill(0);
            let (value, track) = (&mut values[row], &mut tracks[row]);
            let stamps = &mut changed[row * Self::FIELDS..(row + 1) * Self::FIELDS];
            let found = match kind {
                Some((sent, kind)) if info.created < tick => {
                    // The second set of fields that differences need would not fit a part beside the largest entities.
                    let tight = sizes[row] as usize + Self::CHANGE_HEAD > limits::PART;
                    records.push(slot, info.id, kind, Self::FIELDS, |out, sealed| {
                        if tight {
                            sealed.changed = record::seal_unsent(value, track, mask, tick);
                            (sent.since)(value, track, sealed.changed, Tick(tick.0 - 1), out);
                        } else {
                            (sent.seal)(value, track, &mask, tick, out, sealed);
                        }
                    })
                }
                _ => record::seal_unsent(value, track, mask, tick),
            };
            found.each(Self::FIELDS, |field| stamps[field] = tick);
            if let Some(past) = past.as_mut().filter(|_| !found.is_empty()) {
                past.note(tick, info.id, &values[row]);
            }
            if let Some(noted) = &mut noted
                && info.created < tick
                && !found.is_empty()
            {
                noted.push((slot, found));
            }
        }
    }

    fn owner(&self, row: u32) -> Option<PlayerId> {
        self.values[row as usize].owner()
    }

    fn propose(
        &self,
        id: EntityId,
        row: u32,
        mask: FieldMask,
        bytes: &[u8],
        clamped: &mut Clamped,
    ) -> Result<Option<Proposal>, DecodeError> {
        let mut value = self.value(row).clone();
        let mut r = Reader::new(bytes);
        let finite = record::take_fields(&mut value, mask, &mut r, |field| clamped.add::<K>(id, field))?;
        r.end()?;
        Ok(finite.then(|| Box::new(value) as Proposal))
    }

    fn adopt(
        &mut self,
        id: EntityId,
        row: u32,
        mask: FieldMask,
        proposal: &Proposal,
        clamped: &mut Clamped,
    ) -> Result<(), WriteError> {
        let Some(proposal) = proposal.downcast_ref::<K>() else { return Ok(()) };
        self.open(id, row, clamped).take_over(mask, proposal)
    }

    fn changed_since(&self, row: u32, since: Tick) -> FieldMask {
        let row = row as usize;
        let mut mask = FieldMask::NONE;
        for (field, tick) in self.changed[row * Self::FIELDS..(row + 1) * Self::FIELDS].iter().enumerate() {
            if *tick > since {
                mask.insert(field);
            }
        }
        mask
    }

    fn size(&self, row: u32) -> usize {
        self.sizes[row as usize] as usize
    }

    fn put_whole(&self, row: u32, out: &mut SentBytes) {
        let row = row as usize;
        let sent = K::SENT.expect("only visible kinds are asked for what is sent");
        (sent.whole)(&self.values[row], &self.tracks[row], out);
    }

    fn put_since(&self, row: u32, mask: FieldMask, since: Tick, out: &mut SentBytes) {
        let row = row as usize;
        let sent = K::SENT.expect("only visible kinds are asked for what is sent");
        (sent.since)(&self.values[row], &self.tracks[row], mask, since, out);
    }

    fn put_stored(&self, row: u32, out: &mut Vec<u8>) {
        let row = row as usize;
        record::put_stored(&self.values[row], &self.tracks[row], out);
    }

    fn stored(&self, row: u32) -> StoredRecord {
        StoredRecord::of(self.value(row))
    }
}

#[cfg(test)]
mod tests;

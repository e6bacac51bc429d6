//! A client's rows of one kind, and what changed in them since the game last looked.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use crate::entity::{EntityId, FieldMask, Visible};
use crate::wire::record::{self, Sent, SentBytes};
use crate::wire::{DecodeError, Reader};

/// The entities of one kind that a client holds, in ID order.
#[derive(Debug)]
pub struct Table<K> {
    rows: BTreeMap<EntityId, K>,
    entered: BTreeSet<EntityId>,
    changed: BTreeMap<EntityId, FieldMask>,
    left: BTreeSet<EntityId>,
    /// Copies of what left and is retained.
    retained: BTreeMap<EntityId, K>,
}

impl<K: Visible> Table<K> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Table {
            rows: BTreeMap::new(),
            entered: BTreeSet::new(),
            changed: BTreeMap::new(),
            left: BTreeSet::new(),
            retained: BTreeMap::new(),
        }
    }

    /// An entity.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&K> {
        self.rows.get(&id)
    }

    /// All entities in ID order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (EntityId, &K)> + '_ {
        self.rows.iter().map(|(id, entity)| (*id, entity))
    }

    /// A retained entity, as it was when it left.
    #[must_use]
    pub fn get_retained(&self, id: EntityId) -> Option<&K> {
        self.retained.get(&id)
    }

    /// Retained entities in ID order.
    pub fn retained(&self) -> impl DoubleEndedIterator<Item = (EntityId, &K)> + '_ {
        self.retained.iter().map(|(id, entity)| (*id, entity))
    }

    /// Those that entered and are still here.
    pub fn entered(&self) -> impl Iterator<Item = (EntityId, &K)> + '_ {
        self.entered.iter().filter_map(|id| Some((*id, self.rows.get(id)?)))
    }

    /// Those that were here and changed, with the union of their fields.
    pub fn changed(&self) -> impl Iterator<Item = (EntityId, FieldMask)> + '_ {
        self.changed.iter().map(|(id, mask)| (*id, *mask))
    }

    /// Those that were here and left.
    pub fn left(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.left.iter().copied()
    }
}

impl<K> Table<K> {
    /// Takes an entity out of those that are here, and reports it as left.
    fn remove(&mut self, id: EntityId) -> Option<K> {
        let entity = self.rows.remove(&id);
        // One that entered since the last look was never here for the game. Where an earlier one under its ID
        // has left, that leave stands.
        if entity.is_some() && !self.entered.remove(&id) {
            self.left.insert(id);
        }
        self.changed.remove(&id);
        entity
    }
}

impl<K: Visible> Default for Table<K> {
    fn default() -> Self {
        Table::new()
    }
}

/// A [`Table`] without its type.
pub trait AnyTable: Any + Send + Sync {
    /// For the typed look-up.
    fn as_any(&self) -> &dyn Any;
    /// How many fields the kind has.
    fn fields(&self) -> usize;
    /// How many entities it holds.
    fn count(&self) -> usize;
    /// Reads an entering entity.
    fn enter(&mut self, id: EntityId, r: &mut Reader<'_>) -> Result<(), DecodeError>;
    /// Applies a change.
    fn change(
        &mut self,
        id: EntityId,
        mask: FieldMask,
        differences: FieldMask,
        r: &mut Reader<'_>,
    ) -> Result<(), DecodeError>;
    /// Drops an entity; returns whether it was here.
    fn leave(&mut self, id: EntityId) -> bool;
    /// Drops an entity and retains a copy of it.
    fn retain(&mut self, id: EntityId);
    /// A retained copy enters again, with a change read from `r`.
    fn enter_again(&mut self, id: EntityId, mask: FieldMask, r: &mut Reader<'_>) -> Result<(), DecodeError>;
    /// Drops a retained copy.
    fn forget(&mut self, id: EntityId);
    /// Drops every retained copy.
    fn forget_retained(&mut self);
    /// Drops every entity.
    fn leave_all(&mut self);
    /// Forgets what entered, changed and left.
    fn forget_report(&mut self);
    /// Appends an entity's every field.
    fn put_whole(&self, id: EntityId, out: &mut SentBytes);
}

impl<K: Visible> AnyTable for Table<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn fields(&self) -> usize {
        K::KIND.fields.len()
    }
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn enter(&mut self, id: EntityId, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.rows.insert(id, record::read_whole(r)?);
        self.entered.insert(id);
        Ok(())
    }

    fn change(
        &mut self,
        id: EntityId,
        mask: FieldMask,
        differences: FieldMask,
        r: &mut Reader<'_>,
    ) -> Result<(), DecodeError> {
        let entity = self.rows.get_mut(&id).ok_or(DecodeError::Unknown)?;
        record::apply(entity, mask, differences, r)?;
        if !self.entered.contains(&id) {
            self.changed.entry(id).or_default().union(mask);
        }
        Ok(())
    }

    fn leave(&mut self, id: EntityId) -> bool {
        self.remove(id).is_some()
    }

    fn retain(&mut self, id: EntityId) {
        if let Some(entity) = self.remove(id) {
            self.retained.insert(id, entity);
        }
    }

    fn enter_again(&mut self, id: EntityId, mask: FieldMask, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        let mut entity = self.retained.remove(&id).ok_or(DecodeError::Unknown)?;
        record::apply(&mut entity, mask, FieldMask::NONE, r)?;
        self.rows.insert(id, entity);
        self.entered.insert(id);
        Ok(())
    }

    fn forget(&mut self, id: EntityId) {
        self.retained.remove(&id);
    }

    fn forget_retained(&mut self) {
        self.retained.clear();
    }

    fn leave_all(&mut self) {
        while let Some((id, _)) = self.rows.first_key_value() {
            let id = *id;
            self.leave(id);
        }
    }

    fn forget_report(&mut self) {
        self.entered.clear();
        self.changed.clear();
        self.left.clear();
    }

    fn put_whole(&self, id: EntityId, out: &mut SentBytes) {
        if let Some(entity) = self.rows.get(&id) {
            (Sent::<K>::new().whole)(entity, &K::Track::default(), out);
        }
    }
}

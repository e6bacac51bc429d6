//! A client's rows of one kind, and what changed in them since the game last looked.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use super::ahead::{Ahead, Saved, Writer};
use crate::entity::{EntityId, FieldMask, Visible};
use crate::field::write::Write;
use crate::tick::Tick;
use crate::wire::record::{self, Sent, SentBytes};
use crate::wire::{DecodeError, Reader};

/// The entities of one kind that a client holds, in ID order.
#[derive(Debug)]
pub struct Table<K: Visible> {
    rows: BTreeMap<EntityId, K>,
    entered: BTreeSet<EntityId>,
    changed: BTreeMap<EntityId, FieldMask>,
    left: BTreeSet<EntityId>,
    /// Copies of what left and is retained.
    retained: BTreeMap<EntityId, K>,
    /// What is shown otherwise than the room has it.
    ahead: Ahead<K>,
    /// What to go back to after a look between two ticks.
    saved: Option<Vec<Saved<K>>>,
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
            ahead: Ahead::default(),
            saved: None,
        }
    }

    /// An entity, as it is shown.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&K> {
        self.rows.get(&id).map(|entity| self.shown(id, entity))
    }

    /// An entity, as the room has it.
    #[must_use]
    pub fn confirmed(&self, id: EntityId) -> Option<&K> {
        self.rows.get(&id)
    }

    /// An entity as it looks between two ticks, where it was predicted.
    #[must_use]
    pub fn preview(&self, id: EntityId) -> Option<&K> {
        self.ahead.preview(id)
    }

    /// All entities that are predicted, as they look between two ticks.
    pub fn previews(&self) -> impl Iterator<Item = (EntityId, &K)> + '_ {
        self.ahead.previews()
    }

    /// The fields of an entity that the player wrote and of which the room has said nothing yet.
    #[must_use]
    pub fn written(&self, id: EntityId) -> FieldMask {
        self.ahead.written(id)
    }

    /// All entities in ID order, as the room has them.
    pub fn all_confirmed(&self) -> impl Iterator<Item = (EntityId, &K)> + '_ {
        self.rows.iter().map(|(id, entity)| (*id, entity))
    }

    /// All entities in ID order, as they are shown.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (EntityId, &K)> + '_ {
        self.rows.iter().map(|(id, entity)| (*id, self.shown(*id, entity)))
    }

    fn shown<'a>(&'a self, id: EntityId, room: &'a K) -> &'a K {
        if self.ahead.is_empty() { room } else { self.ahead.get(id).unwrap_or(room) }
    }

    /// Opens an entity for writing ahead of the room.
    pub fn open(&mut self, id: EntityId, writer: Writer) -> Option<Write<'_, K>> {
        Some(self.ahead.open(id, self.rows.get(&id)?, writer))
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
        self.entered.iter().filter_map(|id| Some((*id, self.get(*id)?)))
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

impl<K: Visible> Table<K> {
    /// Takes an entity out of those that are here, and reports it as left.
    fn remove(&mut self, id: EntityId) -> Option<K> {
        let entity = self.rows.remove(&id);
        // One that entered since the last look was never here for the game. Where an earlier one under its ID
        // has left, that leave stands.
        if entity.is_some() && !self.entered.remove(&id) {
            self.left.insert(id);
        }
        self.changed.remove(&id);
        self.ahead.left(id);
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
    /// For the typed look-up.
    fn as_any_mut(&mut self) -> &mut dyn Any;
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
    /// Appends an entity's every field, as the room has it.
    fn put_whole(&self, id: EntityId, out: &mut SentBytes);
    /// Calls `put` with each entity of which something that the player wrote is still to go, and its fields as a message
    /// of writes has them. It returns whether they go now, in a message of this number.
    fn send_writes(&mut self, number: u64, put: &mut dyn FnMut(EntityId, &[u8]) -> bool);
    /// What the player wrote and the room has said nothing of is to go once more.
    fn send_writes_again(&mut self);
    /// What the room has is what it made of the player's writes up to a number.
    fn settle_writes(&mut self, number: u64);
    /// Takes back what calls are expected to do.
    fn uncall(&mut self);
    /// Takes back what was predicted.
    fn unstep(&mut self);
    /// A tick was predicted.
    fn stepped(&mut self, tick: Tick);
    /// Whether what was predicted for a tick is another end than the room came to.
    fn differs(&self, tick: Tick) -> bool;
    /// What was predicted up to a tick came true, or does not count any more.
    fn forget_steps(&mut self, tick: Tick);
    /// What is stepped from here on is a look between two ticks, up to [`end_preview`](Self::end_preview).
    fn begin_preview(&mut self);
    /// All is as it was, and what was stepped since is what [`Table::preview`] has.
    fn end_preview(&mut self);
}

impl<K: Visible> AnyTable for Table<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
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
        if !self.ahead.is_empty() {
            self.ahead.changed(id, entity);
        }
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
        self.ahead.clear();
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

    fn send_writes(&mut self, number: u64, put: &mut dyn FnMut(EntityId, &[u8]) -> bool) {
        self.ahead.send(number, &self.rows, put);
    }

    fn send_writes_again(&mut self) {
        self.ahead.send_again();
    }

    fn settle_writes(&mut self, number: u64) {
        self.ahead.settle(number, &self.rows);
    }

    fn uncall(&mut self) {
        self.ahead.uncall(&self.rows);
    }

    fn unstep(&mut self) {
        self.ahead.unstep(&self.rows);
    }

    fn stepped(&mut self, tick: Tick) {
        self.ahead.stepped(tick);
    }

    fn differs(&self, tick: Tick) -> bool {
        self.ahead.differs(tick, &self.rows)
    }

    fn forget_steps(&mut self, tick: Tick) {
        self.ahead.forget_past(tick);
    }

    fn begin_preview(&mut self) {
        self.saved = Some(self.ahead.save());
    }

    fn end_preview(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.ahead.restore(saved);
        }
    }
}

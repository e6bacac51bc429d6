//! What a client holds: the entities it was sent, and what changed in them since the game last looked.

mod ahead;
mod drawn;

use std::collections::HashMap;

use room::entity::{EntityId, FieldMask, Id, Visible};
use room::faults::{self, Fault};
use room::limits;
use room::schema::Role;
use room::store::replica::{AnyTable, Table};
use room::store::retained::Retained;
use room::wire::deflate::Inflater;
use room::wire::message;
use room::wire::record::SentBytes;
use room::wire::update::{self, Blocks, Part, UpdateHead};
use room::wire::{DecodeError, Reader, ViewHash};
use room::{PlayerId, Presence, Schema, Tick};

use crate::interpolate::Interpolation;

/// An entity that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<K> {
    /// Which.
    pub id: Id<K>,
    /// The union of the fields of all its changes.
    pub fields: FieldMask,
}

/// An update that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The tick of the room that the replica now shows.
    pub tick: Tick,
    /// The newest tick up to which nothing that the replica holds lags behind.
    pub complete: Tick,
    /// Whether anything was in it.
    pub changed: bool,
    /// How many entities were kept as they were, where it is the first one of a continued session.
    pub restored: Option<usize>,
}

/// A client's copy of what its player may see. No I/O, no clock.
///
/// Parts of an update are kept until the last has come and are then applied together. After an error the
/// replica holds nothing that can be trusted: [`clear`](Replica::clear) it.
pub struct Replica {
    tables: Tables,
    /// The open update: its head, and the content of its parts, one behind the other.
    head: Option<UpdateHead>,
    content: Vec<u8>,
    /// Where each part's content ends.
    ends: Vec<usize>,
    inflater: Inflater,
    tick: Tick,
    complete: Tick,
    // Whether the next update is the first one after a `rebase`.
    rebased: bool,
    record: Option<Vec<u8>>,
}

/// The periods of entities that are not sent at every send.
pub(crate) type Periods = HashMap<EntityId, u32, ahash::RandomState>;

struct Tables {
    by_wire_kind: Vec<Box<dyn AnyTable>>,
    kinds: HashMap<EntityId, u8, ahash::RandomState>,
    // Of those that are not sent at every send.
    periods: Periods,
    private: Option<u8>,
    private_id: Option<EntityId>,
    // The kinds of what left and is retained.
    retained: Retained<u8>,
    // Entities that left in the update being applied.
    left: usize,
    drawn: Interpolation,
}

impl Replica {
    /// An empty replica.
    #[must_use]
    pub fn new(schema: &Schema) -> Replica {
        let visible = schema.entries().iter().filter(|entry| entry.wire_index.is_some());
        let made = visible.clone().filter_map(|entry| Some((entry.make.as_ref()?.table?)()));
        let private = visible.clone().find(|entry| entry.role == Role::Private);
        Replica {
            tables: Tables {
                by_wire_kind: made.collect(),
                kinds: HashMap::with_hasher(ahash::RandomState::with_seeds(1, 2, 3, 4)),
                periods: HashMap::with_hasher(ahash::RandomState::with_seeds(1, 2, 3, 4)),
                private: private.and_then(|entry| entry.wire_index),
                private_id: None,
                retained: Retained::new(0),
                left: 0,
                drawn: Interpolation::default(),
            },
            head: None,
            content: Vec::new(),
            ends: Vec::new(),
            inflater: Inflater::new(),
            tick: Tick::ZERO,
            complete: Tick::ZERO,
            rebased: false,
            record: None,
        }
    }

    /// Keeps every inflated byte, for tests that look for what should not be there.
    pub fn record(&mut self) {
        self.record.get_or_insert_default();
    }

    /// Every plain byte of updates since [`record`](Self::record).
    #[must_use]
    pub fn recorded(&self) -> &[u8] {
        self.record.as_deref().unwrap_or_default()
    }

    /// Takes a part message behind its tag. The last part of an update applies it.
    pub fn handle_part(&mut self, bytes: &[u8]) -> Result<Option<Applied>, DecodeError> {
        let part = Part::decode(bytes)?;
        match (part.head, self.head) {
            (Some(head), None) if head.tick > self.tick || self.tick == Tick::ZERO || self.rebased => {
                self.head = Some(head);
            }
            (None, Some(_)) => {}
            _ => return Err(DecodeError::Order),
        }
        let before = self.content.len();
        if let Some((plain, packed)) = part.deflated {
            self.inflater.inflate(packed, plain, &mut self.content)?;
        }
        self.content.extend_from_slice(part.plain);
        if let Some(record) = &mut self.record {
            record.extend_from_slice(&self.content[before..]);
        }
        // A part without content that is not the last says nothing, and an endless row of them would be kept.
        if !part.last && self.content.len() == before {
            return Err(DecodeError::Order);
        }
        if self.content.len() > limits::REPLICA_UPDATE {
            return Err(DecodeError::TooLong);
        }
        self.ends.push(self.content.len());
        if part.last { self.apply().map(Some) } else { Ok(None) }
    }

    fn apply(&mut self) -> Result<Applied, DecodeError> {
        let head = self.head.take().ok_or(DecodeError::Order)?;
        let (mut from, held) = (0, self.len());
        self.tables.left = 0;
        for end in self.ends.drain(..) {
            update::read_blocks(&self.content[from..end], &mut self.tables)?;
            from = end;
        }
        self.tables.forget_oldest();
        let changed = from > 0;
        self.content.clear();
        if head.hash.is_some_and(|hash| hash != self.hash()) {
            return Err(DecodeError::Hash);
        }
        (self.tick, self.complete) = (head.tick, head.complete);
        self.tables.applied((head.tick, head.complete, changed));
        // Leaves come first in an update: they name entities that were held before it.
        let restored = std::mem::take(&mut self.rebased).then(|| held.saturating_sub(self.tables.left));
        Ok(Applied { tick: head.tick, complete: head.complete, changed, restored })
    }

    /// What it holds, for a room that is to continue from there: the tick up to which it has everything, and IDs
    /// in order. Entities for which a claim has no room are dropped, and reported as left.
    pub fn claim(&mut self) -> (Tick, Vec<EntityId>) {
        self.discard_update();
        let mut ids: Vec<EntityId> = self.tables.kinds.keys().copied().collect();
        ids.sort_unstable();
        for id in ids.split_off(message::claim_fits(ids.iter().copied())) {
            // It is held, so its kind is known.
            let _ = self.tables.gone(id);
        }
        let complete = if faults::is(Fault::ResumeSinceTick) { self.tick } else { self.complete };
        (complete, ids)
    }

    /// A room continues from the last [`claim`](Self::claim). The next update may be of any tick, for the room's
    /// ticks may have started over; until it has come, the claim stays what it was. Nothing is retained any more.
    pub fn rebase(&mut self) {
        self.discard_update();
        self.tables.periods.clear();
        self.tables.retain(self.retains());
        self.rebased = true;
    }

    /// The room lets it keep so many entities after they left, as its welcome says. Nothing is retained yet.
    pub fn retain(&mut self, most: usize) {
        self.tables.retain(most);
    }

    /// How many entities it keeps after they left, at the most.
    #[must_use]
    pub fn retains(&self) -> usize {
        self.tables.retained.most()
    }

    /// How many parts of an update have come that are not all.
    #[must_use]
    pub fn open_parts(&self) -> usize {
        self.ends.len()
    }

    /// Drops everything; what was here is reported as left. Nothing is retained any more.
    pub fn clear(&mut self) {
        for table in &mut self.tables.by_wire_kind {
            table.leave_all();
        }
        self.tables.kinds.clear();
        self.tables.periods.clear();
        self.tables.drawn.leave_all();
        self.tables.retain(self.retains());
        self.tables.private_id = None;
        self.rebased = false;
        self.discard_update();
        (self.tick, self.complete) = (Tick::ZERO, Tick::ZERO);
    }

    /// Drops the parts of an update that the link broke off.
    pub fn discard_update(&mut self) {
        self.head = None;
        self.content.clear();
        self.ends.clear();
    }

    /// Forgets what entered, changed and left: the game has looked.
    pub fn forget_report(&mut self) {
        for table in &mut self.tables.by_wire_kind {
            table.forget_report();
        }
    }

    /// A hash of all that is held, as the room makes it.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut all: Vec<(EntityId, u8)> = self.tables.kinds.iter().map(|(id, kind)| (*id, *kind)).collect();
        all.sort_unstable();
        let mut hash = ViewHash::new();
        let mut whole = SentBytes::default();
        for (id, kind) in all {
            whole.reset();
            self.tables.by_wire_kind[kind as usize].put_whole(id, &mut whole);
            hash.add(id, whole.as_slice());
        }
        hash.finish()
    }

    /// The tick of the last update applied.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The newest tick up to which nothing that is held lags behind.
    #[must_use]
    pub fn complete(&self) -> Tick {
        self.complete
    }

    /// How many entities are held, state and private state included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tables.kinds.len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.kinds.is_empty()
    }

    fn table<K: Visible>(&self) -> Option<&Table<K>> {
        table(&self.tables.by_wire_kind).map(|(_, table)| table)
    }

    /// An entity.
    #[must_use]
    pub fn get<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        self.table::<K>()?.get(id.entity())
    }

    /// All entities of a kind in ID order.
    pub fn all<K: Visible>(&self) -> impl DoubleEndedIterator<Item = (Id<K>, &K)> + '_ {
        self.table::<K>().into_iter().flat_map(Table::all).map(|(id, entity)| (Id::assume(id), entity))
    }

    /// How many of the room's sends lie between two records of an entity: 1 unless it is far away and the room's
    /// interest has rates by distance. What it shows may be as old as that.
    #[must_use]
    pub fn period(&self, id: impl Into<EntityId>) -> u32 {
        self.tables.periods.get(&id.into()).copied().unwrap_or(1)
    }

    /// An entity that left and is retained, as it was then. It is no longer seen: what became of it, even that it
    /// was deleted, is not known. If it enters again it is an entity like any other.
    #[must_use]
    pub fn get_retained<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        self.table::<K>()?.get_retained(id.entity())
    }

    /// Entities of a kind that left and are retained, in ID order; see [`get_retained`](Self::get_retained).
    pub fn retained<K: Visible>(&self) -> impl DoubleEndedIterator<Item = (Id<K>, &K)> + '_ {
        self.table::<K>().into_iter().flat_map(Table::retained).map(|(id, entity)| (Id::assume(id), entity))
    }

    /// The IDs of all that is retained, in the order of leaving, which is the order in which they are forgotten.
    pub fn retained_ids(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.tables.retained.iter().map(|(id, _)| id)
    }

    /// The room's state, once it has come.
    #[must_use]
    pub fn state<K: Visible>(&self) -> Option<&K> {
        self.table::<K>()?.get(EntityId::STATE)
    }

    /// The player's own private state, once it has come.
    #[must_use]
    pub fn private<K: Visible>(&self) -> Option<&K> {
        self.table::<K>()?.get(self.tables.private_id?)
    }

    /// A player's presence, where this client sees it. It looks at all that it sees.
    #[must_use]
    pub fn presence(&self, player: PlayerId) -> Option<&Presence> {
        self.all::<Presence>().map(|(_, presence)| presence).find(|presence| presence.player == player)
    }

    /// Everyone whose presence this client sees, held players too, in the order of their numbers.
    #[must_use]
    pub fn presences(&self) -> Vec<&Presence> {
        let mut all: Vec<_> = self.all::<Presence>().map(|(_, presence)| presence).collect();
        all.sort_by_key(|presence| presence.player);
        all
    }

    /// Entities that entered since the game last looked, and are still here.
    pub fn entered<K: Visible>(&self) -> impl Iterator<Item = (Id<K>, &K)> + '_ {
        self.table::<K>().into_iter().flat_map(Table::entered).map(|(id, entity)| (Id::assume(id), entity))
    }

    /// Entities that were here and changed since the game last looked.
    pub fn changed<K: Visible>(&self) -> impl Iterator<Item = Change<K>> + '_ {
        let changed = self.table::<K>().into_iter().flat_map(Table::changed);
        changed.map(|(id, fields)| Change { id: Id::assume(id), fields })
    }

    /// Entities that were here and left since the game last looked.
    pub fn left<K: Visible>(&self) -> impl Iterator<Item = Id<K>> + '_ {
        self.table::<K>().into_iter().flat_map(Table::left).map(Id::assume)
    }
}

/// The table of a kind, and the number by which it travels.
fn table<K: Visible>(tables: &[Box<dyn AnyTable>]) -> Option<(usize, &Table<K>)> {
    tables.iter().enumerate().find_map(|(kind, table)| Some((kind, table.as_any().downcast_ref()?)))
}

impl Tables {
    fn table(&mut self, kind: u8) -> Result<&mut Box<dyn AnyTable>, DecodeError> {
        self.by_wire_kind.get_mut(kind as usize).ok_or(DecodeError::Unknown)
    }

    /// Begins anew with nothing retained.
    fn retain(&mut self, most: usize) {
        self.retained = Retained::new(most);
        self.by_wire_kind.iter_mut().for_each(|table| table.forget_retained());
    }

    /// Forgets what is past the number that is retained.
    fn forget_oldest(&mut self) {
        let Tables { retained, by_wire_kind, .. } = self;
        retained.settle(|id, kind| by_wire_kind[kind as usize].forget(id));
    }

    /// An update has been read: its tick, up to where nothing lags behind, and whether anything was in it.
    fn applied(&mut self, update: (Tick, Tick, bool)) {
        self.drawn.applied(&self.by_wire_kind, update, &self.periods);
    }

    /// Takes the ID of one that leaves out; returns its kind.
    fn remove(&mut self, id: EntityId) -> Result<u8, DecodeError> {
        let kind = self.kinds.remove(&id).ok_or(DecodeError::Unknown)?;
        self.periods.remove(&id);
        self.drawn.leave(kind, id);
        self.left += 1;
        if self.private_id == Some(id) {
            self.private_id = None;
        }
        Ok(kind)
    }

    /// Adds the ID of one that entered.
    fn insert(&mut self, kind: u8, id: EntityId) -> Result<(), DecodeError> {
        if self.kinds.insert(id, kind).is_some() {
            return Err(DecodeError::Unknown);
        }
        if self.private == Some(kind) {
            self.private_id = Some(id);
        }
        self.drawn.touch(kind, id, FieldMask::NONE, &self.periods);
        Ok(())
    }
}

impl Blocks for Tables {
    fn leave(&mut self, id: EntityId) -> Result<(), DecodeError> {
        if self.retained.most() == 0 {
            return self.gone(id);
        }
        let kind = self.remove(id)?;
        self.table(kind)?.retain(id);
        self.retained.push(id, kind);
        Ok(())
    }

    fn gone(&mut self, id: EntityId) -> Result<(), DecodeError> {
        let kind = self.remove(id)?;
        self.table(kind)?.leave(id);
        Ok(())
    }

    fn period(&mut self, id: EntityId, sends: u32) -> Result<(), DecodeError> {
        if !self.kinds.contains_key(&id) {
            return Err(DecodeError::Unknown);
        }
        if sends == 1 {
            self.periods.remove(&id);
        } else {
            self.periods.insert(id, sends);
        }
        Ok(())
    }

    fn enter(&mut self, kind: u8, id: EntityId, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.table(kind)?.enter(id, r)?;
        if let Some(before) = self.retained.take(id) {
            // Another under its ID, or as good as another.
            self.table(before)?.forget(id);
        }
        self.insert(kind, id)
    }

    fn enter_again(
        &mut self,
        kind: u8,
        id: EntityId,
        mask: FieldMask,
        r: &mut Reader<'_>,
    ) -> Result<(), DecodeError> {
        if self.retained.take(id) != Some(kind) {
            return Err(DecodeError::Unknown);
        }
        self.table(kind)?.enter_again(id, mask, r)?;
        self.insert(kind, id)
    }

    fn fields(&self, kind: u8) -> Result<usize, DecodeError> {
        self.by_wire_kind.get(kind as usize).map(|table| table.fields()).ok_or(DecodeError::Unknown)
    }

    fn change(
        &mut self,
        kind: u8,
        id: EntityId,
        mask: FieldMask,
        differences: FieldMask,
        r: &mut Reader<'_>,
    ) -> Result<(), DecodeError> {
        self.table(kind)?.change(id, mask, differences, r)?;
        self.drawn.touch(kind, id, mask, &self.periods);
        Ok(())
    }
}

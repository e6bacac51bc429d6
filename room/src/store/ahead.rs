//! What a client shows of entities ahead of the room: what its player wrote of them, and what was predicted.
//!
//! What the room said stays as it is beneath, for that is what its next change builds on.

use std::collections::{BTreeMap, VecDeque};

use crate::entity::{Entity, EntityId, FieldMask, Visible};
use crate::field::write::{Clamped, Write, size_of};
use crate::limits;
use crate::tick::Tick;
use crate::wire::record;

/// Bytes of an entity's fields that go in one message of writes.
const MOST: usize = limits::CLIENT_PAYLOAD - 64;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The player, by hand.
    Player,
    /// A step.
    Step,
    /// What a call is expected to do.
    Call,
}

/// An entity that is shown otherwise than the room has it.
#[derive(Debug)]
struct Shown<K: Entity> {
    value: K,
    track: K::Track,
    size: u32,
    /// Fields that the last writer wrote, and who that is.
    pending: [u64; 4],
    writer: Writer,
    /// Fields that the player wrote and of which the room has said nothing yet, each with the number of the message
    /// that had it last; 0 where it is still to go.
    writes: BTreeMap<u8, u64>,
    /// Those fields as the player wrote them, whatever steps made of them; none where she wrote nothing.
    mine: Option<Box<K>>,
    /// Fields that were predicted.
    stepped: FieldMask,
    /// Whether a step had it open.
    opened: bool,
    /// Fields that calls are expected to change.
    called: FieldMask,
}

/// An entity as it was before a look between two ticks.
#[derive(Debug)]
pub(super) struct Saved<K> {
    id: EntityId,
    value: K,
    size: u32,
    stepped: FieldMask,
}

/// Entities as they were predicted to be after a tick.
type Past<K> = (Tick, Vec<(EntityId, K)>);

/// The entities of one kind that are shown otherwise than the room has them.
#[derive(Debug)]
pub(super) struct Ahead<K: Entity> {
    shown: BTreeMap<EntityId, Shown<K>>,
    past: VecDeque<Past<K>>,
    /// How those that were predicted look between two ticks.
    preview: BTreeMap<EntityId, K>,
    /// What writers note, which nobody asks a client for.
    dirty: Vec<u32>,
    clamped: Clamped,
}

impl<K: Entity> Default for Ahead<K> {
    fn default() -> Self {
        Ahead {
            shown: BTreeMap::new(),
            past: VecDeque::new(),
            preview: BTreeMap::new(),
            dirty: Vec::new(),
            clamped: Clamped::default(),
        }
    }
}

impl<K: Entity> Shown<K> {
    fn of(room: &K) -> Shown<K> {
        Shown {
            value: room.clone(),
            track: K::Track::default(),
            // Not checked: a room may lie.
            size: size_of(room),
            pending: [0; 4],
            writer: Writer::Step,
            writes: BTreeMap::new(),
            mine: None,
            stepped: FieldMask::NONE,
            opened: false,
            called: FieldMask::NONE,
        }
    }

    /// Takes note of what was written since the last call.
    fn note(&mut self) {
        let mask = FieldMask::of_words(&std::mem::take(&mut self.pending));
        match self.writer {
            Writer::Step => self.stepped.union(mask),
            Writer::Call => self.called.union(mask),
            Writer::Player if mask.is_empty() => {}
            Writer::Player => {
                mask.iter().for_each(|field| _ = self.writes.insert(field as u8, 0));
                let mine = self.mine.get_or_insert_with(|| Box::new(self.value.clone()));
                record::copy_fields(&self.value, mask, &mut **mine);
            }
        }
    }

    fn written(&self) -> FieldMask {
        let mut mask = FieldMask::NONE;
        self.writes.keys().for_each(|field| mask.insert((*field).into()));
        mask
    }

    /// Becomes what the room has, but for what the player wrote, and for fields of a mask, which stay as they are. What
    /// calls are expected to do is to be said anew.
    fn rebase(&mut self, room: &K, keep: FieldMask) {
        let written = self.written();
        let shown = std::mem::replace(&mut self.value, room.clone());
        match &self.mine {
            Some(mine) if !written.is_empty() => record::copy_fields(&**mine, written, &mut self.value),
            _ => self.mine = None,
        }
        record::copy_fields(&shown, keep, &mut self.value);
        (self.track, self.size) = (K::Track::default(), size_of(&self.value));
        self.called = FieldMask::NONE;
    }

    /// Of fields that are to go, those that fit in a message, and those that fit in none.
    fn portion(&self, unsent: FieldMask, fields: &mut Vec<u8>) -> (FieldMask, FieldMask) {
        let (mut fits, mut never) = (FieldMask::NONE, FieldMask::NONE);
        let Some(mine) = &self.mine else { return (fits, never) };
        // The set stands before the values, and has the same length whatever is in it.
        unsent.put(K::KIND.fields.len(), fields);
        let head = fields.len();
        for field in unsent.iter() {
            let (before, mut one) = (fields.len(), FieldMask::NONE);
            one.insert(field);
            record::put_fields(&**mine, one, fields);
            if fields.len() <= MOST {
                fits.insert(field);
                continue;
            }
            if head + fields.len() - before > MOST {
                never.insert(field);
            }
            fields.truncate(before);
        }
        let mut set = Vec::new();
        fits.put(K::KIND.fields.len(), &mut set);
        fields[..head].copy_from_slice(&set);
        (fits, never)
    }
}

impl<K: Visible> Ahead<K> {
    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// An entity as it is shown, where that is not as the room has it.
    pub(super) fn get(&self, id: EntityId) -> Option<&K> {
        self.shown.get(&id).map(|shown| &shown.value)
    }

    /// An entity as it looks between two ticks, where it was predicted.
    pub(super) fn preview(&self, id: EntityId) -> Option<&K> {
        self.preview.get(&id)
    }

    /// All that are predicted, as they look between two ticks.
    pub(super) fn previews(&self) -> impl Iterator<Item = (EntityId, &K)> + '_ {
        self.preview.iter().map(|(id, entity)| (*id, entity))
    }

    /// What the player wrote of an entity and the room has said nothing of.
    pub(super) fn written(&self, id: EntityId) -> FieldMask {
        let Some(shown) = self.shown.get(&id) else { return FieldMask::NONE };
        let mut mask = shown.written();
        if shown.writer == Writer::Player {
            mask.union(FieldMask::of_words(&shown.pending));
        }
        mask
    }

    /// Opens an entity for writing.
    pub(super) fn open(&mut self, id: EntityId, room: &K, writer: Writer) -> Write<'_, K> {
        let shown = self.shown.entry(id).or_insert_with(|| Shown::of(room));
        shown.note();
        shown.writer = writer;
        shown.opened |= writer == Writer::Step;
        self.dirty.clear();
        let words = K::KIND.fields.len().div_ceil(64);
        Write {
            id,
            slot: 0,
            value: &mut shown.value,
            track: &mut shown.track,
            pending: &mut shown.pending[..words],
            size: &mut shown.size,
            dirty: &mut self.dirty,
            clamped: &mut self.clamped,
        }
    }

    /// The room has an entity otherwise now.
    pub(super) fn changed(&mut self, id: EntityId, room: &K) {
        if let Some(shown) = self.shown.get_mut(&id) {
            shown.note();
            shown.rebase(room, shown.stepped);
        }
    }

    /// An entity is not here any more.
    pub(super) fn left(&mut self, id: EntityId) {
        self.shown.remove(&id);
        self.preview.remove(&id);
    }

    pub(super) fn clear(&mut self) {
        *self = Ahead::default();
    }

    /// Calls `put` with each entity of which something that the player wrote is still to go: the fields, and their
    /// values. It returns whether that goes now, in a message of this number. What fits in no message is taken back.
    pub(super) fn send(
        &mut self,
        number: u64,
        rows: &BTreeMap<EntityId, K>,
        put: &mut dyn FnMut(EntityId, &[u8]) -> bool,
    ) {
        let mut fields = Vec::new();
        for (id, shown) in &mut self.shown {
            shown.note();
            let mut mask = FieldMask::NONE;
            let unsent = shown.writes.iter().filter(|(_, sent)| **sent == 0);
            unsent.for_each(|(field, _)| mask.insert((*field).into()));
            if mask.is_empty() {
                continue;
            }
            fields.clear();
            let (fits, never) = shown.portion(mask, &mut fields);
            if !fits.is_empty() && put(*id, &fields) {
                fits.iter().for_each(|field| _ = shown.writes.insert(field as u8, number));
            }
            if !never.is_empty() {
                shown.writes.retain(|field, _| !never.has((*field).into()));
                rows.get(id).into_iter().for_each(|room| shown.rebase(room, shown.stepped));
            }
        }
    }

    /// Takes back what calls are expected to do: it is to be said anew.
    pub(super) fn uncall(&mut self, rows: &BTreeMap<EntityId, K>) {
        for (id, shown) in &mut self.shown {
            shown.note();
            if let Some(room) = rows.get(id).filter(|_| !shown.called.is_empty()) {
                shown.rebase(room, shown.stepped);
            }
        }
        self.tidy();
    }

    /// A new connection: what the room has said nothing of is to go once more.
    pub(super) fn send_again(&mut self) {
        for shown in self.shown.values_mut() {
            shown.note();
            shown.writes.values_mut().for_each(|number| *number = 0);
        }
    }

    /// What the room has is what it made of the player's writes up to a number.
    pub(super) fn settle(&mut self, number: u64, rows: &BTreeMap<EntityId, K>) {
        for (id, shown) in &mut self.shown {
            shown.note();
            let before = shown.writes.len();
            shown.writes.retain(|_, sent| *sent == 0 || *sent > number);
            if let Some(room) = rows.get(id).filter(|_| shown.writes.len() < before) {
                shown.rebase(room, shown.stepped);
            }
        }
        self.tidy();
    }

    /// Takes back what was predicted.
    pub(super) fn unstep(&mut self, rows: &BTreeMap<EntityId, K>) {
        for (id, shown) in &mut self.shown {
            shown.note();
            (shown.stepped, shown.opened) = (FieldMask::NONE, false);
            if let Some(room) = rows.get(id) {
                shown.rebase(room, FieldMask::NONE);
            }
        }
        self.past.clear();
        self.preview.clear();
        self.tidy();
    }

    /// Forgets entities that are as the room has them.
    fn tidy(&mut self) {
        self.shown.retain(|_, shown| {
            !shown.writes.is_empty() || !shown.stepped.is_empty() || !shown.called.is_empty()
        });
    }

    /// A tick was predicted.
    pub(super) fn stepped(&mut self, tick: Tick) {
        let mut past = Vec::new();
        for (id, shown) in &mut self.shown {
            shown.note();
            if !shown.stepped.is_empty() {
                past.push((*id, shown.value.clone()));
            }
        }
        if !past.is_empty() {
            self.past.push_back((tick, past));
        }
    }

    /// Whether what was predicted for a tick is another end than the room came to.
    pub(super) fn differs(&self, tick: Tick, rows: &BTreeMap<EntityId, K>) -> bool {
        let Some((_, past)) = self.past.iter().find(|(of, _)| *of == tick) else { return false };
        past.iter().any(|(id, predicted)| {
            let (Some(room), Some(shown)) = (rows.get(id), self.shown.get(id)) else { return false };
            !record::same_fields(room, predicted, shown.stepped)
        })
    }

    /// What was predicted up to a tick came true, or does not count any more.
    pub(super) fn forget_past(&mut self, tick: Tick) {
        while self.past.front().is_some_and(|(of, _)| *of <= tick) {
            self.past.pop_front();
        }
    }

    /// Before a look between two ticks: what to go back to.
    pub(super) fn save(&mut self) -> Vec<Saved<K>> {
        let save = |(id, shown): (&EntityId, &mut Shown<K>)| {
            shown.note();
            Saved { id: *id, value: shown.value.clone(), size: shown.size, stepped: shown.stepped }
        };
        self.shown.iter_mut().map(save).collect()
    }

    /// After it: what was shown is a preview, and all is as it was.
    pub(super) fn restore(&mut self, saved: Vec<Saved<K>>) {
        self.preview.clear();
        let mut shown = std::mem::take(&mut self.shown);
        for Saved { id, value, size, stepped } in saved {
            let Some(mut of) = shown.remove(&id) else { continue };
            of.note();
            if of.opened {
                self.preview.insert(id, std::mem::replace(&mut of.value, value));
                (of.track, of.size) = (K::Track::default(), size);
            }
            of.stepped = stepped;
            self.shown.insert(id, of);
        }
        // Those that only the look has touched.
        for (id, mut of) in shown {
            of.note();
            self.preview.insert(id, of.value);
        }
    }
}

#[cfg(test)]
mod tests;

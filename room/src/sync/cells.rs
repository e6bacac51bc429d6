//! The keys of one part of an interest at work: each is a cell with its members and its viewers.
//!
//! A member has a place in its cell and keeps it for as long as it has the key, so that what a viewer sees of a cell
//! is a few words of bits that stay good from seal to seal. A place that became free is used again only in a later
//! seal: a bit that is set before and after a seal is the same entity.

mod cell;
#[cfg(test)]
mod circle_tests;

use std::collections::HashMap;

use smallvec::SmallVec;

use super::keys::{CellKey, Key, KeyKind};
use crate::store::records::{self, RecordRef, Records};
pub use cell::{Cell, Circle};

/// What a key is called, and who wants it.
#[derive(Debug, Default)]
struct Label {
    /// The key, while in use.
    key: Option<Key>,
    /// Viewers that subscribe to it.
    viewers: Vec<u32>,
}

/// An entity's key: which, and its place there.
type Placement = SmallVec<[(u32, u32); 2]>;

/// The keys of one part of an interest.
#[derive(Debug)]
pub struct KeyTable {
    index: HashMap<Key, u32, ahash::RandomState>,
    cells: Vec<Cell>,
    labels: Vec<Label>,
    free: Vec<u32>,
    placed: Vec<Placement>,
    /// Keys whose members came, went, moved or changed in this seal.
    touched: Vec<u32>,
    /// Keys that may have neither members nor viewers.
    unused: Vec<u32>,
    /// This seal's records, cell by cell.
    bytes: Vec<u8>,
    /// The most bytes that they take.
    marked: usize,
    /// Buffer of groups and places.
    mixed: Vec<(u32, u32)>,
    // Whether a cell has got another word in this seal.
    widened: bool,
    /// The edge of a cell, in grids.
    edge: f64,
    /// Whether the third axis of a grid does not count.
    flat: bool,
}

/// The everywhere key's number.
pub const EVERYWHERE: u32 = 0;

impl KeyTable {
    /// A table with the everywhere key in it. `edge` is that of a grid's cells; `flat` says that their third axis does
    /// not count.
    #[must_use]
    pub fn new(edge: f64, flat: bool) -> Self {
        let mut table = KeyTable {
            index: HashMap::with_hasher(ahash::RandomState::with_seeds(5, 6, 7, 8)),
            cells: Vec::new(),
            labels: Vec::new(),
            free: Vec::new(),
            placed: Vec::new(),
            touched: Vec::new(),
            unused: Vec::new(),
            bytes: Vec::new(),
            marked: 0,
            mixed: Vec::new(),
            widened: false,
            edge,
            flat,
        };
        let everywhere = table.intern(&Key::EVERYWHERE);
        debug_assert_eq!(everywhere, EVERYWHERE);
        table
    }

    /// Starts a seal with so many slots: forgets the marks of the one before, and the keys that nobody uses.
    pub fn begin(&mut self, slots: usize) {
        (self.marked, self.widened) = (0, false);
        for number in self.touched.drain(..) {
            self.cells[number as usize].settle();
        }
        for number in self.unused.drain(..) {
            let (cell, label) = (&self.cells[number as usize], &mut self.labels[number as usize]);
            if number != EVERYWHERE
                && cell.is_empty()
                && label.viewers.is_empty()
                && let Some(key) = label.key.take()
            {
                self.index.remove(&key);
                self.free.push(number);
            }
        }
        if self.placed.len() < slots {
            self.placed.resize(slots, Placement::new());
        }
    }

    /// The number of a key; it stays good for this seal, and for as long as the key has a member or a viewer.
    pub fn intern(&mut self, key: &Key) -> u32 {
        if let Some(number) = self.index.get(key) {
            return *number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.cells.push(Cell::default());
            self.labels.push(Label::default());
            self.cells.len() as u32 - 1
        });
        self.labels[number as usize].key = Some(key.clone());
        let at = if let KeyKind::Cell(at) = &key.0 { Some(at.cell) } else { None };
        self.cells[number as usize].reset(at, self.edge, self.flat);
        self.index.insert(key.clone(), number);
        self.unused.push(number);
        number
    }

    /// The number of a key in use.
    #[must_use]
    pub fn number(&self, key: &Key) -> Option<u32> {
        self.index.get(key).copied()
    }

    /// How many numbers of keys there are, free ones too.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are none: the everywhere key always is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// A key in use.
    #[inline]
    #[must_use]
    pub fn cell(&self, number: u32) -> &Cell {
        &self.cells[number as usize]
    }

    /// Whether a cell has got another word in this seal.
    #[must_use]
    pub fn has_widened(&self) -> bool {
        self.widened
    }

    /// Viewers that subscribe to a key.
    #[must_use]
    pub fn viewers(&self, number: u32) -> &[u32] {
        &self.labels[number as usize].viewers
    }

    /// Keys whose members came, went, moved or changed in this seal.
    #[must_use]
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// This seal's records, cell by cell, padded by [`records::PAD`].
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn touch(&mut self, number: u32) -> &mut Cell {
        let cell = &mut self.cells[number as usize];
        if cell.touch() {
            self.touched.push(number);
        }
        cell
    }

    fn add_member(&mut self, slot: u32, number: u32, point: Option<[f64; 3]>) {
        let cell = self.touch(number);
        let words = cell.words().len();
        let place = cell.enter(slot, point);
        let widened = cell.words().len() > words;
        self.widened |= widened;
        self.placed[slot as usize].push((number, place));
    }

    fn remove_member(&mut self, slot: u32, key: usize) {
        let (number, place) = self.placed[slot as usize].swap_remove(key);
        let cell = self.touch(number);
        cell.leave(place);
        if cell.is_empty() {
            self.unused.push(number);
        }
    }

    /// Puts a slot at a point of a grid: the hot path of what moves.
    #[inline]
    pub fn place(&mut self, slot: u32, key: CellKey, point: [f64; 3], record: Option<RecordRef>) {
        let KeyTable { placed, cells, touched, marked, .. } = self;
        if let [(number, place)] = placed[slot as usize][..]
            && let cell = &mut cells[number as usize]
            && cell.is_at(key.cell)
        {
            let moved = cell.stand(place, point);
            if let Some(record) = record {
                cell.mark(place, record);
                *marked += record.len as usize;
            }
            if (moved || record.is_some()) && cell.touch() {
                touched.push(number);
            }
            return;
        }
        self.remove(slot);
        let number = self.intern(&Key::from(key));
        self.add_member(slot, number, Some(point));
        if let Some(record) = record {
            self.mark(slot, record);
        }
    }

    /// Gives a slot exactly these keys, without points.
    pub fn set(&mut self, slot: u32, keys: &[Key]) {
        let mut numbers: SmallVec<[u32; 8]> = keys.iter().map(|key| self.intern(key)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut at = 0;
        while let Some((number, _)) = self.placed[slot as usize].get(at).copied() {
            if numbers.binary_search(&number).is_ok() {
                at += 1;
            } else {
                self.remove_member(slot, at);
            }
        }
        for number in numbers {
            if !self.placed[slot as usize].iter().any(|(n, _)| *n == number) {
                self.add_member(slot, number, None);
            }
        }
    }

    /// Takes every key from a slot.
    pub fn remove(&mut self, slot: u32) {
        while let Some(last) = self.placed[slot as usize].len().checked_sub(1) {
            self.remove_member(slot, last);
        }
    }

    /// Notes the record of a slot that changed, in each of its keys.
    #[inline]
    pub fn mark(&mut self, slot: u32, record: RecordRef) {
        let KeyTable { placed, cells, touched, marked, .. } = self;
        for (number, place) in &placed[slot as usize] {
            let cell = &mut cells[*number as usize];
            if cell.touch() {
                touched.push(*number);
            }
            cell.mark(*place, record);
            *marked += record.len as usize;
        }
    }

    /// Lays the seal's records out cell by cell, once every change is marked.
    pub fn lay(&mut self, records: &Records) {
        let KeyTable { cells, touched, bytes, marked, mixed, .. } = self;
        bytes.resize(bytes.len().max(*marked + records::PAD), 0);
        let mut end = 0;
        for number in touched {
            end = cells[*number as usize].lay(records.all_bytes(), bytes, end, mixed);
        }
    }

    /// Keys of a slot, and its place in each.
    pub fn places_of(&self, slot: u32) -> &[(u32, u32)] {
        self.placed.get(slot as usize).map_or(&[], |placed| placed)
    }

    /// Where a grid has placed a slot.
    #[must_use]
    pub fn point_of(&self, slot: u32) -> Option<[f64; 3]> {
        let (number, place) = *self.placed.get(slot as usize)?.first()?;
        self.cells[number as usize].point(place)
    }

    /// Replaces a viewer's sorted subscriptions.
    pub fn subscribe(&mut self, viewer: u32, old: &[u32], new: &[u32]) {
        debug_assert!(new.is_sorted());
        for number in old.iter().filter(|n| new.binary_search(n).is_err()) {
            let viewers = &mut self.labels[*number as usize].viewers;
            if let Some(at) = viewers.iter().position(|v| *v == viewer) {
                viewers.swap_remove(at);
            }
            if viewers.is_empty() {
                self.unused.push(*number);
            }
        }
        for number in new.iter().filter(|n| old.binary_search(n).is_err()) {
            self.labels[*number as usize].viewers.push(viewer);
        }
    }

    /// A key as people read it.
    #[must_use]
    pub fn name(&self, number: u32) -> String {
        self.labels[number as usize].key.as_ref().map_or_else(|| String::from("unused"), Key::to_string)
    }
}

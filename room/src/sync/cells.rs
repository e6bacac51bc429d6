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

use super::grid::{cell_on, distance2};
use super::interest::Place;
use super::keys::{CellKey, Key, KeyKind};
use crate::store::bits::Ones;
use crate::store::records::{self, RecordRef, Records};
pub use cell::{Cell, Circle, Offset, Word};

/// What a key is called, and who wants it.
#[derive(Debug, Default)]
struct Label {
    /// The key, while in use.
    key: Option<Key>,
    /// Viewers that subscribe to it.
    viewers: Vec<u32>,
}

/// An entity's keys: which, and its place in each.
type Placement = SmallVec<[(u32, u32); 2]>;

/// The cells of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The edge of a cell.
    pub edge: f64,
    /// The axes in use; on others all stand at 0.
    pub axes: [bool; 3],
    /// Keeps its keys apart from others with the same cells.
    pub prefix: u64,
    /// Whether distances within a cell count.
    pub ranges: bool,
}

impl Grid {
    /// A point with 0 on the axes that are not in use.
    #[inline(always)]
    fn on_axes(&self, point: [f64; 3]) -> [f64; 3] {
        let on = |i: usize| if self.axes[i] { point[i] } else { 0.0 };
        [on(0), on(1), on(2)]
    }

    /// The cell in which a point lies.
    #[inline(always)]
    fn cell_of(&self, point: [f64; 3]) -> [i64; 3] {
        let on = |i: usize| if self.axes[i] { cell_on(point[i], self.edge) } else { 0 };
        [on(0), on(1), on(2)]
    }

    /// How many axes count for distances: the third one does not on a flat grid.
    fn counting(&self) -> u8 {
        match (self.ranges, self.axes[2]) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => 3,
        }
    }
}

/// The keys of one part of an interest.
#[derive(Debug)]
pub struct KeyTable {
    index: HashMap<Key, u32, ahash::RandomState>,
    cells: Vec<Cell>,
    labels: Vec<Label>,
    free: Vec<u32>,
    placed: Vec<Placement>,
    /// Where a grid has placed each slot. Not beside the cells' members: what moves is asked in the order of slots.
    points: Vec<[f64; 3]>,
    /// Keys whose members came, went, moved or changed in this seal.
    touched: Vec<u32>,
    /// Keys that may have neither members nor viewers.
    unused: Vec<u32>,
    /// This seal's records, cell by cell.
    bytes: Vec<u8>,
    /// The most bytes that they take.
    marked: usize,
    /// The grid whose cells the keys are.
    grid: Option<Grid>,
}

/// The everywhere key's number.
pub const EVERYWHERE: u32 = 0;

impl KeyTable {
    /// A table with the everywhere key in it, for the cells of a grid or for keys that the game's code gives.
    #[must_use]
    pub fn new(grid: Option<Grid>) -> Self {
        let mut table = KeyTable {
            index: HashMap::with_hasher(ahash::RandomState::with_seeds(5, 6, 7, 8)),
            cells: Vec::new(),
            labels: Vec::new(),
            free: Vec::new(),
            placed: Vec::new(),
            points: Vec::new(),
            touched: Vec::new(),
            unused: Vec::new(),
            bytes: Vec::new(),
            marked: 0,
            grid,
        };
        let everywhere = table.intern(&Key::EVERYWHERE);
        debug_assert_eq!(everywhere, EVERYWHERE);
        table
    }

    /// Starts a seal with so many slots: forgets the marks of the one before, and the keys that nobody uses.
    pub fn begin(&mut self, slots: usize) {
        self.marked = 0;
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
            if self.grid.is_some() {
                self.points.resize(slots, [f64::NAN; 3]);
            }
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
        let (edge, axes) = self.grid.map_or((0.0, 0), |grid| (grid.edge, grid.counting()));
        self.cells[number as usize].reset(at, edge, axes);
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

    fn add_member(&mut self, slot: u32, number: u32, offset: Option<Offset>) {
        let cell = self.touch(number);
        let place = cell.enter(slot, offset);
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

    /// Puts slots where a grid has placed them, and notes the records of those that changed. Calls `bad` with each whose
    /// place is not finite; it has no key.
    pub fn place_all(&mut self, slots: &[u32], places: &[Place], records: &Records, bad: impl FnMut(u32)) {
        // The usual axes are known to the compiler.
        match self.grid {
            Some(grid @ Grid { axes: [true, true, false], .. }) => {
                self.place_on(Grid { axes: [true, true, false], ..grid }, slots, places, records, bad);
            }
            Some(grid @ Grid { axes: [true, true, true], .. }) => {
                self.place_on(Grid { axes: [true; 3], ..grid }, slots, places, records, bad);
            }
            Some(grid) => self.place_on(grid, slots, places, records, bad),
            None => {}
        }
    }

    #[inline(always)]
    fn place_on(
        &mut self,
        grid: Grid,
        slots: &[u32],
        places: &[Place],
        records: &Records,
        mut bad: impl FnMut(u32),
    ) {
        for (slot, place) in slots.iter().zip(places) {
            let record = records.get(*slot);
            match *place {
                Place::At(point) => {
                    let point = grid.on_axes(point);
                    if point.iter().all(|x| x.is_finite()) {
                        self.place(&grid, *slot, point, record);
                        continue;
                    }
                    bad(*slot);
                    self.remove(*slot);
                }
                Place::Nowhere => self.remove(*slot),
                Place::Everywhere => self.set(*slot, &[Key::EVERYWHERE]),
            }
            record.into_iter().for_each(|record| self.mark(*slot, record));
        }
    }

    /// Puts a slot at a point of the grid: the hot path of what moves.
    #[inline(always)]
    fn place(&mut self, grid: &Grid, slot: u32, point: [f64; 3], record: Option<RecordRef>) {
        let before = std::mem::replace(&mut self.points[slot as usize], point);
        let at = grid.cell_of(point);
        let moved = (before[0] != point[0]) | (before[1] != point[1]) | (before[2] != point[2]);
        if let [(number, place)] = self.placed[slot as usize][..]
            && let cell = &mut self.cells[number as usize]
            && cell.is_at(at)
        {
            cell.note(place, moved.then(|| Offset::of(point, at, grid.edge)), record);
            self.marked += record.map_or(0, |record| record.len as usize);
            if (moved || record.is_some()) && cell.touch() {
                self.touched.push(number);
            }
            return;
        }
        self.change_cell(grid, slot, point, at);
        if let Some(record) = record {
            self.mark(slot, record);
        }
    }

    #[cold]
    fn change_cell(&mut self, grid: &Grid, slot: u32, point: [f64; 3], at: [i64; 3]) {
        self.remove(slot);
        let number = self.intern(&Key::from(CellKey { prefix: grid.prefix, cell: at }));
        self.add_member(slot, number, Some(Offset::of(point, at, grid.edge)));
    }

    /// The places of a word of a cell whose members stand within a circle, and how many places were looked at.
    #[inline]
    #[must_use]
    pub fn near(&self, cell: &Cell, word: usize, from: [f64; 3], circle: &Circle) -> (u64, usize) {
        let (at, edge) = (cell.at().unwrap_or_default(), self.grid.map_or(0.0, |grid| grid.edge));
        let exact = |word, members| self.near_of(cell, word, members, from, circle.r2());
        cell.near(word, Offset::of(from, at, edge), circle, exact)
    }

    /// Those of some places of a word of a cell whose members stand within a squared distance.
    #[must_use]
    pub fn near_of(&self, cell: &Cell, word: usize, asked: u64, from: [f64; 3], r2: f64) -> u64 {
        let slots = cell.slots_of(word, asked).zip(Ones(asked));
        let near = slots.filter(|(slot, _)| distance2(self.points[*slot as usize], from) <= r2);
        near.fold(0, |near, (_, place)| near | 1 << place)
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
            cell.note(*place, None, Some(record));
            *marked += record.len as usize;
        }
    }

    /// Lays the seal's records out cell by cell, once every change is marked.
    pub fn lay(&mut self, records: &Records) {
        let KeyTable { cells, touched, bytes, marked, .. } = self;
        bytes.resize(bytes.len().max(*marked + records::PAD), 0);
        let mut end = 0;
        for number in touched {
            end = cells[*number as usize].lay(records.all_bytes(), bytes, end);
        }
    }

    /// Keys of a slot, and its place in each.
    pub fn places_of(&self, slot: u32) -> &[(u32, u32)] {
        self.placed.get(slot as usize).map_or(&[], |placed| placed)
    }

    /// Where a grid has placed a slot.
    #[must_use]
    pub fn point_of(&self, slot: u32) -> Option<[f64; 3]> {
        let (number, _) = *self.placed.get(slot as usize)?.first()?;
        self.points.get(slot as usize).copied().filter(|_| number != EVERYWHERE)
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

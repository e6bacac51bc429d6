//! The keys of one part of an interest at work: each is a cell with its members and its viewers.
//!
//! A member has a place in its cell and keeps it for as long as it has the key, so that what a viewer sees of a cell
//! is a few words of bits that stay good from seal to seal. A place that became free is used again only in a later
//! seal: a bit that is set before and after a seal is the same entity.

use std::collections::HashMap;

use smallvec::SmallVec;
use wide::f32x4;

use super::grid;
use super::keys::{CellKey, Key, KeyKind};
use crate::store::bits::Ones;
use crate::store::records::{self, RecordRef, Records};

/// Room for places is made for so many at a time.
const LANES: usize = 4;

/// Cells from the middle within which single precision from a cell's corner is what [`Circle`] takes it for.
const FAR: u64 = 1 << 40;

/// A circle or sphere against which members of cells are checked.
#[derive(Clone, Copy, Debug)]
pub struct Circle {
    /// The squared radius.
    r2: f64,
    /// What is nearer in single precision is inside, what is farther than `outer` is outside.
    inner: f32,
    outer: f32,
    /// Whether the third axis does not count.
    flat: bool,
}

impl Circle {
    /// A circle of a radius over cells of a size.
    #[must_use]
    pub fn new(r: f64, cell: f64, flat: bool) -> Circle {
        // In a cell that the circle cuts, no offset is longer than this on an axis. Each is off by at most two
        // roundings, 2^-23 of it, and so is each of the few steps to the squared distance: together less than 2^-18.
        let most = r + 2.0 * cell;
        let (r2, margin) = (r * r, most * most * 2f64.powi(-18));
        Circle { r2, inner: (r2 - margin) as f32, outer: (r2 + margin) as f32, flat }
    }
}

/// Marks of 64 places of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Word {
    /// Places with a member.
    pub members: u64,
    /// Places whose member went in this seal.
    pub gone: u64,
    /// Places whose member came or moved in this seal.
    pub moved: u64,
    /// Places whose member changed in this seal.
    pub changed: u64,
}

/// Records of one group that lie side by side.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The group.
    pub group: u32,
    /// Where they begin.
    pub start: u32,
    /// Where they end.
    pub end: u32,
    /// How many there are.
    pub records: u32,
}

/// A key in use.
#[derive(Debug)]
pub struct Cell {
    // Invariant: at least one.
    words: SmallVec<[Word; 1]>,
    /// The record of each changed member, by place.
    rows: Vec<RecordRef>,
    /// Where each member stands, in grids, by place.
    points: Vec<[f64; 3]>,
    /// The same from the cell's corner in single precision, axis by axis; a multiple of four of them.
    offsets: [Vec<f32>; 3],
    /// The cell's lowest corner, in grids.
    corner: [f64; 3],
    // Whether it is so far out that the corner says little of where its members stand.
    far: bool,
    /// The slot of each member, by place; of one that went in this seal too.
    slots: Vec<u32>,
    /// This seal's records of all changed members.
    runs: SmallVec<[Run; 2]>,
    /// The cell of a grid that it is.
    at: Option<[i64; 3]>,
    // Whether it is among the touched ones of this seal.
    touched: bool,
    // The group of this seal's records, and whether there are others.
    group: u32,
    mixed: bool,
    // No word before this one has a free place.
    open: u32,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell {
            words: smallvec::smallvec![Word::default()],
            rows: Vec::new(),
            points: Vec::new(),
            offsets: Default::default(),
            corner: [0.0; 3],
            far: false,
            slots: Vec::new(),
            runs: SmallVec::new(),
            at: None,
            touched: false,
            group: NO_GROUP,
            mixed: false,
            open: 0,
        }
    }
}

impl Cell {
    /// Its marks, 64 places each.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// This seal's records of its changed members, side by side.
    #[inline]
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The slot at a place.
    #[inline]
    #[must_use]
    pub fn slot(&self, place: u32) -> u32 {
        self.slots[place as usize]
    }

    /// The slots of a word's places.
    pub fn slots_of(&self, word: usize, bits: u64) -> impl Iterator<Item = u32> + '_ {
        Ones(bits).map(move |bit| self.slots[word * 64 + bit as usize])
    }

    /// Where the records of a word's places lie in the table's bytes.
    #[inline(always)]
    pub fn rows_of(&self, word: usize, bits: u64) -> impl Iterator<Item = RecordRef> + '_ {
        let rows = &self.rows[word * 64..];
        Ones(bits).map(move |bit| rows[bit as usize])
    }

    /// The members' slots.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(w, word)| self.slots_of(w, word.members))
    }

    /// The places of a word whose members stand within a squared distance, and how many places were looked at.
    ///
    /// Four at a time in single precision, from the cell's corner; those that are too near the edge for that to tell
    /// are looked at again.
    #[inline]
    #[must_use]
    pub fn near(&self, word: usize, from: [f64; 3], circle: &Circle) -> (u64, usize) {
        let members = self.words[word].members;
        if self.far {
            return (self.near_of(word, members, from, circle.r2), members.count_ones() as usize);
        }
        let of = |axis: usize| self.offsets[axis][word * 64..].as_chunks::<4>().0.iter().take(16);
        let corner = self.corner;
        let [x, y, z] = [0, 1, 2].map(|axis| f32x4::splat((from[axis] - corner[axis]) as f32));
        let (inner, outer) = (f32x4::splat(circle.inner), f32x4::splat(circle.outer));
        let (mut inside, mut maybe, mut places) = (0, 0, 0);
        // Which are near is a coin's throw, so no branch depends on it.
        let mut take = |d2: f32x4| {
            inside |= u64::from(d2.simd_lt(inner).to_bitmask()) << places;
            maybe |= u64::from(d2.simd_le(outer).to_bitmask()) << places;
            places += 4;
        };
        if circle.flat {
            for (xs, ys) in of(0).zip(of(1)) {
                let d = [f32x4::new(*xs) - x, f32x4::new(*ys) - y];
                take(d[0] * d[0] + d[1] * d[1]);
            }
        } else {
            for ((xs, ys), zs) in of(0).zip(of(1)).zip(of(2)) {
                let d = [f32x4::new(*xs) - x, f32x4::new(*ys) - y, f32x4::new(*zs) - z];
                take(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            }
        }
        let edge = (maybe ^ inside) & members;
        if edge != 0 {
            inside |= self.near_of(word, edge, from, circle.r2);
        }
        (inside & members, places)
    }

    /// The same of some places only.
    #[must_use]
    pub fn near_of(&self, word: usize, asked: u64, from: [f64; 3], r2: f64) -> u64 {
        let near = |place: &u32| grid::distance2(self.points[word * 64 + *place as usize], from) <= r2;
        Ones(asked).filter(near).fold(0, |near, place| near | 1 << place)
    }

    /// Puts a member at a point; returns whether it stood elsewhere.
    #[inline]
    fn put(&mut self, place: usize, point: [f64; 3]) -> bool {
        let moved = std::mem::replace(&mut self.points[place], point) != point;
        if moved {
            for (axis, offsets) in self.offsets.iter_mut().enumerate() {
                // A flat grid has no third one.
                if let Some(offset) = offsets.get_mut(place) {
                    *offset = (point[axis] - self.corner[axis]) as f32;
                }
            }
        }
        moved
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|word| word.members == 0)
    }

    /// A free place, which is no longer free.
    fn take_place(&mut self, slot: u32) -> u32 {
        let from = self.open as usize;
        let free = self.words.iter().skip(from).position(|word| word.members | word.gone != u64::MAX);
        let w = from + free.unwrap_or(self.words.len() - from);
        if w == self.words.len() {
            self.words.push(Word::default());
        }
        self.open = w as u32;
        let word = &mut self.words[w];
        let bit = (!(word.members | word.gone)).trailing_zeros();
        word.members |= 1 << bit;
        let place = w * 64 + bit as usize;
        if place >= self.slots.len() {
            self.grow((place + 1).next_multiple_of(LANES));
        }
        self.slots[place] = slot;
        place as u32
    }

    fn grow(&mut self, places: usize) {
        self.slots.resize(places, 0);
        self.rows.resize(places, RecordRef::default());
        if self.at.is_some() {
            self.points.resize(places, [f64::NAN; 3]);
            self.offsets.iter_mut().for_each(|axis| axis.resize(places, f32::NAN));
        }
    }

    /// Ends the seal: its marks go, and the places of those that went are free.
    fn settle(&mut self) {
        self.touched = false;
        (self.group, self.mixed) = (NO_GROUP, false);
        self.open = 0;
        self.runs.clear();
        for word in &mut self.words {
            (word.gone, word.moved, word.changed) = (0, 0, 0);
        }
        while self.words.len() > 1 && self.words.last().is_some_and(|word| word.members == 0) {
            self.words.pop();
        }
        let places = self.words.len() * 64;
        if self.slots.len() > places {
            self.slots.truncate(places);
            self.rows.truncate(places);
            self.points.truncate(places);
            self.offsets.iter_mut().for_each(|axis| axis.truncate(places));
        }
    }

    /// Notes the record of a member that changed.
    #[inline]
    fn mark(&mut self, place: u32, record: RecordRef) {
        let word = &mut self.words[place as usize / 64];
        word.changed |= 1 << (place % 64);
        self.rows[place as usize] = record;
        if self.group != record.group {
            self.mixed |= self.group != NO_GROUP;
            self.group = record.group;
        }
    }

    /// Lays this seal's records side by side, group by group, behind `end` bytes; returns where they end.
    fn lay(&mut self, records: &[u8], bytes: &mut Vec<u8>, mut end: usize) -> usize {
        let mut next = (self.group != NO_GROUP).then_some(if self.mixed { 0 } else { self.group });
        while let Some(from) = next.take() {
            let group = if self.mixed { self.lowest_group(from) } else { Some(from) };
            let Some(group) = group else { break };
            let mut run = Run { group, start: end as u32, end: 0, records: 0 };
            for (w, word) in self.words.iter().enumerate() {
                let mut bits = word.changed;
                while bits != 0 {
                    let row = &mut self.rows[w * 64 + bits.trailing_zeros() as usize];
                    bits &= bits - 1;
                    if row.group != group {
                        continue;
                    }
                    let (start, len) = (row.start as usize, row.len as usize);
                    // A row that is laid out points behind the records already.
                    row.start = end as u32;
                    if len <= records::STEP {
                        records::copy_step(bytes, end, records, start);
                    } else {
                        bytes[end..end + len].copy_from_slice(&records[start..start + len]);
                    }
                    end += len;
                    run.records += 1;
                }
            }
            run.end = end as u32;
            self.runs.push(run);
            next = self.mixed.then_some(group + 1);
        }
        end
    }

    /// The lowest group from `least` on among this seal's records.
    fn lowest_group(&self, least: u32) -> Option<u32> {
        let words = self.words.iter().enumerate();
        let places = words.flat_map(|(w, word)| Ones(word.changed).map(move |bit| w * 64 + bit as usize));
        places.map(|place| self.rows[place].group).filter(|group| *group >= least).min()
    }
}

/// No record was noted in this seal.
const NO_GROUP: u32 = u32::MAX;

/// What a key is called, and who wants it.
#[derive(Debug, Default)]
struct Label {
    /// The key, while in use.
    key: Option<Key>,
    /// The key's cell, where it is one of a grid.
    at: Option<CellKey>,
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
    // Whether a cell has got another word in this seal.
    widened: bool,
    /// The edge of a cell, in grids.
    edge: f64,
}

/// The everywhere key's number.
pub const EVERYWHERE: u32 = 0;

impl KeyTable {
    /// A table with the everywhere key in it. `edge` is that of a grid's cells.
    #[must_use]
    pub fn new(edge: f64) -> Self {
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
            widened: false,
            edge,
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
        let label = &mut self.labels[number as usize];
        label.key = Some(key.clone());
        label.at = if let KeyKind::Cell(at) = key.0 { Some(at) } else { None };
        let cell = &mut self.cells[number as usize];
        cell.at = label.at.map(|at| at.cell);
        cell.far = cell.at.is_some_and(|at| at.iter().any(|at| at.unsigned_abs() > FAR));
        cell.corner = cell.at.map_or([0.0; 3], |at| at.map(|at| at as f64 * self.edge));
        (cell.group, cell.mixed) = (NO_GROUP, false);
        self.index.insert(key.clone(), number);
        self.unused.push(number);
        number
    }

    /// The number of a key in use.
    #[must_use]
    pub fn number(&self, key: &Key) -> Option<u32> {
        self.index.get(key).copied()
    }

    /// A key in use.
    #[inline]
    #[must_use]
    pub fn cell(&self, number: u32) -> &Cell {
        &self.cells[number as usize]
    }

    /// The cell of a grid that a key is.
    #[inline]
    #[must_use]
    pub fn at(&self, number: u32) -> Option<CellKey> {
        self.labels[number as usize].at
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

    /// This seal's records, cell by cell, padded so that a short one can be copied in one step.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn touch(&mut self, number: u32) -> &mut Cell {
        let cell = &mut self.cells[number as usize];
        if !cell.touched {
            cell.touched = true;
            self.touched.push(number);
        }
        cell
    }

    fn add_member(&mut self, slot: u32, number: u32, point: Option<[f64; 3]>) {
        let cell = self.touch(number);
        let words = cell.words.len();
        let place = cell.take_place(slot);
        cell.words[place as usize / 64].moved |= 1 << (place % 64);
        if let Some(point) = point {
            cell.put(place as usize, point);
        }
        self.widened |= self.cells[number as usize].words.len() > words;
        self.placed[slot as usize].push((number, place));
    }

    fn remove_member(&mut self, slot: u32, key: usize) {
        let (number, place) = self.placed[slot as usize].swap_remove(key);
        let cell = self.touch(number);
        let (word, bit) = (&mut cell.words[place as usize / 64], 1 << (place % 64));
        word.members &= !bit;
        word.moved &= !bit;
        word.changed &= !bit;
        word.gone |= bit;
        if word.members == 0 {
            self.unused.push(number);
        }
    }

    /// Puts a slot at a point of a grid: the hot path of what moves.
    #[inline]
    pub fn place(&mut self, slot: u32, key: CellKey, point: [f64; 3]) {
        if let [(number, place)] = self.placed[slot as usize][..]
            && self.cells[number as usize].at == Some(key.cell)
        {
            let cell = &mut self.cells[number as usize];
            if cell.put(place as usize, point) {
                self.touch(number).words[place as usize / 64].moved |= 1 << (place % 64);
            }
            return;
        }
        self.remove(slot);
        let number = self.intern(&Key::from(key));
        self.add_member(slot, number, Some(point));
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
            if !cell.touched {
                cell.touched = true;
                touched.push(*number);
            }
            cell.mark(*place, record);
            *marked += record.len as usize;
        }
    }

    /// Lays the seal's records out cell by cell, once every change is marked.
    pub fn lay(&mut self, records: &Records) {
        let KeyTable { cells, touched, bytes, marked, .. } = self;
        bytes.resize(bytes.len().max(*marked + records::STEP), 0);
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
        let (number, place) = *self.placed.get(slot as usize)?.first()?;
        self.cells[number as usize].points.get(place as usize).copied()
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

//! The keys of one part of an interest at work: each is a cell with its members and its viewers.
//!
//! A member has a place in its cell and keeps it for as long as it has the key, so that what a viewer sees of a cell
//! is a few words of bits that stay good from seal to seal. A place that became free is used again only in a later
//! seal: a bit that is set before and after a seal is the same entity.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::grid;
use super::keys::{CellKey, Key, KeyKind};
use crate::store::bits::Ones;
use crate::store::records::{self, RecordRef, Records};

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
#[derive(Debug, Default)]
pub struct Cell {
    words: SmallVec<[Word; 1]>,
    /// The record of each changed member, by place.
    rows: Vec<RecordRef>,
    /// Where each member stands, in grids, by place.
    points: Vec<[f64; 3]>,
    /// The slot of each member, by place; of one that went in this seal too.
    slots: Vec<u32>,
    /// This seal's records of all changed members.
    runs: SmallVec<[Run; 2]>,
    // Whether it is among the touched ones of this seal.
    touched: bool,
    // No word before this one has a free place.
    open: u32,
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

    /// Where the record of a changed member lies in the table's bytes.
    #[inline]
    #[must_use]
    pub fn row(&self, place: u32) -> RecordRef {
        self.rows[place as usize]
    }

    /// The slots of a word's places.
    pub fn slots_of(&self, word: usize, bits: u64) -> impl Iterator<Item = u32> + '_ {
        Ones(bits).map(move |bit| self.slots[word * 64 + bit as usize])
    }

    /// The members' slots.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(w, word)| self.slots_of(w, word.members))
    }

    /// The places of a word whose members stand within a squared distance, and how many places were looked at. On a
    /// flat grid the third coordinate is not.
    #[inline]
    #[must_use]
    pub fn near(&self, word: usize, from: [f64; 3], r2: f64, flat: bool) -> (u64, usize) {
        let points = &self.points[word * 64..];
        let points = &points[..points.len().min(64)];
        let mut near = 0;
        for (place, at) in points.iter().enumerate() {
            let d = [at[0] - from[0], at[1] - from[1]];
            let mut d2 = d[0] * d[0] + d[1] * d[1];
            if !flat {
                let up = at[2] - from[2];
                d2 += up * up;
            }
            // Which are near is a coin's throw, so no branch depends on it.
            near |= u64::from(d2 <= r2) << place;
        }
        (near & self.words[word].members, points.len())
    }

    /// The same of some places only.
    #[must_use]
    pub fn near_of(&self, word: usize, asked: u64, from: [f64; 3], r2: f64) -> u64 {
        let near = |place: &u32| grid::distance2(self.points[word * 64 + *place as usize], from) <= r2;
        Ones(asked).filter(near).fold(0, |near, place| near | 1 << place)
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|word| word.members == 0)
    }

    /// A free place, which is no longer free.
    fn take_place(&mut self, slot: u32, grid: bool) -> u32 {
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
            self.slots.resize(place + 1, 0);
            self.rows.resize(place + 1, RecordRef::default());
            if grid {
                self.points.resize(place + 1, [f64::NAN; 3]);
            }
        }
        self.slots[place] = slot;
        place as u32
    }

    /// Ends the seal: its marks go, and the places of those that went are free.
    fn settle(&mut self) {
        self.touched = false;
        self.open = 0;
        self.runs.clear();
        for word in &mut self.words {
            (word.gone, word.moved, word.changed) = (0, 0, 0);
        }
        while self.words.last().is_some_and(|word| word.members == 0) {
            self.words.pop();
        }
        let places = self.words.len() * 64;
        if self.slots.len() > places {
            self.slots.truncate(places);
            self.rows.truncate(places);
            self.points.truncate(places);
        }
    }

    /// Lays this seal's records side by side, group by group.
    fn lay(&mut self, records: &Records, bytes: &mut Vec<u8>) {
        let Cell { words, rows, runs, .. } = self;
        let mut next = Some(0);
        while let Some(least) = next.take() {
            // The lowest group from `least` on, in one pass where there is just one.
            let groups = words
                .iter()
                .enumerate()
                .flat_map(|(w, word)| Ones(word.changed).map(move |bit| w * 64 + bit as usize));
            let lowest = groups.clone().map(|place| rows[place].group).filter(|group| *group >= least).min();
            let Some(group) = lowest else { break };
            let mut run = Run { group, start: bytes.len() as u32, end: 0, records: 0 };
            for place in groups {
                let row = &mut rows[place];
                if row.group == group {
                    // A row that is laid out points behind the records already.
                    let start = bytes.len() as u32;
                    bytes.extend_from_slice(records.bytes(*row));
                    row.start = start;
                    run.records += 1;
                } else if row.group > group {
                    next = Some(group + 1);
                }
            }
            run.end = bytes.len() as u32;
            runs.push(run);
        }
    }
}

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
}

/// The everywhere key's number.
pub const EVERYWHERE: u32 = 0;

impl Default for KeyTable {
    fn default() -> Self {
        KeyTable::new()
    }
}

impl KeyTable {
    /// A table with the everywhere key in it.
    #[must_use]
    pub fn new() -> Self {
        let mut table = KeyTable {
            index: HashMap::with_hasher(ahash::RandomState::with_seeds(5, 6, 7, 8)),
            cells: Vec::new(),
            labels: Vec::new(),
            free: Vec::new(),
            placed: Vec::new(),
            touched: Vec::new(),
            unused: Vec::new(),
            bytes: Vec::new(),
        };
        let everywhere = table.intern(&Key::EVERYWHERE);
        debug_assert_eq!(everywhere, EVERYWHERE);
        table
    }

    /// Starts a seal with so many slots: forgets the marks of the one before, and the keys that nobody uses.
    pub fn begin(&mut self, slots: usize) {
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
        let grid = self.labels[number as usize].at.is_some();
        let cell = self.touch(number);
        let place = cell.take_place(slot, grid);
        cell.words[place as usize / 64].moved |= 1 << (place % 64);
        if let Some(point) = point {
            cell.points[place as usize] = point;
        }
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
            && self.labels[number as usize].at == Some(key)
        {
            let at = &mut self.cells[number as usize].points[place as usize];
            if *at != point {
                *at = point;
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
        let KeyTable { placed, cells, touched, .. } = self;
        for (number, place) in &placed[slot as usize] {
            let cell = &mut cells[*number as usize];
            if !cell.touched {
                cell.touched = true;
                touched.push(*number);
            }
            cell.words[*place as usize / 64].changed |= 1 << (place % 64);
            cell.rows[*place as usize] = record;
        }
    }

    /// Lays the seal's records out cell by cell, once every change is marked.
    pub fn lay(&mut self, records: &Records) {
        self.bytes.clear();
        for number in &self.touched {
            self.cells[*number as usize].lay(records, &mut self.bytes);
        }
        self.bytes.extend_from_slice(&[0; records::STEP]);
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

//! A key in use: its members at their places, and this seal's records of them.

use smallvec::SmallVec;
use wide::f32x4;

use crate::store::bits::Ones;
use crate::store::records::{self, RecordRef};
use crate::sync::grid;

/// Places that are looked at together; room for places is made for so many at a time.
const LANES: usize = 4;

/// Places whose memory a cell keeps, however few members it has.
const KEPT: usize = 512;

/// Cells from the middle within which single precision from a cell's corner is what [`Circle`] takes it for.
const FAR: u64 = 1 << 40;
/// The longest edge of a cell for which it is.
const LONG: f64 = 1e30;

/// A circle or sphere against which members of cells are checked.
#[derive(Clone, Copy, Debug)]
pub struct Circle {
    /// The squared radius.
    r2: f64,
    /// What is nearer in single precision is inside, what is farther than `outer` is outside.
    inner: f32,
    outer: f32,
    // Whether it is so small or so large that single precision has no numbers for its squares.
    exact: bool,
}

/// Squares of lengths of which single precision has all its digits, and room for a few sums.
const SINGLE: std::ops::Range<f64> = 1e-30..1e36;

impl Circle {
    /// A circle of a radius over cells of a size.
    #[must_use]
    pub fn new(r: f64, cell: f64) -> Circle {
        // In a cell that the circle cuts, no offset is longer than this on an axis. Each is off by at most two
        // roundings, 2^-23 of it, and so is each of the few steps to the squared distance: together less than 2^-18.
        let most = r + 2.0 * cell;
        let (r2, margin) = (r * r, most * most * 2f64.powi(-18));
        let exact = !SINGLE.contains(&(most * most));
        Circle { r2, inner: (r2 - margin) as f32, outer: (r2 + margin) as f32, exact }
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
    /// The same from the cell's corner in single precision, axis by axis; a multiple of [`LANES`] of them.
    offsets: [Vec<f32>; 3],
    /// The cell's lowest corner, in grids.
    corner: [f64; 3],
    // Whether the third axis does not count.
    flat: bool,
    // Whether it is so far out, or so large, that the corner says little of where its members stand.
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
            flat: false,
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
    /// On a flat grid the third coordinate is not.
    ///
    /// Four at a time in single precision, from the cell's corner; those that are too near the edge for that to tell
    /// are looked at again.
    #[inline]
    #[must_use]
    pub fn near(&self, word: usize, from: [f64; 3], circle: &Circle) -> (u64, usize) {
        let members = self.words[word].members;
        if self.far || circle.exact {
            return (self.near_of(word, members, from, circle.r2), members.count_ones() as usize);
        }
        let of = |axis: usize| self.offsets[axis][word * 64..].as_chunks::<LANES>().0.iter().take(64 / LANES);
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
        if self.flat {
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

    /// Becomes the cell of a new key, with nothing in it. `edge` is that of a grid's cells.
    pub(super) fn reset(&mut self, at: Option<[i64; 3]>, edge: f64, flat: bool) {
        (self.at, self.flat) = (at, flat);
        self.far = edge > LONG || at.is_some_and(|at| at.iter().any(|at| at.unsigned_abs() > FAR));
        self.corner = at.map_or([0.0; 3], |at| at.map(|at| at as f64 * edge));
        (self.group, self.mixed) = (NO_GROUP, false);
    }

    /// The cell of a grid that it is.
    #[inline]
    #[must_use]
    pub fn at(&self) -> Option<[i64; 3]> {
        self.at
    }

    /// Whether it is this cell of a grid.
    #[inline]
    pub(super) fn is_at(&self, at: [i64; 3]) -> bool {
        self.at == Some(at)
    }

    /// Where the member at a place stands, in grids.
    pub(super) fn point(&self, place: u32) -> Option<[f64; 3]> {
        self.points.get(place as usize).copied()
    }

    /// Takes note that something happens to it in this seal; returns whether that is news.
    #[inline]
    pub(super) fn touch(&mut self) -> bool {
        !std::mem::replace(&mut self.touched, true)
    }

    /// A slot becomes a member; returns its place.
    pub(super) fn enter(&mut self, slot: u32, point: Option<[f64; 3]>) -> u32 {
        let place = self.take_place(slot);
        self.words[place as usize / 64].moved |= 1 << (place % 64);
        if let Some(point) = point {
            self.put(place as usize, point);
        }
        place
    }

    /// The member at a place goes. Its slot stays there until the seal has ended.
    pub(super) fn leave(&mut self, place: u32) {
        let (word, bit) = (&mut self.words[place as usize / 64], 1 << (place % 64));
        word.members &= !bit;
        word.moved &= !bit;
        word.changed &= !bit;
        word.gone |= bit;
    }

    /// The member at a place stands at a point; returns whether it stood elsewhere.
    #[inline]
    pub(super) fn stand(&mut self, place: u32, point: [f64; 3]) -> bool {
        let moved = self.put(place as usize, point);
        if moved {
            self.words[place as usize / 64].moved |= 1 << (place % 64);
        }
        moved
    }

    pub(super) fn is_empty(&self) -> bool {
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
            let axes = if self.flat { 2 } else { 3 };
            self.offsets[..axes].iter_mut().for_each(|axis| axis.resize(places, f32::NAN));
        }
    }

    /// Ends the seal: its marks go, and the places of those that went are free.
    pub(super) fn settle(&mut self) {
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
        // A crowd leaves no memory behind in all the cells that it walked through.
        if self.slots.capacity() > KEPT.max(4 * places) {
            self.slots.shrink_to(places);
            self.rows.shrink_to(places);
            self.points.shrink_to(places);
            self.offsets.iter_mut().for_each(|axis| axis.shrink_to(places));
        }
    }

    /// Notes the record of a member that changed.
    #[inline]
    pub(super) fn mark(&mut self, place: u32, record: RecordRef) {
        let word = &mut self.words[place as usize / 64];
        word.changed |= 1 << (place % 64);
        self.rows[place as usize] = record;
        if self.group != record.group {
            self.mixed |= self.group != NO_GROUP;
            self.group = record.group;
        }
    }

    /// Lays this seal's records side by side, group by group, behind `end` bytes; returns where they end. `mixed` is a
    /// buffer.
    pub(super) fn lay(
        &mut self,
        records: &[u8],
        bytes: &mut [u8],
        mut end: usize,
        mixed: &mut Vec<(u32, u32)>,
    ) -> usize {
        let Cell { words, rows, runs, group, .. } = self;
        if *group == NO_GROUP {
            return end;
        }
        if !self.mixed {
            let (start, mut count) = (end as u32, 0);
            for (w, word) in words.iter().enumerate() {
                let mut bits = word.changed;
                while bits != 0 {
                    end = lay_row(&mut rows[w * 64 + bits.trailing_zeros() as usize], records, bytes, end);
                    bits &= bits - 1;
                    count += 1;
                }
            }
            runs.push(Run { group: *group, start, end: end as u32, records: count });
            return end;
        }
        mixed.clear();
        for (word, w) in words.iter().zip(0..) {
            let places = Ones(word.changed).map(|bit| w * 64 + bit);
            mixed.extend(places.map(|place| (rows[place as usize].group, place)));
        }
        mixed.sort_unstable();
        for run in mixed.chunk_by(|a, b| a.0 == b.0) {
            let start = end as u32;
            for (_, place) in run {
                end = lay_row(&mut rows[*place as usize], records, bytes, end);
            }
            runs.push(Run { group: run[0].0, start, end: end as u32, records: run.len() as u32 });
        }
        end
    }
}

/// Copies a record behind `end` bytes; returns where it ends. Its row points there from now on, and no longer at the
/// seal's records.
#[inline(always)]
fn lay_row(row: &mut RecordRef, records: &[u8], bytes: &mut [u8], end: usize) -> usize {
    let (start, len) = (row.start as usize, row.len as usize);
    row.start = end as u32;
    if len <= records::STEP {
        records::copy_step(bytes, end, records, start);
    } else {
        bytes[end..end + len].copy_from_slice(&records[start..start + len]);
    }
    end + len
}

/// No record was noted in this seal.
const NO_GROUP: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_that_went_leaves_no_memory_behind() {
        let mut cell = Cell::default();
        cell.reset(Some([0; 3]), 10.0, false);
        let places: Vec<u32> = (0..5000).map(|slot| cell.enter(slot, Some([f64::from(slot); 3]))).collect();
        cell.settle();
        assert!(cell.slots.capacity() >= 5000);
        places[70..].iter().for_each(|place| cell.leave(*place));
        cell.settle();
        assert!(cell.slots.capacity() <= KEPT && cell.points.capacity() <= KEPT);
        assert!(cell.members().eq(0..70) && cell.point(69) == Some([69.0; 3]));
        assert_eq!(cell.enter(9000, Some([1.0; 3])), 70);
    }
}

//! A key in use: its members at their places, and this seal's records of them.

use smallvec::SmallVec;
use wide::f32x4;

use crate::limits;
use crate::store::bits::Ones;
use crate::store::records::{self, RecordRef, Records};

/// Places whose distances are looked at together.
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
    /// The same in single precision, and how far a squared distance may lie from it without telling which side it is on.
    single: f32,
    margin: f32,
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
        // Rounding it is another 2^-24 of it.
        Circle { r2, single: r2 as f32, margin: (1.125 * margin) as f32, exact }
    }

    /// The squared radius.
    #[inline]
    #[must_use]
    pub fn r2(&self) -> f64 {
        self.r2
    }
}

/// Marks of 64 places of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Word {
    /// Places with a member.
    pub members: u64,
    /// Places whose member changed in this seal.
    pub changed: u64,
    /// Those of them whose record is of another group than the cell's.
    pub odd: u64,
    /// Where the records of the others begin in the table's bytes, side by side.
    pub start: u32,
    /// Where they end.
    pub end: u32,
    /// Places whose member came or moved in this seal.
    pub moved: u64,
    /// Places whose member went in this seal.
    pub gone: u64,
}

/// Where a member's record lies, in as few bytes as a record mostly needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// Offset in the bytes.
    pub start: u32,
    /// Length.
    pub len: u16,
    /// The group, or [`MANY`](Self::MANY).
    group: u16,
}

impl Row {
    /// The group has a higher number: see the seal's records.
    const MANY: u16 = u16::MAX;
    /// A record fits a part, so its length fits the row.
    const FITS: () = assert!(limits::PART <= u16::MAX as usize);

    #[inline]
    fn new(record: RecordRef) -> Row {
        let () = Row::FITS;
        let group = record.group.min(Row::MANY.into()) as u16;
        Row { start: record.start, len: record.len as u16, group }
    }
}

/// Where something stands, from a cell's lowest corner.
#[derive(Clone, Copy, Debug)]
pub struct Offset(pub [f32; 3]);

impl Offset {
    /// Of a point from the corner of a cell.
    #[inline]
    #[must_use]
    pub fn of(point: [f64; 3], at: [i64; 3], edge: f64) -> Offset {
        let on = |axis: usize| (point[axis] - at[axis] as f64 * edge) as f32;
        Offset([on(0), on(1), on(2)])
    }
}

/// What is known of a few places that lie side by side: one line of a cache, so that what moves touches no more.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Block {
    /// Where each member stands on the first two axes, from the cell's corner, where distances count.
    offsets: [[f32; LANES]; 2],
    /// The record of each changed member.
    rows: [Row; LANES],
}

/// A key in use. What every viewer reads of it comes first, side by side.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Cell {
    // Invariant: at least one.
    words: SmallVec<[Word; 1]>,
    /// Its places.
    blocks: Vec<Block>,
    /// The cell of a grid that it is.
    at: Option<[i64; 3]>,
    // The group of the first record of this seal.
    group: u32,
    // Whether it is among the touched ones of this seal.
    touched: bool,
    // Axes of the offsets: none where distances do not count.
    axes: u8,
    // Whether it is so far out, or so large, that the corner says little of where its members stand.
    far: bool,
    /// Where each member stands on the third axis.
    third: Vec<[f32; LANES]>,
    /// The slot of each member, by place; of one that went in this seal too.
    slots: Vec<u32>,
    // No word before this one has a free place.
    open: u32,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell {
            words: smallvec::smallvec![Word::default()],
            blocks: Vec::new(),
            at: None,
            group: NO_GROUP,
            touched: false,
            axes: 0,
            far: false,
            third: Vec::new(),
            slots: Vec::new(),
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

    /// The group of the first of this seal's records of its changed members, and so of most of them.
    #[inline]
    #[must_use]
    pub fn group(&self) -> u32 {
        self.group
    }

    /// The slots of a word's places.
    pub fn slots_of(&self, word: usize, bits: u64) -> impl Iterator<Item = u32> + '_ {
        Ones(bits).map(move |bit| self.slots[word * 64 + bit as usize])
    }

    /// Where the records of a word's places lie in the table's bytes.
    #[inline(always)]
    pub fn rows_of(&self, word: usize, bits: u64) -> impl Iterator<Item = &Row> + '_ {
        let blocks = self.blocks.get(word * (64 / LANES)..).unwrap_or_default();
        Ones(bits).map(move |bit| &blocks[bit as usize / LANES].rows[bit as usize % LANES])
    }

    /// The records of a word's places, with the group of each.
    pub fn records_of<'a>(
        &'a self,
        word: usize,
        bits: u64,
        records: &'a Records,
    ) -> impl Iterator<Item = RecordRef> + 'a {
        self.rows_of(word, bits).zip(self.slots_of(word, bits)).map(|(row, slot)| {
            let Row { start, len, group } = *row;
            let group = if group == Row::MANY { records.at(slot).group } else { group.into() };
            RecordRef { start, len: len.into(), group }
        })
    }

    /// The members' slots.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(w, word)| self.slots_of(w, word.members))
    }

    /// The places of a word whose members stand within a circle around something that stands at an offset, and how many
    /// places were looked at. On a flat grid the third coordinate is not.
    ///
    /// Many at a time in single precision; where that cannot tell of one, `exact` is asked of all members, whose word
    /// and bits it gets.
    #[inline(always)]
    #[must_use]
    pub fn near(
        &self,
        word: usize,
        from: Offset,
        circle: &Circle,
        exact: impl FnOnce(usize, u64) -> u64,
    ) -> (u64, usize) {
        let members = self.words[word].members;
        if self.far | circle.exact {
            return (exact(word, members), members.count_ones() as usize);
        }
        let (inside, nearest, places) = if self.axes == 2 {
            self.sides::<2>(word, from, circle)
        } else {
            self.sides::<3>(word, from, circle)
        };
        if nearest.simd_le(f32x4::splat(circle.margin)).any() {
            return (exact(word, members), places);
        }
        (inside & members, places)
    }

    /// Which places of a word are inside a circle, the least that the square of a distance differs from the circle's, by
    /// lane, and how many places were looked at.
    #[inline(always)]
    fn sides<const AXES: usize>(&self, word: usize, from: Offset, circle: &Circle) -> (u64, f32x4, usize) {
        let [x, y, z] = from.0.map(f32x4::splat);
        let r2 = f32x4::splat(circle.single);
        let first = word * (64 / LANES);
        let blocks = self.blocks.get(first..).unwrap_or_default();
        let mut third = self.third.get(first..).unwrap_or_default().iter();
        let (mut inside, mut nearest, mut places) = (0, f32x4::splat(f32::MAX), 0);
        // Which are near is a coin's throw, so no branch depends on it.
        for Block { offsets, .. } in blocks.iter().take(64 / LANES) {
            let d = [f32x4::new(offsets[0]) - x, f32x4::new(offsets[1]) - y];
            let mut side = d[0] * d[0] + d[1] * d[1] - r2;
            if AXES > 2 {
                let d = f32x4::new(third.next().copied().unwrap_or_default()) - z;
                side += d * d;
            }
            // What is inside is negative.
            inside |= u64::from(side.to_bitmask()) << places;
            nearest = side.abs().fast_min(nearest);
            places += LANES;
        }
        (inside, nearest, places)
    }

    /// Becomes the cell of a new key, with nothing in it. `edge` is that of a grid's cells, `axes` how many of them count
    /// for distances.
    pub(super) fn reset(&mut self, at: Option<[i64; 3]>, edge: f64, axes: u8) {
        (self.at, self.axes) = (at, if at.is_some() { axes } else { 0 });
        self.far = edge > LONG || at.is_some_and(|at| at.iter().any(|at| at.unsigned_abs() > FAR));
        self.group = NO_GROUP;
        // What stood there counted by other axes.
        self.third.clear();
        self.grow(self.slots.len());
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
        // Axis by axis: a comparison of arrays waits until both stand in memory.
        self.at.is_some_and(|own| (own[0] == at[0]) & (own[1] == at[1]) & (own[2] == at[2]))
    }

    /// Takes note that something happens to it in this seal; returns whether that is news.
    #[inline]
    pub(super) fn touch(&mut self) -> bool {
        !std::mem::replace(&mut self.touched, true)
    }

    /// A slot becomes a member; returns its place.
    pub(super) fn enter(&mut self, slot: u32, offset: Option<Offset>) -> u32 {
        let place = self.take_place(slot);
        self.words[place as usize / 64].moved |= 1 << (place % 64);
        if let Some(offset) = offset {
            self.put(place as usize, offset);
        }
        place
    }

    /// The member at a place goes. Its slot stays there until the seal has ended.
    pub(super) fn leave(&mut self, place: u32) {
        let (word, bit) = (&mut self.words[place as usize / 64], 1 << (place % 64));
        word.members &= !bit;
        word.moved &= !bit;
        word.changed &= !bit;
        word.odd &= !bit;
        word.gone |= bit;
    }

    #[inline]
    fn put(&mut self, place: usize, offset: Offset) {
        let (block, lane) = (place / LANES, place % LANES);
        if self.axes > 0 {
            let [xs, ys] = &mut self.blocks[block].offsets;
            (xs[lane], ys[lane]) = (offset.0[0], offset.0[1]);
        }
        if self.axes > 2 {
            self.third[block][lane] = offset.0[2];
        }
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
        self.blocks.resize(places / LANES, Block::default());
        self.third.resize(if self.axes > 2 { places / LANES } else { 0 }, [0.0; LANES]);
    }

    /// Ends the seal: its marks go, and the places of those that went are free.
    pub(super) fn settle(&mut self) {
        self.touched = false;
        self.group = NO_GROUP;
        self.open = 0;
        for word in &mut self.words {
            *word = Word { members: word.members, ..Word::default() };
        }
        while self.words.len() > 1 && self.words.last().is_some_and(|word| word.members == 0) {
            self.words.pop();
        }
        let places = self.words.len() * 64;
        if self.slots.len() > places {
            self.grow(places);
        }
        // A crowd leaves no memory behind in all the cells that it walked through.
        if self.slots.capacity() > KEPT.max(4 * places) {
            self.slots.shrink_to(places);
            self.blocks.shrink_to(places / LANES);
            self.third.shrink_to(places / LANES);
        }
    }

    /// Notes where a member that moved stands now, and the record of one that changed.
    #[inline(always)]
    pub(super) fn note(&mut self, place: u32, moved: Option<Offset>, record: Option<RecordRef>) {
        let (word, bit) = (&mut self.words[place as usize / 64], place % 64);
        word.moved |= u64::from(moved.is_some()) << bit;
        if let Some(record) = record {
            if self.group == NO_GROUP {
                self.group = record.group;
            }
            word.changed |= 1 << bit;
            word.odd |= u64::from(record.group != self.group) << bit;
        }
        let (block, lane) = (&mut self.blocks[place as usize / LANES], place as usize % LANES);
        if let Some(record) = record {
            block.rows[lane] = Row::new(record);
        }
        if let Some(Offset([x, y, z])) = moved
            && self.axes > 0
        {
            (block.offsets[0][lane], block.offsets[1][lane]) = (x, y);
            if self.axes > 2 {
                self.third[place as usize / LANES][lane] = z;
            }
        }
    }

    /// Lays this seal's records behind `end` bytes; returns where they end. Those of a word that are of the cell's group
    /// lie side by side, in front of the others.
    pub(super) fn lay(&mut self, records: &[u8], bytes: &mut [u8], mut end: usize) -> usize {
        let Cell { words, blocks, .. } = self;
        for (w, word) in words.iter_mut().enumerate().filter(|(_, word)| word.changed != 0) {
            let blocks = &mut blocks[w * (64 / LANES)..];
            word.start = end as u32;
            end = lay_rows(blocks, word.changed & !word.odd, records, bytes, end);
            word.end = end as u32;
            end = lay_rows(blocks, word.odd, records, bytes, end);
        }
        end
    }
}

#[inline(always)]
fn lay_rows(blocks: &mut [Block], mut bits: u64, records: &[u8], bytes: &mut [u8], mut end: usize) -> usize {
    while bits != 0 {
        let place = bits.trailing_zeros() as usize;
        end = lay_row(&mut blocks[place / LANES].rows[place % LANES], records, bytes, end);
        bits &= bits - 1;
    }
    end
}

/// Copies a record behind `end` bytes; returns where it ends. Its row points there from now on, and no longer at the
/// seal's records.
#[inline(always)]
fn lay_row(row: &mut Row, records: &[u8], bytes: &mut [u8], end: usize) -> usize {
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
        cell.reset(Some([0; 3]), 10.0, 3);
        let at = |slot: u32| Some(Offset::of([f64::from(slot); 3], [0; 3], 10.0));
        let places: Vec<u32> = (0..5000).map(|slot| cell.enter(slot, at(slot))).collect();
        cell.settle();
        assert!(cell.slots.capacity() >= 5000);
        places[70..].iter().for_each(|place| cell.leave(*place));
        cell.settle();
        assert!(cell.slots.capacity() <= KEPT && cell.third.capacity() <= KEPT);
        assert!(cell.members().eq(0..70));
        let (near, _) = cell.near(1, Offset([69.0; 3]), &Circle::new(0.5, 10.0), |_, _| 0);
        assert_eq!(near, 1 << 5);
        assert_eq!(cell.enter(9000, at(1)), 70);
    }
}

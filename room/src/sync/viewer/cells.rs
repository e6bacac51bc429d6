//! The view of a connection that is up to date, cell by cell: in rooms where a part shows whole cells or what is near
//! in them, nothing but the update's own size holds anything back, and no entity has several keys.

use super::{Scratch, Sealed, Viewer};
use crate::limits;
use crate::store::records::{RecordBuffer, Records};
use crate::sync::cells::KeyTable;
use crate::sync::interest::{Part, PartView};
use crate::sync::seen::{self, Found, Glances, Looked, Pairs, Seen};
use crate::sync::update::{Press, enters_len};
use crate::sync::world::World;

/// Buffers of the comparison cell by cell.
#[derive(Debug, Default)]
pub(super) struct CellScratch {
    /// What each part shows now.
    pub(super) fresh: Vec<Seen>,
    /// How each part was looked at.
    looks: Vec<Look>,
    pairs: Pairs,
    glances: Glances,
    differing: Vec<Found>,
    /// Slots that are no longer where the client saw them.
    gone: Vec<u32>,
    /// Slots where the client saw none.
    came: Vec<u32>,
    crossings: Crossings,
    pub(super) looked: Looked,
}

/// Words that differ are taken so many at a time.
const DIFFERING: usize = 32;

/// Finds what went from one cell and came into another.
#[derive(Debug, Default)]
struct Crossings {
    /// For each slot the number of the last settlement in which it came, and its place in the list.
    came: Vec<(u32, u32)>,
    settlement: u32,
}

impl Crossings {
    /// Takes what stands in both lists out of both, and calls `stays` with it.
    fn settle(&mut self, gone: &mut Vec<u32>, came: &mut Vec<u32>, mut stays: impl FnMut(u32)) {
        if gone.is_empty() || came.is_empty() {
            return;
        }
        self.settlement = self.settlement.checked_add(1).unwrap_or_else(|| {
            self.came.clear();
            1
        });
        for (slot, index) in came.iter().zip(0..) {
            let at = *slot as usize;
            if at >= self.came.len() {
                self.came.resize(at + 1, (0, 0));
            }
            self.came[at] = (self.settlement, index);
        }
        let before = gone.len();
        gone.retain(|slot| match self.came.get(*slot as usize) {
            Some((settlement, index)) if *settlement == self.settlement => {
                came[*index as usize] = NOBODY;
                stays(*slot);
                false
            }
            _ => true,
        });
        if gone.len() < before {
            came.retain(|slot| *slot != NOBODY);
        }
    }
}

/// No slot.
const NOBODY: u32 = u32::MAX;

/// How a viewer looked at a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Nothing of it was touched.
    Not,
    /// At the keys that were touched.
    Touched,
    /// At all, with the keys of the last update: what is fresh has words alone.
    Words,
    /// At all.
    All,
}

impl Viewer {
    /// A number by which connections that look at the same things stand near each other, where that is news.
    #[must_use]
    pub fn neighborhood(&self) -> Option<u64> {
        let news = |view: &&PartView| view.has_other_keys();
        self.parts.iter().skip(1).filter(news).find_map(PartView::neighborhood)
    }

    /// Looks at everything that each part shows, into `scratch.cells.fresh`.
    pub(super) fn look_at_all(&self, parts: &[Part], scratch: &mut Scratch) {
        let CellScratch { fresh, looks, looked, .. } = &mut scratch.cells;
        fresh.resize_with(parts.len(), Seen::default);
        looks.clear();
        looks.resize(parts.len(), Look::All);
        for ((part, view), fresh) in parts.iter().zip(&self.parts).zip(fresh) {
            part.look(view, fresh, looked);
        }
    }

    /// Looks at what was touched and compares it with what the parts showed: leaves, enters and the seal's records of
    /// what stays. Returns the plain bytes of all of it and an estimate of the bytes on the wire; nothing where the
    /// view may be past its bound.
    pub(super) fn compare_cells(
        &self,
        sealed: &Sealed<'_>,
        free: usize,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
    ) -> Option<(usize, usize)> {
        let Scratch { cells, leaves, enters, records, .. } = scratch;
        let CellScratch { fresh, looks, pairs, glances, differing, gone, came, crossings, looked } = cells;
        differing.resize(DIFFERING, Found::default());
        fresh.resize_with(sealed.parts.len(), Seen::default);
        looks.clear();
        leaves.clear();
        enters.clear();
        records.resize_with(press.records.groups(), RecordBuffer::default);
        let mut sink = Sink { gone, came, records: press.records, buffers: records, differing, differ: 0 };
        sink.clear();
        let mut at_most = 0;
        for ((part, view), fresh) in sealed.parts.iter().zip(&self.parts).zip(fresh.iter_mut()) {
            let look = look_and_compare(part, view, fresh, (pairs, glances, looked), &mut sink);
            at_most += if look == Look::Not { view.seen.at_most() } else { fresh.at_most() };
            looks.push(look);
        }
        if at_most > limits::VIEW && self.count(fresh, looks) > limits::VIEW {
            return None;
        }
        crossings.settle(gone, came, |slot| {
            if press.records.changed().contains(slot) {
                let record = press.records.at(slot);
                records[record.group as usize].push(press.records.all_bytes(), record.start, record.len);
            }
        });
        enters.extend_from_slice(came);
        leaves.extend(gone.iter().map(|slot| press.world.info(*slot).id));
        let changes: usize = records.iter().map(|records| records.as_slice().len()).sum();
        let (plain, wire) = enters_len(enters, free, press);
        Some((plain + changes + leaves.len() * 3, wire + changes + leaves.len() * 3))
    }

    fn count(&self, fresh: &[Seen], looks: &[Look]) -> usize {
        let seen = looks.iter().zip(&self.parts).zip(fresh);
        seen.map(|((look, view), fresh)| if *look == Look::Not { &view.seen } else { fresh })
            .map(Seen::len)
            .sum()
    }

    /// The places of the records that [`compare_cells`](Self::compare_cells) copied.
    pub(super) fn find_places_by_cells(&self, parts: &[Part], scratch: &mut Scratch, press: &Press<'_>) {
        let Scratch { cells, enters, places, .. } = scratch;
        places.resize_with(press.records.groups(), Vec::new);
        places.iter_mut().for_each(Vec::clear);
        enters.sort_unstable();
        let seen = cells.looks.iter().zip(&self.parts).zip(&cells.fresh);
        let seen = seen.map(|((look, view), fresh)| match look {
            Look::Not => (&view.seen, &view.seen),
            Look::Words => (&view.seen, fresh),
            Look::Touched | Look::All => (fresh, fresh),
        });
        let shown = parts.iter().zip(seen);
        for slot in shown.flat_map(|(part, (cells, words))| slots(&part.table, cells, words)) {
            if press.records.changed().contains(slot) && enters.binary_search(&slot).is_err() {
                let at = press.records.at(slot);
                places[at.group as usize].push(at);
            }
        }
    }

    /// From now on the view is a set of slots: of those that the parts showed at the last update. To be called
    /// within the seal that follows it.
    pub(super) fn leave_cells(&mut self, parts: &[Part]) {
        if std::mem::take(&mut self.by_cells) {
            self.view.clear();
            for (part, view) in parts.iter().zip(&self.parts) {
                slots(&part.table, &view.seen, &view.seen).for_each(|slot| self.view.insert(slot));
            }
        }
    }

    /// What the parts show now becomes what they showed. The client has all of it.
    pub(super) fn commit_cells(&mut self, scratch: &mut Scratch) {
        let CellScratch { fresh, looks, .. } = &mut scratch.cells;
        for ((view, fresh), look) in self.parts.iter_mut().zip(fresh).zip(looks) {
            match look {
                Look::Not => {}
                Look::Words => view.seen.swap_words(fresh),
                Look::Touched | Look::All => std::mem::swap(&mut view.seen, fresh),
            }
            view.settle();
        }
        self.by_cells = true;
        self.parts.iter_mut().for_each(|view| view.known = false);
        self.view.clear();
    }

    /// The slots that the parts show now, once each, where each has one key.
    pub(super) fn fresh_slots<'a>(parts: &'a [Part], fresh: &'a [Seen]) -> impl Iterator<Item = u32> + 'a {
        parts.iter().zip(fresh).flat_map(|(part, seen)| slots(&part.table, seen, seen))
    }

    /// Of a viewer that sees by cells: whether it sees a slot.
    pub(super) fn sees_by_cells(&self, slot: u32, parts: &[Part]) -> bool {
        parts.iter().zip(&self.parts).any(|(part, view)| part.showed(view, slot))
    }

    /// Every member of the view.
    pub(in crate::sync) fn members(&self, parts: &[Part], world: &World) -> Vec<(crate::EntityId, u32)> {
        let with_id = |slot: u32| (world.info(slot).id, slot);
        if self.by_cells {
            let seen = parts.iter().zip(&self.parts);
            seen.flat_map(|(part, view)| slots(&part.table, &view.seen, &view.seen)).map(with_id).collect()
        } else {
            self.view.iter().map(with_id).collect()
        }
    }
}

/// The slots that a part showed in the last seal or shows in this one: those of some cells, and the words of these or of
/// another of the same cells.
fn slots<'a>(table: &'a KeyTable, cells: &'a Seen, words: &'a Seen) -> impl Iterator<Item = u32> + 'a {
    cells.cells_with(words).flat_map(move |(number, words)| {
        let words = words.iter().enumerate();
        words.flat_map(move |(w, bits)| table.cell(number).slots_of(w, *bits))
    })
}

/// Where what a comparison finds goes.
struct Sink<'a> {
    gone: &'a mut Vec<u32>,
    came: &'a mut Vec<u32>,
    records: &'a Records,
    buffers: &'a mut [RecordBuffer],
    /// Words that differ, and how many they are.
    differing: &'a mut [Found],
    differ: usize,
}

/// Looks at what a part shows and compares it with what it showed.
fn look_and_compare(
    part: &Part,
    view: &PartView,
    fresh: &mut Seen,
    (pairs, glances, looked): (&mut Pairs, &mut Glances, &mut Looked),
    sink: &mut Sink<'_>,
) -> Look {
    let table = &part.table;
    if !view.moved && view.dirty.is_empty() {
        return Look::Not;
    }
    if !view.moved {
        fresh.assign(&view.seen);
        if part.look_again(view, fresh, looked) {
            for index in &view.dirty {
                let index = *index as usize;
                sink.compare(table, fresh.cells()[index], view.seen.words(index), fresh.words(index));
            }
            return Look::Touched;
        }
    } else if part.look_from(view, fresh, glances, looked) {
        fresh.found(&view.seen, glances).for_each(|found| sink.take(table, found));
        sink.take_differing(table);
        return Look::Words;
    }
    part.look(view, fresh, looked);
    seen::compare(&view.seen, fresh, pairs, |number, old, new| {
        sink.compare(table, number, old, new);
    });
    Look::All
}

impl Sink<'_> {
    fn clear(&mut self) {
        self.gone.clear();
        self.came.clear();
        self.buffers.iter_mut().for_each(RecordBuffer::clear);
    }

    /// Compares the words of one cell.
    fn compare(&mut self, table: &KeyTable, number: u32, old: &[u64], new: &[u64]) {
        let words = table.cell(number).words();
        for w in 0..old.len().max(new.len()) {
            let at = |words: &[u64]| words.get(w).copied().unwrap_or(0);
            let changed = words.get(w).map_or(0, |word| word.changed);
            self.take(table, Found { cell: number, word: w as u32, old: at(old), new: at(new), changed });
        }
        self.take_differing(table);
    }

    /// Takes what was found in a word: the records of what stays, in one copy where that is all that changed. What went
    /// and came is taken later.
    #[inline(always)]
    fn take(&mut self, table: &KeyTable, found: Found) {
        // Whether a word differs is a coin's throw, so no branch depends on it.
        self.differing[self.differ] = found;
        self.differ += usize::from(found.old != found.new);
        if self.differ == self.differing.len() {
            self.take_differing(table);
        }
        let stays = found.old & found.new & found.changed;
        if stays == 0 {
            return;
        }
        let (cell, w) = (table.cell(found.cell), found.word as usize);
        let (buffer, word) = (&mut self.buffers[cell.group() as usize], &cell.words()[w]);
        let (main, all) = (stays & !word.odd, found.changed & !word.odd);
        if main == all {
            buffer.push_run(
                table.bytes(),
                word.start as usize,
                word.end as usize,
                main.count_ones() as usize,
            );
        } else {
            let rows = cell.rows_of(w, main).map(|row| (row.start, row.len.into()));
            buffer.push_all(table.bytes(), (word.end - word.start) as usize, rows);
        }
        if stays & word.odd != 0 {
            for at in cell.records_of(w, stays & word.odd, self.records) {
                self.buffers[at.group as usize].push(table.bytes(), at.start, at.len);
            }
        }
    }

    /// What went and came in the words that differ.
    fn take_differing(&mut self, table: &KeyTable) {
        for Found { cell, word, old, new, .. } in &self.differing[..self.differ] {
            let cell = table.cell(*cell);
            self.gone.extend(cell.slots_of(*word as usize, old & !new));
            self.came.extend(cell.slots_of(*word as usize, new & !old));
        }
        self.differ = 0;
    }
}

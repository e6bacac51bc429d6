//! The view of a connection that is up to date, cell by cell: in rooms where a part shows whole cells or what is near
//! in them, nothing but the update's own size holds anything back, and no entity has several keys.

use super::{Scratch, Sealed, Viewer, enters_len};
use crate::limits;
use crate::store::records::RecordBuffer;
use crate::sync::cells::KeyTable;
use crate::sync::interest::Part;
use crate::sync::seen::{self, Looked, Pairs, Seen};
use crate::sync::update::Press;
use crate::sync::world::World;

/// Buffers of the comparison cell by cell.
#[derive(Debug, Default)]
pub(super) struct CellScratch {
    /// What each part shows now.
    pub(super) fresh: Vec<Seen>,
    /// How each part was looked at.
    looks: Vec<Look>,
    pairs: Pairs,
    /// Slots that are no longer where the client saw them.
    gone: Vec<u32>,
    /// Slots where the client saw none.
    came: Vec<u32>,
    pub(super) looked: Looked,
}

/// How a viewer looked at a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Nothing of it was touched.
    Not,
    /// At the keys that were touched.
    Touched,
    /// At all.
    All,
}

impl Viewer {
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

    /// Looks at what was touched. Returns whether the view is within its bound.
    pub(super) fn look_at_cells(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        let CellScratch { fresh, looks, looked, .. } = &mut scratch.cells;
        fresh.resize_with(parts.len(), Seen::default);
        looks.clear();
        let mut at_most = 0;
        for ((part, view), fresh) in parts.iter().zip(&self.parts).zip(fresh.iter_mut()) {
            let mut look = if view.moved { Look::All } else { Look::Touched };
            if !view.moved && view.dirty.is_empty() {
                looks.push(Look::Not);
                at_most += view.seen.at_most();
                continue;
            }
            if look == Look::Touched {
                fresh.assign(&view.seen);
                if !part.look_again(view, fresh, looked) {
                    look = Look::All;
                }
            }
            if look == Look::All {
                part.look(view, fresh, looked);
            }
            looks.push(look);
            at_most += fresh.at_most();
        }
        at_most <= limits::VIEW || {
            let seen = looks.iter().zip(&self.parts).zip(fresh.iter());
            seen.map(|((look, view), fresh)| if *look == Look::Not { &view.seen } else { fresh })
                .map(Seen::len)
                .sum::<usize>()
                <= limits::VIEW
        }
    }

    /// Compares what the parts showed with what they show: leaves, enters and the seal's records of what stays.
    /// Returns the plain bytes of all of it and an estimate of the bytes on the wire.
    pub(super) fn compare_cells(
        &self,
        sealed: &Sealed<'_>,
        scratch: &mut Scratch,
        press: &Press<'_>,
    ) -> (usize, usize) {
        let Scratch { cells, leaves, enters, records, .. } = scratch;
        let CellScratch { fresh, looks, pairs, gone, came, .. } = cells;
        leaves.clear();
        enters.clear();
        gone.clear();
        came.clear();
        records.resize_with(press.records.groups(), RecordBuffer::default);
        records.iter_mut().for_each(RecordBuffer::clear);
        for (((part, view), fresh), look) in sealed.parts.iter().zip(&self.parts).zip(fresh).zip(looks) {
            let mut pair = |number: u32, old: &[u64], new: &[u64]| {
                compare_cell(&part.table, number, (old, new), (gone, came), records);
            };
            match look {
                Look::Not => {}
                Look::All => seen::compare(&view.seen, fresh, pairs, pair),
                Look::Touched => {
                    for index in &view.dirty {
                        let index = *index as usize;
                        pair(fresh.cells()[index], view.seen.words(index), fresh.words(index));
                    }
                }
            }
        }
        self.settle_crossings(gone, came, records, press);
        enters.extend_from_slice(came);
        leaves.extend(gone.iter().map(|slot| press.world.info(*slot).id));
        let changes: usize = records.iter().map(|records| records.as_slice().len()).sum();
        let (plain, wire) = enters_len(enters, press);
        (plain + changes + leaves.len() * 3, wire + changes + leaves.len() * 3)
    }

    /// What went from one cell and came into another stays, where the client sees both: takes it out of both lists.
    fn settle_crossings(
        &self,
        gone: &mut Vec<u32>,
        came: &mut Vec<u32>,
        records: &mut [RecordBuffer],
        press: &Press<'_>,
    ) {
        gone.sort_unstable();
        came.sort_unstable();
        if gone.is_empty() || came.is_empty() {
            return;
        }
        let mut at = 0;
        gone.retain(|slot| {
            while came.get(at).is_some_and(|other| other < slot) {
                at += 1;
            }
            if came.get(at) != Some(slot) {
                return true;
            }
            came.remove(at);
            if press.records.changed().contains(*slot) {
                let record = press.records.at(*slot);
                records[record.group as usize].push(press.records.all_bytes(), record);
            }
            false
        });
    }

    /// The places of the records that [`compare_cells`](Self::compare_cells) copied.
    pub(super) fn find_places_by_cells(&self, parts: &[Part], scratch: &mut Scratch, press: &Press<'_>) {
        let Scratch { cells, enters, places, .. } = scratch;
        places.resize_with(press.records.groups(), Vec::new);
        places.iter_mut().for_each(Vec::clear);
        let seen = cells.looks.iter().zip(&self.parts).zip(&cells.fresh);
        let seen = seen.map(|((look, view), fresh)| if *look == Look::Not { &view.seen } else { fresh });
        for slot in parts.iter().zip(seen).flat_map(|(part, seen)| slots(&part.table, seen)) {
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
                slots(&part.table, &view.seen).for_each(|slot| self.view.insert(slot));
            }
        }
    }

    /// What the parts show now becomes what they showed. The client has all of it.
    pub(super) fn commit_cells(&mut self, scratch: &mut Scratch) {
        let CellScratch { fresh, looks, .. } = &mut scratch.cells;
        for ((view, fresh), look) in self.parts.iter_mut().zip(fresh).zip(looks) {
            if *look != Look::Not {
                std::mem::swap(&mut view.seen, fresh);
            }
            view.settle();
        }
        self.by_cells = true;
        self.view.clear();
    }

    /// The slots that the parts show now, once each, where each has one key.
    pub(super) fn fresh_slots<'a>(parts: &'a [Part], fresh: &'a [Seen]) -> impl Iterator<Item = u32> + 'a {
        parts.iter().zip(fresh).flat_map(|(part, seen)| slots(&part.table, seen))
    }

    /// Of a viewer that sees by cells: whether it sees a slot.
    pub(super) fn sees_by_cells(&self, slot: u32, parts: &[Part]) -> bool {
        parts.iter().zip(&self.parts).any(|(part, view)| part.showed(view, slot))
    }

    /// Every member of the view.
    pub(super) fn members(&self, parts: &[Part], world: &World) -> Vec<(crate::EntityId, u32)> {
        let with_id = |slot: u32| (world.info(slot).id, slot);
        if self.by_cells {
            let seen = parts.iter().zip(&self.parts);
            seen.flat_map(|(part, view)| slots(&part.table, &view.seen)).map(with_id).collect()
        } else {
            self.view.iter().map(with_id).collect()
        }
    }
}

/// The slots of what a part showed in the last seal or shows in this one.
fn slots<'a>(table: &'a KeyTable, seen: &'a Seen) -> impl Iterator<Item = u32> + 'a {
    seen.cells().iter().enumerate().flat_map(move |(index, number)| {
        let words = seen.words(index).iter().enumerate();
        words.flat_map(move |(w, bits)| table.cell(*number).slots_of(w, *bits))
    })
}

/// Compares the words of one cell: slots that went and came, and the records of those that stay, in one copy where all
/// that changed in the cell stays.
#[inline]
fn compare_cell(
    table: &KeyTable,
    number: u32,
    (old, new): (&[u64], &[u64]),
    (gone, came): (&mut Vec<u32>, &mut Vec<u32>),
    records: &mut [RecordBuffer],
) {
    let cell = table.cell(number);
    let before = |w: usize| old.get(w).copied().unwrap_or(0);
    let now = |w: usize| new.get(w).copied().unwrap_or(0);
    let (mut whole, mut any) = (true, 0);
    for w in 0..old.len().max(new.len()) {
        let (old, new) = (before(w), now(w));
        if old & !new != 0 {
            gone.extend(cell.slots_of(w, old & !new));
        }
        if new & !old != 0 {
            came.extend(cell.slots_of(w, new & !old));
        }
        let changed = cell.words().get(w).map_or(0, |word| word.changed);
        whole &= old & new & changed == changed;
        any |= old & new & changed;
    }
    if any == 0 {
        return;
    }
    if whole && old.len().max(new.len()) >= cell.words().len() {
        for run in cell.runs() {
            let buffer = &mut records[run.group as usize];
            buffer.push_run(table.bytes(), run.start as usize, run.end as usize, run.records as usize);
        }
        return;
    }
    for (w, word) in cell.words().iter().enumerate() {
        let mut bits = before(w) & now(w) & word.changed;
        while bits != 0 {
            let row = cell.row(w as u32 * 64 + bits.trailing_zeros());
            records[row.group as usize].push(table.bytes(), row);
            bits &= bits - 1;
        }
    }
}

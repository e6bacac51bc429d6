//! The view of a connection as a set of slots: wherever a limit, a closure, a rate, a budget or several keys of an entity
//! have a say, and where the client lacks more than the last seal.

use std::cell::Cell;

use smallvec::SmallVec;

use super::paces::Paces;
use super::{Scratch, Sealed, Viewer};
use crate::store::bits::{self, Bits, Ones, SlotSet};
use crate::store::records::RecordBuffer;
use crate::sync::interest::{Part, PartView};
use crate::sync::limit;
use crate::sync::seen::Looked;
use crate::sync::update::{Press, enters_len};
use crate::sync::world::World;

impl PartView {
    /// Appends what is within reach now. Looks at all of it or, where the viewer stands as it stood, at what came, went or
    /// moved alone, which is added to `moved`. `one` is an empty buffer. Where `anew`, what was not seen before may be out
    /// of reach though nobody moved.
    fn show(
        &mut self,
        part: &Part,
        anew: bool,
        slots: &mut Vec<u32>,
        (one, moved): (&mut Bits, &mut Bits),
        looked: &mut Looked,
    ) {
        let start = slots.len();
        if self.known && !self.moved && !anew {
            one.union(&self.stands);
            part.show_again(self, one, moved, looked);
            slots.extend(one.iter());
        } else {
            part.show(self, slots, looked);
            self.known = !self.moved && !anew;
            if !self.known {
                return;
            }
            slots[start..].iter().for_each(|slot| {
                one.insert(*slot);
            });
        }
        self.stands.assign_bits(one);
        one.clear();
    }
}

impl Viewer {
    /// What the interest shows now, into `scratch.candidates` and `scratch.shown`.
    pub(super) fn find_members(
        &mut self,
        index: u32,
        sealed: &Sealed<'_>,
        scratch: &mut Scratch,
        world: &World,
    ) {
        if sealed.by_cells {
            self.look_at_all(sealed.parts, scratch);
            // What comes, goes and moves in this seal is not added to what stands within reach.
            self.parts.iter_mut().for_each(|view| view.known = false);
        }
        let Scratch {
            candidates,
            shown,
            part: one,
            always,
            moved,
            remembered,
            ranking,
            cells,
            cut,
            paces,
            ..
        } = scratch;
        for bits in [&mut *shown, &mut *one, &mut *always, &mut *moved] {
            bits.clear();
            bits.grow(world.slot_count());
        }
        candidates.clear();
        // What the game says of a pair may differ though nobody moved.
        let asked = sealed.parts.iter().any(|part| part.narrows);
        let still = !asked && self.parts.iter().all(|view| view.known && !view.moved);
        let mut ends: SmallVec<[usize; 8]> = SmallVec::new();
        remembered.resize_with(sealed.parts.len(), SlotSet::default);
        for (i, part) in sealed.parts.iter().enumerate() {
            let start = candidates.len();
            if !sealed.by_cells {
                let narrow = part.narrows && part.remembers();
                self.parts[i].show(part, narrow, candidates, (one, moved), &mut cells.looked);
            } else if i == 0 {
                part.show(&self.parts[i], candidates, &mut cells.looked);
            }
            if i == 0 {
                // What the library itself shows.
                candidates.iter().for_each(|slot| {
                    always.insert(*slot);
                });
            } else if part.narrows || part.remembers() {
                let asked = &mut self.parts[i].asked;
                asked.slots.clear();
                asked.slots.extend(candidates.drain(start..).filter(|slot| one.insert(*slot)));
                if part.narrows {
                    asked.ask(i, index, sealed.lens);
                    let unseen = asked.slots.iter().zip(&asked.answers).filter(|(_, seen)| !**seen);
                    unseen.for_each(|(slot, _)| {
                        one.remove(*slot);
                    });
                }
                remembered[i].assign_bits(one);
                candidates.extend(one.iter());
                one.clear();
            }
            ends.push(candidates.len());
        }
        self.show_paces(sealed, world, still.then_some(moved), (candidates, &ends), paces, &mut cells.looked);
        if sealed.by_cells {
            candidates.extend(Viewer::fresh_slots(sealed.parts, &cells.fresh));
        }
        // Once each, in order of the parts' cells: what stands near each other has its records near each other.
        let mut end = 0;
        for at in 0..candidates.len() {
            let slot = candidates[at];
            candidates[end] = slot;
            end += usize::from(shown.insert(slot));
        }
        candidates.truncate(end);
        *cut = limit::cut(index, self, sealed, world, (shown, end), always, ranking);
        if *cut {
            candidates.retain(|slot| shown.contains(*slot));
        }
    }

    /// The paces of what the parts show, whose slots end there.
    fn show_paces(
        &self,
        sealed: &Sealed<'_>,
        world: &World,
        moved: Option<&mut Bits>,
        (candidates, ends): (&[u32], &[usize]),
        paces: &mut Paces,
        looked: &mut Looked,
    ) {
        let still = moved.map(|moved| (self, &*moved));
        let asked = Cell::new(0);
        let pace = |i: usize| {
            let asked = &asked;
            move |slot: u32| {
                asked.set(asked.get() + u64::from(!sealed.parts[i].bands.is_empty()));
                sealed.parts[i].pace(&self.parts[i], slot)
            }
        };
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let slots = starts.zip(ends).map(|(start, end)| &candidates[start..*end]);
        paces.show(sealed, world, still, slots.enumerate().map(|(i, slots)| (slots, pace(i))));
        looked.distances += asked.get();
    }

    /// Compares the view with what is shown now, `scratch.shown` after a look and else the view as it is: leaves,
    /// enters and, for what stays, the seal's records. Leaves the new view in `scratch.next`. Returns the plain
    /// bytes of all of it and an estimate of the bytes on the wire.
    pub(super) fn compare(
        &self,
        sealed: &Sealed<'_>,
        free: usize,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
    ) -> (usize, usize) {
        let Scratch { candidates, shown, part: was, next, leaves, enters, records, paces, retaining, .. } =
            scratch;
        leaves.clear();
        leaves.extend_from_slice(&self.owed);
        enters.clear();
        records.resize_with(press.records.groups(), RecordBuffer::default);
        records.iter_mut().for_each(RecordBuffer::clear);
        let mut stays = |slot: u32| {
            if let Some(at) = self.record(slot, sealed, &paces.now, press) {
                records[at.group as usize].push(press.records.all_bytes(), at.start, at.len);
            }
        };
        if self.look {
            // One by one, and not word by word: of few members among many slots, most words hold none or one,
            // and which is a coin's throw.
            was.clear();
            was.union(&self.view);
            for slot in candidates.iter().copied() {
                if !was.contains(slot) {
                    enters.push(slot);
                } else {
                    stays(slot);
                }
            }
            enters.sort_unstable();
            for (word, bits) in self.view.words() {
                let gone = Ones(bits & !shown.word(*word)).map(|bit| word * 64 + bit);
                leaves.extend(gone.filter(|slot| self.has(*slot)).map(|slot| press.world.info(slot).id));
            }
            was.clear();
            next.assign_bits(shown);
        } else {
            for (word, bits) in next.words() {
                Ones(bits & sealed.touched(*word)).for_each(|bit| stays(word * 64 + bit));
            }
        }
        let again = self.find_retained(sealed, leaves, enters, retaining, press.world);
        let records = records.iter().map(|r| r.as_slice().len()).sum::<usize>();
        let changes = leaves.len() * 3 + again + records;
        let (plain, wire) = enters_len(enters, free, press);
        (plain + changes, wire + changes)
    }

    /// The places of the records that [`compare`](Self::compare) copied.
    pub(super) fn find_places(&self, sealed: &Sealed<'_>, scratch: &mut Scratch, press: &Press<'_>) {
        let Scratch { next, places, paces, .. } = scratch;
        places.resize_with(press.records.groups(), Vec::new);
        places.iter_mut().for_each(Vec::clear);
        bits::compare(&self.view, next.words().iter().copied(), |word, old, new| {
            for bit in Ones(old & new & sealed.touched(word)) {
                if let Some(at) = self.record(word * 64 + bit, sealed, &paces.now, press) {
                    places[at.group as usize].push(at);
                }
            }
        });
    }
}

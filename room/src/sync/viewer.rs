//! What one connection sees, and what it is owed.

mod cells;
mod claim;

use std::collections::BTreeMap;

use cells::CellScratch;

use super::fit::{Item, Room, What, take_fitting};
use super::interest::{Lens, Part, PartView};
use super::limit::{self, Limit};
use super::seen::Looked;
use super::update::{Press, UpdateWriter, enter_len};
use super::window::Window;
use super::world::World;
use crate::entity::{EntityId, PlayerId};
use crate::limits;
use crate::store::bits::{self, Bits, Ones, SlotSet};
use crate::store::records::{RecordBuffer, RecordRef};
use crate::tick::Tick;
use crate::wire::record::SentBytes;
use crate::wire::update::UpdateHead;

/// Something of an entity in view that did not fit yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The entity's slot.
    pub slot: u32,
    /// What the client has of it: everything up to this tick, or nothing, for its enter is what is held back.
    pub since: Option<Tick>,
    /// The seal at which it was first held back.
    pub from: Tick,
}

/// A connection's view.
#[derive(Debug, Default)]
pub struct Viewer {
    /// Who looks.
    pub player: PlayerId,
    /// What it has of each part.
    pub parts: Vec<PartView>,
    /// Members of the view: what the interest showed at the last update, held back or not. Empty where the viewer
    /// sees by cells.
    view: SlotSet,
    /// The client has everything of the last update, and its view is what each part has of it, cell by cell.
    by_cells: bool,
    /// Invariant: sorted by slot, members of `view` only.
    pub held: Vec<Held>,
    /// Where no update was sent at the last seal though one was due: the tick up to which the client has
    /// everything but `held`.
    behind: Option<Tick>,
    /// Deleted while no update could be sent.
    owed: Vec<EntityId>,
    /// What it sees may differ from `view`.
    pub look: bool,
    /// Something in its keys changed.
    pub stale: bool,
    /// An empty update is due, so that the client knows the silence for rest.
    rest_due: bool,
    /// What is on the wire.
    pub window: Window,
    /// The client's page is hidden: it gets no updates.
    pub hidden: bool,
    /// What the view holds is what a returning client says that it holds, and no update has been sent yet. The
    /// room believes it only to its cost: nothing is visible for it, and it counts for no rank and no event.
    claimed: bool,
    /// Priorities as last asked, where they are asked of changed entities alone.
    pub priorities: BTreeMap<u32, f64>,
}

/// Buffers that one connection after another uses.
#[derive(Default)]
pub struct Scratch {
    candidates: Vec<u32>,
    shown: Bits,
    /// What one part shows, then what was in the view.
    part: Bits,
    always: Bits,
    remembered: Vec<SlotSet>,
    next: SlotSet,
    leaves: Vec<EntityId>,
    enters: Vec<u32>,
    /// Changed records by group, as bytes.
    records: Vec<RecordBuffer>,
    /// The same by place, where the bytes of a group do not fit one part or not all of them go.
    places: Vec<Vec<RecordRef>>,
    items: Vec<Item>,
    ranking: limit::Ranking,
    /// Whether a limit or the library's bound cut the view.
    cut: bool,
    cells: CellScratch,
    pub(crate) writer: UpdateWriter,
}

impl Scratch {
    /// What looking took since the last call.
    pub(super) fn take_looked(&mut self) -> Looked {
        std::mem::take(&mut self.cells.looked)
    }
}

/// The most bytes of a merge before its values: tag, kind, fields, ID and the end of the group.
const MERGE_HEAD: usize = 2 + limits::FIELDS.div_ceil(8) + 8 + 1;

/// The most bytes of a leave: a gap of IDs.
const LEAVE_LEN: usize = 8;
/// The most bytes of a group of records besides the records: tag, kind, two sets of fields, its end.
const GROUP_HEAD: usize = 2 + 2 * limits::FIELDS.div_ceil(8) + 1;

/// A seal, as every viewer meets it.
pub struct Sealed<'a> {
    /// The seal's tick.
    pub tick: Tick,
    /// The tick of the seal before.
    pub last: Tick,
    /// What changed in it.
    pub changed: &'a Bits,
    /// The parts of the interest; the first is the library's own.
    pub parts: &'a [Part],
    /// The cut of the view.
    pub limit: Limit,
    /// The game's answers.
    pub lens: &'a dyn Lens,
    /// The most plain bytes of an update.
    pub cap: usize,
    /// The most unacknowledged bytes.
    pub window: usize,
    /// Whether updates carry a hash of the view.
    pub hash: bool,
    /// Whether views can be compared cell by cell: each entity has one key at the most, and nothing but the size of an
    /// update narrows a view or holds anything back.
    pub by_cells: bool,
}

impl Viewer {
    /// A viewer that has nothing yet.
    #[must_use]
    pub fn new(player: PlayerId, parts: usize) -> Viewer {
        Viewer {
            player,
            parts: (0..parts).map(|_| PartView::default()).collect(),
            look: true,
            ..Viewer::default()
        }
    }

    /// Whether the client has the entity of a slot, as it says or as was sent.
    fn has(&self, slot: u32) -> bool {
        self.view.contains(slot) && self.held(slot).is_none_or(|h| h.since.is_some())
    }

    /// Whether the entity of a slot is in the view, held back or not.
    #[must_use]
    pub fn is_member(&self, slot: u32, parts: &[Part]) -> bool {
        if self.by_cells { self.sees_by_cells(slot, parts) } else { self.view.contains(slot) }
    }

    /// What is held back of a slot.
    #[must_use]
    pub fn held(&self, slot: u32) -> Option<&Held> {
        self.held.binary_search_by_key(&slot, |h| h.slot).ok().map(|i| &self.held[i])
    }

    /// Whether everything was sent and acknowledged.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.held.is_empty() && self.behind.is_none() && self.owed.is_empty() && self.window.is_empty()
    }

    /// Whether it was sent no update at the last seal though one was due.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Whether it looks at all of a part at this seal.
    #[must_use]
    pub fn looks_at_all(&self, part: usize) -> bool {
        self.parts[part].moved || !self.by_cells
    }

    /// A key of a part was touched: something in it changed or, where it `moved`, came, went or moved.
    pub fn touch(&mut self, part: usize, key: u32, moved: bool) {
        self.look |= moved;
        self.stale = true;
        if !self.looks_at_all(part) {
            let view = &mut self.parts[part];
            view.dirty.extend(view.place_of(key));
        }
    }

    /// Whether this seal has nothing for the connection.
    fn is_idle(&self) -> bool {
        !self.look && !self.stale && !self.rest_due && self.behind.is_none() && self.held.is_empty()
    }

    /// Sends the connection what it should get at this seal.
    pub fn update(&mut self, index: u32, sealed: &Sealed<'_>, scratch: &mut Scratch, press: &mut Press<'_>) {
        if !sealed.by_cells {
            self.leave_cells(sealed.parts);
        }
        if self.is_idle() {
            return;
        }
        let window = self.window.size(sealed.window);
        let merged = self.behind.is_some() || !self.held.is_empty();
        // What is held back does not follow in crumbs.
        let least = if merged { (window / 2).max(1) } else { 1 };
        let free = window.saturating_sub(self.window.bytes());
        if self.hidden || (!self.window.is_empty() && free < least) {
            self.withhold(sealed, press.world);
            return;
        }
        let (plain, wire) = self.look_and_compare(index, sealed, scratch, press);
        if !self.window.is_empty() && wire > free {
            self.withhold(sealed, press.world);
            return;
        }
        let free = free.min(self.window.update(sealed.window));
        let extra = scratch.leaves.len() * LEAVE_LEN + scratch.records.len() * GROUP_HEAD;
        if merged || plain > sealed.cap || wire > free {
            if self.by_cells {
                self.leave_cells(sealed.parts);
                scratch.next.clear();
                self.look_at_all(sealed.parts, scratch);
                let fresh = Viewer::fresh_slots(sealed.parts, &scratch.cells.fresh);
                fresh.for_each(|slot| scratch.next.insert(slot));
            }
            self.choose(index, sealed, free, scratch, press);
        } else if plain + extra > limits::PART {
            if self.by_cells {
                self.find_places_by_cells(sealed.parts, scratch, press);
            } else {
                self.find_places(&scratch.next, &mut scratch.places, press);
            }
        }
        self.commit(sealed, scratch);
        self.write(index, sealed, scratch, press, merged);
    }

    /// Finds what the client lacks; returns the plain bytes of it and an estimate of the bytes on the wire.
    fn look_and_compare(
        &mut self,
        index: u32,
        sealed: &Sealed<'_>,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
    ) -> (usize, usize) {
        scratch.cut = false;
        if self.by_cells {
            if self.look_at_cells(sealed.parts, scratch) {
                return self.compare_cells(sealed, scratch, press);
            }
            self.leave_cells(sealed.parts);
        }
        if self.behind.is_some() {
            // Changes have passed that nobody took note of.
            self.priorities.clear();
        }
        // A view by slots in a room where all could be by cells is on its way there.
        self.look |= sealed.by_cells;
        if self.look {
            self.find_members(index, sealed, scratch, press.world);
        } else {
            scratch.next.assign(&self.view);
        }
        self.compare(scratch, press, self.look)
    }

    /// No update now. What was deleted leaves the view all the same, for its slot will be used again; the
    /// client is owed the leave.
    fn withhold(&mut self, sealed: &Sealed<'_>, world: &World) {
        self.leave_cells(sealed.parts);
        self.behind.get_or_insert(sealed.last);
        for slot in world.dead() {
            if self.view.remove(*slot) {
                let held = self.held.binary_search_by_key(slot, |h| h.slot).map(|i| self.held.remove(i));
                if held.is_ok_and(|h| h.since.is_none()) {
                    continue;
                }
                self.owed.push(world.info(*slot).id);
            }
            self.priorities.remove(slot);
        }
        for part in &mut self.parts {
            for slot in world.dead() {
                part.shown.remove(*slot);
            }
        }
    }

    /// What the interest shows now, into `scratch.candidates` and `scratch.shown`.
    fn find_members(&mut self, index: u32, sealed: &Sealed<'_>, scratch: &mut Scratch, world: &World) {
        if sealed.by_cells {
            self.look_at_all(sealed.parts, scratch);
        }
        let Scratch { candidates, shown, part: one, always, remembered, ranking, cells, cut, .. } = scratch;
        for bits in [&mut *shown, &mut *one, &mut *always] {
            bits.clear();
            bits.grow(world.slot_count());
        }
        candidates.clear();
        remembered.resize_with(sealed.parts.len(), SlotSet::default);
        for (i, (part, view)) in sealed.parts.iter().zip(&self.parts).enumerate() {
            let start = candidates.len();
            if !sealed.by_cells || i == 0 {
                part.show(view, candidates);
            }
            if i == 0 {
                // The room's state and the player's own.
                candidates.iter().for_each(|slot| {
                    always.insert(*slot);
                });
            } else if part.narrows || part.remembers() {
                for slot in candidates.drain(start..) {
                    if one.insert(slot) && part.narrows && !sealed.lens.sees(i, index, slot) {
                        one.remove(slot);
                    }
                }
                remembered[i].assign_bits(one);
                candidates.extend(one.iter());
                one.clear();
            }
        }
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

    /// Compares the view with what is shown now, `scratch.shown` after a look and else the view as it is: leaves,
    /// enters and, for what stays, the seal's records. Leaves the new view in `scratch.next`. Returns the plain
    /// bytes of all of it and an estimate of the bytes on the wire.
    fn compare(&self, scratch: &mut Scratch, press: &Press<'_>, looked: bool) -> (usize, usize) {
        let Scratch { candidates, shown, part: was, next, leaves, enters, records, .. } = scratch;
        leaves.clear();
        leaves.extend_from_slice(&self.owed);
        enters.clear();
        records.resize_with(press.records.groups(), RecordBuffer::default);
        records.iter_mut().for_each(RecordBuffer::clear);
        let changed = press.records.changed();
        let mut stays = |slot: u32| {
            let at = press.records.at(slot);
            records[at.group as usize].push(press.records.all_bytes(), at);
        };
        if looked {
            // One by one, and not word by word: of few members among many slots, most words hold none or one,
            // and which is a coin's throw.
            was.clear();
            was.union(&self.view);
            for slot in candidates.iter().copied() {
                if !was.contains(slot) {
                    enters.push(slot);
                } else if changed.contains(slot) {
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
                Ones(bits & changed.word(*word)).for_each(|bit| stays(word * 64 + bit));
            }
        }
        let changes = leaves.len() * 3 + records.iter().map(|r| r.as_slice().len()).sum::<usize>();
        let (plain, wire) = enters_len(enters, press);
        (plain + changes, wire + changes)
    }

    /// The places of the records that [`compare`](Self::compare) copied.
    fn find_places(&self, next: &SlotSet, places: &mut Vec<Vec<RecordRef>>, press: &Press<'_>) {
        places.resize_with(press.records.groups(), Vec::new);
        places.iter_mut().for_each(Vec::clear);
        bits::compare(&self.view, next.words().iter().copied(), |word, old, new| {
            for bit in Ones(old & new & press.records.changed().word(word)) {
                let at = press.records.at(word * 64 + bit);
                places[at.group as usize].push(at);
            }
        });
    }

    /// Where not all fits, or not all that is missing is of the last seal: chooses what to send now and what to
    /// hold back. Fills `scratch.items` with what is sent and `self.held` with what is not.
    fn choose(
        &mut self,
        index: u32,
        sealed: &Sealed<'_>,
        free: usize,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
    ) {
        let mut items = std::mem::take(&mut scratch.items);
        items.clear();
        let mut measured = SentBytes::default();
        for slot in scratch.next.iter() {
            if let Some((what, size)) = self.missing(slot, sealed, press, &mut measured) {
                let info = press.world.info(slot);
                let own = info.private_to.is_some()
                    || info.id == EntityId::STATE
                    || press.world.owner(slot) == Some(self.player);
                let from = self.held(slot).map_or(sealed.tick, |h| h.from);
                let priority = if own { 0.0 } else { self.priority(index, slot, sealed) };
                items.push(Item { slot, what, size, class: u8::from(!own), priority, from });
            }
        }
        let Press { world, pieces, maker, .. } = &mut *press;
        let world = *world;
        let by_priority = |a: &Item, b: &Item| {
            let id = |item: &Item| world.info(item.slot).id;
            a.class.cmp(&b.class).then(limit::order(a.priority, b.priority)).then(id(a).cmp(&id(b)))
        };
        let leaves = scratch.leaves.len() * (crate::wire::varint::MAX_LEN + 1);
        let (plain, wire) = (sealed.cap.saturating_sub(leaves), free.saturating_sub(leaves));
        let room = Room { plain, wire, whatever: self.window.is_empty() };
        let wire = |item: &Item| match item.what {
            What::Enter if item.size >= limits::PIECE => pieces.ready(world, item.slot, maker).len(),
            _ => item.size,
        };
        let fit = take_fitting(&mut items, room, sealed.tick, by_priority, wire);
        self.held.clear();
        for item in &items[fit..] {
            let since = match item.what {
                What::Enter => None,
                What::Record => Some(sealed.last),
                What::Merge(_, since) => Some(since),
            };
            self.held.push(Held { slot: item.slot, since, from: item.from });
        }
        self.held.sort_unstable_by_key(|h| h.slot);
        items.truncate(fit);
        scratch.enters.clear();
        scratch.records.iter_mut().for_each(RecordBuffer::clear);
        scratch.places.resize_with(press.records.groups(), Vec::new);
        scratch.places.iter_mut().for_each(Vec::clear);
        for item in &items {
            match item.what {
                What::Enter => scratch.enters.push(item.slot),
                What::Record => {
                    let at = press.records.at(item.slot);
                    scratch.places[at.group as usize].push(at);
                    scratch.records[at.group as usize].push(press.records.all_bytes(), at);
                }
                What::Merge(..) => {}
            }
        }
        items.retain(|item| matches!(item.what, What::Merge(..)));
        scratch.items = items;
    }

    /// How important a member of the view is where not all fits: as the limit says, and where there is none by
    /// nearness in the grids that place both. NaN, which leaves the order to IDs, where no grid does.
    fn priority(&self, index: u32, slot: u32, sealed: &Sealed<'_>) -> f64 {
        if sealed.limit.most.is_some() {
            return sealed.lens.priority(index, slot);
        }
        let distances =
            sealed.parts.iter().zip(&self.parts).filter_map(|(part, view)| part.distance2(view, slot));
        distances.min_by(f64::total_cmp).map_or(f64::NAN, |d2| -d2)
    }

    /// What the client lacks of a member of the view, and its size.
    fn missing(
        &self,
        slot: u32,
        sealed: &Sealed<'_>,
        press: &Press<'_>,
        measured: &mut SentBytes,
    ) -> Option<(What, usize)> {
        let held = self.held(slot);
        if !self.view.contains(slot) || held.is_some_and(|h| h.since.is_none()) {
            return Some((What::Enter, enter_len(press.world, slot)));
        }
        let since = held.and_then(|h| h.since).or(self.behind).unwrap_or(sealed.last);
        if since == sealed.last && held.is_none() && self.behind.is_none() {
            let changed = press.records.changed().contains(slot);
            return changed.then(|| (What::Record, press.records.at(slot).len as usize));
        }
        let mask = press.world.changed_since(slot, since);
        if mask.is_empty() {
            return None;
        }
        measured.reset();
        press.world.put_since(slot, mask, since, measured);
        Some((What::Merge(mask, since), measured.len() + MERGE_HEAD))
    }

    fn commit(&mut self, sealed: &Sealed<'_>, scratch: &mut Scratch) {
        if self.by_cells || (sealed.by_cells && self.held.is_empty() && !scratch.cut) {
            self.commit_cells(scratch);
            self.commit_flags();
            return;
        }
        for view in &mut self.parts {
            view.settle();
        }
        if self.look {
            for (i, part) in sealed.parts.iter().enumerate() {
                if part.remembers() {
                    std::mem::swap(&mut self.parts[i].shown, &mut scratch.remembered[i]);
                }
            }
        }
        std::mem::swap(&mut self.view, &mut scratch.next);
        self.commit_flags();
    }

    fn commit_flags(&mut self) {
        self.behind = None;
        self.owed.clear();
        self.claimed = false;
        self.look = false;
        self.stale = false;
    }

    fn write(
        &mut self,
        index: u32,
        sealed: &Sealed<'_>,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
        merged: bool,
    ) {
        let Scratch { leaves, enters, records, places, items, writer, .. } = scratch;
        let merges = if merged { items.as_slice() } else { &[] };
        let something = !leaves.is_empty()
            || !enters.is_empty()
            || !merges.is_empty()
            || records.iter().any(|r| r.records() > 0);
        if !something && !self.rest_due {
            return;
        }
        self.rest_due = something;
        let complete = self.held.iter().filter_map(|h| h.since).min().unwrap_or(sealed.tick);
        let hash = (sealed.hash && self.held.is_empty()).then(|| self.hash(sealed.parts, press.world));
        writer.begin(index, UpdateHead { tick: sealed.tick, complete, hash });
        writer.leaves(leaves, press);
        writer.enters(enters, press);
        for item in merges {
            if let What::Merge(mask, since) = item.what {
                writer.merge(item.slot, mask, since, press);
            }
        }
        for (group, records) in records.iter().enumerate().filter(|(_, r)| r.records() > 0) {
            if !writer.changes(group as u32, records, press) {
                writer.changes_in_parts(group as u32, &places[group], press);
            }
        }
        let parts = writer.finish(press);
        self.window.push(sealed.tick, parts);
        press.stats.updates += u64::from(something);
        press.stats.merged += u64::from(!merges.is_empty());
    }

    /// A hash of what the client holds: IDs in order, each with its whole encoding.
    fn hash(&self, parts: &[Part], world: &World) -> u64 {
        let mut members = self.members(parts, world);
        members.sort_unstable();
        let mut hash = crate::wire::ViewHash::new();
        let mut record = SentBytes::default();
        for (id, slot) in members {
            record.reset();
            world.put_whole(slot, &mut record);
            hash.add(id, record.as_slice());
        }
        hash.finish()
    }
}

/// The plain bytes of what enters, and an estimate of the bytes on the wire.
fn enters_len(enters: &[u32], press: &Press<'_>) -> (usize, usize) {
    let lengths = enters.iter().map(|slot| {
        let len = enter_len(press.world, *slot);
        // What is not compressed yet counts whole.
        (len, press.pieces.len(*slot).map_or(len, |piece| piece.min(len)))
    });
    lengths.fold((0, 0), |(plain, wire), (len, on_wire)| (plain + len, wire + on_wire))
}

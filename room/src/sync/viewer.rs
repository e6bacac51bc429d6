//! What one connection sees, and what it is owed.

mod asked;
mod cells;
mod claim;
mod hash;
mod order;
mod paces;
mod retain;
mod slots;
mod warm;

use std::collections::BTreeMap;

pub use asked::Asked;
use asked::{Answers, Ranked};
use cells::CellScratch;
use retain::Retaining;

use super::budget::Bucket;
use super::fit::{Item, What};
use super::interest::{Lens, Part, PartView};
use super::limit::{self, Limit};
use super::rates::Rates;
use super::seen::Looked;
use super::update::{Press, UpdateWriter};
use super::window::Window;
use super::world::World;
use crate::entity::{EntityId, PlayerId};
use crate::limits;
use crate::store::bits::{Bits, SlotSet};
use crate::store::records::{RecordBuffer, RecordRef};
use crate::store::retained::Retained;
use crate::tick::Tick;
use crate::wire::message::Ack;
use crate::wire::update::{self, UpdateHead};

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
    /// How important what it may see is, where that is asked at every send.
    pub(super) ranked: Ranked,
    /// What it sees may differ from `view`.
    pub look: bool,
    /// Something in its keys changed.
    pub stale: bool,
    /// What left its view and the client retains: the tick up to which it has each whole.
    pub retained: Retained<Tick>,
    /// An empty update is due, so that the client knows the silence for rest.
    rest_due: bool,
    /// What is on the wire.
    pub window: Window,
    /// Ticks from an update's send to its acknowledgement, smoothed; none before the first.
    pub round_trip: Option<f64>,
    /// Members at each pace but that of every send.
    slow: Vec<SlotSet>,
    /// When it was last sent all that it lacked, due or not.
    whole: Tick,
    /// Some of the slow ones wait for their turn.
    lags: bool,
    /// What it may be sent, where the room has a budget.
    bucket: Bucket,
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
    /// What came, went or moved, where that is all that was looked at.
    moved: Bits,
    remembered: Vec<SlotSet>,
    next: SlotSet,
    leaves: Vec<EntityId>,
    enters: Vec<u32>,
    retaining: Retaining,
    /// Changed records by group, as bytes.
    records: Vec<RecordBuffer>,
    /// The same by place, where the bytes of a group do not fit one part or not all of them go.
    places: Vec<Vec<RecordRef>>,
    items: Vec<Item>,
    fitting: order::Fitting,
    paces: paces::Paces,
    ranking: limit::Ranking,
    /// Whether a limit or the library's bound cut the view.
    cut: bool,
    cells: CellScratch,
    answers: Answers,
    pub(crate) writer: UpdateWriter,
}

impl Scratch {
    /// What looking took since the last call.
    pub(super) fn take_looked(&mut self) -> Looked {
        std::mem::take(&mut self.cells.looked)
    }
}

/// The most bytes of a leave: a gap of IDs.
const LEAVE_LEN: usize = 8;
/// The most bytes of a group of records besides the records: tag, kind, two sets of fields, its end. A packed one has one
/// set, its layout and a longer end, which is less.
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
    /// Whether the game is asked about each pair at every send.
    pub asks: bool,
    /// Whether updates carry a hash of the view.
    pub hash: bool,
    /// Which send it is.
    pub send: u64,
    /// Who is due at rates by distance.
    pub rates: &'a Rates,
    /// The bytes of a send's update, in a room with a budget.
    pub share: Option<usize>,
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

    /// The client says what it has. Returns whether that is more than it had.
    pub fn acknowledge(&mut self, ack: Ack, now: Tick, window: usize, tick_rate: u32) -> bool {
        let more = self.window.acknowledge(ack, now, window, tick_rate);
        if more && ack.tick > Tick::ZERO && ack.parts == 0 {
            let took = now.0.saturating_sub(ack.tick.0) as f64;
            let before = self.round_trip.get_or_insert(took);
            *before += (took - *before) / 8.0;
        }
        more
    }

    /// Whether everything was sent and acknowledged.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let sent = self.held.is_empty() && self.behind.is_none() && self.owed.is_empty() && !self.lags;
        sent && self.window.is_empty()
    }

    /// Whether it was sent no update at the last seal though one was due.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Whether it looks at all of a part at this seal.
    #[must_use]
    pub fn looks_at_all(&self, part: usize) -> bool {
        let view = &self.parts[part];
        view.moved || !(self.by_cells || view.known)
    }

    /// Something in its keys of a part changed or, where it `moved`, came, went or moved: in those that are `touched`.
    pub fn stir(&mut self, part: usize, moved: bool, touched: &[bool]) {
        self.look |= moved;
        self.stale = true;
        if !self.looks_at_all(part) {
            self.parts[part].find_dirty(touched);
        }
    }

    /// Whether this seal has nothing for the connection.
    #[must_use]
    pub fn is_idle(&self, by_cells: bool) -> bool {
        let quiet = !self.look && !self.stale && !self.rest_due && !self.lags;
        quiet && self.behind.is_none() && self.held.is_empty() && (by_cells || !self.by_cells)
    }

    /// Sends the connection what it should get at this seal.
    pub fn update(&mut self, index: u32, sealed: &Sealed<'_>, scratch: &mut Scratch, press: &mut Press<'_>) {
        if !sealed.by_cells {
            self.leave_cells(sealed.parts);
        }
        if sealed.asks && !self.look {
            self.look = self.answers_differ(index, sealed, &mut scratch.answers);
            if self.is_idle(sealed.by_cells) {
                return;
            }
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
        let (plain, wire) = self.look_and_compare(index, sealed, free, scratch, press);
        let merged = merged || !self.held.is_empty();
        let over = self.is_over(wire + scratch.records.len() * GROUP_HEAD, sealed);
        if !self.window.is_empty() && over.unwrap_or(wire) > free {
            self.withhold(sealed, press.world);
            return;
        }
        let free = free.min(self.window.update(sealed.window));
        let extra = scratch.leaves.len() * LEAVE_LEN + scratch.records.len() * GROUP_HEAD;
        if merged || plain > sealed.cap || wire > free || over.is_some() {
            if self.by_cells {
                self.leave_cells(sealed.parts);
                scratch.next.clear();
                self.look_at_all(sealed.parts, scratch);
                let fresh = Viewer::fresh_slots(sealed.parts, &scratch.cells.fresh);
                fresh.for_each(|slot| scratch.next.insert(slot));
            }
            self.choose(index, sealed, free, scratch, press);
        } else if plain + extra > limits::PART && scratch.records.iter().any(|r| r.records() > 0) {
            if self.by_cells {
                self.find_places_by_cells(sealed.parts, scratch, press);
            } else {
                self.find_places(sealed, scratch, press);
            }
        }
        self.commit(sealed, scratch, press.world);
        self.write(index, sealed, scratch, press, merged);
    }

    /// Finds what the client lacks; returns the plain bytes of it and an estimate of the bytes on the wire.
    fn look_and_compare(
        &mut self,
        index: u32,
        sealed: &Sealed<'_>,
        free: usize,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
    ) -> (usize, usize) {
        scratch.cut = false;
        if self.by_cells {
            if let Some(lengths) = self.compare_cells(sealed, free, scratch, press) {
                return lengths;
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
        self.find_paces(sealed, scratch, press.world);
        self.compare(sealed, free, scratch, press)
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
            for slow in &mut self.slow {
                slow.remove(*slot);
            }
        }
        for part in &mut self.parts {
            // What comes, goes and moves in this seal passes unseen.
            part.known = false;
            for slot in world.dead() {
                part.shown.remove(*slot);
            }
        }
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
        self.find_items(index, sealed, scratch, press, &mut items);
        let fit = self.fit(&mut items, sealed, free, scratch, press);
        self.held.clear();
        for item in &items[fit..] {
            let since = match item.what {
                What::Enter | What::Return(..) => None,
                What::Record(_, since) | What::Merge(_, since) => Some(since),
            };
            self.held.push(Held { slot: item.slot, since, from: item.from });
        }
        self.held.sort_unstable_by_key(|h| h.slot);
        items.truncate(fit);
        scratch.enters.clear();
        scratch.retaining.returns.clear();
        scratch.records.iter_mut().for_each(RecordBuffer::clear);
        scratch.places.resize_with(press.records.groups(), Vec::new);
        scratch.places.iter_mut().for_each(Vec::clear);
        for item in &items {
            match item.what {
                What::Enter => scratch.enters.push(item.slot),
                What::Record(at, _) => {
                    scratch.places[at.group as usize].push(at);
                    scratch.records[at.group as usize].push(press.records.all_bytes(), at.start, at.len);
                }
                What::Merge(..) => {}
                What::Return(mask, since) => scratch.retaining.add(item.slot, mask, since, press.world),
            }
        }
        items.retain(|item| matches!(item.what, What::Merge(..)));
        // Those of a group behind one head.
        items.sort_unstable_by_key(|item| (item.group, item.slot));
        scratch.items = items;
    }

    fn commit(&mut self, sealed: &Sealed<'_>, scratch: &mut Scratch, world: &World) {
        self.remember(scratch, world);
        if self.by_cells || (sealed.by_cells && self.held.is_empty() && !scratch.cut) {
            self.commit_cells(scratch);
            self.commit_flags(sealed.tick);
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
        self.commit_paces(scratch);
        std::mem::swap(&mut self.view, &mut scratch.next);
        self.commit_flags(sealed.tick);
    }

    fn commit_flags(&mut self, now: Tick) {
        if self.behind.take().is_some() {
            self.whole = now;
        }
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
        let Scratch { leaves, enters, retaining, records, places, items, writer, paces, .. } = scratch;
        paces.enter(enters.iter().copied().chain(retaining.slots()), press.world);
        let merges = if merged { items.as_slice() } else { &[] };
        let something = !leaves.is_empty()
            || !enters.is_empty()
            || !retaining.returns.is_empty()
            || !merges.is_empty()
            || !paces.turns().is_empty()
            || records.iter().any(|r| r.records() > 0);
        let lag = self.lag(sealed, press.world);
        self.lags = lag.is_some();
        if !something && !self.rest_due {
            return;
        }
        self.rest_due = something;
        let complete = self.held.iter().filter_map(|h| h.since).chain(lag).min().unwrap_or(sealed.tick);
        let whole = sealed.hash && self.held.is_empty() && !self.lags;
        let hash = whole.then(|| self.hash(sealed.parts, press.world));
        writer.begin(index, UpdateHead { tick: sealed.tick, complete, hash });
        let left = retaining.left(leaves.len());
        let (left, gone) = leaves.split_at_mut(left);
        writer.leaves(update::LEAVES, left, press);
        writer.leaves(update::GONE, gone, press);
        writer.enters(enters, press);
        writer.returns(&retaining.returns, press);
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
        writer.periods(paces.turns(), sealed.rates, press);
        let parts = writer.finish(press);
        self.window.push(sealed.tick, parts);
        if let Some(share) = sealed.share {
            self.bucket.charge(parts.iter().sum(), sealed.send, share);
        }
        press.stats.updates += u64::from(something);
        press.stats.merged += u64::from(!merges.is_empty());
    }
}

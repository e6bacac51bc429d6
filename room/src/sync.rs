//! The sync core: what changed, who sees it, and each connection's update. No I/O, no clock.
//!
//! Read in this order: [`world`] holds the entities; a seal turns what changed into records; [`keys`], [`cells`] and
//! [`interest`] say who may see what; [`viewer`] is one connection's view, of [`seen`] cells or of slots, cut by
//! [`limit`]; [`update`] lays its messages out, with shared [`pieces`]. [`workers`] may share the connections out.

pub mod budget;
pub mod cells;
pub mod explain;
mod fit;
mod grid;
pub mod interest;
pub mod keys;
pub mod limit;
mod part_view;
pub mod pieces;
pub mod rates;
pub mod seen;
mod settings;
pub mod update;
pub mod viewer;
pub mod window;
pub mod workers;
pub mod world;

use crate::entity::PlayerId;
use crate::store::bits::{Bits, SlotSet};
use crate::store::records::Records;
use crate::store::retained::Retained;
use crate::tick::Tick;
use crate::wire::message::{Ack, Claim};
use interest::{Lens, Part, RekeyScratch, Shape, SubscribeScratch};
use keys::Key;
use limit::Limit;
use pieces::{Maker, Pieces};
use rates::Rates;
use seen::Looked;
pub use settings::SyncSettings;
use update::{Letter, Outbox, Press, Stats};
use viewer::{Scratch, Sealed, Viewer};
use window::Window;
use workers::{Serial, Shared, Workers};
use world::World;

/// Something in a viewer's keys changed.
const CHANGED: u8 = 1;
/// Something in a viewer's keys came, went or moved.
const MOVED: u8 = 2;
/// So many changed entities are asked for their keys in one go.
const RUN: usize = 256;

/// What one thread works with.
struct Bench {
    scratch: Scratch,
    maker: Maker,
    out: Outbox,
    stats: Stats,
}

/// The views of all connections of a room.
pub struct Views {
    settings: SyncSettings,
    /// The library's own part first: the room's state and presence for all, private state for its player.
    parts: Vec<Part>,
    limit: Limit,
    rates: Rates,
    /// The bytes of a send, where there is a budget.
    share: Option<usize>,
    viewers: Vec<Option<Box<Viewer>>>,
    /// All viewers, neighbors beside each other, so that what they look at is in the caches.
    order: Vec<(u64, u32)>,
    /// Those that have something to do in a seal.
    line: Vec<(u32, Box<Viewer>)>,
    records: Records,
    pieces: Pieces,
    /// One a job; more where there were more jobs, for their messages may not be taken yet.
    benches: Vec<Bench>,
    jobs: usize,
    workers: Box<dyn Workers>,
    rekeying: RekeyScratch,
    asked: Vec<u32>,
    subscribing: SubscribeScratch,
    /// What happened in the keys of each viewer: [`CHANGED`], [`MOVED`].
    stirred: Vec<u8>,
    /// Which keys of a part were touched.
    touched: Vec<bool>,
    /// Entities with several keys, and how many there are.
    several: (Bits, usize),
    stats: Stats,
    last: Tick,
}

impl Views {
    /// Views of an interest with these parts and limit.
    #[must_use]
    pub fn new(settings: SyncSettings, parts: Vec<(Shape, bool)>, limit: Limit) -> Views {
        let own = Part::new(Shape::Keys, false);
        let parts =
            std::iter::once(own).chain(parts.into_iter().map(|(shape, narrows)| Part::new(shape, narrows)));
        let mut views = Views {
            settings,
            parts: parts.collect(),
            limit,
            rates: Rates::default(),
            share: None,
            viewers: Vec::new(),
            order: Vec::new(),
            line: Vec::new(),
            records: Records::default(),
            pieces: Pieces::default(),
            benches: Vec::new(),
            jobs: 1,
            workers: Box::new(Serial),
            rekeying: RekeyScratch::default(),
            asked: Vec::new(),
            subscribing: SubscribeScratch::default(),
            stirred: Vec::new(),
            touched: Vec::new(),
            several: (Bits::default(), 0),
            stats: Stats::default(),
            last: Tick::ZERO,
        };
        views.set_workers(Box::new(Serial));
        views
    }

    /// Lets these threads share out the connections. What is sent is the same for any number of them.
    pub fn set_workers(&mut self, workers: Box<dyn Workers>) {
        self.jobs = workers.jobs().max(1);
        let level = self.settings.piece_level;
        self.benches.resize_with(self.jobs.max(self.benches.len()), || Bench {
            scratch: Scratch::default(),
            maker: Maker::new(level),
            out: Outbox::default(),
            stats: Stats::default(),
        });
        self.workers = workers;
    }

    /// Gives each part its rates: distances, rising, and how many sends lie between two records within them.
    #[must_use]
    pub fn with_rates(mut self, parts: &[Vec<(f64, u32)>]) -> Views {
        let (rates, bands) = Rates::new(parts, self.settings.send_every);
        self.rates = rates;
        for (part, bands) in self.parts.iter_mut().skip(1).zip(bands) {
            part.bands = bands;
        }
        self
    }

    /// Gives each connection so many bytes a second.
    #[must_use]
    pub fn with_budget(mut self, bytes_per_second: Option<usize>) -> Views {
        let SyncSettings { send_every, tick_rate, .. } = self.settings;
        self.share = bytes_per_second.map(|bytes| budget::share(bytes, send_every, tick_rate));
        self
    }

    /// Adds a connection's view; its number is free again once it is removed. `claim` is what a returning client
    /// says that it holds, and up to which tick; none where what it holds is of another generation. `pace` is what
    /// the link of the player's last connection carried.
    pub fn add(
        &mut self,
        player: PlayerId,
        claim: Option<(&Claim, Option<Tick>)>,
        pace: Option<usize>,
        world: &World,
    ) -> u32 {
        let parts = self.parts.len();
        let mut viewer = match claim {
            // A tick that has not been is the last one.
            Some((claim, complete)) => {
                Viewer::resumed(player, parts, claim, complete.map(|tick| tick.min(self.last)), world)
            }
            None => Viewer::new(player, parts),
        };
        viewer.window = Window::with_pace(pace);
        viewer.retained = Retained::new(self.settings.retain);
        let index = self.viewers.iter().position(Option::is_none).unwrap_or(self.viewers.len());
        if index == self.viewers.len() {
            self.viewers.push(None);
        }
        let own = &mut self.parts[0];
        let keys = [own.table.intern(&Key::EVERYWHERE), own.table.intern(&Key::from(player))];
        own.give(index as u32, &mut viewer.parts[0], &keys, &mut self.subscribing);
        self.viewers[index] = Some(Box::new(viewer));
        self.order.push((0, index as u32));
        index as u32
    }

    /// The room goes on from what was stored, at this tick.
    pub fn wake(&mut self, tick: Tick) {
        self.last = tick;
    }

    /// Removes a connection's view; returns the bytes that its link carried in a second, where that is known.
    pub fn remove(&mut self, viewer: u32, now: Tick) -> Option<usize> {
        let gone = self.viewers[viewer as usize].take()?;
        for (part, view) in self.parts.iter_mut().zip(&gone.parts) {
            part.unsubscribe(viewer, view);
        }
        self.order.retain(|(_, index)| *index != viewer);
        gone.window.pace(now, self.settings.tick_rate)
    }

    /// A connection's view.
    #[must_use]
    pub fn viewer(&self, viewer: u32) -> Option<&Viewer> {
        self.viewers.get(viewer as usize)?.as_deref()
    }

    /// Whether a connection was sent all that there is of what its player owns and what is hers alone.
    #[must_use]
    pub fn has_own(&self, viewer: u32, world: &World) -> bool {
        self.viewer(viewer).is_some_and(|viewer| viewer.has_own(world))
    }

    /// Whether a connection was sent the entity of a slot.
    #[must_use]
    pub fn knows(&self, viewer: u32, slot: u32) -> bool {
        self.viewer(viewer).is_some_and(|viewer| viewer.knows(slot, &self.parts))
    }

    /// A client says what it has of what it was sent. Returns whether that is more than it had.
    pub fn acknowledge(&mut self, viewer: u32, ack: Ack, now: Tick) -> bool {
        let SyncSettings { window, tick_rate, .. } = self.settings;
        let viewer = self.viewers.get_mut(viewer as usize).and_then(Option::as_mut);
        viewer.is_some_and(|viewer| viewer.acknowledge(ack, now, window, tick_rate))
    }

    /// A client's page is hidden, or shown again.
    pub fn set_hidden(&mut self, viewer: u32, hidden: bool) {
        if let Some(Some(viewer)) = self.viewers.get_mut(viewer as usize) {
            viewer.hidden = hidden;
        }
    }

    /// What was sent, counted.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// First half of a seal: encodes what changed.
    pub fn encode(&mut self, tick: Tick, world: &mut World) {
        world.seal(tick, &mut self.records);
        if !self.rates.is_empty() {
            self.rates.seal(tick, world, &mut self.records);
        }
        self.stats.encoded = self.records.encoded;
    }

    /// Second half of a seal: asks the interest and lays out every connection's update. The messages are in
    /// [`messages`](Self::messages) until the next seal.
    pub fn update(&mut self, tick: Tick, world: &World, lens: &dyn Lens) {
        self.rekey(world, lens);
        self.subscribe(lens);
        self.mark();
        self.assemble(tick, world, lens);
        let Views { benches, pieces, stats, .. } = self;
        for bench in benches.iter_mut() {
            let Looked { cells, distances } = bench.scratch.take_looked();
            stats.add(Stats { cells, distances, ..std::mem::take(&mut bench.stats) });
        }
        pieces.settle(benches.iter_mut().map(|bench| &mut bench.maker));
        self.last = tick;
    }

    /// Whether views can be compared cell by cell in this seal.
    fn is_by_cells(&self) -> bool {
        let plain = |part: &Part| !part.narrows && !part.remembers();
        let sent_whole = self.rates.is_empty() && self.share.is_none();
        let whole = self.limit.most.is_none() && self.settings.retain == 0 && sent_whole;
        self.several.1 == 0 && whole && self.parts.iter().all(plain)
    }

    /// Lays out every connection's update, a run of connections to each bench.
    fn assemble(&mut self, tick: Tick, world: &World, lens: &dyn Lens) {
        let by_cells = self.is_by_cells();
        let Views { settings, parts, limit, rates, share, viewers, records, .. } = self;
        let Views { pieces, benches, jobs, workers, last, order, line, .. } = self;
        let sealed = Sealed {
            tick,
            last: *last,
            changed: records.changed(),
            parts,
            limit: *limit,
            lens,
            cap: settings.update_cap,
            window: settings.window,
            asks: parts.iter().any(|p| p.narrows) || (limit.most.is_some() && !limit.on_change),
            hash: settings.view_hash,
            send: tick.0 / u64::from(settings.send_every.max(1)),
            rates,
            share: *share,
            by_cells,
        };
        for (near, index) in order.iter_mut() {
            let Some(viewer) = &mut viewers[*index as usize] else { continue };
            *near = viewer.neighborhood().unwrap_or(*near);
            viewer.look |= viewer.stale && limit.most.is_some();
        }
        // From seal to seal little changes in it.
        order.sort();
        let busy = |index: u32, viewers: &mut [Option<Box<Viewer>>]| {
            let viewer = viewers[index as usize].take_if(|viewer| sealed.asks || !viewer.is_idle(by_cells));
            viewer.map(|viewer| (index, viewer))
        };
        line.extend(order.iter().filter_map(|(_, index)| busy(*index, viewers)));
        let share = line.len().div_ceil(*jobs).max(1);
        let work = |share: &mut [(u32, Box<Viewer>)], bench: &mut Bench| {
            let Bench { scratch, maker, out, stats } = bench;
            let mut press = Press { world, records, pieces, maker, out, stats };
            for at in 0..share.len() {
                let ahead = |steps: usize| share.get(at + steps).map(|(_, viewer)| &**viewer);
                Viewer::warm([ahead(3), ahead(2), ahead(1)]);
                let (index, viewer) = &mut share[at];
                viewer.update(*index, &sealed, scratch, &mut press);
            }
        };
        for bench in benches.iter_mut() {
            bench.out.clear();
        }
        if let [bench] = &mut benches[..*jobs] {
            work(line, bench);
        } else {
            let jobs: Vec<_> =
                line.chunks_mut(share).zip(benches).map(|job| Shared::new(Some(job))).collect();
            workers.run(jobs.len(), &|job| {
                let job = jobs[job].with(Option::take);
                job.into_iter().for_each(|(share, bench)| work(share, bench));
            });
        }
        for (index, viewer) in line.drain(..) {
            viewers[index as usize] = Some(viewer);
        }
    }

    /// Whether an entity was compressed in haste that can be compressed better.
    #[must_use]
    pub fn is_hasty(&self) -> bool {
        self.pieces.is_hasty()
    }

    /// Compresses one entity better that was compressed in haste.
    pub fn improve(&mut self, world: &World) {
        self.pieces.improve(world, &mut self.benches[0].maker);
    }

    /// The messages of the last seal, a connection's in their order: each with its viewer and where its bytes are.
    pub fn messages(&self) -> impl Iterator<Item = (u32, Letter)> + '_ {
        let benches = self.benches.iter().zip(0..);
        benches.flat_map(|(bench, number)| {
            let messages = bench.out.messages.iter();
            messages.map(move |(viewer, range)| (*viewer, Letter { bench: number, range: range.clone() }))
        })
    }

    /// The bytes of a message of the last seal.
    #[must_use]
    pub fn letter(&self, letter: Letter) -> &[u8] {
        &self.benches[letter.bench as usize].out.bytes[letter.range]
    }

    /// Asks the keys of what was created, changed or named, and takes those of what was deleted.
    fn rekey(&mut self, world: &World, lens: &dyn Lens) {
        self.pieces.grow(world.slot_count());
        self.several.0.grow(world.slot_count());
        for part in &mut self.parts {
            part.table.begin(world.slot_count());
        }
        for slot in world.dead() {
            self.pieces.forget(*slot);
            for part in &mut self.parts {
                part.table.remove(*slot);
            }
        }
        for slot in world.born().iter().filter(|slot| world.is_live(**slot)) {
            self.place_own(*slot, world);
        }
        let mut asked = std::mem::take(&mut self.asked);
        // A few at a time, so that what is known of them stays in the caches.
        for from in (0..self.records.slots().len()).step_by(RUN) {
            let Views { records, pieces, parts, .. } = self;
            asked.clear();
            for slot in records.slots().iter().skip(from).take(RUN) {
                pieces.forget(*slot);
                if world.info(*slot).is_own() {
                    parts[0].mark(*slot, records);
                } else {
                    asked.push(*slot);
                }
            }
            self.rekey_some(&asked, lens);
        }
        asked.clear();
        let others = world.born().iter().chain(world.to_rekey());
        asked.extend(others.filter(|slot| shown_by_interest(world, **slot)));
        self.count_several(world.dead());
        self.rekey_some(&asked, lens);
        self.asked = asked;
        // Nobody else copies from the cells.
        if self.is_by_cells() {
            for part in &mut self.parts {
                part.table.lay(&self.records);
            }
        }
    }

    /// Asks the keys of some.
    fn rekey_some(&mut self, slots: &[u32], lens: &dyn Lens) {
        for (index, part) in self.parts.iter_mut().enumerate().skip(1) {
            part.rekey(index, slots, &self.records, lens, &mut self.rekeying);
        }
        self.count_several(slots);
    }

    /// Takes note of which of some slots have several keys.
    fn count_several(&mut self, slots: &[u32]) {
        // One grid gives one key.
        if let [_, Part { shape: Shape::Grid { .. }, .. }] = &self.parts[..] {
            return;
        }
        let (several, count) = &mut self.several;
        for slot in slots {
            let keys: usize = self.parts.iter().map(|part| part.table.places_of(*slot).len()).sum();
            if keys > 1 {
                *count += usize::from(several.insert(*slot));
            } else {
                *count -= usize::from(several.remove(*slot));
            }
        }
    }

    /// The keys of what the library itself shows.
    fn place_own(&mut self, slot: u32, world: &World) {
        let info = world.info(slot);
        if info.for_all {
            self.parts[0].table.set(slot, &[Key::EVERYWHERE]);
        } else if let Some(player) = info.private_to {
            self.parts[0].table.set(slot, &[Key::from(player)]);
        }
    }

    fn subscribe(&mut self, lens: &dyn Lens) {
        for (index, viewer) in self.viewers.iter_mut().enumerate() {
            let Some(viewer) = viewer else { continue };
            for (number, (part, view)) in self.parts.iter_mut().zip(&mut viewer.parts).enumerate().skip(1) {
                viewer.look |= part.subscribe(number, index as u32, view, lens, &mut self.subscribing);
            }
        }
    }

    /// Tells the viewers of every key that was touched.
    fn mark(&mut self) {
        let Views { parts, viewers, stirred, touched, .. } = self;
        for (part, number) in parts.iter().zip(0..) {
            // One that looks at all of the part anyway need not be told.
            let listens = |viewer: &Viewer| !viewer.look || !viewer.looks_at_all(number);
            if !viewers.iter().flatten().any(|viewer| listens(viewer)) {
                continue;
            }
            stirred.clear();
            stirred.resize(viewers.len(), 0);
            touched.clear();
            touched.resize(part.table.len(), false);
            for key in part.table.touched() {
                touched[*key as usize] = true;
                let words = part.table.cell(*key).words();
                let moved = words.iter().any(|word| word.gone | word.moved != 0);
                let stir = if moved { MOVED } else { CHANGED };
                part.table.viewers(*key).iter().for_each(|viewer| stirred[*viewer as usize] |= stir);
            }
            for (viewer, stir) in viewers.iter_mut().zip(stirred.iter()).filter(|(_, stir)| **stir != 0) {
                if let Some(viewer) = viewer {
                    viewer.stir(number, stir & MOVED != 0, touched);
                }
            }
        }
    }

    /// The viewers that subscribe to a key in any part of the interest.
    #[must_use]
    pub fn subscribers(&self, key: &Key) -> SlotSet {
        let mut viewers = SlotSet::default();
        for part in self.parts.iter().skip(1) {
            if let Some(number) = part.table.number(key) {
                part.table.viewers(number).iter().for_each(|viewer| viewers.insert(*viewer));
            }
        }
        viewers
    }
}

/// Whether a game's interest is asked about a slot: it lives, is visible, and is not shown by the library itself.
fn shown_by_interest(world: &World, slot: u32) -> bool {
    world.is_live(slot) && world.wire_kind(slot).is_some() && !world.info(slot).is_own()
}

//! The sync core: what changed, who sees it, and each connection's update. No I/O, no clock.
//!
//! Read in this order: [`world`] holds the entities; a seal turns what changed into records; [`keys`] and
//! [`interest`] say who may see what; [`viewer`] is one connection's view, cut by [`limit`]; [`update`] lays its
//! messages out, with shared [`pieces`].

pub mod explain;
mod fit;
pub mod interest;
pub mod keys;
pub mod limit;
pub mod pieces;
pub mod update;
pub mod viewer;
pub mod window;
pub mod world;

use crate::entity::{EntityId, PlayerId};
use crate::limits;
use crate::store::bits::SlotSet;
use crate::store::records::Records;
use crate::store::retained::Retained;
use crate::tick::Tick;
use crate::wire::deflate::Compressor;
use crate::wire::message::{Ack, Claim};
use interest::{Lens, Part, Shape, SubscribeScratch};
use keys::{Key, Keys};
use limit::Limit;
use pieces::Pieces;
use update::{Outbox, Press, Stats};
use viewer::{Scratch, Sealed, Viewer};
use window::Window;
use world::World;

/// Settings of the sync core.
#[derive(Clone, Copy, Debug)]
pub struct SyncSettings {
    /// The most plain bytes of an update.
    pub update_cap: usize,
    /// The highest window of a connection.
    pub window: usize,
    /// Ticks a second.
    pub tick_rate: u32,
    /// The DEFLATE level of shared pieces, 1 to 9.
    pub piece_level: u32,
    /// Whether updates carry a hash of the view.
    pub view_hash: bool,
    /// How many entities each client keeps after they left its view.
    pub retain: usize,
}

impl Default for SyncSettings {
    fn default() -> Self {
        SyncSettings {
            update_cap: limits::UPDATE,
            window: limits::WINDOW,
            tick_rate: limits::TICK_RATE,
            piece_level: 6,
            view_hash: false,
            retain: 0,
        }
    }
}

/// The views of all connections of a room.
pub struct Views {
    settings: SyncSettings,
    /// The library's own part first: the room's state for all, private state for its player.
    parts: Vec<Part>,
    limit: Limit,
    viewers: Vec<Option<Viewer>>,
    records: Records,
    pieces: Pieces,
    compressor: Compressor,
    scratch: Scratch,
    subscribing: SubscribeScratch,
    keys: Keys,
    out: Outbox,
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
        Views {
            settings,
            parts: parts.collect(),
            limit,
            viewers: Vec::new(),
            records: Records::default(),
            pieces: Pieces::default(),
            compressor: Compressor::new(),
            scratch: Scratch::default(),
            subscribing: SubscribeScratch::default(),
            keys: Keys::default(),
            out: Outbox::default(),
            stats: Stats::default(),
            last: Tick::ZERO,
        }
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
        let table = &mut self.parts[0].table;
        let mut own = [table.intern(&Key::EVERYWHERE), table.intern(&Key::from(player))];
        own.sort_unstable();
        table.subscribe(index as u32, &mut viewer.parts[0].keys, &own);
        self.viewers[index] = Some(viewer);
        index as u32
    }

    /// Removes a connection's view; returns the bytes that its link carried in a second, where that is known.
    pub fn remove(&mut self, viewer: u32, now: Tick) -> Option<usize> {
        let mut gone = self.viewers[viewer as usize].take()?;
        for (part, view) in self.parts.iter_mut().zip(&mut gone.parts) {
            part.unsubscribe(viewer, view);
        }
        gone.window.pace(now, self.settings.tick_rate)
    }

    /// A connection's view.
    #[must_use]
    pub fn viewer(&self, viewer: u32) -> Option<&Viewer> {
        self.viewers.get(viewer as usize)?.as_ref()
    }

    /// A client says what it has of what it was sent. Returns whether that is more than it had.
    pub fn acknowledge(&mut self, viewer: u32, ack: Ack, now: Tick) -> bool {
        let SyncSettings { window, tick_rate, .. } = self.settings;
        let viewer = self.viewers.get_mut(viewer as usize).and_then(Option::as_mut);
        viewer.is_some_and(|viewer| viewer.window.acknowledge(ack, now, window, tick_rate))
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
        self.stats.encoded = self.records.encoded;
    }

    /// Second half of a seal: asks the interest and lays out every connection's update. The messages are in
    /// [`outbox`](Self::outbox) until the next seal.
    pub fn update(&mut self, tick: Tick, world: &World, lens: &dyn Lens) {
        self.out.bytes.clear();
        self.out.messages.clear();
        self.rekey(tick, world, lens);
        self.subscribe(lens);
        self.mark(tick);
        let always =
            self.parts.iter().any(|p| p.narrows) || (self.limit.most.is_some() && !self.limit.on_change);
        let Views {
            settings, parts, limit, viewers, records, pieces, compressor, scratch, out, stats, ..
        } = self;
        let sealed = Sealed {
            tick,
            last: self.last,
            changed: records.changed(),
            parts,
            limit: *limit,
            lens,
            cap: settings.update_cap,
            window: settings.window,
            hash: settings.view_hash,
        };
        let level = settings.piece_level;
        let mut press = Press { world, records, pieces, compressor, level, out, stats };
        for (index, viewer) in viewers.iter_mut().enumerate() {
            if let Some(viewer) = viewer {
                viewer.look |= always || (viewer.stale && limit.most.is_some());
                viewer.update(index as u32, &sealed, scratch, &mut press);
            }
        }
        self.last = tick;
    }

    /// The messages of the last seal.
    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        &self.out
    }

    /// Asks the keys of what was created, changed or named, and takes those of what was deleted.
    fn rekey(&mut self, tick: Tick, world: &World, lens: &dyn Lens) {
        for part in &mut self.parts {
            part.table.grow(world.slot_count());
        }
        for slot in world.dead() {
            self.pieces.forget(*slot);
            for part in &mut self.parts {
                part.table.remove(*slot, tick);
            }
        }
        for slot in self.records.slots() {
            self.pieces.forget(*slot);
        }
        for slot in world.born().iter().filter(|slot| world.is_live(**slot)) {
            self.place_own(*slot, tick, world);
        }
        let asked = self.records.slots().iter().chain(world.born()).chain(world.to_rekey());
        for slot in asked.filter(|slot| shown_by_interest(world, **slot)) {
            for (index, part) in self.parts.iter_mut().enumerate().skip(1) {
                part.rekey(index, *slot, lens, &mut self.keys, tick);
            }
        }
    }

    /// The keys of the room's state and of private states.
    fn place_own(&mut self, slot: u32, tick: Tick, world: &World) {
        let info = world.info(slot);
        if info.id == EntityId::STATE {
            self.parts[0].table.set(slot, &[Key::EVERYWHERE], tick);
        } else if let Some(player) = info.private_to {
            self.parts[0].table.set(slot, &[Key::from(player)], tick);
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

    /// Tells the viewers of every key in which something moved or changed.
    fn mark(&mut self, tick: Tick) {
        let Views { parts, viewers, records, .. } = self;
        for part in parts {
            part.table.drain_moved(|ids| {
                for id in ids {
                    if let Some(viewer) = &mut viewers[*id as usize] {
                        viewer.look = true;
                    }
                }
            });
            for slot in records.slots() {
                part.table.mark_changed(*slot, tick, |ids| {
                    for id in ids {
                        if let Some(viewer) = &mut viewers[*id as usize] {
                            viewer.stale = true;
                        }
                    }
                });
            }
        }
    }

    /// The viewers that subscribe to a key in any part of the interest.
    #[must_use]
    pub fn subscribers(&self, key: &Key) -> SlotSet {
        let mut viewers = SlotSet::default();
        for part in self.parts.iter().skip(1) {
            if let Some(number) = part.table.number(key) {
                part.table.cell(number).viewers.iter().for_each(|viewer| viewers.insert(*viewer));
            }
        }
        viewers
    }
}

/// Whether a game's interest is asked about a slot: it lives, is visible, and is neither the room's state nor
/// private, which have keys of their own.
fn shown_by_interest(world: &World, slot: u32) -> bool {
    world.is_live(slot)
        && world.wire_kind(slot).is_some()
        && world.info(slot).private_to.is_none()
        && world.info(slot).id != EntityId::STATE
}

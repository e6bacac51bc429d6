//! Who sees what by a plain walk over everything, and exactly what a send may have to say of it.

use std::collections::BTreeMap;

use room::prelude::*;
use room::sync::update::Stats;
use room::wire::record::StoredRecord;

use super::lab::{Crate, Dot, Lab, Stand};
use super::link::Link;

/// An entity to look at.
#[derive(Clone, Copy)]
pub(crate) enum Thing<'a> {
    Dot(&'a Dot),
    Crate(&'a Crate),
}

type Held = BTreeMap<u64, StoredRecord>;

/// What each client holds, and what the room has counted.
pub(crate) struct Audit<F> {
    sees: F,
    held: BTreeMap<ConnectionId, Held>,
    stats: Stats,
}

/// What the sends of a tick had to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) enters: u64,
    pub(crate) changes: u64,
    pub(crate) leaves: u64,
}

impl<F: Fn(&Stand, Thing<'_>) -> bool> Audit<F> {
    /// Of a room whose clients are joined and hold what they should.
    pub(crate) fn new(link: &Link<Lab>, sees: F) -> Audit<F> {
        let mut audit = Audit { sees, held: BTreeMap::new(), stats: link.room.room().stats() };
        audit.held = audit.views(link);
        audit.compare(link, |_| true);
        audit
    }

    /// The view of each connection, by a plain walk over everything.
    fn views(&self, link: &Link<Lab>) -> BTreeMap<ConnectionId, Held> {
        let room = link.room.room();
        let view = |conn: &Connection<Lab>| {
            let dots = room.all::<Dot>().map(|(id, dot)| (id.get(), Thing::Dot(dot), StoredRecord::of(dot)));
            let crates =
                room.all::<Crate>().map(|(id, it)| (id.get(), Thing::Crate(it), StoredRecord::of(it)));
            let seen = dots.chain(crates).filter(|(_, thing, _)| (self.sees)(&conn.scratch, *thing));
            (conn.id(), seen.map(|(id, _, stored)| (id, stored)).collect())
        };
        room.connections().map(view).collect()
    }

    fn compare(&self, link: &Link<Lab>, asked: impl Fn(ConnectionId) -> bool) {
        for (conn, held) in self.held.iter().filter(|(conn, _)| asked(**conn)) {
            let replica = link.replica(*conn);
            let dots = replica.all::<Dot>().map(|(id, dot)| (id.get(), StoredRecord::of(dot)));
            let crates = replica.all::<Crate>().map(|(id, it)| (id.get(), StoredRecord::of(it)));
            let theirs: Held = dots.chain(crates).collect();
            let tick = link.tick_number();
            let differs = |id: &&u64| theirs.get(id) != held.get(id);
            let wrong: Vec<_> = theirs.keys().chain(held.keys()).filter(differs).collect();
            assert!(wrong.is_empty(), "client {} at tick {tick} is wrong of {wrong:?}", conn.0);
        }
    }

    /// One tick, after which every client holds exactly what it should, and each of its entities was named once.
    pub(crate) fn tick(&mut self, link: &mut Link<Lab>) -> Said {
        link.tick();
        let now = self.views(link);
        let mut said = Said::default();
        for (conn, view) in &now {
            let before = &self.held[conn];
            for (id, stored) in view {
                match before.get(id) {
                    None => said.enters += 1,
                    Some(old) => said.changes += u64::from(old != stored),
                }
            }
            said.leaves += before.keys().filter(|id| !view.contains_key(id)).count() as u64;
        }
        self.held = now;
        self.compare(link, |_| true);
        let (stats, old) = (link.room.room().stats(), self.stats);
        let counted = Said {
            enters: stats.enters - old.enters,
            changes: stats.changes - old.changes,
            leaves: stats.leaves - old.leaves,
        };
        assert_eq!(counted, said, "what was sent at tick {}, and what there was to send", link.tick_number());
        self.stats = stats;
        said
    }

    /// One tick, after which every client that is drained holds exactly what it should; returns how many are.
    pub(crate) fn tick_loosely(&mut self, link: &mut Link<Lab>) -> usize {
        link.tick();
        self.held = self.views(link);
        let drained = |conn| link.room.room().is_drained(conn) && link.client(conn).is_joined();
        self.compare(link, drained);
        self.stats = link.room.room().stats();
        self.held.keys().filter(|conn| drained(**conn)).count()
    }
}

/// Numbers from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    pub(crate) fn within(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.below(1 << 20) as f64 / f64::from(1 << 20)
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len() as u64) as usize])
    }
}

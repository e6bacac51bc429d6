//! A send: the seal, each connection's update, and the events behind it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Runtime;
use crate::room::ConnectionId;
use crate::room::game::Game;
use crate::room::lens::RoomLens;
use crate::room::log::Log;
use crate::room::outgoing::Target;
use crate::sync::Views;
use crate::sync::interest::Notes;

/// Where the bytes of something outgoing lie.
pub(super) enum Source {
    Own(Range<usize>),
    Update(Range<usize>),
    Event(Range<usize>),
    Close(u16, Range<usize>),
}

pub(super) struct Item {
    pub(super) conn: ConnectionId,
    pub(super) source: Source,
}

/// What waits to be polled.
#[derive(Default)]
pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
    pub(super) events: Vec<u8>,
    items: Vec<Item>,
    next: usize,
    /// Connections closed since the last tick began: until it has ended, what they sent before is still handled.
    closed: BTreeSet<ConnectionId>,
}

impl Out {
    fn push(&mut self, conn: ConnectionId, source: Source) {
        if !self.closed.contains(&conn) {
            self.items.push(Item { conn, source });
        }
    }

    pub(super) fn message(&mut self, conn: ConnectionId, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        encode(&mut self.bytes);
        self.push(conn, Source::Own(start..self.bytes.len()));
    }

    /// Closes a connection; what is pushed for it later is dropped.
    pub(super) fn close(&mut self, conn: ConnectionId, code: u16, reason: String) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(crate::session::close_reason(reason).as_bytes());
        self.push(conn, Source::Close(code, start..self.bytes.len()));
        self.closed.insert(conn);
    }

    /// A tick has taken the closed connections out of the room: nothing is pushed for them any more.
    pub(super) fn forget_closed(&mut self) {
        self.closed.clear();
    }

    pub(super) fn next(&mut self) -> Option<Item> {
        if self.next == self.items.len() {
            self.items.clear();
            self.next = 0;
            self.bytes.clear();
            return None;
        }
        let Item { conn, source } = &self.items[self.next];
        let source = match source {
            Source::Own(range) => Source::Own(range.clone()),
            Source::Update(range) => Source::Update(range.clone()),
            Source::Event(range) => Source::Event(range.clone()),
            Source::Close(code, range) => Source::Close(*code, range.clone()),
        };
        self.next += 1;
        Some(Item { conn: *conn, source })
    }

    fn is_drained(&self) -> bool {
        self.next == self.items.len()
    }
}

impl<G: Game> Runtime<G> {
    pub(super) fn send(&mut self) {
        let updates = |item: &Item| matches!(item.source, Source::Update(_) | Source::Event(_));
        debug_assert!(
            self.out.is_drained() || !self.out.items[self.out.next..].iter().any(updates),
            "poll_transmit is drained before the next send"
        );
        let Some(mut views) = self.room.views.take() else { return };
        let tick = self.room.tick;
        views.encode(tick, &mut self.room.world);
        let saw = self.who_sees(&views);
        let lens = RoomLens::new(&self.game, &self.room);
        views.update(tick, &self.room.world, &lens);
        let notes = lens.notes.into_inner();
        for (viewer, range) in &views.outbox().messages {
            if let Some(conn) = self.room.at(*viewer).map(|c| c.id) {
                self.out.push(conn, Source::Update(range.clone()));
            }
        }
        self.push_events(&views, &saw);
        self.room.views = Some(views);
        self.write_notes(notes);
        self.room.world.end_seal();
    }

    /// For each event to those who see an entity, the viewers who had it before this send's update.
    fn who_sees(&self, views: &Views) -> Vec<Vec<u32>> {
        let queued = &self.room.events.queued;
        let asked = queued
            .iter()
            .filter_map(|(target, _)| if let Target::Seeing(slot) = target { Some(*slot) } else { None });
        asked
            .map(|slot| self.viewers().filter(|v| views.viewer(*v).is_some_and(|v| v.knows(slot))).collect())
            .collect()
    }

    fn viewers(&self) -> impl Iterator<Item = u32> + '_ {
        self.room.by_id.values().copied()
    }

    fn push_events(&mut self, views: &Views, saw: &[Vec<u32>]) {
        std::mem::swap(&mut self.out.events, &mut self.room.events.bytes);
        self.room.events.bytes.clear();
        let mut saw = saw.iter();
        let mut queued = std::mem::take(&mut self.room.events.queued);
        for (target, range) in queued.drain(..) {
            match target {
                Target::Connection(to) if self.room.by_id.contains_key(&to) => {
                    self.out.push(to, Source::Event(range));
                }
                Target::Connection(_) => {}
                Target::Player(to) => {
                    if let Some(conn) = self.room.of_player.get(&to) {
                        self.out.push(*conn, Source::Event(range));
                    }
                }
                Target::Everyone => self.push_event(&range, |_| true),
                Target::Seeing(slot) => {
                    let before = saw.next().map(Vec::as_slice).unwrap_or_default();
                    let sees = |viewer| views.viewer(viewer).is_some_and(|v| v.knows(slot));
                    self.push_event(&range, |viewer| before.contains(&viewer) || sees(viewer));
                }
                Target::Key(key) => {
                    let subscribers = views.subscribers(&key);
                    self.push_event(&range, |viewer| subscribers.contains(viewer));
                }
            }
        }
        self.room.events.queued = queued;
    }

    fn push_event(&mut self, range: &Range<usize>, meant: impl Fn(u32) -> bool) {
        for (conn, _) in self.room.by_id.iter().filter(|(_, viewer)| meant(**viewer)) {
            self.out.push(*conn, Source::Event(range.clone()));
        }
    }

    fn write_notes(&mut self, notes: Notes) {
        let player = |viewer: u32| self.room.at(viewer).map(|c| c.player);
        let mut logs = Vec::new();
        for slot in notes.bad_positions {
            let (id, kind) = (self.room.world.info(slot).id, self.room.world.kind_name(slot));
            logs.push(Log::BadPosition { id, kind });
        }
        for slot in notes.entity_keys {
            let (id, kind) = (self.room.world.info(slot).id, self.room.world.kind_name(slot));
            logs.push(Log::KeyCap { id, kind });
        }
        logs.extend(
            notes.bad_arounds.iter().filter_map(|v| player(*v)).map(|player| Log::BadAround { player }),
        );
        logs.extend(
            notes
                .subscriptions
                .iter()
                .filter_map(|v| player(*v))
                .map(|player| Log::SubscriptionCap { player }),
        );
        logs.extend(notes.views.iter().filter_map(|v| player(*v)).map(|player| Log::ViewCap { player }));
        self.interest_panics += notes.panics;
        if self.interest_panics > 0 {
            logs.push(Log::InterestPanicked { count: self.interest_panics });
        }
        for log in logs {
            if self.log_gate.admits(&log, self.room.tick, self.settings.tick_rate) {
                if matches!(log, Log::InterestPanicked { .. }) {
                    self.interest_panics = 0;
                }
                self.logs.push_back(log);
            }
        }
    }
}

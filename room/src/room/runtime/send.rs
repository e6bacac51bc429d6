//! A send: the seal, each connection's update, and the game's messages behind it.

use std::sync::Arc;

use super::Runtime;
use super::out::Source;
use crate::entity::SessionId;
use crate::room::Connection;
use crate::room::game::Game;
use crate::room::lens::RoomLens;
use crate::room::log::Log;
use crate::room::outgoing::{Class, Queued, Target};
use crate::storage::State;
use crate::sync::Views;
use crate::sync::interest::Notes;
use crate::wire::message::RoomMessage;

impl<G: Game> Runtime<G> {
    /// Seals what changed and lays everything out that is sent of it. `rest` says what the room is to be where this is its
    /// last seal.
    pub(super) fn send(&mut self, rest: Option<State>) {
        debug_assert!(!self.out.has_updates(), "poll_transmit is drained before the next send");
        let Some(mut views) = self.room.views.take() else { return };
        let tick = self.room.tick;
        views.encode(tick, &mut self.room.world);
        let saw = self.who_sees(&views);
        let lens = RoomLens::new(&self.game, &self.room);
        views.update(tick, &self.room.world, &lens);
        let notes = lens.notes.into_inner();
        for (viewer, letter) in views.messages() {
            if let Some(conn) = self.room.at(viewer).map(|c| c.id) {
                self.out.push(conn, Source::Update(letter));
            }
        }
        self.push_stepped(&views);
        self.push_messages(&views, &saw);
        self.push_ready();
        self.room.views = Some(views);
        self.write_notes(notes);
        self.collect(rest);
        self.room.world.end_seal();
    }

    /// For each message to those who see an entity, the viewers who had it before this send's update.
    fn who_sees(&self, views: &Views) -> Vec<Vec<u32>> {
        let queued = &self.room.messages.queued;
        let asked =
            queued.iter().filter_map(|m| if let Target::Seeing(slot) = m.target { Some(slot) } else { None });
        asked.map(|slot| self.viewers().filter(|viewer| views.knows(*viewer, slot)).collect()).collect()
    }

    fn viewers(&self) -> impl Iterator<Item = u32> + '_ {
        self.room.by_id.values().copied()
    }

    /// The sessions of viewers, in the order of their connections.
    fn sessions_where(&self, meant: impl Fn(u32) -> bool) -> Vec<SessionId> {
        let meant = self.viewers().filter(|viewer| meant(*viewer));
        meant.filter_map(|viewer| self.room.at(viewer).map(Connection::session)).collect()
    }

    /// Addresses what the game sent since the last send.
    fn push_messages(&mut self, views: &Views, saw: &[Vec<u32>]) {
        let mut saw = saw.iter();
        let mut queued = std::mem::take(&mut self.room.messages.queued);
        for Queued { target, class, message } in queued.drain(..) {
            let sessions: Vec<SessionId> = match target {
                Target::Session(session) => {
                    self.push_to(views, session, class, &message);
                    continue;
                }
                Target::Player(player, last) => {
                    let theirs = self.room.sessions.of_player(player).iter().copied();
                    theirs.filter(|id| *id <= last).collect()
                }
                Target::Everyone(last) => {
                    self.room.sessions.iter().map(|(id, _)| id).take_while(|id| *id <= last).collect()
                }
                Target::Seeing(slot) => {
                    let before = saw.next().map(Vec::as_slice).unwrap_or_default();
                    self.sessions_where(|viewer| before.contains(&viewer) || views.knows(viewer, slot))
                }
                Target::Key(key) => {
                    let subscribers = views.subscribers(&key);
                    self.sessions_where(|viewer| subscribers.contains(viewer))
                }
            };
            for session in sessions {
                self.push_to(views, session, class, &message);
            }
        }
        self.room.messages.queued = queued;
    }

    fn push_to(&mut self, views: &Views, id: SessionId, class: Class, message: &Arc<[u8]>) {
        let Some(session) = self.room.sessions.get_mut(id) else { return };
        // Where the update is held back that it would stand behind, an effect is stale before it arrives.
        let viewer = || self.room.by_id.get(&session.conn).and_then(|viewer| views.viewer(*viewer));
        match class {
            Class::Event => {
                session.outbox.push(message.clone());
                self.room.sessions.progressed(id);
                self.push_kept(id);
            }
            Class::Transient if session.hidden_since.is_some() => {}
            Class::Transient => {
                if viewer().is_some_and(|viewer| !viewer.is_behind()) {
                    self.out.push(session.conn, Source::Shared(message.clone()));
                }
            }
        }
    }

    /// Puts on the wire what a session keeps and its connection has room for.
    fn push_kept(&mut self, id: SessionId) {
        let Some(session) = self.room.sessions.get_mut(id).filter(|session| session.held.is_none()) else {
            return;
        };
        while let Some(message) = session.outbox.send_next() {
            self.out.push(session.conn, Source::Shared(message));
        }
    }

    /// Sessions to which something is owed: what they keep, and word of what the room has handled.
    fn push_ready(&mut self) {
        for id in std::mem::take(&mut self.room.sessions.ready) {
            self.push_kept(id);
            let Some(session) = self.room.sessions.get_mut(id) else { continue };
            if session.held.is_none() && session.told < session.handled {
                session.told = session.handled;
                let (conn, handled) = (session.conn, session.handled);
                self.out.message(conn, |out| RoomMessage::Ack(handled).encode(out));
            }
        }
    }

    fn write_notes(&mut self, mut notes: Notes) {
        // Several threads may have taken note.
        notes.views.sort_unstable();
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

//! What clients say: messages as they come, and events and calls as the game handles them.

use std::sync::Arc;

use super::caution::Verdict;
use super::inbox::Arrival;
use super::played::Write;
use super::{Closed, Runtime};
use crate::entity::{PlayerId, SessionId};
use crate::faults::{self, Fault};
use crate::limits;
use crate::room::game::{Dropped, Game, Peer};
use crate::room::log::Log;
use crate::room::sessions::{Asked, Said, Waiting};
use crate::room::{Connection, ConnectionId, Room};
use crate::session::credit::{Credit, Rate};
use crate::session::{code, cut};
use crate::sync::workers::Shared;
use crate::wire::message::{Ack, Call, ClientMessage, Outcome, RoomMessage};
use crate::wire::{DecodeError, payload};

/// The code and reason with which a connection is closed for what it sent.
type Refused = (u16, String);

fn bad(error: DecodeError) -> Refused {
    (code::BAD_MESSAGE, error.to_string())
}

impl<G: Game> Runtime<G> {
    /// Takes a message; what cannot be one closes the connection.
    pub(super) fn hear(
        &mut self,
        conn: ConnectionId,
        now: std::time::Duration,
        bytes: &[u8],
    ) -> Result<(), Refused> {
        let Some(session) = self.inbox.socket(conn).map(|socket| socket.session) else { return Ok(()) };
        if self.is_flood(session, bytes) {
            return Ok(());
        }
        let message = ClientMessage::decode(bytes).map_err(bad)?;
        let early = || bad(DecodeError::Order);
        match message {
            ClientMessage::Hello(_) => Err((code::SECOND_HELLO, String::from("a second hello"))),
            ClientMessage::Ping(clock) => {
                if session.is_none_or(|id| self.has_credit(id)) {
                    let time = self.time(now);
                    let player = session.and_then(|id| Some(self.room.sessions.get(id)?.player));
                    let inputs = player.map(|player| self.steps.report(player)).unwrap_or_default();
                    self.out.message(conn, |out| RoomMessage::Pong { clock, time, inputs }.encode(out));
                }
                Ok(())
            }
            ClientMessage::Leave => {
                self.inbox.end(conn, Arrival::Leave);
                Ok(())
            }
            ClientMessage::Event { gap, payload } => {
                let said = |_: &Self| payload::decode(payload).map(Said::Event).map_err(bad);
                self.said(conn, session.ok_or_else(early)?, gap, payload.len(), said)
            }
            ClientMessage::Call(call) => {
                let said = |runtime: &Self| runtime.asked(call).map(Said::Call).map_err(bad);
                self.said(conn, session.ok_or_else(early)?, call.gap, call.payload.len(), said)
            }
            ClientMessage::Status { gap, text } => {
                let said = |_: &Self| Ok(Said::Status(text.to_owned()));
                self.said(conn, session.ok_or_else(early)?, gap, text.len(), said)
            }
            ClientMessage::Transient(bytes) => {
                session.ok_or_else(early)?;
                let event = payload::decode(bytes).map_err(bad)?;
                self.inbox.arrived(conn, Arrival::Transient(event));
                Ok(())
            }
            ClientMessage::Inputs { first, inputs } => {
                self.heard_inputs(session.ok_or_else(early)?, first, &inputs).map_err(bad)
            }
            ClientMessage::Writes { number, entries } => {
                session.ok_or_else(early)?;
                let writes = entries.iter().map(Write::of).collect();
                self.inbox.arrived(conn, Arrival::Write(number, writes));
                Ok(())
            }
            ClientMessage::Hidden(hidden) => {
                self.set_hidden(conn, session.ok_or_else(early)?, hidden);
                Ok(())
            }
            ClientMessage::Ack(ack) => {
                self.acknowledge(conn, session.ok_or_else(early)?, ack);
                Ok(())
            }
        }
    }

    /// An event, a call or a status came: it waits in its session, unless it came before.
    fn said(
        &mut self,
        conn: ConnectionId,
        id: SessionId,
        gap: u64,
        len: usize,
        decode: impl FnOnce(&Self) -> Result<Said<G>, Refused>,
    ) -> Result<(), Refused> {
        let Some(socket) = self.inbox.socket(conn) else { return Ok(()) };
        let number = socket.last.checked_add(gap).filter(|number| *number <= limits::ID_MOST);
        let number = number.ok_or_else(|| bad(DecodeError::Value))?;
        socket.last = number;
        if self.room.sessions.get(id).is_none_or(|session| session.has(number)) {
            return Ok(());
        }
        let said = decode(self)?;
        let cost = len + limits::MESSAGE_COST;
        let Some(session) = self.room.sessions.get_mut(id) else { return Ok(()) };
        if !session.wait(Waiting { number, cost, said: Shared::new(said) }) {
            return Err((code::FLOOD, String::from("too many events wait for the room")));
        }
        if faults::is(Fault::AckBeforeHook) {
            self.out.message(conn, |out| RoomMessage::Ack(number).encode(out));
        }
        self.inbox.arrived(conn, Arrival::Said(id));
        Ok(())
    }

    fn asked(&self, call: Call<'_>) -> Result<Asked<G>, DecodeError> {
        let run = self.calls.decode(call.name, call.payload)?;
        Ok(Asked { run, through: call.through, deadline: call.deadline })
    }

    /// Takes a message's credit.
    pub(super) fn has_credit(&mut self, id: SessionId) -> bool {
        let (rate, now) = (self.rate(), self.room.tick);
        let Some(session) = self.room.sessions.get_mut(id) else { return false };
        let has = session.credit.take(rate, now);
        session.flooded += u64::from(!has);
        has
    }

    /// What a session begins with: of messages, and of those with inputs.
    pub(super) fn full_credit(&self) -> [Credit; 2] {
        [self.rate(), self.input_rate()].map(|rate| Credit::full(rate, self.room.tick))
    }

    pub(super) fn rate(&self) -> Rate {
        Rate {
            per_second: self.settings.messages_per_second,
            burst: self.settings.messages_burst,
            tick_rate: self.settings.tick_rate,
        }
    }

    /// The room's time in thousandths of a tick.
    fn time(&self, now: std::time::Duration) -> u64 {
        let since = now.saturating_sub(self.ticked_at).as_micros() as u64;
        let part = since.saturating_mul(u64::from(self.settings.tick_rate)) / 1000;
        self.room.tick.0 * 1000 + part.min(999)
    }

    fn set_hidden(&mut self, conn: ConnectionId, id: SessionId, hidden: bool) {
        let now = self.room.tick;
        if let Some(session) = self.room.sessions.get_mut(id) {
            session.hidden_since = hidden.then(|| session.hidden_since.unwrap_or(now));
        }
        self.room.sessions.changed(id);
        if let Some(viewer) = self.room.by_id.get(&conn).copied() {
            self.room.views_mut().set_hidden(viewer, hidden);
        }
    }

    fn acknowledge(&mut self, conn: ConnectionId, id: SessionId, ack: Ack) {
        let (now, mut progress) = (self.room.tick, false);
        let (most, bytes) = (self.settings.events_most, self.settings.events_bytes);
        if let Some(viewer) = self.room.by_id.get(&conn).copied() {
            progress = self.room.views_mut().acknowledge(viewer, ack, now);
        }
        if let Some(session) = self.room.sessions.get_mut(id) {
            let confirmed = session.tokens.confirm();
            let past = session.outbox.len() > most || session.outbox.bytes() > bytes;
            let taken = session.outbox.acknowledge(ack.events);
            progress |= taken;
            if progress {
                session.quiet_since = None;
            }
            let unsent = session.outbox.has_unsent();
            if unsent {
                self.room.sessions.ready.insert(id);
            }
            if confirmed {
                self.room.sessions.changed(id);
            }
            // Stored lazily, but not where a session that a kill holds would be past its bounds without it.
            if taken && past {
                self.room.sessions.progressed(id);
            }
        }
    }

    /// An event or a call is next in the order of arrival. It is handled now, unless one before it waits for credit.
    pub(super) fn handle_said(&mut self, id: SessionId) {
        if !self.room.sessions.owing.contains(&id) {
            self.handle_credited(id);
        }
    }

    /// Handles what waits in a session while it has credit.
    pub(super) fn handle_waiting(&mut self, id: SessionId) {
        while self.handle_credited(id) {}
        self.left(id);
    }

    /// Handles what is next in a session, if it has credit; returns whether it did.
    fn handle_credited(&mut self, id: SessionId) -> bool {
        let (rate, now) = (self.rate(), self.room.tick);
        let Some(session) = self.room.sessions.get_mut(id) else { return false };
        let Some(number) = session.waiting.front().map(|waiting| waiting.number) else { return false };
        match self
            .durable
            .as_mut()
            .map_or(Verdict::Handle, |durable| durable.caution.judge((id, number), now))
        {
            Verdict::Handle => {}
            Verdict::GiveUp => {
                self.give_up(id);
                return true;
            }
            Verdict::Wait => {
                self.room.sessions.owing.insert(id);
                return false;
            }
        }
        let Some(session) = self.room.sessions.get_mut(id) else { return false };
        if !session.credit.take(rate, now) {
            self.room.sessions.owing.insert(id);
            return false;
        }
        self.handle_next(id);
        true
    }

    /// Handles the next event or call of a session.
    fn handle_next(&mut self, id: SessionId) {
        let Some(session) = self.room.sessions.get_mut(id) else { return };
        let Some(Waiting { number, said, .. }) = session.next() else { return };
        let peer = session.peer();
        if let Some(durable) = &mut self.durable {
            durable.caution.begins((id, number));
        }
        let answer = match said.into_inner() {
            Said::Event(event) => {
                let handled = self.caught("on_event", |game, room| game.on_event(room, peer, event));
                handled.is_none().then_some(RoomMessage::Failed(number))
            }
            Said::Status(status) => {
                let handled = self.take_status(peer.player, status);
                handled.is_none().then_some(RoomMessage::Failed(number))
            }
            Said::Call(asked) => {
                let outcome = self.call(id, peer, asked);
                let (bytes, reason);
                let outcome = match outcome {
                    Ok(value) => {
                        bytes = value;
                        Outcome::Accepted(&bytes)
                    }
                    Err(text) => {
                        reason = cut(text, limits::REFUSAL);
                        Outcome::Refused(&reason)
                    }
                };
                let result = RoomMessage::Result { call: number, tick: self.room.tick, outcome };
                return self.handled(id, number, Some(encoded(&result)));
            }
        };
        self.handled(id, number, answer.map(|answer| encoded(&answer)))
    }

    /// The next event or call of a session failed the room often enough: it counts as failed, unhandled.
    fn give_up(&mut self, id: SessionId) {
        let Some(session) = self.room.sessions.get_mut(id) else { return };
        let Some(Waiting { number, said, .. }) = session.next() else { return };
        let player = session.player;
        let answer = match said.into_inner() {
            Said::Event(_) | Said::Status(_) => encoded(&RoomMessage::Failed(number)),
            Said::Call(_) => {
                let outcome = Outcome::Refused("failed");
                encoded(&RoomMessage::Result { call: number, tick: self.room.tick, outcome })
            }
        };
        self.logs.push_back(Log::GaveUp { player, number });
        self.handled(id, number, Some(answer));
    }

    fn handled(&mut self, id: SessionId, number: u64, answer: Option<Arc<[u8]>>) {
        if let Some(durable) = &mut self.durable {
            durable.caution.done((id, number));
        }
        if let Some(session) = self.room.sessions.get_mut(id) {
            session.handled = number;
            if let Some(answer) = answer {
                session.outbox.push(answer);
            }
            self.room.sessions.ready.insert(id);
            self.room.sessions.progressed(id);
        }
    }

    /// A player's client sets her status, as the game has it; `None` where its hook fails.
    fn take_status(&mut self, player: PlayerId, status: String) -> Option<()> {
        if !self.room.world.schema().has_presence() {
            return Some(());
        }
        let status = self.caught("on_status", |game, room| game.on_status(room, player, status))?;
        if let Some(status) = status {
            // It is short enough, and whoever has a session has presence.
            let _ = self.room.set_status(player, &cut(status, limits::STATUS));
        }
        Some(())
    }

    /// Runs a call, where it may run.
    fn call(&mut self, id: SessionId, peer: Peer, asked: Asked<G>) -> Result<Vec<u8>, String> {
        let Some((name, run)) = asked.run else { return Err("unknown_call".into()) };
        let now = self.room.tick;
        if asked.deadline.0 != 0 && now > asked.deadline {
            return Err("late".into());
        }
        let owner = |id| self.room.world.slot(id).and_then(|slot| self.room.world.owner(slot));
        if asked.through.is_some_and(|id| owner(id) != Some(peer.player)) {
            return Err("not_owner".into());
        }
        if let Some((per_second, burst)) = self.calls.rate_of(name) {
            let rate = Rate { per_second, burst, tick_rate: self.settings.tick_rate };
            let may = self.room.sessions.get_mut(id).is_some_and(|session| session.may_call(name, rate, now));
            if !may {
                return Err("too_many".into());
            }
        }
        match self.caught(name, |game, room| run(game, room, peer)) {
            Some(answer) => answer.map_err(|refused| refused.reason().to_owned()),
            None => Err("failed".into()),
        }
    }

    pub(super) fn transient(&mut self, conn: ConnectionId, event: G::Event) {
        if let Some(peer) = self.room.connection(conn).map(Connection::peer) {
            self.caught("on_transient", |game, room| game.on_transient(room, peer, event));
        }
    }

    /// Once a second: ends connections that take nothing, and sessions for which too much waits.
    pub(super) fn watch(&mut self) {
        let tick_rate = u64::from(self.settings.tick_rate);
        let now = self.room.tick;
        if !now.0.is_multiple_of(tick_rate) {
            return;
        }
        let mut behind = Vec::new();
        let mut over = Vec::new();
        let (most, bytes) = (self.settings.events_most, self.settings.events_bytes);
        let Room { sessions, by_id, views, .. } = &mut self.room;
        for (id, session) in sessions.iter_mut() {
            let viewer = by_id.get(&session.conn).and_then(|viewer| views.as_ref()?.viewer(*viewer));
            let awaited = viewer.is_some_and(|v| !v.window.is_empty() || session.outbox.is_awaited());
            session.quiet_since = awaited.then(|| session.quiet_since.unwrap_or(now));
            let quiet = session.quiet_since.map_or(0, |since| now.0 - since.0);
            let (count, size) = (session.outbox.len(), session.outbox.bytes());
            let past = count > most || size > bytes;
            session.over_since = past.then(|| session.over_since.unwrap_or(now));
            let waited = session.over_since.map_or(0, |since| now.0 - since.0);
            let far = count > limits::EVENTS_MOST || size > limits::EVENTS_BYTES_MOST;
            if far || (past && session.held.is_some()) {
                // A held session's connection has ended before.
                over.push((id, session.held.is_none().then_some(session.conn)));
            } else if waited > limits::EVENTS_SECONDS * tick_rate
                || quiet > limits::FELL_BEHIND_SECONDS * tick_rate
            {
                behind.push((id, session.conn));
            }
        }
        for (id, conn) in over {
            if let Some(conn) = conn {
                self.cut_off(conn);
            }
            self.end(id, crate::room::LeaveReason::Dropped);
        }
        for (id, conn) in behind {
            if self
                .room
                .sessions
                .get(id)
                .is_some_and(|session| session.held.is_none() && session.conn == conn)
            {
                self.cut_off(conn);
                self.drop_connection(conn, Dropped::FellBehind);
            }
        }
    }

    /// Ends a socket without a close frame, which it would not read.
    fn cut_off(&mut self, conn: ConnectionId) {
        self.inbox.forget(conn);
        self.out.abort(conn);
    }

    /// Tells of what was dropped or refused, once a heartbeat.
    pub(super) fn note_flooded(&mut self) {
        let heartbeat = limits::HEARTBEAT_SECONDS * u64::from(self.settings.tick_rate);
        if !self.room.tick.0.is_multiple_of(heartbeat) {
            return;
        }
        for (_, session) in self.room.sessions.iter_mut() {
            let count = std::mem::take(&mut session.flooded);
            if count > 0 {
                self.logs.push_back(Log::Flooded { player: session.player, count });
            }
            let count = std::mem::take(&mut session.refused_writes);
            if count > 0 {
                self.logs.push_back(Log::RefusedWrites { player: session.player, count });
            }
        }
    }
}

/// How a socket's end reads to the game.
pub(super) fn dropped(how: Closed) -> Dropped {
    match how {
        Closed::WithFrame => Dropped::Closed,
        Closed::Broken => Dropped::Broken,
        Closed::Silent => Dropped::Silent,
        Closed::FellBehind => Dropped::FellBehind,
    }
}

fn encoded(message: &RoomMessage<'_>) -> Arc<[u8]> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes.into()
}

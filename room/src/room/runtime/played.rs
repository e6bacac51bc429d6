//! What players do: inputs by the tick, and writes to what they own.

use super::Runtime;
use crate::entity::{EntityId, FieldMask, PlayerId, SessionId};
use crate::limits;
use crate::room::game::{Dropped, Game, Peer};
use crate::room::writes::Written;
use crate::room::{Connection, ConnectionId};
use crate::session::code;
use crate::session::credit::Rate;
use crate::sync::Views;
use crate::tick::Tick;
use crate::wire::message::{RoomMessage, WriteEntry, tag, writes_number};
use crate::wire::{DecodeError, Reader};

/// One entity of a write that waits for the tick.
pub(super) struct Write {
    kind: u8,
    id: EntityId,
    fields: Box<[u8]>,
}

impl Write {
    pub(super) fn of(entry: &WriteEntry<'_>) -> Write {
        Write { kind: entry.kind, id: entry.id, fields: entry.fields.into() }
    }
}

impl<G: Game> Runtime<G> {
    /// Whether a message is an input, a write or a transient for which its sender has no credit: it is not looked at then,
    /// but counted.
    pub(super) fn is_flood(&mut self, session: Option<SessionId>, bytes: &[u8]) -> bool {
        let Some(id) = session else { return false };
        match bytes.first() {
            Some(&tag::INPUT) => !self.has_input_credit(id),
            Some(&tag::WRITE) => {
                let flood = !self.has_credit(id);
                if let Some(number) = writes_number(bytes).filter(|_| flood) {
                    // Nothing of it is done, and its sender shows what the room has.
                    self.written(id, number);
                }
                flood
            }
            Some(&tag::CLIENT_TRANSIENT) => !self.has_credit(id),
            _ => false,
        }
    }

    pub(super) fn input_rate(&self) -> Rate {
        let tick_rate = self.settings.tick_rate;
        Rate { per_second: limits::INPUTS_PER_TICK * tick_rate, burst: limits::INPUTS_BURST, tick_rate }
    }

    fn has_input_credit(&mut self, id: SessionId) -> bool {
        let (rate, now) = (self.input_rate(), self.room.tick);
        let Some(session) = self.room.sessions.get_mut(id) else { return false };
        let has = session.input_credit.take(rate, now);
        session.flooded += u64::from(!has);
        has
    }

    pub(super) fn heard_inputs(
        &mut self,
        session: SessionId,
        first: Tick,
        inputs: &[&[u8]],
    ) -> Result<(), DecodeError> {
        let now = self.room.tick;
        let Some(session) = self.room.sessions.get(session) else { return Ok(()) };
        self.steps.hear(session.player, first, inputs, now)
    }

    /// Does what a player writes.
    pub(super) fn write(&mut self, conn: ConnectionId, number: u64, writes: Vec<Write>) {
        let Some(peer) = self.room.connection(conn).map(Connection::peer) else { return };
        for write in writes {
            match self.write_one(peer, &write) {
                Ok(true) => {}
                Ok(false) => self.refused_write(conn),
                Err(error) => return self.close_bad(conn, error),
            }
        }
        if let Some(session) = self.room.sessions.of_conn(conn) {
            self.written(session, number);
        }
    }

    /// Puts a write before the game, and does it; returns whether it was hers to do, and the game let her.
    fn write_one(&mut self, peer: Peer, write: &Write) -> Result<bool, DecodeError> {
        let kinds = self.room.world.schema().entries();
        let kind =
            kinds.iter().find(|entry| entry.wire_index == Some(write.kind)).ok_or(DecodeError::Unknown)?;
        let mut r = Reader::new(&write.fields);
        let fields = FieldMask::take(kind.kind.fields.len(), &mut r)?;
        let target = (write.kind, write.id);
        let Ok(proposal) = self.room.world.propose(peer.player, target, fields, r.rest())? else {
            return Ok(false);
        };
        let mut written = Written::new(write.id, fields, proposal);
        let let_be = self.caught("on_write", |game, room| game.on_write(room, peer, &mut written));
        if !matches!(let_be, Some(Ok(()))) {
            return Ok(false);
        }
        Ok(self.room.world.adopt(write.id, fields, written.proposal()).is_ok())
    }

    fn written(&mut self, id: SessionId, number: u64) {
        if let Some(session) = self.room.sessions.get_mut(id) {
            session.written = session.written.max(number);
            self.room.sessions.wrote.insert(id);
        }
    }

    fn refused_write(&mut self, conn: ConnectionId) {
        let session = self.room.sessions.of_conn(conn).and_then(|id| self.room.sessions.get_mut(id));
        if let Some(session) = session {
            session.refused_writes += 1;
        }
    }

    /// Closes a connection, in the middle of a tick, for what it sent.
    fn close_bad(&mut self, conn: ConnectionId, error: DecodeError) {
        self.refuse(conn, code::BAD_MESSAGE, error.to_string());
        self.inbox.forget(conn);
        self.drop_connection(conn, Dropped::Misbehaved);
    }

    /// Steps every player, who is away as well.
    pub(super) fn step_players(&mut self) {
        if self.steps.is_none() {
            return;
        }
        let players: Vec<PlayerId> = self.room.sessions.players().collect();
        let first = self.room.world.first_owned();
        let mut steps = std::mem::take(&mut self.steps);
        for player in players {
            self.caught("step", |_, room| steps.step(room, player, &first));
        }
        self.steps = steps;
    }

    /// Behind a send's updates: says to those who play, and to those who wrote, which of their inputs and writes are in
    /// them.
    pub(super) fn push_stepped(&mut self, views: &Views) {
        let mut wrote = std::mem::take(&mut self.room.sessions.wrote);
        wrote.retain(|id| !self.tell_stepped(views, *id));
        self.room.sessions.wrote = wrote;
        // Where nobody is stepped, who did not write costs nothing.
        if self.steps.is_none() {
            return;
        }
        let tick = self.room.tick;
        let mut after = None;
        while let Some((id, session)) = self.room.sessions.after(after) {
            let plays = session.hidden_since.is_none() && self.steps.is_used(session.player, tick);
            if plays && session.told_stepped < tick {
                self.tell_stepped(views, id);
            }
            after = Some(id);
        }
    }

    /// Returns whether there is nothing more to say of a session's writes: she was told, or is away.
    fn tell_stepped(&mut self, views: &Views, id: SessionId) -> bool {
        let tick = self.room.tick;
        let Some(session) = self.room.sessions.get_mut(id).filter(|session| session.held.is_none()) else {
            return true;
        };
        let viewer = self.room.by_id.get(&session.conn);
        let told = viewer.is_some_and(|viewer| views.has_own(*viewer, &self.room.world));
        if told {
            session.told_stepped = tick;
            let (conn, writes) = (session.conn, session.written);
            self.out.message(conn, |out| RoomMessage::Stepped { tick, writes }.encode(out));
        }
        told
    }
}

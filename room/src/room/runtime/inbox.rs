//! What arrived since the last tick, in the order of its arrival.

use std::collections::BTreeMap;

use super::{Hello, Join};
use crate::limits;
use crate::room::ConnectionId;
use crate::room::game::{Game, LeaveReason};
use crate::session::code;
use crate::tick::Tick;
use crate::wire::message::ClientMessage;
use crate::wire::{DecodeError, payload};

/// One thing that arrived.
pub(super) enum Arrival<G: Game> {
    Join(Join),
    Event(G::Event),
    Leave,
    Close(LeaveReason),
}

/// How far a connection is.
#[derive(Debug, Default)]
struct Socket {
    joining: bool,
    /// It left or was closed: nothing more is taken from it.
    ended: bool,
    /// Bytes of events that wait for the next tick, with what each counts besides: a hook runs for the smallest
    /// too.
    waiting: usize,
}

pub(super) struct Inbox<G: Game> {
    arrivals: Vec<(ConnectionId, Arrival<G>)>,
    sockets: BTreeMap<ConnectionId, Socket>,
    // Invariant: how many sockets are joining and have not ended.
    joining: usize,
}

/// The code and reason with which a connection is closed for what it sent.
type Refused = (u16, String);

impl<G: Game> Inbox<G> {
    pub(super) fn new() -> Self {
        Inbox { arrivals: Vec::new(), sockets: BTreeMap::new(), joining: 0 }
    }

    pub(super) fn joining(&self) -> usize {
        self.joining
    }

    pub(super) fn open(&mut self, conn: ConnectionId, join: Join) {
        let known = self.sockets.insert(conn, Socket { joining: true, ..Socket::default() });
        debug_assert!(known.is_none(), "a connection's number is never used again");
        self.joining += 1;
        self.arrivals.push((conn, Arrival::Join(join)));
    }

    /// Takes a message; returns the tick it acknowledges, if it does.
    pub(super) fn message(&mut self, conn: ConnectionId, bytes: &[u8]) -> Result<Option<Tick>, Refused> {
        let Some(socket) = self.sockets.get_mut(&conn).filter(|s| !s.ended) else { return Ok(None) };
        let bad = |error: DecodeError| (code::BAD_MESSAGE, error.to_string());
        match ClientMessage::decode(bytes).map_err(bad)? {
            ClientMessage::Hello(Hello { .. }) => Err((code::SECOND_HELLO, String::from("a second hello"))),
            ClientMessage::Ack(ack) => Ok(Some(ack.tick)),
            ClientMessage::Event { payload: bytes, .. } => {
                socket.waiting += bytes.len() + limits::MESSAGE_COST;
                if socket.waiting > limits::INBOX {
                    return Err((code::FLOOD, String::from("too many events wait for the room")));
                }
                let event = payload::decode(bytes).map_err(bad)?;
                self.arrivals.push((conn, Arrival::Event(event)));
                Ok(None)
            }
            ClientMessage::Transient(_)
            | ClientMessage::Call(_)
            | ClientMessage::Hidden(_)
            | ClientMessage::Ping(_) => Ok(None),
            ClientMessage::Leave => {
                self.joining -= usize::from(socket.joining);
                socket.ended = true;
                self.arrivals.push((conn, Arrival::Leave));
                Ok(None)
            }
        }
    }

    /// The connection ends, behind what it sent before.
    pub(super) fn close(&mut self, conn: ConnectionId, why: LeaveReason) {
        if let Some(socket) = self.sockets.get_mut(&conn).filter(|s| !s.ended) {
            self.joining -= usize::from(socket.joining);
            socket.ended = true;
            self.arrivals.push((conn, Arrival::Close(why)));
        }
    }

    /// The connection has ended: what it sent is dropped.
    pub(super) fn close_now(&mut self, conn: ConnectionId) {
        if let Some(gone) = self.sockets.remove(&conn) {
            self.joining -= usize::from(gone.joining && !gone.ended);
        }
    }

    /// All that arrived.
    pub(super) fn take(&mut self) -> Vec<(ConnectionId, Arrival<G>)> {
        for socket in self.sockets.values_mut() {
            socket.joining = false;
            socket.waiting = 0;
        }
        self.joining = 0;
        self.sockets.retain(|_, socket| !socket.ended);
        std::mem::take(&mut self.arrivals)
    }

    /// Takes back the memory of what [`take`](Self::take) gave.
    pub(super) fn reuse(&mut self, emptied: Vec<(ConnectionId, Arrival<G>)>) {
        debug_assert!(emptied.is_empty() && self.arrivals.is_empty(), "nothing arrives during a tick");
        self.arrivals = emptied;
    }
}

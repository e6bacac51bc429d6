//! What arrived since the last tick, in the order of its arrival.

use std::collections::BTreeMap;

use super::Join;
use super::played::Write;
use crate::entity::SessionId;
use crate::room::ConnectionId;
use crate::room::game::{Dropped, Game};
use crate::room::outside::{Answer, Payload};

/// One thing that arrived.
pub(super) enum Arrival<G: Game> {
    Join(Box<Join>),
    /// An event or a call, which waits in its session.
    Said(SessionId),
    Transient(G::Event),
    /// The number of a message of writes, and what is written.
    Write(u64, Vec<Write>),
    Leave,
    Drop(Dropped),
    /// From a room of this name.
    Mail(String, Payload),
    /// Of work of this name.
    Answer(String, Answer),
}

/// What arrives from no connection.
pub(super) const NOBODY: ConnectionId = ConnectionId(0);

/// How far a connection is.
#[derive(Debug, Default)]
pub(super) struct Socket {
    /// Its session, once it is seated.
    pub(super) session: Option<SessionId>,
    /// The number of the last event that came over it.
    pub(super) last: u64,
    /// Whether it waits for a seat of its own.
    seat: bool,
    /// It left or was closed: nothing more is taken from it.
    ended: bool,
    /// It ended with a leave.
    left: bool,
}

pub(super) struct Inbox<G: Game> {
    arrivals: Vec<(ConnectionId, Arrival<G>)>,
    sockets: BTreeMap<ConnectionId, Socket>,
    // Invariant: how many sockets wait for a seat and have not ended.
    joining: usize,
}

impl<G: Game> Inbox<G> {
    pub(super) fn new() -> Self {
        Inbox { arrivals: Vec::new(), sockets: BTreeMap::new(), joining: 0 }
    }

    /// Whether nothing has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// How many wait for a seat.
    pub(super) fn joining(&self) -> usize {
        self.joining
    }

    /// A client asks to come in; `seat` says whether it needs one.
    pub(super) fn open(&mut self, conn: ConnectionId, seat: bool, join: Join) {
        let known = self.sockets.insert(conn, Socket { seat, ..Socket::default() });
        debug_assert!(known.is_none(), "a connection's number is never used again");
        self.joining += usize::from(seat);
        self.arrivals.push((conn, Arrival::Join(Box::new(join))));
    }

    /// A connection that has not ended.
    pub(super) fn socket(&mut self, conn: ConnectionId) -> Option<&mut Socket> {
        self.sockets.get_mut(&conn).filter(|socket| !socket.ended)
    }

    /// Whether a connection that asks to come in still wants what it asks for: who has left already wants no
    /// session, but the one that she names is to end.
    pub(super) fn wants(&self, conn: ConnectionId, resumes: bool) -> bool {
        self.sockets.get(&conn).is_some_and(|socket| !socket.ended || (socket.left && resumes))
    }

    /// A connection is seated; `received` is the number that its client numbers from.
    pub(super) fn seated(&mut self, conn: ConnectionId, session: SessionId, received: u64) {
        if let Some(socket) = self.sockets.get_mut(&conn) {
            socket.session = Some(session);
            socket.last = received;
        }
    }

    pub(super) fn arrived(&mut self, conn: ConnectionId, arrival: Arrival<G>) {
        self.arrivals.push((conn, arrival));
    }

    /// The connection ends, behind what it sent before.
    pub(super) fn end(&mut self, conn: ConnectionId, arrival: Arrival<G>) {
        if let Some(socket) = self.sockets.get_mut(&conn).filter(|s| !s.ended) {
            self.joining -= usize::from(std::mem::take(&mut socket.seat));
            socket.ended = true;
            socket.left = matches!(arrival, Arrival::Leave);
            self.arrivals.push((conn, arrival));
        }
    }

    /// The connection has ended: what it sent is dropped, but for what its session keeps.
    pub(super) fn forget(&mut self, conn: ConnectionId) {
        if let Some(gone) = self.sockets.remove(&conn) {
            self.joining -= usize::from(gone.seat);
        }
    }

    /// All that arrived. Who waited for a seat has one after this, or none.
    pub(super) fn take(&mut self) -> Vec<(ConnectionId, Arrival<G>)> {
        for socket in self.sockets.values_mut() {
            socket.seat = false;
        }
        self.joining = 0;
        std::mem::take(&mut self.arrivals)
    }

    /// Takes back the memory of what [`take`](Self::take) gave, and forgets the connections that ended.
    pub(super) fn reuse(&mut self, emptied: Vec<(ConnectionId, Arrival<G>)>) {
        debug_assert!(emptied.is_empty() && self.arrivals.is_empty(), "nothing arrives during a tick");
        self.arrivals = emptied;
        self.sockets.retain(|_, socket| !socket.ended);
    }
}

//! What a room has for sockets, until its driver takes it.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use crate::room::ConnectionId;
use crate::sync::update::Letter;

/// Where the bytes of something outgoing lie.
#[derive(Clone)]
pub(super) enum Source {
    Own(Range<usize>),
    Update(Letter),
    Shared(Arc<[u8]>),
    Close(u16, Range<usize>),
    Abort,
}

#[derive(Clone)]
pub(super) struct Item {
    pub(super) conn: ConnectionId,
    pub(super) source: Source,
}

/// What waits to be polled, and what waits for a commit before that.
#[derive(Default)]
pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
    /// Past so many bytes those of what was taken are forgotten, though something is held.
    compact_from: usize,
    /// What the last item lent.
    lent: Option<Arc<[u8]>>,
    ready: VecDeque<Item>,
    held: VecDeque<Item>,
    /// How many of those held wait for the commit that is on its way; the others for the next one.
    barred: usize,
    /// Whether what is pushed is held.
    holding: bool,
    /// Connections closed since the last tick began: until it has ended, what they sent before is still handled.
    closed: BTreeSet<ConnectionId>,
    /// Connections that were closed while something was held for them.
    overtaken: BTreeSet<ConnectionId>,
}

impl Out {
    pub(super) fn push(&mut self, conn: ConnectionId, source: Source) {
        if self.closed.contains(&conn) || self.overtaken.contains(&conn) {
            return;
        }
        let lane = if self.holding { &mut self.held } else { &mut self.ready };
        lane.push_back(Item { conn, source });
    }

    /// Ends a connection without a close frame; what is pushed for it later is dropped.
    pub(super) fn abort(&mut self, conn: ConnectionId) {
        self.end(conn, Source::Abort);
    }

    fn end(&mut self, conn: ConnectionId, source: Source) {
        self.push(conn, source);
        self.closed.insert(conn);
        if !self.holding && !self.held.is_empty() {
            self.overtaken.insert(conn);
        }
    }

    /// Keeps a shared message for as long as the driver looks at it.
    pub(super) fn lend(&mut self, message: Arc<[u8]>) -> &[u8] {
        self.lent.insert(message)
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
        self.end(conn, Source::Close(code, start..self.bytes.len()));
    }

    /// A tick has taken the closed connections out of the room: nothing is pushed for them any more.
    pub(super) fn forget_closed(&mut self) {
        self.closed.clear();
    }

    pub(super) fn next(&mut self) -> Option<Item> {
        let next = self.ready.pop_front();
        if next.is_none() {
            if self.held.is_empty() {
                self.bytes.clear();
            } else if self.bytes.len() > self.compact_from {
                self.compact();
            }
        }
        next
    }

    /// Forgets the bytes of what was taken, where something is always held.
    fn compact(&mut self) {
        let mut bytes = Vec::new();
        for item in &mut self.held {
            if let Source::Own(range) | Source::Close(_, range) = &mut item.source {
                let start = bytes.len();
                bytes.extend_from_slice(&self.bytes[range.clone()]);
                *range = start..bytes.len();
            }
        }
        self.compact_from = COMPACT_FROM.max(2 * bytes.len());
        self.bytes = bytes;
    }

    /// Whether updates wait that the next seal would overwrite.
    pub(super) fn has_updates(&self) -> bool {
        self.ready.iter().chain(&self.held).any(|item| matches!(item.source, Source::Update(_)))
    }

    /// Says whether what is pushed from now on waits for a commit.
    pub(super) fn hold(&mut self, holding: bool) {
        self.holding = holding;
    }

    /// All that is held so far waits for the commit that is made now.
    pub(super) fn bar(&mut self) {
        self.barred = self.held.len();
    }

    /// The commit is kept: what waited for it may leave, but for connections that were closed meanwhile.
    pub(super) fn release(&mut self) {
        let barred = std::mem::take(&mut self.barred);
        let released = self.held.drain(..barred).filter(|item| !self.overtaken.contains(&item.conn));
        self.ready.extend(released);
        if !self.overtaken.is_empty() {
            let held: BTreeSet<_> = self.held.iter().map(|item| item.conn).collect();
            self.overtaken.retain(|conn| held.contains(conn));
        }
    }
}

/// The least of `compact_from`.
const COMPACT_FROM: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_takes_no_memory_though_something_is_always_held() {
        let mut out = Out::default();
        for n in 0..10_000u64 {
            let conn = ConnectionId(n + 1);
            // In a tick: a welcome waits for the commit that comes next.
            out.hold(true);
            out.message(conn, |bytes| bytes.extend_from_slice(&[n as u8; 100]));
            out.hold(false);
            out.forget_closed();
            if n > 0 {
                out.release();
                let item = out.next().expect("the one of the tick before");
                let Source::Own(range) = item.source else { panic!("it is a message") };
                assert_eq!((item.conn, &out.bytes[range]), (ConnectionId(n), &[(n - 1) as u8; 100][..]));
            }
            // Between two ticks somebody is refused at the door.
            out.close(ConnectionId(1_000_000 + n), 4004, "full".to_owned());
            while out.next().is_some() {}
            out.bar();
        }
        assert!(out.bytes.len() < 2 * COMPACT_FROM && out.overtaken.len() < 3);
    }
}

//! What a room has to say goes to its sockets, its store and the world outside.

use std::sync::Arc;

use super::RoomTask;
use crate::room::Game;
use crate::runtime::{Closed, ConnectionId, Outgoing, Transmit};
use crate::server::outbox::{End, Outbox};

impl<G: Game> RoomTask<G> {
    /// Takes everything that the runtime has to say.
    pub(super) fn drain(&mut self) {
        loop {
            if let (Some(keeper), Some(commit)) = (&mut self.keeper, self.runtime.poll_commit()) {
                keeper.give(commit);
            }
            while let Some(outside) = self.runtime.poll_outside() {
                self.errands.run(outside, &self.desk.place);
            }
            self.transmit();
            while let Some(log) = self.runtime.poll_log() {
                tracing::info!(kind = log.kind(), room = self.desk.place.name, "{log}");
            }
            if self.overflowed.is_empty() {
                return;
            }
            let now = self.now();
            for conn in std::mem::take(&mut self.overflowed) {
                tracing::info!(
                    kind = "fell_behind",
                    room = self.desk.place.name,
                    conn = conn.0,
                    "a socket does not drain"
                );
                self.runtime.handle_close(conn, now, Closed::FellBehind);
            }
        }
    }

    fn transmit(&mut self) {
        let mut last: Option<(ConnectionId, &Arc<Outbox>)> = None;
        let mut closed = Vec::new();
        while let Some(Transmit { conn, outgoing }) = self.runtime.poll_transmit() {
            let outbox = match last {
                Some((before, outbox)) if before == conn => outbox,
                _ => {
                    if let Some((_, outbox)) = last.take() {
                        outbox.flush();
                    }
                    let Some(link) = self.links.get(&conn) else { continue };
                    last.insert((conn, &link.outbox)).1
                }
            };
            match outgoing {
                Outgoing::Message(bytes) => {
                    self.stats.bytes_sent += bytes.len() as u64;
                    if outbox.message(bytes).is_err() {
                        self.overflowed.push(conn);
                    }
                }
                Outgoing::Close { code, reason } => {
                    outbox.close(code, reason);
                    closed.push(conn);
                }
                Outgoing::Abort => {
                    outbox.abandon(End::FellBehind);
                    closed.push(conn);
                }
            }
        }
        if let Some((_, outbox)) = last {
            outbox.flush();
        }
        for conn in closed {
            self.links.remove(&conn);
        }
        for conn in &self.overflowed {
            self.links.remove(conn);
        }
    }
}

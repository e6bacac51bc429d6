//! What a session has for its client: events, results and failures, each numbered and kept until acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::limits;

/// A session's numbered messages.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Whole messages. One for many sessions is one allocation.
    kept: VecDeque<Arc<[u8]>>,
    /// The number of the last acknowledged one: `kept` begins behind it.
    acknowledged: u64,
    /// The number of the last one put on this connection's wire.
    sent: u64,
    bytes: usize,
    // Invariant: bytes of those with numbers from `acknowledged` to `sent`.
    on_wire: usize,
    /// The number of the last one that a store was given.
    stored: u64,
}

impl Outbox {
    /// Adds a message behind all others.
    pub fn push(&mut self, message: Arc<[u8]>) {
        self.bytes += message.len();
        self.kept.push_back(message);
    }

    /// What an earlier run kept behind the acknowledged number; all of it is stored.
    #[must_use]
    pub fn restore(acknowledged: u64, kept: impl Iterator<Item = Arc<[u8]>>) -> Outbox {
        let kept: VecDeque<_> = kept.collect();
        let bytes = kept.iter().map(|message| message.len()).sum();
        let stored = acknowledged + kept.len() as u64;
        Outbox { kept, acknowledged, sent: acknowledged, bytes, on_wire: 0, stored }
    }

    /// The number of the last acknowledged one.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Those behind a number, with their numbers.
    pub fn after(&self, number: u64) -> impl Iterator<Item = (u64, &Arc<[u8]>)> + '_ {
        let first = number.max(self.acknowledged);
        let kept = self.kept.iter().skip((first - self.acknowledged) as usize);
        (first + 1..).zip(kept)
    }

    /// Those that no store was given, with their numbers; from now on all count as given.
    pub fn take_unstored(&mut self) -> impl Iterator<Item = (u64, &Arc<[u8]>)> + '_ {
        let stored = std::mem::replace(&mut self.stored, self.acknowledged + self.kept.len() as u64);
        self.after(stored)
    }

    /// How many are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether some are not on the wire yet.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.sent < self.acknowledged + self.kept.len() as u64
    }

    /// Whether some were put on the wire, on this connection or one before, and not acknowledged.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.sent > self.acknowledged
    }

    /// Bytes that are kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of the last one on the wire.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The client has all up to a number. A number that was never sent counts as the last that was. Returns whether
    /// that is more than it had.
    pub fn acknowledge(&mut self, number: u64) -> bool {
        let before = self.acknowledged;
        while self.acknowledged < number.min(self.sent) {
            let Some(message) = self.kept.pop_front() else { break };
            self.acknowledged += 1;
            self.bytes -= message.len();
            self.on_wire -= message.len();
        }
        self.acknowledged > before
    }

    /// Starts on a new connection, behind what the client says that it received. What it received and has not
    /// acknowledged stays.
    pub fn rewind(&mut self, received: u64) {
        let last = self.acknowledged + self.kept.len() as u64;
        self.sent = received.clamp(self.acknowledged, last);
        let ahead = (self.sent - self.acknowledged) as usize;
        self.on_wire = self.kept.iter().take(ahead).map(|message| message.len()).sum();
    }

    /// The next one to put on the wire, if it has room for it.
    pub fn send_next(&mut self) -> Option<Arc<[u8]>> {
        let next = self.kept.get((self.sent - self.acknowledged) as usize)?;
        if self.on_wire > 0 && self.on_wire + next.len() > limits::EVENTS_WINDOW {
            return None;
        }
        self.sent += 1;
        self.on_wire += next.len();
        Some(next.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(outbox: &mut Outbox) -> Vec<u8> {
        std::iter::from_fn(|| outbox.send_next()).map(|message| message[0]).collect()
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again_from_where_the_client_is() {
        let mut outbox = Outbox::default();
        (1..=5).for_each(|n| outbox.push(Arc::new([n])));
        assert_eq!(drain(&mut outbox), [1, 2, 3, 4, 5]);
        outbox.acknowledge(2);
        outbox.rewind(3);
        assert_eq!((outbox.sent(), outbox.len()), (3, 3), "3 is received and not acknowledged");
        assert_eq!(drain(&mut outbox), [4, 5]);
        // Lies cost only the liar: nothing is acknowledged that was not sent, and nothing comes twice.
        outbox.rewind(0);
        assert_eq!(outbox.sent(), 2);
        outbox.acknowledge(99);
        assert_eq!(outbox.len(), 3);
        outbox.rewind(99);
        assert_eq!(outbox.sent(), 5);
        outbox.acknowledge(99);
        assert_eq!((outbox.bytes(), outbox.on_wire), (0, 0));
    }

    #[test]
    fn the_wire_has_room_for_so_much() {
        let mut outbox = Outbox::default();
        let large: Arc<[u8]> = vec![0; limits::EVENTS_WINDOW / 2].into();
        (0..4).for_each(|_| outbox.push(large.clone()));
        assert_eq!(drain(&mut outbox).len(), 2);
        outbox.acknowledge(1);
        assert_eq!(drain(&mut outbox).len(), 1);
    }
}

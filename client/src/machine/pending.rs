//! What waits for the socket besides events. All but transients is made when the socket takes it, so that nothing
//! piles up behind a slow one.

use std::collections::VecDeque;
use std::time::Duration;

use room::Tick;
use room::limits;
use room::wire::message::Ack;

/// What a machine wants done with its socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// A binary message.
    Message(Vec<u8>),
    /// The close frame, after which the socket is to be closed.
    Close {
        /// The code.
        code: u16,
        /// The reason, at most 123 bytes.
        reason: String,
    },
    /// The socket is to be dropped without a close frame: it is silent.
    Abort,
}

/// What waits for the socket.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The end, before which nothing else goes out.
    pub(super) farewell: Option<Outgoing>,
    pub(super) hello: Option<Vec<u8>>,
    pub(super) hidden: Option<bool>,
    pub(super) ack: bool,
    /// The clock to send.
    pub(super) ping: Option<u64>,
    pub(super) leave: bool,
    transients: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Pending {
    /// The socket is gone, or about to be told so.
    pub(super) fn reset(&mut self, farewell: Option<Outgoing>) {
        *self = Pending { farewell, ..Pending::default() };
    }

    /// Queues a transient, if there is room for it.
    pub(super) fn push_transient(&mut self, message: Vec<u8>) -> bool {
        let fits = self.bytes + message.len() <= limits::CLIENT_QUEUE;
        if fits {
            self.bytes += message.len();
            self.transients.push_back(message);
        }
        fits
    }

    pub(super) fn pop_transient(&mut self) -> Option<Vec<u8>> {
        let message = self.transients.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }
}

/// Acknowledges what came on a connection, at most so often a second.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// The tick of the last update applied.
    pub(super) tick: Tick,
    last: Option<Duration>,
    said: Ack,
}

const GAP: Duration = Duration::from_nanos(1_000_000_000 / limits::ACKS_PER_SECOND as u64);

impl Acks {
    /// What there is to say.
    pub(super) fn ack(&self, parts: usize, events: u64) -> Ack {
        Ack { tick: self.tick, parts: parts as u32, events }
    }

    /// Whether that should be said now.
    pub(super) fn due(&mut self, now: Duration, ack: Ack) -> bool {
        let due = ack != self.said && self.last.is_none_or(|last| now.saturating_sub(last) >= GAP);
        if due {
            self.last = Some(now);
        }
        due
    }

    /// When it may be said, if it is not said already.
    pub(super) fn when(&self, ack: Ack) -> Option<Duration> {
        (ack != self.said).then(|| self.last.map_or(Duration::ZERO, |last| last + GAP))
    }

    /// It was said.
    pub(super) fn said(&mut self, ack: Ack) {
        self.said = ack;
    }
}

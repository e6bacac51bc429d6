//! A link with a delay each way, jitter, and stalls; nothing is lost or overtakes, as on TCP.

use std::collections::VecDeque;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

/// One way of a link.
pub(crate) struct Way {
    delay: Duration,
    jitter: Duration,
    /// How long a stall is, and about how many seconds lie between two.
    stall: Option<(Duration, u32)>,
    stalled_until: Duration,
    next_stall: Duration,
    on_wire: VecDeque<(Duration, Vec<u8>)>,
}

impl Way {
    pub(crate) fn new(delay: Duration, jitter: Duration, stall: Option<(Duration, u32)>) -> Way {
        let next_stall = Duration::from_secs(5);
        Way { delay, jitter, stall, stalled_until: Duration::ZERO, next_stall, on_wire: VecDeque::new() }
    }

    pub(crate) fn send(&mut self, now: Duration, bytes: Vec<u8>, rng: &mut ChaCha8Rng) {
        if let Some((length, gap)) = self.stall
            && now >= self.next_stall
        {
            self.stalled_until = now + length;
            self.next_stall = now + length + Duration::from_millis(u64::from(rng.next_u32() % (gap * 2000)));
        }
        let jitter = self.jitter * (rng.next_u32() % 1000) / 1000;
        let at = (now + self.delay + jitter).max(self.stalled_until + self.delay);
        let last = self.on_wire.back().map_or(Duration::ZERO, |(at, _)| *at);
        self.on_wire.push_back((at.max(last), bytes));
    }

    /// The next message that has arrived, and when.
    pub(crate) fn take(&mut self, now: Duration) -> Option<(Duration, Vec<u8>)> {
        if self.on_wire.front()?.0 > now { None } else { self.on_wire.pop_front() }
    }
}

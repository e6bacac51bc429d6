//! When to open a socket, and what follows from the way one closed.

use std::time::Duration;

use room::limits;
use room::session::code;
use serde::Deserialize;

/// What a client does once its socket has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It comes back.
    Reconnect,
    /// It comes back, but not at the same moment as all the others.
    ReconnectApart,
    /// Its session is gone.
    Lose,
    /// It stays away.
    Stop,
}

/// What follows from a close.
pub(super) fn then(code: Option<u16>, reason: &str) -> Then {
    match code {
        Some(code::GOING_AWAY | code::BUSY | code::FAILED) => Then::ReconnectApart,
        Some(code::NOT_ALLOWED) if may_retry(reason) => Then::Reconnect,
        Some(code::NO_SESSION) => Then::Lose,
        Some(code::FLOOD | code::SERVER_FAILED) => Then::Reconnect,
        Some(code::LEFT | 4000..) => Then::Stop,
        Some(_) | None => Then::Reconnect,
    }
}

/// Whether a refusal says that it may be tried again.
fn may_retry(reason: &str) -> bool {
    #[derive(Default, Deserialize)]
    struct Refusal {
        #[serde(default)]
        retry: bool,
    }
    serde_json::from_str::<Refusal>(reason).unwrap_or_default().retry
}

/// Whether a session is over for good after this code.
pub(super) fn ends_session(code: Option<u16>) -> bool {
    matches!(code, Some(code::LEFT | code::REPLACED | code::NO_SESSION | code::KICKED))
}

/// The gaps between tries, and how long there has been no socket.
#[derive(Debug)]
pub(super) struct Dial {
    random: u64,
    // Gaps drawn since the last welcome.
    tries: usize,
    // Since when there is no socket.
    pub(super) alone_since: Option<Duration>,
    // Why the last try failed.
    pub(super) error: Option<String>,
}

impl Dial {
    pub(super) fn new(seed: u64) -> Dial {
        Dial { random: seed, tries: 0, alone_since: None, error: None }
    }

    /// The next gap.
    pub(super) fn gap(&mut self, then: Then) -> Duration {
        // The shift is small enough to stay in range whatever the number of tries.
        let whole = (limits::GAP_MS << self.tries.min(16)).min(limits::GAP_MOST_MS);
        self.tries += 1;
        let mut micros = self.draw(whole * 500, whole * 1000);
        if then == Then::ReconnectApart {
            let (least, most) = (limits::GAP_AWAY_LEAST_MS, limits::GAP_AWAY_MOST_MS);
            micros = micros.max(self.draw(least * 1000, most * 1000));
        }
        Duration::from_micros(micros)
    }

    /// The room let the client in: gaps start over.
    pub(super) fn welcomed(&mut self) {
        self.tries = 0;
        self.error = None;
    }

    /// A number of the range; its ends are whole milliseconds of at most a few seconds.
    fn draw(&mut self, least: u64, most: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        least + (z ^ (z >> 31)) % (most - least + 1)
    }
}

//! What a room's loop measures of itself.

use std::collections::VecDeque;
use std::time::Duration;

/// Figures of one room since it was created.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RoomStats {
    /// Ticks made.
    pub ticks: u64,
    /// Ticks that time called for and that were dropped because the room was behind.
    pub dropped_ticks: u64,
    /// Connections, those that are joining included.
    pub connections: usize,
    /// Seats taken: by who is connected, who is joining, and who may still come back.
    pub sessions: usize,
    /// Bytes of all messages queued for sockets, WebSocket heads not counted.
    pub bytes_sent: u64,
    /// What each of the last 4,096 ticks took, from its first hook until its last message was queued.
    pub tick_times: VecDeque<Duration>,
    /// What each of the last 4,096 commits took, from the tick until the store had it; none without a store.
    pub commit_times: VecDeque<Duration>,
}

/// Tick times kept.
const TIMES: usize = 4096;

impl RoomStats {
    pub(super) fn ticked(&mut self, took: Duration) {
        self.ticks += 1;
        if self.tick_times.len() == TIMES {
            self.tick_times.pop_front();
        }
        self.tick_times.push_back(took);
    }

    /// The milliseconds within which the given share of the last ticks was done: 0.5 is the median, 1 the
    /// longest. 0 before the first tick.
    #[must_use]
    pub fn tick_ms(&self, share: f64) -> f64 {
        ms(&self.tick_times, share)
    }

    /// The milliseconds within which the given share of the last commits was kept.
    #[must_use]
    pub fn commit_ms(&self, share: f64) -> f64 {
        ms(&self.commit_times, share)
    }
}

fn ms(times: &VecDeque<Duration>, share: f64) -> f64 {
    let mut times: Vec<_> = times.iter().collect();
    times.sort_unstable();
    let rank = (share.clamp(0.0, 1.0) * times.len() as f64).ceil() as usize;
    times.get(rank.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_tick_times() {
        let mut stats = RoomStats::default();
        assert_eq!(stats.tick_ms(0.5), 0.0);
        for ms in (1..=100).rev() {
            stats.ticked(Duration::from_millis(ms));
        }
        assert_eq!((stats.tick_ms(0.0), stats.tick_ms(0.5), stats.tick_ms(0.99)), (1.0, 50.0, 99.0));
        assert_eq!(stats.tick_ms(1.0), 100.0);
    }
}

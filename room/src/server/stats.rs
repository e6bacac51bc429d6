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

/// Times kept.
const TIMES: usize = 4096;

/// What something took the last times. A server has many rooms, and each keeps these for as long as it runs: as a
/// `Duration` a time would be four times as large.
#[derive(Debug, Default)]
pub(super) struct Times {
    seconds: VecDeque<f32>,
}

impl Times {
    pub(super) fn push(&mut self, took: Duration) {
        if self.seconds.len() == TIMES {
            self.seconds.pop_front();
        }
        self.seconds.push_back(took.as_secs_f32());
    }

    pub(super) fn all(&self) -> VecDeque<Duration> {
        self.seconds.iter().map(|seconds| Duration::from_secs_f32(*seconds)).collect()
    }
}

impl RoomStats {
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
        stats.tick_times = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!((stats.tick_ms(0.0), stats.tick_ms(0.5), stats.tick_ms(0.99)), (1.0, 50.0, 99.0));
        assert_eq!(stats.tick_ms(1.0), 100.0);
    }

    #[test]
    fn the_last_times_are_kept_and_no_more() {
        let mut times = Times::default();
        for us in 0..TIMES as u64 + 50 {
            times.push(Duration::from_micros(us));
        }
        let all = times.all();
        let off = |(time, us): (&Duration, u64)| time.abs_diff(Duration::from_micros(us));
        assert_eq!(all.len(), TIMES);
        assert!(all.iter().zip(50..).map(off).all(|off| off < Duration::from_nanos(2)));
    }
}

//! The room's clock as a client sees it, from its pings.

use std::collections::VecDeque;
use std::time::Duration;

use room::Tick;

/// How many answers are looked at: as many seconds.
const SAMPLES: usize = 16;

/// An answered ping.
#[derive(Clone, Copy, Debug)]
struct Sample {
    sent: Duration,
    round_trip: Duration,
    // The room's time in ticks, somewhere between the two.
    time: f64,
}

/// Estimates the room's time, and how long a message takes both ways.
#[derive(Debug, Default)]
pub(super) struct Clock {
    // Ticks a second.
    rate: f64,
    samples: VecDeque<Sample>,
    // The samples are those of the connection before.
    stale: bool,
    // What the welcome said, and when it came: better than nothing.
    welcome: Option<(Duration, f64)>,
    round_trip: Option<Duration>,
}

impl Clock {
    /// A welcome came. What is known holds until the first answer where the session went on.
    pub(super) fn welcomed(&mut self, now: Duration, tick: Tick, tick_rate: u32, resumed: bool) {
        self.rate = f64::from(tick_rate);
        self.welcome = Some((now, tick.0 as f64));
        self.stale = true;
        if !resumed {
            self.samples.clear();
        }
    }

    /// A ping that was sent at `clock` microseconds is answered.
    pub(super) fn answered(&mut self, now: Duration, clock: u64, time: u64) {
        let sent = Duration::from_micros(clock);
        // The room answers with what it got; anything else is no answer.
        let Some(round_trip) = now.checked_sub(sent) else { return };
        if std::mem::take(&mut self.stale) || self.samples.len() == SAMPLES {
            let all = self.samples.len() < SAMPLES;
            self.samples.drain(..if all { self.samples.len() } else { 1 });
        }
        self.samples.push_back(Sample { sent, round_trip, time: time as f64 / 1000.0 });
        self.round_trip = Some(match self.round_trip {
            Some(before) => (before * 7 + round_trip) / 8,
            None => round_trip,
        });
    }

    /// The room's time in ticks.
    pub(super) fn room_time(&self, now: Duration) -> Option<f64> {
        // The quickest answer leaves the least doubt; of some as quick, the newest.
        let best = self.samples.iter().rev().min_by_key(|sample| sample.round_trip);
        let (at, time) = match best {
            Some(sample) => (sample.sent + sample.round_trip / 2, sample.time),
            None => self.welcome?,
        };
        Some(time + (now.as_secs_f64() - at.as_secs_f64()) * self.rate)
    }

    /// The tick in which a moment lies. Without an estimate it is the first, which is past.
    pub(super) fn tick_at(&self, at: Duration) -> Tick {
        Tick(self.room_time(at).map_or(1, |time| (time.ceil() as u64).max(1)))
    }

    /// How long a message takes both ways, smoothed.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }
}

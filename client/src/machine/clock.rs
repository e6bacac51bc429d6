//! The room's clock as a client sees it, from its pings.

use std::collections::VecDeque;
use std::time::Duration;

use room::Tick;

/// How many answers are looked at: as many seconds.
const SAMPLES: usize = 16;

/// Ticks by which a room's time may run unevenly.
const DOUBT: f64 = 2.0;

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
    /// A welcome came. What is known holds until the first answer where the session went on, and the room too: one that
    /// was stopped and woken goes on from the tick that it had then.
    pub(super) fn welcomed(&mut self, now: Duration, tick: Tick, tick_rate: u32, resumed: bool) {
        self.rate = f64::from(tick_rate);
        self.welcome = Some((now, tick.0 as f64));
        self.stale = true;
        let off = self.room_time(now).map_or(0.0, |time| (time - tick.0 as f64).abs());
        if !resumed || off > self.rate.max(1.0) {
            self.samples.clear();
        }
    }

    /// A ping that was sent at `clock` microseconds is answered.
    pub(super) fn answered(&mut self, now: Duration, clock: u64, time: u64) {
        let sent = Duration::from_micros(clock);
        // The room answers with what it got; anything else is no answer.
        let Some(round_trip) = now.checked_sub(sent) else { return };
        // Both can be off by half their round trips. What is farther from what was known says that the room's time has
        // stood still meanwhile, or leapt: what was known is of another time.
        let time_then = self.room_time(sent + round_trip / 2);
        let best = self.samples.iter().map(|sample| sample.round_trip).min().unwrap_or_default();
        let doubt = (round_trip + best).as_secs_f64() / 2.0 * self.rate + DOUBT;
        if time_then.is_some_and(|then| (then - time as f64 / 1000.0).abs() > doubt) {
            self.samples.clear();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Pings once a second over a link of 100 ms both ways; the room's time is what `time` says of a moment.
    fn ping(clock: &mut Clock, seconds: std::ops::Range<u64>, time: impl Fn(f64) -> f64) {
        for second in seconds {
            let sent = ms(second * 1000);
            let there = sent + ms(50);
            clock.answered(
                sent + ms(100),
                sent.as_micros() as u64,
                (time(there.as_secs_f64()) * 1000.0) as u64,
            );
        }
    }

    fn off(clock: &Clock, at: Duration, time: f64) -> f64 {
        (clock.room_time(at).expect("it was answered") - time).abs()
    }

    #[test]
    fn a_room_that_stood_still_is_known_again_at_the_next_answer() {
        let mut clock = Clock::default();
        clock.welcomed(ms(0), Tick(0), 20, false);
        ping(&mut clock, 0..10, |at| at * 20.0);
        assert!(off(&clock, ms(9500), 190.0) < 0.1);
        // It stands for four seconds, and drops what it missed.
        ping(&mut clock, 14..15, |at| (at - 4.0) * 20.0);
        assert!(off(&clock, ms(14_500), 210.0) < 0.1);
    }

    #[test]
    fn a_room_that_was_stopped_and_woken_is_known_by_its_welcome() {
        let mut clock = Clock::default();
        clock.welcomed(ms(0), Tick(0), 20, false);
        ping(&mut clock, 0..10, |at| at * 20.0);
        clock.welcomed(ms(19_000), Tick(205), 20, true);
        assert!(off(&clock, ms(19_000), 205.0) < 0.1);
        // One whose session went on elsewhere has lost no tick.
        ping(&mut clock, 20..24, |at| 205.0 + (at - 19.0) * 20.0);
        clock.welcomed(ms(25_000), Tick(323), 20, true);
        assert!(off(&clock, ms(25_000), 325.0) < 0.1, "the quickest answer still holds");
    }
}

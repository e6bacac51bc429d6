//! How many steps a turn of a room's loop makes.

use std::time::Duration;

use crate::limits;

/// Turns elapsed time into steps. Time past what one turn may make up is dropped and counted, so that a slow
/// step never makes the next turn slower.
#[derive(Debug)]
pub(super) struct Pace {
    rate: u32,
    // Invariant: `steps` periods after `base` is the time up to which steps were made or dropped. Counting from
    // a base keeps a period that is no whole number of nanoseconds from drifting.
    base: Duration,
    steps: u64,
    dropped: u64,
    // The last turn had as many steps to make as a turn can, or more.
    full: bool,
}

impl Pace {
    /// A pace of `rate` steps a second from `now` on.
    pub(super) fn new(rate: u32, now: Duration) -> Pace {
        Pace { rate, base: now, steps: 0, dropped: 0, full: false }
    }

    /// When the next step is due.
    pub(super) fn next(&self) -> Duration {
        self.base + Self::span(self.steps + 1, self.rate)
    }

    /// How many steps to make now.
    pub(super) fn due(&mut self, now: Duration) -> u32 {
        let elapsed = now.saturating_sub(self.base);
        let total = elapsed.as_nanos().saturating_mul(u128::from(self.rate)) / 1_000_000_000;
        let owed = u64::try_from(total).unwrap_or(u64::MAX).saturating_sub(self.steps);
        let steps = owed.min(u64::from(limits::STEPS_PER_TURN));
        self.dropped += owed - steps;
        self.full = steps == u64::from(limits::STEPS_PER_TURN);
        self.steps += owed;
        steps as u32
    }

    /// Whether the last turn had as many steps to make as a turn can, or more: the room does not keep up.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Steps dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    // Rounded up, so that at `next` the step is due.
    fn span(steps: u64, rate: u32) -> Duration {
        let nanos = (u128::from(steps) * 1_000_000_000).div_ceil(u128::from(rate));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_due_exactly_when_announced() {
        let mut pace = Pace::new(3, Duration::from_secs(5));
        for _ in 0..1000 {
            let next = pace.next();
            assert_eq!(pace.due(next - Duration::from_nanos(1)), 0);
            assert_eq!(pace.due(next), 1);
        }
        assert_eq!(pace.next(), Duration::from_secs(5) + Duration::from_nanos(333_666_666_667));
    }

    #[test]
    fn a_late_turn_makes_up_six_steps_and_drops_the_rest() {
        let mut pace = Pace::new(20, Duration::ZERO);
        assert_eq!(pace.due(Duration::from_millis(250)), 5);
        assert_eq!(pace.dropped(), 0);
        assert_eq!(pace.due(Duration::from_millis(1250)), 6);
        assert_eq!(pace.dropped(), 14);
        assert_eq!(pace.next(), Duration::from_millis(1300));
        assert_eq!(pace.due(Duration::from_millis(1299)), 0);
    }
}

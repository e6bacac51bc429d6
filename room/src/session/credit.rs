//! How much a client may say: so many a second on average, so many at once. It fills on the room's time.

use crate::tick::Tick;

/// An allowance.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    /// What is left, in so many parts of one message as there are ticks in a second.
    left: u64,
    at: Tick,
}

/// How fast an allowance fills, and up to what.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// A second.
    pub per_second: u32,
    /// At once.
    pub burst: u32,
    /// Ticks a second.
    pub tick_rate: u32,
}

impl Credit {
    /// A full allowance.
    #[must_use]
    pub fn full(rate: Rate, now: Tick) -> Credit {
        Credit { left: u64::from(rate.burst) * u64::from(rate.tick_rate), at: now }
    }

    /// Takes one, if there is one.
    pub fn take(&mut self, rate: Rate, now: Tick) -> bool {
        let one = u64::from(rate.tick_rate);
        let filled = (now.0 - self.at.0).saturating_mul(rate.per_second.into());
        self.left = self.left.saturating_add(filled).min(u64::from(rate.burst) * one);
        self.at = now;
        let enough = self.left >= one;
        if enough {
            self.left -= one;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_empties_and_fills_with_ticks_alone() {
        let rate = Rate { per_second: 60, burst: 120, tick_rate: 20 };
        let mut credit = Credit::full(rate, Tick(5));
        let mut taken = |now: u64| (0..1000).filter(|_| credit.take(rate, Tick(now))).count();
        assert_eq!(taken(5), 120);
        assert_eq!(taken(5), 0);
        assert_eq!(taken(6), 3);
        assert_eq!(taken(16), 30);
        assert_eq!(taken(10_000), 120, "a long rest saves no more than the burst");
    }
}

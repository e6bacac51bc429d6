//! Shares of what was measured.

use std::time::Duration;

use serde::Serialize;

/// Milliseconds within which half of all, all but a hundredth, and all were done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ms {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

impl Ms {
    /// Of these times, in any order.
    pub fn of(times: &[Duration]) -> Ms {
        let mut times = times.to_vec();
        times.sort_unstable();
        let rank = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).map_or(0.0, |time| rounded(time.as_secs_f64() * 1e3))
        };
        Ms { p50: rank(0.5), p99: rank(0.99), max: rank(1.0) }
    }

    /// How much longer these are than others.
    pub fn above(&self, other: &Ms) -> Ms {
        let [p50, p99, max] = [self.p50 - other.p50, self.p99 - other.p99, self.max - other.max].map(rounded);
        Ms { p50, p99, max }
    }
}

/// To three digits behind the point.
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_times() {
        let times: Vec<Duration> = (1..=400).rev().map(Duration::from_millis).collect();
        let ms = Ms::of(&times);
        assert_eq!((ms.p50, ms.p99, ms.max), (200.0, 396.0, 400.0));
        assert_eq!(Ms::of(&[]), Ms::default());
        assert_eq!(
            ms.above(&Ms { p50: 199.0, p99: 396.0, max: 401.0 }),
            Ms { p50: 1.0, p99: 0.0, max: -1.0 }
        );
    }
}

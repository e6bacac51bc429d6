//! A player's inputs, filed by the tick that each is meant for, and what stands in for those that have not come.

use std::collections::BTreeMap;

use crate::limits;
use crate::step::Input;
use crate::tick::Tick;
use crate::wire::message::Report;

/// The inputs of one player.
#[derive(Debug)]
pub struct Inputs<I> {
    /// Those of ticks that were not stepped yet.
    filed: BTreeMap<Tick, I>,
    /// The one of the latest tick among those that were stepped or came late: what is repeated.
    newest: Option<(Tick, I)>,
    /// Those that came late, or had to wait for such a one, whose actions are still to run.
    acts: BTreeMap<Tick, I>,
    /// The latest tick whose actions ran.
    acted: Tick,
    /// Nothing is repeated before the next input has come.
    rests: bool,
    report: Report,
}

impl<I> Default for Inputs<I> {
    fn default() -> Self {
        Inputs {
            filed: BTreeMap::new(),
            newest: None,
            acts: BTreeMap::new(),
            acted: Tick::ZERO,
            rests: false,
            report: Report::default(),
        }
    }
}

impl<I: Input> Inputs<I> {
    /// Files the input of a tick; `now` is the last one stepped. The first copy of a tick wins. Returns whether it is
    /// taken: one that is more than [`limits::INPUT_AHEAD`] ticks ahead is not.
    pub fn file(&mut self, tick: Tick, input: I, now: Tick) -> bool {
        if tick > now {
            let ahead = tick.0 - now.0 - 1;
            if ahead >= limits::INPUT_AHEAD {
                return false;
            }
            self.rests = false;
            self.filed.entry(tick).or_insert_with(|| {
                let ahead = ahead as u32;
                self.report.early = Some(self.report.early.map_or(ahead, |early| early.min(ahead)));
                input
            });
            return true;
        }
        self.report.late = self.report.late.saturating_add(1);
        let in_time = now.0 - tick.0 <= limits::INPUT_LATE;
        if in_time && input.acts() && tick > self.acted && !self.acts.contains_key(&tick) {
            self.acts.insert(tick, input.clone());
        }
        if self.newest.as_ref().is_none_or(|(newest, _)| *newest < tick) {
            self.newest = Some((tick, input));
        }
        true
    }

    /// The input of the tick that is stepped now.
    pub fn next(&mut self, tick: Tick) -> I {
        self.filed = self.filed.split_off(&tick);
        let input = match self.filed.remove(&tick) {
            Some(input) => {
                self.newest = Some((tick, input.clone()));
                input
            }
            None => self.stand_in(tick),
        };
        if input.acts() {
            self.acts.insert(tick, input.clone());
        }
        // One a tick, the oldest first: usually this tick's own.
        match self.acts.pop_first() {
            Some((of, act)) => {
                self.acted = of;
                input.repeat().with_actions_of(&act)
            }
            None => input,
        }
    }

    fn stand_in(&mut self, tick: Tick) -> I {
        let Some((of, newest)) = &self.newest else { return I::default() };
        if self.rests || tick.0.saturating_sub(of.0) > limits::INPUT_REPEATS {
            return newest.rest();
        }
        self.report.starved = self.report.starved.saturating_add(1);
        newest.repeat()
    }

    /// The player is away: from now on she rests, and nothing that she did waits.
    pub fn rest(&mut self, now: Tick) {
        self.filed.clear();
        self.acts.clear();
        self.acted = self.acted.max(now);
        self.rests = true;
    }

    /// Whether inputs come, and came a moment ago.
    #[must_use]
    pub fn is_used(&self, now: Tick) -> bool {
        let newest = self.newest.as_ref().map_or(Tick::ZERO, |(tick, _)| *tick);
        !self.filed.is_empty() || (newest > Tick::ZERO && newest.0 + limits::INPUT_AHEAD >= now.0)
    }

    /// What became of inputs since the last call.
    pub fn take_report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Walk {
        right: i8,
        heading: u8,
        jump: u32,
    }

    impl Input for Walk {
        fn repeat(&self) -> Walk {
            Walk { jump: 0, ..self.clone() }
        }
        fn rest(&self) -> Walk {
            Walk { heading: self.heading, ..Walk::default() }
        }
        fn acts(&self) -> bool {
            self.jump != 0
        }
        fn with_actions_of(&self, other: &Walk) -> Walk {
            Walk { jump: if self.jump == 0 { other.jump } else { self.jump }, ..self.clone() }
        }
    }

    fn walk(right: i8) -> Walk {
        Walk { right, heading: 9, jump: 0 }
    }

    fn jump(right: i8, jump: u32) -> Walk {
        Walk { jump, ..walk(right) }
    }

    #[test]
    fn an_input_runs_in_its_tick_and_the_first_copy_wins() {
        let mut inputs = Inputs::default();
        assert!(inputs.file(Tick(3), walk(3), Tick(0)) && inputs.file(Tick(1), walk(1), Tick(0)));
        assert!(inputs.file(Tick(1), walk(7), Tick(0)));
        assert!(!inputs.file(Tick(limits::INPUT_AHEAD + 1), walk(1), Tick(0)), "too far ahead");
        assert!(inputs.file(Tick(limits::INPUT_AHEAD), walk(1), Tick(0)));
        assert_eq!([1, 2, 3].map(|tick| inputs.next(Tick(tick)).right), [1, 1, 3]);
        assert_eq!(inputs.take_report(), Report { early: Some(0), late: 0, starved: 1 });
    }

    #[test]
    fn a_missing_tick_repeats_the_newest_input_and_then_rests() {
        let mut inputs = Inputs::default();
        assert_eq!(inputs.next(Tick(1)), Walk::default());
        inputs.file(Tick(2), jump(1, 5), Tick(1));
        let inputs: Vec<Walk> = (2..=20).map(|tick| inputs.next(Tick(tick))).collect();
        assert_eq!(inputs[0], jump(1, 5));
        assert!(inputs[1..16].iter().all(|input| *input == walk(1)), "15 times, without the jump");
        assert!(inputs[16..].iter().all(|input| *input == Walk { heading: 9, ..Walk::default() }));
    }

    #[test]
    fn a_late_input_is_what_repeats_and_its_jump_runs_once() {
        let mut inputs = Inputs::default();
        inputs.file(Tick(1), walk(1), Tick(0));
        assert_eq!((inputs.next(Tick(1)), inputs.next(Tick(2))), (walk(1), walk(1)));
        // Both come late, in another order, and one of them twice.
        for (tick, input) in [(3, jump(2, 30)), (2, jump(5, 20)), (3, jump(2, 30))] {
            inputs.file(Tick(tick), input, Tick(3));
        }
        inputs.file(Tick(4), jump(3, 40), Tick(3));
        let next: Vec<Walk> = (4..9).map(|tick| inputs.next(Tick(tick))).collect();
        assert_eq!(next, [jump(3, 20), jump(3, 30), jump(3, 40), walk(3), walk(3)]);
        inputs.file(Tick(2), jump(5, 20), Tick(8));
        assert_eq!(inputs.next(Tick(9)), walk(3), "it ran");
        inputs.file(Tick(20), jump(1, 1), Tick(20 + limits::INPUT_LATE + 1));
        assert!(!inputs.next(Tick(60)).acts(), "too late");
    }

    #[test]
    fn who_is_away_rests_at_once() {
        let mut inputs = Inputs::default();
        inputs.file(Tick(1), jump(1, 1), Tick(0));
        inputs.file(Tick(2), jump(1, 2), Tick(0));
        inputs.next(Tick(1));
        inputs.rest(Tick(1));
        assert_eq!(inputs.next(Tick(2)), Walk { heading: 9, ..Walk::default() });
        assert_eq!(inputs.take_report().starved, 0);
        // One that is dropped does not wake her.
        assert!(!inputs.file(Tick(3 + limits::INPUT_AHEAD), walk(1), Tick(2)));
        assert_eq!(inputs.next(Tick(3)).right, 0);
    }

    /// The naive few lines: of all actions that came in time, one a tick, the oldest that is newer than all before.
    struct Naive {
        came: std::collections::BTreeSet<u64>,
        ran: u64,
    }

    impl Naive {
        fn next(&mut self, tick: u64) -> Option<u64> {
            let due = self.came.range(self.ran + 1..=tick).next().copied()?;
            self.ran = due;
            Some(due)
        }
    }

    #[test]
    fn no_jump_is_lost_or_doubled_whatever_the_link_does() {
        for seed in 0..300 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut below = |most: u32| u64::from(rng.next_u32() % most);
            let mut arrivals: BTreeMap<u64, Vec<(u64, Walk)>> = BTreeMap::new();
            let mut jumps = 0;
            for tick in 10..90 {
                let input = jump(1, if below(3) == 0 { tick as u32 } else { 0 });
                jumps += u64::from(input.acts());
                for _ in 0..=below(3) {
                    arrivals.entry(tick - 8 + below(30)).or_default().push((tick, input.clone()));
                }
            }
            let mut inputs = Inputs::default();
            let mut naive = Naive { came: Default::default(), ran: 0 };
            let mut ran = 0;
            for now in 0..200 {
                for (tick, input) in arrivals.remove(&now).unwrap_or_default() {
                    if input.acts() && tick + limits::INPUT_LATE >= now {
                        naive.came.insert(tick);
                    }
                    inputs.file(Tick(tick), input, Tick(now));
                }
                let input = inputs.next(Tick(now + 1));
                let jumped = (input.jump != 0).then_some(u64::from(input.jump));
                assert_eq!(jumped, naive.next(now + 1), "seed {seed}, tick {}", now + 1);
                ran += u64::from(jumped.is_some());
            }
            assert!(ran <= jumps);
        }
    }
}

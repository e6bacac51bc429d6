//! What the room has done outside: each once it is kept that it asked, at least once, by whichever run.

use std::collections::{BTreeMap, BTreeSet};

use room::runtime::Outside;
use room::wire::payload;

use super::run::Sim;

/// The world outside.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    /// What was asked for, as far as it is kept.
    asked: BTreeSet<u64>,
    done: BTreeSet<u64>,
    keys: BTreeMap<String, u64>,
    /// Under way in this run: when it is done, the room's number of it, and what.
    under_way: Vec<(u64, u64, u64)>,
}

impl Errands {
    /// It is kept that something was asked for.
    pub(crate) fn ask(&mut self, what: u64) {
        assert!(self.asked.insert(what), "errand {what} is asked for twice");
    }

    /// What was asked for and is not done.
    pub(crate) fn open(&self) -> usize {
        self.asked.difference(&self.done).count()
    }
}

impl Sim {
    /// Takes what the room has to be done outside.
    pub(crate) fn send_out(&mut self) {
        while let Some(outside) = self.runtime.poll_outside() {
            let Outside::Effect { number, key, payload } = outside else {
                panic!("the game asks for effects alone")
            };
            let what: u64 = payload::decode(&payload).expect("it is as it was asked for");
            assert!(self.errands.asked.contains(&what), "errand {what} is sent out before that is kept");
            let known = *self.errands.keys.entry(key.to_string()).or_insert(what);
            assert_eq!(known, what, "two errands have the key {key}");
            self.errands.under_way.push((self.now + self.fate.rng.below(700), number, what));
        }
    }

    /// What is done by now.
    pub(crate) fn run_errands(&mut self) {
        let now = self.now;
        let (done, under_way) =
            std::mem::take(&mut self.errands.under_way).into_iter().partition(|it| it.0 <= now);
        self.errands.under_way = under_way;
        let done: Vec<(u64, u64, u64)> = done;
        for (_, number, what) in done {
            self.errands.done.insert(what);
            self.runtime.handle_performed(number);
        }
    }

    /// The room's run is over, and who did its errands: some are done, and nobody hears so.
    pub(crate) fn drop_errands(&mut self) {
        for (_, _, what) in std::mem::take(&mut self.errands.under_way) {
            if self.fate.rng.one_in(3) {
                self.errands.done.insert(what);
            }
        }
    }
}

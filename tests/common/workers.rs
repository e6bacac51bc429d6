//! Threads for rooms under test: how many jobs there are, and who does which of them when, must not matter.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use room::sync::workers::Workers;

/// Any number of jobs on the calling thread, in an order that a seed shuffles anew each time.
pub(crate) struct Shuffled {
    jobs: usize,
    state: AtomicU64,
}

impl Shuffled {
    pub(crate) fn new(jobs: usize, seed: u64) -> Shuffled {
        Shuffled { jobs, state: AtomicU64::new(seed) }
    }

    fn next(&self, below: usize) -> usize {
        let step = |state: u64| {
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
        };
        let state = step(self.state.load(Ordering::Relaxed));
        self.state.store(state, Ordering::Relaxed);
        (state >> 33) as usize % below
    }
}

impl Workers for Shuffled {
    fn jobs(&self) -> usize {
        self.jobs
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        assert!(jobs <= self.jobs, "no more work than there are jobs");
        let mut order: Vec<usize> = (0..jobs).collect();
        (1..jobs).for_each(|at| order.swap(at, self.next(at + 1)));
        order.into_iter().for_each(job);
    }
}

/// Threads of the system, new ones each time, which take one job after another.
pub(crate) struct Spread {
    pub(crate) threads: usize,
    pub(crate) jobs: usize,
}

impl Workers for Spread {
    fn jobs(&self) -> usize {
        self.jobs
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= jobs {
                            return;
                        }
                        job(number);
                    }
                });
            }
        });
    }
}

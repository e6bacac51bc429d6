//! Threads that rooms share for the work of their seals.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::workers::Workers;

/// A pool of threads for [`Runtime::set_workers`](crate::runtime::Runtime::set_workers). A room's own thread is one of
/// them: with two, the pool has one to lend.
#[derive(Clone, Debug)]
pub struct Threads {
    pool: Arc<rayon::ThreadPool>,
    threads: usize,
}

/// Into how many jobs work is cut for each thread, so that none waits long for another.
const JOBS: usize = 4;

impl Threads {
    /// So many threads, at least one.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn new(threads: usize) -> std::io::Result<Threads> {
        let threads = threads.max(1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads((threads - 1).max(1));
        let pool = pool.thread_name(|number| format!("room-{number}")).build();
        let pool = pool.map_err(std::io::Error::other)?;
        Ok(Threads { pool: Arc::new(pool), threads })
    }
}

/// A thread's share of the jobs: the next one to do, and the end.
struct Share {
    next: AtomicUsize,
    end: usize,
}

impl Share {
    fn of(range: Range<usize>) -> Share {
        Share { next: AtomicUsize::new(range.start), end: range.end }
    }

    fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|job| *job < self.end)
    }
}

impl Workers for Threads {
    fn jobs(&self) -> usize {
        if self.threads > 1 { JOBS * self.threads } else { 1 }
    }

    /// Each thread does the same share of the jobs every time, whose memory is in its caches, and then helps others.
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        let threads = self.threads.min(jobs);
        if threads < 2 {
            return (0..jobs).for_each(job);
        }
        let start = |thread: usize| thread * jobs / threads;
        let shares: Vec<Share> =
            (0..threads).map(|thread| Share::of(start(thread)..start(thread + 1))).collect();
        let work = |thread: usize| {
            let (others, own) = shares.split_at(thread);
            own.iter().chain(others).for_each(|share| {
                while let Some(next) = share.take() {
                    job(next);
                }
            });
        };
        self.pool.in_place_scope(|scope| {
            for thread in 1..threads {
                let work = &work;
                scope.spawn(move |_| work(thread));
            }
            work(0);
        });
    }
}

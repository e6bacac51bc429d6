//! Threads that rooms share for laying out their connections' updates.

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::sync::workers::Workers;

/// A pool of threads for [`Runtime::set_workers`](crate::runtime::Runtime::set_workers).
#[derive(Clone, Debug)]
pub struct Threads(Arc<rayon::ThreadPool>);

impl Threads {
    /// So many threads, at least one.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn new(threads: usize) -> std::io::Result<Threads> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1));
        let pool = pool.thread_name(|number| format!("room-{number}")).build();
        pool.map(Arc::new).map(Threads).map_err(std::io::Error::other)
    }
}

impl Workers for Threads {
    fn jobs(&self) -> usize {
        // Some for each thread, so that none waits long for another.
        4 * self.0.current_num_threads()
    }
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        self.0.install(|| (0..jobs).into_par_iter().with_max_len(1).for_each(job));
    }
}

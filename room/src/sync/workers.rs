//! Who does the work of a seal that can be shared out.

/// Threads that the driver lends to a room. The core starts none of its own.
pub trait Workers: Send + Sync {
    /// Into how many jobs work is cut: some for each thread, so that none waits long for another.
    fn jobs(&self) -> usize;
    /// Calls `job` with each number below `jobs`, once each, on any thread and in any order; returns when all are done.
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync));
}

/// The calling thread alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Workers for Serial {
    fn jobs(&self) -> usize {
        1
    }
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}

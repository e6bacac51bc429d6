//! Who does the work of a seal that can be shared out.

use std::sync::{Mutex, PoisonError};

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

/// A value that several threads may reach. Nobody waits long for it: what is done with it is short and rare.
#[derive(Debug, Default)]
pub struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Shared<T> {
        Shared(Mutex::new(value))
    }

    /// Calls `f` with the value.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

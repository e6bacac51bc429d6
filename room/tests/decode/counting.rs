//! An allocator that counts what its thread asks for.
// A global allocator is an unsafe trait by nature; this one only counts and hands on to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts for each thread apart, because tests run beside each other.
pub(crate) struct Counting;

thread_local! {
    // Const and without a destructor, so that reading it allocates nothing itself.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work` and returns how many bytes it asked for, those that it gave back included.
pub(crate) fn allocated(work: impl FnOnce()) -> usize {
    let before = ASKED.get();
    work();
    ASKED.get() - before
}

fn count(size: usize) {
    ASKED.set(ASKED.get().wrapping_add(size));
}

// SAFETY: every call goes to `System` as it came, which keeps the trait's promises.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

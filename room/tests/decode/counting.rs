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
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Runs `work` and returns how many bytes it asked for, those that it gave back included.
#[allow(dead_code, reason = "each test uses a part of it")]
pub(crate) fn allocated(work: impl FnOnce()) -> usize {
    let before = ASKED.get();
    work();
    ASKED.get() - before
}

/// What the thread asked for and has not given back. What it was handed by another and gives back counts against it.
#[allow(dead_code, reason = "each test uses a part of it")]
pub(crate) fn held() -> isize {
    HELD.get()
}

fn count(size: usize) {
    ASKED.set(ASKED.get().wrapping_add(size));
    HELD.set(HELD.get().wrapping_add_unsigned(size));
}

fn give_back(size: usize) {
    HELD.set(HELD.get().wrapping_sub_unsigned(size));
}

// SAFETY: every call goes to `System` as it came, which keeps the trait's promises.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        give_back(layout.size());
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
        give_back(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

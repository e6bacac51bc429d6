//! Faults that tests plant, to see that the simulator finds them. Without the feature `faults` there are none.

/// A mistake that somebody could make in this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Events are not told apart by their numbers.
    NoDedupe,
    /// A returning client asks for what changed since its last update, and not since it was complete.
    ResumeSinceTick,
    /// A connection that takes over keeps the view of the older one.
    OldView,
    /// What is gone when a client returns is not told to it.
    LeaveForgotten,
    /// A token is dropped as soon as the next one is made.
    TokenDropped,
    /// What a tick says leaves before its commit is kept.
    SendBeforeCommit,
    /// An event is acknowledged before its hook ran.
    AckBeforeHook,
    /// Ticks are the same to a room whichever of its runs they are of.
    RunForgotten,
}

#[cfg(feature = "faults")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Plants a fault in this thread, or takes it away.
#[cfg(feature = "faults")]
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

/// Whether this fault is planted in this thread.
#[cfg(feature = "faults")]
#[must_use]
pub fn is(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}

/// No fault is planted.
#[cfg(not(feature = "faults"))]
#[inline]
#[must_use]
pub const fn is(_: Fault) -> bool {
    false
}

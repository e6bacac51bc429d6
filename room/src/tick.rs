//! Room time.

use std::fmt;

/// A step of a room's simulation, counted from 1; 0 is "before the first".
///
/// Ticks order everything that a room does. They carry no unit of time: a room says in its welcome how many
/// it makes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u64);

impl Tick {
    /// Before the first tick: whoever is here has nothing.
    pub const ZERO: Tick = Tick(0);

    /// The tick after this one.
    #[must_use]
    pub fn next(self) -> Tick {
        Tick(self.0 + 1)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

//! What a game says of its client before it connects.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use room::limits;

use super::NoticeKind;

/// A game's own words for a notice: it gets the kind and the library's words.
pub type Words = Arc<dyn Fn(NoticeKind, &str) -> String + Send + Sync>;

/// What a client says of itself, and how it behaves.
#[derive(Clone)]
pub struct Options {
    /// The display name, at most 256 bytes.
    pub name: String,
    /// The build: 1 to 64 letters, digits, `.`, `_`, `-`.
    pub build: Option<String>,
    /// How long it tries without a socket; 60 seconds unless set.
    pub give_up: Duration,
    /// Whether it makes a new session by itself where the old one is lost, once a drop.
    pub rejoin: bool,
    /// The room's URL or name, to which a checkpoint is bound.
    pub room: String,
    /// What replaces the words of notices.
    pub words: Option<Words>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: String::new(),
            build: None,
            give_up: Duration::from_secs(limits::GIVE_UP_SECONDS),
            rejoin: false,
            room: String::new(),
            words: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("build", &self.build)
            .field("give_up", &self.give_up)
            .field("rejoin", &self.rejoin)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}

//! Where rooms are kept: what a room commits, and what it needs to wake. No I/O: a [`Store`] is the driver's.
//!
//! A room's storage is a *log*: rows that are only appended, numbered without gaps. What they say is the room's own
//! affair ([`journal`](crate::room::runtime)); a store keeps bytes. A snapshot is rows like any other; once its last
//! one is committed, the rows before its first one go.

mod memory;

use std::fmt;
use std::sync::Arc;

pub use memory::MemoryStore;

use crate::limits;

/// What a room writes in one transaction: all of it is kept, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The room's name.
    pub room: Arc<str>,
    /// The epoch under which the room was [taken](Store::take). A store refuses one that is not the room's newest.
    pub epoch: u64,
    /// The number of the first of the rows: one more than the last that the log has.
    pub first: u64,
    /// Rows for the end of the log. May be none, where only the rest changes.
    pub rows: Vec<Vec<u8>>,
    /// Rows with lower numbers are not needed any more. A store may take its time to delete them, but does not give
    /// them back from [`take`](Store::take).
    pub forget: u64,
    /// What the room is from now on.
    pub state: State,
    /// What is shown of the room while it sleeps, where that changed.
    pub label: Option<StoredLabel>,
}

impl Commit {
    /// The number of the last row in the log after this commit.
    #[must_use]
    pub fn last(&self) -> u64 {
        (self.first + self.rows.len() as u64).saturating_sub(1)
    }
}

/// What a stored room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs. If its process ends, the next one wakes it at once.
    Awake,
    /// It waits for somebody who joins.
    Asleep,
    /// It is to be deleted, log and all; its epoch goes on counting.
    Gone,
}

/// What is shown of a room while it sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLabel {
    /// The code by which the room is found: six capital letters, or none. No two rooms of a store have the same. The
    /// room whose commit says it last has it, and any other that had it has none from then on.
    pub code: String,
    /// The label as a whole, which is the room's affair: at most [`limits::LABEL`] bytes.
    pub bytes: Vec<u8>,
}

impl StoredLabel {
    /// As a store keeps it: what has not the form of a code is none.
    pub(crate) fn checked(&self) -> StoredLabel {
        let is_code =
            self.code.len() == limits::CODE && self.code.bytes().all(|byte| byte.is_ascii_uppercase());
        let code = if is_code { self.code.clone() } else { String::new() };
        StoredLabel { code, bytes: self.bytes.clone() }
    }
}

/// A room that a store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRoom {
    /// Its name.
    pub name: String,
    /// Whether it ran when it was last committed.
    pub awake: bool,
    /// The label of its last commit that had one; empty where none had.
    pub label: StoredLabel,
}

/// A room's log, for its new owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The owner's number, for its commits: higher than any before, never below 1.
    pub epoch: u64,
    /// Whether the store was put back from a copy since it was last opened, so that what clients saw may not have
    /// happened.
    pub restored: bool,
    /// The number of the first row; of the next one to be written, where there is none.
    pub first: u64,
    /// The rows, in order.
    pub rows: Vec<Vec<u8>>,
}

/// Hears whether a commit is kept. It is called once, from any thread.
pub type Done = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A place where rooms are kept.
///
/// Commits of one room are made in the order in which they are given. A commit that was refused changed nothing and
/// may be given again; one whose answer was an error although it was kept may be given again too, and is then kept
/// once.
pub trait Store: Send + Sync + 'static {
    /// All rooms, in the order of their names: for tools and tests. A server never asks for them, as there may be more
    /// than its memory holds.
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError>;

    /// The rooms that ran when they were last committed, in the order of their names: what a server wakes when it
    /// starts.
    fn awake(&self) -> Result<Vec<StoredRoom>, StoreError>;

    /// The room of a name, or `None` where nothing is kept of one. A server asks whenever somebody comes for a room
    /// that does not run, and keeps nothing of the answer.
    fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError>;

    /// The name of the room that has a code, or `None` where none has it.
    fn by_code(&self, code: &str) -> Result<Option<String>, StoreError>;

    /// Takes a room, which is made if there is none of the name. From then on commits under an older epoch are
    /// refused. May take as long as reading the room's log takes.
    fn take(&self, room: &str) -> Result<Taken, StoreError>;

    /// Keeps a commit, and calls `done`.
    fn commit(&self, commit: Arc<Commit>, done: Done);

    /// Ends cleanly: every commit that was given is kept or refused when this returns. Commits that come later are
    /// refused.
    fn close(&self) {}
}

/// Why something is not kept, or not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No space is left.
    #[error("the store is full: {0}")]
    Full(String),
    /// The store cannot do it just now.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// The room was taken by another owner.
    #[error("room {room} is owned under epoch {newest} by now, and not under {epoch}")]
    Fenced {
        /// The room.
        room: String,
        /// The epoch of the commit.
        epoch: u64,
        /// The newest epoch.
        newest: u64,
    },
    /// What is stored of a room is damaged. Nothing of it was changed.
    #[error(
        "what is stored of room {room} is damaged: {what}; put the store back from a copy, or remove the room"
    )]
    Damaged {
        /// The room.
        room: String,
        /// What was found.
        what: String,
    },
    /// The store is damaged where all rooms depend on it. Nothing of it was changed.
    #[error("the store {store} is damaged: {what}; put it back from a copy")]
    StoreDamaged {
        /// The store.
        store: String,
        /// What was found.
        what: String,
    },
    /// A commit does not fit what the room's log has.
    #[error("room {room} has rows up to {last} and cannot go on at {first}")]
    Gap {
        /// The room.
        room: String,
        /// The number of its last row.
        last: u64,
        /// The number of the commit's first row.
        first: u64,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether trying again is of no use.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, StoreError::Full(_) | StoreError::Unavailable(_))
    }
}

impl fmt::Debug for dyn Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

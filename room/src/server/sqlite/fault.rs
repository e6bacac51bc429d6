//! What SQLite says, as what a room's owner needs to know.

use std::path::PathBuf;

use rusqlite::ErrorCode;

use crate::storage::StoreError;

/// Why a store is not opened. Nothing in its file was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it, or this one has it already.
    #[error("the store {} is held by {}; stop it first, or use another file", store.display(), holder(*process))]
    Held {
        /// The store.
        store: PathBuf,
        /// The process ID of the holder, where that can be read.
        process: Option<u32>,
    },
    /// The folder it would be in is not there.
    #[error("there is no folder {} for the store {}; create it first", folder.display(), store.display())]
    NoFolder {
        /// The store.
        store: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// It was written by a newer version.
    #[error(
        "the store {} has format {found}, which is newer than {known}, the newest that this build knows; use a \
         newer build",
        store.display()
    )]
    Newer {
        /// The store.
        store: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this build knows.
        known: u32,
    },
    /// It is a database, but of something else.
    #[error("{} is an SQLite database, but no store of rooms; use another file", store.display())]
    Foreign {
        /// The file.
        store: PathBuf,
    },
    /// The system refuses a file or a thread.
    #[error("the store {} cannot be opened: {error}", store.display())]
    System {
        /// The store.
        store: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is damaged, full or does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn holder(process: Option<u32>) -> String {
    match process {
        Some(process) if process == std::process::id() => format!("this process already ({process})"),
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    }
}

/// What went wrong with rows, before it is known whose they are.
#[derive(Debug)]
pub(super) enum Fault {
    /// What SQLite said.
    Sql(rusqlite::Error),
    /// What is there, and should not.
    Wrong(String),
}

enum Class {
    Full,
    Unavailable,
    Damage,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sql(error)
    }
}

impl Fault {
    pub(super) fn wrong<T>(what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Wrong(what.into()))
    }

    fn class(&self) -> Class {
        let error = match self {
            Fault::Wrong(_) => return Class::Damage,
            Fault::Sql(error) => error,
        };
        if error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_CORRUPTFS)
        {
            return Class::Damage;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Class::Full,
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::OperationInterrupted
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport,
            ) => Class::Unavailable,
            // All statements are this module's own and fit its tables. Where SQLite, or a column's type, says that
            // one does not, the tables are not what they were.
            _ => Class::Damage,
        }
    }

    fn text(&self) -> String {
        match self {
            Fault::Sql(error) => error.to_string(),
            Fault::Wrong(what) => what.clone(),
        }
    }

    /// What it means where all rooms depend on what was read or written.
    pub(super) fn of_store(self, store: &str) -> StoreError {
        self.named(store, |what| StoreError::StoreDamaged { store: store.to_owned(), what })
    }

    /// What it means where only a room's own log was read or written.
    pub(super) fn of_room(self, store: &str, room: &str) -> StoreError {
        self.named(store, |what| StoreError::Damaged { room: room.to_owned(), what })
    }

    fn named(self, store: &str, damage: impl FnOnce(String) -> StoreError) -> StoreError {
        let text = self.text();
        match self.class() {
            Class::Full => StoreError::Full(format!("{store}: {text}")),
            Class::Unavailable => StoreError::Unavailable(format!("{store}: {text}")),
            Class::Damage => damage(text),
        }
    }
}

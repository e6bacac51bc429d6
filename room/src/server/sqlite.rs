//! The embedded store: one SQLite file for all rooms of a server.
//!
//! Each room's log is a table of its own, so that each page of the file but the few that all rooms share belongs to one
//! room, and damage to it costs that room alone. One thread writes; others read. Nothing is kept in memory of a room:
//! each question is one or two rows that are found by their numbers.

mod checkpoint;
mod closing;
mod codes;
mod fault;
mod figures;
mod lock;
mod log;
mod open;
mod readers;
mod tables;
mod whole;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

pub use fault::OpenError;
pub use figures::SqliteStats;

use crate::storage::{Commit, Done, Store, StoreError, StoredRoom, Taken};
use crate::sync::workers::Shared;
use figures::Figures;
use log::Reading;
use open::Opened;
use readers::Readers;
use tables::{Restored, RoomRow, Secret};
use writer::{Job, Writer};

/// What a commit survives that was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, at any instruction. A power cut may cost what was committed in the seconds before it;
    /// what is left is whole, and rooms are told that they are [restored](Taken::restored).
    #[default]
    Process,
    /// A power cut too: each transaction is synced to the disk, which takes as long as the disk takes.
    Disk,
    /// As [`Process`](Durability::Process), and a power cut costs no more than the commits of so much time.
    Interval(Duration),
}

impl Durability {
    fn syncs(self) -> bool {
        self != Durability::Process
    }
}

/// How a store is to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What a commit survives. Default: the end of the process.
    pub durability: Durability,
    /// The most bytes that the file grows to, in whole pages; past it commits are [refused](StoreError::Full). A file
    /// that is longer does not grow. The WAL beside it is not counted. Default: what the disk has.
    pub max_bytes: Option<u64>,
}

/// Rooms in an SQLite file, which the `sqlite3` program reads. Clones are the same store, and the last one closes it.
///
/// Beside the file there are its WAL, and `FILE.lock`: a process that has the store holds a lock of the operating
/// system on it, which ends with the process however that ends. Another process is refused until then.
///
/// A file that was put back from a copy is noticed, and each of its rooms [told](Taken::restored).
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("room-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// use room::server::SqliteStore;
/// use room::storage::Store;
///
/// let store = SqliteStore::open(folder.join("rooms.db"))?;
/// let log = store.take("forest")?;
/// assert_eq!((log.epoch, log.first), (1, 1));
/// store.close();
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// For the writer, until the store is closed.
    jobs: Shared<Option<Sender<Job>>>,
    /// Locked while somebody waits for its end.
    thread: Mutex<Option<JoinHandle<()>>>,
    writer: ThreadId,
    readers: Arc<Readers>,
    secret: Secret,
    figures: Arc<Figures>,
}

impl SqliteStore {
    /// Opens the store in a file, which is made if there is none. The folder must be there.
    ///
    /// # Errors
    /// If another process has it, if it is damaged where all rooms depend on it, if it is none, or if the system
    /// refuses a file. Nothing in it is changed then.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteStore, OpenError> {
        SqliteStore::open_with(path, SqliteOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<SqliteStore, OpenError> {
        let opened: Opened = open::open(path.as_ref(), &options)?;
        let path = opened.path.clone();
        let system = |error| OpenError::System { store: path.clone(), error };
        let readers = Arc::new(Readers::new(path.clone(), path.display().to_string().into()));
        let (secret, figures) = (opened.secret, Arc::<Figures>::default());
        let writer = Writer::new(opened, options.durability, readers.clone(), figures.clone());
        let writer = writer.map_err(system)?;
        let (jobs, given) = channel();
        let thread = std::thread::Builder::new().name("room-store".to_owned());
        let thread = thread.spawn(move || writer.run(&given)).map_err(system)?;
        let (writer, jobs) = (thread.thread().id(), Shared::new(Some(jobs)));
        let inner = Inner { path, jobs, thread: Mutex::new(Some(thread)), writer, readers, secret, figures };
        Ok(SqliteStore { inner: Arc::new(inner) })
    }

    /// The file, from the root and without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What it has done since it was opened.
    #[must_use]
    pub fn stats(&self) -> SqliteStats {
        self.inner.figures.read()
    }
}

impl Inner {
    /// Gives the writer something to do, or back where the store is closed.
    fn ask(&self, job: Job) -> Result<(), Job> {
        self.jobs.with(|jobs| match jobs {
            Some(jobs) => jobs.send(job).map_err(|refused| refused.0),
            None => Err(job),
        })
    }

    fn read(&self, room: &str, reading: &mut Reading) -> Result<(), StoreError> {
        self.readers.read(self.secret.home(room), room, reading)
    }

    /// The room's row under a new epoch.
    fn next_epoch(&self, room: &str) -> Result<RoomRow, StoreError> {
        let (reply, answer) = sync_channel(1);
        self.ask(Job::Take(room.to_owned(), reply)).map_err(|_| StoreError::Closed)?;
        answer.recv().map_err(|_| StoreError::Closed)?
    }

    fn close(&self) {
        // The writer ends once it has done what it was given.
        self.jobs.with(|jobs| *jobs = None);
        // It cannot wait for itself, where a callback of a commit closes the store.
        if std::thread::current().id() == self.writer {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // Its panic was reported.
            _ = thread.join();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for SqliteStore {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.inner.readers.rooms(false)
    }

    /// Looks at the rows of all rooms.
    fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.inner.readers.rooms(true)
    }

    fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError> {
        self.inner.readers.find(self.inner.secret.home(room), room)
    }

    fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
        self.inner.readers.by_code(code)
    }

    /// Reads the log before it takes the room, so that a damaged one stays as it is, and afterwards what its last owner
    /// has committed meanwhile.
    fn take(&self, room: &str) -> Result<Taken, StoreError> {
        let mut reading = Reading::new(true);
        self.inner.read(room, &mut reading)?;
        let row = self.inner.next_epoch(room)?;
        if !reading.is_whole(&row) {
            self.inner.read(room, &mut reading)?;
        }
        let (epoch, restored, first) = (row.epoch, row.restored != Restored::No, row.first);
        match reading.into_rows(&row) {
            Some(rows) => Ok(Taken { epoch, restored, first, rows }),
            // The next owner has it already, and has let go of rows that this one had not read.
            None => Err(StoreError::Unavailable(format!("room {room} was taken by another at once"))),
        }
    }

    fn commit(&self, commit: Arc<Commit>, done: Done) {
        if let Err(Job::Commit(_, done)) = self.inner.ask(Job::Commit(commit, done)) {
            done(Err(StoreError::Closed));
        }
    }

    fn close(&self) {
        self.inner.close();
    }
}

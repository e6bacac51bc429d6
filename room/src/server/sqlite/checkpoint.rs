//! Moving what was committed from the WAL into the database, beside the writer.
//!
//! A passive checkpoint keeps nobody waiting. The WAL starts anew with the first commit that finds all of it moved.
//! Under a load without gaps that may never be so: while the last of it is moved, there is more. So, from a second
//! bound on, the writer now and then waits a few milliseconds for the end of a checkpoint, which has little to move
//! since there was one shortly before; and from a third one on it waits as long as it takes. Readers are of no
//! account, as each of their transactions is short. So the WAL is at most [`limits::STORE_WAL_MOST`] long, plus one
//! transaction and one step; only a program outside that reads in a transaction without end can make it longer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::figures::Figures;
use super::open::connect;
use crate::limits;

/// From when on the writer waits a little.
const WAIT_FROM: u64 = 4 * limits::STORE_WAL;
/// How long.
const WAIT: Duration = Duration::from_millis(10);
/// How much has to be added until a checkpoint is asked for again.
const STEP: u64 = limits::STORE_WAL / 4;
/// The most that the file keeps of its length when it starts anew.
const KEEP: u64 = 4 * limits::STORE_WAL;

/// The thread that moves it. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Checkpointer {
    requests: Option<Sender<SyncSender<()>>>,
    thread: Option<JoinHandle<()>>,
    figures: Arc<Figures>,
    frame: u64,
    /// The length at which the next checkpoint is asked for.
    next: u64,
}

impl Checkpointer {
    /// Starts the thread, and sets the writer's connection up.
    pub(super) fn start(
        path: &Path,
        writer: &Connection,
        figures: Arc<Figures>,
    ) -> std::io::Result<Checkpointer> {
        let other = std::io::Error::other::<rusqlite::Error>;
        let db = connect(path).map_err(other)?;
        let set = |pragma, db: &Connection, value: i64| {
            db.pragma_update_and_check(None, pragma, value, |_| Ok(())).map_err(other)
        };
        set("journal_size_limit", writer, KEEP as i64)?;
        let synced: i64 = writer.pragma_query_value(None, "fullfsync", |row| row.get(0)).map_err(other)?;
        db.pragma_update(None, "checkpoint_fullfsync", synced).map_err(other)?;
        let page: i64 = writer.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(other)?;
        let (requests, asked) = channel();
        let count = figures.clone();
        let thread = std::thread::Builder::new().name("room-store-wal".to_owned());
        let thread = thread.spawn(move || run(&db, &asked, &count))?;
        // A page stands in the WAL behind 24 bytes.
        let frame = page as u64 + 24;
        let requests = Some(requests);
        Ok(Checkpointer { requests, thread: Some(thread), figures, frame, next: limits::STORE_WAL })
    }

    /// Has the WAL moved if it is long, and waits if it is too long: for the writer, after a commit.
    pub(super) fn look(&mut self, db: &Connection) {
        let Ok(wal) = wal(db, "NOOP") else { return };
        let length = wal.frames * self.frame;
        if wal.left() == 0 || length + STEP < self.next {
            // It starts anew, or has done so.
            self.next = limits::STORE_WAL;
        }
        self.figures.wal.store(length, Relaxed);
        self.figures.wal_most.fetch_max(length, Relaxed);
        if wal.left() == 0 || length < self.next {
            return;
        }
        self.next = length + STEP;
        let (done, ended) = sync_channel(1);
        let asked = self.requests.as_ref().is_some_and(|requests| requests.send(done).is_ok());
        if !asked || length < WAIT_FROM {
            return;
        }
        self.figures.waits.fetch_add(1, Relaxed);
        // An error is a thread that has ended, or the time: either way the writer goes on.
        if length < limits::STORE_WAL_MOST {
            let _ = ended.recv_timeout(WAIT);
        } else {
            let _ = ended.recv();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // It has logged what it died of.
            let _ = thread.join();
        }
    }
}

fn run(db: &Connection, asked: &Receiver<SyncSender<()>>, figures: &Figures) {
    while let Ok(done) = asked.recv() {
        // Who else asked is served by the same one.
        let others: Vec<_> = asked.try_iter().collect();
        match wal(db, "PASSIVE") {
            Ok(_) => _ = figures.checkpoints.fetch_add(1, Relaxed),
            Err(error) => tracing::warn!(kind = "store_checkpoint", %error, "the store's WAL is not moved"),
        }
        for done in others.into_iter().chain([done]) {
            let _ = done.try_send(());
        }
    }
}

/// The state of the WAL, in frames of one page each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wal {
    pub(super) busy: bool,
    frames: u64,
    moved: u64,
}

impl Wal {
    fn left(self) -> u64 {
        self.frames.saturating_sub(self.moved)
    }
}

/// Makes a checkpoint of a kind, where NOOP is none.
pub(super) fn wal(db: &Connection, kind: &str) -> rusqlite::Result<Wal> {
    let mut statement = db.prepare_cached(&format!("PRAGMA wal_checkpoint({kind})"))?;
    statement.query_row([], |row| {
        let number = |column| row.get::<_, i64>(column).map(|number| number.max(0) as u64);
        Ok(Wal { busy: row.get::<_, i64>(0)? != 0, frames: number(1)?, moved: number(2)? })
    })
}

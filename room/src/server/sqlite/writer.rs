//! The one thread that writes.
//!
//! It takes all commits that wait, and makes one transaction of them with a savepoint for each, so that one that is
//! refused changes nothing of another. Where a transaction is lost as a whole, as when the disk is full, each of its
//! commits is tried again alone, and has an error of its own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Durability;
use super::checkpoint::Checkpointer;
use super::fault::Fault;
use super::figures::Figures;
use super::lock::{LockFile, Memory};
use super::open::Opened;
use super::readers::Readers;
use super::tables::{Index, Kept, Meta, Restored, RoomRow, log_table};
use super::{closing, log};
use crate::storage::{Commit, Done, State, StoreError};
use crate::sync::workers::Shared;

/// The most commits of one transaction.
const BATCH: usize = 256;

/// What the writer is asked for.
pub(super) enum Job {
    Commit(Arc<Commit>, Done),
    /// A new epoch for a room, and its row under it.
    Take(String, SyncSender<Result<RoomRow, StoreError>>),
}

/// The row, for who takes a room.
type Answer = Result<Option<RoomRow>, StoreError>;

#[derive(Debug)]
pub(super) struct Writer {
    // In the order in which they end: the lock last.
    checkpointer: Option<Checkpointer>,
    db: Connection,
    lock: LockFile,
    memory: Memory,
    index: Index,
    /// Whether the index is to be read again, since something that it has was taken back.
    stale: bool,
    /// The path, as errors name it.
    store: Arc<str>,
    /// The rooms' IDs as far as they are committed, for readers.
    ids: Arc<Shared<HashMap<String, i64>>>,
    /// Rooms whose logs were read whole by this process. From others nothing is deleted: see [`log::Reading::read`].
    sound: HashSet<i64>,
    /// Rooms with rows that are to be deleted.
    trims: BTreeSet<i64>,
    durability: Durability,
    /// Whether the connection syncs its transactions.
    full: bool,
    synced: Instant,
    /// Whether something was committed since.
    unsynced: bool,
    readers: Arc<Readers>,
    figures: Arc<Figures>,
}

/// What becomes true once a transaction is committed.
#[derive(Default)]
struct Outcome {
    /// Rows and epochs that were added.
    count: u64,
    made: Option<(String, i64)>,
    row: Option<RoomRow>,
}

impl Writer {
    pub(super) fn new(
        opened: Opened,
        durability: Durability,
        ids: Arc<Shared<HashMap<String, i64>>>,
        readers: Arc<Readers>,
        figures: Arc<Figures>,
    ) -> std::io::Result<Writer> {
        let Opened { db, lock, path, memory, index } = opened;
        let checkpointer = Some(Checkpointer::start(&path, &db, figures.clone())?);
        let (store, trims) = (path.display().to_string().into(), BTreeSet::new());
        let (stale, unsynced, sound, synced) = (false, false, HashSet::new(), Instant::now());
        ids.with(|ids| ids.clone_from(&index.ids));
        Ok(Writer {
            checkpointer,
            db,
            lock,
            memory,
            index,
            stale,
            store,
            ids,
            sound,
            trims,
            durability,
            full: false,
            synced,
            unsynced,
            readers,
            figures,
        })
    }

    /// Works until nobody can ask for anything any more, and ends the store.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        // False after a failure, until there is a commit: what failed is not tried again without a rest.
        let mut trims = true;
        loop {
            let next = match self.rest() {
                _ if trims && !self.trims.is_empty() => match jobs.try_recv() {
                    Ok(job) => Ok(job),
                    Err(TryRecvError::Disconnected) => break,
                    Err(TryRecvError::Empty) => {
                        trims = self.trim().is_ok();
                        continue;
                    }
                },
                Some(rest) => jobs.recv_timeout(rest),
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(job) => {
                    let mut batch = vec![job];
                    batch.extend(jobs.try_iter().take(BATCH - 1));
                    self.serve(batch);
                    // One step after each transaction, so that they keep up where there is always one waiting.
                    trims = self.trims.is_empty() || self.trim().is_ok();
                }
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end();
    }

    /// How long it may wait before what was committed is to be synced.
    fn rest(&self) -> Option<Duration> {
        match self.durability {
            Durability::Interval(interval) if self.unsynced => {
                Some(interval.saturating_sub(self.synced.elapsed()))
            }
            _ => None,
        }
    }

    fn serve(&mut self, jobs: Vec<Job>) {
        let answers = match self.transaction(&jobs) {
            Ok(answers) => answers,
            Err(error) if jobs.len() == 1 => vec![Err(error)],
            Err(_) => jobs.iter().map(|job| self.alone(job)).collect(),
        };
        for (job, answer) in jobs.into_iter().zip(answers) {
            match job {
                // A callback that panics is none of the other rooms' business; its panic was reported.
                Job::Commit(_, done) => {
                    _ = catch_unwind(AssertUnwindSafe(|| done(answer.map(|_| ()))));
                }
                Job::Take(room, reply) => {
                    let lost = || StoreError::Unavailable(format!("room {room} has no row"));
                    // Who asked may have stopped waiting.
                    _ = reply.send(answer.and_then(|row| row.ok_or_else(lost)));
                }
            }
        }
    }

    fn alone(&mut self, job: &Job) -> Answer {
        self.transaction(std::slice::from_ref(job))?.pop().unwrap_or(Ok(None))
    }

    /// Makes one transaction of jobs. An error is that of all of them, and nothing of any is kept.
    fn transaction(&mut self, jobs: &[Job]) -> Result<Vec<Answer>, StoreError> {
        let full = match self.durability {
            Durability::Process => false,
            Durability::Disk => true,
            Durability::Interval(interval) => self.synced.elapsed() >= interval,
        };
        let answers = self.within(full, |writer| {
            let mut answers = Vec::with_capacity(jobs.len());
            for job in jobs {
                answers.push(writer.isolated(|writer| writer.apply(job))?);
            }
            Ok(answers)
        })?;
        let kept = jobs.iter().zip(&answers);
        let kept = kept.filter(|(job, answer)| matches!(job, Job::Commit(..)) && answer.is_ok()).count();
        self.figures.commits.fetch_add(kept as u64, Relaxed);
        let mut kept = |outcome: Outcome| {
            self.memory.count += outcome.count;
            if let Some((name, id)) = outcome.made {
                self.ids.with(|ids| ids.insert(name, id));
            }
            outcome.row
        };
        let answers = answers.into_iter().map(|answer| answer.map(&mut kept)).collect();
        // Before anybody hears of it: what was heard of must not be missing without this file knowing. If it cannot
        // be written, a copy may pass for the store itself; that is no reason to stop.
        _ = self.lock.write(Some(self.memory));
        Ok(answers)
    }

    /// Runs `work` in a transaction, and commits it.
    fn within<R>(
        &mut self,
        full: bool,
        work: impl FnOnce(&mut Writer) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        if self.full != full {
            // Not kept prepared, for SQLite does this one when it prepares it.
            let level = if full { "FULL" } else { "NORMAL" };
            let set = self.db.pragma_update(None, "synchronous", level);
            set.map_err(|error| Fault::from(error).of_store(&self.store))?;
            self.full = full;
        }
        self.execute("BEGIN IMMEDIATE")?;
        let result = work(self).and_then(|result| self.execute("COMMIT").map(|()| result));
        if result.is_err() {
            self.stale = true;
            if !self.db.is_autocommit() {
                // It may have ended by itself meanwhile.
                _ = self.execute("ROLLBACK");
            }
            return result;
        }
        self.figures.transactions.fetch_add(1, Relaxed);
        self.unsynced = !full;
        if full {
            self.figures.synced.fetch_add(1, Relaxed);
            self.synced = Instant::now();
        }
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.look(&self.db);
        }
        result
    }

    /// Runs `work` so that it changes nothing if it fails. An outer error is that of the whole transaction, which is
    /// lost.
    fn isolated<R>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<R, StoreError>,
    ) -> Result<Result<R, StoreError>, StoreError> {
        self.execute("SAVEPOINT one")?;
        let result = self.refresh().and_then(|()| work(self));
        if let Err(error) = &result {
            if self.db.is_autocommit() {
                return Err(error.clone());
            }
            self.execute("ROLLBACK TO one")?;
            // These are found before anything is written.
            self.stale |= !matches!(error, StoreError::Fenced { .. } | StoreError::Gap { .. });
        }
        self.execute("RELEASE one")?;
        Ok(result)
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        if self.stale {
            (self.index, ..) = Index::load(&self.db).map_err(|fault| fault.of_store(&self.store))?;
            self.stale = false;
        }
        Ok(())
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        let run = || self.db.prepare_cached(sql)?.execute([]);
        run().map(|_| ()).map_err(|error| Fault::from(error).of_store(&self.store))
    }

    fn apply(&mut self, job: &Job) -> Result<Outcome, StoreError> {
        match job {
            Job::Commit(commit, _) => self.keep(commit),
            Job::Take(room, _) => self.take(room).map_err(|fault| fault.of_store(&self.store)),
        }
    }

    fn take(&mut self, room: &str) -> Result<Outcome, Fault> {
        let mut made = None;
        let mut row = match self.index.ids.get(room) {
            Some(id) => self.row(*id)?,
            None => {
                let meta = Meta::load(&self.db)?;
                let id = meta.rooms as i64 + 1;
                Meta { rooms: id as u64, ..meta }.save(&self.db)?;
                self.index.ids.insert(room.to_owned(), id);
                made = Some((room.to_owned(), id));
                RoomRow::new(id, room)
            }
        };
        row.epoch += 1;
        if row.restored == Restored::Untold {
            row.restored = Restored::Told;
        }
        row.save(&self.db)?;
        self.sound.insert(row.id);
        self.trim_later(&row);
        Ok(Outcome { count: 1, made, row: Some(row) })
    }

    fn row(&self, id: i64) -> Result<RoomRow, Fault> {
        let row = RoomRow::load(&self.db, id)?;
        row.ok_or_else(|| Fault::Wrong(format!("the row {id} of its table rooms is missing")))
    }

    /// Keeps a commit, as [`MemoryStore`](crate::storage::MemoryStore) does.
    fn keep(&mut self, commit: &Commit) -> Result<Outcome, StoreError> {
        let Commit { epoch, first, .. } = *commit;
        let name = || commit.room.to_string();
        let Some(id) = self.index.ids.get(&*commit.room).copied() else {
            return Err(StoreError::Fenced { room: name(), epoch, newest: 0 });
        };
        let mut row = self.row(id).map_err(|fault| fault.of_store(&self.store))?;
        if row.epoch != epoch {
            return Err(StoreError::Fenced { room: name(), epoch, newest: row.epoch });
        }
        let added = commit.rows.len() as u64;
        if first != row.last + 1 {
            // Given again, after an answer that was lost.
            let kept = added > 0 && first.checked_add(added) == Some(row.last + 1);
            let gap = StoreError::Gap { room: name(), last: row.last, first };
            return if kept { Ok(Outcome::default()) } else { Err(gap) };
        }
        let added = if commit.state == State::Gone { 0 } else { added };
        if added > 0 {
            self.append(id, first, &commit.rows).map_err(|fault| fault.of_room(&self.store, &commit.room))?;
        }
        row.last += added;
        row.first = row.first.max(commit.forget.min(row.last + 1));
        row.kept = commit.state.into();
        if let Some(label) = &commit.label {
            row.label.clone_from(label);
        }
        if commit.state == State::Gone {
            row.first = row.last + 1;
            row.label.clear();
        }
        if row.restored == Restored::Told {
            row.restored = Restored::No;
        }
        row.save(&self.db).map_err(|fault| fault.of_store(&self.store))?;
        self.trim_later(&row);
        Ok(Outcome { count: added, ..Outcome::default() })
    }

    fn append(&mut self, id: i64, first: u64, rows: &[Vec<u8>]) -> Result<(), Fault> {
        if self.index.logs.insert(id) {
            self.db.execute_batch(&log_table(id))?;
        }
        log::append(&self.db, id, first, rows)
    }

    fn trim_later(&mut self, row: &RoomRow) {
        let left = row.base < row.first || row.kept == Kept::Gone && self.index.logs.contains(&row.id);
        if left && self.sound.contains(&row.id) {
            self.trims.insert(row.id);
        }
    }

    /// Deletes some rows that are not wanted any more, in a transaction of its own. It need not be synced: if it is
    /// lost, it is made again.
    fn trim(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.trims.first().copied() else { return Ok(()) };
        let result = self.within(false, |writer| writer.isolated(|writer| writer.trim_room(id)));
        match result.and_then(|result| result) {
            Ok(true) => {}
            Ok(false) => _ = self.trims.remove(&id),
            Err(error) => {
                if error.is_final() {
                    // Its owner hears of it when it commits or is taken again.
                    self.trims.remove(&id);
                    tracing::warn!(kind = "store_trim", %error, "rows that are not wanted any more are kept");
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether there is more to delete.
    fn trim_room(&mut self, id: i64) -> Result<bool, StoreError> {
        let mut row = self.row(id).map_err(|fault| fault.of_store(&self.store))?;
        let base = row.base;
        if base < row.first {
            row.base = log::trim(&self.db, &row).map_err(|fault| fault.of_room(&self.store, &row.name))?;
        }
        let gone = row.kept == Kept::Gone && row.base > row.last;
        if gone && self.index.logs.remove(&id) {
            let drop = self.db.execute_batch(&format!("DROP TABLE log_{id}"));
            drop.map_err(|error| Fault::from(error).of_room(&self.store, &row.name))?;
        }
        row.save(&self.db).map_err(|fault| fault.of_store(&self.store))?;
        self.figures.trimmed.fetch_add(row.base - base, Relaxed);
        self.figures.trimmed_most.fetch_max(row.base - base, Relaxed);
        Ok(row.base < row.first)
    }

    /// Syncs what was committed: by a transaction that changes nothing, since the sync of one is the sync of all
    /// before it.
    fn sync(&mut self) {
        let again = |writer: &mut Writer| {
            let again = Meta::load(&writer.db).and_then(|meta| meta.save(&writer.db));
            again.map_err(|fault| fault.of_store(&writer.store))
        };
        if let Err(error) = self.within(true, again) {
            tracing::warn!(kind = "store_sync", %error, "what was committed is not synced");
            // Not again at once.
            self.synced = Instant::now();
        }
    }

    /// Ends the store: deletes what is to be deleted, and leaves one file that is whole.
    fn end(mut self) {
        let began = Instant::now();
        while !self.trims.is_empty() && began.elapsed() < closing::TRIM && self.trim().is_ok() {}
        self.checkpointer = None;
        self.readers.close();
        let store: &str = &self.store;
        closing::tidy_up(&self.db, Path::new(store), store);
        // The lock goes with `self`, after the connection.
    }
}

//! The one thread that writes.
//!
//! It takes all commits that wait, and makes one transaction of them with a savepoint for each, so that one that is
//! refused changes nothing of another. Where a transaction is lost as a whole, as when the disk is full, each of its
//! commits is tried again alone, and has an error of its own.

use std::collections::BTreeSet;
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
use super::tables::{Kept, Meta, Place, Restored, RoomRow, Secret, log_table};
use super::{closing, codes, log};
use crate::storage::{Commit, Done, State, StoreError, StoredLabel};

/// The most commits of one transaction.
const BATCH: usize = 256;

/// How many rooms go to sleep until the statements are let go that were prepared, those of their logs among them. What
/// is still needed is prepared anew, which takes no longer than a few rooms' sleep is worth.
const SLEPT: usize = 8;

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
    secret: Secret,
    /// The path, as errors name it.
    store: Arc<str>,
    /// Stands in the row of each room that this process was given.
    opening: u64,
    /// Rooms that were put to sleep since the statements were let go.
    slept: usize,
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
    row: Option<RoomRow>,
}

impl Writer {
    pub(super) fn new(
        opened: Opened,
        durability: Durability,
        readers: Arc<Readers>,
        figures: Arc<Figures>,
    ) -> std::io::Result<Writer> {
        let Opened { db, lock, path, memory, secret } = opened;
        let checkpointer = Some(Checkpointer::start(&path, &db, figures.clone())?);
        let (store, trims) = (path.display().to_string().into(), BTreeSet::new());
        Ok(Writer {
            checkpointer,
            db,
            lock,
            memory,
            secret,
            store,
            opening: (memory.marks[0] >> 65) as u64,
            slept: 0,
            trims,
            durability,
            full: false,
            synced: Instant::now(),
            unsynced: false,
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
                        self.look_at_wal();
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
                    self.look_at_wal();
                }
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end();
    }

    /// Once all have heard of their commits, for it may have to wait.
    fn look_at_wal(&mut self) {
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.look(&self.db);
        }
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
        for (job, answer) in jobs.iter().zip(&answers) {
            if let (Job::Commit(commit, _), Ok(_)) = (job, answer) {
                self.figures.commits.fetch_add(1, Relaxed);
                self.slept += usize::from(commit.state != State::Awake);
            }
        }
        if self.slept >= SLEPT {
            self.slept = 0;
            self.db.flush_prepared_statement_cache();
        }
        let mut kept = |outcome: Outcome| {
            self.memory.count += outcome.count;
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
        result
    }

    /// Runs `work` so that it changes nothing if it fails. An outer error is that of the whole transaction, which is
    /// lost.
    fn isolated<R>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<R, StoreError>,
    ) -> Result<Result<R, StoreError>, StoreError> {
        self.execute("SAVEPOINT one")?;
        let result = work(self);
        if let Err(error) = &result {
            if self.db.is_autocommit() {
                return Err(error.clone());
            }
            self.execute("ROLLBACK TO one")?;
        }
        self.execute("RELEASE one")?;
        Ok(result)
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
        let mut row = match self.find(room)? {
            Place::Row(row) => row,
            Place::Free(id) => {
                let meta = Meta::load(&self.db)?;
                Meta { rooms: meta.rooms + 1, ids: meta.ids ^ id, ..meta }.save(&self.db)?;
                let row = RoomRow::new(id, room);
                row.create(&self.db)?;
                row
            }
        };
        row.epoch += 1;
        row.opening = self.opening;
        if row.restored == Restored::Untold {
            row.restored = Restored::Told;
        }
        row.save(&self.db)?;
        self.trim_later(&row);
        Ok(Outcome { count: 1, row: Some(row) })
    }

    fn find(&self, room: &str) -> Result<Place, Fault> {
        RoomRow::find(&self.db, self.secret.home(room), room)
    }

    fn row(&self, id: i64) -> Result<RoomRow, Fault> {
        let row = RoomRow::load(&self.db, id)?;
        row.ok_or_else(|| Fault::Wrong(format!("the row {id} of its table rooms is missing")))
    }

    /// Keeps a commit, as [`MemoryStore`](crate::storage::MemoryStore) does.
    fn keep(&mut self, commit: &Commit) -> Result<Outcome, StoreError> {
        let Commit { epoch, first, .. } = *commit;
        let name = || commit.room.to_string();
        let of_store = |fault: Fault| fault.of_store(&self.store);
        let Place::Row(mut row) = self.find(&commit.room).map_err(of_store)? else {
            return Err(StoreError::Fenced { room: name(), epoch, newest: 0 });
        };
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
            self.append(&mut row, commit).map_err(|fault| fault.of_room(&self.store, &commit.room))?;
        }
        row.last += added;
        row.first = row.first.max(commit.forget.min(row.last + 1));
        row.kept = commit.state.into();
        let gone = commit.state == State::Gone;
        if gone {
            row.first = row.last + 1;
        }
        let label =
            if gone { Some(StoredLabel::default()) } else { commit.label.as_ref().map(StoredLabel::checked) };
        if let Some(label) = label {
            codes::give(&self.db, &mut row, &label.code).map_err(of_store)?;
            row.label.bytes = label.bytes;
        }
        if row.restored == Restored::Told {
            row.restored = Restored::No;
        }
        row.save(&self.db).map_err(of_store)?;
        self.trim_later(&row);
        Ok(Outcome { count: added, ..Outcome::default() })
    }

    fn append(&self, row: &mut RoomRow, commit: &Commit) -> Result<(), Fault> {
        if !std::mem::replace(&mut row.log, true) {
            self.db.execute_batch(&log_table(row.id))?;
        }
        log::append(&self.db, row.id, commit.first, &commit.rows)
    }

    fn trim_later(&mut self, row: &RoomRow) {
        let left = row.base < row.first || row.kept == Kept::Gone && row.log;
        if left && row.opening == self.opening {
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
        if gone && std::mem::take(&mut row.log) {
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

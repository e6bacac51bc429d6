//! Connections that read, so that a long log does not keep the writer.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::codes;
use super::fault::Fault;
use super::log::Reading;
use super::open::connect;
use super::tables::{Place, RoomRow};
use crate::storage::{StoreError, StoredRoom};

/// Connections that are kept open while nobody reads.
const IDLE: usize = 2;
/// How long an end waits for those who read.
const END: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    /// The path, as errors name it.
    store: Arc<str>,
    pool: Mutex<Pool>,
    back: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Connection>,
    reading: usize,
    closed: bool,
}

impl Readers {
    pub(super) fn new(path: PathBuf, store: Arc<str>) -> Readers {
        Readers { path, store, pool: Mutex::default(), back: Condvar::new() }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `read` have a connection. One on which something failed is not used again.
    fn with<R>(&self, read: impl FnOnce(&Connection) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let idle = {
            let mut pool = self.pool();
            if pool.closed {
                return Err(StoreError::Closed);
            }
            pool.reading += 1;
            pool.idle.pop()
        };
        let _out = Out(self);
        let db = match idle {
            Some(db) => db,
            None => connect(&self.path)
                .and_then(|db| db.pragma_update(None, "query_only", true).map(|()| db))
                .map_err(|error| Fault::from(error).of_store(&self.store))?,
        };
        let read = read(&db)?;
        let mut pool = self.pool();
        if !pool.closed && pool.idle.len() < IDLE {
            pool.idle.push(db);
        }
        Ok(read)
    }

    /// Has rows read that all rooms share.
    fn shared<R>(&self, read: impl FnOnce(&Connection) -> Result<R, Fault>) -> Result<R, StoreError> {
        self.with(|db| read(db).map_err(|fault| fault.of_store(&self.store)))
    }

    /// The rooms that have something, or those of them that are awake, by name.
    pub(super) fn rooms(&self, awake: bool) -> Result<Vec<StoredRoom>, StoreError> {
        let mut rooms = Vec::new();
        self.shared(|db| {
            RoomRow::each(db, |row| {
                rooms.extend(row.stored().filter(|room| room.awake || !awake));
                Ok(())
            })
        })?;
        rooms.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(rooms)
    }

    /// The room of a name that has its home there.
    pub(super) fn find(&self, home: i64, room: &str) -> Result<Option<StoredRoom>, StoreError> {
        self.shared(|db| match RoomRow::find(db, home, room)? {
            Place::Row(row) => Ok(row.stored()),
            Place::Free(_) => Ok(None),
        })
    }

    /// The name of the room that has a code.
    pub(super) fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
        self.shared(|db| {
            // Both rows as they were at one time.
            let transaction = db.unchecked_transaction()?;
            let row = codes::room(db, code)?.map(|id| RoomRow::load(db, id)).transpose()?;
            transaction.rollback()?;
            Ok(row.flatten().map(|row| row.name))
        })
    }

    /// Reads a room's log up to its last row, in transactions so short that none keeps the WAL from starting anew.
    pub(super) fn read(&self, home: i64, room: &str, reading: &mut Reading) -> Result<(), StoreError> {
        self.with(|db| {
            let place = RoomRow::find(db, home, room).map_err(|fault| fault.of_store(&self.store))?;
            let Place::Row(RoomRow { id, .. }) = place else { return Ok(()) };
            loop {
                match read_slice(db, id, &self.store, room, reading)? {
                    Some(row) if !reading.is_whole(&row) => {}
                    _ => return Ok(()),
                }
            }
        })
    }

    /// Ends all connections, once those who read have read, or have had time for it.
    pub(super) fn close(&self) {
        let mut pool = self.pool();
        pool.closed = true;
        pool.idle.clear();
        let wait = self.back.wait_timeout_while(pool, END, |pool| pool.reading > 0);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Somebody who reads, until dropped.
struct Out<'a>(&'a Readers);

impl Drop for Out<'_> {
    fn drop(&mut self) {
        self.0.pool().reading -= 1;
        self.0.back.notify_all();
    }
}

/// Reads one slice, and the room's row that it belongs to; `None` where there is no such row.
pub(super) fn read_slice(
    db: &Connection,
    id: i64,
    store: &str,
    room: &str,
    reading: &mut Reading,
) -> Result<Option<RoomRow>, StoreError> {
    let shared = |error: rusqlite::Error| Fault::from(error).of_store(store);
    let transaction = db.unchecked_transaction().map_err(shared)?;
    let row = RoomRow::load(db, id).map_err(|fault| fault.of_store(store))?;
    if let Some(row) = &row {
        reading.read(db, row).map_err(|fault| fault.of_room(store, room))?;
    }
    transaction.rollback().map_err(shared)?;
    Ok(row)
}

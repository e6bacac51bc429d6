//! Opening: the lock, the tables, and whether the file is the one that this lock has always stood beside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::SqliteOptions;
use super::fault::{Fault, OpenError};
use super::lock::{LockFile, Memory, beside};
use super::tables::{self, Meta, Restored, RoomRow, Secret};
use super::whole::{self, Found};
use crate::storage::StoreError;

/// How long a statement waits for a lock of SQLite's: only a program outside can have one.
const BUSY: Duration = Duration::from_secs(1);
/// Statements that a connection keeps prepared.
const STATEMENTS: usize = 512;

/// The shortest first page.
const LEAST: u64 = 512;

/// What was found.
#[derive(Debug)]
pub(super) struct Opened {
    /// Declared before the lock, so that it ends before it.
    pub(super) db: Connection,
    pub(super) lock: LockFile,
    pub(super) path: PathBuf,
    pub(super) memory: Memory,
    pub(super) secret: Secret,
}

/// Opens a store, which is made if there is none. What is refused is left as it is.
pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<Opened, OpenError> {
    let path = whole(path)?;
    let store = path.display().to_string();
    let (mut lock, mut remembered) = LockFile::take(&path)?;
    let named = |fault: Fault| fault.of_store(&store);
    match std::fs::metadata(&path) {
        Ok(file) => not_emptied(file.len(), remembered).map_err(named)?,
        Err(_) => {
            // What the lock file knows is of a store that somebody took away.
            remembered = None;
            lock.write(None).map_err(|error| OpenError::System { store: beside(&path, ".lock"), error })?;
        }
    }
    // Looked at before SQLite reads the WAL, which it may change.
    let wal = std::fs::metadata(beside(&path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    let db = connect(&path).map_err(|error| named(error.into()))?;
    if is_new(&db).map_err(named)? {
        // Not before the first write: the tables then come in one transaction, and the mode before them.
        let secret = random().map_err(|error| OpenError::System { store: path.clone(), error })?;
        write_ahead(&db).and_then(|()| tables::create(&db, Meta::new(secret))).map_err(named)?;
    } else {
        identify(&db, &path)?;
        if !wal {
            whole_length(&db, &path).map_err(named)?;
        }
    }
    let found = whole::look(&db).map_err(named)?;
    write_ahead(&db).map_err(named)?;
    let memory = mark(&db, &mut lock, &path, remembered, found)?;
    if let Some(bytes) = options.max_bytes {
        limit(&db, bytes).map_err(named)?;
    }
    db.pragma_update(None, "fullfsync", options.durability.syncs()).map_err(|error| named(error.into()))?;
    Ok(Opened { db, lock, path, memory, secret: found.meta.secret })
}

/// Connects to the file with the settings that all connections have.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // No statement can write what is not a row of a table, whatever the file says that a table is.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A store that was refused is not to be changed by being closed.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.execute_batch(
        "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0; \
         PRAGMA synchronous = NORMAL;",
    )?;
    Ok(db)
}

/// The path from the root with its links followed, so that no other path leads to the same file past the lock. It
/// also keeps names that mean something to SQLite from meaning it.
fn whole(path: &Path) -> Result<PathBuf, OpenError> {
    let system = |error| OpenError::System { store: path.to_owned(), error };
    if let Ok(found) = path.canonicalize() {
        if found.is_dir() {
            return Err(system(std::io::ErrorKind::IsADirectory.into()));
        }
        return Ok(found);
    }
    let name = path.file_name().ok_or_else(|| system(std::io::ErrorKind::InvalidInput.into()))?;
    let folder = std::path::absolute(path).map_err(system)?;
    let folder = folder.parent().unwrap_or(Path::new("/"));
    let found = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    let found =
        found.ok_or_else(|| OpenError::NoFolder { store: path.to_owned(), folder: folder.to_owned() })?;
    Ok(found.join(name))
}

/// SQLite takes a file that is shorter than the first page for a new one.
fn not_emptied(length: u64, remembered: Option<Memory>) -> Result<(), Fault> {
    let rows = remembered.map_or(0, |memory| memory.count);
    if length < LEAST && (length > 0 || rows > 0) {
        return Fault::wrong(format!("its file was cut to {length} bytes; to begin anew, delete the file"));
    }
    Ok(())
}

/// Whether nothing was written yet. A file in which SQLite's mode was set, and no more, has one page.
fn is_new(db: &Connection) -> Result<bool, Fault> {
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && number(db, "page_count")? <= 1 && number(db, "application_id")? == 0)
}

fn number(db: &Connection, pragma: &str) -> Result<i64, Fault> {
    Ok(db.pragma_query_value(None, pragma, |row| row.get(0))?)
}

fn identify(db: &Connection, path: &Path) -> Result<(), OpenError> {
    let store = path.to_owned();
    let read = |pragma| number(db, pragma).map_err(|fault| fault.of_store(&store.display().to_string()));
    let (application, found) = (read("application_id")? as u32, read("user_version")? as u32);
    match (application, found) {
        (tables::APPLICATION, tables::FORMAT) => Ok(()),
        (tables::APPLICATION, 0) => Err(StoreError::StoreDamaged {
            store: store.display().to_string(),
            what: "it has lost the version of its format".to_owned(),
        }
        .into()),
        (tables::APPLICATION, _) => Err(OpenError::Newer { store, found, known: tables::FORMAT }),
        _ => Err(OpenError::Foreign { store }),
    }
}

/// A header that counts too few pages would have the pages behind them written over.
fn whole_length(db: &Connection, path: &Path) -> Result<(), Fault> {
    let pages = number(db, "page_count")? as u64;
    let expected = pages.saturating_mul(number(db, "page_size")? as u64);
    match std::fs::metadata(path) {
        Ok(file) if file.len() != expected => Fault::wrong(format!(
            "its file has {} bytes where its header says {expected} in {pages} pages",
            file.len()
        )),
        _ => Ok(()),
    }
}

fn write_ahead(db: &Connection) -> Result<(), Fault> {
    let mode: String = db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    match mode.as_str() {
        "wal" => Ok(()),
        _ => Fault::wrong(format!("its journal has the mode {mode} and cannot have WAL")),
    }
}

fn limit(db: &Connection, bytes: u64) -> Result<(), Fault> {
    let pages = (bytes / number(db, "page_size")? as u64).clamp(1, u32::MAX.into());
    Ok(db.pragma_update_and_check(None, "max_page_count", pages as i64, |_| Ok(()))?)
}

/// Gives the store a new mark. One whose mark the lock file does not know, or which counts fewer rows and epochs than
/// it had, is a copy, or has lost its end: all its rooms are to be told.
fn mark(
    db: &Connection,
    lock: &mut LockFile,
    path: &Path,
    remembered: Option<Memory>,
    Found { meta, count }: Found,
) -> Result<Memory, OpenError> {
    let store = path.display().to_string();
    let system = |error| OpenError::System { store: beside(path, ".lock"), error };
    let same = remembered.is_some_and(|memory| memory.marks.contains(&meta.mark) && memory.count <= count);
    let restored = !same && meta.rooms > 0;
    if restored {
        tracing::warn!(
            kind = "store_restored",
            store,
            rooms = meta.rooms,
            "the store was put back from a copy"
        );
    }
    let next = random().map_err(system)?;
    if !restored {
        // A crash before the next write of this file must find the store's mark in it, whichever it has by then.
        lock.write_synced(Memory { marks: [meta.mark, next], count }).map_err(system)?;
    }
    let write = || {
        db.pragma_update(None, "synchronous", "FULL")?;
        let transaction = db.unchecked_transaction()?;
        Meta { mark: next, ..meta }.save(db)?;
        if restored {
            let mut last = 0;
            while let Some(room) = RoomRow::after(db, last)? {
                last = room.id;
                RoomRow { restored: Restored::Untold, ..room }.save(db)?;
            }
        }
        transaction.commit()?;
        Ok(db.pragma_update(None, "synchronous", "NORMAL")?)
    };
    write().map_err(|fault: Fault| fault.of_store(&store))?;
    let memory = Memory { marks: [next, next], count };
    lock.write_synced(memory).map_err(system)?;
    Ok(memory)
}

fn random() -> std::io::Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(u128::from_ne_bytes(bytes))
}

//! A clean end: one file, without a WAL and, where it is not large, without free pages. The list of free pages is
//! nobody's own: damage to it could have a page of any room written over.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::checkpoint::wal;
use super::log::Reading;
use super::readers::read_slice;
use super::tables::RoomRow;
use super::whole;
use crate::limits;

/// How long an end may delete rows; what is left is deleted by the next process.
pub(super) const TRIM: Duration = Duration::from_secs(2);

/// Does what can be done. All that was committed is kept in any case.
pub(super) fn tidy_up(db: &Connection, path: &Path, store: &str) {
    let done = move_all(db).and_then(|_| {
        let free: i64 = db.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        let small = std::fs::metadata(path).is_ok_and(|file| file.len() <= limits::STORE_COMPACT);
        // What is damaged is left as it is, for who might save something of it.
        if free > 0 && small && is_sound(db, store) {
            db.execute_batch("PRAGMA synchronous = FULL; VACUUM;")?;
        }
        move_all(db)
    });
    match done {
        // Now the WAL may go with the connection.
        Ok(true) => _ = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false),
        Ok(false) => {
            tracing::info!(kind = "store_closed", store, "the store's WAL stays, as it is being read")
        }
        Err(error) => tracing::warn!(kind = "store_closed", store, %error, "the store's WAL stays"),
    }
}

/// Moves the whole WAL into the database, and says whether that was possible.
fn move_all(db: &Connection) -> rusqlite::Result<bool> {
    Ok(!wal(db, "TRUNCATE")?.busy)
}

fn is_sound(db: &Connection, store: &str) -> bool {
    if whole::look(db).is_err() {
        return false;
    }
    let mut last = 0;
    loop {
        let room = match RoomRow::after(db, last) {
            Ok(Some(room)) => room,
            Ok(None) => return true,
            Err(_) => return false,
        };
        last = room.id;
        let mut reading = Reading::new(false);
        while !reading.is_whole(&room) {
            if read_slice(db, room.id, store, &room.name, &mut reading).is_err() {
                return false;
            }
        }
    }
}

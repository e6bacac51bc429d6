//! A room's log: a table of its own, whose rows carry a checksum over room, number and body, so that neither a row of
//! another room nor one of another place is taken for one of its own.

use rusqlite::Connection;

use super::fault::Fault;
use super::tables::{RoomRow, Sum};
use crate::limits;

/// What is read in one transaction. One that lasts keeps the WAL from starting anew.
const SLICE_BYTES: usize = 4 << 20;
const SLICE_ROWS: usize = 4096;

fn checksum(id: i64, seq: u64, body: &[u8]) -> i64 {
    let mut sum = Sum::default();
    sum.numbers(&[id as u64, seq]);
    sum.bytes(body);
    sum.value()
}

/// Writes rows behind the last.
pub(super) fn append(db: &Connection, id: i64, first: u64, rows: &[Vec<u8>]) -> Result<(), Fault> {
    let sql = format!("INSERT INTO log_{id}(seq, checksum, body) VALUES(?1, ?2, ?3)");
    let mut statement = db.prepare_cached(&sql)?;
    for (seq, body) in (first..).zip(rows) {
        statement.execute((seq as i64, checksum(id, seq, body), body))?;
    }
    Ok(())
}

/// Deletes some of the rows that are not wanted any more, and returns the first that is left.
pub(super) fn trim(db: &Connection, room: &RoomRow) -> Result<u64, Fault> {
    let id = room.id;
    let end = room.first.min(room.base + limits::STORE_TRIM_ROWS);
    let sql = format!("SELECT length(body) FROM log_{id} WHERE seq >= ?1 AND seq < ?2 ORDER BY seq");
    // Not kept prepared, as it is needed seldom, and by each room for itself.
    let mut statement = db.prepare(&sql)?;
    let mut lengths = statement.query([room.base as i64, end as i64])?;
    let (mut base, mut bytes) = (room.base, 0);
    while let Some(row) = lengths.next()? {
        bytes += row.get::<_, i64>(0)? as u64;
        if bytes > limits::STORE_TRIM_BYTES && base > room.base {
            break;
        }
        base += 1;
    }
    if base == room.base {
        return Fault::wrong(format!("the row {base} is missing"));
    }
    let delete = db.execute(&format!("DELETE FROM log_{id} WHERE seq < ?1"), [base as i64])?;
    if delete as u64 != base - room.base {
        return Fault::wrong(format!("rows before {} are there again", room.base));
    }
    Ok(base)
}

/// A log that is being read, a slice at a time.
#[derive(Debug)]
pub(super) struct Reading {
    /// The number of the first row in `rows`.
    start: u64,
    /// The number of the next row to be read.
    next: u64,
    rows: Vec<Vec<u8>>,
    /// Whether the rows are wanted, or only that they are sound.
    keep: bool,
}

impl Reading {
    pub(super) fn new(keep: bool) -> Reading {
        Reading { start: 1, next: 1, rows: Vec::new(), keep }
    }

    /// Whether all is read up to the last row, as the room's row says.
    pub(super) fn is_whole(&self, room: &RoomRow) -> bool {
        self.next == room.last + 1
    }

    /// The rows that a room's row speaks of, where they all were read.
    pub(super) fn into_rows(mut self, room: &RoomRow) -> Option<Vec<Vec<u8>>> {
        let before = room.first.checked_sub(self.start)?.min(self.rows.len() as u64);
        self.rows.drain(..before as usize);
        let wanted = (room.last + 1 - room.first) as usize;
        self.rows.truncate(wanted);
        (self.rows.len() == wanted).then_some(self.rows)
    }

    /// Reads on, in the transaction in which the room's row was read. Rows that are no longer wanted and not yet
    /// deleted are looked at as well: to delete a row is to follow where it says that its parts are, and those could
    /// be another room's by now.
    pub(super) fn read(&mut self, db: &Connection, room: &RoomRow) -> Result<(), Fault> {
        let &RoomRow { id, base, last, .. } = room;
        // What was deleted since is nobody's loss.
        let gone = base.saturating_sub(self.start).min(self.rows.len() as u64);
        self.rows.drain(..gone as usize);
        (self.start, self.next) = (self.start.max(base), self.next.max(base));
        if self.is_whole(room) {
            return Ok(());
        }
        let sql = format!("SELECT seq, checksum, body FROM log_{id} WHERE seq >= ?1 ORDER BY seq");
        let mut statement = db.prepare(&sql)?;
        let mut rows = statement.query([self.next as i64])?;
        let (mut bytes, mut count) = (0, 0);
        while bytes < SLICE_BYTES && count < SLICE_ROWS {
            let Some(row) = rows.next()? else {
                return if self.is_whole(room) { Ok(()) } else { missing(self.next, last) };
            };
            let seq = row.get::<_, i64>(0)? as u64;
            if seq > last {
                return Fault::wrong(format!(
                    "there is a row {seq} behind {last}, the last that was written"
                ));
            }
            if seq != self.next {
                return missing(self.next, seq.saturating_sub(1));
            }
            let body = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            if checksum(id, seq, body) != row.get::<_, i64>(1)? {
                return Fault::wrong(format!("the row {seq} is not what was written"));
            }
            (bytes, count) = (bytes + body.len(), count + 1);
            if self.keep {
                self.rows.push(body.to_vec());
            }
            self.next += 1;
        }
        Ok(())
    }
}

fn missing(from: u64, to: u64) -> Result<(), Fault> {
    Fault::wrong(format!("the rows from {from} to {to} are missing"))
}

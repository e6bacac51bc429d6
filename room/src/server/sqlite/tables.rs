//! The tables of the file, and the two that all rooms share: `meta`, of one row, and `rooms`.
//!
//! Each of their rows has a checksum, and `meta` counts the rooms, whose IDs have no gaps, so that a damaged page of
//! theirs is noticed whatever became of it. Names have no index: a damaged one would hide a room, which would then be
//! made anew. They are looked up in memory.

use std::collections::{HashMap, HashSet};

use flate2::Crc;
use rusqlite::{Connection, OptionalExtension, Row};

use super::fault::Fault;
use crate::storage::{State, StoredRoom};

/// Says that a database is a store of rooms: "ROOM".
pub(super) const APPLICATION: u32 = 0x524f_4f4d;
/// The version of the tables.
pub(super) const FORMAT: u32 = 1;

const META: &str = "CREATE TABLE meta(id INTEGER PRIMARY KEY, mark TEXT NOT NULL, rooms INTEGER NOT NULL, \
                    checksum INTEGER NOT NULL)";
const ROOMS: &str = "CREATE TABLE rooms(id INTEGER PRIMARY KEY, name TEXT NOT NULL, epoch INTEGER NOT NULL, \
                     base INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, state TEXT NOT NULL, \
                     label BLOB NOT NULL, restored INTEGER NOT NULL, checksum INTEGER NOT NULL)";
const COLUMNS: &str = "id, name, epoch, base, first, last, state, label, restored, checksum";

/// The statement that makes a room's log.
pub(super) fn log_table(id: i64) -> String {
    format!("CREATE TABLE log_{id}(seq INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL)")
}

/// What a room is, as its row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It was taken, and nothing was committed yet.
    New,
    Awake,
    Asleep,
    Gone,
}

const KEPT: [(Kept, &str); 4] =
    [(Kept::New, "new"), (Kept::Awake, "awake"), (Kept::Asleep, "asleep"), (Kept::Gone, "gone")];

impl From<State> for Kept {
    fn from(state: State) -> Kept {
        match state {
            State::Awake => Kept::Awake,
            State::Asleep => Kept::Asleep,
            State::Gone => Kept::Gone,
        }
    }
}

/// How far a room is with the news that the store was put back from a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restored {
    No,
    /// Its next owner is to be told.
    Untold,
    /// Its owner was told, and has committed nothing yet. The next one is told again, for this one may have ended.
    Told,
}

const RESTORED: [Restored; 3] = [Restored::No, Restored::Untold, Restored::Told];

/// A row of `rooms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoomRow {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) epoch: u64,
    /// The first row that the log still has. Invariant: 1 ≤ base ≤ first ≤ last + 1.
    pub(super) base: u64,
    /// The first row that is wanted; those before it are being deleted.
    pub(super) first: u64,
    /// The last row.
    pub(super) last: u64,
    pub(super) kept: Kept,
    pub(super) label: Vec<u8>,
    pub(super) restored: Restored,
}

impl RoomRow {
    pub(super) fn new(id: i64, name: &str) -> RoomRow {
        let (name, label, restored) = (name.to_owned(), Vec::new(), Restored::No);
        RoomRow { id, name, epoch: 0, base: 1, first: 1, last: 0, kept: Kept::New, label, restored }
    }

    /// What users see of it.
    pub(super) fn stored(self) -> Option<StoredRoom> {
        let awake = match self.kept {
            Kept::New | Kept::Gone => return None,
            kept => kept == Kept::Awake,
        };
        Some(StoredRoom { name: self.name, awake, label: self.label })
    }

    fn state(&self) -> &'static str {
        KEPT.iter().find(|(kept, _)| *kept == self.kept).map_or("new", |(_, text)| text)
    }

    fn checksum(&self) -> i64 {
        let mut sum = Sum::default();
        sum.numbers(&[self.id as u64, self.epoch, self.base, self.first, self.last, self.restored as u64]);
        sum.bytes(self.name.as_bytes());
        sum.bytes(self.state().as_bytes());
        sum.bytes(&self.label);
        sum.value()
    }

    fn read(row: &Row<'_>) -> Result<RoomRow, Fault> {
        let number = |column| row.get::<_, i64>(column).map(|number| number as u64);
        let id = row.get(0)?;
        let wrong = || Fault::Wrong(format!("the row {id} of its table rooms is not what was written"));
        let state: String = row.get(6)?;
        let kept = KEPT.iter().find(|(_, text)| *text == state).ok_or_else(wrong)?.0;
        let restored = *RESTORED.get(number(8)? as usize).ok_or_else(wrong)?;
        let (epoch, base, first, last) = (number(2)?, number(3)?, number(4)?, number(5)?);
        let room =
            RoomRow { id, name: row.get(1)?, epoch, base, first, last, kept, label: row.get(7)?, restored };
        let sound = 1 <= base && base <= first && first - 1 <= last && last < i64::MAX as u64;
        if room.checksum() != row.get::<_, i64>(9)? || !sound { Err(wrong()) } else { Ok(room) }
    }

    pub(super) fn load(db: &Connection, id: i64) -> Result<Option<RoomRow>, Fault> {
        let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM rooms WHERE id = ?1"))?;
        statement.query_row([id], |row| Ok(RoomRow::read(row))).optional()?.transpose()
    }

    pub(super) fn all(db: &Connection) -> Result<Vec<RoomRow>, Fault> {
        let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM rooms ORDER BY id"))?;
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(RoomRow::read(row)?);
        }
        Ok(all)
    }

    pub(super) fn save(&self, db: &Connection) -> Result<(), Fault> {
        let sql = format!("REPLACE INTO rooms({COLUMNS}) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
        let number = |number: u64| number as i64;
        db.prepare_cached(&sql)?.execute((
            self.id,
            &self.name,
            number(self.epoch),
            number(self.base),
            number(self.first),
            number(self.last),
            self.state(),
            &self.label,
            self.restored as i64,
            self.checksum(),
        ))?;
        Ok(())
    }
}

/// The row of `meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// A random number of the last opening.
    pub(super) mark: u128,
    /// How many rooms there are.
    pub(super) rooms: u64,
}

impl Meta {
    fn checksum(self) -> i64 {
        let mut sum = Sum::default();
        sum.numbers(&[self.mark as u64, (self.mark >> 64) as u64, self.rooms]);
        sum.value()
    }

    pub(super) fn load(db: &Connection) -> Result<Meta, Fault> {
        let mut statement = db.prepare_cached("SELECT mark, rooms, checksum FROM meta WHERE id = 1")?;
        let read =
            |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let (mark, rooms, checksum) = statement.query_row([], read)?;
        let meta = u128::from_str_radix(&mark, 16).map(|mark| Meta { mark, rooms: rooms as u64 });
        match meta {
            Ok(meta) if meta.checksum() == checksum => Ok(meta),
            _ => Fault::wrong("the row of its table meta is not what was written"),
        }
    }

    pub(super) fn save(self, db: &Connection) -> Result<(), Fault> {
        let mut statement =
            db.prepare_cached("REPLACE INTO meta(id, mark, rooms, checksum) VALUES(1, ?1, ?2, ?3)")?;
        statement.execute((format!("{:032x}", self.mark), self.rooms as i64, self.checksum()))?;
        Ok(())
    }
}

/// What is kept in memory of the shared tables.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) ids: HashMap<String, i64>,
    /// The rooms that have a table for their log.
    pub(super) logs: HashSet<i64>,
}

impl Index {
    /// Reads all that rooms share, and looks whether it fits together.
    pub(super) fn load(db: &Connection) -> Result<(Index, Meta, Vec<RoomRow>), Fault> {
        let logs = read_schema(db)?;
        let meta = Meta::load(db)?;
        let rooms = RoomRow::all(db)?;
        let ids: HashMap<_, _> = rooms.iter().map(|room| (room.name.clone(), room.id)).collect();
        let numbered = rooms.iter().zip(1..).all(|(room, id)| room.id == id);
        if meta.rooms != rooms.len() as u64 || ids.len() != rooms.len() || !numbered {
            return Fault::wrong(format!("it has {} rooms where {} were written", rooms.len(), meta.rooms));
        }
        if let Some(room) = rooms.iter().find(|room| room.base <= room.last && !logs.contains(&room.id)) {
            return Fault::wrong(format!("it has lost the table of room {}", room.name));
        }
        Ok((Index { ids, logs }, meta, rooms))
    }
}

/// Makes the tables of a new file.
pub(super) fn create(db: &Connection, meta: Meta) -> Result<(), Fault> {
    let transaction = db.unchecked_transaction()?;
    db.execute_batch(&format!(
        "{META}; {ROOMS}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
    ))?;
    meta.save(db)?;
    Ok(transaction.commit()?)
}

/// The logs that there are, by the list of all tables. Each must be what was made and have pages of its own. Tables
/// and views that somebody added are let alone.
fn read_schema(db: &Connection) -> Result<HashSet<i64>, Fault> {
    let mut statement = db.prepare("SELECT name, tbl_name, rootpage, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let (mut logs, mut roots, mut shared) = (HashSet::new(), HashSet::new(), 0);
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let sql: Option<String> = row.get(3)?;
        let root: Option<i64> = row.get(2)?;
        if root.is_some_and(|root| root > 0 && !roots.insert(root)) {
            return Fault::wrong(format!("its table {name} begins where another does"));
        }
        let id = name.strip_prefix("log_").and_then(|id| id.parse::<i64>().ok());
        let made = match (name.as_str(), id) {
            ("meta", _) => META.to_owned(),
            ("rooms", _) => ROOMS.to_owned(),
            (_, Some(id)) => log_table(id),
            _ => continue,
        };
        if sql.as_ref() != Some(&made) || row.get::<_, String>(1)? != name {
            return Fault::wrong(format!("its table {name} is not what was made"));
        }
        match id {
            Some(id) => _ = logs.insert(id),
            None => shared += 1,
        }
    }
    if shared == 2 { Ok(logs) } else { Fault::wrong("it has lost a table that all rooms share") }
}

/// A CRC-32 of values that cannot be taken for one another.
#[derive(Default)]
pub(super) struct Sum(Crc);

impl Sum {
    pub(super) fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.0.update(&number.to_le_bytes()));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.numbers(&[bytes.len() as u64]);
        self.0.update(bytes);
    }

    pub(super) fn value(&self) -> i64 {
        self.0.sum().into()
    }
}

//! The tables of the file, and two of the three that all rooms share: `meta`, of one row, and `rooms`. The third is
//! [`codes`](super::codes).
//!
//! A room's row is found by its name without an index, since a damaged one would hide a room, which would then be made
//! anew: its ID is a hash of the name, or the next one that is free where another name has that. Names come from
//! players, so the hash has a key that nobody knows: nobody can make many names that begin at one ID. No row is ever
//! deleted, so those between the hash and the room stay.
//!
//! Each row has a checksum, and `meta` has the number of rooms and their IDs, one XORed with the other, so that a
//! damaged page is noticed whatever became of it.

use flate2::Crc;
use rusqlite::{Connection, OptionalExtension, Row};
use sha2::{Digest, Sha256};

use super::codes;
use super::fault::Fault;
use crate::storage::{State, StoredLabel, StoredRoom};

/// Says that a database is a store of rooms: "ROOM".
pub(super) const APPLICATION: u32 = 0x524f_4f4d;
/// The version of the tables.
pub(super) const FORMAT: u32 = 1;

pub(super) const META: &str = "CREATE TABLE meta(id INTEGER PRIMARY KEY, mark TEXT NOT NULL, \
                               secret TEXT NOT NULL, rooms INTEGER NOT NULL, ids INTEGER NOT NULL, \
                               checksum INTEGER NOT NULL)";
pub(super) const ROOMS: &str = "CREATE TABLE rooms(id INTEGER PRIMARY KEY, name TEXT NOT NULL, \
                                epoch INTEGER NOT NULL, base INTEGER NOT NULL, first INTEGER NOT NULL, \
                                last INTEGER NOT NULL, state TEXT NOT NULL, code TEXT NOT NULL, \
                                label BLOB NOT NULL, restored INTEGER NOT NULL, log INTEGER NOT NULL, \
                                opening INTEGER NOT NULL, checksum INTEGER NOT NULL)";
const COLUMNS: &str =
    "id, name, epoch, base, first, last, state, code, label, restored, log, opening, checksum";

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
    /// Invariant: where there is a code, its row in [`codes`](super::codes) leads here.
    pub(super) label: StoredLabel,
    pub(super) restored: Restored,
    /// Whether there is a table for its log.
    pub(super) log: bool,
    /// Which opening of the store gave the room to its owner, and so read its log whole before. From others nothing
    /// is deleted: see [`log::Reading::read`](super::log::Reading::read).
    pub(super) opening: u64,
}

/// What is where a name's row would be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Row(RoomRow),
    /// It would get this ID.
    Free(i64),
}

impl RoomRow {
    pub(super) fn new(id: i64, name: &str) -> RoomRow {
        RoomRow {
            id,
            name: name.to_owned(),
            epoch: 0,
            base: 1,
            first: 1,
            last: 0,
            kept: Kept::New,
            label: StoredLabel::default(),
            restored: Restored::No,
            log: false,
            opening: 0,
        }
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
        sum.numbers(&[self.log.into(), self.opening]);
        for text in [&self.name, self.state(), &self.label.code] {
            sum.bytes(text.as_bytes());
        }
        sum.bytes(&self.label.bytes);
        sum.value()
    }

    fn read(row: &Row<'_>) -> Result<RoomRow, Fault> {
        let number = |column| row.get::<_, i64>(column).map(|number| number as u64);
        let id = row.get(0)?;
        let wrong = || Fault::Wrong(format!("the row {id} of its table rooms is not what was written"));
        let state: String = row.get(6)?;
        let room = RoomRow {
            id,
            name: row.get(1)?,
            epoch: number(2)?,
            base: number(3)?,
            first: number(4)?,
            last: number(5)?,
            kept: KEPT.iter().find(|(_, text)| *text == state).ok_or_else(wrong)?.0,
            label: StoredLabel { code: row.get(7)?, bytes: row.get(8)? },
            restored: *RESTORED.get(number(9)? as usize).ok_or_else(wrong)?,
            log: number(10)? == 1,
            opening: number(11)?,
        };
        let RoomRow { base, first, last, .. } = room;
        let sound = 1 <= base && base <= first && first - 1 <= last && last < i64::MAX as u64;
        if room.checksum() != row.get::<_, i64>(12)? || !sound { Err(wrong()) } else { Ok(room) }
    }

    pub(super) fn load(db: &Connection, id: i64) -> Result<Option<RoomRow>, Fault> {
        RoomRow::one(db, "id = ?1", id)
    }

    /// The one with the next higher ID.
    pub(super) fn after(db: &Connection, id: i64) -> Result<Option<RoomRow>, Fault> {
        RoomRow::one(db, "id > ?1 ORDER BY id LIMIT 1", id)
    }

    fn one(db: &Connection, which: &str, id: i64) -> Result<Option<RoomRow>, Fault> {
        let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM rooms WHERE {which}"))?;
        statement.query_row([id], |row| Ok(RoomRow::read(row))).optional()?.transpose()
    }

    /// The row of a name, which is at its home or behind it.
    pub(super) fn find(db: &Connection, home: i64, name: &str) -> Result<Place, Fault> {
        let mut id = home;
        loop {
            match RoomRow::load(db, id)? {
                None => return Ok(Place::Free(id)),
                Some(row) if row.name == name => return Ok(Place::Row(row)),
                Some(_) => id = if id == i64::MAX { 1 } else { id + 1 },
            }
        }
    }

    /// Looks at all rows, in the order of their IDs.
    pub(super) fn each(
        db: &Connection,
        mut look: impl FnMut(RoomRow) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM rooms ORDER BY id"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            look(RoomRow::read(row)?)?;
        }
        Ok(())
    }

    /// Writes a row that there was not.
    pub(super) fn create(&self, db: &Connection) -> Result<(), Fault> {
        self.write(db, "INSERT")
    }

    pub(super) fn save(&self, db: &Connection) -> Result<(), Fault> {
        self.write(db, "REPLACE")
    }

    fn write(&self, db: &Connection, verb: &str) -> Result<(), Fault> {
        let values = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13";
        let sql = format!("{verb} INTO rooms({COLUMNS}) VALUES({values})");
        let number = |number: u64| number as i64;
        db.prepare_cached(&sql)?.execute((
            self.id,
            &self.name,
            number(self.epoch),
            number(self.base),
            number(self.first),
            number(self.last),
            self.state(),
            &self.label.code,
            &self.label.bytes,
            self.restored as i64,
            i64::from(self.log),
            number(self.opening),
            self.checksum(),
        ))?;
        Ok(())
    }
}

/// The key of the hash that gives rooms their IDs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Secret(pub(super) u128);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The ID that the room of a name has, unless another was there before: 1 to 2^63 - 1.
    pub(super) fn home(self, name: &str) -> i64 {
        let hash = Sha256::new().chain_update(self.0.to_le_bytes()).chain_update(name).finalize();
        let first = hash.iter().take(8).fold(0, |number, byte| number << 8 | i64::from(*byte));
        (first & i64::MAX).max(1)
    }
}

/// The row of `meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// A random number of the last opening.
    pub(super) mark: u128,
    pub(super) secret: Secret,
    /// How many rooms there are.
    pub(super) rooms: u64,
    /// Their IDs, XORed.
    pub(super) ids: i64,
}

impl Meta {
    /// That of a store without rooms.
    pub(super) fn new(secret: u128) -> Meta {
        Meta { mark: 0, secret: Secret(secret), rooms: 0, ids: 0 }
    }

    fn checksum(self) -> i64 {
        let mut sum = Sum::default();
        let halves = |number: u128| [number as u64, (number >> 64) as u64];
        sum.numbers(&halves(self.mark));
        sum.numbers(&halves(self.secret.0));
        sum.numbers(&[self.rooms, self.ids as u64]);
        sum.value()
    }

    pub(super) fn load(db: &Connection) -> Result<Meta, Fault> {
        let sql = "SELECT mark, secret, rooms, ids, checksum FROM meta WHERE id = 1";
        let read = |row: &Row<'_>| {
            let number = |column| Ok(u128::from_str_radix(&row.get::<_, String>(column)?, 16).ok());
            let (mark, secret): (_, rusqlite::Result<_>) = (number(0)?, number(1));
            let (rooms, ids) = (row.get::<_, i64>(2)? as u64, row.get(3)?);
            let meta =
                mark.zip(secret?).map(|(mark, secret)| Meta { mark, secret: Secret(secret), rooms, ids });
            Ok((meta, row.get::<_, i64>(4)?))
        };
        match db.prepare_cached(sql)?.query_row([], read)? {
            (Some(meta), checksum) if meta.checksum() == checksum => Ok(meta),
            _ => Fault::wrong("the row of its table meta is not what was written"),
        }
    }

    pub(super) fn save(self, db: &Connection) -> Result<(), Fault> {
        let sql = "REPLACE INTO meta(id, mark, secret, rooms, ids, checksum) VALUES(1, ?1, ?2, ?3, ?4, ?5)";
        let text = |number: u128| format!("{number:032x}");
        let (mark, secret) = (text(self.mark), text(self.secret.0));
        db.prepare_cached(sql)?.execute((mark, secret, self.rooms as i64, self.ids, self.checksum()))?;
        Ok(())
    }
}

/// Makes the tables of a new file.
pub(super) fn create(db: &Connection, meta: Meta) -> Result<(), Fault> {
    let transaction = db.unchecked_transaction()?;
    let codes = codes::TABLE;
    db.execute_batch(&format!(
        "{META}; {ROOMS}; {codes}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
    ))?;
    meta.save(db)?;
    Ok(transaction.commit()?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_whose_names_begin_at_one_id_are_each_found() {
        let db = Connection::open_in_memory().expect("a database");
        create(&db, Meta::new(1)).expect("tables");
        // The last ID, so that the next one is the first.
        let home = i64::MAX;
        let mut ids = Vec::new();
        for name in ["a", "b", "c"] {
            let Ok(Place::Free(id)) = RoomRow::find(&db, home, name) else { panic!("{name} is there") };
            RoomRow::new(id, name).create(&db).expect("a row");
            ids.push(id);
        }
        assert_eq!(ids, [i64::MAX, 1, 2]);
        for (name, id) in ["a", "b", "c"].into_iter().zip(ids) {
            let found = RoomRow::find(&db, home, name).expect("it is sound");
            assert_eq!(found, Place::Row(RoomRow::new(id, name)));
        }
        assert!(RoomRow::new(2, "d").create(&db).is_err(), "no room takes the place of another");
    }

    #[test]
    fn an_id_depends_on_the_name_and_on_the_stores_own_key() {
        let home = |key, name| Secret(key).home(name);
        assert_eq!(home(7, "forest"), home(7, "forest"));
        assert!(home(7, "forest") != home(8, "forest") && home(7, "forest") != home(7, "forest2"));
        assert!((0..1000).all(|key| home(key, "forest") > 0));
    }
}

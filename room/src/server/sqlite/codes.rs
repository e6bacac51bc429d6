//! The third table that all rooms share: which room has which code. A code is its row's ID, so that none is there twice
//! and none needs an index; that the table fits what the rooms' own rows say is seen when the store is opened.

use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
use super::tables::{RoomRow, Sum};

pub(super) const TABLE: &str =
    "CREATE TABLE codes(id INTEGER PRIMARY KEY, room INTEGER NOT NULL, checksum INTEGER NOT NULL)";

/// A code as a number in base 26; `None` for what is none.
pub(super) fn number(code: &str) -> Option<i64> {
    let letter =
        |number: i64, byte: u8| byte.is_ascii_uppercase().then(|| number * 26 + i64::from(byte - b'A'));
    if code.len() == crate::limits::CODE { code.bytes().try_fold(0, letter) } else { None }
}

fn checksum(number: i64, room: i64) -> i64 {
    let mut sum = Sum::default();
    sum.numbers(&[number as u64, room as u64]);
    sum.value()
}

fn checked(number: i64, room: i64, sum: i64) -> Result<i64, Fault> {
    if checksum(number, room) == sum {
        return Ok(room);
    }
    Fault::wrong(format!("the row {number} of its table codes is not what was written"))
}

/// The ID of the room that has a code.
pub(super) fn room(db: &Connection, code: &str) -> Result<Option<i64>, Fault> {
    let Some(number) = number(code) else { return Ok(None) };
    let mut statement = db.prepare_cached("SELECT room, checksum FROM codes WHERE id = ?1")?;
    let found = statement.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    found.map(|(room, sum)| checked(number, room, sum)).transpose()
}

/// Gives a room a code, or none, and takes it from the room that had it. The caller saves the room's own row.
pub(super) fn give(db: &Connection, row: &mut RoomRow, code: &str) -> Result<(), Fault> {
    if row.label.code == code {
        return Ok(());
    }
    if let Some(old) = number(&row.label.code) {
        db.prepare_cached("DELETE FROM codes WHERE id = ?1")?.execute([old])?;
    }
    if let Some(number) = number(code) {
        if let Some(other) = room(db, code)?
            && let Some(mut other) = RoomRow::load(db, other)?
        {
            other.label.code.clear();
            other.save(db)?;
        }
        let sql = "REPLACE INTO codes(id, room, checksum) VALUES(?1, ?2, ?3)";
        db.prepare_cached(sql)?.execute((number, row.id, checksum(number, row.id)))?;
    }
    code.clone_into(&mut row.label.code);
    Ok(())
}

/// What codes lead to, in whatever order they are added.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    count: u64,
    sum: u64,
}

impl Tally {
    pub(super) fn add(&mut self, number: i64, room: i64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(mixed(mixed(number as u64) ^ room as u64));
    }

    /// Of all rows of the table.
    pub(super) fn of(db: &Connection) -> Result<Tally, Fault> {
        let mut statement = db.prepare("SELECT id, room, checksum FROM codes ORDER BY id")?;
        let (mut rows, mut tally) = (statement.query([])?, Tally::default());
        while let Some(row) = rows.next()? {
            let number = row.get(0)?;
            tally.add(number, checked(number, row.get(1)?, row.get(2)?)?);
        }
        Ok(tally)
    }
}

/// Spreads numbers over all 64 bits.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_numbers_of_their_own() {
        assert_eq!(number("AAAAAA"), Some(0));
        assert_eq!(number("AAAABC"), Some(28));
        assert_eq!(number("ZZZZZZ"), Some(26_i64.pow(6) - 1));
        assert_eq!(["", "AAAAA", "AAAAAAA", "aaaaaa", "AAAA1A"].map(number), [None; 5]);
    }

    #[test]
    fn a_tally_is_that_of_the_pairs_in_any_order() {
        let of = |pairs: &[(i64, i64)]| {
            let mut tally = Tally::default();
            pairs.iter().for_each(|(number, room)| tally.add(*number, *room));
            tally
        };
        assert_eq!(of(&[(1, 5), (2, 6)]), of(&[(2, 6), (1, 5)]));
        assert_ne!(of(&[(1, 5), (2, 6)]), of(&[(1, 6), (2, 5)]), "codes that were exchanged");
        assert_ne!(of(&[(1, 5)]), of(&[(1, 5), (0, 0)]));
    }
}

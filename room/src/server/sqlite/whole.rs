//! Whether what all rooms share is whole: looked at when a store is opened, a row at a time, as there may be more rooms
//! than memory holds.

use rusqlite::Connection;

use super::codes::{self, Tally};
use super::fault::Fault;
use super::tables::{META, Meta, Place, ROOMS, RoomRow, log_table};

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) meta: Meta,
    /// Rows and epochs of all rooms.
    pub(super) count: u64,
}

/// Reads all that rooms share, and looks whether it fits together.
pub(super) fn look(db: &Connection) -> Result<Found, Fault> {
    let logs = read_schema(db)?;
    let mut logs = logs.into_iter().peekable();
    let meta = Meta::load(db)?;
    let (mut rooms, mut ids, mut last, mut count, mut tally) = (0, 0, 0, 0_u64, Tally::default());
    RoomRow::each(db, |room| {
        if room.id <= last {
            return Fault::wrong(format!("the row {} of its table rooms is there twice", room.id));
        }
        (last, rooms, ids) = (room.id, rooms + 1, ids ^ room.id);
        count = count.wrapping_add(room.last).wrapping_add(room.epoch);
        is_found(db, meta, &room)?;
        if !room.label.code.is_empty() {
            let number = codes::number(&room.label.code);
            let wrong = || Fault::Wrong(format!("room {} has a code that is none", room.name));
            tally.add(number.ok_or_else(wrong)?, room.id);
        }
        let has_log = room.log && logs.next_if_eq(&room.id).is_some();
        if room.log != has_log || room.base <= room.last && !has_log {
            return Fault::wrong(format!("it has lost the table of room {}", room.name));
        }
        Ok(())
    })?;
    if (meta.rooms, meta.ids) != (rooms, ids) {
        return Fault::wrong(format!("it has {rooms} rooms, and not the {} that were written", meta.rooms));
    }
    if let Some(id) = logs.next() {
        return Fault::wrong(format!("its table log_{id} belongs to no room"));
    }
    if Tally::of(db)? != tally {
        return Fault::wrong("its table codes does not fit its table rooms");
    }
    Ok(Found { meta, count })
}

/// A room that is not at its home is found nevertheless, and no other has its name.
fn is_found(db: &Connection, meta: Meta, room: &RoomRow) -> Result<(), Fault> {
    let home = meta.secret.home(&room.name);
    if room.id == home {
        return Ok(());
    }
    match RoomRow::find(db, home, &room.name)? {
        Place::Row(found) if found.id == room.id => Ok(()),
        _ => Fault::wrong(format!("its row {} of room {} is not where it belongs", room.id, room.name)),
    }
}

/// The logs that there are, by the list of all tables, in the order of their IDs. Each must be what was made and have
/// pages of its own. Tables and views that somebody added are let alone.
fn read_schema(db: &Connection) -> Result<Vec<i64>, Fault> {
    let mut statement = db.prepare("SELECT name, tbl_name, rootpage, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let (mut logs, mut roots, mut shared) = (Vec::new(), Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let sql: Option<String> = row.get(3)?;
        roots.extend(row.get::<_, Option<i64>>(2)?.filter(|root| *root > 0));
        let id = name.strip_prefix("log_").and_then(|id| id.parse::<i64>().ok());
        let made = match (name.as_str(), id) {
            ("meta", _) => META.to_owned(),
            ("rooms", _) => ROOMS.to_owned(),
            ("codes", _) => codes::TABLE.to_owned(),
            (_, Some(id)) => log_table(id),
            _ => continue,
        };
        if sql.as_ref() != Some(&made) || row.get::<_, String>(1)? != name {
            return Fault::wrong(format!("its table {name} is not what was made"));
        }
        match id {
            Some(id) => logs.push(id),
            None => shared += 1,
        }
    }
    logs.sort_unstable();
    roots.sort_unstable();
    if roots.windows(2).any(|pair| pair[0] == pair[1]) {
        return Fault::wrong("one of its tables begins where another does");
    }
    if shared == 3 { Ok(logs) } else { Fault::wrong("it has lost a table that all rooms share") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::sqlite::tables::create;

    #[test]
    fn a_room_that_would_not_be_found_refuses_the_store() {
        let db = Connection::open_in_memory().expect("a database");
        let meta = Meta::new(1);
        create(&db, meta).expect("tables");
        let home = meta.secret.home("a");
        let with = |rooms: &[(i64, &str)]| {
            db.execute("DELETE FROM rooms", []).expect("it is a table");
            for (id, name) in rooms {
                RoomRow::new(*id, name).create(&db).expect("a row");
            }
            let ids = rooms.iter().fold(0, |ids, (id, _)| ids ^ id);
            Meta { rooms: rooms.len() as u64, ids, ..meta }.save(&db).expect("a row");
            look(&db).map(|_| ()).map_err(|fault| fault.of_store("it").to_string())
        };
        let other = (meta.secret.home("b"), "b");
        assert_eq!(with(&[(home, "a"), other]), Ok(()));
        assert!(with(&[(home + 1, "a"), other]).unwrap_err().contains("room a is not where"));
        assert!(with(&[(home, "a"), (home + 1, "a"), other]).unwrap_err().contains("room a is not where"));
    }
}

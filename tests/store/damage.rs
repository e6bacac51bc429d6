//! Damage to the file: it costs the rooms whose pages it hits, and them alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use room::server::SqliteStore;
use room::storage::{Commit, Store, StoreError, Taken};

use crate::kit::{Folder, Rng, body, commit, filled, keep, label, log};

/// A closed store, its bytes, and what is in it.
struct Stored {
    folder: Folder,
    bytes: Vec<u8>,
    page: usize,
    /// Which room each page belongs to. Those of no room are shared.
    owners: BTreeMap<usize, String>,
    rooms: BTreeMap<String, Taken>,
}

impl Stored {
    /// Rooms of several shapes: one row, many small ones, long ones, some of which were deleted, and none.
    fn new(name: &str, scale: u64) -> Stored {
        let folder = Folder::new(name);
        let store = folder.open();
        let shapes = [("one", 1, 50), ("small", 60 * scale, 90), ("mixed", 20 * scale, 3000)];
        let more = [("long", 6 * scale, 20_000), ("trimmed", 40 * scale, 700), ("none", 0, 1)];
        for (room, rows, len) in shapes.into_iter().chain(more) {
            store.take(room).unwrap();
            let label = label(&code(room), &room.repeat(20).into_bytes());
            keep(&store, Commit { label, ..filled(room, 1, 1..rows + 1, len) }).unwrap();
        }
        let forget = Commit { forget: 20 * scale, ..commit("trimmed", 1, 40 * scale + 1, &[]) };
        keep(&store, forget).unwrap();
        drop(store);
        let store = folder.open();
        let stored = store.rooms().unwrap();
        let rooms: BTreeMap<_, _> =
            stored.iter().map(|room| (room.name.clone(), store.take(&room.name).unwrap())).collect();
        drop(store);
        let (page, owners) = owners(&folder);
        Stored { bytes: std::fs::read(folder.file()).unwrap(), folder, page, owners, rooms }
    }

    /// The rooms that have one of these bytes, and whether all rooms have.
    fn hit(&self, range: &Range<usize>) -> (BTreeSet<&str>, bool) {
        let pages = range.start / self.page..=(range.end - 1) / self.page;
        let owners: Vec<_> = pages.map(|page| self.owners.get(&page)).collect();
        let rooms = owners.iter().copied().flatten().map(String::as_str).collect();
        (rooms, owners.contains(&None))
    }

    /// Opens a damaged file, and looks whether each room is either whole or refused by name.
    fn check(&self, damaged: &[u8], range: &Range<usize>) -> Outcome {
        std::fs::write(self.folder.file(), damaged).unwrap();
        let _ = std::fs::remove_file(self.folder.path().join("rooms.db-wal"));
        let (hit, shared) = self.hit(range);
        let store = match SqliteStore::open(self.folder.file()) {
            Ok(store) => store,
            Err(error) => {
                assert!(shared, "{error}, and no shared page is damaged");
                assert!(error.to_string().contains("rooms.db"), "{error}");
                assert!(std::fs::read(self.folder.file()).unwrap() == damaged, "{error}, and it was changed");
                return Outcome::StoreRefused;
            }
        };
        for room in self.rooms.keys() {
            match (store.by_code(&code(room)), store.find(room)) {
                (Ok(name), Ok(Some(found))) => {
                    assert_eq!((name.as_ref(), &found.label.code), (Some(room), &code(room)));
                }
                (Ok(_), Ok(None)) => panic!("room {room} is not found, and nothing refused"),
                (Err(error), _) | (_, Err(error)) => assert!(shared, "room {room}: {error}"),
            }
        }
        let mut refused = BTreeSet::new();
        for (room, expected) in &self.rooms {
            match store.take(room) {
                Ok(taken) => {
                    let same = (taken.first, &taken.rows) == (expected.first, &expected.rows);
                    assert!(same, "room {room} has other rows than were written");
                    // It works, and hurts nobody.
                    let next = taken.first + taken.rows.len() as u64;
                    let row = body(room, next, 9000);
                    match keep(&store, commit(room, taken.epoch, next, &[&row])) {
                        Ok(()) => match store.take(room) {
                            Ok(taken) => assert_eq!(taken.rows.last(), Some(&row)),
                            Err(error) => assert!(shared, "room {room}: {error}"),
                        },
                        Err(error) => assert!(shared, "room {room}: {error}"),
                    }
                }
                Err(StoreError::Damaged { room: named, .. }) => {
                    assert!(&named == room && (shared || hit.contains(&**room)), "{named} for {room}");
                    refused.insert(room.as_str());
                }
                Err(error @ StoreError::StoreDamaged { .. }) => assert!(shared, "{error}"),
                Err(error) => panic!("room {room}: {error}"),
            }
        }
        drop(store);
        self.check_untouched(damaged, &refused, shared);
        if refused.is_empty() { Outcome::Whole } else { Outcome::RoomRefused }
    }

    /// Nothing of a refused room was changed.
    fn check_untouched(&self, damaged: &[u8], refused: &BTreeSet<&str>, shared: bool) {
        let after = std::fs::read(self.folder.file()).unwrap();
        for (page, owner) in self.owners.iter().filter(|(_, owner)| refused.contains(owner.as_str())) {
            let bytes = page * self.page..(page + 1) * self.page;
            let same = after.get(bytes.clone()) == damaged.get(bytes);
            assert!(same || shared, "page {page} of {owner}, which is damaged, was changed");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Whole,
    RoomRefused,
    StoreRefused,
}

/// The code of a room.
fn code(room: &str) -> String {
    room.to_uppercase().repeat(2)[..6].to_owned()
}

/// The size of a page, and the room of each that has one.
fn owners(folder: &Folder) -> (usize, BTreeMap<usize, String>) {
    let db = rusqlite::Connection::open(folder.file()).unwrap();
    let page: i64 = db.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let sql = "SELECT pageno, rooms.name FROM dbstat JOIN rooms ON dbstat.name = 'log_' || rooms.id";
    let mut pages = db.prepare(sql).unwrap();
    let pages = pages.query_map([], |row| Ok((row.get::<_, i64>(0)? as usize - 1, row.get(1)?))).unwrap();
    (page as usize, pages.collect::<Result<_, _>>().unwrap())
}

/// What a disk might do to some bytes.
fn damage(bytes: &mut [u8], rng: &mut Rng, within: Range<usize>) -> Range<usize> {
    let at = within.start + rng.below((within.end - within.start) as u64) as usize;
    let most = [1, 1, 16, 512, 4096, 20_000][rng.below(6) as usize];
    let end = (at + 1 + rng.below(most) as usize).min(within.end);
    match rng.below(4) {
        0 => bytes[at..end].fill(0),
        1 => bytes[at..end].fill(0xff),
        2 => bytes[at..end].iter_mut().for_each(|byte| *byte = rng.next() as u8),
        _ => bytes[at] ^= 1 << rng.below(8),
    }
    at..end
}

fn rounds(usual: usize) -> usize {
    std::env::var("STORE_ROUNDS").map_or(usual, |rounds| rounds.parse().expect("a number"))
}

fn run(stored: &Stored, rng: &mut Rng, rounds: usize, within: Range<usize>) -> BTreeMap<Outcome, usize> {
    let mut outcomes = BTreeMap::new();
    for _ in 0..rounds {
        let seed = rng.0;
        let mut bytes = stored.bytes.clone();
        let range = damage(&mut bytes, rng, within.clone());
        println!("state {seed}: bytes {range:?} of {:?}", stored.hit(&range));
        *outcomes.entry(stored.check(&bytes, &range)).or_default() += 1;
    }
    println!("{outcomes:?}");
    outcomes
}

#[test]
fn damage_in_the_last_megabyte_costs_no_room_that_it_does_not_hit() {
    let mut rng = Rng::seeded("damage_in_the_last_megabyte_costs_no_room_that_it_does_not_hit");
    let stored = Stored::new("megabyte", 10);
    let end = stored.bytes.len();
    assert!(end > 1 << 20, "{end}");
    let outcomes = run(&stored, &mut rng, rounds(100), end - (1 << 20)..end);
    assert!(outcomes[&Outcome::RoomRefused] > 0);
}

#[test]
fn damage_anywhere_in_a_small_file_is_found() {
    let mut rng = Rng::seeded("damage_anywhere_in_a_small_file_is_found");
    let stored = Stored::new("small", 1);
    run(&stored, &mut rng, rounds(100), 0..stored.bytes.len());
}

#[test]
fn damage_to_shared_pages_refuses_the_store_or_does_no_harm() {
    let mut rng = Rng::seeded("damage_to_shared_pages_refuses_the_store_or_does_no_harm");
    let stored = Stored::new("shared", 1);
    let shared = (0..stored.bytes.len() / stored.page).filter(|page| !stored.owners.contains_key(page));
    for page in shared {
        let outcomes = run(&stored, &mut rng, rounds(60), page * stored.page..(page + 1) * stored.page);
        assert!(outcomes[&Outcome::StoreRefused] > 0, "page {page}");
    }
}

#[test]
fn no_byte_of_the_header_does_harm() {
    let stored = Stored::new("header", 1);
    for at in 0..108 {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = stored.bytes.clone();
            bytes[at] ^= flip;
            println!("byte {at} ^ {flip:#x}");
            stored.check(&bytes, &(at..at + 1));
        }
    }
}

#[test]
fn a_file_that_was_cut_or_continued_is_found() {
    let stored = Stored::new("cut", 1);
    let len = stored.bytes.len();
    for end in
        [0, 1, 99, 100, 511, 512, 1024, stored.page, stored.page + 7, len / 2, len - stored.page, len - 1]
    {
        println!("cut to {end} of {len}");
        assert_eq!(stored.check(&stored.bytes[..end], &(0..len)), Outcome::StoreRefused);
    }
    let mut longer = stored.bytes.clone();
    longer.resize(len + stored.page, 0);
    assert_eq!(stored.check(&longer, &(0..len)), Outcome::StoreRefused);
    // To take it away is another matter.
    std::fs::remove_file(stored.folder.file()).unwrap();
    assert_eq!(stored.folder.open().rooms().unwrap(), []);
}

#[test]
fn rows_that_vanish_or_change_refuse_the_room_by_name() {
    let stored = Stored::new("rows", 1);
    let changes = [
        ("DELETE FROM MIXED WHERE seq = 1", "from 1 to 1"),
        ("DELETE FROM MIXED WHERE seq = 20", "from 20 to 20"),
        ("DELETE FROM MIXED WHERE seq BETWEEN 5 AND 7", "from 5 to 7"),
        ("DELETE FROM MIXED", "from 1 to 20"),
        ("INSERT INTO MIXED SELECT 21, checksum, body FROM MIXED WHERE seq = 20", "21"),
        ("UPDATE MIXED SET body = zeroblob(length(body)) WHERE seq = 9", "row 9"),
        ("UPDATE MIXED SET body = 'text' WHERE seq = 9", "type"),
        ("UPDATE MIXED SET body = (SELECT body FROM MIXED WHERE seq = 8) WHERE seq = 9", "row 9"),
        ("DELETE FROM MIXED; INSERT INTO MIXED SELECT * FROM SMALL WHERE seq <= 20", "row 1"),
    ];
    let logs = ["small", "mixed"].map(|room| log(&stored.folder, room));
    for (sql, what) in changes {
        std::fs::write(stored.folder.file(), &stored.bytes).unwrap();
        let sql = &sql.replace("SMALL", &logs[0]).replace("MIXED", &logs[1]);
        rusqlite::Connection::open(stored.folder.file()).unwrap().execute_batch(sql).unwrap();
        let damaged = std::fs::read(stored.folder.file()).unwrap();
        let store = stored.folder.open();
        let error = store.take("mixed").expect_err(sql);
        assert!(matches!(&error, StoreError::Damaged { room, .. } if room == "mixed"), "{sql}: {error}");
        assert!(error.to_string().contains(what), "{sql}: {error}");
        assert!(store.take("small").unwrap().rows == stored.rooms["small"].rows, "{sql}");
        drop(store);
        stored.check_untouched(&damaged, &BTreeSet::from(["mixed"]), false);
        let db = rusqlite::Connection::open(stored.folder.file()).unwrap();
        let epoch = |room: &str| -> i64 {
            db.query_row("SELECT epoch FROM rooms WHERE name = ?1", [room], |row| row.get(0)).unwrap()
        };
        let epochs = (epoch("mixed"), epoch("small"));
        assert_eq!(epochs, (2, 3), "{sql}: it was refused, and taken nevertheless");
    }
}

#[test]
fn what_all_rooms_share_refuses_the_store_by_name() {
    let stored = Stored::new("tables", 1);
    let changes = [
        "UPDATE rooms SET last = 19 WHERE name = 'mixed'",
        "UPDATE rooms SET epoch = 9 WHERE name = 'mixed'",
        "UPDATE rooms SET name = 'other' WHERE name = 'mixed'",
        "UPDATE rooms SET state = 'gone' WHERE name = 'mixed'",
        "UPDATE rooms SET label = x'00' WHERE name = 'mixed'",
        "UPDATE rooms SET code = 'BCDFGH' WHERE name = 'mixed'",
        "UPDATE rooms SET restored = 'yes' WHERE name = 'mixed'",
        "UPDATE rooms SET log = 0 WHERE name = 'mixed'",
        "UPDATE rooms SET opening = 0 WHERE name = 'mixed'",
        "UPDATE rooms SET id = id + 1 WHERE name = 'mixed'",
        "DELETE FROM rooms WHERE name = 'mixed'",
        "DELETE FROM rooms WHERE name = 'none'",
        "DELETE FROM meta",
        "UPDATE meta SET mark = '1'",
        "UPDATE meta SET secret = '1'",
        "UPDATE meta SET rooms = 5",
        "UPDATE meta SET ids = 0",
        "DROP TABLE rooms",
        "DROP TABLE codes",
        "DELETE FROM codes",
        "DELETE FROM codes WHERE id = (SELECT max(id) FROM codes)",
        "UPDATE codes SET id = id + 1 WHERE id = (SELECT max(id) FROM codes)",
        "UPDATE codes SET room = room + 1",
        "UPDATE codes SET room = (SELECT min(room) FROM codes)",
        "INSERT INTO codes SELECT id + 1, room, checksum FROM codes LIMIT 1",
        "DROP TABLE MIXED",
        "DROP TABLE MIXED; CREATE VIEW MIXED AS SELECT * FROM SMALL",
        "PRAGMA user_version = 0",
    ];
    let logs = ["small", "mixed"].map(|room| log(&stored.folder, room));
    for sql in changes {
        std::fs::write(stored.folder.file(), &stored.bytes).unwrap();
        let sql = &sql.replace("SMALL", &logs[0]).replace("MIXED", &logs[1]);
        rusqlite::Connection::open(stored.folder.file()).unwrap().execute_batch(sql).unwrap();
        let damaged = std::fs::read(stored.folder.file()).unwrap();
        let error = SqliteStore::open(stored.folder.file()).expect_err(sql);
        assert!(error.to_string().contains("rooms.db is damaged"), "{sql}: {error}");
        assert!(std::fs::read(stored.folder.file()).unwrap() == damaged, "{sql}");
    }
}

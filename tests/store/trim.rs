//! Rows that are not wanted any more go in small steps.

use std::time::{Duration, Instant};

use room::limits;
use room::server::SqliteStore;
use room::storage::{Commit, State, Store, StoreError};

use crate::kit::{Folder, bodies, commit, filled, keep, log};

fn wait_for(store: &SqliteStore, trimmed: u64) {
    let began = Instant::now();
    while store.stats().trimmed < trimmed {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_long_log_is_deleted_in_steps_while_others_commit() {
    let folder = Folder::new("trim");
    let store = folder.open();
    store.take("long").unwrap();
    store.take("other").unwrap();
    for batch in 0..10 {
        keep(&store, filled("long", 1, batch * 500 + 1..batch * 500 + 501, 200)).unwrap();
    }
    keep(&store, Commit { forget: 4901, ..commit("long", 1, 5001, &[]) }).unwrap();
    for seq in 1..=50 {
        keep(&store, filled("other", 1, seq..seq + 1, 100)).unwrap();
    }
    wait_for(&store, 4900);
    let stats = store.stats();
    assert_eq!(stats.trimmed_most, limits::STORE_TRIM_ROWS);
    assert_eq!((store.take("long").unwrap().first, store.take("other").unwrap().rows.len()), (4901, 50));
}

#[test]
fn large_rows_are_deleted_by_their_bytes() {
    let folder = Folder::new("large");
    let store = folder.open();
    store.take("a").unwrap();
    let row = vec![7; 400 << 10];
    for seq in 1..=10 {
        keep(&store, commit("a", 1, seq, &[&row])).unwrap();
    }
    let long = vec![8; 3 << 20];
    keep(&store, commit("a", 1, 11, &[&long])).unwrap();
    keep(&store, Commit { forget: 12, ..commit("a", 1, 12, &[]) }).unwrap();
    wait_for(&store, 11);
    assert_eq!(store.stats().trimmed_most, limits::STORE_TRIM_BYTES / row.len() as u64);
}

#[test]
fn a_room_that_is_gone_leaves_no_table_and_the_closed_file_no_free_page() {
    let folder = Folder::new("gone");
    let store = folder.open();
    for room in ["a", "b"] {
        store.take(room).unwrap();
        keep(&store, filled(room, 1, 1..301, 3000)).unwrap();
    }
    keep(&store, Commit { state: State::Gone, ..commit("a", 1, 301, &[]) }).unwrap();
    store.close();
    let length = std::fs::metadata(folder.file()).unwrap().len();
    assert!(length < 1_300_000, "{length} bytes for one room of 900 kB");
    let db = rusqlite::Connection::open(folder.file()).unwrap();
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("PRAGMA freelist_count"), 0);
    let tables =
        |room| number(&format!("SELECT count(*) FROM sqlite_schema WHERE name = '{}'", log(&folder, room)));
    assert_eq!((tables("a"), tables("b")), (0, 1));
    drop(db);
    let store = folder.open();
    assert_eq!(store.take("b").unwrap().rows.len(), 300);
    let again = store.take("a").unwrap();
    assert_eq!((again.epoch, again.first), (2, 301));
    keep(&store, filled("a", 2, 301..305, 3000)).unwrap();
    assert_eq!(store.take("a").unwrap().rows.len(), 4);
}

#[test]
fn a_room_is_taken_whole_while_its_last_owner_goes_on() {
    const LEN: usize = 30_000;
    let folder = Folder::new("race");
    let store = folder.open();
    // Takes it, and returns the epoch and the next row.
    let take = || {
        let taken = store.take("a").unwrap();
        let end = taken.first + taken.rows.len() as u64;
        assert!(taken.rows == bodies("a", taken.first..end, LEN), "from {} to {end}", taken.first);
        (taken.epoch, end)
    };
    let (epoch, _) = take();
    keep(&store, filled("a", epoch, 1..301, LEN)).unwrap();
    std::thread::scope(|scope| {
        let owner = scope.spawn(|| {
            let mut kept = 0;
            let (mut epoch, mut next) = take();
            while kept < 100 {
                let forget = next.saturating_sub(250);
                match keep(&store, Commit { forget, ..filled("a", epoch, next..next + 1, LEN) }) {
                    Ok(()) => (kept, next) = (kept + 1, next + 1),
                    Err(StoreError::Fenced { .. }) => (epoch, next) = take(),
                    Err(error) => panic!("{error}"),
                }
            }
        });
        while !owner.is_finished() {
            take();
            std::thread::sleep(Duration::from_millis(100));
        }
        owner.join().unwrap();
    });
}

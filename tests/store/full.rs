//! A store that is full.

use room::server::{SqliteOptions, SqliteStore};
use room::storage::{Commit, State, Store, StoreError};

use crate::kit::{Folder, bodies, commit, filled, give, heard, keep};

fn bounded(folder: &Folder, bytes: u64) -> SqliteStore {
    let options = SqliteOptions { max_bytes: Some(bytes), ..SqliteOptions::default() };
    SqliteStore::open_with(folder.file(), options).unwrap()
}

/// Commits until one is refused, and returns how many rows are kept.
fn fill(store: &SqliteStore, room: &str, epoch: u64, from: u64) -> u64 {
    for seq in from.. {
        match keep(store, filled(room, epoch, seq..seq + 1, 10_000)) {
            Ok(()) => {}
            Err(StoreError::Full(what)) => {
                assert!(what.contains("rooms.db"), "{what}");
                return seq - 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("a store has an end")
}

#[test]
fn a_full_store_says_so_and_loses_nothing_it_has_kept() {
    let folder = Folder::new("full");
    let store = bounded(&folder, 1 << 20);
    store.take("a").unwrap();
    let last = fill(&store, "a", 1, 1);
    assert!(last > 50, "{last}");
    assert!(!keep(&store, filled("a", 1, last + 1..last + 2, 10_000)).unwrap_err().is_final());
    assert!(store.take("a").unwrap().rows == bodies("a", 1..last + 1, 10_000));
    drop(store);

    let store = bounded(&folder, 2 << 20);
    let taken = store.take("a").unwrap();
    assert_eq!((taken.epoch, taken.restored), (3, false));
    let more = fill(&store, "a", 3, last + 1);
    assert!(more > last + 50, "{last} and {more}");
    assert!(store.take("a").unwrap().rows == bodies("a", 1..more + 1, 10_000));
}

#[test]
fn a_full_store_works_again_once_something_is_let_go() {
    let folder = Folder::new("freed");
    let store = bounded(&folder, 1 << 20);
    store.take("a").unwrap();
    store.take("b").unwrap();
    let last = fill(&store, "a", 1, 1);
    let waits = filled("b", 1, 1..21, 10_000);
    assert!(matches!(keep(&store, waits.clone()), Err(StoreError::Full(_))));
    keep(&store, Commit { state: State::Gone, ..commit("a", 1, last + 1, &[]) }).unwrap();
    let mut tries = 0;
    while keep(&store, waits.clone()).is_err() {
        tries += 1;
        assert!(tries < 1000, "{:?}", store.stats());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(store);
    assert!(bounded(&folder, 1 << 20).take("b").unwrap().rows == waits.rows);
}

#[test]
fn one_commit_that_does_not_fit_does_not_hurt_those_beside_it() {
    let folder = Folder::new("beside");
    let store = bounded(&folder, 1 << 20);
    for room in ["a", "b", "c"] {
        store.take(room).unwrap();
        keep(&store, filled(room, 1, 1..2, 100)).unwrap();
    }
    let large = vec![1; 2 << 20];
    let answers = [
        give(&store, filled("a", 1, 2..3, 100)),
        give(&store, commit("b", 1, 2, &[&large])),
        give(&store, filled("c", 1, 2..3, 100)),
    ];
    let answers = answers.map(|answer| heard(&answer));
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    assert!(matches!(answers[1], Err(StoreError::Full(_))), "{answers:?}");
    drop(store);
    let store = folder.open();
    assert_eq!(["a", "b", "c"].map(|room| store.take(room).unwrap().rows.len()), [2, 1, 2]);
    // What failed made no room that is not there, and broke none that is.
    keep(&store, filled("b", 2, 2..9, 100)).unwrap();
}

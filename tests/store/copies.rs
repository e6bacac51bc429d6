//! A store that was put back from a copy: each room hears of it, once.

use std::path::Path;

use room::storage::Store;

use crate::kit::{Folder, filled, keep};

/// A store with rooms of one row each, and a copy of it.
fn with_copy(folder: &Folder) {
    let store = folder.open();
    for room in ["a", "b"] {
        store.take(room).unwrap();
        keep(&store, filled(room, 1, 1..2, 100)).unwrap();
    }
    drop(store);
    std::fs::copy(folder.file(), folder.path().join("copy")).unwrap();
}

fn put_back(folder: &Folder) {
    std::fs::copy(folder.path().join("copy"), folder.file()).unwrap();
}

fn lock(folder: &Folder) -> std::path::PathBuf {
    folder.path().join("rooms.db.lock")
}

#[test]
fn a_store_that_stayed_where_it_was_is_not_restored() {
    let folder = Folder::new("stayed");
    with_copy(&folder);
    for _ in 0..3 {
        let store = folder.open();
        assert!(!store.take("a").unwrap().restored && !store.take("b").unwrap().restored);
    }
}

#[test]
fn each_room_hears_of_a_copy_once() {
    let folder = Folder::new("copy");
    with_copy(&folder);
    let store = folder.open();
    let epoch = store.take("a").unwrap().epoch;
    keep(&store, filled("a", epoch, 2..3, 100)).unwrap();
    drop(store);
    put_back(&folder);

    let store = folder.open();
    let taken = store.take("a").unwrap();
    assert!(taken.restored && taken.rows.len() == 1);
    keep(&store, filled("a", taken.epoch, 2..3, 100)).unwrap();
    assert!(!store.take("a").unwrap().restored);
    assert!(!store.take("new").unwrap().restored);
    drop(store);
    // The other one has not heard of it yet.
    assert!(folder.open().take("b").unwrap().restored);
}

#[test]
fn a_room_hears_of_a_copy_again_until_it_has_committed() {
    let folder = Folder::new("again");
    with_copy(&folder);
    drop(folder.open());
    put_back(&folder);
    for _ in 0..3 {
        let store = folder.open();
        assert!(store.take("a").unwrap().restored);
        assert!(store.take("a").unwrap().restored);
    }
    let store = folder.open();
    let epoch = store.take("a").unwrap().epoch;
    keep(&store, filled("a", epoch, 2..3, 100)).unwrap();
    drop(store);
    assert!(!folder.open().take("a").unwrap().restored);
}

#[test]
fn a_copy_of_the_same_run_is_noticed() {
    let folder = Folder::new("same-run");
    with_copy(&folder);
    let store = folder.open();
    let epoch = store.take("a").unwrap().epoch;
    // As the sqlite3 program makes one beside a running server.
    let copy = folder.path().join("copy");
    std::fs::remove_file(&copy).unwrap();
    let db = rusqlite::Connection::open(folder.file()).unwrap();
    db.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    drop(db);
    keep(&store, filled("a", epoch, 2..3, 100)).unwrap();
    drop(store);
    put_back(&folder);
    let store = folder.open();
    let taken = store.take("a").unwrap();
    assert!(taken.restored && taken.rows.len() == 1);
}

#[test]
fn a_store_without_the_memory_beside_it_counts_as_a_copy() {
    let folder = Folder::new("moved");
    with_copy(&folder);
    std::fs::remove_file(lock(&folder)).unwrap();
    assert!(folder.open().take("a").unwrap().restored);
    std::fs::write(lock(&folder), "nonsense").unwrap();
    assert!(folder.open().take("b").unwrap().restored);
    // An empty one has nobody to tell.
    let empty = Folder::new("empty");
    drop(empty.open());
    std::fs::remove_file(lock(&empty)).unwrap();
    assert!(!empty.open().take("a").unwrap().restored);
}

#[test]
fn a_crash_while_opening_is_no_copy() {
    let folder = Folder::new("crash");
    with_copy(&folder);
    let mark = |path: &Path| -> String {
        let db = rusqlite::Connection::open(path).unwrap();
        db.query_row("SELECT mark FROM meta", [], |row| row.get(0)).unwrap()
    };
    let had = mark(&folder.file());
    let before = std::fs::read(folder.file()).unwrap();
    drop(folder.open());
    let has = mark(&folder.file());
    assert_ne!(had, has);
    let memory = std::fs::read_to_string(lock(&folder)).unwrap();
    let between = memory.replace(&format!("had {has}"), &format!("had {had}"));
    assert_ne!(memory, between);
    // The lock file was written, the store not yet: then it was, and the lock file not yet.
    for file in [before, std::fs::read(folder.file()).unwrap()] {
        std::fs::write(folder.file(), file).unwrap();
        std::fs::write(lock(&folder), &between).unwrap();
        assert!(!folder.open().take("a").unwrap().restored);
    }
}

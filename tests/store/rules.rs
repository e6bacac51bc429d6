//! What every store does, in memory and in a file.

use std::sync::{Arc, mpsc};

use room::server::{OpenError, SqliteStore};
use room::storage::{Commit, MemoryStore, State, Store, StoreError, StoredRoom, Taken};

use crate::kit::{Folder, commit, give, heard, keep, label};

/// Runs a rule against both.
fn both(rule: fn(&dyn Store)) {
    rule(&MemoryStore::new());
    rule(&Folder::new("rules").open());
}

#[test]
fn rows_come_back_in_order_under_the_next_epoch() {
    both(|store| {
        let new = Taken { epoch: 1, restored: false, first: 1, rows: vec![] };
        assert_eq!(store.take("a").unwrap(), new);
        keep(store, commit("a", 1, 1, &[b"one", b"", b"three"])).unwrap();
        keep(store, commit("a", 1, 4, &[b"four"])).unwrap();
        let rows = [&b"one"[..], b"", b"three", b"four"].map(<[u8]>::to_vec).to_vec();
        assert_eq!(store.take("a").unwrap(), Taken { epoch: 2, restored: false, first: 1, rows });
        assert_eq!(store.take("b").unwrap(), new);
    });
}

#[test]
fn an_owner_that_lost_the_room_is_fenced() {
    both(|store| {
        let first = store.take("a").unwrap().epoch;
        keep(store, commit("a", first, 1, &[b"1"])).unwrap();
        let second = store.take("a").unwrap().epoch;
        let fenced = StoreError::Fenced { room: "a".into(), epoch: first, newest: second };
        assert_eq!(keep(store, commit("a", first, 2, &[b"2"])), Err(fenced));
        assert_eq!(keep(store, commit("a", second + 1, 2, &[b"2"])).map_err(|e| e.is_final()), Err(true));
        keep(store, commit("a", second, 2, &[b"two"])).unwrap();
        assert_eq!(store.take("a").unwrap().rows, [b"1".to_vec(), b"two".to_vec()]);
    });
}

#[test]
fn a_commit_of_a_room_that_nobody_took_is_fenced() {
    both(|store| {
        let fenced = StoreError::Fenced { room: "nowhere".into(), epoch: 1, newest: 0 };
        assert_eq!(keep(store, commit("nowhere", 1, 1, &[b"1"])), Err(fenced));
        assert_eq!(store.rooms().unwrap(), []);
    });
}

#[test]
fn a_commit_given_again_is_kept_once() {
    both(|store| {
        store.take("a").unwrap();
        for _ in 0..3 {
            keep(store, commit("a", 1, 1, &[b"1", b"2"])).unwrap();
        }
        keep(store, Commit { forget: 3, ..commit("a", 1, 3, &[b"3"]) }).unwrap();
        keep(store, commit("a", 1, 2, &[b"2", b"3"])).unwrap();
        let gap = |first| Err(StoreError::Gap { room: "a".into(), last: 3, first });
        assert_eq!(keep(store, commit("a", 1, 1, &[b"1", b"2"])), gap(1));
        assert_eq!(keep(store, commit("a", 1, 3, &[b"3", b"4"])), gap(3));
        assert_eq!(keep(store, commit("a", 1, 5, &[b"5"])), gap(5));
        assert_eq!(keep(store, commit("a", 1, u64::MAX - 1, &[b"5"])), gap(u64::MAX - 1));
        assert_eq!(keep(store, commit("a", 1, 3, &[])), gap(3));
        let taken = store.take("a").unwrap();
        assert_eq!((taken.first, taken.rows), (3, vec![b"3".to_vec()]));
    });
}

#[test]
fn forgotten_rows_are_not_given_back() {
    both(|store| {
        store.take("a").unwrap();
        let many: Vec<&[u8]> = vec![b"row"; 100];
        keep(store, commit("a", 1, 1, &many)).unwrap();
        keep(store, Commit { forget: 90, ..commit("a", 1, 101, &[b"new"]) }).unwrap();
        keep(store, Commit { forget: 20, ..commit("a", 1, 102, &[]) }).unwrap();
        let taken = store.take("a").unwrap();
        assert_eq!((taken.first, taken.rows.len()), (90, 12));
        keep(store, Commit { forget: u64::MAX, ..commit("a", 2, 102, &[]) }).unwrap();
        assert_eq!(store.take("a").unwrap(), Taken { epoch: 3, restored: false, first: 102, rows: vec![] });
        keep(store, commit("a", 3, 102, &[b"later"])).unwrap();
        assert_eq!(store.take("a").unwrap().rows, [b"later".to_vec()]);
    });
}

#[test]
fn rooms_are_listed_by_name_with_their_labels_and_states() {
    both(|store| {
        for room in ["b", "a", "c", "taken"] {
            store.take(room).unwrap();
        }
        let label = |text: &[u8]| label("", text);
        keep(store, Commit { label: label(b"A"), ..commit("a", 1, 1, &[b"1"]) }).unwrap();
        keep(store, Commit { label: label(b"B"), ..commit("b", 1, 1, &[]) }).unwrap();
        keep(store, Commit { state: State::Asleep, ..commit("b", 1, 1, &[b"1"]) }).unwrap();
        keep(store, Commit { label: label(b"C"), ..commit("c", 1, 1, &[b"1"]) }).unwrap();
        keep(store, Commit { state: State::Gone, ..commit("c", 1, 2, &[]) }).unwrap();
        let room = |name: &str, awake, text: &[u8]| StoredRoom {
            name: name.into(),
            awake,
            label: label(text).unwrap(),
        };
        assert_eq!(store.rooms().unwrap(), [room("a", true, b"A"), room("b", false, b"B")]);
        keep(store, commit("c", 1, 2, &[b"again"])).unwrap();
        assert_eq!(store.rooms().unwrap().last(), Some(&room("c", true, b"")));
    });
}

#[test]
fn one_room_is_found_by_its_name_and_by_its_code() {
    both(|store| {
        for room in ["a", "b"] {
            store.take(room).unwrap();
        }
        assert_eq!(store.find("a").unwrap(), None, "nothing is kept of it yet");
        keep(store, Commit { label: label("BCDFGH", b"A"), ..commit("a", 1, 1, &[b"1"]) }).unwrap();
        let asleep = Commit { state: State::Asleep, ..commit("b", 1, 1, &[b"1"]) };
        keep(store, Commit { label: label("JKMNPR", b"B"), ..asleep }).unwrap();
        for (room, code) in [("a", "BCDFGH"), ("b", "JKMNPR")] {
            let found = store.find(room).unwrap().unwrap();
            assert_eq!((&*found.name, &*found.label.code, found.awake), (room, code, room == "a"));
            assert_eq!(store.by_code(code).unwrap().as_deref(), Some(room));
        }
        assert_eq!(store.awake().unwrap(), [store.find("a").unwrap().unwrap()]);
        for none in ["", "bcdfgh", "BCDFG", "BCDFGHJ", "BCDFGZ"] {
            assert_eq!(store.by_code(none).unwrap(), None, "{none:?}");
        }
        assert_eq!(store.find("c").unwrap(), None);
        // What is no code is none.
        keep(store, Commit { label: label("no code", b"B"), ..commit("b", 1, 2, &[]) }).unwrap();
        assert_eq!((store.by_code("JKMNPR").unwrap(), store.by_code("no code").unwrap()), (None, None));
    });
}

#[test]
fn a_room_that_is_given_the_code_of_another_takes_it_from_that_one() {
    both(|store| {
        for room in ["a", "b"] {
            store.take(room).unwrap();
            keep(store, Commit { label: label("BCDFGH", room.as_bytes()), ..commit(room, 1, 1, &[]) })
                .unwrap();
        }
        assert_eq!(store.by_code("BCDFGH").unwrap().as_deref(), Some("b"));
        assert_eq!(store.find("a").unwrap().unwrap().label, label("", b"a").unwrap());
        keep(store, Commit { state: State::Gone, ..commit("b", 1, 1, &[]) }).unwrap();
        assert_eq!(store.by_code("BCDFGH").unwrap(), None);
        keep(store, Commit { label: label("BCDFGH", b"a"), ..commit("a", 1, 1, &[]) }).unwrap();
        assert_eq!(store.by_code("BCDFGH").unwrap().as_deref(), Some("a"));
    });
}

#[test]
fn a_room_that_is_gone_starts_empty_and_its_epoch_goes_on() {
    both(|store| {
        store.take("a").unwrap();
        keep(store, commit("a", 1, 1, &[b"1", b"2"])).unwrap();
        keep(store, Commit { state: State::Gone, ..commit("a", 1, 3, &[b"3"]) }).unwrap();
        assert_eq!(store.take("a").unwrap(), Taken { epoch: 2, restored: false, first: 3, rows: vec![] });
        keep(store, commit("a", 2, 3, &[b"new"])).unwrap();
        assert_eq!(store.take("a").unwrap().rows, [b"new".to_vec()]);
    });
}

#[test]
fn one_refused_commit_does_not_hurt_those_beside_it() {
    both(|store| {
        for room in ["a", "b", "c"] {
            store.take(room).unwrap();
        }
        store.take("b").unwrap();
        // Given at once, so that they share a transaction.
        let answers: Vec<_> = ["a", "b", "c"].map(|room| give(store, commit(room, 1, 1, &[b"1"]))).into();
        let answers: Vec<_> = answers.iter().map(heard).collect();
        assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
        assert!(matches!(answers[1], Err(StoreError::Fenced { newest: 2, .. })), "{answers:?}");
        assert_eq!(["a", "b", "c"].map(|room| store.take(room).unwrap().rows.len()), [1, 0, 1]);
    });
}

#[test]
fn a_closed_store_has_kept_all_and_refuses_more() {
    let folder = Folder::new("closed");
    let store = folder.open();
    store.take("a").unwrap();
    let answers: Vec<_> = (1..=300).map(|seq| give(&store, commit("a", 1, seq, &[b"row"]))).collect();
    store.close();
    store.close();
    assert!(answers.iter().all(|answer| answer.try_recv().expect("answered by now").is_ok()));
    assert_eq!(keep(&store, commit("a", 1, 301, &[b"row"])), Err(StoreError::Closed));
    assert_eq!(store.take("a").unwrap_err(), StoreError::Closed);
    assert_eq!(store.rooms().unwrap_err(), StoreError::Closed);
    // It is free, though the handle is still there, and one file.
    assert!(!folder.path().join("rooms.db-wal").exists());
    assert_eq!(folder.open().take("a").unwrap().rows.len(), 300);
}

#[test]
fn the_last_handle_closes_the_store() {
    let folder = Folder::new("handles");
    let store = folder.open();
    let other = store.clone();
    drop(store);
    assert!(matches!(SqliteStore::open(folder.file()), Err(OpenError::Held { .. })));
    drop(other);
    drop(folder.open());
    // In a callback too, where it is the writer that drops it, and after a callback that panics.
    let store = Arc::new(folder.open());
    store.take("a").unwrap();
    store.commit(
        Arc::new(commit("a", 1, 1, &[b"1"])),
        Box::new(|_| panic!("a callback that panics, as planned")),
    );
    let (last, own) = (commit("a", 1, 2, &[b"2"]), store.clone());
    let (go, wait) = mpsc::channel::<()>();
    store.commit(
        Arc::new(last),
        Box::new(move |result| {
            result.expect("kept");
            wait.recv().expect_err("the other handle is gone");
            drop(own);
        }),
    );
    drop(store);
    drop(go);
    let mut tries = (0..600).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        SqliteStore::open(folder.file())
    });
    let store = tries.find_map(Result::ok).expect("closed by then");
    assert_eq!(store.take("a").unwrap().rows.len(), 2);
}

#[test]
fn what_cannot_be_opened_is_refused_by_name() {
    let folder = Folder::new("refused");
    let refused = |path: &std::path::Path| {
        let error = SqliteStore::open(path).expect_err("refused");
        assert!(error.to_string().contains(&*path.file_name().unwrap().to_string_lossy()), "{error}");
        error
    };
    let error = refused(&folder.path().join("missing").join("rooms.db"));
    assert!(matches!(&error, OpenError::NoFolder { folder, .. } if folder.ends_with("missing")), "{error}");
    assert!(matches!(refused(folder.path()), OpenError::System { .. }));

    let text = folder.path().join("text");
    std::fs::write(&text, "no database, but longer than a header of one would be. ".repeat(40)).unwrap();
    assert!(matches!(refused(&text), OpenError::Store(StoreError::StoreDamaged { .. })));

    let sql = |file: &std::path::Path, sql: &str| {
        rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    };
    let foreign = folder.path().join("foreign.db");
    sql(&foreign, "CREATE TABLE rooms(id INTEGER)");
    assert!(matches!(refused(&foreign), OpenError::Foreign { .. }));

    drop(folder.open());
    sql(&folder.file(), "PRAGMA user_version = 7");
    let error = refused(&folder.file());
    assert!(matches!(error, OpenError::Newer { found: 7, known: 1, .. }), "{error}");
    assert!(error.to_string().contains("newer"), "{error}");
    sql(&folder.file(), "PRAGMA user_version = 1; CREATE TABLE notes(text)");
    drop(folder.open());
}

#[test]
fn a_folder_is_no_way_around_the_lock() {
    let folder = Folder::new("links");
    let store = folder.open();
    let around = folder.path().join(".").join("rooms.db");
    assert!(matches!(SqliteStore::open(around), Err(OpenError::Held { .. })));
    #[cfg(unix)]
    {
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(folder.file(), &link).unwrap();
        assert!(matches!(SqliteStore::open(link), Err(OpenError::Held { .. })));
    }
    drop(store);
}

#[test]
fn the_sqlite_in_use_has_no_known_race_of_checkpoints() {
    // Before 3.51.3 a checkpoint beside a writer could make SQLite take what was written for moved.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

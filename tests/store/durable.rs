//! The three durabilities.

use std::time::{Duration, Instant};

use room::server::{Durability, SqliteOptions, SqliteStore};
use room::storage::Store;

use crate::kit::{Folder, filled, keep};

fn opened(folder: &Folder, durability: Durability) -> SqliteStore {
    let store = SqliteStore::open_with(folder.file(), SqliteOptions { durability, max_bytes: None }).unwrap();
    store.take("a").unwrap();
    for seq in 1..=20 {
        keep(&store, filled("a", 1, seq..seq + 1, 1000)).unwrap();
    }
    store
}

#[test]
fn without_more_nothing_waits_for_the_disk() {
    let stats = opened(&Folder::new("process"), Durability::default()).stats();
    assert_eq!((stats.synced, stats.transactions), (0, 21));
    assert_eq!(stats.commits, 20);
}

#[test]
fn on_disk_every_commit_is_synced() {
    let stats = opened(&Folder::new("disk"), Durability::Disk).stats();
    assert_eq!((stats.synced, stats.transactions), (21, 21));
}

#[test]
fn at_an_interval_one_sync_is_that_of_many_commits() {
    let folder = Folder::new("interval");
    let stats = opened(&folder, Durability::Interval(Duration::from_secs(3600))).stats();
    assert_eq!((stats.synced, stats.transactions), (0, 21), "the interval is not over");

    // Over at once: as on disk.
    let folder = Folder::new("interval");
    assert_eq!(opened(&folder, Durability::Interval(Duration::ZERO)).stats().synced, 21);
}

#[test]
fn at_an_interval_the_last_commit_is_synced_though_no_other_follows() {
    let folder = Folder::new("last");
    let store = opened(&folder, Durability::Interval(Duration::from_millis(100)));
    let (kept, began) = (store.stats(), Instant::now());
    while store.stats().synced == kept.synced {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
    // And then there is nothing to sync.
    let synced = store.stats();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(store.stats(), synced);
}

#[test]
fn the_wal_is_bounded_under_a_load_without_gaps() {
    let folder = Folder::new("wal");
    let store = folder.open();
    let rooms = ["a", "b", "c", "d"];
    for room in rooms {
        store.take(room).unwrap();
    }
    let bytes: u64 = std::thread::scope(|scope| {
        let loads = rooms.map(|room| {
            let store = &store;
            scope.spawn(move || {
                let commits = (1..=1500).map(|seq| filled(room, 1, seq..seq + 1, 20_000));
                commits
                    .map(|commit| {
                        let bytes = commit.rows[0].len() as u64;
                        keep(store, commit).unwrap();
                        bytes
                    })
                    .sum::<u64>()
            })
        });
        loads.map(|load| load.join().unwrap()).iter().sum()
    });
    let stats = store.stats();
    let bound = room::limits::STORE_WAL_MOST + 2 * room::limits::STORE_WAL;
    assert!(bytes > bound && stats.wal_most < bound, "{bytes} written: {stats:?}");
    assert!(stats.checkpoints > 0, "{stats:?}");
    assert_eq!(rooms.map(|room| store.take(room).unwrap().rows.len()), [1500; 4]);
}

//! How long commits take: figures for people, not for machines.

use std::time::{Duration, Instant};

use room::server::{Durability, SqliteOptions, SqliteStore};
use room::storage::{Commit, Store};

use crate::kit::{Folder, commit, filled, give, heard};

const TICK: Duration = Duration::from_millis(50);
const ROOMS: usize = 60;

/// One room commits so many bytes every 50 ms, and sixty others as well, each at its own time.
fn measure(name: &str, durability: Durability, others: usize, seconds: u64) {
    let folder = Folder::new("measure");
    let store = SqliteStore::open_with(folder.file(), SqliteOptions { durability, max_bytes: None }).unwrap();
    let began = Instant::now();
    let load = |room: String, offset: Duration, len: usize| {
        let epoch = store.take(&room).unwrap().epoch;
        let row = vec![0x5a; len];
        let mut times = Vec::new();
        for seq in 1..=seconds * 20 {
            let due = offset + TICK * seq as u32;
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            // Every 30 seconds a snapshot is done, and what was before it goes.
            let forget = if seq % 600 == 0 { seq } else { 0 };
            let next = Commit { forget, ..commit(&room, epoch, seq, &[&row]) };
            let given = Instant::now();
            heard(&give(&store, next)).unwrap();
            times.push(given.elapsed());
        }
        times
    };
    let (mut main, mut all) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| load("main".into(), Duration::ZERO, 10_000));
        let load = &load;
        let rest = (0..ROOMS).map(|room| {
            scope.spawn(move || load(format!("room-{room}"), TICK * room as u32 / ROOMS as u32, others))
        });
        let rest: Vec<_> = rest.collect();
        main = first.join().unwrap();
        all = rest.into_iter().flat_map(|times| times.join().unwrap()).collect();
    });
    let show = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
        format!("p50 {:.2} p99 {:.2} p99.9 {:.2} most {:.2} ms", at(0.5), at(0.99), at(0.999), at(1.0))
    };
    println!("{name}, 1 room of 10 kB: {}", show(&mut main));
    println!("{name}, {ROOMS} rooms of {others} B: {}", show(&mut all));
    println!("{name}: {:?}", store.stats());
    let closing = Instant::now();
    drop(store);
    let length = std::fs::metadata(folder.file()).unwrap().len();
    println!("{name}: closed in {:?}, {length} bytes", closing.elapsed());
}

#[test]
#[ignore = "takes minutes, and is for a release build"]
fn commits_under_a_steady_load() {
    for (name, durability) in [
        ("process", Durability::Process),
        ("interval", Durability::Interval(Duration::from_secs(1))),
        ("disk", Durability::Disk),
    ] {
        measure(&format!("{name}, others small"), durability, 300, 40);
        measure(&format!("{name}, others alike"), durability, 10_000, 40);
    }
}

#[test]
#[ignore = "is for a release build"]
fn reading_a_long_log_beside_commits() {
    let folder = Folder::new("long");
    let store = folder.open();
    store.take("long").unwrap();
    store.take("other").unwrap();
    for batch in 0..100 {
        heard(&give(&store, filled("long", 1, batch * 100 + 1..batch * 100 + 101, 10_000))).unwrap();
    }
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let began = Instant::now();
            let rows = store.take("long").unwrap().rows;
            (rows.iter().map(Vec::len).sum::<usize>(), began.elapsed())
        });
        let mut times = Vec::new();
        for seq in 1.. {
            let given = Instant::now();
            heard(&give(&store, filled("other", 1, seq..seq + 1, 10_000))).unwrap();
            times.push(given.elapsed());
            if reader.is_finished() {
                break;
            }
        }
        times.sort_unstable();
        let (bytes, took) = reader.join().unwrap();
        println!(
            "{bytes} bytes read in {took:?}; {} commits meanwhile, most {:?}",
            times.len(),
            times.last()
        );
    });
}

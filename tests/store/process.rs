//! Processes that have a store, end in the middle of it, or stand still.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use room::server::{OpenError, SqliteStore};
use room::storage::{Commit, Store};
use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Folder, Rng, bodies, filled, give, heard, keep, log};

const ROOMS: [&str; 3] = ["a", "b", "c"];
/// Bytes of the rows that the processes write, on average.
const LEN: usize = 3000;
const MODE: &str = "ROOM_STORE_CHILD";
const FILE: &str = "ROOM_STORE_FILE";

/// What the other processes do: this test, started by others.
#[test]
#[ignore = "other tests start it"]
fn another_process() {
    let Ok(mode) = std::env::var(MODE) else { return };
    let store = SqliteStore::open(std::env::var(FILE).expect("a file")).expect("a store");
    match mode.as_str() {
        "commit" => commit_for_ever(&store),
        "forget" => forget_and_die(&store),
        other => panic!("{other}?"),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // One write a line, so that none is cut but at the end of the process.
    out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush()).expect("a reader");
}

/// Commits to all rooms, and says what is kept.
fn commit_for_ever(store: &SqliteStore) {
    let mut taken: BTreeMap<_, _> = ROOMS.iter().map(|room| (*room, store.take(room).unwrap())).collect();
    let mut next: BTreeMap<_, _> =
        taken.iter().map(|(room, taken)| (*room, taken.first + taken.rows.len() as u64)).collect();
    say("open");
    for round in 0_u64.. {
        let mut waits = Vec::new();
        for room in ROOMS {
            let first = next[room];
            let end = first + 1 + round % 3;
            let forget = if round % 50 == 49 { first.saturating_sub(20) } else { 0 };
            let epoch = taken.get_mut(room).unwrap().epoch;
            waits.push((room, end, give(store, Commit { forget, ..filled(room, epoch, first..end, LEN) })));
            next.insert(room, end);
        }
        for (room, end, answer) in waits {
            heard(&answer).unwrap();
            say(&format!("kept {room} {}", end - 1));
        }
    }
}

/// Ends without a warning as soon as many rows are not wanted any more, before one of them is deleted.
fn forget_and_die(store: &SqliteStore) {
    store.take("a").unwrap();
    keep(store, filled("a", 1, 1..1001, LEN)).unwrap();
    let forget = Commit { forget: 991, ..filled("a", 1, 1001..1002, LEN) };
    store.commit(Arc::new(forget), Box::new(|_| std::process::abort()));
    std::thread::sleep(Duration::from_secs(60));
}

struct Other {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Other {
    fn start(folder: &Folder, mode: &str) -> Other {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["--exact", "process::another_process", "--ignored", "--nocapture"])
            .env(MODE, mode)
            .env(FILE, folder.file())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let (send, lines) = mpsc::channel();
        let out: ChildStdout = child.stdout.take().expect("its output");
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Other { child, lines }
    }

    fn commits(folder: &Folder) -> Other {
        let other = Other::start(folder, "commit");
        other.wait_for("open");
        other
    }

    fn wait_for(&self, start: &str) {
        let mut lines = std::iter::from_fn(|| self.lines.recv_timeout(Duration::from_secs(60)).ok());
        assert!(lines.any(|line| line.starts_with(start)), "it did not say {start}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Kills it, and returns the last row of each room that it called kept.
    fn kill(mut self) -> BTreeMap<String, u64> {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        let mut kept = BTreeMap::new();
        for line in self.lines {
            let mut words = line.split(' ');
            if words.next() == Some("kept") {
                let (room, seq) = (words.next().unwrap(), words.next().unwrap());
                kept.insert(room.to_owned(), seq.parse().unwrap());
            }
        }
        kept
    }
}

/// Looks whether each room has exactly its rows, and all that were called kept.
fn check(store: &SqliteStore, kept: &BTreeMap<String, u64>, seen: &mut BTreeMap<String, u64>) {
    for room in ROOMS {
        let taken = store.take(room).unwrap();
        let end = taken.first + taken.rows.len() as u64;
        assert!(
            taken.rows == bodies(room, taken.first..end, LEN),
            "room {room} has other rows than were written"
        );
        assert!(!taken.restored);
        let last = kept.get(room).copied().unwrap_or(0).max(seen.get(room).copied().unwrap_or(0));
        assert!(end > last, "room {room} ends before {end}, and {last} was kept");
        seen.insert(room.to_owned(), end - 1);
    }
}

#[test]
fn a_process_killed_at_any_instant_loses_nothing_it_has_kept() {
    let mut rng = Rng::seeded("a_process_killed_at_any_instant_loses_nothing_it_has_kept");
    let rounds = std::env::var("STORE_ROUNDS").map_or(25, |rounds| rounds.parse().expect("a number"));
    let folder = Folder::new("kill");
    let (mut seen, mut all) = (BTreeMap::new(), BTreeMap::new());
    for round in 0..rounds {
        let other = Other::commits(&folder);
        std::thread::sleep(Duration::from_micros(rng.below(60_000)));
        let kept = other.kill();
        for (room, seq) in kept {
            let last = all.insert(room.clone(), seq);
            assert!(last <= Some(seq), "room {room} went back from {last:?} to {seq}");
        }
        // Now and then one killed process follows the other, and nobody tidies up between them.
        if rng.below(3) > 0 || round + 1 == rounds {
            check(&folder.open(), &all, &mut seen);
        }
    }
    println!("rows kept: {all:?}");
    assert_eq!(all.len(), ROOMS.len());
}

#[test]
fn a_second_process_is_refused_by_the_firsts_id_and_follows_it_at_once() {
    let folder = Folder::new("second");
    let other = Other::commits(&folder);
    let id = other.child.id();
    let error = SqliteStore::open(folder.file()).expect_err("it is held");
    assert!(matches!(error, OpenError::Held { process: Some(process), .. } if process == id), "{error}");
    assert!(error.to_string().contains(&format!("process {id}")), "{error}");
    let kept = other.kill();
    let began = Instant::now();
    let store = folder.open();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    check(&store, &kept, &mut BTreeMap::new());

    let error = SqliteStore::open(folder.file()).expect_err("it is held");
    assert!(error.to_string().contains(&format!("this process already ({})", std::process::id())), "{error}");
}

#[test]
fn a_process_that_stands_still_keeps_its_store() {
    let folder = Folder::new("still");
    let other = Other::commits(&folder);
    other.wait_for("kept");
    other.signal(Signal::STOP);
    let length = || folder.path().read_dir().unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    std::thread::sleep(Duration::from_millis(50));
    let before: u64 = length().sum();
    for _ in 0..3 {
        assert!(matches!(SqliteStore::open(folder.file()), Err(OpenError::Held { .. })));
    }
    assert_eq!(length().sum::<u64>(), before, "who was refused has written something");
    other.signal(Signal::CONT);
    other.wait_for("kept");
    assert!(matches!(SqliteStore::open(folder.file()), Err(OpenError::Held { .. })));
    let kept = other.kill();
    // No row twice: the bodies say which they are.
    check(&folder.open(), &kept, &mut BTreeMap::new());
}

#[test]
fn what_a_kill_left_to_delete_is_deleted_by_the_next_process() {
    let folder = Folder::new("leftover");
    let mut other = Other::start(&folder, "forget");
    other.child.wait().expect("it ends");
    let rows = || {
        let db = rusqlite::Connection::open(folder.file()).unwrap();
        db.query_row(&format!("SELECT count(*) FROM {}", log(&folder, "a")), [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let store = folder.open();
    assert_eq!(store.rooms().unwrap().len(), 1);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(rows(), 1001, "a log that was not looked at is let alone");
    let taken = store.take("a").unwrap();
    assert!((taken.first, taken.rows) == (991, bodies("a", 991..1002, LEN)));
    let began = Instant::now();
    while store.stats().trimmed < 990 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(rows(), 11);
    assert_eq!(store.take("a").unwrap().rows.len(), 11);
}

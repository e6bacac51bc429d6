//! What these tests share: folders, commits, rows that can be checked.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use room::server::SqliteStore;
use room::storage::{Commit, State, Store, StoreError, StoredLabel};

/// A folder of one test, which goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("room-store-{}-{name}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The store's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("rooms.db")
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.file()).expect("a store")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A commit of rows to an awake room.
pub(crate) fn commit(room: &str, epoch: u64, first: u64, rows: &[&[u8]]) -> Commit {
    let rows = rows.iter().map(|row| row.to_vec()).collect();
    Commit { room: room.into(), epoch, first, rows, forget: 0, state: State::Awake, label: None }
}

/// A label with a code, or with none.
pub(crate) fn label(code: &str, bytes: &[u8]) -> Option<StoredLabel> {
    Some(StoredLabel { code: code.to_owned(), bytes: bytes.to_vec() })
}

/// The name of the table of a room's log.
pub(crate) fn log(folder: &Folder, room: &str) -> String {
    let db = rusqlite::Connection::open(folder.file()).expect("a file");
    let id = db.query_row("SELECT id FROM rooms WHERE name = ?1", [room], |row| row.get::<_, i64>(0));
    format!("log_{}", id.expect("the room"))
}

/// Gives a commit, and what to wait for.
pub(crate) fn give(store: &dyn Store, commit: Commit) -> mpsc::Receiver<Result<(), StoreError>> {
    let (done, answer) = mpsc::channel();
    store.commit(Arc::new(commit), Box::new(move |result| done.send(result).expect("somebody waits")));
    answer
}

/// Waits for what [`give`] returned.
pub(crate) fn heard(answer: &mpsc::Receiver<Result<(), StoreError>>) -> Result<(), StoreError> {
    answer.recv_timeout(Duration::from_secs(60)).expect("an answer")
}

/// Keeps a commit.
pub(crate) fn keep(store: &dyn Store, commit: Commit) -> Result<(), StoreError> {
    heard(&give(store, commit))
}

/// A row's own numbers.
fn numbers(room: &str, seq: u64) -> Rng {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Rng(room.bytes().fold(0xcbf2_9ce4_8422_2325, hash) ^ seq << 32)
}

/// The row of a room with a number: any two differ, and a changed one is none.
pub(crate) fn body(room: &str, seq: u64, len: usize) -> Vec<u8> {
    let mut numbers = numbers(room, seq);
    let mut body: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| numbers.next().to_le_bytes()).collect();
    body.truncate(len);
    body
}

/// The rows from one to another, each of a length that depends on its number.
pub(crate) fn bodies(room: &str, seqs: std::ops::Range<u64>, len: usize) -> Vec<Vec<u8>> {
    seqs.map(|seq| body(room, seq, len / 2 + numbers(room, seq).below(len as u64 + 1) as usize)).collect()
}

/// A commit of such rows.
pub(crate) fn filled(room: &str, epoch: u64, seqs: std::ops::Range<u64>, len: usize) -> Commit {
    Commit { rows: bodies(room, seqs.clone(), len), ..commit(room, epoch, seqs.start, &[]) }
}

/// A number that a test prints and can be given again.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// From `STORE_SEED`, or from the clock.
    pub(crate) fn seeded(test: &str) -> Rng {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let given =
            std::env::var("STORE_SEED").ok().map(|seed| seed.parse().expect("STORE_SEED is a number"));
        let seed = given.unwrap_or(clock.as_nanos() as u64);
        println!("{test}: STORE_SEED={seed}");
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

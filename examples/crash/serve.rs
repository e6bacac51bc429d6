//! The process that is killed: a server with its store.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use room::runtime::Identity;
use room::server::{Server, SqliteStore};
use room::storage::{Commit, Done, Store, StoreError, StoredRoom, Taken};
use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::Failure;
use crate::effects;
use crate::game::Field;
use crate::luck::Luck;

/// What this process says, a line each: it listens; it was given a slice of a snapshot to keep.
pub const LISTENS: &str = "listens";
pub const SLICE: &str = "slice";

/// A commit of so many bytes has a slice of a snapshot in it: others are much smaller, in this game.
const SLICE_BYTES: usize = room::limits::SLICE * 3 / 5;

/// How a run is to serve.
pub struct Serve<'a> {
    pub store: &'a Path,
    pub side: &'a Path,
    pub port: u16,
    pub clients: usize,
    /// Runs of the room are counted from 1.
    pub run: u64,
}

/// Serves until the input ends, which it does with the process that started this one, or until it is killed.
pub async fn serve(serve: Serve<'_>) -> Result<(), Failure> {
    room::server::init_logs();
    effects::open(serve.side, serve.run)?;
    let store = SqliteStore::open(serve.store)?;
    let server = Server::new(|_: &str| Field::default())
        .port(serve.port)
        // Players who left without a word keep their seats for a while.
        .max_players(4 * serve.clients + 50)
        .sockets_per_second(1_000_000)
        .authenticate(|request| async move {
            match request.auth::<Option<String>>() {
                Ok(Some(Some(account))) => Ok(Identity::account(account)),
                _ => Ok(Identity::guest()),
            }
        })
        .store(Watched::new(store, serve.run))
        .start()
        .await?;
    say(LISTENS);
    let mut rest = Vec::new();
    // Whatever ends it: there is nobody any more who would read what this process says.
    let _ = tokio::io::stdin().read_to_end(&mut rest).await;
    server.shutdown().await;
    Ok(())
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who listens may have ended.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A store that says when it is given a slice of a snapshot, and that is slow now and then, before it keeps a commit or
/// before it says so: else a kill would hardly ever fall between what is said and what is kept.
struct Watched {
    store: SqliteStore,
    luck: Mutex<Luck>,
}

/// One in so many commits is delayed, by so many milliseconds at the most.
const SLOW: u64 = 3;
const SLOW_MS: u64 = 25;

impl Watched {
    fn new(store: SqliteStore, seed: u64) -> Watched {
        Watched { store, luck: Mutex::new(Luck::new(seed)) }
    }

    fn delays(&self) -> [Duration; 2] {
        let mut luck = self.luck.lock().unwrap_or_else(PoisonError::into_inner);
        [0; 2].map(|_| match luck.below(SLOW) {
            0 => Duration::from_millis(luck.between(1, SLOW_MS)),
            _ => Duration::ZERO,
        })
    }
}

impl Store for Watched {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.store.rooms()
    }

    fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.store.awake()
    }

    fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError> {
        self.store.find(room)
    }

    fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
        self.store.by_code(code)
    }

    fn take(&self, room: &str) -> Result<Taken, StoreError> {
        self.store.take(room)
    }

    fn commit(&self, commit: Arc<Commit>, done: Done) {
        if commit.rows.iter().map(Vec::len).sum::<usize>() > SLICE_BYTES {
            say(SLICE);
        }
        // A room gives one commit at a time, so none overtakes another.
        let (store, here, [before, after]) = (self.store.clone(), Handle::current(), self.delays());
        let done: Done = match after {
            Duration::ZERO => done,
            after => Box::new(move |result| {
                here.spawn(async move {
                    sleep(after).await;
                    done(result);
                });
            }),
        };
        if before.is_zero() {
            return store.commit(commit, done);
        }
        tokio::spawn(async move {
            sleep(before).await;
            store.commit(commit, done);
        });
    }

    fn close(&self) {
        self.store.close();
    }
}

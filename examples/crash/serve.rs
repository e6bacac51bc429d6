//! The process that is killed: a server with its store.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use room::runtime::Identity;
use room::server::{Server, SqliteStore};
use room::storage::{Commit, Done, Store, StoreError, StoredRoom, Taken};
use tokio::io::AsyncReadExt;

use crate::Failure;
use crate::effects;
use crate::game::Field;

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
        .store(Watched(store))
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

/// A store that says when it is given a slice of a snapshot.
struct Watched(SqliteStore);

impl Store for Watched {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        self.0.rooms()
    }

    fn take(&self, room: &str) -> Result<Taken, StoreError> {
        self.0.take(room)
    }

    fn commit(&self, commit: Arc<Commit>, done: Done) {
        if commit.rows.iter().map(Vec::len).sum::<usize>() > SLICE_BYTES {
            say(SLICE);
        }
        self.0.commit(commit, done);
    }

    fn close(&self) {
        self.0.close();
    }
}

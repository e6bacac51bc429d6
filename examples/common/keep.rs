//! Where an example keeps its rooms: in a file, in one that goes when it ends, or in memory alone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use room::Game;
use room::server::{Server, SqliteStore};

use crate::args::{Args, Flag};

/// The file to keep rooms in.
pub const STORE: Flag = Flag {
    name: "store",
    value: "FILE",
    help: "where rooms are kept: a file of the example's name, or with bots one that is removed",
};
/// No file at all.
pub const NO_STORE: Flag =
    Flag { name: "no-store", value: "", help: "keep rooms in memory alone: they end with the process" };

/// Where rooms are kept. What is temporary goes with it.
#[derive(Debug, Default)]
pub struct Keep {
    // Dropped first: the file is closed before its folder goes.
    store: Option<SqliteStore>,
    folder: Option<Folder>,
}

impl Keep {
    /// What the flags say; without them a file of that name in the working directory, or where there is no name a
    /// temporary one.
    pub fn of(args: &Args, name: Option<&str>) -> Result<Keep, String> {
        match (args.text(STORE.name), args.has(NO_STORE.name)) {
            (Some(_), true) => Err("`--store` and `--no-store` contradict each other".to_owned()),
            (None, true) => Ok(Keep::default()),
            (given, false) => match given.or(name) {
                Some(file) => Keep::in_file(Path::new(file)),
                None => Keep::temporary(),
            },
        }
    }

    /// In a file, which stays.
    pub fn in_file(file: &Path) -> Result<Keep, String> {
        let store = SqliteStore::open(file).map_err(|error| error.to_string())?;
        Ok(Keep { store: Some(store), folder: None })
    }

    /// In a file that is removed when this is dropped.
    pub fn temporary() -> Result<Keep, String> {
        let folder = Folder::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let kept = Keep::in_file(&folder.0.join("rooms.db"))?;
        Ok(Keep { folder: Some(folder), ..kept })
    }

    /// The server with this store, if there is one.
    pub fn attach<G: Game>(&self, server: Server<G>) -> Server<G> {
        match &self.store {
            Some(store) => server.store(store.clone()),
            None => server,
        }
    }

    /// The store itself, where there is one.
    pub fn store(&self) -> Option<&SqliteStore> {
        self.store.as_ref()
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        self.store.as_ref().map(SqliteStore::path)
    }

    /// Whether rooms are kept in a file.
    pub fn is_durable(&self) -> bool {
        self.store.is_some()
    }
}

/// A folder that is removed with all in it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("room-example-{}-{number}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clear away.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

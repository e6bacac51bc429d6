//! The lock beside the store, and what it remembers of the store.
//!
//! The lock is the operating system's, on `FILE.lock`, and dies with its process. It is no lock on the database: to
//! close a second descriptor of that would drop SQLite's own locks. The file is never deleted, for a lock on a deleted
//! file keeps nobody out.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fault::OpenError;

/// How long a process that is kept out waits before it reads whose the lock is: its owner may have got it just now.
const OWNER_WRITES: Duration = Duration::from_millis(20);

/// What is known of the store from outside of it, to see that its file was put back from a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Random numbers, one of which the store has: the one that it had, and the one that it is being given. The same
    /// twice once it has it, so that a crash between the two writes is not taken for a copy.
    pub(super) marks: [u128; 2],
    /// Rows and epochs that the store counted. It may have counted more, if the process ended before it said so, but
    /// never fewer.
    pub(super) count: u64,
}

/// The lock, held.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
}

impl LockFile {
    /// Gets the lock, and what the file remembers.
    pub(super) fn take(store: &Path) -> Result<(LockFile, Option<Memory>), OpenError> {
        let path = beside(store, ".lock");
        let system = |error| OpenError::System { store: path.clone(), error };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = file.map_err(system)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(OWNER_WRITES);
                // A system whose locks keep readers out as well does not tell.
                let process = text(&mut file).ok().and_then(|text| value(&text, "process")?.parse().ok());
                return Err(OpenError::Held { store: store.to_owned(), process });
            }
            Err(TryLockError::Error(error)) => return Err(system(error)),
        }
        let memory = text(&mut file).ok().and_then(|text| parse(&text));
        let mut lock = LockFile { file };
        lock.write(memory).map_err(system)?;
        Ok((lock, memory))
    }

    /// Writes what is to be remembered. It is one write of always the same length, so no end of the process leaves
    /// half of it.
    pub(super) fn write(&mut self, memory: Option<Memory>) -> io::Result<()> {
        let mut text = format!("process {:010}\n", std::process::id());
        if let Some(Memory { marks: [had, has], count }) = memory {
            text += &format!("had {had:032x}\nhas {has:032x}\ncount {count:020}\n");
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())?;
        if memory.is_none() { self.file.set_len(text.len() as u64) } else { Ok(()) }
    }

    /// As [`write`](Self::write), and survives a power cut.
    pub(super) fn write_synced(&mut self, memory: Memory) -> io::Result<()> {
        self.write(Some(memory))?;
        self.file.sync_all()
    }
}

impl Drop for LockFile {
    /// A process that is being started has a copy of the descriptor for a moment, so closing it may not be enough.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The path of a file beside another, by what is put behind its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn text(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(1024).read_to_string(&mut text)?;
    Ok(text)
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

fn parse(text: &str) -> Option<Memory> {
    let mark = |name| u128::from_str_radix(value(text, name)?, 16).ok();
    Some(Memory { marks: [mark("had")?, mark("has")?], count: value(text, "count")?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_does_not_hold_the_lock() {
        let store = std::env::temp_dir().join(format!("room-lock-{}", std::process::id()));
        let (lock, _) = LockFile::take(&store).expect("nobody has it");
        assert!(LockFile::take(&store).is_err());
        let copy = lock.file.try_clone().expect("a copy, as a child has it");
        drop(lock);
        assert!(LockFile::take(&store).is_ok());
        drop(copy);
        let _ = std::fs::remove_file(beside(&store, ".lock"));
    }

    #[test]
    fn what_is_remembered_is_read_back_and_nothing_else_is_believed() {
        let whole = "process 0000000007\nhad 0a\nhas 0b\ncount 00012\n";
        assert_eq!(parse(whole), Some(Memory { marks: [10, 11], count: 12 }));
        assert_eq!(value(whole, "process").unwrap().parse(), Ok(7));
        for cut in 0..whole.len() - 8 {
            assert_eq!(parse(&whole[..cut]), None, "{cut}");
        }
    }
}

//! A store in memory, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Commit, Done, State, Store, StoreError, StoredRoom, Taken};
use crate::sync::workers::Shared;

/// A store that keeps its rooms in memory: for tests, which kill a room and wake it again. Clones are the same store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    rooms: Arc<Shared<BTreeMap<String, Log>>>,
}

#[derive(Default)]
struct Log {
    epoch: u64,
    state: Option<State>,
    label: Vec<u8>,
    /// The number of the first row.
    first: u64,
    rows: Vec<Vec<u8>>,
}

impl MemoryStore {
    /// A store without rooms.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Bytes of all rows of a room.
    #[must_use]
    pub fn bytes(&self, room: &str) -> usize {
        self.rooms.with(|rooms| rooms.get(room).map_or(0, |log| log.rows.iter().map(Vec::len).sum()))
    }

    /// Changes the rows of a room, as damage would: for tests.
    pub fn edit(&self, room: &str, change: impl FnOnce(&mut Vec<Vec<u8>>)) {
        self.rooms.with(|rooms| change(&mut rooms.entry(room.to_owned()).or_default().rows));
    }

    /// Keeps a commit at once.
    pub fn keep(&self, commit: &Commit) -> Result<(), StoreError> {
        self.rooms.with(|rooms| match rooms.get_mut(&*commit.room) {
            Some(log) => log.keep(commit),
            // Nobody has taken it.
            None => Err(StoreError::Fenced { room: commit.room.to_string(), epoch: commit.epoch, newest: 0 }),
        })
    }
}

impl Log {
    fn keep(&mut self, commit: &Commit) -> Result<(), StoreError> {
        let room = || commit.room.to_string();
        if commit.epoch != self.epoch {
            return Err(StoreError::Fenced { room: room(), epoch: commit.epoch, newest: self.epoch });
        }
        let next = self.first + self.rows.len() as u64;
        if commit.first != next {
            // Given again, after an answer that was lost.
            let kept = !commit.rows.is_empty() && commit.last() + 1 == next;
            let gap = StoreError::Gap { room: room(), last: next - 1, first: commit.first };
            return if kept { Ok(()) } else { Err(gap) };
        }
        self.rows.extend(commit.rows.iter().cloned());
        let over = commit.forget.saturating_sub(self.first).min(self.rows.len() as u64);
        self.rows.drain(..over as usize);
        self.first += over;
        self.state = Some(commit.state);
        if let Some(label) = &commit.label {
            self.label.clone_from(label);
        }
        if commit.state == State::Gone {
            *self = Log { epoch: self.epoch, first: next, ..Log::default() };
        }
        Ok(())
    }
}

impl Store for MemoryStore {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        Ok(self.rooms.with(|rooms| {
            let kept = rooms.iter().filter(|(_, log)| log.state.is_some());
            kept.map(|(name, log)| StoredRoom {
                name: name.clone(),
                awake: log.state == Some(State::Awake),
                label: log.label.clone(),
            })
            .collect()
        }))
    }

    fn take(&self, room: &str) -> Result<Taken, StoreError> {
        Ok(self.rooms.with(|rooms| {
            let log = rooms.entry(room.to_owned()).or_insert_with(|| Log { first: 1, ..Log::default() });
            log.epoch += 1;
            Taken { epoch: log.epoch, restored: false, first: log.first, rows: log.rows.clone() }
        }))
    }

    fn commit(&self, commit: Arc<Commit>, done: Done) {
        done(self.keep(&commit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(epoch: u64, first: u64, rows: &[u8]) -> Commit {
        let rows = rows.iter().map(|row| vec![*row]).collect();
        let (room, forget, state, label) = ("a".into(), 0, State::Awake, None);
        Commit { room, epoch, first, rows, forget, state, label }
    }

    #[test]
    fn a_log_grows_at_its_end_and_for_its_owner_alone() {
        let store = MemoryStore::new();
        assert_eq!(store.take("a").unwrap(), Taken { epoch: 1, restored: false, first: 1, rows: vec![] });
        assert_eq!(store.rooms().unwrap(), [], "nothing is kept of it yet");
        store.keep(&commit(1, 1, &[1, 2])).unwrap();
        store.keep(&commit(1, 1, &[1, 2])).expect("an answer was lost");
        assert!(matches!(store.keep(&commit(1, 5, &[5])), Err(StoreError::Gap { last: 2, .. })));
        store.keep(&Commit { forget: 2, ..commit(1, 3, &[3]) }).unwrap();
        let again = store.take("a").unwrap();
        assert_eq!((again.epoch, again.first, again.rows), (2, 2, vec![vec![2], vec![3]]));
        assert!(matches!(store.keep(&commit(1, 4, &[4])), Err(StoreError::Fenced { newest: 2, .. })));
        store.keep(&Commit { state: State::Gone, ..commit(2, 4, &[]) }).unwrap();
        assert_eq!(store.rooms().unwrap(), []);
        let last = store.take("a").unwrap();
        assert_eq!((last.epoch, last.rows.len()), (3, 0));
    }
}

//! A store in memory, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Commit, Done, State, Store, StoreError, StoredLabel, StoredRoom, Taken};
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
    label: StoredLabel,
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
        self.rooms.with(|rooms| {
            let Some(log) = rooms.get_mut(&*commit.room) else {
                // Nobody has taken it.
                let (room, epoch) = (commit.room.to_string(), commit.epoch);
                return Err(StoreError::Fenced { room, epoch, newest: 0 });
            };
            let code = log.keep(commit)?;
            let others = rooms.iter_mut().filter(|(name, _)| name.as_str() != &*commit.room);
            for (_, other) in others.filter(|(_, other)| !code.is_empty() && other.label.code == code) {
                other.label.code.clear();
            }
            Ok(())
        })
    }
}

impl Log {
    /// What users see of it.
    fn stored(&self, name: &str) -> Option<StoredRoom> {
        let awake = self.state? == State::Awake;
        Some(StoredRoom { name: name.to_owned(), awake, label: self.label.clone() })
    }

    /// Keeps a commit, and returns the code that the room has from now on, where the commit says it.
    fn keep(&mut self, commit: &Commit) -> Result<String, StoreError> {
        let room = || commit.room.to_string();
        if commit.epoch != self.epoch {
            return Err(StoreError::Fenced { room: room(), epoch: commit.epoch, newest: self.epoch });
        }
        let next = self.first + self.rows.len() as u64;
        if commit.first != next {
            // Given again, after an answer that was lost.
            let kept = !commit.rows.is_empty() && commit.last() + 1 == next;
            let gap = StoreError::Gap { room: room(), last: next - 1, first: commit.first };
            return if kept { Ok(String::new()) } else { Err(gap) };
        }
        self.rows.extend(commit.rows.iter().cloned());
        let over = commit.forget.saturating_sub(self.first).min(self.rows.len() as u64);
        self.rows.drain(..over as usize);
        self.first += over;
        self.state = Some(commit.state);
        let said = commit.label.as_ref().map(StoredLabel::checked);
        let code = said.as_ref().map_or_else(String::new, |label| label.code.clone());
        self.label = said.unwrap_or_else(|| std::mem::take(&mut self.label));
        if commit.state == State::Gone {
            *self = Log { epoch: self.epoch, first: next, ..Log::default() };
            return Ok(String::new());
        }
        Ok(code)
    }
}

impl Store for MemoryStore {
    fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
        Ok(self.rooms.with(|rooms| rooms.iter().filter_map(|(name, log)| log.stored(name)).collect()))
    }

    fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
        Ok(self.rooms()?.into_iter().filter(|room| room.awake).collect())
    }

    fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError> {
        Ok(self.rooms.with(|rooms| rooms.get(room)?.stored(room)))
    }

    fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
        let has = |room: &StoredRoom| !code.is_empty() && room.label.code == code;
        Ok(self.rooms()?.into_iter().find(has).map(|room| room.name))
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

    #[test]
    fn a_room_is_found_by_the_code_that_it_was_given_last_and_no_other_has_it() {
        let store = MemoryStore::new();
        let coded = |room: &str, code: &str| {
            let label = Some(StoredLabel { code: code.to_owned(), bytes: vec![1] });
            Commit { room: room.into(), label, ..commit(1, 1, &[]) }
        };
        for (room, code) in [("a", "BCDFGH"), ("b", "JKMNPR"), ("c", "")] {
            store.take(room).unwrap();
            store.keep(&coded(room, code)).unwrap();
        }
        assert_eq!(store.by_code("BCDFGH").unwrap().as_deref(), Some("a"));
        assert_eq!(store.by_code("").unwrap(), None, "no code is none");
        store.keep(&coded("b", "BCDFGH")).unwrap();
        assert_eq!(store.by_code("BCDFGH").unwrap().as_deref(), Some("b"));
        assert_eq!(store.by_code("JKMNPR").unwrap(), None);
        assert_eq!(
            store.find("a").unwrap().unwrap().label,
            StoredLabel { code: String::new(), bytes: vec![1] }
        );
        store.keep(&Commit { state: State::Asleep, ..coded("a", "") }).unwrap();
        assert_eq!(store.by_code("BCDFGH").unwrap().as_deref(), Some("b"), "it was not this room's any more");
        let awake: Vec<_> = store.awake().unwrap().into_iter().map(|room| room.name).collect();
        assert_eq!(awake, ["b", "c"]);
        store.keep(&Commit { state: State::Gone, ..coded("b", "BCDFGH") }).unwrap();
        assert_eq!((store.find("b").unwrap(), store.by_code("BCDFGH").unwrap()), (None, None));
    }
}

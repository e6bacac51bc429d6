//! Random commits, against the store in memory.

use std::collections::BTreeSet;

use proptest::prelude::*;
use room::server::SqliteStore;
use room::storage::{Commit, MemoryStore, State, Store, StoreError};

use crate::kit::{self, Folder, keep};

const ROOMS: [&str; 3] = ["a", "b", "c"];
/// Fewer than rooms with none, so that they come to have the same.
const CODES: [&str; 3] = ["BCDFGH", "JKMNPR", ""];

#[derive(Clone, Debug)]
enum Act {
    Take(usize),
    /// A commit, most often one that fits: its epoch and first row are off by so much.
    Commit {
        room: usize,
        epoch_off: i64,
        first_off: i64,
        rows: Vec<usize>,
        forget: u64,
        state: State,
        label: Option<(u8, usize)>,
    },
    /// The last commit once more.
    Again,
    Look,
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let off = || prop_oneof![8 => Just(0_i64), 1 => Just(-1_i64), 1 => Just(1_i64)];
    let state = prop_oneof![8 => Just(State::Awake), 2 => Just(State::Asleep), 1 => Just(State::Gone)];
    let forget = prop_oneof![4 => Just(0), 3 => 0..40_u64, 1 => Just(u64::MAX)];
    let len = prop_oneof![6 => 0..200_usize, 2 => 2000..12_000_usize];
    let rows = prop::collection::vec(len, 0..6);
    let commit = (
        0..ROOMS.len(),
        off(),
        off(),
        rows,
        forget,
        state,
        prop::option::weighted(0.3, (any::<u8>(), 0..CODES.len())),
    )
        .prop_map(|(room, epoch_off, first_off, rows, forget, state, label)| Act::Commit {
            room,
            epoch_off,
            first_off,
            rows,
            forget,
            state,
            label,
        });
    prop_oneof![
        3 => (0..ROOMS.len()).prop_map(Act::Take),
        12 => commit,
        2 => Just(Act::Again),
        2 => Just(Act::Look),
        1 => Just(Act::Reopen),
    ]
}

/// What the test knows of a room: its epoch, and its next row.
type Known = (u64, u64);

/// Every answer of the two is the same.
fn look(store: &SqliteStore, oracle: &MemoryStore) {
    assert_eq!(store.rooms(), oracle.rooms());
    assert_eq!(store.awake(), oracle.awake());
    for room in ROOMS {
        assert_eq!(store.find(room), oracle.find(room));
    }
    for code in CODES {
        assert_eq!(store.by_code(code), oracle.by_code(code));
    }
}

fn run(acts: &[Act]) {
    let (folder, oracle) = (Folder::new("model"), MemoryStore::new());
    let mut store = folder.open();
    let mut known: [Known; 3] = [(0, 1); 3];
    let mut taken = BTreeSet::new();
    let mut last: Option<Commit> = None;
    for act in acts {
        let commit = match act {
            Act::Take(room) => {
                let expected = oracle.take(ROOMS[*room]).unwrap();
                assert_eq!(store.take(ROOMS[*room]).unwrap(), expected);
                known[*room] = (expected.epoch, expected.first + expected.rows.len() as u64);
                taken.insert(ROOMS[*room]);
                continue;
            }
            Act::Look => {
                look(&store, &oracle);
                continue;
            }
            Act::Reopen => {
                drop(store);
                store = folder.open();
                continue;
            }
            Act::Again => last.clone(),
            Act::Commit { room, epoch_off, first_off, rows, forget, state, label } => {
                let (epoch, next) = known[*room];
                let rows: Vec<_> = rows.iter().map(|len| vec![next as u8; *len]).collect();
                Some(Commit {
                    room: ROOMS[*room].into(),
                    epoch: epoch.saturating_add_signed(*epoch_off),
                    first: next.saturating_add_signed(*first_off),
                    rows,
                    forget: *forget,
                    state: *state,
                    label: label.and_then(|(byte, code)| kit::label(CODES[code], &[byte; 9])),
                })
            }
        };
        let Some(commit) = commit else { continue };
        let kept = keep(&store, commit.clone());
        if !taken.contains(&*commit.room) {
            assert!(matches!(kept, Err(StoreError::Fenced { newest: 0, .. })), "{kept:?}");
            continue;
        }
        let expected = oracle.keep(&commit);
        assert_eq!(kept, expected, "{commit:?}");
        let room = ROOMS.iter().position(|room| *room == &*commit.room).unwrap();
        if expected.is_ok() && commit.state != State::Gone {
            known[room].1 = known[room].1.max(commit.first + commit.rows.len() as u64);
        }
        last = Some(commit);
    }
    look(&store, &oracle);
    for room in taken {
        assert_eq!(store.take(room).unwrap(), oracle.take(room).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A failure prints the shortest run of acts that shows it, and its seed.
    #[test]
    fn a_file_keeps_what_memory_keeps(acts in prop::collection::vec(act(), 1..60)) {
        run(&acts);
    }
}

//! Interest keys, as games write them.

use smallvec::SmallVec;

use crate::limits;

/// A cell of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellKey {
    /// The grid's prefix.
    pub prefix: u64,
    /// The cell's coordinates; 0 on axes that the grid does not use.
    pub cell: [i64; 3],
}

/// What entities have and connections subscribe to: one in common makes an entity visible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub(super) KeyKind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KeyKind {
    Everywhere,
    Number(u64),
    Text(SmallVec<[u8; 24]>),
    Cell(CellKey),
}

impl Key {
    /// The key that every connection subscribes to.
    pub const EVERYWHERE: Key = Key(KeyKind::Everywhere);
}

impl From<u64> for Key {
    fn from(n: u64) -> Key {
        Key(KeyKind::Number(n))
    }
}

impl From<u32> for Key {
    fn from(n: u32) -> Key {
        Key(KeyKind::Number(n.into()))
    }
}

impl From<crate::PlayerId> for Key {
    fn from(player: crate::PlayerId) -> Key {
        Key::from(player.0)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key(KeyKind::Text(SmallVec::from_slice(text.as_bytes())))
    }
}

impl From<&String> for Key {
    fn from(text: &String) -> Key {
        Key::from(text.as_str())
    }
}

impl From<CellKey> for Key {
    fn from(cell: CellKey) -> Key {
        Key(KeyKind::Cell(cell))
    }
}

/// Where an interest puts its keys.
#[derive(Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
    most: usize,
    refused: usize,
    // Whether they were too many once: from then on they are sorted, and each is there once.
    sorted: bool,
}

impl Keys {
    /// Adds a key; one that is there counts once.
    pub fn add(&mut self, key: impl Into<Key>) {
        if self.keys.len() < self.most && !self.sorted {
            self.keys.push(key.into());
        } else {
            self.add_sorted(key.into());
        }
    }

    /// Adds a key where those that are there more than once leave room for it.
    #[cold]
    fn add_sorted(&mut self, key: Key) {
        if !std::mem::replace(&mut self.sorted, true) {
            self.keys.sort_unstable();
            self.keys.dedup();
        }
        if let Err(at) = self.keys.binary_search(&key) {
            if self.keys.len() < self.most {
                self.keys.insert(at, key);
            } else {
                self.refused += 1;
            }
        }
    }

    /// Adds the key that every connection subscribes to.
    pub fn everywhere(&mut self) {
        self.add(Key::EVERYWHERE);
    }

    pub(crate) fn begin(&mut self, most: usize) {
        self.keys.clear();
        self.refused = 0;
        self.sorted = false;
        self.most = most;
    }

    /// Takes everything back: the game's code panicked.
    pub(crate) fn close(&mut self) {
        self.begin(0);
    }

    pub(crate) fn as_slice(&self) -> &[Key] {
        &self.keys
    }

    /// How many keys were past the bound.
    pub(crate) fn refused(&self) -> usize {
        self.refused
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            KeyKind::Everywhere => f.write_str("everywhere"),
            KeyKind::Number(n) => n.fmt(f),
            KeyKind::Text(text) => write!(f, "{:?}", String::from_utf8_lossy(text)),
            KeyKind::Cell(CellKey { cell, .. }) => write!(f, "cell {cell:?}"),
        }
    }
}

const _: () = assert!(limits::ENTITY_KEYS < limits::SUBSCRIPTIONS);

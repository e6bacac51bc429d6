//! Interest keys: interned, each with the entities that have it and the viewers that subscribe to it.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::limits;
use crate::tick::Tick;

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
pub struct Key(KeyKind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum KeyKind {
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
}

impl Keys {
    /// Adds a key; one that is there counts once.
    pub fn add(&mut self, key: impl Into<Key>) {
        if self.keys.len() < self.most {
            self.keys.push(key.into());
        } else {
            self.refused += 1;
        }
    }

    /// Adds the key that every connection subscribes to.
    pub fn everywhere(&mut self) {
        self.add(Key::EVERYWHERE);
    }

    pub(crate) fn begin(&mut self, most: usize) {
        self.keys.clear();
        self.refused = 0;
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

/// A key in use.
#[derive(Debug, Default)]
pub struct Cell {
    /// The key, while in use.
    key: Option<Key>,
    /// The key's cell, where it is one of a grid.
    pub at: Option<CellKey>,
    /// Entities that have it.
    pub members: Vec<u32>,
    /// Where they stand, in grids: beside `members`.
    pub points: Vec<[f64; 3]>,
    /// Viewers that subscribe to it.
    pub viewers: Vec<u32>,
    /// The seal that last added, took or moved a member.
    pub moved: Tick,
    /// The seal that last changed a member.
    pub changed: Tick,
}

/// An entity's key: which, and its place among the members.
type Placement = SmallVec<[(u32, u32); 2]>;

/// The keys of one part of an interest.
#[derive(Debug)]
pub struct KeyTable {
    index: HashMap<Key, u32, ahash::RandomState>,
    cells: Vec<Cell>,
    free: Vec<u32>,
    placed: Vec<Placement>,
    /// Keys whose members came, went or moved in this seal.
    moved: Vec<u32>,
}

/// The everywhere key's number.
pub const EVERYWHERE: u32 = 0;

impl Default for KeyTable {
    fn default() -> Self {
        KeyTable::new()
    }
}

impl KeyTable {
    /// A table with the everywhere key in it.
    #[must_use]
    pub fn new() -> Self {
        let mut table = KeyTable {
            index: HashMap::with_hasher(ahash::RandomState::with_seeds(5, 6, 7, 8)),
            cells: Vec::new(),
            free: Vec::new(),
            placed: Vec::new(),
            moved: Vec::new(),
        };
        let everywhere = table.intern(&Key::EVERYWHERE);
        debug_assert_eq!(everywhere, EVERYWHERE);
        table
    }

    /// The number of a key; it stays good while the key has a member or a viewer.
    pub fn intern(&mut self, key: &Key) -> u32 {
        if let Some(number) = self.index.get(key) {
            return *number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.cells.push(Cell::default());
            self.cells.len() as u32 - 1
        });
        let cell = &mut self.cells[number as usize];
        cell.key = Some(key.clone());
        cell.at = if let KeyKind::Cell(at) = key.0 { Some(at) } else { None };
        self.index.insert(key.clone(), number);
        number
    }

    /// The number of a key in use.
    #[must_use]
    pub fn number(&self, key: &Key) -> Option<u32> {
        self.index.get(key).copied()
    }

    /// A key in use.
    #[inline]
    #[must_use]
    pub fn cell(&self, number: u32) -> &Cell {
        &self.cells[number as usize]
    }

    fn release(&mut self, number: u32) {
        let cell = &mut self.cells[number as usize];
        if number != EVERYWHERE
            && cell.members.is_empty()
            && cell.viewers.is_empty()
            && let Some(key) = cell.key.take()
        {
            self.index.remove(&key);
            self.free.push(number);
        }
    }

    fn touch(&mut self, number: u32, tick: Tick) {
        let cell = &mut self.cells[number as usize];
        if cell.moved != tick {
            cell.moved = tick;
            self.moved.push(number);
        }
    }

    fn add_member(&mut self, slot: u32, number: u32, point: Option<[f64; 3]>, tick: Tick) {
        let cell = &mut self.cells[number as usize];
        let at = cell.members.len() as u32;
        cell.members.push(slot);
        if let Some(point) = point {
            cell.points.push(point);
        }
        self.placed[slot as usize].push((number, at));
        self.touch(number, tick);
    }

    fn remove_member(&mut self, slot: u32, place: usize, tick: Tick) {
        let (number, at) = self.placed[slot as usize].swap_remove(place);
        let cell = &mut self.cells[number as usize];
        cell.members.swap_remove(at as usize);
        if !cell.points.is_empty() {
            cell.points.swap_remove(at as usize);
        }
        if let Some(moved) = cell.members.get(at as usize).copied() {
            let entry = self.placed[moved as usize].iter_mut().find(|(n, _)| *n == number);
            entry.expect("a member is placed").1 = at;
        }
        self.touch(number, tick);
        self.release(number);
    }

    /// Makes room for slots.
    pub fn grow(&mut self, slots: usize) {
        if self.placed.len() < slots {
            self.placed.resize(slots, Placement::new());
        }
    }

    /// Puts a slot at a point of a grid: the hot path of what moves.
    #[inline]
    pub fn place(&mut self, slot: u32, key: CellKey, point: [f64; 3], tick: Tick) {
        if let [(number, at)] = self.placed[slot as usize][..] {
            let cell = &mut self.cells[number as usize];
            if cell.at == Some(key) {
                cell.points[at as usize] = point;
                self.touch(number, tick);
                return;
            }
        }
        self.remove(slot, tick);
        let number = self.intern(&Key::from(key));
        self.add_member(slot, number, Some(point), tick);
    }

    /// Gives a slot exactly these keys, without points.
    pub fn set(&mut self, slot: u32, keys: &[Key], tick: Tick) {
        let mut numbers: SmallVec<[u32; 8]> = keys.iter().map(|key| self.intern(key)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut place = 0;
        while let Some((number, _)) = self.placed[slot as usize].get(place).copied() {
            if numbers.binary_search(&number).is_ok() {
                place += 1;
            } else {
                self.remove_member(slot, place, tick);
            }
        }
        for number in numbers {
            if !self.placed[slot as usize].iter().any(|(n, _)| *n == number) {
                self.add_member(slot, number, None, tick);
            }
        }
    }

    /// Takes every key from a slot.
    pub fn remove(&mut self, slot: u32, tick: Tick) {
        while let Some(last) = self.placed[slot as usize].len().checked_sub(1) {
            self.remove_member(slot, last, tick);
        }
    }

    /// Keys of a slot.
    pub fn keys_of(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        self.placed.get(slot as usize).into_iter().flatten().map(|(number, _)| *number)
    }

    /// Where a grid has placed a slot.
    #[must_use]
    pub fn point_of(&self, slot: u32) -> Option<[f64; 3]> {
        let (number, at) = *self.placed.get(slot as usize)?.first()?;
        self.cells[number as usize].points.get(at as usize).copied()
    }

    /// Notes that a slot changed; hands out the viewers of each key for which that is the seal's first change.
    pub fn mark_changed(&mut self, slot: u32, tick: Tick, mut first: impl FnMut(&[u32])) {
        for (number, _) in &self.placed[slot as usize] {
            let cell = &mut self.cells[*number as usize];
            if cell.changed != tick {
                cell.changed = tick;
                first(&cell.viewers);
            }
        }
    }

    /// Hands out the viewers of every key whose members came, went or moved in this seal.
    pub fn drain_moved(&mut self, mut viewers: impl FnMut(&[u32])) {
        for number in self.moved.drain(..) {
            viewers(&self.cells[number as usize].viewers);
        }
    }

    /// Replaces a viewer's sorted subscriptions.
    pub fn subscribe(&mut self, viewer: u32, old: &mut Vec<u32>, new: &[u32]) {
        debug_assert!(new.is_sorted());
        for number in old.iter().filter(|n| new.binary_search(n).is_err()) {
            let viewers = &mut self.cells[*number as usize].viewers;
            if let Some(at) = viewers.iter().position(|v| *v == viewer) {
                viewers.swap_remove(at);
            }
            self.release(*number);
        }
        for number in new.iter().filter(|n| old.binary_search(n).is_err()) {
            self.cells[*number as usize].viewers.push(viewer);
        }
        old.clear();
        old.extend_from_slice(new);
    }

    /// A key as people read it.
    pub fn name(&self, number: u32) -> String {
        match self.cells[number as usize].key.as_ref().map(|k| &k.0) {
            None => String::from("unused"),
            Some(KeyKind::Everywhere) => String::from("everywhere"),
            Some(KeyKind::Number(n)) => n.to_string(),
            Some(KeyKind::Text(text)) => format!("{:?}", String::from_utf8_lossy(text)),
            Some(KeyKind::Cell(CellKey { cell, .. })) => format!("cell {cell:?}"),
        }
    }
}

const _: () = assert!(limits::ENTITY_KEYS < limits::SUBSCRIPTIONS);

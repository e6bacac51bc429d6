//! What the room should hold, kept beside it by the same writes in plain structs.

use std::collections::BTreeMap;

use room::wire::record::StoredRecord;
use room::{Bytes, CreateError, Entity, EntityId, Id, Json, PlayerId, Room, WriteError, limits};

use super::game::{News, World};
use super::interest::Look;
use super::kinds::{Board, Chest, Hand, Spark, Unit, VAULT_NOTE, Vault, Writable, hand_of, vault_secret};

#[derive(Clone, Debug)]
pub(crate) enum Thing {
    Unit(Unit),
    Chest(Chest),
    Spark(Spark),
    Vault(Vault),
}

macro_rules! each {
    ($thing:expr, $it:ident => $do:expr) => {
        match $thing {
            Thing::Unit($it) => $do,
            Thing::Chest($it) => $do,
            Thing::Spark($it) => $do,
            Thing::Vault($it) => $do,
        }
    };
}

impl Thing {
    pub(crate) fn new(kind: u8, at: Option<[f64; 3]>, raw: u64) -> Thing {
        let near = at.unwrap_or_default();
        match kind % 8 {
            0..4 => Thing::Unit(Unit::new(PlayerId(raw as u32 % 8), at, raw >> 5)),
            4 | 5 => Thing::Chest(Chest { at: near, team: (raw % 5) as u8, ..Chest::default() }),
            6 => Thing::Spark(Spark {
                at: near.map(|axis| axis as f32),
                team: (raw % 5) as u8,
                heat: raw as i16,
            }),
            _ => Thing::Vault(Vault {
                secret: vault_secret(),
                note: String::from(VAULT_NOTE),
                heap: Bytes::from(vault_secret().to_le_bytes().repeat(200)),
            }),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        fn name<K: Entity>(_: &K) -> &'static str {
            K::KIND.name
        }
        each!(self, it => name(it))
    }

    pub(crate) fn stored(&self) -> StoredRecord {
        each!(self, it => StoredRecord::of(it))
    }

    fn is_random(&self) -> bool {
        matches!(self, Thing::Spark(_))
    }

    fn create(&self, room: &mut Room<World>, explicit: Option<u64>) -> Result<EntityId, CreateError> {
        each!(self.clone(), it => match explicit {
            Some(id) => room.create_with_id(id, it).map(Id::entity),
            None => room.create(it).map(Id::entity),
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Never the same for two entities.
    pub(crate) serial: u64,
    /// The tick of the first send that had it; 0 before that.
    pub(crate) created: u64,
    pub(crate) thing: Thing,
}

/// All that a room holds.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) things: BTreeMap<u64, Entry>,
    pub(crate) board: Board,
    pub(crate) hands: BTreeMap<PlayerId, Hand>,
    pub(crate) alias: [u64; 4],
    serials: u64,
    /// The highest ID below 2^32 that was ever used.
    highest: u64,
}

impl Model {
    pub(crate) fn new(alias: [u64; 4]) -> Model {
        let (things, hands) = (BTreeMap::new(), BTreeMap::new());
        Model { things, board: Board::default(), hands, alias, serials: 0, highest: 1 }
    }

    /// Everything that an interest is asked about, by serial, in order of IDs.
    pub(crate) fn looks(&self) -> impl Iterator<Item = (u64, Look<'_>)> {
        self.things.iter().filter_map(|(id, entry)| Some((entry.serial, Look::of(*id, &entry.thing)?)))
    }

    fn insert(&mut self, id: u64, thing: Thing) {
        self.serials += 1;
        if id < limits::ID_AUTOMATIC_END {
            self.highest = self.highest.max(id);
        }
        let old = self.things.insert(id, Entry { serial: self.serials, created: 0, thing });
        assert!(old.is_none(), "ID {id} was given twice");
    }

    /// A send of this tick.
    pub(crate) fn seal(&mut self, tick: u64) {
        for entry in self.things.values_mut().filter(|entry| entry.created == 0) {
            entry.created = tick;
        }
    }

    /// Picks one of those that live.
    pub(crate) fn pick(&self, index: u16) -> Option<u64> {
        let count = self.things.len();
        (count > 0)
            .then(|| *self.things.keys().nth(index as usize % count).expect("the index is below the count"))
    }

    /// Picks one of the chests.
    pub(crate) fn pick_chest(&self, index: u16) -> Option<u64> {
        let chests = || self.things.iter().filter(|(_, entry)| matches!(entry.thing, Thing::Chest(_)));
        let count = chests().count();
        (count > 0).then(|| *chests().nth(index as usize % count).expect("the index is below the count").0)
    }

    pub(crate) fn create(&mut self, room: &mut Room<World>, explicit: Option<u64>, mut thing: Thing) {
        let made = thing.create(room, explicit);
        let taken = explicit.and_then(|id| self.things.get(&id));
        if let (Some(id), Some(taken)) = (explicit, taken) {
            let id = EntityId::explicit(id).expect("the tests' IDs are explicit ones");
            return assert_eq!(made, Err(CreateError::Taken { id, kind: taken.thing.name() }));
        }
        let id = made.expect("the entity is created");
        match explicit {
            Some(explicit) => assert_eq!(id.get(), explicit),
            None if thing.is_random() => assert!(id.get() > 1 << 52 && id.get() < 1 << 53),
            None => assert!(id.get() > self.highest && id.get() < 1 << 32),
        }
        settle(room, id, &mut thing);
        self.insert(id.get(), thing);
    }

    pub(crate) fn delete(&mut self, room: &mut Room<World>, id: u64) {
        self.things.remove(&id).expect("the entity is known");
        assert!(room.delete(entity(id)), "{id} lives and is deleted");
        assert!(!room.contains(entity(id)));
    }

    /// Writes a field; `back` sets it back at once.
    pub(crate) fn write(&mut self, room: &mut Room<World>, id: u64, field: u8, raw: u64, back: bool) {
        let entry = self.things.get_mut(&id).expect("the entity is known");
        each!(&mut entry.thing, it => write(room, id, it, field, raw, back));
    }

    pub(crate) fn move_to(&mut self, room: &mut Room<World>, id: u64, at: Option<[f64; 3]>) {
        let near = at.unwrap_or_default();
        let entry = self.things.get_mut(&id).expect("the entity is known");
        match &mut entry.thing {
            Thing::Unit(unit) => {
                unit.at = at;
                room.get_mut(Id::<Unit>::assume(entity(id))).expect("it lives").set_at(at);
            }
            Thing::Chest(chest) => {
                chest.at = near;
                room.get_mut(Id::<Chest>::assume(entity(id))).expect("it lives").set_at(near);
            }
            Thing::Spark(spark) => {
                spark.at = near.map(|axis| axis as f32);
                room.get_mut(Id::<Spark>::assume(entity(id))).expect("it lives").set_at(spark.at);
            }
            Thing::Vault(_) => {}
        }
    }

    /// Patches, replaces or empties a chest's bytes.
    pub(crate) fn blocks(&mut self, room: &mut Room<World>, id: u64, how: &Blocks) {
        let Some(Thing::Chest(chest)) = self.things.get_mut(&id).map(|entry| &mut entry.thing) else {
            return;
        };
        let mut writer = room.get_mut(Id::<Chest>::assume(entity(id))).expect("it lives");
        let mut next = chest.clone();
        let wrote = match *how {
            Blocks::Patch { offset, len, fill } => {
                let (offset, bytes) = (offset as usize, fill.bytes(len as usize));
                let mut all = Vec::from(next.blocks);
                let end = offset + bytes.len();
                if all.len() < end && !bytes.is_empty() {
                    all.resize(end, 0);
                }
                if !bytes.is_empty() {
                    all[offset..end].copy_from_slice(&bytes);
                }
                next.blocks = Bytes::from(all);
                writer.patch_blocks(offset, &bytes)
            }
            Blocks::Replace { len, fill } => {
                next.blocks = Bytes::from(fill.bytes(len as usize));
                writer.set_blocks(next.blocks.clone())
            }
            Blocks::Label { len } => {
                next.label = "x".repeat(len as usize);
                writer.set_label(next.label.clone())
            }
            Blocks::Tags { len } => {
                next.tags = Json::new((0..i64::from(len)).collect());
                writer.update_tags(|tags| tags.clone_from(&next.tags))
            }
        };
        accept(chest, next, wrote);
    }

    pub(crate) fn write_board(&mut self, room: &mut Room<World>, field: u8, raw: u64) {
        self.board.mutate(field % Board::FIELDS, raw);
        Board::write(room.state_mut::<Board>(), field % Board::FIELDS, &self.board).expect("the value fits");
    }

    /// Fills so many chests with noise; makes those that are not there.
    pub(crate) fn storm(&mut self, room: &mut Room<World>, chests: u8, seed: u32) {
        let is_chest = |it: &(&u64, &Entry)| matches!(it.1.thing, Thing::Chest(_));
        let mut ids: Vec<u64> = self.things.iter().filter(is_chest).map(|(id, _)| *id).collect();
        for n in ids.len()..chests.into() {
            self.create(room, None, Thing::new(4, Some([n as f64, 0.0, 0.0]), n as u64));
        }
        ids = self.things.iter().filter(is_chest).map(|(id, _)| *id).take(chests.into()).collect();
        for (n, id) in (0..).zip(ids) {
            let (len, fill) = (15_000 + (seed ^ (n * 7919)) % 30_000, Fill::Noise(seed ^ n));
            self.blocks(room, id, &Blocks::Replace { len, fill });
        }
    }

    /// Fills the board's title with text that does not compress well.
    pub(crate) fn flood(&mut self, room: &mut Room<World>, seed: u32) {
        let text = Fill::Noise(seed).bytes(limits::TEXT).into_iter().map(|byte| char::from(32 + byte % 95));
        self.board.title = text.collect();
        room.state_mut::<Board>().set_title(self.board.title.clone()).expect("the title fits");
    }

    pub(crate) fn write_hand(&mut self, room: &mut Room<World>, player: PlayerId, field: u8, raw: u64) {
        let Some(hand) = self.hands.get_mut(&player) else { return };
        hand.mutate(field % Hand::FIELDS, raw);
        let writer = room.private_mut::<Hand>(player).expect("the player has private state");
        Hand::write(writer, field % Hand::FIELDS, hand).expect("the value fits");
    }

    /// Follows what the hooks did.
    pub(crate) fn follow(&mut self, news: News) {
        match news {
            News::Joined { player, unit } => {
                self.insert(unit.get(), Thing::Unit(Unit::new(player, Some([1.0, 0.0, 0.0]), 0)));
                self.hands.insert(player, hand_of(player));
            }
            News::Left { player, guest, deleted } => {
                if let Some(unit) = deleted {
                    self.things.remove(&unit.get()).expect("the unit was known");
                }
                if guest {
                    self.hands.remove(&player).expect("the player had private state");
                }
            }
        }
    }

    /// Compares with the room, hidden kinds and all.
    pub(crate) fn check(&self, room: &Room<World>) {
        assert_eq!(room.entities(), self.things.len() + self.hands.len() + 1, "entities of the room");
        for (id, entry) in &self.things {
            let stored = room.stored(entity(*id));
            assert_eq!(stored.as_ref(), Some(&entry.thing.stored()), "the room's {id}: {:?}", entry.thing);
        }
        let same = StoredRecord::of(room.state::<Board>()) == StoredRecord::of(&self.board);
        assert!(same, "{:?} is not {:?}", room.state::<Board>(), self.board);
        assert!(room.private_players().eq(self.hands.keys().copied()), "players with private state");
        for (player, hand) in &self.hands {
            let theirs = room.private::<Hand>(*player).expect("the player has private state");
            assert_eq!(StoredRecord::of(theirs), StoredRecord::of(hand), "{theirs:?} of {player}");
        }
    }
}

/// Ways to write the large fields.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blocks {
    Patch { offset: u32, len: u32, fill: Fill },
    Replace { len: u32, fill: Fill },
    Label { len: u16 },
    Tags { len: u16 },
}

/// What bytes are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    /// One value: compresses well.
    Flat(u8),
    /// Noise: does not.
    Noise(u32),
}

impl Fill {
    fn bytes(self, len: usize) -> Vec<u8> {
        match self {
            Fill::Flat(value) => vec![value; len],
            Fill::Noise(seed) => {
                let mut state = u64::from(seed) | 1;
                let next = |_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                };
                (0..len).map(next).collect()
            }
        }
    }
}

pub(crate) fn entity(id: u64) -> EntityId {
    EntityId::from_wire(id).expect("the ID is one")
}

fn settle(room: &Room<World>, id: EntityId, thing: &mut Thing) {
    each!(thing, it => settle_one(room, id, it));
}

fn settle_one<K: Writable>(room: &Room<World>, id: EntityId, ours: &mut K) {
    ours.settle(room.get(Id::<K>::assume(id)).expect("the entity lives"));
}

/// Takes over what was accepted; what passes a limit must have been refused and changed nothing.
fn accept<K: Writable>(ours: &mut K, next: K, wrote: Result<(), WriteError>) {
    assert_eq!(wrote.is_ok(), next.fits(), "{wrote:?} of {}", K::KIND.name);
    if wrote.is_ok() {
        *ours = next;
    }
}

fn write<K: Writable>(room: &mut Room<World>, id: u64, ours: &mut K, field: u8, raw: u64, back: bool) {
    let (field, id) = (field % K::FIELDS, Id::<K>::assume(entity(id)));
    let mut next = ours.clone();
    next.mutate(field, raw);
    let wrote = K::write(room.get_mut(id).expect("it lives"), field, &next);
    if back {
        K::write(room.get_mut(id).expect("it lives"), field, ours).expect("the old value fits");
    } else {
        accept(ours, next, wrote);
        ours.settle(room.get(id).expect("it lives"));
    }
}

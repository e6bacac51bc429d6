//! What the derives make of a game's structs.

#![allow(missing_docs)]

use room::entity::{Entity as _, FieldRef, Sent, Source, Visit, VisitMut};
use room::field::{Codec, WireType};
use room::prelude::*;
use room::wire::{DecodeError, Reader};

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
pub struct Avatar {
    pub hp: u8,
    pub owner: PlayerId,
    #[field(writable, quantize(step = 0.5, min = -180, max = 180.0))]
    pub aim: f32,
    #[field(name = "turn")]
    pub facing: Facing,
    pub r#type: Option<Facing>,
    #[field(coarse)]
    pub position: [f32; 3],
    pub name: String,
    blocks: Bytes,
    cards: Json<Vec<String>>,
}

#[derive(FieldEnum, Clone, Copy, Debug, PartialEq)]
pub enum Facing {
    North,
    East = 0x10,
    South,
    West = 255,
}

#[derive(Entity, Clone, Debug)]
#[entity(hidden, ephemeral, ids = "random", name = "the_deck")]
struct Deck {
    order: Json<Vec<u8>>,
}

#[derive(Entity, Clone, Debug, Default)]
pub struct GameMarker {}

#[derive(Entity, Clone, Debug)]
struct Nested {
    children: Json<Vec<Self>>,
}

impl serde::Serialize for Nested {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.children.iter())
    }
}

impl<'de> serde::Deserialize<'de> for Nested {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|children| Nested { children: Json::new(children) })
    }
}

fn avatar() -> Avatar {
    Avatar {
        hp: 100,
        owner: PlayerId(7),
        aim: -30.5,
        facing: Facing::South,
        r#type: Some(Facing::West),
        position: [1.0, f32::INFINITY, -0.0],
        name: "Ada".to_owned(),
        blocks: Bytes::from(vec![1, 2, 3]),
        cards: Json::new(vec!["ace".to_owned()]),
    }
}

/// Encodes every field in order.
struct Put(Vec<u8>, Vec<usize>);

impl Visit for Put {
    fn field<C: Codec>(&mut self, index: usize, value: &C::Value, _: &C::Track) {
        C::put(value, &mut self.0);
        self.1.push(index);
    }
}

/// Decodes every field in order.
struct Take<'a>(Reader<'a>, Vec<usize>);

impl Source for Take<'_> {
    type Error = DecodeError;
    fn field<C: Codec>(&mut self, index: usize) -> Result<C::Value, DecodeError> {
        self.1.push(index);
        C::take(&mut self.0)
    }
}

/// Rounds fields, up to one.
struct Round {
    stop: usize,
    seen: Vec<usize>,
}

impl VisitMut for Round {
    type Error = usize;
    fn field<C: Codec>(&mut self, index: usize, value: &mut C::Value, _: &mut C::Track) -> Result<(), usize> {
        self.seen.push(index);
        if index == self.stop {
            return Err(index);
        }
        C::normalize(value);
        Ok(())
    }
}

fn encode<K: room::Entity>(entity: &K) -> Vec<u8> {
    let mut put = Put(Vec::new(), Vec::new());
    entity.visit(&K::Track::default(), &mut put);
    assert_eq!(put.1, (0..K::KIND.fields.len()).collect::<Vec<_>>());
    put.0
}

#[test]
fn a_kind_says_its_name_its_flags_and_its_fields() {
    let kind = Avatar::KIND;
    assert_eq!((kind.name, kind.hidden, kind.random_ids, kind.owner), ("avatar", false, false, Some(1)));
    let fields: Vec<_> = kind.fields.iter().map(|f| format!("{}: {}", f.name, f.wire)).collect();
    let expected = [
        "hp: u8",
        "owner: player",
        "aim: f32:0.5:-180:180",
        "turn: enum(North=0,East=16,South=17,West=255)",
        "type: option(enum(North=0,East=16,South=17,West=255))",
        "position: [f32;3]",
        "name: string",
        "blocks: bytes",
        "cards: json",
    ];
    assert_eq!(fields, expected);
    let writable: Vec<_> = kind.fields.iter().filter(|f| f.writable).map(|f| f.name).collect();
    assert_eq!(writable, ["aim"]);
    let coarse: Vec<_> = kind.fields.iter().filter(|f| f.coarse).map(|f| f.name).collect();
    assert_eq!(coarse, ["position"]);
    assert_eq!(kind.fields[2].wire, WireType::Quantized { float: 4, step: 0.5, min: -180.0, max: 180.0 });

    let kind = Deck::KIND;
    assert_eq!((kind.name, kind.hidden, kind.random_ids, kind.owner), ("the_deck", true, true, None));
    assert!(kind.ephemeral && !Avatar::KIND.ephemeral);
    assert_eq!((GameMarker::KIND.name, GameMarker::KIND.fields.len()), ("game_marker", 0));
}

#[test]
fn each_field_has_a_constant() {
    let all: [FieldRef<Avatar>; 9] = [
        Avatar::HP,
        Avatar::OWNER,
        Avatar::AIM,
        Avatar::FACING,
        Avatar::TYPE,
        Avatar::POSITION,
        Avatar::NAME,
        Avatar::BLOCKS,
        Avatar::CARDS,
    ];
    assert_eq!(all.map(FieldRef::index), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(format!("{:?} {:?}", Avatar::FACING, Avatar::TYPE), "avatar.turn avatar.type");
    assert_eq!(Deck::ORDER.index(), 0);
}

#[test]
fn only_visible_kinds_can_be_sent() {
    fn visible<K: Visible>() -> bool {
        let _ = Sent::<K>::new();
        K::SENT.is_some()
    }
    assert!(visible::<Avatar>() && visible::<GameMarker>() && visible::<Nested>());
    assert!(Deck::SENT.is_none());
}

#[test]
fn the_owner_is_who_its_field_says() {
    assert_eq!(room::Entity::owner(&avatar()), Some(PlayerId(7)));
    assert_eq!(room::Entity::owner(&Deck { order: Json::new(vec![]) }), None);
}

#[test]
fn an_entity_is_built_from_what_was_read_of_it() {
    let bytes = encode(&avatar());
    let mut take = Take(Reader::new(&bytes), Vec::new());
    assert_eq!(Avatar::build(&mut take).unwrap(), avatar());
    assert_eq!(take.1, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(take.0.remaining(), 0);

    let nested = Nested { children: Json::new(vec![Nested { children: Json::default() }]) };
    let bytes = encode(&nested);
    let built = Nested::build(&mut Take(Reader::new(&bytes), Vec::new())).unwrap();
    assert_eq!(built.children.text(), "[[]]");
}

#[test]
fn building_and_changing_end_at_the_first_error() {
    let bytes = encode(&avatar());
    let mut take = Take(Reader::new(&bytes[..3]), Vec::new());
    assert!(Avatar::build(&mut take).is_err());
    assert_eq!(take.1, [0, 1]);

    let mut entity = Avatar { aim: 10.3, ..avatar() };
    let mut round = Round { stop: 4, seen: Vec::new() };
    assert_eq!(entity.visit_mut(&mut Default::default(), &mut round), Err(4));
    assert_eq!(round.seen, [0, 1, 2, 3, 4]);
    assert_eq!(entity, Avatar { aim: 10.5, ..avatar() });
}

#[test]
fn a_fresh_track_shows_a_part_a_field() {
    let shown = format!("{:?}", <Avatar as room::Entity>::Track::default());
    assert!(shown.starts_with("Track(None, None, None, None, None, None, None, BlobTrack"), "{shown}");
    assert_eq!(format!("{:?}", <GameMarker as room::Entity>::Track::default()), "Track");
}

#[test]
fn variants_have_the_numbers_they_were_given_and_count_on_from_there() {
    let all = [(Facing::North, 0), (Facing::East, 16), (Facing::South, 17), (Facing::West, 255)];
    for (facing, code) in all {
        assert_eq!(facing.code(), code);
        assert_eq!(Facing::from_code(code), Some(facing));
    }
    assert_eq!((0..=255).filter_map(Facing::from_code).count(), 4);
    assert_eq!(Facing::VARIANTS, [("North", 0), ("East", 16), ("South", 17), ("West", 255)]);
}

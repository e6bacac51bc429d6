//! A kind with every type of field: its records come back byte by byte through values.

use proptest::collection::vec;
use proptest::prelude::*;
use room::field::write::Clamped;
use room::migrate::{StoredSchema, Value};
use room::prelude::*;
use room::store::Store;
use room::wire::record::StoredRecord;

use super::id;

#[derive(FieldEnum, Clone, Copy, Debug, PartialEq)]
pub enum Facing {
    North,
    East = 16,
    South,
    West = 255,
}

const FACINGS: [Facing; 4] = [Facing::North, Facing::East, Facing::South, Facing::West];

#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
pub struct Every {
    pub flag: bool,
    pub a: u8,
    pub b: u16,
    pub c: u32,
    pub d: u64,
    pub e: i8,
    pub f: i16,
    pub g: i32,
    pub h: i64,
    pub single: f32,
    pub double: f64,
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    pub near: f32,
    #[field(quantize(step = 0.3, min = 0.0, max = 1.0))]
    pub uneven: f64,
    #[field(quantize(step = 0.5, min = -180, max = 180.0))]
    pub aim: Option<f32>,
    #[field(quantize(step = 0.001, min = -1000000.0, max = 1000000.0))]
    pub far: [f64; 3],
    pub bools: [bool; 2],
    pub words: [u16; 4],
    pub singles: [f32; 16],
    pub facing: Facing,
    pub maybe: Option<u32>,
    pub maybe_facing: Option<Facing>,
    pub maybe_many: Option<[i64; 2]>,
    pub maybe_player: Option<PlayerId>,
    pub player: PlayerId,
    pub text: String,
    pub bytes: Bytes,
    pub json: Json<serde_json::Value>,
}

/// Numbers that JSON's parser reads back as they were: it rounds others by a last digit.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<i16>().prop_map(|n| (f64::from(n) / 8.0).into()),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            vec((".{0,4}", inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// Any bits, so that there are infinities and every sort of NaN.
fn single() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        (-2000.0..2000.0f32),
        Just(f32::from_bits(0xffa0_0001))
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        (-2e6..2e6),
        Just(f64::from_bits(0x7ff0_0000_0000_0001))
    ]
}

fn facing() -> impl Strategy<Value = Facing> {
    proptest::sample::select(&FACINGS[..])
}

pub fn every() -> impl Strategy<Value = Every> {
    let integers = (any::<(bool, u8, u16, u32, u64)>(), any::<(i8, i16, i32, i64)>());
    let floats = (single(), double(), single(), double(), proptest::option::of(single()));
    let arrays = (
        proptest::array::uniform3(double()),
        any::<([bool; 2], [u16; 4])>(),
        proptest::array::uniform16(single()),
    );
    let small = (
        facing(),
        proptest::option::of(facing()),
        any::<(Option<u32>, Option<[i64; 2]>, Option<u32>, u32)>(),
    );
    let large = (".{0,40}", vec(any::<u8>(), 0..400), json());
    (integers, floats, arrays, small, large).prop_map(|(integers, floats, arrays, small, large)| {
        let ((flag, a, b, c, d), (e, f, g, h)) = integers;
        let (single, double, near, uneven, aim) = floats;
        let (far, (bools, words), singles) = arrays;
        let (facing, maybe_facing, (maybe, maybe_many, maybe_player, player)) = small;
        let (text, bytes, json) = large;
        Every {
            flag,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            single,
            double,
            near,
            uneven,
            aim,
            far,
            bools,
            words,
            singles,
            facing,
            maybe,
            maybe_facing,
            maybe_many,
            maybe_player: maybe_player.map(PlayerId),
            player: PlayerId(player),
            text,
            bytes: bytes.into(),
            json: Json::new(json),
        }
    })
}

/// The record of an entity as a room holds it, which has rounded what is quantized.
pub fn record(mut entity: Every) -> Vec<u8> {
    Store::admit(id(7), &mut entity, &mut Clamped::default()).unwrap();
    StoredRecord::of(&entity).as_bytes().to_vec()
}

proptest! {
    #[test]
    fn records_come_back_through_values(entity in every()) {
        let record = record(entity);
        let schema = StoredSchema::of(&Schema::new().without_presence().entity::<Every>());
        let kind = &schema.kinds[0];
        let values = kind.read(&record).unwrap();
        prop_assert_eq!(kind.write(&values), Ok(record));
    }

    #[test]
    fn a_cut_record_is_refused(entity in every(), cut in any::<proptest::sample::Index>()) {
        let record = record(entity);
        let schema = StoredSchema::of(&Schema::new().without_presence().entity::<Every>());
        prop_assert!(schema.kinds[0].read(&record[..cut.index(record.len())]).is_err());
    }
}

#[test]
fn a_description_comes_back_from_its_bytes() {
    #[derive(Entity, Clone, Debug, Default)]
    struct Match {}
    #[derive(Entity, Clone, Debug, Default)]
    struct Hand {
        cards: Json<Vec<u8>>,
    }
    #[derive(Entity, Clone, Debug)]
    #[entity(ephemeral)]
    struct Spark {
        x: f32,
    }
    let schema = Schema::new()
        .without_presence()
        .state::<Match>()
        .private::<Hand>()
        .entity::<Every>()
        .entity::<Spark>();
    let described = StoredSchema::of(&schema);
    let mut bytes = Vec::new();
    described.encode(&mut bytes);
    assert_eq!(StoredSchema::decode(&bytes), Ok(described.clone()));
    let kinds: Vec<_> = described.kinds.iter().map(|k| (k.name.as_str(), k.ephemeral)).collect();
    assert_eq!(kinds, [("match", false), ("hand", false), ("every", false), ("spark", true)]);
    for (field, info) in described.kinds[2].fields.iter().zip(<Every as room::Entity>::KIND.fields) {
        let same = info.wire.to_string() == field.ty.to_string() || field.name.contains("facing");
        assert!(same && info.name == field.name, "{field:?}");
    }
}

#[test]
fn values_say_what_they_hold() {
    assert_eq!(Value::from(3u8).as_u64(), Some(3));
    assert_eq!(Value::from(-3i8).as_i64(), Some(-3));
    assert_eq!((Value::from(-3i8).as_u64(), Value::from(u64::MAX).as_i64()), (None, None));
    assert_eq!((Value::from(0.5f32).as_f64(), Value::from(2u8).as_f64()), (Some(0.5), Some(2.0)));
    assert_eq!((Value::from("a").as_str(), Value::variant(Facing::East).as_str()), (Some("a"), Some("East")));
    assert_eq!(Value::from([1u8, 2]).as_list(), Some(&[Value::Unsigned(1), Value::Unsigned(2)][..]));
    assert_eq!(Value::from(Some(true)), Value::Some(Box::new(Value::Bool(true))));
    assert_eq!(Value::from(None::<u8>), Value::None);
    assert_eq!(Value::json(&[1, 2]).unwrap().from_json::<Vec<u8>>().unwrap(), [1, 2]);
    assert!(Value::from(3u8).from_json::<u8>().is_err());
}

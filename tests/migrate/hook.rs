//! What a game's `migrate` does with stored entities.

use room::limits;
use room::migrate::{MigrateError, Migrating, Value};
use room::prelude::*;

use super::{WAY_OUT, convert, load, migrate, said};

/// Makes a game of a hook.
macro_rules! game {
    ($name:ident, |$entity:ident| $hook:expr) => {
        struct $name;
        impl Game for $name {
            type Event = ();
            type Scratch = ();
            fn schema() -> Schema {
                Schema::new().without_presence()
            }
            fn migrate($entity: &mut Migrating) -> Result<(), Refused> {
                $hook;
                Ok(())
            }
        }
    };
}

#[derive(Entity, Clone, Debug)]
struct Unit {
    full_name: String,
    hit_points: u8,
    position: [f32; 2],
    speed: f32,
    tags: Json<Vec<String>>,
    owner: u32,
}

fn unit() -> Unit {
    Unit {
        full_name: "Ada Lovelace".into(),
        hit_points: 200,
        position: [1.5, -2.0],
        speed: 7.3,
        tags: Json::new(vec!["a".into()]),
        owner: 3,
    }
}

#[derive(FieldEnum, Clone, Copy, Debug, PartialEq)]
enum Pace {
    Slow,
    Fast,
}

mod now {
    use room::prelude::*;

    #[derive(Entity, Clone, Debug)]
    pub struct Unit {
        pub first: String,
        pub last: String,
        pub hp: u16,
        #[field(quantize(step = 0.5, min = 0.0, max = 5.0))]
        pub speed: f32,
        pub x: f32,
        pub y: f64,
        pub pace: super::Pace,
        pub tags: Json<Vec<String>>,
        pub count: Option<u8>,
        pub owner: PlayerId,
    }
}

#[test]
fn it_renames_splits_and_replaces_fields() {
    game!(Splits, |unit| {
        assert_eq!((unit.kind(), unit.id().get()), ("unit", 7));
        let names: Vec<_> = unit.fields().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["full_name", "hit_points", "position", "speed", "tags", "owner"]);

        assert!(unit.rename("hit_points", "hp") && !unit.rename("hit_points", "hp"));
        let name = unit.take("full_name").unwrap();
        let (first, last) = name.as_str().and_then(|name| name.split_once(' ')).unwrap();
        unit.set("first", first);
        unit.set("last", last);
        if let Some([x, y]) = unit.take("position").as_ref().and_then(Value::as_list) {
            unit.set("x", x.clone());
            unit.set("y", y.clone());
        }
        let speed = unit.get("speed").and_then(Value::as_f64).unwrap();
        unit.set("speed", speed);
        unit.set("pace", Value::variant(if speed > 5.0 { Pace::Fast } else { Pace::Slow }));
        let mut tags: Vec<String> = unit.get("tags").unwrap().from_json()?;
        tags.push("b".into());
        unit.set("tags", Value::json(&tags)?);
        unit.set("count", tags.len() as u64);
        let owner = unit.get("owner").and_then(Value::as_u64).unwrap();
        unit.set("owner", PlayerId(owner as u32));
        assert!(unit.get("position").is_none() && unit.take("position").is_none());
    });
    let unit: now::Unit = migrate::<Splits, _, _>(&unit()).unwrap();
    assert_eq!((unit.first.as_str(), unit.last.as_str(), unit.hp), ("Ada", "Lovelace", 200));
    assert_eq!((unit.x, unit.y, unit.pace), (1.5, -2.0, Pace::Fast));
    assert_eq!(unit.speed, 5.0, "rounded and clamped as by a setter");
    assert_eq!((unit.tags.join(""), unit.count, unit.owner), ("ab".to_owned(), Some(2), PlayerId(3)));
}

#[test]
fn what_it_renames_widens_by_itself_and_what_it_takes_gets_its_default() {
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "unit")]
    struct New {
        hp: u64,
        owner: u32,
        speed: u8,
    }
    game!(Renames, |unit| {
        unit.rename("hit_points", "hp");
        unit.take("owner");
        unit.take("speed");
    });
    let new: New = migrate::<Renames, _, _>(&unit()).unwrap();
    assert_eq!((new.hp, new.owner, new.speed), (200, 0, 0));

    game!(Narrows, |unit| {
        unit.take("speed");
        unit.rename("full_name", "hp");
    });
    let told = said(migrate::<Narrows, _, New>(&unit()));
    assert!(told.starts_with("unit.hp was stored as string and is u64 now"), "{told}");
}

#[test]
fn it_gives_entities_another_kind_or_drops_them() {
    #[derive(Entity, Clone, Debug)]
    struct Rock {}
    #[derive(Entity, Clone, Debug)]
    struct Soldier {
        hit_points: u8,
    }
    game!(Sorts, |unit| {
        if unit.get("hit_points").and_then(Value::as_u64) == Some(0) {
            unit.drop_entity();
        } else {
            unit.set_kind("soldier");
        }
    });
    let (stored, now) = (
        Schema::new().without_presence().entity::<Unit>(),
        Schema::new().without_presence().entity::<Rock>().entity::<Soldier>(),
    );
    let (kind, record) = convert::<Sorts, _>(&stored, &now, &unit()).unwrap().unwrap();
    assert_eq!((kind, load::<Soldier>(&record).hit_points), (1, 200));
    assert_eq!(convert::<Sorts, _>(&stored, &now, &Unit { hit_points: 0, ..unit() }), Ok(None));
}

#[test]
fn state_may_have_another_name() {
    #[derive(Entity, Clone, Debug, Default)]
    struct Match {
        round: u32,
    }
    #[derive(Entity, Clone, Debug, Default)]
    struct Table {
        round: u64,
    }
    game!(Renames, |entity| entity.set_kind("table"));
    let (stored, now) = (
        Schema::new().without_presence().state::<Match>(),
        Schema::new().without_presence().state::<Table>(),
    );
    let (kind, record) = convert::<Renames, _>(&stored, &now, &Match { round: 3 }).unwrap().unwrap();
    assert_eq!((kind, load::<Table>(&record).round), (0, 3));
}

#[test]
fn its_mistakes_are_told_by_kind_and_field() {
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "unit")]
    struct New {
        hp: u8,
        name: String,
        pace: Pace,
    }
    macro_rules! told {
        (|$unit:ident| $hook:expr) => {{
            game!(Errs, |$unit| $hook);
            said(migrate::<Errs, _, New>(&unit()))
        }};
    }
    let kinds = told!(|unit| unit.set_kind("untit"));
    assert_eq!(
        kinds,
        format!(
            "`migrate` makes unit 7 a untit, but the schema has no such kind: name one that it has, {WAY_OUT}"
        )
    );
    let fields = told!(|unit| unit.set("hpp", 3));
    let rule = "but the kind has no such field: name one that it has";
    assert_eq!(fields, format!("`migrate` sets unit.hpp, {rule}, {WAY_OUT}"));
    let renamed = told!(|unit| unit.rename("hit_points", "hpp"));
    assert_eq!(renamed, fields);

    let value = told!(|unit| unit.set("hp", 300));
    assert_eq!(
        value,
        format!("`migrate` sets unit.hp, which is u8, to Signed(300): set one that it holds, {WAY_OUT}")
    );
    for wrong in [
        told!(|unit| unit.set("hp", -1)),
        told!(|unit| unit.set("hp", 1.0)),
        told!(|unit| unit.set("hp", PlayerId(1))),
        told!(|unit| unit.set("name", vec![0u8; 9])),
        told!(|unit| unit.set("pace", "Quick")),
    ] {
        assert!(wrong.contains("set one that it holds"), "{wrong}");
    }
    let long = told!(|unit| unit.set("name", "x".repeat(limits::TEXT + 1)));
    assert!(long.starts_with("`migrate` sets unit.name to 16385 bytes; the most is 16384"), "{long}");
    let refused = told!(|unit| if unit.kind() == "unit" {
        return Err(Refused::new("no units"));
    });
    assert_eq!(
        refused,
        format!("`migrate` refused unit 7: no units; let it convert or drop the entity, {WAY_OUT}")
    );
}

#[test]
fn what_it_sets_is_taken_as_a_setter_takes_it() {
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "unit")]
    struct New {
        single: f32,
        double: f64,
        pace: Pace,
        list: [i16; 2],
        maybe: Option<[u8; 2]>,
        none: Option<u8>,
        bytes: Bytes,
    }
    game!(Sets, |unit| {
        unit.set("single", 0.1f64);
        unit.set("double", 16_777_217u32);
        unit.set("pace", "Fast");
        unit.set("list", [1u8, 2]);
        unit.set("maybe", Some([1u8, 2]));
        unit.set("none", None::<u8>);
        unit.set("bytes", Bytes::from(vec![1, 2]));
    });
    let new: New = migrate::<Sets, _, _>(&unit()).unwrap();
    assert_eq!((new.single, new.double, new.pace), (0.1, 16_777_217.0, Pace::Fast));
    assert_eq!((new.list, new.maybe, new.none, &new.bytes[..]), ([1, 2], Some([1, 2]), None, &[1, 2][..]));

    game!(Rounds, |unit| unit.set("single", 16_777_217u32));
    let told = said(migrate::<Rounds, _, New>(&unit()));
    assert!(told.contains("which is f32, to Unsigned(16777217)"), "a whole number is not rounded: {told}");
    game!(Overflows, |unit| unit.set("single", 1e300));
    assert!(said(migrate::<Overflows, _, New>(&unit())).contains("which is f32, to Float(1e300)"));
}

#[test]
fn an_entity_that_grows_past_its_limit_is_named() {
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "unit")]
    struct New {
        blocks: Bytes,
        full_name: String,
    }
    game!(Grows, |unit| {
        unit.set("blocks", vec![0u8; limits::BLOB]);
        unit.set("full_name", "x".repeat(limits::TEXT));
    });
    let error = migrate::<Grows, _, New>(&unit()).unwrap_err();
    assert!(matches!(error, MigrateError::EntityTooLarge { size: 65_542, .. }), "{error}");
    assert!(error.to_string().starts_with("unit 7 would take 65542 bytes; the most is 61376"));
}

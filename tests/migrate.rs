//! Stored entities of an older schema: what converts by itself, what needs the game's word, and what is refused.

#![allow(missing_docs)]

#[path = "migrate/damage.rs"]
mod damage;
#[path = "migrate/every.rs"]
mod every;
#[path = "migrate/hook.rs"]
mod hook;
#[path = "migrate/widen.rs"]
mod widen;

use room::migrate::{Converter, MigrateError, Migrating, StoredSchema};
use room::prelude::*;
use room::store::{AnyStore as _, Store};
use room::wire::record::StoredRecord;

/// A game that says nothing of migrations.
struct Silent;

impl Game for Silent {
    type Event = ();
    type Scratch = ();
    fn schema() -> Schema {
        Schema::new().without_presence()
    }
}

fn id(id: u64) -> EntityId {
    EntityId::explicit(id).unwrap()
}

/// Stores an entity as the first kind of one schema, and converts it for another.
fn convert<G: Game, K: Entity>(
    stored: &Schema,
    now: &Schema,
    entity: &K,
) -> Result<Option<(usize, Vec<u8>)>, MigrateError> {
    // What a room keeps is bytes.
    let mut bytes = Vec::new();
    StoredSchema::of(stored).encode(&mut bytes);
    let stored = StoredSchema::decode(&bytes).unwrap();
    let kind = stored.kinds.iter().position(|kind| kind.name == K::KIND.name).unwrap();
    Converter::new(&stored, now).convert::<G>(id(7), kind, StoredRecord::of(entity).as_bytes())
}

/// Stores an entity as one kind, and reads it as another, with a hook.
fn migrate<G: Game, Old: Entity, New: Entity>(entity: &Old) -> Result<New, MigrateError> {
    let (stored, now) =
        (Schema::new().without_presence().entity::<Old>(), Schema::new().without_presence().entity::<New>());
    let (kind, record) = convert::<G, Old>(&stored, &now, entity)?.expect("nobody drops it");
    assert_eq!(kind, 0);
    Ok(load(&record))
}

/// Stores an entity as one kind, and reads it as another.
fn read_as<Old: Entity, New: Entity>(entity: &Old) -> Result<New, MigrateError> {
    migrate::<Silent, Old, New>(entity)
}

/// The entity of a record, read as a room reads it.
fn load<K: Entity>(record: &[u8]) -> K {
    let mut store = Store::<K>::new();
    let row = store.load(id(7), 0, record).unwrap();
    store.value(row).clone()
}

/// What an error says.
fn said<T: std::fmt::Debug>(result: Result<T, MigrateError>) -> String {
    result.unwrap_err().to_string()
}

const WAY_OUT: &str = "or go back to the older build: what is stored is kept as it is";

mod old {
    use room::prelude::*;

    #[derive(Entity, Clone, Debug, PartialEq)]
    pub struct Avatar {
        pub name: String,
        pub hp: u8,
        pub x: f32,
    }
}

mod new {
    use room::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
    #[serde(default)]
    pub struct Look {
        pub hat: u8,
    }

    #[derive(FieldEnum, Clone, Copy, Debug, PartialEq)]
    pub enum Mood {
        Calm = 3,
        Angry = 1,
    }

    #[derive(Entity, Clone, Debug, PartialEq)]
    pub struct Avatar {
        pub alive: bool,
        pub hp: u16,
        pub owner: PlayerId,
        #[field(quantize(step = 0.5, min = -3.0, max = 3.0))]
        pub low: f32,
        #[field(quantize(step = 0.5, min = 10.0, max = 30.0))]
        pub high: Option<f64>,
        #[field(quantize(step = 0.5, min = 10.0, max = 30.0))]
        pub ends: [f64; 2],
        pub name: String,
        pub mood: Mood,
        pub at: Option<[i32; 3]>,
        pub wind: [f32; 2],
        pub blocks: Bytes,
        pub nothing: Json<Option<u8>>,
        pub look: Json<Look>,
        pub cards: Json<Vec<u8>>,
        pub count: Json<u32>,
        pub title: Json<String>,
        pub lit: Json<bool>,
    }
}

fn old_avatar() -> old::Avatar {
    old::Avatar { name: "Ada".into(), hp: 200, x: 1.5 }
}

#[test]
fn fields_match_by_name_new_ones_have_defaults_and_removed_ones_go() {
    let avatar: new::Avatar = read_as(&old_avatar()).unwrap();
    let expected = new::Avatar {
        alive: false,
        hp: 200,
        owner: PlayerId(0),
        low: 0.0,
        high: None,
        ends: [10.0; 2],
        name: "Ada".into(),
        mood: new::Mood::Calm,
        at: None,
        wind: [0.0; 2],
        blocks: Bytes::default(),
        nothing: Json::new(None),
        look: avatar.look.clone(),
        cards: Json::new(vec![]),
        count: Json::new(0),
        title: Json::new(String::new()),
        lit: Json::new(false),
    };
    assert_eq!(avatar, expected);
    assert_eq!(avatar.look.hat, 0);
}

#[test]
fn a_kind_that_is_the_same_is_not_touched_wherever_it_stands() {
    struct Never;
    impl Game for Never {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().without_presence()
        }
        fn migrate(entity: &mut Migrating) -> Result<(), Refused> {
            Err(Refused::new(entity.kind()))
        }
    }
    #[derive(Entity, Clone, Debug)]
    struct Rock {}
    let stored = Schema::new().without_presence().entity::<old::Avatar>();
    let now = Schema::new().without_presence().entity::<Rock>().entity::<old::Avatar>();
    let converter = Converter::new(&StoredSchema::of(&stored), &now);
    assert_eq!((converter.is_identity(0), converter.is_identity(1)), (Some(1), None));
    let (kind, record) = convert::<Never, _>(&stored, &now, &old_avatar()).unwrap().unwrap();
    assert_eq!((kind, load::<old::Avatar>(&record)), (1, old_avatar()));
}

#[test]
fn schemas_are_equal_where_nothing_has_to_be_converted() {
    #[derive(Entity, Clone, Debug)]
    #[entity(hidden, ids = "random", name = "avatar")]
    struct Other {
        #[field(name = "name")]
        called: String,
        #[field(coarse)]
        hp: u8,
        x: f32,
    }
    #[derive(Entity, Clone, Debug)]
    #[entity(ephemeral, name = "avatar")]
    struct Brief {
        name: String,
        hp: u8,
        x: f32,
    }
    let of = |schema: Schema| StoredSchema::of(&schema);
    let plain = of(Schema::new().without_presence().entity::<old::Avatar>());
    assert_eq!(
        plain,
        of(Schema::new().without_presence().entity::<Other>()),
        "who may see it is no matter of what is stored"
    );
    assert_ne!(plain, of(Schema::new().without_presence().entity::<Brief>()));
    assert_ne!(plain, of(Schema::new().without_presence().entity::<new::Avatar>()));
}

#[test]
fn a_kind_that_became_ephemeral_is_left_behind() {
    #[derive(Entity, Clone, Debug)]
    #[entity(ephemeral, name = "avatar")]
    struct Brief {
        hp: u8,
    }
    let (stored, now) = (
        Schema::new().without_presence().entity::<old::Avatar>(),
        Schema::new().without_presence().entity::<Brief>(),
    );
    assert_eq!(convert::<Silent, _>(&stored, &now, &old_avatar()), Ok(None));
}

#[test]
fn a_kind_that_is_gone_needs_the_games_word() {
    let stored = Schema::new().without_presence().entity::<old::Avatar>();
    let mut error =
        convert::<Silent, _>(&stored, &Schema::new().without_presence(), &old_avatar()).unwrap_err();
    assert_eq!(error, MigrateError::KindGone { kind: "avatar".into(), entities: 1 });
    if let MigrateError::KindGone { entities, .. } = &mut error {
        *entities = 300;
    }
    assert_eq!(
        error.to_string(),
        format!(
            "stored entities of kind avatar: 300; the schema has no such kind: give them another kind or drop them in \
             `migrate`, {WAY_OUT}"
        )
    );
}

#[test]
fn state_does_not_become_an_entity() {
    #[derive(Entity, Clone, Debug, Default)]
    struct Match {
        round: u32,
    }
    let (stored, now) = (
        Schema::new().without_presence().state::<Match>(),
        Schema::new().without_presence().entity::<Match>(),
    );
    let told = said(convert::<Silent, _>(&stored, &now, &Match { round: 3 }));
    assert!(
        told.starts_with("match was stored as state and match is entity now: give it another kind"),
        "{told}"
    );
}

#[test]
fn a_json_type_without_defaults_is_set_by_the_game() {
    #[derive(serde::Serialize, serde::Deserialize, Clone, Debug)]
    struct Strict {
        hat: u8,
    }
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "avatar")]
    struct New {
        cards: Json<Vec<u8>>,
        look: Json<Strict>,
        more: Json<Vec<u8>>,
    }
    let told = said(read_as::<_, New>(&old_avatar()));
    assert_eq!(
        told,
        format!(
            "avatar.look is new, and its Rust type reads none of null, {{}}, [], 0, \"\" and false: set it in `migrate`, \
             or give the type defaults (#[serde(default)]), {WAY_OUT}"
        )
    );

    struct Sets;
    impl Game for Sets {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().without_presence()
        }
        fn migrate(entity: &mut Migrating) -> Result<(), Refused> {
            entity.set("look", room::migrate::Value::json(&Strict { hat: 3 })?);
            Ok(())
        }
    }
    let avatar: New = migrate::<Sets, _, _>(&old_avatar()).unwrap();
    assert_eq!((avatar.cards.len(), avatar.look.hat, avatar.more.len()), (0, 3, 0));
}

#[test]
fn json_that_its_type_reads_no_more_is_told_when_it_is_loaded() {
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "deck")]
    struct Old {
        cards: Json<Vec<u8>>,
    }
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "deck")]
    struct New {
        cards: Json<String>,
    }
    #[derive(Entity, Clone, Debug)]
    #[entity(name = "deck")]
    struct Longer {
        cards: Json<String>,
        more: Json<u8>,
    }
    let old = Old { cards: Json::new(vec![1]) };
    // The schema does not say what JSON holds, so the kinds are the same.
    assert_eq!(
        StoredSchema::of(&Schema::new().without_presence().entity::<Old>()),
        StoredSchema::of(&Schema::new().without_presence().entity::<New>())
    );
    let refused = Store::<New>::new().load(id(7), 0, StoredRecord::of(&old).as_bytes());
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .starts_with("a stored deck has JSON that does not fit its Rust type")
    );
    // Where a default is looked for behind it, it is not the default that is to blame.
    assert!(said(read_as::<_, Longer>(&old)).starts_with("a stored deck has JSON that does not fit"));
}

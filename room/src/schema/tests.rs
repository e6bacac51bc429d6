use super::*;
use crate::entity::FieldInfo;
use crate::field::WireType;

macro_rules! types {
    ($($name:ident)*) => { $(struct $name;)* };
}
types!(A B C D E);

const fn field(name: &'static str, wire: WireType) -> FieldInfo {
    FieldInfo { name, wire, writable: false, coarse: false }
}

const fn kind(name: &'static str, fields: &'static [FieldInfo]) -> Kind {
    Kind { name, hidden: false, ephemeral: false, random_ids: false, history_ms: 0, owner: None, fields }
}

static MATCH: Kind = kind("match", &[field("round", WireType::Unsigned(4))]);
static HAND: Kind = kind("hand", &[field("cards", WireType::Json)]);
static CHUNK: Kind = kind("chunk", &[field("blocks", WireType::Bytes)]);
static AVATAR: Kind = Kind {
    name: "avatar",
    hidden: false,
    ephemeral: false,
    random_ids: true,
    history_ms: 0,
    owner: Some(0),
    fields: &[
        field("owner", WireType::Player),
        field("x", WireType::Quantized { float: 4, step: 0.01, min: -1000.0, max: 1000.0 }),
        FieldInfo { name: "aim", wire: WireType::Float(4), writable: true, coarse: false },
        field("hp", WireType::Unsigned(1)),
    ],
};
static DECK: Kind = Kind {
    name: "deck",
    hidden: true,
    ephemeral: false,
    random_ids: false,
    history_ms: 0,
    owner: None,
    fields: &[field("order", WireType::Json)],
};
static OTHER_DECK: Kind = Kind { fields: &[field("order", WireType::Bytes)], ..DECK };

fn id<T: 'static>() -> TypeId {
    TypeId::of::<T>()
}

/// A schema without any kind.
fn none() -> Schema {
    Schema::new().without_presence()
}

fn schema() -> Schema {
    none()
        .push(&DECK, Role::Entity, id::<A>(), None)
        .push(&AVATAR, Role::Entity, id::<B>(), None)
        .push(&HAND, Role::Private, id::<C>(), None)
        .push(&CHUNK, Role::Entity, id::<D>(), None)
        .push(&MATCH, Role::State, id::<E>(), None)
}

#[test]
fn state_and_private_come_first_and_visible_kinds_are_numbered() {
    let places: Vec<_> = schema().entries().iter().map(|e| (e.kind.name, e.role, e.wire_index)).collect();
    assert_eq!(
        places,
        [
            ("match", Role::State, Some(0)),
            ("hand", Role::Private, Some(1)),
            ("deck", Role::Entity, None),
            ("avatar", Role::Entity, Some(2)),
            ("chunk", Role::Entity, Some(3)),
        ]
    );
    assert_eq!(schema().validate(), Ok(()));
}

#[test]
fn text_and_hashes_are_these() {
    let visible = "state match\n  round u32\nprivate hand\n  cards json\n\
                   entity avatar owner=owner ids=random\n  owner player\n  x f32:0.01:-1000:1000\n  \
                   aim f32 writable\n  hp u8\nentity chunk\n  blocks bytes\n";
    assert_eq!(schema().text(true), visible);
    assert_eq!(schema().closing_text(), visible);
    let all = visible.replace("entity avatar", "entity deck hidden\n  order json\nentity avatar");
    assert_eq!(schema().text(false), all);
    // The published vectors of the hash.
    assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    assert_eq!(schema().hash(), fnv1a(all.as_bytes()));
    assert_eq!(schema().visible_hash(), fnv1a(visible.as_bytes()));
}

#[test]
fn a_hash_taken_early_does_not_stay() {
    let some = none().push(&MATCH, Role::State, id::<A>(), None);
    let before = some.hash();
    assert_ne!(some.push(&HAND, Role::Private, id::<B>(), None).hash(), before);
}

#[test]
fn another_order_is_another_schema() {
    let ab = none().push(&AVATAR, Role::Entity, id::<A>(), None).push(&CHUNK, Role::Entity, id::<B>(), None);
    let ba = none().push(&CHUNK, Role::Entity, id::<B>(), None).push(&AVATAR, Role::Entity, id::<A>(), None);
    assert_ne!(ab.hash(), ba.hash());
    assert_eq!(ab.differences(&ba.text(true), ba.visible_hash(), ba.hash()), ["order of kinds differs"]);
}

#[test]
fn of_hidden_kinds_only_that_they_differ() {
    let with = |deck: &'static Kind| {
        none().push(&MATCH, Role::State, id::<A>(), None).push(deck, Role::Entity, id::<B>(), None)
    };
    let (client, room) = (with(&DECK), with(&OTHER_DECK));
    let differences = client.differences(&room.closing_text(), room.visible_hash(), room.hash());
    assert_eq!(differences, ["hidden kinds differ"]);
    assert!(!room.closing_text().contains("deck"));
    assert!(client.differences(&client.text(true), client.visible_hash(), client.hash()).is_empty());
}

#[test]
fn a_room_that_does_not_say_how_it_differs() {
    let client = schema();
    let said = client.differences(&client.text(true), 1, 2);
    assert_eq!(said, ["the schemas differ, but the room's description does not say in what"]);
    assert_eq!(client.differences("", 1, 2).len(), 4);
}

#[test]
fn mistakes_are_named() {
    let error = |schema: Schema| schema.validate().unwrap_err().to_string();
    let base = || none().push(&AVATAR, Role::Entity, id::<A>(), None);

    assert!(error(base().push(&AVATAR, Role::Entity, id::<A>(), None)).contains("lists kind avatar twice"));
    assert!(error(base().push(&AVATAR, Role::Entity, id::<B>(), None)).contains("two kinds"));
    assert!(error(base().push(&AVATAR, Role::State, id::<A>(), None)).contains("twice"));
    let two = base().push(&MATCH, Role::State, id::<B>(), None).push(&HAND, Role::State, id::<C>(), None);
    assert_eq!(two.validate(), Err(SchemaError::StateTwice { first: "match", second: "hand" }));
    let two = base().push(&MATCH, Role::Private, id::<B>(), None).push(&HAND, Role::Private, id::<C>(), None);
    assert_eq!(two.validate(), Err(SchemaError::PrivateTwice { first: "match", second: "hand" }));

    static OWN: Kind = kind("room_presence", &[]);
    assert_eq!(
        base().push(&OWN, Role::Entity, id::<B>(), None).validate(),
        Err(SchemaError::ReservedName { name: "room_presence" })
    );

    static BRIEF: Kind = Kind { ephemeral: true, ..kind("brief", &[]) };
    for role in [Role::State, Role::Private] {
        let refused = base().push(&BRIEF, role, id::<B>(), None).validate();
        assert_eq!(refused, Err(SchemaError::Ephemeral { name: "brief" }));
        assert!(refused.unwrap_err().to_string().contains("list it with entity"));
    }
    assert_eq!(base().push(&BRIEF, Role::Entity, id::<B>(), None).validate(), Ok(()));
}

#[test]
fn what_is_stored_of_a_kind_is_no_matter_of_its_clients() {
    static LASTING: Kind = kind("mark", &[field("x", WireType::Bool)]);
    static BRIEF: Kind = Kind { ephemeral: true, ..LASTING };
    static COARSE: Kind = kind("mark", &[FieldInfo { coarse: true, ..field("x", WireType::Bool) }]);
    let with = |kind| Schema::new().push(kind, Role::Entity, id::<A>(), None);
    for other in [&BRIEF, &COARSE] {
        assert_eq!(with(other).text(false), with(&LASTING).text(false));
        assert_eq!(with(other).hash(), with(&LASTING).hash());
    }
}

#[test]
fn presence_is_last_unless_it_is_taken_out() {
    let with =
        Schema::new().push(&DECK, Role::Entity, id::<A>(), None).push(&MATCH, Role::State, id::<B>(), None);
    let places: Vec<_> = with.entries().iter().map(|e| (e.kind.name, e.wire_index)).collect();
    assert_eq!(places, [("match", Some(0)), ("deck", None), ("room_presence", Some(1))]);
    assert_eq!(with.validate(), Ok(()));
    let text = "state match\n  round u32\npresence room_presence owner=player ids=random\n  player player\n  \
                name string\n  status string\n  connections u16\n  held_until option(u64)\n";
    assert_eq!(with.text(true), text);
    assert!(with.has_presence());

    let without = with.clone().without_presence();
    assert!(!without.has_presence());
    assert_eq!(without.text(true), "state match\n  round u32\n");
    assert_ne!(without.hash(), with.hash());
    let differences = without.differences(&with.text(true), with.visible_hash(), with.hash());
    assert_eq!(differences, ["kind room_presence: only in the room"]);
}

#[test]
fn presence_is_not_listed_by_games() {
    let listed = Schema::new().entity::<Presence>();
    assert_eq!(listed.validate(), Err(SchemaError::ListedTwice { name: "room_presence" }));
    let listed = none().entity::<Presence>();
    assert_eq!(listed.validate(), Err(SchemaError::ReservedName { name: "room_presence" }));
}

/// A type for each of 256 kinds.
struct Numbered<const N: u8, const M: u8>;

#[test]
fn at_most_255_kinds() {
    fn add<const M: u8>(mut schema: Schema, count: u8) -> Schema {
        let ids = [
            id::<Numbered<0, M>>(),
            id::<Numbered<1, M>>(),
            id::<Numbered<2, M>>(),
            id::<Numbered<3, M>>(),
            id::<Numbered<4, M>>(),
            id::<Numbered<5, M>>(),
            id::<Numbered<6, M>>(),
            id::<Numbered<7, M>>(),
            id::<Numbered<8, M>>(),
            id::<Numbered<9, M>>(),
            id::<Numbered<10, M>>(),
            id::<Numbered<11, M>>(),
            id::<Numbered<12, M>>(),
            id::<Numbered<13, M>>(),
            id::<Numbered<14, M>>(),
            id::<Numbered<15, M>>(),
        ];
        for type_id in ids.into_iter().take(count.into()) {
            let name: &'static str = format!("k{}", schema.entries().len()).leak();
            schema = schema.push(Box::leak(Box::new(kind(name, &[]))), Role::Entity, type_id, None);
        }
        schema
    }
    macro_rules! rows {
        ($schema:expr, $($m:literal)*) => {{ let s = $schema; $(let s = add::<$m>(s, 16);)* s }};
    }
    let most = add::<15>(rows!(none(), 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14), 15);
    assert_eq!(most.validate(), Ok(()));
    assert_eq!(most.entries()[254].wire_index, Some(254));
    let over = add::<16>(most, 3);
    assert_eq!(over.validate(), Err(SchemaError::TooManyKinds { count: 258 }));
    assert_eq!(over.entries()[257].wire_index, None);
}

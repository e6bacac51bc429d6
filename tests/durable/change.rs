//! A room that wakes in a build with another schema, or from a store that was put back from a copy.

use std::time::Duration;

use room::prelude::*;
use room::runtime::{Origin, Runtime, Settings, Site, WakeError};
use room::storage::{MemoryStore, State, Store, StoreError, Taken};

mod old {
    use super::*;

    #[derive(Entity, Clone, Debug, Default, PartialEq)]
    pub(super) struct Unit {
        pub(super) hp: u8,
        pub(super) title: String,
        pub(super) gone: u32,
    }

    #[derive(Entity, Clone, Debug, Default, PartialEq)]
    pub(super) struct Relic {
        pub(super) age: u32,
    }

    pub(super) struct Old;

    impl Game for Old {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().entity::<Unit>().entity::<Relic>()
        }
        fn on_create(&mut self, room: &mut Room<Self>) {
            room.create(Unit { hp: 200, title: "sir".into(), gone: 5 }).expect("it is short");
            room.create(Relic { age: 900 }).expect("it is short");
        }
    }
}

mod new {
    use super::*;

    #[derive(Entity, Clone, Debug, Default, PartialEq)]
    pub(super) struct Unit {
        pub(super) name: String,
        pub(super) hp: u32,
        pub(super) speed: f32,
    }

    /// Without a hook: relics are of a kind that there is no more.
    pub(super) struct Careless;

    impl Game for Careless {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().entity::<Unit>()
        }
    }

    pub(super) struct New;

    impl Game for New {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new().entity::<Unit>()
        }
        fn migrate(entity: &mut Migrating) -> Result<(), Refused> {
            match entity.kind() {
                "relic" => entity.drop_entity(),
                _ => {
                    entity.rename("title", "name");
                }
            }
            Ok(())
        }
    }
}

fn open<G: Game>(game: G, store: &MemoryStore, restored: bool) -> Result<Runtime<G>, WakeError> {
    let taken = Taken { restored, ..store.take("a").expect("it is there") };
    let site = Site { name: "a".into(), ..Site::default() };
    let mut runtime = Runtime::open(game, Settings::default(), [9; 32], Origin { site, taken, unix: 5 })?;
    run(&mut runtime, store, 1);
    Ok(runtime)
}

fn run<G: Game>(runtime: &mut Runtime<G>, store: &MemoryStore, ticks: u64) {
    for _ in 0..ticks {
        runtime.tick(Duration::from_millis(50 * runtime.now().0));
        while runtime.poll_transmit().is_some() {}
        if let Some(commit) = runtime.poll_commit() {
            store.keep(&commit).expect("it is the owner's");
            runtime.handle_committed();
        }
    }
}

fn rows(store: &MemoryStore) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    store.edit("a", |kept| rows.clone_from(kept));
    rows
}

#[test]
fn entities_come_along_by_the_names_of_their_fields() {
    let store = MemoryStore::new();
    open(old::Old, &store, false).expect("it is new");
    let before = rows(&store);
    let error = open(new::Careless, &store, false).err().expect("relics are of no kind").to_string();
    assert!(error.contains("relic") && error.contains("migrate"), "{error}");
    assert_eq!(rows(&store), before, "what cannot be loaded stays as it is");
    let woken = open(new::New, &store, false).expect("the game says what becomes of relics");
    let unit = new::Unit { name: "sir".into(), hp: 200, speed: 0.0 };
    let units: Vec<_> = woken.room().all::<new::Unit>().map(|(_, unit)| unit.clone()).collect();
    assert_eq!((units, woken.room().entities()), (vec![unit.clone()], 1));
    // The log is of one schema: the next wake has nothing to convert.
    let mut woken = open(new::Careless, &store, false).expect("there are no relics");
    assert_eq!(woken.room().all::<new::Unit>().next().map(|(_, unit)| unit.clone()), Some(unit));
    assert!(open(old::Old, &store, false).is_err(), "and the older build refuses what it does not know");
    run(&mut woken, &store, 3);
}

#[test]
fn a_room_that_is_discarded_and_joined_after_all_begins_its_log_anew() {
    let store = MemoryStore::new();
    let mut room = open(old::Old, &store, false).expect("it is new");
    room.rest(State::Gone);
    let commit = room.poll_commit().expect("it says that it is gone");
    store.keep(&commit).expect("it is the owner's");
    room.handle_committed();
    assert_eq!(store.rooms(), Ok(Vec::new()));
    let (_, it) = room.parts_mut();
    it.create(old::Unit::default()).expect("it is short");
    run(&mut room, &store, 2);
    let woken = open(old::Old, &store, false).expect("it has a log again");
    assert_eq!(woken.room().count::<old::Unit>(), 2);
}

#[test]
fn a_store_that_was_put_back_is_another_generation_and_others_are_not() {
    let store = MemoryStore::new();
    let first = open(old::Old, &store, false).expect("it is new").generation();
    assert_eq!(open(old::Old, &store, false).expect("it wakes").generation(), first);
    let restored = open(old::Old, &store, true).expect("it wakes").generation();
    assert_ne!(restored, first);
    let again = open(old::Old, &store, false).expect("it wakes").generation();
    assert_eq!(again, restored, "it is kept from then on");
}

#[test]
fn damage_is_an_error_that_names_the_room_wherever_it_is() {
    let store = MemoryStore::new();
    let mut room = open(old::Old, &store, false).expect("it is new");
    for n in 0..20 {
        let (_, it) = room.parts_mut();
        it.create(old::Unit { title: format!("unit {n}"), ..old::Unit::default() }).expect("it is short");
        run(&mut room, &store, 1);
    }
    let whole = rows(&store);
    for row in 0..whole.len() {
        for at in (0..whole[row].len()).step_by(3) {
            store.edit("a", |rows| rows[row][at] ^= 0x40);
            let error = open(old::Old, &store, false).err().expect("it is damaged");
            assert!(error.to_string().contains("room a is damaged"), "{error}");
            store.edit("a", |rows| rows.clone_from(&whole));
        }
    }
    store.edit("a", |rows| rows.swap(3, 4));
    assert!(open(old::Old, &store, false).is_err());
    store.edit("a", |rows| rows.clone_from(&whole));
    assert_eq!(open(old::Old, &store, false).expect("it is whole").room().count::<old::Unit>(), 21);
    assert!(matches!(store.keep(&room.failure().expect("it has a log")), Err(StoreError::Fenced { .. })));
}

//! What a game's frames cost, and what its tests see of them.
#![cfg(feature = "testing")]

#[path = "../../room/tests/decode/counting.rs"]
mod counting;

use room::prelude::*;
use room_client::testing::{TestClient, TestRoom};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

#[derive(Entity, Clone, Debug, PartialEq)]
struct Boat {
    x: f32,
    y: f32,
    name: String,
}

#[derive(Default)]
struct Sea;

impl Game for Sea {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Boat>()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for _ in 0..50 {
            room.create(Boat { x: 0.0, y: 0.0, name: "Argo".to_owned() }).expect("it is short");
        }
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        let tick = room.tick().0;
        let all: Vec<_> = room.all::<Boat>().map(|(id, _)| id).collect();
        // They sail for a while and rest for a while.
        for id in all.into_iter().filter(|id| (id.get() + tick / 16).is_multiple_of(2)) {
            let mut boat = room.get_mut(id).expect("it floats");
            boat.set_x(tick as f32);
        }
    }
}

/// Bytes that a hundred ticks ask for, of the room and its client.
fn cost(prepare: impl FnOnce(&TestClient)) -> usize {
    let mut room = TestRoom::new(Sea);
    let client = room.join("ada");
    prepare(&client);
    room.advance(320);
    counting::allocated(|| room.advance(320))
}

#[test]
fn drawing_a_kind_smoothly_allocates_nothing_more() {
    let plain = cost(|_| ());
    assert!(plain > 0);
    assert_eq!(cost(|client| client.interpolate::<Boat>((Boat::X, Boat::Y))), plain);
}

#[test]
fn reading_what_is_drawn_allocates_nothing() {
    let mut room = TestRoom::new(Sea);
    let client = room.join("ada");
    client.interpolate::<Boat>((Boat::X, Boat::Y));
    room.advance(40);
    let replica = client.replica();
    let mut sum = 0.0;
    let asked = counting::allocated(|| {
        sum = replica
            .drawn_all::<Boat>()
            .map(|(id, boat)| boat.x + replica.drawn(id).map_or(0.0, |boat| boat.y))
            .sum();
    });
    assert_eq!(asked, 0);
    assert!(sum > 0.0);
}

#[test]
fn a_games_tests_see_what_is_drawn() {
    let mut room = TestRoom::new(Sea);
    let client = room.join("ada");
    client.interpolate::<Boat>(Boat::X);
    room.advance(38);
    let (now, then) = (client.view::<Boat>(), client.drawn_all::<Boat>());
    let sails = now
        .iter()
        .zip(&then)
        .find(|((_, now), _)| now.x as u64 == room.room().tick().0)
        .expect("half of them");
    assert_eq!(sails.0.1.x - sails.1.1.x, 2.0, "100 ms are two ticks");
    assert_eq!(client.drawn(sails.0.0), Some(sails.1.1.clone()));
}

#[test]
fn after_a_drop_everything_stands_where_the_room_has_it() {
    let mut room = TestRoom::new(Sea);
    let client = room.join("ada");
    client.interpolate::<Boat>(Boat::X);
    room.advance(40);
    assert_ne!(client.drawn_all::<Boat>(), client.view::<Boat>());
    room.drop_link(&client);
    room.advance(40);
    room.resume(&client);
    assert_eq!(client.drawn_all::<Boat>(), client.view::<Boat>());
    room.advance(10);
    assert_ne!(client.drawn_all::<Boat>(), client.view::<Boat>(), "and goes on from there");
}

//! Clients and games that do what they should not.

use room::prelude::*;
use room::runtime::Settings;
use room::wire::message::{ClientMessage, WriteEntry};
use room::{FieldMask, limits};
use room_client::testing::TestRoom;
use serde::{Deserialize, Serialize};

use super::game::{Avatar, Field, Steer, Walk};
use super::link::{Link, encoded};

fn settings() -> Settings {
    Settings { tick_rate: 20, send_every: 1, ..Settings::default() }
}

fn avatar(link: &Link<Field>, conn: ConnectionId) -> Avatar {
    let id = EntityId::explicit(100 + u64::from(link.player(conn).0)).expect("it is one");
    link.room.room().get(Id::<Avatar>::assume(id)).expect("it lives").clone()
}

#[test]
fn an_input_that_is_no_number_moves_nobody_through_a_clamp() {
    for right in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut link = Link::new(Field, settings());
        let ada = link.join();
        link.ticks(3);
        let first = Tick(link.tick_number() + 1);
        let inputs: Vec<Vec<u8>> =
            [1.0, right, 1.0].map(|right| encoded(&Steer { right, ..Steer::default() })).into();
        let inputs = inputs.iter().map(Vec::as_slice).collect();
        link.say(ada, &ClientMessage::Inputs { first, inputs });
        link.ticks(3);
        assert!(link.client(ada).is_joined());
        // In the middle the one before is repeated.
        assert!((avatar(&link, ada).x - 0.6).abs() < 0.01, "{}", avatar(&link, ada).x);
    }
}

#[test]
fn inputs_of_ticks_that_nobody_comes_to_cost_nothing_and_harm_nobody() {
    let mut link = Link::new(Field, settings());
    let (ada, bo) = (link.join(), link.join());
    link.ticks(3);
    let input = encoded(&Steer { right: 1.0, jump: true, heading: 3 });
    for first in [0, 1, limits::ID_MOST - 12, limits::ID_MOST, link.tick_number() + 1 + limits::INPUT_AHEAD] {
        let inputs = vec![input.as_slice(); limits::INPUTS];
        link.say(ada, &ClientMessage::Inputs { first: Tick(first), inputs });
        link.tick();
    }
    link.ticks(40);
    assert!(link.client(ada).is_joined() && link.client(bo).is_joined());
    assert!(avatar(&link, ada).jumps <= limits::INPUT_LATE as u32 + 1);
    link.say(ada, &ClientMessage::Inputs { first: Tick(u64::MAX), inputs: vec![input.as_slice()] });
    link.tick();
    assert_eq!((link.client(ada).code(), link.client(bo).is_joined()), (Some(4000), true));
}

#[test]
fn an_entity_is_written_once_in_a_message() {
    let mut mask = FieldMask::NONE;
    mask.insert(5);
    let mut fields = Vec::new();
    mask.put(Avatar::KIND.fields.len(), &mut fields);
    fields.push(1);
    let of = |id| WriteEntry { kind: 1, id: EntityId::explicit(id).expect("it is one"), fields: &fields };
    for (ids, code) in [([101, 102], None), ([101, 101], Some(4000)), ([102, 101], Some(4000))] {
        let mut link = Link::new(Field, settings());
        let ada = link.join();
        link.say(ada, &ClientMessage::Writes { number: u64::MAX, entries: ids.map(of).into() });
        link.tick();
        assert_eq!(link.client(ada).code(), code, "{ids:?}");
    }
}

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
struct Card {
    owner: PlayerId,
    #[field(writable)]
    name: String,
    #[field(writable)]
    pips: u8,
    /// Hands that a step got to see.
    seen: u32,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
struct Hand {
    secret: u32,
}

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
struct Peek {
    at: u64,
}

struct Look;

impl Stepper for Look {
    type Input = Peek;

    fn step(world: &mut impl StepWorld, input: &Peek, _: f32) {
        let mut seen = world.all::<Hand>().count() as u32 - 1;
        if let Some(id) = EntityId::from_wire(input.at) {
            let hand = Id::<Hand>::assume(id);
            seen += 10 * u32::from(world.get(hand).is_some());
            if let Some(mut hand) = world.get_mut(hand) {
                hand.set_secret(0);
            }
        }
        let Some(mut card) = world.own::<Card>().and_then(|id| world.get_mut(id)) else { return };
        card.set_seen(seen);
    }
}

struct Table;

impl Game for Table {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().private::<Hand>().entity::<Card>()
    }

    fn steps() -> Steps<Self> {
        Steps::by::<Look>()
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        room.private_mut::<Hand>(peer.player).expect("it is hers").set_secret(7);
        let card = Card { owner: peer.player, name: String::new(), pips: 0, seen: 0 };
        room.create(card).map(|_| ()).map_err(|error| Refused::new(error.to_string()))
    }

    fn on_write(&mut self, _: &mut Room<Self>, _: Peer, written: &mut Written) -> Result<(), Refused> {
        if let Some(card) = written.get_mut::<Card>().filter(|card| card.name == "longer") {
            card.name = "n".repeat(limits::TEXT + 9);
        }
        Ok(())
    }
}

#[test]
fn a_step_reaches_no_private_state_but_its_players_own() {
    let mut room = TestRoom::with(Table, settings());
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.advance(2);
    let bos = room.stored::<Hand>();
    let own = |client: &room_client::testing::TestClient| {
        client.replica().all::<Hand>().next().expect("she has one").0
    };
    let of_bo = own(&bo).get();
    assert_eq!((bos.len(), ada.replica().all::<Hand>().count()), (2, 1));
    for _ in 0..20 {
        ada.input::<Look>(Peek { at: of_bo });
        room.advance(1);
    }
    assert!(room.stored::<Hand>().iter().all(|(_, hand)| hand.secret == 7));
    assert!(room.stored::<Card>().iter().all(|(_, card)| card.seen == 0), "{:?}", room.stored::<Card>());
    assert_eq!(ada.stats().corrections, 0);
}

#[test]
fn what_the_room_said_of_writes_and_steps_it_still_has_when_it_is_killed() {
    let mut room = TestRoom::durable_with(|| Field, settings());
    let ada = room.join("ada");
    room.advance(3);
    let id = super::game::own(&ada);
    for n in 1..30 {
        for _ in 0..4 {
            ada.input::<Walk>(Steer { right: 1.0, ..Steer::default() });
            room.advance(1);
        }
        ada.write(id, |avatar| avatar.set_tilt(n as f32)).expect("it is hers");
        if n % 2 == 0 {
            room.advance(1);
        }
        let told = ada.replica().confirmed(id).expect("she sees it").clone();
        room.kill_and_wake();
        let kept = room.stored::<Avatar>().remove(0).1;
        assert!(kept.tilt >= told.tilt && kept.x >= told.x, "{told:?} was said, and {kept:?} kept");
        // What it had said nothing of goes once more.
        room.advance(3);
        assert_eq!(room.stored::<Avatar>()[0].1.tilt, n as f32);
        assert_eq!(ada.replica().get(id).expect("she sees it").tilt, n as f32);
    }
}

#[test]
fn what_a_game_makes_too_long_is_refused_and_so_is_what_was_written_beside_it() {
    let mut room = TestRoom::with(Table, settings());
    let ada = room.join("ada");
    room.advance(2);
    let (id, before) = room.stored::<Card>().remove(0);
    ada.write(id, |card| {
        card.set_name("longer".to_owned()).expect("it fits");
        card.set_pips(5);
    })
    .expect("it is hers");
    room.advance(3);
    assert_eq!(room.stored::<Card>()[0].1, before);
    assert_eq!(ada.replica().get(id), Some(&before));
}

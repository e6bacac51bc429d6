//! Calls whose effect shows at once.

use room::prelude::*;
use room_client::testing::{TestClient, TestRoom};
use room_client::{CallOptions, Event};

use super::game::{Field, Steer, Walk, Wall, own, room, seen};

fn wall(room: &mut TestRoom<Field>, x: f32) -> Id<Wall> {
    let id = room.edit(|_, room| room.create(Wall { x }).expect("it fits"));
    room.advance(3);
    id
}

fn shift(client: &TestClient, id: Id<Wall>, by: f32) {
    let effect = move |world: &mut room_client::Predicted<'_>| {
        if let Some(mut wall) = world.get_mut(id) {
            let x = wall.x + by;
            wall.set_x(x);
        }
    };
    client.call_predicted("shift", &(id.get(), by), CallOptions::default(), effect).expect("it is short");
}

fn shown(client: &TestClient, id: Id<Wall>) -> f32 {
    client.replica().get(id).expect("it is seen").x
}

fn results(client: &TestClient) -> usize {
    client.events().iter().filter(|event| matches!(event, Event::Result { .. })).count()
}

#[test]
fn what_a_call_is_expected_to_do_shows_at_once_and_stays_once_it_is_done() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    let id = wall(&mut room, 5.0);
    shift(&ada, id, 2.0);
    shift(&ada, id, 1.0);
    assert_eq!((shown(&ada, id), shown(&bo, id)), (8.0, 5.0));
    for _ in 0..4 {
        room.advance(1);
        assert_eq!(shown(&ada, id), 8.0, "it never goes back");
    }
    assert_eq!((shown(&bo, id), results(&ada)), (8.0, 2));
    assert_eq!(ada.replica().confirmed(id).expect("it is seen").x, 8.0);
}

#[test]
fn what_the_room_refuses_is_taken_back_and_what_it_does_otherwise_counts() {
    let mut room = room();
    let ada = room.join("ada");
    let id = wall(&mut room, 5.0);
    shift(&ada, id, 20.0);
    assert_eq!(shown(&ada, id), 25.0);
    room.advance(2);
    assert_eq!((shown(&ada, id), results(&ada)), (5.0, 1));
    // While it is on its way, the room moves the wall as well: hers is on top of that.
    room.drop_link(&ada);
    shift(&ada, id, 1.0);
    assert_eq!(shown(&ada, id), 5.0, "not without a connection");
    room.edit(|_, room| room.get_mut(id).expect("it lives").set_x(50.0));
    room.advance(1);
    room.resume(&ada);
    room.advance(3);
    assert_eq!((shown(&ada, id), results(&ada)), (51.0, 1));
}

#[test]
fn steps_meet_what_calls_are_expected_to_do() {
    let mut room = room();
    let ada = room.join("ada");
    let id = wall(&mut room, 1.0);
    let own = own(&ada);
    for _ in 0..20 {
        ada.input::<Walk>(Steer { right: 1.0, ..Steer::default() });
        room.advance(1);
    }
    assert_eq!(seen(&ada, own).x, 1.0, "she stands at the wall");
    shift(&ada, id, 3.0);
    for _ in 0..20 {
        ada.input::<Walk>(Steer { right: 1.0, ..Steer::default() });
        room.advance(1);
    }
    assert_eq!((seen(&ada, own).x, results(&ada)), (4.0, 1));
}

#[test]
fn a_session_that_is_lost_takes_what_was_expected_along() {
    let mut room = room();
    let ada = room.join("ada");
    let id = wall(&mut room, 5.0);
    room.drop_link(&ada);
    shift(&ada, id, 2.0);
    // Longer than she is held.
    room.advance(20 * 40);
    room.resume(&ada);
    room.rejoin(&ada);
    room.advance(3);
    assert_eq!(shown(&ada, id), 5.0);
}

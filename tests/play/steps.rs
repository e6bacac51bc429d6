//! Inputs, and the steps that they make in the room and on her own screen.

use super::game::{Avatar, Purse, Steer, Walk, Wall, own, room, seen, stored};

fn steer(right: f32) -> Steer {
    Steer { right, ..Steer::default() }
}

#[test]
fn a_step_shows_on_her_own_screen_at_once_and_the_room_comes_to_the_same_end() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.advance(3);
    let id = own(&ada);
    for _ in 0..100 {
        ada.input::<Walk>(steer(1.0));
        room.advance(1);
    }
    let ahead = (seen(&ada, id).x - stored(&room, id).x) / 0.2;
    assert!((0.5..8.0).contains(&ahead), "she is {ahead} ticks ahead");
    assert!(stored(&room, id).x > 15.0);
    assert_eq!(ada.replica().confirmed(id).unwrap().x, stored(&room, id).x);
    assert_eq!(seen(&bo, id).x, stored(&room, id).x);
    let stats = ada.stats();
    assert_eq!((stats.corrections, stats.late), (0, 0), "{stats:?}");
    ada.input::<Walk>(steer(0.0));
    room.advance(10);
    assert_eq!(seen(&ada, id), stored(&room, id));
    let private = ada.private::<Purse>().expect("it is hers");
    assert_eq!(private.steps, room.room().private::<Purse>(ada.player().unwrap()).unwrap().steps);
}

#[test]
fn what_the_room_does_to_her_is_corrected_and_what_she_does_meanwhile_is_kept() {
    let mut room = room();
    let ada = room.join("ada");
    room.advance(3);
    let id = own(&ada);
    let walk = |room: &mut room_client::testing::TestRoom<_>, ticks| {
        for _ in 0..ticks {
            ada.input::<Walk>(steer(1.0));
            room.advance(1);
        }
    };
    walk(&mut room, 40);
    assert_eq!(ada.stats().corrections, 0);
    room.edit(|_, room| room.get_mut(id).expect("it lives").set_x(-50.0));
    walk(&mut room, 4);
    assert_eq!(ada.stats().corrections, 1, "{:?}", ada.stats());
    assert!(seen(&ada, id).x < -48.0 && seen(&ada, id).x > stored(&room, id).x);
    walk(&mut room, 20);
    assert_eq!(ada.stats().corrections, 1);
    // A wall comes up before her that she did not know of.
    let x = stored(&room, id).x;
    room.edit(|_, room| room.create(Wall { x }).expect("it fits"));
    walk(&mut room, 10);
    assert_eq!((seen(&ada, id).x, stored(&room, id).x), (x, x));
    let corrected = ada.stats().corrections;
    walk(&mut room, 20);
    assert_eq!(ada.stats().corrections, corrected, "and then she knows");
}

#[test]
fn a_jump_is_made_once_however_many_frames_it_is_held_back() {
    let mut room = room();
    let ada = room.join("ada");
    room.advance(3);
    let id = own(&ada);
    for n in 0..60 {
        ada.input::<Walk>(Steer { jump: n % 10 == 0, ..steer(1.0) });
        // Another frame before the tick says nothing of it.
        ada.input::<Walk>(steer(1.0));
        room.advance(1);
    }
    room.advance(10);
    assert_eq!((seen(&ada, id).jumps, stored(&room, id).jumps), (6, 6));
    assert_eq!(ada.stats().corrections, 0);
}

#[test]
fn who_is_away_rests_and_who_comes_back_plays_on() {
    let mut room = room();
    let ada = room.join("ada");
    room.advance(3);
    let id = own(&ada);
    let walk = |room: &mut room_client::testing::TestRoom<_>, ticks| {
        for _ in 0..ticks {
            ada.input::<Walk>(steer(1.0));
            room.advance(1);
        }
    };
    walk(&mut room, 20);
    room.drop_link(&ada);
    room.advance(1);
    let x = stored(&room, id).x;
    room.advance(40);
    assert_eq!(stored(&room, id).x, x, "she rests at once");
    room.resume(&ada);
    walk(&mut room, 30);
    assert!(stored(&room, id).x > x + 3.0);
    assert_eq!(ada.replica().confirmed(id), Some(&stored(&room, id)));
    assert!(seen(&ada, id).x > stored(&room, id).x);
}

#[test]
fn a_step_meets_what_its_player_sees_and_the_room_steps_everybody() {
    let mut room = room();
    let clients = ["ada", "bo", "cy"].map(|name| room.join(name));
    room.advance(3);
    for _ in 0..20 {
        for (client, right) in clients.iter().zip([1.0, -1.0, 0.5]) {
            client.input::<Walk>(steer(right));
        }
        room.advance(1);
    }
    clients.iter().for_each(|client| client.input::<Walk>(steer(0.0)));
    room.advance(10);
    for (client, sign) in clients.iter().zip([1.0, -1.0, 1.0]) {
        let avatar: Avatar = stored(&room, own(client));
        assert!(avatar.x * sign > 1.0, "{avatar:?}");
        assert!(clients.iter().all(|other| seen(other, own(client)) == avatar));
        assert_eq!(client.stats().corrections, 0);
    }
}

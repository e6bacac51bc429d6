//! Fields that players write of what they own.

use room::prelude::*;
use room::room::log::Log;
use room::runtime::Settings;
use room::wire::message::{ClientMessage, WriteEntry};
use room::{FieldMask, limits};
use room_client::WriteRefused;

use super::game::{Avatar, Field, Wall, own, room, seen, stored};
use super::link::Link;

#[test]
fn what_a_player_writes_shows_at_once_and_goes_to_everyone() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.advance(2);
    let id = own(&ada);
    ada.write(id, |avatar| {
        avatar.set_aim(12.3);
        avatar.set_mood(3);
    })
    .expect("it is hers");
    assert_eq!((seen(&ada, id).aim, seen(&ada, id).mood), (12.5, 3), "rounded as the room rounds");
    assert_eq!(seen(&bo, id).aim, 0.0);
    room.advance(3);
    assert_eq!((stored(&room, id).aim, stored(&room, id).mood, stored(&room, id).hp), (12.5, 3, 10));
    for client in [&ada, &bo] {
        assert_eq!(seen(client, id), stored(&room, id));
    }
    assert_eq!(ada.replica().confirmed(id).expect("it is seen").aim, 12.5);
}

#[test]
fn what_the_room_changes_or_refuses_is_corrected() {
    let mut room = room();
    let ada = room.join("ada");
    room.advance(2);
    let id = own(&ada);
    ada.write(id, |avatar| avatar.set_mood(200)).expect("it is hers");
    assert_eq!(seen(&ada, id).mood, 200);
    room.advance(3);
    assert_eq!((seen(&ada, id).mood, stored(&room, id).mood), (99, 99));
    ada.write(id, |avatar| avatar.set_mood(13)).expect("it is hers");
    assert_eq!(seen(&ada, id).mood, 13);
    room.advance(3);
    assert_eq!((seen(&ada, id).mood, stored(&room, id).mood), (99, 99));
    // She writes on before the room has said anything: the newest counts.
    ada.write(id, |avatar| avatar.set_mood(200)).expect("it is hers");
    room.advance(1);
    ada.write(id, |avatar| avatar.set_mood(5)).expect("it is hers");
    room.advance(3);
    assert_eq!((seen(&ada, id).mood, stored(&room, id).mood), (5, 5));
}

#[test]
fn what_the_room_writes_meanwhile_stays_beneath_until_hers_is_handled() {
    let mut room = room();
    let ada = room.join("ada");
    room.advance(2);
    let id = own(&ada);
    room.edit(|_, room| {
        let mut avatar = room.get_mut(id).expect("it lives");
        avatar.set_aim(-90.0);
        avatar.set_hp(3);
    });
    ada.write(id, |avatar| avatar.set_aim(45.0)).expect("it is hers");
    room.advance(1);
    assert_eq!((seen(&ada, id).aim, seen(&ada, id).hp), (45.0, 3));
    room.advance(3);
    assert_eq!((seen(&ada, id).aim, stored(&room, id).aim), (45.0, 45.0));
}

#[test]
fn nobody_writes_what_is_not_hers_and_is_told_whose_it_is() {
    let mut room = room();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.advance(2);
    let (id, player, owner) = (own(&bo), ada.player().unwrap(), bo.player().unwrap());
    let refused = ada.write(id, |avatar| avatar.set_mood(1)).unwrap_err();
    assert_eq!(refused, WriteRefused::NotOwner { kind: "avatar", id: id.entity(), owner, player });
    assert!(refused.to_string().contains(&format!("player {owner}'s")), "{refused}");
    let nothing = Id::<Avatar>::assume(EntityId::explicit(77).unwrap());
    assert!(matches!(ada.write(nothing, |_| ()), Err(WriteRefused::Unseen { .. })));
    room.drop_link(&ada);
    assert_eq!(ada.write(own(&ada), |avatar| avatar.set_mood(1)), Err(WriteRefused::NotJoined));
}

#[test]
fn a_write_that_a_cut_link_lost_goes_once_more() {
    let mut room = room();
    let ada = room.join("ada");
    room.advance(2);
    let id = own(&ada);
    ada.write(id, |avatar| avatar.set_mood(7)).expect("it is hers");
    room.drop_link(&ada);
    room.advance(2);
    assert_eq!((seen(&ada, id).mood, stored(&room, id).mood), (7, 0));
    room.resume(&ada);
    room.advance(4);
    assert_eq!((seen(&ada, id).mood, stored(&room, id).mood), (7, 7));
}

/// A message of writes with one entity: a set of its fields, and values.
fn forged(number: u64, kind: u8, id: impl Into<EntityId>, fields: &[u8], values: &[u8]) -> Vec<u8> {
    let mut mask = FieldMask::NONE;
    fields.iter().for_each(|field| mask.insert((*field).into()));
    let mut bytes = Vec::new();
    mask.put(Avatar::KIND.fields.len(), &mut bytes);
    bytes.extend_from_slice(values);
    let entries = vec![WriteEntry { kind, id: id.into(), fields: &bytes }];
    let mut message = Vec::new();
    ClientMessage::Writes { number, entries }.encode(&mut message);
    message
}

/// Numbers by which kinds travel: private state comes first.
const AVATAR: u8 = 1;
const WALL: u8 = 2;
const X: u8 = 1;
const AIM: u8 = 3;
const TILT: u8 = 4;
const MOOD: u8 = 5;

#[test]
fn forged_writes_are_refused_and_counted_and_nobody_else_is_affected() {
    let settings = Settings { tick_rate: 20, send_every: 1, ..Settings::default() };
    let mut link = Link::new(Field, settings);
    let (ada, bo) = (link.join(), link.join());
    let of = |link: &Link<Field>, conn| {
        Id::<Avatar>::assume(EntityId::explicit(100 + u64::from(link.player(conn).0)).unwrap())
    };
    let (hers, his) = (of(&link, ada), of(&link, bo));
    let wall = link.edit(|room| room.create(Wall { x: 5.0 }).expect("it fits"));
    link.ticks(2);
    let before = link.room.room().get(his).unwrap().clone();
    let nan = f32::NAN.to_le_bytes();
    let refused = [
        forged(1, AVATAR, his, &[MOOD], &[1]),
        forged(2, AVATAR, hers, &[X], &nan[..3]),
        forged(3, AVATAR, hers, &[TILT], &nan),
        forged(4, AVATAR, hers, &[TILT], &f32::INFINITY.to_le_bytes()),
        forged(5, WALL, wall, &[0], &nan),
        forged(6, WALL, hers, &[0], &nan),
        forged(7, AVATAR, EntityId::explicit(4000).unwrap(), &[MOOD], &[1]),
        forged(8, AVATAR, hers, &[MOOD, X], &[1, 2, 3, 4]),
    ];
    for message in &refused {
        link.send_bytes(ada, message);
    }
    link.tick();
    assert!(link.client(ada).is_joined(), "{:?}", link.client(ada).closed);
    assert_eq!(link.room.room().get(his), Some(&before));
    let own = link.room.room().get(hers).unwrap();
    assert_eq!((own.x, own.tilt.to_bits(), own.mood), (0.0, 0, 0));
    // Out of range is clamped: 3 bytes of steps from -90.
    link.send_bytes(ada, &forged(9, AVATAR, hers, &[AIM], &[0xff; 2]));
    link.tick();
    let aim = link.room.room().get(hers).unwrap().aim;
    assert!(!link.client(ada).is_joined() || (-90.0..=90.0).contains(&aim), "{aim}");
    link.ticks(limits::HEARTBEAT_SECONDS as usize * 20);
    let logs = std::mem::take(&mut link.log);
    let player = link.player(ada);
    let counted = Log::RefusedWrites { player, count: refused.len() as u64 };
    assert!(logs.contains(&counted), "{logs:?}");
    assert!(link.client(bo).is_joined());
}

#[test]
fn writes_that_do_not_decode_close_their_sender_alone() {
    for (fields, values) in [(&[MOOD][..], &[][..]), (&[MOOD], &[1, 2]), (&[TILT], &[1])] {
        let mut link = Link::new(Field, Settings::default());
        let (ada, bo) = (link.join(), link.join());
        let hers = Id::<Avatar>::assume(EntityId::explicit(100 + u64::from(link.player(ada).0)).unwrap());
        link.send_bytes(ada, &forged(1, AVATAR, hers, fields, values));
        link.tick();
        assert_eq!(link.client(ada).code(), Some(4000));
        assert!(link.client(bo).is_joined());
    }
}

#[test]
fn a_hundred_writes_a_tick_are_dropped_and_the_rest_stays_true() {
    let mut link = Link::new(Field, Settings { tick_rate: 20, ..Settings::default() });
    let (ada, bo) = (link.join(), link.join());
    let hers = Id::<Avatar>::assume(EntityId::explicit(100 + u64::from(link.player(ada).0)).unwrap());
    for tick in 0..20u64 {
        for n in 0..100 {
            link.send_bytes(ada, &forged(1 + tick * 100 + n, AVATAR, hers, &[MOOD], &[(n % 90) as u8 + 1]));
        }
        link.tick();
    }
    assert!(link.client(ada).is_joined() && link.client(bo).is_joined());
    let mood = link.room.room().get(hers).unwrap().mood;
    assert!((1..=90).contains(&mood) && mood != 13);
    link.ticks(3);
    assert_eq!(link.replica(bo).get(hers).unwrap().mood, mood);
}

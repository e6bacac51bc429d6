//! What a write is, and what of it travels.

use room::prelude::*;
use room::room::log::Log;
use room::runtime::Settings;
use room::{CreateError, WriteError, limits};

use super::lab::{self, Board, Crate, Deck, Dot, Lab, dot, noise};
use super::link::Link;

/// A room with one client and one entity that it sees, at rest.
fn resting<K: Visible>(entity: K) -> (Link<Lab>, ConnectionId, Id<K>) {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(entity);
    link.ticks(3);
    (link, conn, id)
}

/// Messages and bytes that a change costs a client within three ticks.
fn cost(link: &mut Link<Lab>, conn: ConnectionId, change: impl FnOnce(&mut Room<Lab>)) -> (usize, usize) {
    let before = (link.client(conn).messages, link.client(conn).bytes);
    link.edit(change);
    link.ticks(3);
    (link.client(conn).messages - before.0, link.client(conn).bytes - before.1)
}

#[test]
fn an_idle_room_sends_nothing_after_one_empty_update() {
    let (mut link, conn, id) = resting(dot(0.0));
    let at_rest = link.client(conn).messages;
    link.ticks(50);
    assert_eq!(link.client(conn).messages, at_rest);
    let (messages, _) = cost(&mut link, conn, |room| room.get_mut(id).expect("it lives").set_hp(5));
    assert_eq!(messages, 2, "the update and the empty one");
    let [.., update, empty] = &link.client(conn).applied[..] else { panic!("two updates") };
    assert!(update.changed && !empty.changed);
    assert_eq!(empty.tick.0, update.tick.0 + 1);
}

#[test]
fn a_current_value_and_a_value_set_back_are_not_sent() {
    let (mut link, conn, id) = resting(Dot { hp: 3, x: f64::NAN, ..Dot::default() });
    let (messages, _) = cost(&mut link, conn, |room| {
        let mut dot = room.get_mut(id).expect("it lives");
        dot.set_hp(3);
        dot.set_x(f64::NAN);
        dot.set_aim(0.1);
        dot.set_y(7.0);
        dot.set_y(0.0);
    });
    assert_eq!(messages, 0);
    // A zero of the other sign is another value.
    let (messages, _) = cost(&mut link, conn, |room| room.get_mut(id).expect("it lives").set_y(-0.0));
    assert_eq!(messages, 2);
    assert!(link.replica(conn).get(id).is_some_and(|dot| dot.y.is_sign_negative()));
}

#[test]
fn of_several_writes_the_last_counts_once() {
    let (mut link, conn, id) = resting(dot(0.0));
    let (_, once) = cost(&mut link, conn, |room| room.get_mut(id).expect("it lives").set_hp(1));
    let (messages, many) = cost(&mut link, conn, |room| {
        (2..100).chain([2]).for_each(|hp| room.get_mut(id).expect("it lives").set_hp(hp));
    });
    assert_eq!((messages, many), (2, once));
    assert_eq!(link.replica(conn).get(id).map(|dot| dot.hp), Some(2));
}

#[test]
fn a_patch_sends_only_its_range() {
    let (mut link, conn, id) = resting(Crate { data: Bytes::from(noise(40_000, 1)), ..Crate::default() });
    let (_, bytes) = cost(&mut link, conn, |room| {
        room.get_mut(id).expect("it lives").patch_data(20_000, &[1, 2, 3]).expect("it fits");
    });
    assert!(bytes < 60, "{bytes} bytes for three");
    let (_, bytes) = cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        it.patch_data(100, &noise(60, 2)).expect("it fits");
        it.patch_data(140, &noise(60, 3)).expect("it fits");
        it.patch_data(39_000, &[9]).expect("it fits");
    });
    assert!((101..180).contains(&bytes), "{bytes} bytes for two ranges of 100 and 1");
    let room = link.room.room().get(id).expect("it lives");
    assert_eq!(link.replica(conn).get(id).expect("it is seen").data, room.data);
}

#[test]
fn ranges_that_cost_more_than_the_whole_go_whole() {
    let (mut link, conn, id) = resting(Crate { data: Bytes::from(noise(600, 1)), ..Crate::default() });
    let (_, bytes) = cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        (0..300).for_each(|at| {
            let byte = it.data[at * 2] ^ 0xff;
            it.patch_data(at * 2, &[byte]).expect("it fits");
        });
    });
    assert!(bytes < 650, "{bytes}");
    let room = link.room.room().get(id).expect("it lives");
    assert_eq!(link.replica(conn).get(id).expect("it is seen").data, room.data);
}

#[test]
fn a_patch_past_the_end_fills_the_gap_with_zeros() {
    let (mut link, conn, id) = resting(Crate::default());
    cost(&mut link, conn, |room| {
        room.get_mut(id).expect("it lives").patch_data(5, &[1, 2]).expect("it fits")
    });
    assert_eq!(link.replica(conn).get(id).expect("it is seen").data[..], [0, 0, 0, 0, 0, 1, 2]);
    cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        it.patch_data(6, &[3, 4]).expect("it fits");
        it.patch_data(9, &[0]).expect("it fits");
    });
    assert_eq!(link.replica(conn).get(id).expect("it is seen").data[..], [0, 0, 0, 0, 0, 1, 3, 4, 0, 0]);
}

#[test]
fn a_field_that_patches_made_long_enters_whole() {
    let (mut link, conn, id) = resting(Crate::default());
    // The length of the field takes one byte, then two, then three.
    for len in [1, 1400, 17_000] {
        cost(&mut link, conn, |room| {
            room.get_mut(id).expect("it lives").patch_data(len, &[7]).expect("it fits");
        });
        let late = link.join();
        let room = link.room.room().get(id).expect("it lives");
        assert_eq!(link.replica(late).get(id).expect("it is seen").data, room.data);
    }
}

#[test]
fn a_replacement_after_a_patch_counts_and_a_patch_set_back_is_not_sent() {
    let (mut link, conn, id) = resting(Crate { data: Bytes::from(vec![1; 100]), ..Crate::default() });
    let (messages, _) = cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        it.patch_data(3, &[9, 9]).expect("it fits");
        it.patch_data(3, &[1, 1]).expect("it fits");
    });
    assert_eq!(messages, 0);
    cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        it.patch_data(3, &[9, 9]).expect("it fits");
        it.set_data(Bytes::from(vec![5])).expect("it fits");
    });
    assert_eq!(link.replica(conn).get(id).expect("it is seen").data[..], [5]);
}

#[test]
fn a_json_value_changed_in_place_is_sent_and_an_equal_one_is_not() {
    let (mut link, conn, id) = resting(Crate { list: Json::new(vec![1, 2]), ..Crate::default() });
    let (messages, _) = cost(&mut link, conn, |room| {
        let last = room.get_mut(id).expect("it lives").update_list(|list| {
            list.push(3);
            list.pop()
        });
        assert_eq!(last, Ok(Some(3)));
    });
    assert_eq!(messages, 0, "the encodings are compared");
    cost(&mut link, conn, |room| {
        room.get_mut(id).expect("it lives").update_list(|list| list.push(3)).expect("it fits");
    });
    assert_eq!(*link.replica(conn).get(id).expect("it is seen").list, [1, 2, 3]);
}

#[test]
fn a_quantized_write_is_rounded_and_clamped_at_both_ends_and_logged() {
    let (mut link, conn, id) = resting(dot(0.0));
    link.log.clear();
    let mut write = |value: f32| {
        cost(&mut link, conn, |room| room.get_mut(id).expect("it lives").set_aim(value));
        let room = link.room.room().get(id).expect("it lives").aim;
        assert_eq!(link.replica(conn).get(id).expect("it is seen").aim.to_bits(), room.to_bits());
        (room, link.logged("clamped"))
    };
    assert_eq!(write(1.13), (1.25, 0));
    assert_eq!(write(-0.1), (0.0, 0));
    assert_eq!(write(1e9), (10.0, 1));
    // What follows is counted, and told of when the heartbeat is over.
    assert_eq!(write(f32::NEG_INFINITY), (-10.0, 0));
    assert_eq!(write(5.0), (5.0, 0));
    assert_eq!(write(f32::NAN), (-10.0, 0));
    link.ticks(15 * 20);
    let told = link
        .log
        .iter()
        .filter_map(|log| if let Log::Clamped { count, .. } = log { Some(*count) } else { None });
    assert_eq!(told.collect::<Vec<_>>(), [2]);
}

#[test]
fn created_and_deleted_between_two_seals_is_never_heard_of() {
    let (mut link, conn, id) = resting(dot(0.0));
    let (messages, _) = cost(&mut link, conn, |room| {
        let blink = room.create(dot(1.0)).expect("it is created");
        room.get_mut(blink).expect("it lives").set_hp(9);
        assert!(room.delete(blink));
        assert!(!room.delete(blink), "it is gone");
        assert!(room.get(blink).is_none());
    });
    assert_eq!(messages, 0);
    assert_eq!(link.held::<Dot>(conn), [id.get()]);
}

#[test]
fn a_hidden_write_sends_nothing() {
    let (mut link, conn, _) = resting(dot(0.0));
    let deck = link.add(Deck::default());
    let (messages, _) = cost(&mut link, conn, |room| {
        room.get_mut(deck).expect("it lives").update_order(|order| order.push(7)).expect("it fits");
    });
    assert_eq!(messages, 0);
    assert_eq!(link.room.room().get(deck).map(|deck| deck.order.len()), Some(1), "hooks read and write it");
}

#[test]
fn a_write_past_a_limit_names_kind_field_size_and_limit_and_changes_nothing() {
    let (mut link, conn, id) = resting(Crate { label: String::from("old"), ..Crate::default() });
    let (messages, _) = cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        let error = it.set_label("x".repeat(limits::TEXT + 1)).expect_err("it is too large");
        let (kind, limit) = ("crate", limits::TEXT);
        assert_eq!(error, WriteError::FieldTooLarge { kind, field: "label", size: limit + 1, limit });
        let text = error.to_string();
        assert!(["crate", "label", "16385", "16384"].iter().all(|part| text.contains(part)), "{text}");
        let (size, limit) = (limits::BLOB + 1, limits::BLOB);
        let expected = Err(WriteError::FieldTooLarge { kind, field: "data", size, limit });
        assert_eq!(it.set_data(Bytes::from(vec![0; size])), expected);
        assert_eq!(it.patch_data(limit, &[1]), expected);
        let error = it.update_list(|list| list.resize(limits::JSON, 0)).expect_err("it is too large");
        assert!(matches!(error, WriteError::FieldTooLarge { field: "list", .. }), "{error}");
        assert!(it.patch_data(usize::MAX, &[1, 2]).is_err());
    });
    assert_eq!(messages, 0);
    let it = link.room.room().get(id).expect("it lives");
    assert!(it.label == "old" && it.data.is_empty() && it.list.is_empty());
}

#[test]
fn an_entity_fits_in_a_part_or_is_refused() {
    let full = |label: usize| Crate {
        data: Bytes::from(noise(limits::BLOB, 1)),
        label: "x".repeat(label),
        ..Crate::default()
    };
    let fixed = room::wire::record::StoredRecord::of(&full(12_000)).as_bytes().len() - 12_000;
    let most = limits::ENTITY - fixed;
    let (mut link, conn, id) = resting(full(most));
    assert_eq!(link.replica(conn).get(id).expect("it is seen").label.len(), most);
    cost(&mut link, conn, |room| {
        let mut it = room.get_mut(id).expect("it lives");
        let error = it.set_label("x".repeat(most + 1)).expect_err("the entity is too large");
        let (kind, limit) = ("crate", limits::ENTITY);
        assert_eq!(error, WriteError::EntityTooLarge { kind, field: "label", size: limit + 1, limit });
        it.set_label("y".repeat(most)).expect("it fits");
        let error = room.create(full(most + 1)).expect_err("the entity is too large");
        assert!(matches!(error, CreateError::Write(WriteError::EntityTooLarge { .. })), "{error}");
    });
    assert!(link.replica(conn).get(id).expect("it is seen").label.starts_with('y'));
    let late = link.join();
    assert!(link.sees(late, id), "and enters with whoever comes later");
}

#[test]
fn sends_go_out_every_nth_tick() {
    let mut link = lab::with(Settings { send_every: 3, ..Settings::default() });
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.client_mut(conn).applied.clear();
    for hp in 1..=12 {
        link.edit(|room| room.get_mut(id).expect("it lives").set_hp(hp));
        link.tick();
    }
    let ticks: Vec<u64> = link.client(conn).applied.iter().map(|applied| applied.tick.0).collect();
    assert_eq!(ticks.len(), 4);
    assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] == 3), "{ticks:?}");
}

#[test]
fn the_rooms_state_and_a_players_private_state_are_there_from_the_first_update_on() {
    let mut link = lab::open();
    link.room.parts_mut().0.on_join = Some(Box::new(|room, peer| {
        room.state_mut::<Board>().set_round(4);
        let mut hand =
            room.private_mut::<lab::Hand>(peer.player).expect("it is there from the first join on");
        hand.set_card(77);
        Ok(())
    }));
    let (first, second) = (link.join(), link.join());
    for conn in [first, second] {
        let client = link.client(conn);
        assert!(client.applied[0].changed);
        assert_eq!(client.replica.state::<Board>().map(|board| board.round), Some(4));
        assert_eq!(client.replica.private::<lab::Hand>().map(|hand| hand.card), Some(77));
        assert_eq!(client.replica.all::<lab::Hand>().count(), 1, "nobody else's");
    }
    let player = link.player(first);
    link.edit(|room| room.private_mut::<lab::Hand>(player).expect("it is there").set_card(8));
    let quiet = link.client(second).bytes;
    link.tick();
    assert_eq!(link.replica(first).private::<lab::Hand>().map(|hand| hand.card), Some(8));
    assert_eq!(link.replica(second).private::<lab::Hand>().map(|hand| hand.card), Some(77));
    assert!(link.client(second).bytes - quiet <= 8, "at most the empty update");
}

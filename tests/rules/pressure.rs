//! Large updates, small caps, full windows.

use room::prelude::*;
use room::runtime::Settings;
use room::{EntityId, limits};

use super::lab::{self, Board, Crate, Dot, Hand, Lab, dot, dots, noise};
use super::link::{Link, Pace};

fn large(len: usize, seed: u64) -> Crate {
    Crate { data: Bytes::from(noise(len, seed)), ..Crate::default() }
}

/// One that compresses well.
fn plain(len: usize, byte: u8) -> Crate {
    Crate { data: Bytes::from(vec![byte; len]), ..Crate::default() }
}

fn capped() -> Settings {
    Settings { update_cap: limits::PART, ..Settings::default() }
}

fn equal(link: &Link<Lab>, conn: ConnectionId) -> bool {
    let ours = link.room.room().all::<Crate>().map(|(id, it)| (id, it.data.clone()));
    let dots = link.room.room().all::<Dot>().map(|(id, it)| (id, it.hp));
    ours.eq(link.replica(conn).all::<Crate>().map(|(id, it)| (id, it.data.clone())))
        && dots.eq(link.replica(conn).all::<Dot>().map(|(id, it)| (id, it.hp)))
}

#[test]
fn an_update_larger_than_a_part_comes_in_parts_and_applies_at_once() {
    let mut link = lab::open();
    let conn = link.join();
    let ids: Vec<Id<Crate>> = (0..5).map(|byte| link.add(plain(40_000, byte))).collect();
    let updates = link.client(conn).applied.len();
    let parts = link.client(conn).parts;
    link.tick();
    assert_eq!(link.client(conn).applied.len(), updates + 1);
    assert_eq!(link.client(conn).parts - parts, 5, "an entity is never cut");
    assert!(ids.iter().all(|id| link.sees(conn, *id)) && equal(&link, conn));
    assert_eq!(link.replica(conn).complete(), link.replica(conn).tick());
}

#[test]
fn what_does_not_fit_is_held_back_and_follows() {
    let mut link = lab::with(capped());
    let conn = link.join();
    for seed in 0..6 {
        link.add(large(25_000, seed));
    }
    let mut counts = Vec::new();
    for _ in 0..4 {
        link.tick();
        let replica = link.replica(conn);
        counts.push(replica.all::<Crate>().count());
        let drained = link.room.room().is_drained(conn);
        assert_eq!(drained, counts.last() == Some(&6));
        if drained {
            assert!(equal(&link, conn));
            assert_eq!(replica.complete(), replica.tick());
        }
    }
    assert_eq!(counts, [2, 4, 6, 6]);
}

#[test]
fn complete_lags_while_a_change_is_held_back() {
    let mut link = lab::with(capped());
    let conn = link.join();
    let ids: Vec<Id<Crate>> = (0..4).map(|seed| link.add(large(25_000, seed))).collect();
    link.ticks(5);
    assert!(link.room.room().is_drained(conn));
    let whole = link.tick_number();
    link.edit(|room| {
        for (seed, id) in (10..).zip(&ids) {
            room.get_mut(*id).expect("it lives").set_data(Bytes::from(noise(25_000, seed))).expect("it fits");
        }
    });
    link.tick();
    let replica = link.replica(conn);
    assert_eq!((replica.tick().0, replica.complete().0), (whole + 1, whole));
    assert!(!equal(&link, conn));
    link.tick();
    let replica = link.replica(conn);
    assert_eq!(replica.complete(), replica.tick());
    assert!(equal(&link, conn));
}

#[test]
fn state_and_private_state_go_first() {
    let mut link = lab::with(capped());
    let conn = link.join();
    let player = link.player(conn);
    for seed in 0..20 {
        link.add(large(30_000, seed));
    }
    link.ticks(2);
    for n in 1..6_u32 {
        link.edit(|room| {
            room.state_mut::<Board>().set_round(n);
            room.private_mut::<Hand>(player).expect("it is there").set_card(n.into());
        });
        link.tick();
        assert!(!link.room.room().is_drained(conn));
        assert_eq!(link.replica(conn).state::<Board>().map(|board| board.round), Some(n));
        assert_eq!(link.replica(conn).private::<Hand>().map(|hand| hand.card), Some(n.into()));
    }
}

#[test]
fn leaves_are_not_held_back() {
    let mut link = lab::with(capped());
    let conn = link.join();
    let id = link.add(dot(0.0));
    link.tick();
    for seed in 0..20 {
        link.add(large(30_000, seed));
    }
    link.tick();
    link.edit(|room| room.delete(id));
    link.tick();
    assert!(!link.sees(conn, id) && !link.room.room().is_drained(conn));
}

#[test]
fn the_limits_priority_orders_what_is_held_back() {
    let interest = || Visibility::everything().limit(100, |_, _, entity| -(entity.id().get() as f64));
    let mut link = lab::seen_with(capped(), interest);
    let conn = link.join();
    let ids: Vec<u64> = (0..6).map(|seed| link.add(large(25_000, seed)).get()).collect();
    link.tick();
    assert_eq!(link.held::<Crate>(conn), ids[..2]);
    link.tick();
    assert_eq!(link.held::<Crate>(conn), ids[..4]);
}

/// Under constant overload each change comes within as many sends as half an update has to carry all.
#[test]
fn nothing_starves() {
    const ENTITIES: usize = 30;
    const SIZE: usize = 20_000;
    let interest = || Visibility::everything().limit(100, |_, _, entity| -(entity.id().get() as f64));
    let mut link = lab::seen_with(capped(), interest);
    let conn = link.join();
    let ids: Vec<Id<Crate>> = (0..ENTITIES as u64).map(|seed| link.add(large(SIZE, seed))).collect();
    let bound = (ENTITIES * SIZE).div_ceil(limits::PART / 2) + 1;
    let mut last_changed = [0; ENTITIES];
    let mut held = vec![Bytes::default(); ENTITIES];
    for tick in 1..150_u64 {
        link.edit(|room| {
            for (n, id) in ids.iter().enumerate() {
                let mut it = room.get_mut(*id).expect("it lives");
                it.set_data(Bytes::from(noise(SIZE, tick * 100 + n as u64))).expect("it fits");
            }
        });
        link.tick();
        if link.held::<Crate>(conn).len() == ENTITIES {
            let oldest = last_changed.iter().zip(&held).zip(&ids).map(|((last, held), id)| {
                let now = &link.replica(conn).get(*id).expect("it is seen").data;
                if now == held { *last } else { tick }
            });
            let (began, complete) = (link.tick_number() - tick, link.replica(conn).complete().0);
            assert_eq!(Some(complete - began), oldest.min(), "nothing that is held is older than that");
        }
        for (n, id) in ids.iter().enumerate() {
            let now = link.replica(conn).get(*id).map(|it| it.data.clone()).unwrap_or_default();
            if now != held[n] {
                (held[n], last_changed[n]) = (now, tick);
            }
            let waited = tick - last_changed[n];
            assert!(waited <= bound as u64, "entity {n} waited for {waited} sends, the bound is {bound}");
        }
    }
    assert!(!link.room.room().is_drained(conn));
    link.ticks(bound);
    assert!(link.room.room().is_drained(conn) && equal(&link, conn));
}

/// Fills the windows of clients that acknowledge nothing.
fn flood(link: &mut Link<Lab>) {
    for _ in 0..8 {
        let text = noise(limits::TEXT, link.tick_number()).into_iter().map(|byte| char::from(byte & 0x7f));
        let text: String = text.collect();
        link.edit(|room| room.state_mut::<Board>().set_text(text)).expect("it fits");
        link.tick();
    }
}

/// Fills the window of a client that acknowledges nothing; returns its room, itself, and the entities.
fn withheld() -> (Link<Lab>, ConnectionId, Vec<Id<Dot>>) {
    let mut link = lab::with(Settings { window: limits::PART, ..Settings::default() });
    let conn = link.join();
    let ids = (0..5).map(|_| link.add(dot(0.0))).collect();
    link.tick();
    link.client_mut(conn).pace = Pace::Silent;
    for (seed, size) in [40_000, 25_000, 25_000].into_iter().enumerate() {
        link.add(large(size, seed as u64));
        link.tick();
    }
    (link, conn, ids)
}

#[test]
fn a_full_window_withholds_updates_and_one_merged_update_follows_the_acknowledgement() {
    let (mut link, conn, ids) = withheld();
    let (before, shown) = (link.client(conn).messages, link.replica(conn).tick());
    for hp in 1..20 {
        link.edit(|room| ids.iter().for_each(|id| room.get_mut(*id).expect("it lives").set_hp(hp)));
        link.tick();
    }
    assert_eq!(link.client(conn).messages, before, "nothing is sent past the window");
    assert_eq!(link.replica(conn).tick(), shown);
    assert!(!link.room.room().is_drained(conn));
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    let updates = link.client(conn).applied.len();
    link.tick();
    assert_eq!(link.client(conn).applied.len(), updates + 1, "one merged update");
    assert!(equal(&link, conn) && link.room.room().is_drained(conn));
    assert_eq!(link.replica(conn).complete(), link.replica(conn).tick());
}

#[test]
fn a_deletion_and_a_reuse_while_withheld_are_heard_of_as_a_leave_and_an_enter() {
    let (mut link, conn, ids) = withheld();
    link.client_mut(conn).replica.forget_report();
    let [gone, reused, other, ..] = ids[..] else { panic!("there are five") };
    link.edit(|room| room.delete(gone));
    link.tick();
    link.edit(|room| {
        room.delete(reused);
        room.create_with_id(reused.get(), Dot { hp: 77, ..Dot::default() }).expect("it is free");
        room.delete(other);
        room.create_with_id(other.get(), Crate::default()).expect("it is free");
        // The slots of what is deleted are used again too.
        (0..10).for_each(|hp| {
            room.create(Dot { hp, ..Dot::default() }).expect("it is created");
        });
    });
    link.tick();
    assert!(link.sees(conn, gone), "it has not heard of it");
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.tick();
    let replica = link.replica(conn);
    assert!(replica.get(gone).is_none() && replica.get(other).is_none());
    assert_eq!(replica.get(reused).map(|dot| dot.hp), Some(77));
    let left: Vec<Id<Dot>> = replica.left::<Dot>().collect();
    assert_eq!(left, [gone, reused, other]);
    assert!(replica.entered::<Dot>().any(|(id, _)| id == reused));
    assert!(equal(&link, conn));
}

#[test]
fn an_entity_that_came_and_went_while_withheld_is_never_heard_of() {
    let (mut link, conn, _) = withheld();
    let blink = link.add(dot(1.0));
    link.tick();
    link.edit(|room| room.delete(blink));
    link.tick();
    link.client_mut(conn).replica.forget_report();
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.tick();
    let replica = link.replica(conn);
    assert!(!replica.entered::<Dot>().any(|(id, _)| id == blink) && replica.left::<Dot>().next().is_none());
    assert!(equal(&link, conn));
}

#[test]
fn what_release_remembers_of_an_entity_ends_with_it_also_while_withheld() {
    let settings = Settings { window: limits::PART, ..Settings::default() };
    let mut link = lab::seen_with(settings, || dots(8.0).range(10.0).release(20.0));
    let conn = link.join();
    let old = link.add(dot(5.0));
    link.tick();
    link.client_mut(conn).pace = Pace::Silent;
    flood(&mut link);
    link.edit(|room| room.delete(old));
    link.tick();
    let new = link.add(dot(15.0));
    link.ticks(2);
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.ticks(2);
    assert!(link.room.room().is_drained(conn));
    assert!(!link.sees(conn, old) && !link.sees(conn, new), "past the range a new entity does not enter");
}

#[test]
fn priorities_that_changed_while_withheld_are_asked_again() {
    let interest = || {
        let visibility = Visibility::everything();
        visibility.limit(1, |_, _, entity| entity.get::<Dot>().map_or(-1.0, |dot| dot.rank)).on_change()
    };
    let mut link = lab::seen_with(Settings { window: limits::PART, ..Settings::default() }, interest);
    let conn = link.join();
    let ids: Vec<Id<Dot>> = (0..4).map(|n| link.add(Dot { rank: f64::from(n), ..Dot::default() })).collect();
    link.tick();
    assert_eq!(link.held::<Dot>(conn), [ids[3].get()]);
    link.client_mut(conn).pace = Pace::Silent;
    flood(&mut link);
    link.edit(|room| room.get_mut(ids[0]).expect("it lives").set_rank(10.0));
    link.edit(|room| room.get_mut(ids[1]).expect("it lives").set_rank(9.0));
    link.ticks(2);
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.ticks(2);
    assert!(link.room.room().is_drained(conn));
    assert_eq!(link.held::<Dot>(conn), [ids[0].get()]);
}

#[test]
fn a_replacement_and_a_later_patch_while_withheld_are_both_heard_of() {
    let (mut link, conn, _) = withheld();
    let crates: Vec<Id<Crate>> = link.room.room().all::<Crate>().map(|(id, _)| id).collect();
    link.edit(|room| {
        let mut it = room.get_mut(crates[0]).expect("it lives");
        it.set_data(Bytes::from(vec![1; 500])).expect("it fits");
    });
    link.tick();
    link.edit(|room| room.get_mut(crates[0]).expect("it lives").patch_data(498, &[2; 5]).expect("it fits"));
    link.tick();
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.tick();
    assert!(equal(&link, conn));
}

#[test]
fn more_ranges_than_a_field_remembers_go_whole_to_a_withheld_reader() {
    let (mut link, conn, _) = withheld();
    let crates: Vec<Id<Crate>> = link.room.room().all::<Crate>().map(|(id, _)| id).collect();
    for round in 0..80_usize {
        link.edit(|room| {
            let mut it = room.get_mut(crates[0]).expect("it lives");
            it.patch_data(round * 500, &[round as u8; 3]).expect("it fits");
            let mut it = room.get_mut(crates[1]).expect("it lives");
            it.patch_data(round % 7 * 100, &[round as u8; 2]).expect("it fits");
        });
        link.tick();
    }
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.ticks(2);
    assert!(equal(&link, conn));
}

#[test]
fn explain_says_what_is_held_back() {
    let mut link = lab::with(capped());
    let conn = link.join();
    let ids: Vec<EntityId> = (0..4).map(|seed| link.add(large(40_000, seed)).entity()).collect();
    link.tick();
    let answer = |link: &Link<Lab>, id: EntityId| {
        link.room.room().explain(link.room.game(), conn, id).expect("both are there")
    };
    assert!(answer(&link, ids[0]).sent);
    let held = answer(&link, ids[3]);
    assert!(!held.sent && held.member && held.held.is_some_and(|held| held.since.is_none()));
    link.ticks(4);
    assert!(answer(&link, ids[3]).sent && answer(&link, ids[3]).held.is_none());
}

#[test]
fn without_a_limit_what_is_near_comes_first() {
    let interest =
        || grid::<Lab>(16.0).dims(Xy).kind(|c: &Crate| [c.x, 0.0]).around(|_, _| [0.0, 0.0]).range(900.0);
    let mut link = lab::seen_with(capped(), interest);
    let conn = link.join();
    // The nearest has the highest ID.
    for seed in 0..6_u32 {
        link.add(Crate { x: f64::from(600 - 100 * seed), ..large(25_000, seed.into()) });
    }
    link.tick();
    let came: Vec<f64> = link.replica(conn).all::<Crate>().map(|(_, it)| it.x).collect();
    assert_eq!(came, [200.0, 100.0], "two fit");
}

//! What a resume brings: what changed since, and nothing for what did not. A claim makes nothing visible.

use room::prelude::*;
use room::session::Resume;
use room::wire::message::ClientMessage;
use room::{EntityId, Keys};

use super::lab::{self, Board, ByKey, Crate, Dot, Ghost, Hand, Lab, dot, dots, noise};
use super::link::{Link, Pace};

fn same(link: &Link<Lab>, conn: ConnectionId) {
    let (room, replica) = (link.room.room(), link.replica(conn));
    let dots = |it: &Dot| (it.owner, it.x, it.hp);
    assert!(
        room.all::<Dot>().map(|(id, it)| (id, dots(it))).eq(replica.all().map(|(id, it)| (id, dots(it))))
    );
    let crates = |it: &Crate| (it.data.clone(), it.label.clone());
    let ours = room.all::<Crate>().map(|(id, it)| (id, crates(it)));
    assert!(ours.eq(replica.all().map(|(id, it)| (id, crates(it)))));
    let ghosts = room.all::<Ghost>().map(|(id, it)| (id, it.hp));
    assert!(ghosts.eq(replica.all::<Ghost>().map(|(id, it)| (id, it.hp))));
    assert_eq!(replica.state::<Board>().map(|it| it.round), Some(room.state::<Board>().round));
    let player = link.player(conn);
    let hand = room.private::<Hand>(player).map(|hand| hand.card);
    assert_eq!(replica.private::<Hand>().map(|hand| hand.card), hand);
}

/// A room of so many dots and crates, and a client that has them all.
fn world(dots: usize, crates: u64) -> (Link<Lab>, ConnectionId) {
    let mut link = lab::open();
    let conn = link.join();
    (0..dots).for_each(|n| {
        link.add(dot(n as f64));
    });
    (0..crates).for_each(|seed| {
        link.add(Crate { data: Bytes::from(noise(2000, seed)), ..Crate::default() });
    });
    link.ticks(20);
    same(&link, conn);
    (link, conn)
}

fn reports(link: &Link<Lab>, conn: ConnectionId) -> (usize, usize, usize) {
    let replica = link.replica(conn);
    let entered = replica.entered::<Dot>().count() + replica.entered::<Crate>().count();
    let changed = replica.changed::<Dot>().count() + replica.changed::<Crate>().count();
    (entered, changed, replica.left::<Dot>().count() + replica.left::<Crate>().count())
}

#[test]
fn what_did_not_change_costs_nothing() {
    let (mut link, conn) = world(500, 50);
    let joined = link.client(conn).bytes;
    link.client_mut(conn).replica.forget_report();
    link.drop_link(conn);
    link.ticks(100);
    let again = link.rejoin(conn);
    let client = link.client(again);
    assert!(client.welcome.is_some_and(|welcome| welcome.resumed));
    assert!(client.bytes < 100, "{} bytes for a room at rest; the join took {joined}", client.bytes);
    assert_eq!(client.applied.len(), 1, "one update says that all is as it was");
    assert_eq!(reports(&link, again), (0, 0, 0), "the game sees no change");
    same(&link, again);
}

#[test]
fn what_changed_entered_and_left_meanwhile_comes_in_one_update() {
    let (mut link, conn) = world(500, 50);
    let joined = link.client(conn).bytes;
    link.client_mut(conn).replica.forget_report();
    link.drop_link(conn);
    link.tick();
    let all: Vec<Id<Dot>> = link.room.room().all::<Dot>().map(|(id, _)| id).collect();
    for round in 1..40 {
        link.edit(|room| {
            for id in &all[..25] {
                room.get_mut(*id).expect("it lives").set_hp(round);
            }
            room.state_mut::<Board>().set_round(round);
        });
        link.tick();
    }
    link.edit(|room| all[490..].iter().for_each(|id| assert!(room.delete(*id))));
    (0..7).for_each(|n| {
        link.add(dot(f64::from(n)));
    });
    let blink = link.add(dot(0.0));
    link.tick();
    link.edit(|room| room.delete(blink));
    let again = link.rejoin(conn);
    assert_eq!(link.client(again).applied.len(), 1);
    assert_eq!(reports(&link, again), (7, 25, 10));
    assert!(link.client(again).bytes * 10 < joined, "{} of {joined} bytes", link.client(again).bytes);
    same(&link, again);
    // And it goes on from there.
    link.edit(|room| room.get_mut(all[0]).expect("it lives").set_hp(99));
    link.ticks(2);
    same(&link, again);
}

#[test]
fn a_patch_while_away_goes_as_ranges_and_many_as_the_whole_field() {
    for (patches, whole) in [(3, false), (200, true)] {
        let (mut link, conn) = world(1, 0);
        let id = link.add(Crate { data: Bytes::from(noise(30_000, 1)), ..Crate::default() });
        link.ticks(2);
        link.drop_link(conn);
        link.tick();
        for n in 0..patches {
            link.edit(|room| room.get_mut(id).expect("it lives").patch_data(n * 100, &[n as u8; 4]))
                .expect("it fits");
            link.tick();
        }
        let again = link.rejoin(conn);
        let bytes = link.client(again).bytes;
        assert!(if whole { bytes > 10_000 } else { bytes < 400 }, "{bytes} bytes for {patches} patches");
        same(&link, again);
    }
}

#[test]
fn one_that_was_made_anew_under_its_id_leaves_and_enters() {
    let (mut link, conn) = world(5, 0);
    let all: Vec<Id<Dot>> = link.room.room().all::<Dot>().map(|(id, _)| id).collect();
    let ghost = link.add(Ghost { hp: 1 });
    link.tick();
    link.client_mut(conn).replica.forget_report();
    link.drop_link(conn);
    link.tick();
    link.edit(|room| {
        all[..3].iter().for_each(|id| assert!(room.delete(*id)));
        room.delete(ghost);
        // The same kind, and its values too; another kind; and one that stays away.
        room.create_with_id(all[0].get(), dot(0.0)).expect("it is free");
        room.create_with_id(all[1].get(), Crate::default()).expect("it is free");
    });
    link.ticks(3);
    let again = link.rejoin(conn);
    let replica = link.replica(again);
    assert_eq!(replica.left::<Dot>().collect::<Vec<_>>(), all[..3]);
    assert!(replica.left::<Ghost>().eq([ghost]));
    assert!(replica.entered::<Dot>().map(|(id, _)| id).eq([all[0]]));
    same(&link, again);
}

#[test]
fn one_made_anew_in_the_tick_of_the_resume_leaves_and_enters() {
    let (mut link, conn) = world(3, 0);
    let all: Vec<Id<Dot>> = link.room.room().all::<Dot>().map(|(id, _)| id).collect();
    link.drop_link(conn);
    let again = link.resume(conn);
    link.edit(|room| {
        room.delete(all[0]);
        room.create_with_id(all[0].get(), Crate::default()).expect("it is free");
        room.delete(all[1]);
    });
    link.tick();
    same(&link, again);
}

#[test]
fn what_is_out_of_view_leaves_and_what_came_into_view_enters() {
    let mut link = lab::seen_by(|| dots(8.0).range(10.0).release(20.0));
    let conn = link.join();
    let [stays, goes, comes, between] = [1.0, 5.0, 100.0, 9.0].map(|x| link.add(dot(x)));
    link.ticks(2);
    assert_eq!(link.held::<Dot>(conn), [stays.get(), goes.get(), between.get()]);
    link.client_mut(conn).replica.forget_report();
    link.drop_link(conn);
    link.tick();
    for (id, x) in [(goes, 100.0), (comes, 5.0), (between, 15.0)] {
        link.edit(|room| room.get_mut(id).expect("it lives").set_x(x));
    }
    link.tick();
    let again = link.rejoin(conn);
    // In the release it would have stayed; but the room has forgotten that it was seen, and a claim is no memory.
    assert_eq!(link.held::<Dot>(again), [stays.get(), comes.get()]);
    let replica = link.replica(again);
    assert!(replica.left::<Dot>().eq([goes, between]));
    assert_eq!((replica.entered::<Dot>().count(), replica.changed::<Dot>().count()), (1, 0));
}

#[test]
fn another_generation_gets_everything_anew_in_one_update() {
    let (mut link, conn) = world(20, 2);
    link.client_mut(conn).replica.forget_report();
    link.drop_link(conn);
    link.tick();
    let again = link.resume_as(conn, None, |resume| resume.claim.generation ^= 1);
    link.tick();
    assert!(link.client(again).welcome.is_some_and(|welcome| welcome.resumed));
    assert_eq!(link.client(again).applied.len(), 1);
    let replica = link.replica(again);
    assert_eq!((replica.left::<Dot>().count(), replica.entered::<Dot>().count()), (20, 20));
    same(&link, again);
}

#[test]
fn a_tick_that_has_not_been_is_the_last_one() {
    let (mut link, conn) = world(20, 2);
    link.drop_link(conn);
    link.tick();
    // It says that it has all that will come: what comes behind the last send is sent all the same.
    let again = link.resume_as(conn, None, |resume| resume.claim.complete = Tick(u64::MAX));
    link.edit(|room| room.state_mut::<Board>().set_round(77));
    link.tick();
    same(&link, again);
}

#[test]
fn an_update_in_parts_that_the_link_broke_off_is_sent_again() {
    let mut link = lab::open();
    link.keep = true;
    let conn = link.join();
    (0..5).for_each(|seed| {
        link.add(Crate { data: Bytes::from(noise(40_000, seed)), ..Crate::default() });
    });
    link.client_mut(conn).pace = Pace::Stalled;
    link.tick();
    link.drop_link(conn);
    let again = link.rejoin(conn);
    link.ticks(20);
    same(&link, again);
}

/// Resumes with a claim of everything that lives.
fn claim_all(link: &mut Link<Lab>, conn: ConnectionId, ids: &[EntityId]) -> ConnectionId {
    let mut ids = ids.to_vec();
    let lie = |resume: &mut Resume| {
        ids.extend_from_slice(&resume.claim.ids);
        ids.sort_unstable();
        ids.dedup();
        resume.claim.ids = ids;
    };
    link.resume_as(conn, None, lie)
}

/// A client that lies about what it holds; its own replica would refuse the answer, so its bytes are read.
fn lie(link: &mut Link<Lab>, conn: ConnectionId, ids: &[EntityId]) -> ConnectionId {
    link.drop_link(conn);
    link.tick();
    let liar = claim_all(link, conn, ids);
    link.client_mut(liar).pace = Pace::Stalled;
    link.tick();
    liar
}

#[test]
fn a_claim_makes_nothing_visible_and_brings_no_event_about_it() {
    let mut link = lab::seen_by(|| dots(8.0).range(10.0));
    let (conn, other) = (link.join(), link.join());
    let [near, far] = [1.0, 500.0].map(|x| link.add(dot(x)));
    let deck = link.add(lab::Deck::default());
    link.ticks(2);
    let theirs = link.replica(other).all::<Hand>().map(|(id, _)| id.entity()).next().expect("it has one");
    let claimed = [near.entity(), far.entity(), deck.entity(), theirs];
    link.drop_link(conn);
    link.tick();
    let liar = claim_all(&mut link, conn, &claimed);
    link.client_mut(liar).pace = Pace::Stalled;
    link.edit(|room| room.send_seeing(far, "seen")).expect("it lives");
    link.edit(|room| room.get_mut(far).expect("it lives").set_hp(0xabcd_ef01));
    link.edit(|room| {
        room.private_mut::<Hand>(PlayerId(2)).expect("it is there").set_text("their secret".into())
    })
    .expect("it fits");
    link.tick();
    for id in [far.entity(), deck.entity(), theirs] {
        assert!(!link.room.room().was_sent(liar, id));
    }
    link.edit(|room| room.send_seeing(far, "seen")).expect("it lives");
    link.ticks(2);
    let welcome = link.client(liar).welcome;
    assert_eq!(welcome, None, "it read nothing yet");
    assert_eq!(link.room.room().unacknowledged_events(SessionId(1)), (0, 0), "no event about it");
}

#[test]
fn a_claim_while_hidden_brings_no_event_either() {
    let mut link = lab::seen_by(|| dots(8.0).range(10.0));
    let conn = link.join();
    let far = link.add(dot(500.0));
    link.ticks(2);
    link.drop_link(conn);
    link.tick();
    let liar = claim_all(&mut link, conn, &[far.entity()]);
    link.client_mut(liar).pace = Pace::Stalled;
    link.tick();
    link.say(liar, &ClientMessage::Hidden(true));
    link.edit(|room| room.send_seeing(far, "seen")).expect("it lives");
    link.ticks(2);
    assert_eq!(link.room.room().unacknowledged_events(SessionId(1)), (0, 0));
}

#[test]
fn a_claim_gains_no_slack_of_a_limit() {
    let rank = |entity: EntityRef<'_>| entity.get::<Dot>().map_or(-1.0, |dot| dot.rank);
    let mut link = lab::seen_by(move || Visibility::everything().limit(10, move |_, _, entity| rank(entity)));
    let conn = link.join();
    let ids: Vec<Id<Dot>> =
        (0..12).map(|n| link.add(Dot { rank: -f64::from(n), ..Dot::default() })).collect();
    link.ticks(2);
    // The eleventh would stay if it had been in view.
    let claimed: Vec<EntityId> = ids.iter().map(|id| id.entity()).collect();
    let liar = lie(&mut link, conn, &claimed);
    link.ticks(2);
    let sent: Vec<bool> = ids.iter().map(|id| link.room.room().was_sent(liar, *id)).collect();
    assert_eq!(sent, [[true; 10].as_slice(), &[false; 2]].concat());
}

#[test]
fn a_claim_is_no_memory_of_a_release() {
    let mut link = lab::seen_by(|| dots(8.0).range(10.0).release(20.0));
    let conn = link.join();
    let between = link.add(dot(15.0));
    link.ticks(2);
    let liar = lie(&mut link, conn, &[between.entity()]);
    link.ticks(2);
    assert!(!link.room.room().was_sent(liar, between));
}

#[test]
fn what_custom_keys_show_no_more_leaves_on_a_resume() {
    let keys = |_: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys| {
        if let Some(dot) = entity.get::<Dot>() {
            keys.add(u64::from(dot.hp));
        }
    };
    let mut link = lab::seen_by(move || custom(ByKey(keys)));
    let conn = link.join();
    link.subscribe(conn, vec![1_u64.into()]);
    let ids = [1, 1, 2].map(|hp| link.add(Dot { hp, ..Dot::default() }));
    link.ticks(2);
    assert_eq!(link.held::<Dot>(conn).len(), 2);
    link.drop_link(conn);
    link.tick();
    link.edit(|room| room.get_mut(ids[0]).expect("it lives").set_hp(2));
    let again = link.resume(conn);
    link.tick();
    assert_eq!(link.held::<Dot>(again), [ids[1].get()]);
    link.subscribe(again, vec![2_u64.into()]);
    link.tick();
    assert_eq!(link.held::<Dot>(again), [ids[0].get(), ids[2].get()]);
}

#[test]
fn a_claim_too_large_for_a_hello_lets_go_of_the_rest() {
    let mut link = lab::open();
    let conn = link.join();
    for n in 0..12_000_u64 {
        link.edit(|room| room.create_with_id(1_000_000 + n * 20_000, Dot::default())).expect("it is free");
    }
    link.ticks(30);
    assert_eq!(link.held::<Dot>(conn).len(), 12_000);
    link.drop_link(conn);
    link.tick();
    let again = link.rejoin(conn);
    assert!(link.client(again).is_joined());
    link.ticks(30);
    same(&link, again);
}

//! What clients keep of what left their view, and how it comes back.

use room::prelude::*;
use room::runtime::Settings;
use room::wire::message::ClientMessage;
use room::{EntityId, limits};

use super::lab::{self, Crate, Dot, Lab, dot, dots, noise};
use super::link::{Link, Pace};

/// Dots and crates within 10 units, and so many kept.
fn near(retain: usize) -> Link<Lab> {
    near_with(Settings::default(), retain)
}

fn near_with(settings: Settings, retain: usize) -> Link<Lab> {
    lab::seen_with(settings, move || {
        dots(5.0).kind::<Crate, _>(|it| [it.x, 0.0, 0.0]).range(10.0).retain(retain)
    })
}

const NOTHING: [u64; 0] = [];
const HERE: Option<[f64; 3]> = Some([0.0; 3]);
const AWAY: Option<[f64; 3]> = Some([1000.0; 3]);

/// The IDs that a client keeps, in the order in which they go; both ends agree on them.
fn kept(link: &Link<Lab>, conn: ConnectionId) -> Vec<u64> {
    let (room, replica) = (link.room.room(), link.replica(conn));
    let ours: Vec<EntityId> = room.retained(conn).collect();
    assert!(replica.retained_ids().eq(ours.iter().copied()), "both ends keep the same");
    let copies = replica.retained::<Dot>().count() + replica.retained::<Crate>().count();
    assert_eq!(copies, ours.len());
    ours.into_iter().map(EntityId::get).collect()
}

fn go(link: &mut Link<Lab>, conn: ConnectionId, at: Option<[f64; 3]>) {
    link.stand(conn, at);
    link.tick();
}

/// Enters and returns that the room has sent.
fn enters(link: &Link<Lab>) -> (u64, u64) {
    let stats = link.room.room().stats();
    (stats.enters, stats.returns)
}

fn set_hp(link: &mut Link<Lab>, id: Id<Dot>, hp: u32) {
    link.edit(|room| room.get_mut(id).expect("it lives").set_hp(hp));
}

#[test]
fn what_left_is_kept_apart_and_returns_with_what_changed() {
    let mut link = near(100);
    let conn = link.join();
    let (moved, still) = (link.add(dot(1.0)), link.add(dot(2.0)));
    link.tick();
    link.client_mut(conn).replica.forget_report();
    go(&mut link, conn, AWAY);
    assert_eq!(kept(&link, conn), [moved.get(), still.get()]);
    let replica = &mut link.client_mut(conn).replica;
    assert_eq!(replica.all::<Dot>().count(), 0, "it is not among what is seen");
    assert!(replica.get(moved).is_none() && replica.get_retained(moved).is_some_and(|it| it.x == 1.0));
    assert_eq!(replica.left::<Dot>().count(), 2);
    assert!(!link.room.room().was_sent(conn, moved));
    set_hp(&mut link, moved, 7);
    link.ticks(3);
    assert_eq!(link.replica(conn).get_retained(moved).map(|it| it.hp), Some(0), "nothing of it is told");

    link.client_mut(conn).replica.forget_report();
    let (before, bytes) = (enters(&link), link.client(conn).bytes);
    go(&mut link, conn, HERE);
    assert_eq!(enters(&link), (before.0 + 2, before.1 + 2));
    assert!(link.client(conn).bytes - bytes < 30, "{} bytes", link.client(conn).bytes - bytes);
    let replica = link.replica(conn);
    assert_eq!(replica.get(moved).map(|it| (it.x, it.hp)), Some((1.0, 7)));
    assert_eq!(replica.entered::<Dot>().map(|(id, _)| id).collect::<Vec<_>>(), [moved, still]);
    assert_eq!(replica.changed::<Dot>().count(), 0, "entering again is entering");
    assert_eq!(kept(&link, conn), NOTHING);
    // And it goes on with differences.
    set_hp(&mut link, moved, 8);
    link.tick();
    assert_eq!(link.replica(conn).get(moved).map(|it| it.hp), Some(8));
}

#[test]
fn a_room_that_retains_nothing_sends_everything_anew() {
    let mut link = near(0);
    let conn = link.join();
    let id = link.add(dot(1.0));
    link.tick();
    go(&mut link, conn, AWAY);
    assert!(kept(&link, conn).is_empty() && link.replica(conn).get_retained(id).is_none());
    go(&mut link, conn, HERE);
    assert_eq!(enters(&link).1, 0);
    assert!(link.sees(conn, id));
}

#[test]
fn what_left_first_is_forgotten_first_and_by_id_within_an_update() {
    let mut link = near(3);
    let conn = link.join();
    let ids: Vec<Id<Dot>> = (0..5).map(|_| link.add(dot(1.0))).collect();
    link.tick();
    let out = |link: &mut Link<Lab>, which: &[usize], x: f64| {
        link.edit(|room| which.iter().for_each(|n| room.get_mut(ids[*n]).expect("it lives").set_x(x)));
        link.tick();
    };
    let names = |which: &[usize]| which.iter().map(|n| ids[*n].get()).collect::<Vec<_>>();
    out(&mut link, &[4], 50.0);
    out(&mut link, &[2, 0], 50.0);
    assert_eq!(kept(&link, conn), names(&[4, 0, 2]));
    out(&mut link, &[3, 1], 50.0);
    assert_eq!(kept(&link, conn), names(&[2, 1, 3]));
    // One that returns and leaves again is the newest.
    out(&mut link, &[2], 1.0);
    assert_eq!(kept(&link, conn), names(&[1, 3]));
    out(&mut link, &[2], 50.0);
    assert_eq!(kept(&link, conn), names(&[1, 3, 2]));
    let before = enters(&link);
    out(&mut link, &[0, 1, 2, 3, 4], 1.0);
    assert_eq!(enters(&link), (before.0 + 5, before.1 + 3), "the forgotten ones enter whole");
    assert_eq!(link.held::<Dot>(conn), names(&[0, 1, 2, 3, 4]));
}

/// What is as many as may be kept can change places with what is in view.
#[test]
fn what_returns_makes_room_for_what_leaves_in_the_same_update() {
    let mut link = near(4);
    let conn = link.join();
    (0..4).for_each(|_| {
        link.add(dot(0.0));
        link.add(dot(100.0));
    });
    let there = Some([100.0, 0.0, 0.0]);
    link.tick();
    go(&mut link, conn, there);
    let before = enters(&link).1;
    for _ in 0..3 {
        go(&mut link, conn, HERE);
        go(&mut link, conn, there);
    }
    assert_eq!(enters(&link).1 - before, 24);
    assert_eq!(kept(&link, conn).len(), 4);
}

#[test]
fn what_is_deleted_in_sight_is_not_kept_and_out_of_sight_is_not_told() {
    let mut link = near(2);
    let conn = link.join();
    let [seen, unseen, other] = [1.0, 2.0, 3.0].map(|x| link.add(dot(x)));
    link.tick();
    link.client_mut(conn).replica.forget_report();
    link.edit(|room| room.delete(seen));
    link.tick();
    assert_eq!(kept(&link, conn), NOTHING);
    assert_eq!(link.replica(conn).left::<Dot>().map(Id::get).collect::<Vec<_>>(), [seen.get()]);
    go(&mut link, conn, AWAY);
    link.ticks(2);
    let messages = link.client(conn).messages;
    link.edit(|room| room.delete(unseen));
    link.ticks(3);
    assert_eq!(link.client(conn).messages, messages);
    assert_eq!(kept(&link, conn), [unseen.get(), other.get()], "it still counts");
    assert!(link.replica(conn).get_retained(unseen).is_some());
    go(&mut link, conn, HERE);
    assert_eq!(link.held::<Dot>(conn), [other.get()]);
    assert_eq!(kept(&link, conn), [unseen.get()]);
}

#[test]
fn a_newer_entity_under_the_id_of_a_kept_one_enters_whole() {
    for same_kind in [true, false] {
        let mut link = near(9);
        let conn = link.join();
        let id = link.edit(|room| room.create_with_id(50, Dot { hp: 1, ..dot(1.0) })).expect("it is free");
        link.tick();
        go(&mut link, conn, AWAY);
        let made = link.edit(|room| {
            room.delete(id);
            if same_kind {
                room.create_with_id(50, dot(1.0)).map(|_| ())
            } else {
                room.create_with_id(50, Crate::default()).map(|_| ())
            }
        });
        made.expect("the ID is free");
        link.tick();
        let before = enters(&link).1;
        go(&mut link, conn, HERE);
        assert_eq!(enters(&link).1, before);
        assert_eq!(kept(&link, conn), NOTHING, "the copy is replaced");
        assert_eq!(link.replica(conn).get(id).map(|it| it.hp), same_kind.then_some(0));
        assert_eq!(link.replica(conn).all::<Crate>().count(), usize::from(!same_kind));
    }
}

#[test]
fn a_deleted_one_whose_id_is_used_again_at_once_is_another() {
    let mut link = near(9);
    let conn = link.join();
    let id = link.edit(|room| room.create_with_id(50, Dot { hp: 1, ..dot(1.0) })).expect("it is free");
    link.tick();
    // The new one is not in sight.
    link.edit(|room| {
        room.delete(id);
        room.create_with_id(50, dot(500.0)).expect("it is free");
    });
    link.tick();
    assert!(!link.sees(conn, id));
    assert_eq!(kept(&link, conn), NOTHING);
}

#[test]
fn large_ones_that_changed_much_enter_whole_and_small_changes_are_ranges() {
    let mut link = near(9);
    let conn = link.join();
    let crates: [Id<Crate>; 2] =
        [1, 2].map(|seed| link.add(Crate { data: Bytes::from(noise(20_000, seed)), ..Crate::default() }));
    link.tick();
    go(&mut link, conn, AWAY);
    link.edit(|room| {
        room.get_mut(crates[0]).expect("it lives").patch_data(5, &[1, 2, 3]).expect("it fits");
        let all = Bytes::from(noise(20_000, 9));
        room.get_mut(crates[1]).expect("it lives").set_data(all).expect("it fits");
    });
    link.tick();
    let before = enters(&link);
    go(&mut link, conn, HERE);
    assert_eq!(enters(&link), (before.0 + 2, before.1 + 1));
    let all = |(id, it): (Id<Crate>, &Crate)| (id, it.data.clone());
    assert!(link.room.room().all().map(all).eq(link.replica(conn).all().map(all)));
    assert_eq!(kept(&link, conn), NOTHING);
}

/// Writes a long label on each: too little to enter whole for it, and together too much for one small update.
fn label(link: &mut Link<Lab>, crates: &[Id<Crate>]) {
    link.edit(|room| {
        for id in crates {
            room.get_mut(*id).expect("it lives").set_label("x".repeat(16_000)).expect("it fits");
        }
    });
}

fn labelled(link: &Link<Lab>, conn: ConnectionId, crates: &[Id<Crate>]) -> bool {
    crates.iter().all(|id| link.replica(conn).get(*id).is_some_and(|it| it.label.len() == 16_000))
}

/// A room of small updates, and a client that sees four large crates.
fn crowded(retain: usize) -> (Link<Lab>, ConnectionId, Vec<Id<Crate>>) {
    let settings = Settings { update_cap: limits::PART, ..Settings::default() };
    let mut link = near_with(settings, retain);
    let conn = link.join();
    let crates = (0..4)
        .map(|seed| link.add(Crate { data: Bytes::from(noise(40_000, seed)), ..Crate::default() }))
        .collect();
    link.ticks(10);
    assert!(link.room.room().is_drained(conn));
    (link, conn, crates)
}

/// The same, where the client went away and the crates changed then.
fn changed_unseen(retain: usize) -> (Link<Lab>, ConnectionId, Vec<Id<Crate>>) {
    let (mut link, conn, crates) = crowded(retain);
    go(&mut link, conn, AWAY);
    label(&mut link, &crates);
    link.tick();
    (link, conn, crates)
}

#[test]
fn a_change_that_was_held_back_when_it_left_comes_with_the_return() {
    let (mut link, conn, crates) = crowded(9);
    label(&mut link, &crates);
    link.tick();
    assert!(!labelled(&link, conn, &crates), "some of it is held back");
    go(&mut link, conn, AWAY);
    assert_eq!(kept(&link, conn).len(), 4);
    link.stand(conn, HERE);
    link.ticks(5);
    assert!(link.room.room().is_drained(conn) && labelled(&link, conn, &crates));
}

#[test]
fn a_return_that_is_held_back_stays_kept_until_it_is_sent() {
    let (mut link, conn, known) = changed_unseen(9);
    let before = enters(&link);
    link.stand(conn, HERE);
    let mut left = Vec::new();
    while left.last() != Some(&0) {
        link.tick();
        let kept = kept(&link, conn);
        assert_eq!(kept.len() + link.held::<Crate>(conn).len(), known.len());
        left.push(kept.len());
    }
    assert!(left.len() > 1, "not all came at once: {left:?}");
    assert_eq!(enters(&link), (before.0 + 4, before.1 + 4));
    assert!(labelled(&link, conn, &known));
}

#[test]
fn a_held_back_return_that_is_forgotten_meanwhile_enters_whole() {
    let (mut link, conn, known) = changed_unseen(4);
    // What leaves at the moment of the return pushes what is held back out of the list.
    let there: Vec<Id<Dot>> =
        (0..5).map(|n| link.add(Dot { y: 1000.0, z: 1000.0, ..dot(1000.0 + f64::from(n)) })).collect();
    link.tick();
    assert_eq!(link.held::<Dot>(conn).len(), 5);
    let before = enters(&link);
    go(&mut link, conn, HERE);
    let first = link.held::<Crate>(conn).len();
    assert!((1..4).contains(&first));
    assert_eq!(kept(&link, conn), there[1..].iter().map(|id| id.get()).collect::<Vec<_>>());
    link.ticks(10);
    assert!(link.room.room().is_drained(conn));
    let (all, returns) = (enters(&link).0 - before.0, enters(&link).1 - before.1);
    assert_eq!(all, 4);
    assert_eq!(returns, first as u64, "the others were forgotten");
    assert!(labelled(&link, conn, &known));
    kept(&link, conn);
}

#[test]
fn an_enter_that_was_never_sent_leaves_nothing_to_keep() {
    let settings = Settings { update_cap: limits::PART, ..Settings::default() };
    let mut link = near_with(settings, 99);
    let conn = link.join();
    (0..6).for_each(|seed| {
        link.add(Crate { data: Bytes::from(noise(40_000, seed)), ..Crate::default() });
    });
    link.tick();
    let sent = link.held::<Crate>(conn);
    assert!(sent.len() < 6);
    go(&mut link, conn, AWAY);
    assert_eq!(kept(&link, conn), sent);
    link.stand(conn, HERE);
    link.ticks(9);
    assert_eq!(link.held::<Crate>(conn).len(), 6);
}

#[test]
fn a_connection_that_gets_no_updates_remembers_what_it_last_had() {
    for hidden in [false, true] {
        let mut link = near_with(Settings { window: limits::PART, ..Settings::default() }, 9);
        let conn = link.join();
        let ids: Vec<Id<Dot>> = (0..4).map(|n| link.add(dot(f64::from(n)))).collect();
        link.tick();
        if hidden {
            link.say(conn, &ClientMessage::Hidden(true));
        } else {
            link.client_mut(conn).pace = Pace::Silent;
            for seed in 0..3 {
                link.add(Crate { data: Bytes::from(noise(30_000, seed)), ..Crate::default() });
                link.tick();
            }
        }
        set_hp(&mut link, ids[0], 5);
        link.tick();
        // Away and back: it never left. Away again, and one is deleted there.
        go(&mut link, conn, AWAY);
        go(&mut link, conn, HERE);
        go(&mut link, conn, AWAY);
        assert_eq!(link.held::<Dot>(conn).len(), 4);
        assert_eq!(kept(&link, conn), NOTHING);
        link.edit(|room| room.delete(ids[3]));
        link.tick();
        link.client_mut(conn).pace = Pace::Prompt;
        link.say(conn, &ClientMessage::Hidden(false));
        link.deliver();
        link.tick();
        let dots: Vec<u64> = ids[..3].iter().map(|id| id.get()).collect();
        assert_eq!(kept(&link, conn)[..3], dots, "one was deleted while it was in view");
        let copy = link.replica(conn).get_retained(ids[0]).map(|it| it.hp);
        assert_eq!(copy, Some(0), "what changed before it left was never sent");
        link.stand(conn, HERE);
        link.ticks(9);
        assert!(link.room.room().is_drained(conn));
        assert_eq!(link.replica(conn).get(ids[0]).map(|it| it.hp), Some(5));
        assert_eq!(link.held::<Dot>(conn), dots);
    }
}

#[test]
fn a_client_that_comes_back_starts_with_nothing_kept_but_what_leaves_then() {
    let mut link = near(9);
    let conn = link.join();
    let [before, meanwhile, stays, dies] = [1.0, 2.0, 3.0, 4.0].map(|x| link.add(dot(x)));
    let put = |link: &mut Link<Lab>, id: Id<Dot>, x: f64| {
        link.edit(|room| room.get_mut(id).expect("it lives").set_x(x));
    };
    link.tick();
    put(&mut link, before, 50.0);
    link.tick();
    assert_eq!(kept(&link, conn), [before.get()]);
    link.drop_link(conn);
    put(&mut link, meanwhile, 50.0);
    link.edit(|room| room.delete(dies));
    link.ticks(3);
    let again = link.rejoin(conn);
    assert_eq!((kept(&link, again), link.held::<Dot>(again)), (vec![meanwhile.get()], vec![stays.get()]));
    let sent = enters(&link);
    put(&mut link, before, 1.0);
    put(&mut link, meanwhile, 1.0);
    link.tick();
    assert_eq!(enters(&link), (sent.0 + 2, sent.1 + 1), "one whole, one with what changed");
    let xs: Vec<f64> = link.replica(again).all::<Dot>().map(|(_, it)| it.x).collect();
    assert_eq!(xs, [1.0, 1.0, 3.0]);
    // A client that joins anew has nothing either.
    let stranger = link.join();
    assert_eq!(kept(&link, stranger), NOTHING);
}

#[test]
fn two_clients_keep_each_their_own() {
    let mut link = near(9);
    let conns = [link.join(), link.join()];
    let ids = [link.add(dot(1.0)), link.add(dot(2.0))];
    link.tick();
    go(&mut link, conns[0], AWAY);
    set_hp(&mut link, ids[0], 3);
    link.tick();
    go(&mut link, conns[1], AWAY);
    set_hp(&mut link, ids[1], 4);
    link.tick();
    for conn in conns {
        go(&mut link, conn, HERE);
        let hp: Vec<u32> = link.replica(conn).all::<Dot>().map(|(_, it)| it.hp).collect();
        assert_eq!(hp, [3, 4]);
    }
}

#[test]
fn what_a_limit_cuts_is_kept_too() {
    let mut link = lab::seen_by(|| {
        let rank = |_: RoomRef<'_, Lab>, _: &Connection<Lab>, entity: EntityRef<'_>| {
            entity.get::<Dot>().map_or(f64::NAN, |dot| dot.rank)
        };
        Visibility::everything().limit(1, rank).retain(5)
    });
    let conn = link.join();
    let ids: Vec<Id<Dot>> = (0..4).map(|n| link.add(Dot { rank: f64::from(n), ..dot(0.0) })).collect();
    link.tick();
    assert_eq!(link.held::<Dot>(conn), [ids[3].get()]);
    for (turn, id) in ids.iter().enumerate() {
        link.edit(|room| room.get_mut(*id).expect("it lives").set_rank(10.0 + turn as f64));
        link.tick();
        assert!(link.sees(conn, *id));
    }
    assert_eq!(kept(&link, conn).len() + link.held::<Dot>(conn).len(), 4);
}

#[test]
#[should_panic(expected = "at most 65536")]
fn more_than_a_client_may_keep_is_refused() {
    let _ = near(limits::RETAIN + 1);
}

#[test]
fn the_welcome_says_how_many() {
    let mut link = near(limits::RETAIN);
    let conn = link.join();
    assert_eq!(link.client(conn).welcome.map(|welcome| welcome.retain), Some(65_536));
    assert_eq!(link.replica(conn).retains(), limits::RETAIN);
}

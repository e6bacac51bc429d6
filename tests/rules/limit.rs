//! The limit of a view.

use room::prelude::*;

use super::lab::{self, Dot, Lab, dot};
use super::link::Link;

/// The highest rank is kept, of everything.
fn ranked(most: usize) -> Link<Lab> {
    lab::seen_by(move || {
        Visibility::everything()
            .limit(most, |_, _, entity| entity.get::<Dot>().map_or(f64::NAN, |dot| dot.rank))
    })
}

fn rank(rank: f64) -> Dot {
    Dot { rank, ..Dot::default() }
}

fn set(link: &mut Link<Lab>, id: Id<Dot>, rank: f64) {
    link.edit(|room| room.get_mut(id).expect("it lives").set_rank(rank));
}

#[test]
fn a_limit_keeps_the_highest_and_members_a_tenth_past_it() {
    let mut link = ranked(10);
    let conn = link.join();
    let ids: Vec<Id<Dot>> = (0..12).map(|n| link.add(rank(f64::from(n)))).collect();
    link.tick();
    assert_eq!(link.held::<Dot>(conn), ids[2..].iter().map(|id| id.get()).collect::<Vec<_>>());
    // The lowest member falls to the eleventh place: one past the limit, it stays, and the one that rose enters.
    set(&mut link, ids[1], 2.5);
    link.tick();
    assert_eq!(link.held::<Dot>(conn).len(), 11);
    assert!(link.sees(conn, ids[1]) && link.sees(conn, ids[2]));
    // To the twelfth: it leaves.
    set(&mut link, ids[0], 2.7);
    link.tick();
    assert!(link.sees(conn, ids[0]) && link.sees(conn, ids[1]) && !link.sees(conn, ids[2]));
    assert_eq!(link.held::<Dot>(conn).len(), 11);
}

#[test]
fn ties_break_by_id() {
    let mut link = ranked(3);
    let conn = link.join();
    let ids: Vec<u64> = (0..6).map(|_| link.add(rank(1.0)).get()).collect();
    link.tick();
    assert_eq!(link.held::<Dot>(conn), ids[..3]);
}

#[test]
fn nan_ranks_last() {
    let mut link = ranked(2);
    let conn = link.join();
    let nan = link.add(rank(f64::NAN));
    let (low, lower) = (link.add(rank(f64::NEG_INFINITY)), link.add(rank(f64::NEG_INFINITY)));
    link.tick();
    assert_eq!(link.held::<Dot>(conn), [low.get(), lower.get()]);
    link.edit(|room| room.delete(low));
    link.tick();
    assert!(link.sees(conn, nan), "but it ranks");
}

#[test]
fn state_private_state_and_what_a_player_owns_are_kept_and_do_not_count() {
    let mut link = ranked(2);
    let conn = link.join();
    let owner = link.player(conn);
    let own: Vec<u64> = (0..5).map(|_| link.add(Dot { owner, ..rank(-9.0) }).get()).collect();
    let others: Vec<u64> = (0..5).map(|n| link.add(rank(f64::from(n))).get()).collect();
    link.tick();
    assert_eq!(link.held::<Dot>(conn), [&own[..], &others[3..]].concat());
    assert!(link.replica(conn).state::<lab::Board>().is_some());
    assert!(link.replica(conn).private::<lab::Hand>().is_some());
    let stranger = link.join();
    assert_eq!(link.held::<Dot>(stranger), others[3..]);
}

#[test]
fn a_limit_is_asked_every_tick_of_every_candidate_or_of_changed_ones_alone() {
    for on_change in [false, true] {
        let make = move || {
            let visibility = Visibility::everything().limit(1, |room: RoomRef<'_, Lab>, _, entity| {
                let id = entity.id().get() as f64;
                if room.game.key == 0 { id } else { -id }
            });
            if on_change { visibility.on_change() } else { visibility }
        };
        let mut link = lab::seen_by(make);
        let conn = link.join();
        let (two, three) = (link.add(dot(0.0)), link.add(dot(0.0)));
        link.tick();
        assert_eq!(link.held::<Dot>(conn), [three.get()]);
        link.room.parts_mut().0.key = 9;
        link.ticks(2);
        let held = if on_change { vec![three.get()] } else { vec![two.get(), three.get()] };
        assert_eq!(link.held::<Dot>(conn), held, "the member is kept a place past the limit");
        link.edit(|room| room.get_mut(two).expect("it lives").set_hp(1));
        link.edit(|room| room.get_mut(three).expect("it lives").set_hp(1));
        link.tick();
        assert_eq!(link.held::<Dot>(conn), [two.get(), three.get()]);
    }
}

#[test]
fn a_priority_that_panics_ranks_last() {
    let make = || {
        Visibility::everything().limit(2, |_, _, entity| {
            let hp = entity.get::<Dot>().map_or(0, |dot| dot.hp);
            if hp == 13 {
                // Without the hook that would print it.
                std::panic::resume_unwind(Box::new("a broken priority"));
            }
            f64::from(hp)
        })
    };
    let mut link = lab::seen_by(make);
    let conn = link.join();
    link.add(Dot { hp: 13, ..Dot::default() });
    let others = [1, 2].map(|hp| link.add(Dot { hp, ..Dot::default() }).get());
    link.tick();
    assert_eq!(link.held::<Dot>(conn), others);
    assert!(link.logged("hook_panicked") > 0);
}

#[test]
fn explain_gives_the_rank() {
    let mut link = ranked(2);
    let conn = link.join();
    let ids: Vec<Id<Dot>> = (0..4).map(|n| link.add(rank(f64::from(n)))).collect();
    link.tick();
    let rank_of = |id| link.room.room().explain(link.room.game(), conn, id).expect("both are there").rank;
    assert_eq!(rank_of(ids[3]), Some((1, 2)));
    assert_eq!(rank_of(ids[0]), Some((4, 2)));
}

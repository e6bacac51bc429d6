//! Rates by distance.

use room::prelude::*;
use room::runtime::Settings;
use room::{Grid, limits};

use super::lab::{self, Dot, Lab, dot, dots};
use super::link::{Link, Pace};

/// Within 50 at every send, else at every fourth.
fn rated() -> Grid<Lab> {
    dots(100.0).dims(Xy).range(500.0).rates([(50.0, 1), (200.0, 4)])
}

fn stir(link: &mut Link<Lab>, ids: &[Id<Dot>]) {
    let now = link.tick_number() as u32 + 1;
    link.edit(|room| ids.iter().for_each(|id| room.get_mut(*id).expect("it lives").set_hp(now)));
}

fn set_x(link: &mut Link<Lab>, id: Id<Dot>, x: f64) {
    link.edit(|room| room.get_mut(id).expect("it lives").set_x(x));
}

fn hp(link: &Link<Lab>, conn: ConnectionId, id: Id<Dot>) -> u32 {
    link.replica(conn).get(id).expect("it is seen").hp
}

/// How many ticks old is what a client shows of entities that change at every tick.
fn age(link: &Link<Lab>, conn: ConnectionId, id: Id<Dot>) -> u64 {
    link.tick_number() - u64::from(hp(link, conn, id))
}

/// Tells whether what is said to be complete is there.
fn check_complete(link: &Link<Lab>, conn: ConnectionId, ids: &[Id<Dot>]) {
    let complete = link.replica(conn).complete().0;
    // One that has never changed is as it was.
    let shown = ids.iter().map(|id| u64::from(hp(link, conn, *id))).filter(|hp| *hp > 0);
    let least = shown.min().unwrap_or(complete);
    assert!(least >= complete, "complete up to {complete}, and one is of {least}");
}

#[test]
fn what_is_far_is_due_in_turns_that_all_share() {
    let mut link = lab::seen_by(rated);
    let near = link.add(dot(50.0));
    let far: Vec<Id<Dot>> = (0..8).map(|n| link.add(dot(51.0 + 50.0 * f64::from(n)))).collect();
    let conns = [link.join(), link.join(), link.join()];
    let mut turns = vec![Vec::new(); far.len()];
    for _ in 0..20 {
        stir(&mut link, &[&far[..], &[near]].concat());
        link.tick();
        let now = link.tick_number();
        for conn in conns {
            assert_eq!(age(&link, conn, near), 0);
            assert_eq!(link.replica(conn).period(near), 1);
            check_complete(&link, conn, &far);
        }
        for (n, id) in far.iter().enumerate() {
            let ages = conns.map(|conn| age(&link, conn, *id));
            assert!(ages.iter().all(|age| *age == ages[0]), "all are told at the same send");
            if ages[0] == 0 {
                turns[n].push(now);
            }
            assert_eq!(conns.map(|conn| link.replica(conn).period(*id)), [4; 3]);
        }
    }
    for turn in &turns {
        assert_eq!(turn.len(), 5);
        assert!(turn.windows(2).all(|two| two[1] == two[0] + 4), "{turn:?}");
    }
    for send in 0..4 {
        let due = turns.iter().filter(|turn| turn[0] % 4 == send).count();
        assert_eq!(due, 2, "they take turns");
    }
}

#[test]
fn a_record_is_encoded_once_for_all_who_see_it_at_a_rate() {
    let encoded = |viewers: usize| {
        let mut link = lab::seen_by(rated);
        let far: Vec<Id<Dot>> = (0..40).map(|n| link.add(dot(100.0 + f64::from(n)))).collect();
        (0..viewers).for_each(|_| {
            link.join();
        });
        link.ticks(8);
        let (before, changes) = (link.room.room().stats().encoded, link.room.room().stats().changes);
        for _ in 0..8 {
            stir(&mut link, &far);
            link.tick();
        }
        let stats = link.room.room().stats();
        assert_eq!(stats.changes - changes, 2 * 40 * viewers as u64, "twice in eight sends to each");
        stats.encoded - before
    };
    // The seal's own record at each send, and one each fourth for the rate.
    assert_eq!(encoded(1), 40 * 8 + 40 * 2);
    assert_eq!(encoded(7), encoded(1));
}

#[test]
fn what_stopped_on_a_send_that_was_skipped_arrives_and_then_all_is_still() {
    for wait in 1..5 {
        let mut link = lab::seen_by(rated);
        let far = link.add(dot(300.0));
        let conn = link.join();
        link.ticks(10 + wait);
        set_x(&mut link, far, 310.0);
        link.tick();
        set_x(&mut link, far, 320.0);
        let mut sends = 0;
        loop {
            link.tick();
            sends += 1;
            let x = link.replica(conn).get(far).expect("it is seen").x;
            assert_eq!(link.room.room().is_drained(conn), x == 320.0);
            if x == 320.0 {
                break;
            }
            let answer = link.room.room().explain(link.room.game(), conn, far).expect("both are there");
            assert_eq!(answer.period, 4);
            let held = answer.held.expect("it waits");
            let until = held.until.expect("it is due some time").0;
            assert!(until > link.tick_number() && until <= link.tick_number() + 4);
            assert!(held.since.is_some_and(|since| since.0 + 4 == until));
            assert!(sends < 5);
        }
        assert_eq!(link.replica(conn).complete(), link.replica(conn).tick());
        assert!(link.room.room().explain(link.room.game(), conn, far).expect("it is there").held.is_none());
        link.ticks(2);
        let bytes = link.client(conn).bytes;
        link.ticks(20);
        assert_eq!(link.client(conn).bytes, bytes);
    }
}

#[test]
fn a_change_of_band_covers_all_since_the_last_turn() {
    for wait in 0..4 {
        let mut link = lab::seen_by(rated);
        let walker = link.add(dot(300.0));
        let conn = link.join();
        link.ticks(10 + wait);
        // Its rank is written once, on a send that may be skipped.
        link.edit(|room| room.get_mut(walker).expect("it lives").set_rank(7.0));
        link.tick();
        stir(&mut link, &[walker]);
        set_x(&mut link, walker, 40.0);
        link.tick();
        let there = |link: &Link<Lab>| {
            let dot = link.replica(conn).get(walker).expect("it is seen");
            (dot.x, dot.rank, dot.hp)
        };
        assert_eq!(there(&link), (40.0, 7.0, link.tick_number() as u32));
        assert_eq!(link.replica(conn).period(walker), 1);
        for _ in 0..5 {
            stir(&mut link, &[walker]);
            link.tick();
            assert_eq!(age(&link, conn, walker), 0);
        }
        // And out again: it moves there, and goes on at the slower rate.
        for step in 0..12 {
            stir(&mut link, &[walker]);
            set_x(&mut link, walker, 60.0 + f64::from(step));
            link.tick();
            assert!(age(&link, conn, walker) < 4);
            assert_eq!(link.replica(conn).period(walker), 4);
        }
    }
}

#[test]
fn what_is_shown_is_never_older_than_its_period() {
    for send_every in [1, 3] {
        let settings = Settings { send_every, ..Settings::default() };
        let mut link = lab::seen_with(settings, || {
            dots(30.0).dims(Xy).range(300.0).release(320.0).rates([
                (40.0, 1),
                (90.0, 3),
                (150.0, 7),
                (200.0, 4),
            ])
        });
        let ids: Vec<Id<Dot>> = (0..120).map(|n| link.add(dot(4.0 * f64::from(n)))).collect();
        let conn = link.join();
        for step in 0..240_u32 {
            stir(&mut link, &ids);
            link.edit(|room| {
                for (n, id) in ids.iter().enumerate().skip(1).step_by(3) {
                    let mut dot = room.get_mut(*id).expect("it lives");
                    let way = if n.is_multiple_of(2) { 3.0 } else { -2.0 };
                    let y = dot.y + way;
                    dot.set_y(y);
                }
            });
            let x = f64::from(step) * 1.5;
            link.stand(conn, Some([x, 0.0, 0.0]));
            link.tick();
            if step < 10 || !link.tick_number().is_multiple_of(u64::from(send_every)) {
                continue;
            }
            let held: Vec<u64> = link.held::<Dot>(conn);
            for id in ids.iter().filter(|id| held.contains(&id.get())) {
                let dot = link.room.room().get(*id).expect("it lives");
                let distance = (dot.x - x).hypot(dot.y);
                let period = match distance {
                    d if d <= 40.0 => 1,
                    d if d <= 90.0 => 3,
                    d if d <= 150.0 => 7,
                    _ => 4,
                };
                assert_eq!(link.replica(conn).period(*id), period, "at {distance}");
                let age = age(&link, conn, *id) / u64::from(send_every);
                assert!(age < u64::from(period), "{age} sends at {distance}");
            }
        }
    }
}

#[test]
fn the_fastest_of_several_parts_counts() {
    let mut link = lab::seen_by(|| {
        let slow = dots(100.0).dims(Xy).range(500.0).rates([(10.0, 6)]);
        let faster = dots(100.0).dims(Xy).range(300.0).rates([(100.0, 1), (200.0, 3)]);
        let on_foot = dots(100.0).dims(Xy).range(150.0).sees(|_, _, entity| entity.id().get() % 2 == 0);
        combine((slow, faster, on_foot))
    });
    let ids: Vec<Id<Dot>> = (0..40).map(|n| link.add(dot(11.0 * f64::from(n)))).collect();
    let conn = link.join();
    link.tick();
    for (n, id) in ids.iter().enumerate() {
        let period = match 11 * n {
            d if d <= 100 || d <= 150 && id.get() % 2 == 0 => 1,
            d if d <= 300 => 3,
            _ => 6,
        };
        assert_eq!(link.replica(conn).period(*id), period, "{n}");
    }
}

#[test]
fn after_a_withheld_send_and_after_a_resume_everything_goes_at_once() {
    let mut link = lab::seen_by(rated);
    let far: Vec<Id<Dot>> = (0..9).map(|n| link.add(dot(100.0 + f64::from(n)))).collect();
    let mut conn = link.join();
    link.ticks(7);
    for round in 0..6 {
        let hide = |hidden| room::wire::message::ClientMessage::Hidden(hidden);
        if round % 2 == 0 {
            link.say(conn, &hide(true));
        } else {
            link.drop_link(conn);
        }
        for _ in 0..5 + round {
            stir(&mut link, &far);
            link.tick();
        }
        stir(&mut link, &far);
        if round % 2 == 0 {
            link.say(conn, &hide(false));
            link.tick();
        } else {
            conn = link.rejoin(conn);
        }
        let now = link.tick_number() as u32;
        assert!(far.iter().all(|id| hp(&link, conn, *id) == now), "round {round}");
        assert!(link.room.room().is_drained(conn));
        assert_eq!(link.replica(conn).complete(), link.replica(conn).tick());
        assert!(far.iter().all(|id| link.replica(conn).period(*id) == 4));
        for _ in 0..6 {
            stir(&mut link, &far);
            link.tick();
            assert!(far.iter().all(|id| age(&link, conn, *id) < 4));
            check_complete(&link, conn, &far);
        }
    }
}

#[test]
fn a_period_is_forgotten_with_its_entity() {
    let mut link = lab::seen_by(rated);
    let far = link.add(dot(300.0));
    let conn = link.join();
    assert_eq!(link.replica(conn).period(far), 4);
    set_x(&mut link, far, 900.0);
    link.tick();
    assert!(!link.sees(conn, far));
    assert_eq!(link.replica(conn).period(far), 1);
    set_x(&mut link, far, 30.0);
    link.tick();
    assert_eq!((link.sees(conn, far), link.replica(conn).period(far)), (true, 1));
}

#[test]
fn a_slot_that_is_used_again_starts_anew() {
    let mut link = lab::seen_by(rated);
    let conn = link.join();
    link.client_mut(conn).pace = Pace::Prompt;
    for round in 0..12 {
        let far = link.add(dot(300.0 - 20.0 * f64::from(round)));
        link.ticks(2);
        stir(&mut link, &[far]);
        link.tick();
        link.edit(|room| room.delete(far));
        if round % 3 == 0 {
            link.say(conn, &room::wire::message::ClientMessage::Hidden(true));
            link.tick();
            link.say(conn, &room::wire::message::ClientMessage::Hidden(false));
        }
        link.tick();
        assert!(link.held::<Dot>(conn).is_empty());
        assert!(link.room.room().is_drained(conn), "round {round}");
    }
}

#[test]
fn rates_and_a_budget_go_together() {
    let mut link = lab::seen_by(|| rated().budget(4000));
    let ids: Vec<Id<Dot>> = (0..200).map(|n| link.add(dot(2.0 * f64::from(n)))).collect();
    let conn = link.join();
    for _ in 0..200 {
        stir(&mut link, &ids);
        link.tick();
    }
    for _ in 0..100 {
        stir(&mut link, &ids);
        link.tick();
        check_complete(&link, conn, &ids);
        assert!(age(&link, conn, ids[0]) < 2);
    }
    link.ticks(60);
    assert!(link.room.room().is_drained(conn));
    let last = link.room.room().get(ids[0]).expect("it lives").hp;
    assert!(ids.iter().all(|id| hp(&link, conn, *id) == last));
}

#[test]
#[should_panic(expected = "a grid's rates are by rising distances: 50 does not follow")]
fn rates_rise() {
    let _ = dots(50.0).rates([(50.0, 1), (50.0, 2)]);
}

#[test]
#[should_panic(expected = "a rate is every 1 to 128 sends, not every 129")]
fn a_rate_has_a_bound() {
    let _ = dots(50.0).rates([(50.0, limits::PERIOD + 1)]);
}

#[test]
#[should_panic(expected = "a grid's rates are 1 to 8 pairs")]
fn bands_have_a_bound() {
    let _ = dots(50.0).rates((1..=limits::BANDS + 1).map(|n| (n as f64, 1)));
}

#[test]
fn what_left_while_something_waited_for_its_turn_returns_with_it() {
    for wait in 0..4 {
        let mut link = lab::seen_by(|| rated().budget(100_000).retain(8));
        let walker = link.add(dot(300.0));
        let conn = link.join();
        link.ticks(10 + wait);
        link.edit(|room| room.get_mut(walker).expect("it lives").set_rank(7.0));
        link.tick();
        set_x(&mut link, walker, 900.0);
        link.tick();
        assert!(!link.sees(conn, walker) && link.replica(conn).get_retained(walker).is_some());
        set_x(&mut link, walker, 310.0);
        link.tick();
        let there = link.replica(conn).get(walker).map(|dot| (dot.x, dot.rank));
        assert_eq!((there, link.replica(conn).period(walker)), (Some((310.0, 7.0)), 4));
        assert_eq!(link.room.room().stats().returns, 1);
        link.ticks(4);
        assert!(link.room.room().is_drained(conn));
    }
}

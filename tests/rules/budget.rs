//! A budget of bytes a second.

use room::prelude::*;
use room::runtime::Settings;
use room::{EntityId, Visibility};

use super::lab::{self, Board, Crate, Dot, Lab, dot, dots, noise};
use super::link::{Link, Pace};

const RATE: usize = 10 * 1024;
const SHARE: usize = RATE / 20;

fn budgeted(bytes: usize) -> Link<Lab> {
    lab::seen_by(move || dots(400.0).range(1000.0).budget(bytes))
}

/// The bytes that a connection was sent in one tick.
fn bytes_of_a_tick(link: &mut Link<Lab>, conn: ConnectionId) -> usize {
    let before = link.client(conn).bytes;
    link.tick();
    link.client(conn).bytes - before
}

/// Everyone moves, and shows when it did.
fn stir(link: &mut Link<Lab>, ids: &[Id<Dot>]) {
    let now = link.tick_number() as u32 + 1;
    link.edit(|room| {
        for (n, id) in ids.iter().enumerate() {
            let mut dot = room.get_mut(*id).expect("it lives");
            dot.set_x(n as f64 + f64::from(now % 2));
            dot.set_hp(now);
        }
    });
}

/// How many ticks ago the client was told of an entity last.
fn age(link: &Link<Lab>, conn: ConnectionId, id: Id<Dot>) -> u64 {
    link.tick_number() - u64::from(link.replica(conn).get(id).expect("it is seen").hp)
}

#[test]
fn a_crowd_of_500_keeps_to_its_budget_and_nobody_starves() {
    let mut link = budgeted(RATE);
    let ids: Vec<Id<Dot>> = (0..500).map(|n| link.add(dot(f64::from(n)))).collect();
    let conns: Vec<ConnectionId> = (0..3).map(|_| link.join()).collect();
    let mut sent = vec![Vec::new(); conns.len()];
    // An ID, `x`, `hp` and a head of its own each.
    let bound = room::longest_wait(500 * (2 + 8 + 4 + 4), SHARE - 20);
    for tick in 0..600 {
        stir(&mut link, &ids);
        let before: Vec<usize> = conns.iter().map(|conn| link.client(*conn).bytes).collect();
        link.tick();
        for (n, conn) in conns.iter().enumerate() {
            sent[n].push(link.client(*conn).bytes - before[n]);
        }
        if tick < 300 {
            continue;
        }
        for conn in &conns {
            assert!(age(&link, *conn, ids[0]) <= 1, "the nearest is never older than two ticks");
            let oldest = ids.iter().map(|id| age(&link, *conn, *id)).max().expect("there are some");
            assert!(oldest <= bound, "{oldest} ticks, and the bound is {bound}");
        }
    }
    for sent in &sent {
        for second in sent.windows(20) {
            let bytes: usize = second.iter().sum();
            assert!(bytes <= RATE + SHARE, "{bytes} bytes in a second");
        }
        let all: usize = sent.iter().sum();
        assert!(all * 10 >= RATE * 30 * 9, "{all} bytes in 30 seconds are less than they could be");
    }
    // Once they stand still, the last value of each arrives, and then nothing.
    link.ticks(bound as usize);
    for conn in &conns {
        assert!(ids.iter().all(|id| link.replica(*conn).get(*id).map(|dot| dot.hp) == Some(602 + 1)));
        assert_eq!(link.replica(*conn).complete(), link.replica(*conn).tick());
        assert!(link.room.room().is_drained(*conn));
    }
}

#[test]
fn complete_says_no_more_than_the_client_has() {
    let mut link = budgeted(2000);
    let ids: Vec<Id<Dot>> = (0..100).map(|n| link.add(dot(f64::from(n)))).collect();
    let conn = link.join();
    for _ in 0..100 {
        stir(&mut link, &ids);
        link.tick();
        let replica = link.replica(conn);
        let complete = replica.complete().0;
        assert!(complete < replica.tick().0, "something always waits");
        let held: Vec<u64> = replica.all::<Dot>().map(|(_, dot)| u64::from(dot.hp)).collect();
        assert!(held.iter().all(|hp| *hp == 0 || *hp >= complete), "{complete}: {held:?}");
    }
}

#[test]
fn leaves_and_state_count_and_never_wait() {
    let mut link = budgeted(2000);
    let ids: Vec<Id<Dot>> = (0..300).map(|n| link.add(dot(f64::from(n)))).collect();
    let conn = link.join();
    link.ticks(300);
    assert_eq!(link.held::<Dot>(conn).len(), 300);
    link.edit(|room| {
        room.state_mut::<Board>().set_text("now".repeat(100)).expect("it is short");
        ids[..250].iter().for_each(|id| assert!(room.delete(*id)));
        ids[250..].iter().for_each(|id| room.get_mut(*id).expect("it lives").set_hp(7));
    });
    let bytes = bytes_of_a_tick(&mut link, conn);
    assert!(bytes > 400, "{bytes}");
    assert_eq!(link.held::<Dot>(conn).len(), 50);
    assert_eq!(link.replica(conn).state::<Board>().map(|board| board.text.len()), Some(300));
    let told = |link: &Link<Lab>| link.replica(conn).all::<Dot>().filter(|(_, dot)| dot.hp == 7).count();
    let first = told(&link);
    assert!(first <= 1, "only what a full bucket lets through whatever its size: {first}");
    link.ticks(3);
    assert_eq!(told(&link), first, "the debt is paid off");
    link.ticks(10);
    assert_eq!(told(&link), 50);
}

#[test]
fn what_is_larger_than_a_share_goes_alone_and_is_paid_off() {
    let mut link = lab::seen_by(|| Visibility::everything().budget(RATE));
    let conn = link.join();
    link.ticks(3);
    let large = link.add(Crate { data: Bytes::from(noise(5 * SHARE, 1)), ..Crate::default() });
    let small: Vec<Id<Dot>> = (0..5).map(|n| link.add(dot(f64::from(n)))).collect();
    let mut sent = Vec::new();
    while sent.is_empty() || !link.room.room().is_drained(conn) {
        sent.push(bytes_of_a_tick(&mut link, conn));
        assert!(sent.len() < 20, "{sent:?}");
    }
    assert!(link.sees(conn, large) && small.iter().all(|id| link.sees(conn, *id)));
    for (n, _) in sent.iter().enumerate() {
        let until: usize = sent[..=n].iter().sum();
        assert!(until <= 6 * SHARE + n * SHARE, "{sent:?}");
    }
    let alone = sent.iter().position(|bytes| *bytes > 5 * SHARE).expect("it went");
    assert!(sent[alone + 1..alone + 5].iter().all(|bytes| *bytes < 10), "{sent:?}");
}

#[test]
fn one_larger_than_a_share_has_its_turn_in_a_crowd() {
    let mut link = lab::seen_by(|| Visibility::everything().budget(RATE));
    let ids: Vec<Id<Dot>> = (0..200).map(|n| link.add(dot(f64::from(n)))).collect();
    let conn = link.join();
    let large = link.add(Crate { data: Bytes::from(noise(4 * SHARE, 1)), ..Crate::default() });
    let bound = room::longest_wait(200 * 60 + 5 * SHARE, SHARE - 20);
    for tick in 0..bound {
        stir(&mut link, &ids);
        link.tick();
        if link.sees(conn, large) {
            return;
        }
        assert!(tick + 1 < bound, "not within {bound} sends");
    }
}

#[test]
fn a_budget_follows_the_sends_and_not_the_ticks() {
    let settings = Settings { send_every: 4, ..Settings::default() };
    let mut link = lab::seen_with(settings, || dots(400.0).range(1000.0).budget(RATE));
    let ids: Vec<Id<Dot>> = (0..500).map(|n| link.add(dot(f64::from(n)))).collect();
    let conn = link.join();
    let mut sent = Vec::new();
    for _ in 0..200 {
        stir(&mut link, &ids);
        sent.push(bytes_of_a_tick(&mut link, conn));
    }
    assert!(sent.windows(20).all(|second| second.iter().sum::<usize>() <= RATE + 4 * SHARE));
    // Large updates are compressed, which the choice does not count on.
    assert!(sent.iter().sum::<usize>() > RATE * 5, "it is used");
}

#[test]
fn a_slow_link_within_a_budget_loses_nothing() {
    let mut link = budgeted(4000);
    let ids: Vec<Id<Dot>> = (0..100).map(|n| link.add(dot(f64::from(n)))).collect();
    let conn = link.join();
    link.client_mut(conn).pace = Pace::Stalled;
    for _ in 0..300 {
        stir(&mut link, &ids);
        link.tick();
    }
    link.edit(|room| room.delete(ids[3]));
    link.client_mut(conn).pace = Pace::Prompt;
    link.deliver();
    link.ticks(60);
    assert!(link.room.room().is_drained(conn));
    let ours: Vec<(EntityId, u32)> =
        link.room.room().all::<Dot>().map(|(id, dot)| (id.entity(), dot.hp)).collect();
    let theirs: Vec<(EntityId, u32)> =
        link.replica(conn).all::<Dot>().map(|(id, dot)| (id.entity(), dot.hp)).collect();
    assert_eq!(ours, theirs);
}

#[test]
#[should_panic(expected = "a budget of 0 bytes a second would show nothing")]
fn a_budget_of_nothing_is_refused() {
    let _ = dots(50.0).budget(0);
}

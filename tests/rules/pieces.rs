//! Large entities: compressed in haste at a send, better between ticks, and kept while they are what they were.

use room::prelude::*;
use room::runtime::Settings;

use super::lab::{self, Crate, Lab, dots, noise};
use super::link::Link;

const HERE: Option<[f64; 3]> = Some([0.0; 3]);
const AWAY: Option<[f64; 3]> = Some([1000.0; 3]);

fn yard(send_every: u32) -> Link<Lab> {
    let settings = Settings { send_every, view_hash: true, ..Settings::default() };
    lab::seen_with(settings, || dots(5.0).kind::<Crate, _>(|it| [it.x, 0.0, 0.0]).range(10.0))
}

/// Text that a higher level makes smaller: words that come again at all distances.
fn text(seed: usize) -> String {
    let words = |byte: u8| format!("{:x} ", u32::from(byte % 61).pow(4));
    noise(1500, seed as u64 * 2 + 1).into_iter().map(words).collect()
}

fn full(seed: usize) -> Crate {
    Crate { label: text(seed), ..Crate::default() }
}

/// Improves all that waits for it; returns in how many steps.
fn improve(link: &mut Link<Lab>) -> usize {
    let mut steps = 0;
    while link.room.is_hasty() {
        link.room.improve();
        steps += 1;
    }
    steps
}

/// The bytes of pieces that somebody new is sent.
fn joins(link: &mut Link<Lab>) -> u64 {
    let before = link.room.room().stats().piece_packed;
    let conn = link.join();
    link.ticks(2);
    let packed = link.room.room().stats().piece_packed - before;
    link.leave(conn);
    link.tick();
    packed
}

/// Somebody comes by again and again, and each time a crate is another.
fn churn(link: &mut Link<Lab>, id: Id<Crate>, times: usize) {
    let conn = link.join();
    for n in 0..times {
        link.edit(|room| room.get_mut(id).expect("it lives").set_label(text(n % 2))).expect("it fits");
        link.stand(conn, HERE);
        link.tick();
        link.stand(conn, AWAY);
        link.tick();
    }
    link.leave(conn);
    link.tick();
}

#[test]
fn pieces_are_made_better_between_ticks_and_hold_the_same() {
    let mut link = yard(1);
    let ids: Vec<_> = (0..5).map(|n| link.add(full(n))).collect();
    let hasty = joins(&mut link);
    assert_eq!(improve(&mut link), 5, "each once");
    let better = joins(&mut link);
    assert!(better < hasty, "{better} of {hasty} bytes");
    assert_eq!(improve(&mut link), 0);
    let conn = link.join();
    link.ticks(2);
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(link.replica(conn).get(id).map(|it| it.label.clone()), Some(text(n)));
    }
}

#[test]
fn what_was_made_many_times_is_made_better_once() {
    let mut link = yard(1);
    let id = link.add(full(0));
    churn(&mut link, id, 50);
    assert_eq!(improve(&mut link), 1);
}

#[test]
fn one_that_changes_all_the_time_costs_others_nothing() {
    let mut link = yard(1);
    (0..5).for_each(|n| {
        link.add(full(n));
    });
    let moving = link.add(Crate { x: 1000.0, ..full(9) });
    joins(&mut link);
    improve(&mut link);
    let better = joins(&mut link);
    link.edit(|room| room.get_mut(moving).expect("it lives").set_x(0.0));
    churn(&mut link, moving, 100);
    link.edit(|room| room.get_mut(moving).expect("it lives").set_x(1000.0));
    link.tick();
    assert_eq!(joins(&mut link), better, "the others' pieces are still there");
}

#[test]
fn a_piece_holds_what_was_sealed() {
    let mut link = yard(2);
    let id = link.add(full(1));
    let conn = link.join();
    link.ticks(2);
    let set = |link: &mut Link<Lab>, seed| {
        link.edit(|room| room.get_mut(id).expect("it lives").set_label(text(seed))).expect("it fits");
    };
    // Between two sends another value, and back.
    link.ticks(1);
    set(&mut link, 2);
    assert!(!link.room.is_hasty() && !link.room.improve());
    set(&mut link, 1);
    link.ticks(2);
    improve(&mut link);
    let late = link.join();
    link.ticks(4);
    for conn in [conn, late] {
        assert_eq!(link.replica(conn).get(id).map(|it| it.label.clone()), Some(text(1)));
    }
}

//! What lies between two states, how many are kept, and the clock that is drawn by.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};
use std::time::Duration;

use proptest::prelude::*;
use room::Tick;
use room::prelude::*;

use crate::Smooth;
use crate::interpolate::clock::{Beat, DrawClock, Frame, Newest};
use crate::interpolate::history::{History, Place};
use crate::interpolate::plan::Plan;

#[derive(Entity, Clone, Debug)]
struct Thing {
    small: u8,
    count: i32,
    place: [f32; 3],
    wide: f64,
    facing: [f32; 4],
}

/// What lies on the way between two states of the fields.
fn between(fields: impl Smooth<Thing>, a: &[f64], b: &[f64], part: f64) -> Vec<f64> {
    let plan = Plan::of(fields);
    let mut history = History::default();
    history.push(&plan, 10.0, a, 9);
    history.push(&plan, 20.0, b, 9);
    let mut out = vec![0.0; plan.width];
    history.sample(&plan, history.place(10.0 + 10.0 * part, 10.0), &mut out);
    out
}

#[test]
fn arrays_and_numbers_of_all_sizes_lie_on_the_line() {
    let fields = (Thing::PLACE, Thing::COUNT, Thing::WIDE);
    let (a, b) = ([0.0, 10.0, -4.0, -100.0, 1e300], [1.0, 10.0, 4.0, 100.0, -1e300]);
    assert_eq!(between(fields, &a, &b, 0.25), [0.25, 10.0, -2.0, -50.0, 5e299]);
    assert_eq!(between(fields, &a, &b, 1.5), [1.5, 10.0, 8.0, 200.0, -2e300], "past the last it goes on");
}

#[test]
fn a_quaternion_goes_the_short_way_and_keeps_its_length() {
    // A quarter turn, said the long way round.
    let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -FRAC_1_SQRT_2, -FRAC_1_SQRT_2]);
    let half = between(Thing::FACING.rotation(), &a, &b, 0.5);
    let eighth = TAU / 16.0;
    assert!((half[2] - eighth.sin()).abs() < 1e-9 && (half[3] - eighth.cos()).abs() < 1e-9, "{half:?}");
    assert_eq!(between(Thing::FACING.rotation(), &a, &b, 0.0), a);
    assert_eq!(
        between(Thing::FACING.rotation(), &a, &b, 0.9).iter().map(|n| n * n).sum::<f64>().round(),
        1.0
    );
}

#[test]
fn angles_stay_in_their_turn() {
    let small = |a, b, part| between(Thing::SMALL.angle(256.0), &[a], &[b], part)[0];
    assert_eq!(
        [small(250.0, 6.0, 0.25), small(250.0, 6.0, 0.75), small(6.0, 250.0, 0.75)],
        [253.0, 3.0, 253.0]
    );
    assert_eq!(small(240.0, 250.0, 1.8), 2.0, "and past the last state");
    let wide = |a: f64, b: f64, part| between(Thing::WIDE.angle(360.0), &[a], &[b], part)[0];
    assert_eq!([wide(170.0, -170.0, 0.25), wide(170.0, -170.0, 0.75)], [175.0, -175.0]);
    assert_eq!(wide(725.0, 735.0, 0.5), 730.0, "one that counts its turns keeps them");
}

#[test]
fn between_what_is_no_number_and_one_that_is_lies_nothing() {
    assert_eq!(between(Thing::WIDE, &[3.0], &[f64::NAN], 0.9), [3.0]);
    assert_eq!(between(Thing::WIDE, &[f64::INFINITY], &[1.0], 0.9), [f64::INFINITY]);
}

#[test]
fn angles_do_not_count_in_a_distance_but_by_themselves() {
    let both = (Thing::COUNT, Thing::WIDE.angle(360.0)).snap(10.0);
    assert_eq!(between(both.clone(), &[0.0, 0.0], &[8.0, 90.0], 0.5), [4.0, 45.0]);
    assert_eq!(between(both, &[0.0, 0.0], &[12.0, 90.0], 0.5), [0.0, 0.0]);
    assert_eq!(between(Thing::WIDE.angle(360.0).snap(45.0), &[10.0], &[300.0], 0.5), [10.0]);
    assert_eq!(between(Thing::WIDE.angle(360.0).snap(80.0), &[10.0], &[300.0], 0.5), [335.0]);
    // Each group by itself.
    let apart = (Thing::COUNT.snap(5.0), Thing::PLACE.snap(5.0));
    assert_eq!(between(apart, &[0.0; 4], &[9.0, 3.0, 0.0, 0.0], 0.5), [0.0, 1.5, 0.0, 0.0]);
}

#[test]
fn a_few_states_are_kept_and_no_more() {
    let plan = Plan::of(Thing::WIDE);
    let mut history = History::default();
    for tick in 0..1000 {
        let time = f64::from(tick) - 2.0;
        history.rest(&plan, f64::from(tick) - 0.5);
        history.push(&plan, f64::from(tick), &[1.0], 22);
        history.forget(&plan, time, true);
        assert!(history.len() <= 6, "{}", history.len());
    }
    // And where nobody draws.
    (1000..2000).for_each(|tick| history.push(&plan, f64::from(tick), &[1.0], 22));
    assert_eq!((history.len(), history.last()), (22, Some(1999.0)));
    assert_eq!(history.place(0.0, 2.0), Place::At(0));
    // At rest one is enough.
    history.forget(&plan, 2000.0, false);
    assert_eq!(history.len(), 1);
}

#[test]
fn what_was_held_back_for_want_of_room_is_no_rest() {
    let update = |tick, complete, changed, longest| {
        Newest::default().next(Tick(tick), Tick(complete), changed, longest)
    };
    let before = |newest: Newest, period| newest.still_before(20.0, period, BEAT);
    assert_eq!(before(update(19, 19, true, 1), 1.0), 19.0, "everything was there");
    assert_eq!(before(update(14, 14, true, 1), 1.0), 14.0, "one for six sends");
    assert_eq!(before(update(14, 14, false, 1), 1.0), 19.0, "the room was silent");
    assert_eq!(before(update(19, 16, true, 1), 1.0), 16.0, "something was held back");
    assert_eq!(before(update(19, 16, true, 4), 1.0), 19.0, "it may be what is far away");
    assert_eq!(before(update(19, 16, true, 4), 4.0), 16.0, "which is sent at every fourth send");
    assert_eq!(before(update(19, 19, true, 4), 4.0), 19.0);
}

const BEAT: Beat = Beat { tick_rate: 20.0, send_every: 1.0 };

/// The clock of a kind, in a room at rest, where no update holds it.
fn advance(clock: &mut DrawClock, ms: u64, estimate: f64, pace: f64) -> f64 {
    let frame = Frame { now: Duration::from_millis(ms), estimate, pace, beat: BEAT };
    clock.advance(&frame, Newest::default().next(Tick(1), Tick(1), false, 1), (2.0, 2.0));
    clock.time().unwrap()
}

#[test]
fn a_corrected_clock_is_followed_without_a_step() {
    for off in [-9.0, -1.0, 1.0, 9.0] {
        let mut clock = DrawClock::default();
        let mut before = advance(&mut clock, 0, 100.0, 20.0);
        for step in 1..200 {
            let at = 100.0 + f64::from(step) * 0.4;
            let estimate = if step > 10 { at + off } else { at };
            let time = advance(&mut clock, step as u64 * 20, estimate, 20.0);
            assert!((0.19..0.61).contains(&(time - before)), "{} in a step of 0.4", time - before);
            before = time;
            if step == 199 {
                assert!((time - estimate).abs() < 0.05, "{time}, not {estimate}");
            }
        }
    }
}

#[test]
fn a_room_that_is_sped_or_held_is_followed_at_its_pace() {
    for speed in [0.0, 0.5, 4.0, 16.0] {
        let mut clock = DrawClock::default();
        let mut at = 100.0;
        let mut before = advance(&mut clock, 0, at, 20.0);
        for step in 1..300u64 {
            let pace = if step > 10 { 20.0 * speed } else { 20.0 };
            at += pace * 0.02;
            let time = advance(&mut clock, step * 20, at, pace);
            assert!(time >= before && (time - at).abs() < 0.1, "{time}, not {at}");
            before = time;
        }
    }
}

proptest! {
    #[test]
    fn no_clock_however_wild_is_drawn_backwards(
        estimates in proptest::collection::vec((1u64..100, -9.0f64..9.0), 1..200)
    ) {
        let mut clock = DrawClock::default();
        let (mut ms, mut before) = (0, 0.0);
        for (passed, off) in estimates {
            ms += passed;
            // Never off by more than a second from one to the next.
            let time = advance(&mut clock, ms, 1000.0 + ms as f64 * 0.02 + off, 20.0);
            prop_assert!(time >= before);
            before = time;
        }
    }
}

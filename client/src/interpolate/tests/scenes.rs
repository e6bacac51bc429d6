//! One thing at a time, as a player sees it.

use std::f64::consts::TAU;
use std::time::Duration;

use room::prelude::*;

use super::link::Weather;
use super::town::{Scene, Town, Walker, walker};
use crate::Smooth;

/// Everyone walks a unit a tick.
fn stroll(room: &mut Room<Town>, tick: u64) {
    let all: Vec<_> = room.all::<Walker>().map(|(id, _)| id).collect();
    all.into_iter().for_each(|id| room.get_mut(id).unwrap().set_x(tick as f64));
}

fn rest(_: &mut Room<Town>, _: u64) {}

fn x(scene: &Scene, id: Id<Walker>) -> f64 {
    scene.link.machine.drawn(id).unwrap().x
}

fn time(scene: &Scene, id: Id<Walker>) -> f64 {
    scene.link.machine.drawn_time(id).unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-4
}

fn about(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.02
}

/// A walker that the client sees and draws, on a link without delay unless said.
fn scene(period: u32, weather: Weather) -> (Scene, Id<Walker>) {
    let mut scene = Scene::new(1, weather);
    let id = scene.add(walker(period));
    scene.run(1500, stroll, |_| ());
    (scene, id)
}

#[test]
fn a_walker_is_drawn_two_sends_behind_the_rooms_clock() {
    for (send_every, ticks) in [(1, 2.0), (2, 4.0), (3, 6.0)] {
        let mut scene = Scene::new(send_every, Weather::default());
        let id = scene.add(walker(1));
        scene.run(1500, stroll, |_| ());
        scene.run(1000, stroll, |scene| {
            assert!(about(time(scene, id), scene.link.room_time() - ticks), "{}", time(scene, id));
            assert!(near(x(scene, id), time(scene, id)), "it walks a unit a tick");
        });
        assert_eq!(scene.link.machine.stats().extrapolated, 0);
    }
}

#[test]
fn one_that_is_sent_rarely_is_drawn_its_period_and_a_send_behind() {
    for period in 2..=8 {
        let (mut scene, id) = scene(period, Weather::default());
        let ticks = f64::from(period + 1);
        scene.run(1000, stroll, |scene| {
            assert!(about(time(scene, id), scene.link.room_time() - ticks));
            assert!(near(x(scene, id), time(scene, id)));
        });
    }
}

#[test]
fn a_game_says_how_far_behind_its_kinds_are_drawn() {
    for (ms, ticks) in [(0, 2.0), (300, 6.0), (1500, 30.0)] {
        let mut scene = Scene::new(1, Weather::default());
        scene.link.machine.interpolate::<Walker>(Walker::X.delay(Duration::from_millis(ms)));
        let id = scene.add(walker(1));
        scene.run(3200, stroll, |_| ());
        let behind = scene.link.room_time() - time(&scene, id);
        assert!(about(behind, ticks), "{behind} with {ms} ms");
        assert!(near(x(&scene, id), time(&scene, id)));
    }
}

#[test]
fn on_a_slow_link_it_is_as_far_behind_as_updates_are_late() {
    let weather = Weather { latency: 150, jitter: 20, seed: 3, ..Weather::default() };
    let (mut scene, id) = scene(1, weather);
    scene.run(3000, stroll, |_| ());
    let before = scene.link.machine.stats().extrapolated;
    let mut last = x(&scene, id);
    scene.run(4000, stroll, |scene| {
        let behind = scene.link.room_time() - time(scene, id);
        assert!((4.0..5.5).contains(&behind), "{behind} ticks of 50 ms");
        let step = x(scene, id) - last;
        assert!((0.15..0.5).contains(&step), "it never stands: {step}");
        last = x(scene, id);
    });
    assert!(scene.link.machine.stats().extrapolated - before < 20, "hardly ever guessed");
}

#[test]
fn what_rested_and_moves_does_not_glide_through_the_rest() {
    for busy in [false, true] {
        let (mut scene, id) = scene(1, Weather::default());
        // With another walker the room goes on sending, without one it falls silent.
        let other = busy.then(|| scene.add(walker(1)));
        let stood = scene.link.room.room().get(id).unwrap().x;
        let mut moved = false;
        let walk = |room: &mut Room<Town>, tick: u64| {
            if let Some(other) = other {
                room.get_mut(other).unwrap().set_y(tick as f32);
            }
            if tick == 50 {
                room.get_mut(id).unwrap().set_x(stood + 1.0);
            }
        };
        scene.run(1500, walk, |scene| {
            let (x, time) = (x(scene, id), time(scene, id));
            if time < 32.0 {
                return;
            }
            let there = stood + (time - 49.0).clamp(0.0, 1.0);
            assert!(near(x, there), "{x}, not {there}, at {time}");
            moved |= x > stood;
        });
        assert!(moved);
    }
}

#[test]
fn where_nothing_newer_comes_it_goes_on_for_a_moment_and_stands() {
    // Nothing comes through from 3.0 to 3.9 seconds.
    let weather = Weather { stall_every: 3000, stall: 900, ..Weather::default() };
    let (mut scene, id) = scene(1, weather);
    let mut most: f64 = 0.0;
    scene.run(2380, stroll, |scene| most = most.max(x(scene, id)));
    let last = scene.link.machine.tick().0 as f64;
    assert!(near(most, last + 2.0), "100 ms past {last}: {most}");
    assert!(scene.link.machine.stats().extrapolated > 20);
    // What it missed is made up for on its way, without a jump.
    let mut before = x(&scene, id);
    scene.run(2000, stroll, |scene| {
        let step = x(scene, id) - before;
        assert!((0.0..0.5).contains(&step), "{step}");
        before = x(scene, id);
    });
    let behind = scene.link.room_time() - time(&scene, id);
    assert!((2.0..3.0).contains(&behind), "{behind}");
}

#[test]
fn one_that_stopped_does_not_go_on() {
    let weather = Weather { latency: 200, ..Weather::default() };
    let (mut scene, id) = scene(1, weather);
    scene.run(2000, stroll, |_| ());
    let stops = scene.link.room.room().get(id).unwrap().x;
    scene.run(2000, rest, |scene| assert!(x(scene, id) <= stops + 0.5));
    assert_eq!(x(&scene, id), stops);
}

#[test]
fn a_game_can_have_nothing_guessed() {
    let weather = Weather { stall_every: 3000, stall: 900, ..Weather::default() };
    let mut scene = Scene::new(1, weather);
    scene.link.machine.interpolate::<Walker>(Walker::X.extrapolate(Duration::ZERO));
    let id = scene.add(walker(1));
    scene.run(3880, stroll, |_| ());
    assert_eq!(x(&scene, id), scene.link.machine.tick().0 as f64);
    assert_eq!(scene.link.machine.stats().extrapolated, 0);
}

#[test]
fn a_jump_past_the_distance_is_not_drawn_between() {
    let (mut scene, id) = scene(1, Weather::default());
    let from = scene.link.room.room().get(id).unwrap().x;
    let mut there = 0;
    let walk = |room: &mut Room<Town>, tick: u64| {
        if tick == 35 {
            let mut walker = room.get_mut(id).unwrap();
            walker.set_x(from + 500.0);
            walker.set_level(40);
        }
    };
    let mut levels = Vec::new();
    scene.run(1000, walk, |scene| {
        let x = x(scene, id);
        assert!(x <= from || x == from + 500.0, "{x}");
        assert_eq!(x > from, time(scene, id) >= 35.0, "it jumps when it did");
        there += u32::from(x > from);
        levels.push(scene.link.machine.drawn(id).unwrap().level);
    });
    assert!(there > 10);
    assert!(
        levels.iter().any(|level| (1..40).contains(level)),
        "what is no part of the place goes on as before"
    );
}

#[test]
fn an_angle_goes_the_short_way() {
    let (mut scene, id) = scene(1, Weather::default());
    let walk = |room: &mut Room<Town>, tick: u64| {
        let heading = (tick as f64 * 0.5 + 3.0).rem_euclid(TAU) as f32;
        room.get_mut(id).unwrap().set_heading(heading);
    };
    scene.run(300, walk, |_| ());
    let mut before = scene.link.machine.drawn(id).unwrap().heading;
    let mut rounds = 0;
    scene.run(2000, walk, |scene| {
        let heading = scene.link.machine.drawn(id).unwrap().heading;
        assert!((0.0..6.3).contains(&heading), "{heading}");
        let turned = (heading - before).rem_euclid(TAU as f32);
        assert!(turned < 0.4, "it turns one way: {turned}");
        rounds += u32::from(heading < before);
        before = heading;
    });
    assert!(rounds >= 2);
}

#[test]
fn what_is_not_interpolated_is_as_the_replica_has_it() {
    let (mut scene, id) = scene(1, Weather::default());
    let walk = |room: &mut Room<Town>, tick: u64| {
        stroll(room, tick);
        room.get_mut(id).unwrap().set_name(tick.to_string()).unwrap();
    };
    scene.run(1000, walk, |scene| {
        let (now, drawn) = (scene.link.machine.get(id).unwrap(), scene.link.machine.drawn(id).unwrap());
        assert_eq!(now.name, drawn.name);
        assert!(now.name == "Ada" || drawn.x < now.x);
    });
    assert_ne!(scene.link.machine.drawn(id).unwrap().name, "Ada");
    // And of a kind that is not, all is.
    scene.load(100);
    scene.run(200, rest, |_| ());
    let (noise, _) = scene.link.machine.drawn_all::<super::town::Ballast>().next().unwrap();
    assert!(scene.link.machine.drawn(noise).is_some());
    assert_eq!(scene.link.machine.drawn_time(noise), None);
}

#[test]
fn one_that_enters_is_drawn_where_it_is_and_one_that_leaves_is_gone_at_once() {
    let (mut scene, id) = scene(1, Weather::default());
    let other = scene.add(Walker { x: 77.0, ..walker(1) });
    let stay = |room: &mut Room<Town>, tick: u64| {
        room.get_mut(id).unwrap().set_x(tick as f64);
    };
    scene.run(64, stay, |_| ());
    assert_eq!(x(&scene, other), 77.0);
    let ids: Vec<_> = scene.link.machine.drawn_all::<Walker>().map(|(id, walker)| (id, walker.x)).collect();
    assert_eq!(ids, [(id, x(&scene, id)), (other, 77.0)]);
    scene.link.edit(|room| room.delete(other));
    scene.run(64, stay, |_| ());
    assert_eq!(scene.link.machine.drawn(other), None);
    assert_eq!(scene.link.machine.drawn_all::<Walker>().count(), 1);
}

#[test]
fn shown_again_it_stands_where_it_is() {
    for hidden_ms in [320, 3200] {
        let (mut scene, id) = scene(1, Weather::default());
        let now = scene.link.now();
        scene.link.machine.handle_hidden(now, true);
        scene.run(hidden_ms, stroll, |_| ());
        let now = scene.link.now();
        scene.link.machine.handle_hidden(now, false);
        let mut jumped = false;
        scene.run(200, stroll, |scene| {
            if scene.link.machine.jumped() {
                jumped = true;
                assert_eq!(x(scene, id), scene.link.machine.get(id).unwrap().x);
            }
        });
        assert!(jumped);
        scene.run(300, stroll, |_| ());
        scene.run(500, stroll, |scene| assert!(near(x(scene, id), time(scene, id))));
    }
}

#[test]
fn a_backlog_of_more_than_a_second_is_not_smoothed() {
    let weather = Weather { stall_every: 3000, stall: 1400, ..Weather::default() };
    let (mut scene, id) = scene(1, weather);
    let mut jumped = false;
    scene.run(4000, stroll, |scene| {
        if scene.link.machine.jumped() {
            jumped = true;
            assert_eq!(x(scene, id), scene.link.machine.get(id).unwrap().x);
        }
    });
    assert!(jumped);
}

#[test]
fn a_room_that_a_tool_holds_is_drawn_where_it_stopped_and_goes_on_from_there() {
    for held_ms in [300, 4000] {
        let (mut scene, id) = scene(1, Weather { latency: 30, ..Weather::default() });
        scene.run(1000, stroll, |_| ());
        scene.link.running = false;
        scene.run(held_ms, stroll, |_| ());
        let last = scene.link.machine.tick().0 as f64;
        assert!(x(&scene, id) <= last + 2.0);
        scene.link.running = true;
        let mut before = x(&scene, id);
        scene.run(4000, stroll, |scene| {
            let step = x(scene, id) - before;
            assert!((-0.01..0.5).contains(&step), "{step}");
            before = x(scene, id);
        });
        let behind = scene.link.machine.tick().0 as f64 - time(&scene, id);
        assert!((0.0..3.5).contains(&behind), "{behind}");
    }
}

#[test]
fn a_room_that_is_too_slow_is_drawn_at_its_own_speed() {
    let (mut scene, id) = scene(1, Weather { latency: 30, ..Weather::default() });
    scene.run(500, stroll, |_| ());
    let mut before = x(&scene, id);
    // Every other tick is dropped, for ten seconds.
    for ms in 0..10_000u64 {
        scene.link.running = ms % 100 < 50;
        scene.run(1, stroll, |scene| {
            let step = x(scene, id) - before;
            assert!((-0.01..0.5).contains(&step), "{step}");
            before = x(scene, id);
        });
    }
    let behind = scene.link.machine.tick().0 as f64 - time(&scene, id);
    assert!((-2.0..4.0).contains(&behind), "{behind}");
}

#[test]
fn a_room_that_a_tool_speeds_is_drawn_as_fast() {
    for speed in [2, 5] {
        let (mut scene, id) = scene(1, Weather { latency: 30, ..Weather::default() });
        scene.run(500, stroll, |_| ());
        scene.link.speed = speed;
        scene.run(1000, stroll, |_| ());
        let mut before = x(&scene, id);
        scene.run(5000, stroll, |scene| {
            let step = x(scene, id) - before;
            assert!((0.0..0.64 * speed as f64).contains(&step), "{step} at speed {speed}");
            before = x(scene, id);
        });
        let behind = scene.link.machine.tick().0 as f64 - time(&scene, id);
        assert!((0.0..25.0).contains(&behind), "{behind} at speed {speed}");
    }
}

#[test]
fn one_that_goes_away_or_comes_near_never_steps_back() {
    let (mut scene, id) = scene(1, Weather { latency: 20, ..Weather::default() });
    for period in [4, 1, 8, 2, 1] {
        scene.link.edit(|room| room.get_mut(id).unwrap().set_far(f64::from(period) * 10.0 - 5.0));
        let mut before = x(&scene, id);
        scene.run(3000, stroll, |scene| {
            let step = x(scene, id) - before;
            assert!((0.0..0.75).contains(&step), "{step} to period {period}");
            before = x(scene, id);
        });
        let behind = scene.link.room_time() - time(&scene, id);
        let delay = f64::from(period + 1);
        assert!((delay - 0.1..delay + 0.5).contains(&behind), "{behind} with period {period}");
    }
}

//! How far off what is drawn is, in figures: printed, and only loosely held to.

use std::f64::consts::{PI, TAU};

use room::prelude::*;

use super::link::Weather;
use super::town::{Scene, Town, Walker, walker};

/// Units a second.
const SPEED: f64 = 5.0;

/// Where one is who walks, turns every so often and now and then stops, at any time in ticks.
fn place(time: f64) -> (f64, f64) {
    let (mut x, mut y, mut heading) = (0.0, 0.0, 0.0);
    let mut at = 0.0;
    for leg in 0.. {
        // Legs of half a second to two, in changing directions; every fifth one is a rest.
        let ticks = 10.0 + f64::from(leg * 7 % 31);
        let step = (time - at).clamp(0.0, ticks) / 20.0;
        if leg % 5 != 4 {
            let turning = f64::from(leg % 3 - 1) * PI / 2.0;
            let (from, to) = (heading, heading + turning * step);
            // Along an arc, or a line where it does not turn.
            if turning == 0.0 {
                x += step * SPEED * f64::cos(from);
                y += step * SPEED * f64::sin(from);
            } else {
                x += SPEED / turning * (f64::sin(to) - f64::sin(from));
                y -= SPEED / turning * (f64::cos(to) - f64::cos(from));
            }
            heading = to + if step * 20.0 >= ticks { f64::from(leg * 5 % 7 - 3) * TAU / 14.0 } else { 0.0 };
        }
        at += ticks;
        if at >= time {
            break;
        }
    }
    (x, y)
}

fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part) as usize]
}

/// The 99th percentiles of how far a walker is drawn from where she was at the time that is drawn, as a part of a
/// second's walk, and of how far that time is behind the room's clock, in milliseconds.
fn measure(weather: Weather) -> (f64, f64) {
    let mut scene = Scene::new(1, weather);
    let id = scene.add(walker(1));
    let walk = |room: &mut Room<Town>, tick: u64| {
        let (x, y) = place(tick as f64);
        let mut walker: <Walker as Entity>::Writer<'_> = room.get_mut(id).unwrap();
        walker.set_x(x);
        walker.set_y(y as f32);
    };
    let (mut off, mut behind) = (Vec::new(), Vec::new());
    scene.run(60_000, walk, |scene| {
        let Some(time) = scene.link.machine.drawn_time(id).filter(|time| *time > 40.0) else { return };
        let drawn = scene.link.machine.drawn(id).unwrap();
        let (x, y) = place(time);
        off.push((drawn.x - x).hypot(f64::from(drawn.y) - y) / SPEED);
        behind.push((scene.link.room_time() - time) * 50.0);
    });
    (percentile(&mut off, 0.99), percentile(&mut behind, 0.99))
}

#[test]
fn a_player_who_walks_and_turns_is_drawn_within_a_twentieth_of_a_seconds_walk() {
    let mut lines = String::new();
    for (latency, jitter, stall_every, stall) in
        [(0, 0, 0, 0), (75, 30, 0, 0), (75, 30, 5000, 300), (150, 30, 0, 0), (150, 30, 5000, 300)]
    {
        let weather = Weather { latency, jitter, stall_every, stall, seed: 11 };
        let (off, behind) = measure(weather);
        lines += &format!(
            "{latency} ms and up to {jitter} more, {stall} ms of stall every {stall_every}: \
             99 of 100 frames within {:.2} % of a second's walk, {behind:.0} ms behind the room's clock\n",
            off * 100.0
        );
        assert!(off < 0.05, "{lines}");
    }
    eprint!("{lines}");
}

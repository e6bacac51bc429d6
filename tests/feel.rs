//! How play feels: players who walk, jump and collide over links of 20 to 300 ms, with jitter and stalls, on a clock of
//! their own. Prints what it measured; `FEEL_SEED` plays another game, `FEEL_SECONDS` a longer one.
//!
//! `cargo test --release --test feel -- --nocapture`

#[path = "feel/game.rs"]
mod game;
#[path = "feel/play.rs"]
mod play;
#[path = "feel/wire.rs"]
mod wire;

use play::{Figures, Plan, play, shoot};

fn variable(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(usual, |value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn run(round_trip_ms: u64, jitter_ms: u64, stalls: bool) -> Figures {
    let plan = Plan {
        round_trip_ms,
        jitter_ms,
        stalls,
        seconds: variable("FEEL_SECONDS", 120),
        seed: variable("FEEL_SEED", 1),
        send_every: 1,
    };
    let figures = play(&plan);
    println!("{round_trip_ms} ms, jitter {jitter_ms}, stalls {stalls}: {figures}");
    figures
}

#[test]
fn her_own_steps_show_in_the_same_frame_and_are_not_taken_back() {
    for (round_trip, stalls) in [(20, false), (80, false), (150, false), (300, false), (150, true)] {
        let figures = run(round_trip, 30, stalls);
        assert_eq!(figures.frames_to_screen, 1, "a change of input shows in its frame");
        assert_eq!((figures.jumps_lost, figures.jumps_doubled), (0, 0));
        assert!(figures.unexplained == 0, "{} corrections where no input was missed", figures.unexplained);
        let most = if stalls { 0.10 } else { 0.05 } * f64::from(game::SPEED);
        assert!(figures.remote_p99 < most, "another player draws her {} m off", figures.remote_p99);
        if !stalls {
            assert!(figures.starved_share < 0.005, "{} of the ticks were starved", figures.starved_share);
        }
    }
}

#[test]
fn a_room_that_sends_more_rarely_is_predicted_as_well() {
    for send_every in [2, 4] {
        let plan = Plan { round_trip_ms: 80, jitter_ms: 20, stalls: false, seconds: 60, seed: 2, send_every };
        let figures = play(&plan);
        println!("every {send_every} ticks: {figures}");
        assert_eq!((figures.frames_to_screen, figures.jumps_lost, figures.jumps_doubled), (1, 0, 0));
        assert!(figures.unexplained == 0 && figures.starved_share < 0.005, "{figures}");
    }
}

#[test]
fn who_aims_at_what_she_sees_hits_it() {
    let plan = Plan { round_trip_ms: 250, jitter_ms: 0, stalls: false, seconds: 0, seed: 1, send_every: 1 };
    let (with, without) = shoot(&plan, 8);
    println!("a shooter at 250 ms hits {with} of 8 with lag compensation, {without} of 8 without");
    assert_eq!((with, without), (8, 0));
}

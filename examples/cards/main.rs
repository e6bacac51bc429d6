//! Crazy Eights with a hidden deck, private hands and a shared table, and a scan that proves it.
//!
//! ```text
//! cargo run --release --example cards -- --bots 4 --seed 7 --json
//! cargo run --release --example cards -- --bots 4 --seed 7 --json --leak table    # is caught
//! cargo run --release --example cards -- --store cards.db    # killed and run again, it goes on in the same round
//! ```

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
#[cfg(test)]
mod durable;
mod game;
#[path = "../common/keep.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod keep;
mod leaks;
mod play;
mod rules;
mod strategy;

use std::process::ExitCode;

use args::{Args, Flag};
use game::Leak;
use keep::Keep;
use play::{Failure, Run};

const FLAGS: &[Flag] = &[
    Flag { name: "bots", value: "N", help: "how many play: 2 to 5 (4)" },
    Flag { name: "seed", value: "N", help: "how the cards fall (7)" },
    Flag { name: "target", value: "N", help: "points that win the game (50 a player)" },
    keep::STORE,
    keep::NO_STORE,
    Flag { name: "json", value: "", help: "print the report as one JSON line" },
    Flag { name: "leak", value: "WHERE", help: "plant a leak, `table` or `event`, for the scan to catch" },
];

fn main() -> ExitCode {
    let args =
        Args::of_process("Crazy Eights: bots play a whole game, then every byte they got is scanned.", FLAGS);
    run(&args).unwrap_or_else(|error| {
        eprintln!("cards: {error}");
        ExitCode::from(2)
    })
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    let bots = args.number("bots", 4, 2..=5)?;
    let leak = match args.text("leak") {
        None => Leak::None,
        Some("table") => Leak::Table,
        Some("event") => Leak::Event,
        Some(other) => return Err(format!("`--leak {other}`: must be `table` or `event`").into()),
    };
    let target = args.number("target", rules::target(bots), 1..=10_000)?;
    let run = Run { bots, seed: args.number("seed", 7, 0..=u64::MAX)?, target, leak };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let keep = Keep::of(args, None)?;
    let report = runtime.block_on(play::game(run, &keep))?;
    if args.has("json") {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    Ok(if report.leaks == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! Many small rooms in one process, all of them durable: a process with their players beside it, over real sockets.
//! It prints what ticks and commits take, what a room takes of the heap, and what is left when all rooms sleep.
//!
//! ```text
//! cargo run --release --example rooms -- --rooms 300 --bots 4 --seconds 30 --json
//! cargo run --release --example rooms -- --snapshot --json     # what a snapshot costs the ticks of a large room
//! ```

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
#[path = "../common/cpu.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod cpu;
mod figures;
mod game;
mod heap;
#[path = "../common/keep.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod keep;
mod load;
mod serve;
mod snapshot;
#[path = "../common/system.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod system;

use std::process::ExitCode;

use serde::Serialize;
use tokio::io::{BufReader, stdin, stdout};

use args::{Args, Flag};
use keep::Keep;
use load::Failure;
use serve::Run;

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

const FLAGS: &[Flag] = &[
    Flag { name: "rooms", value: "N", help: "how many rooms (300)" },
    Flag { name: "bots", value: "N", help: "players in each (4)" },
    Flag { name: "seconds", value: "S", help: "how long they are played in (30)" },
    Flag { name: "sleep", value: "S", help: "seconds until a room sleeps that nobody is in (60)" },
    Flag { name: "rounds", value: "N", help: "how often all come, play and leave (1)" },
    keep::STORE,
    keep::NO_STORE,
    Flag { name: "snapshot", value: "", help: "measure the snapshots of one large room instead" },
    Flag { name: "entities", value: "N", help: "with --snapshot: how many the room has (100000)" },
    Flag { name: "changes", value: "N", help: "with --snapshot: how many change in a tick (1000)" },
    Flag { name: "json", value: "", help: "print the report as one JSON line" },
];

/// Given by this program to itself, with the URL of rooms up to their names: be the load.
const LOAD: Flag = Flag { name: "load", value: "URL", help: "" };
const LOAD_FLAGS: &[Flag] = &[FLAGS[0], FLAGS[1], LOAD];

fn main() -> ExitCode {
    let done = if std::env::args().any(|arg| arg == "--load") { load() } else { measure() };
    done.unwrap_or_else(|error| {
        eprintln!("rooms: {error}");
        ExitCode::from(2)
    })
}

fn measure() -> Result<ExitCode, Failure> {
    let about = "Many durable rooms in one process: what they take, and what is left when they sleep.";
    let args = Args::of_process(about, FLAGS);
    let seconds = args.number("seconds", 30, 1..=86_400)?;
    let keep = Keep::of(&args, None)?;
    if args.has("snapshot") {
        let entities = args.number("entities", 100_000, 1..=1_000_000)?;
        let changes = args.number("changes", 1000, 1..=entities)?;
        print(&snapshot::run(snapshot::Run { entities, changes, seconds }, &keep)?, &args)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = ["entities", "changes"].into_iter().find(|name| args.has(name)) {
        return Err(format!("`--{name}` needs `--snapshot`").into());
    }
    let run = Run {
        rooms: args.number("rooms", 300, 1..=10_000)?,
        bots: args.number("bots", 4, 1..=100)?,
        seconds,
        sleep: args.number("sleep", 60, 1..=3600)?,
        rounds: args.number("rounds", 1, 1..=1000)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(serve::with_process(run, &keep))?;
    print(&report, &args)?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &impl Serialize, args: &Args) -> Result<(), Failure> {
    let json = args.has("json");
    println!("{}", if json { serde_json::to_string(report)? } else { serde_json::to_string_pretty(report)? });
    Ok(())
}

/// On one thread: the server has use for the other cores.
fn load() -> Result<ExitCode, Failure> {
    let args = Args::of_process("", LOAD_FLAGS);
    let url = args.text("load").unwrap_or_default().to_owned();
    system::allow_sockets(args.number("rooms", 1, 1..=usize::MAX)? * args.number("bots", 1, 1..=100)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(load::run(url, BufReader::new(stdin()), stdout()))?;
    // The task that reads the input must not hold the process up.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

//! A crowd over real sockets: one server, and a process with its players, of whom each sees about two hundred of
//! the dots around her. It prints what a tick takes and what is sent, and whether what clients hold is right.
//!
//! ```text
//! cargo run --release --example crowd -- --connections 1000 --entities 20000 --seconds 20 --json
//! ```
//!
//! Most players only acknowledge what comes. A sample of them keeps a copy, as games' clients do. Once a second
//! each copy is compared, dot by dot and bit by bit, with what the player should see of the world as the server had
//! it at the end of the same tick; in the end the world stands still, and each is compared once more. A sound
//! comparison needs both: the one finds what is wrong for a moment, the other what stays wrong.

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
mod check;
mod game;
mod load;
mod serve;
mod socket;
#[path = "../common/system.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod system;

use std::process::ExitCode;

use tokio::io::{BufReader, stdin, stdout};

use args::{Args, Flag};
use load::{Failure, Load};
use serve::Run;

const FLAGS: &[Flag] = &[
    Flag { name: "connections", value: "N", help: "players, each with a socket (1000)" },
    Flag { name: "entities", value: "N", help: "dots, which all move every tick (20000)" },
    Flag { name: "seconds", value: "S", help: "how long the crowd is measured (20)" },
    Flag { name: "sample", value: "N", help: "players whose copy is compared with the world (50)" },
    Flag { name: "threads", value: "N", help: "threads that lay out the updates (1)" },
    Flag { name: "json", value: "", help: "print the report as one JSON line" },
];

/// Given by this program to itself, with the URL: be the load.
const LOAD: Flag = Flag { name: "load", value: "URL", help: "" };
const LOAD_FLAGS: &[Flag] = &[FLAGS[0], FLAGS[3], LOAD];

fn main() -> ExitCode {
    let done = if std::env::args().any(|arg| arg == "--load") { load() } else { serve() };
    done.unwrap_or_else(|error| {
        eprintln!("crowd: {error}");
        ExitCode::from(2)
    })
}

fn serve() -> Result<ExitCode, Failure> {
    let about = "A crowd over real sockets: what a tick takes, what is sent, and whether it is right.";
    let args = Args::of_process(about, FLAGS);
    let entities = args.number("entities", 20_000, 1..=game::DOTS_MOST)?;
    let connections = args.number("connections", 1000, 1..=20_000)?;
    if connections > entities {
        return Err(format!("{connections} players need as many dots; there are {entities}").into());
    }
    let sample = args.number("sample", 50, 1..=connections.max(50))?.min(connections);
    let seconds = args.number("seconds", 20, 1..=86_400)?;
    let threads = args.number("threads", 1, 1..=room::limits::THREADS)?;
    let run = Run { connections, entities, sample, seconds, threads };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(serve::with_process(run))?;
    let json = args.has("json");
    println!(
        "{}",
        if json { serde_json::to_string(&report)? } else { serde_json::to_string_pretty(&report)? }
    );
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// On one thread: the server has use for the other cores.
fn load() -> Result<ExitCode, Failure> {
    let args = Args::of_process("", LOAD_FLAGS);
    let load = Load {
        url: args.text("load").unwrap_or_default().to_owned(),
        connections: args.number("connections", 1, 1..=usize::MAX)?,
        sample: args.number("sample", 0, 0..=usize::MAX)?,
    };
    system::allow_sockets(load.connections)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(load::run(load, BufReader::new(stdin()), stdout()))?;
    // The task that reads the input must not hold the process up.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

//! A voxel world of real terrain: walk, dig and build with everyone who is near.
//!
//! ```text
//! cargo run --release --example voxel                                      # serves it, and keeps it in voxel.db
//! cargo run --release --example voxel-client                               # plays it
//! cargo run --release --example voxel -- --bots 50 --seconds 20 --json     # drives and checks it
//! cargo run --release --example voxel -- --bots 50 --seconds 10 --interleave 5     # what keeping it costs
//! ```

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
mod blocks;
mod bots;
mod brain;
#[path = "../common/cpu.rs"]
mod cpu;
#[cfg(test)]
mod durable;
mod game;
mod host;
#[path = "../common/keep.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod keep;
mod oracle;
mod pairs;
mod shared;
mod terrain;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use args::{Args, Flag};
use bots::{Failure, Run};
use host::{Host, Site};
use keep::Keep;
use terrain::Terrain;

const FLAGS: &[Flag] = &[
    Flag { name: "host", value: "HOST", help: "address to listen on (127.0.0.1)" },
    Flag { name: "port", value: "PORT", help: "port to listen on (8787; with --bots any free one)" },
    Flag {
        name: "terrain",
        value: "FILE",
        help: "another world's chunks, gzipped or plain; needs --palette",
    },
    Flag { name: "palette", value: "FILE", help: "what its blocks are: a line `index name` each" },
    keep::STORE,
    keep::NO_STORE,
    Flag { name: "bots", value: "N", help: "drive the world with N bots, check what they see, and end" },
    Flag { name: "seconds", value: "S", help: "how long the bots play (20)" },
    Flag { name: "seed", value: "N", help: "where the bots go (1)" },
    Flag {
        name: "interleave",
        value: "N",
        help: "with --bots: N runs with a store and N without, in turns, and what it costs",
    },
    Flag { name: "json", value: "", help: "with --bots: print the report as one JSON line" },
];

fn main() -> ExitCode {
    let args = Args::of_process("A voxel world: serves it, or drives it with bots.", FLAGS);
    run(&args).unwrap_or_else(|error| {
        eprintln!("voxel: {error}");
        ExitCode::from(2)
    })
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    let bots = args.number("bots", 0, 0..=2000)?;
    let run = Run {
        bots,
        seconds: args.number("seconds", 20, 1..=86_400)?,
        seed: args.number("seed", 1, 0..=u64::MAX)?,
    };
    if bots == 0 {
        let lone = ["seconds", "seed", "json", "interleave"].into_iter().find(|name| args.has(name));
        if let Some(name) = lone {
            return Err(format!("`--{name}` needs `--bots N` with at least one bot").into());
        }
    }
    let port = args.number("port", if bots > 0 { 0 } else { 8787 }, 0..=u16::MAX)?;
    let host = args.text("host").unwrap_or("127.0.0.1").to_owned();
    let site = Site { host, port, terrain: Arc::new(terrain(args)?), bots };
    let pairs = args.number("interleave", 0, 0..=1000)?;
    if pairs > 0 {
        let comparison = pairs::compare(&site, &run, pairs)?;
        print(&comparison, args)?;
        return Ok(verdict(comparison.mismatches));
    }
    let keep = Keep::of(args, (bots == 0).then_some("voxel.db"))?;
    let host = Host::start(site, keep)?;
    if bots == 0 {
        return Ok(serve(host));
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = threads.block_on(bots::drive(&host.handle, &run));
    host.stop();
    let report = report?;
    print(&report, args)?;
    Ok(verdict(report.mismatches))
}

fn terrain(args: &Args) -> Result<Terrain, Failure> {
    match (args.text("terrain"), args.text("palette")) {
        (None, None) => Ok(Terrain::built_in()?),
        (Some(chunks), Some(palette)) => Ok(Terrain::load(Path::new(chunks), Path::new(palette))?),
        _ => Err("`--terrain FILE` and `--palette FILE` go together".into()),
    }
}

/// Serves until the process is told to stop.
fn serve(host: Host) -> ExitCode {
    let url = host.handle.url(shared::ROOM);
    match host.keep.path() {
        Some(file) => println!("voxel serves {url} and keeps it in {}", file.display()),
        None => println!("voxel serves {url} and keeps nothing"),
    }
    println!("play it with: cargo run --release --example voxel-client -- --url {url}");
    host.run();
    ExitCode::SUCCESS
}

fn print(report: &impl Serialize, args: &Args) -> Result<(), Failure> {
    let json = args.has("json");
    println!("{}", if json { serde_json::to_string(report)? } else { serde_json::to_string_pretty(report)? });
    Ok(())
}

/// A bot's copy that is wrong is a failure.
fn verdict(mismatches: usize) -> ExitCode {
    if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

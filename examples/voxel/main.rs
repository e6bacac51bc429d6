//! A voxel world of real terrain: walk, dig and build with everyone who is near.
//!
//! ```text
//! cargo run --release --example voxel                                      # serves it
//! cargo run --release --example voxel-client                               # plays it
//! cargo run --release --example voxel -- --bots 50 --seconds 20 --json     # drives and checks it
//! ```

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
mod blocks;
mod bots;
mod brain;
mod game;
mod oracle;
mod shared;
mod terrain;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use room::server::Server;

use args::{Args, Flag};
use bots::{Failure, Run};
use game::Voxel;
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
    Flag { name: "bots", value: "N", help: "drive the world with N bots, check what they see, and end" },
    Flag { name: "seconds", value: "S", help: "how long the bots play (20)" },
    Flag { name: "seed", value: "N", help: "where the bots go (1)" },
    Flag { name: "json", value: "", help: "with --bots: print the report as one JSON line" },
];

/// Players that the room seats.
const SEATS: u32 = 200;
/// A world that nobody plays is forgotten, and what was built in it, after a day.
const SLEEP: Duration = Duration::from_secs(24 * 60 * 60);

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
        let lone = ["seconds", "seed", "json"].into_iter().find(|name| args.has(name));
        if let Some(name) = lone {
            return Err(format!("`--{name}` needs `--bots N` with at least one bot").into());
        }
    }
    let port = args.number("port", if bots > 0 { 0 } else { 8787 }, 0..=u16::MAX)?;
    let terrain = Arc::new(terrain(args)?);
    let server = Server::new(move |_: &str| Voxel::new(terrain.clone()))
        .host(args.text("host").unwrap_or("127.0.0.1"))
        .port(port)
        .max_players(SEATS.max(bots) as usize)
        .sleep_seconds(SLEEP.as_secs());
    // All bots come from one address.
    let server = if bots > 0 { server.sockets_per_second(4 * bots + 200) } else { server };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        if bots == 0 { serve(server).await } else { drive(server, &run, args.has("json")).await }
    })
}

fn terrain(args: &Args) -> Result<Terrain, Failure> {
    match (args.text("terrain"), args.text("palette")) {
        (None, None) => Ok(Terrain::built_in()?),
        (Some(chunks), Some(palette)) => Ok(Terrain::load(Path::new(chunks), Path::new(palette))?),
        _ => Err("`--terrain FILE` and `--palette FILE` go together".into()),
    }
}

/// Serves until the process is told to stop.
async fn serve(server: Server<Voxel>) -> Result<ExitCode, Failure> {
    let handle = server.start().await?;
    let url = handle.url(shared::ROOM);
    println!("voxel serves {url}; play it with: cargo run --release --example voxel-client -- --url {url}");
    handle.run().await;
    Ok(ExitCode::SUCCESS)
}

/// Drives the world with bots, prints the report, and fails where a bot's copy is wrong.
async fn drive(server: Server<Voxel>, run: &Run, json: bool) -> Result<ExitCode, Failure> {
    let handle = server.start().await?;
    let report = bots::drive(&handle, run).await?;
    handle.shutdown().await;
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    Ok(if report.mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

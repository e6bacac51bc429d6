//! A room that is killed again and again: a server in a process of its own, which gets SIGKILL at random moments and
//! is started anew on the same store, and players over real sockets, who see to it that nothing is lost.
//!
//! ```text
//! cargo run --release --example crash -- --rounds 50 --clients 50 --json
//! ```
//!
//! In each round all players come back. The field comes to rest, and what each client holds is compared with what its
//! player should see, which a hook works out the slow way. The room also says whether it has all that the client
//! remembers: no number may have become smaller that only grows and is durable, and nothing may be gone that was not
//! deleted. Then all goes on until the next kill: while everything changes, while only what is coarse or ephemeral
//! does, in the middle of a snapshot, or right after the start. In the end the ledgers that the room keeps are held
//! against what each client said and heard, and a file of effects against what was asked for.
//!
//! The store is slow now and then, on purpose, so that kills fall between what is kept and what is said.
//!
//! `wake_ms` is the time from the start of a process until the first client is resumed, its first update applied. One
//! client dials as soon as the process listens; the others come by their own clocks.

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
mod child;
mod deeds;
mod effects;
mod game;
mod kinds;
mod luck;
mod memory;
mod player;
mod report;
mod rounds;
mod serve;
mod sight;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use args::{Args, Flag};
use rounds::Run;
use serve::Serve;

type Failure = Box<dyn Error + Send + Sync>;

const FLAGS: &[Flag] = &[
    Flag { name: "rounds", value: "N", help: "how often the room is killed (20)" },
    Flag { name: "clients", value: "N", help: "players (50)" },
    Flag { name: "seconds", value: "S", help: "from when all is well to the kill (random, 0.2 to 2)" },
    Flag { name: "seed", value: "N", help: "what players do, and when the room is killed (1)" },
    Flag {
        name: "store",
        value: "FILE",
        help: "where the room is kept (a file for this run, deleted if all is well)",
    },
    Flag { name: "json", value: "", help: "print the report as one JSON line" },
];

/// Given by this program to itself: be the server, for the nth time.
const SERVE_FLAGS: &[Flag] = &[
    Flag { name: "serve", value: "N", help: "" },
    Flag { name: "store", value: "FILE", help: "" },
    Flag { name: "side", value: "FILE", help: "" },
    Flag { name: "port", value: "N", help: "" },
    Flag { name: "clients", value: "N", help: "" },
];

fn main() -> ExitCode {
    let done = if std::env::args().any(|arg| arg == "--serve") { server() } else { crash() };
    done.unwrap_or_else(|error| {
        eprintln!("crash: {error}");
        ExitCode::from(2)
    })
}

fn server() -> Result<ExitCode, Failure> {
    let args = Args::of_process("", SERVE_FLAGS);
    let file = |name| args.text(name).map(Path::new).ok_or_else(|| format!("`--{name}` is missing"));
    let serve = Serve {
        store: file("store")?,
        side: file("side")?,
        port: args.number("port", 0, 1..=u16::MAX)?,
        clients: args.number("clients", 1, 1..=usize::MAX)?,
        run: args.number("serve", 1, 1..=u64::MAX)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve::serve(serve))?;
    Ok(ExitCode::SUCCESS)
}

fn crash() -> Result<ExitCode, Failure> {
    let args =
        Args::of_process("A room that is killed again and again, and must lose nothing and nobody.", FLAGS);
    let (store, own) = match args.text("store") {
        Some(store) => (PathBuf::from(store), false),
        None => (std::env::temp_dir().join(format!("room-crash-{}.db", std::process::id())), true),
    };
    if store.exists() {
        return Err(format!("`{}` is there already; name a file that is not", store.display()).into());
    }
    let run = Run {
        rounds: args.number("rounds", 20, 1..=100_000)?,
        clients: args.number("clients", 50, 1..=1000)?,
        seed: args.number("seed", 1, 0..=u64::MAX)?,
        gap_ms: args.text("seconds").map(milliseconds).transpose()?,
        side: beside(&store, "effects"),
        store: store.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(rounds::play(run))?;
    if args.has("json") {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{report}");
    }
    if report.is_good() && own {
        for end in ["", "-wal", "-shm", ".lock", ".effects"] {
            let mut file = store.clone().into_os_string();
            file.push(end);
            // Not each is always there.
            let _ = std::fs::remove_file(file);
        }
    } else {
        eprintln!("the room is in {}", store.display());
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A file of the same name with another ending behind it.
fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut file = store.as_os_str().to_owned();
    file.push(".");
    file.push(ending);
    PathBuf::from(file)
}

fn milliseconds(seconds: &str) -> Result<u64, String> {
    let number = seconds.parse::<f64>().ok().filter(|number| (0.01..=3600.0).contains(number));
    let number =
        number.ok_or_else(|| format!("`--seconds {seconds}`: must be a number from 0.01 to 3600"))?;
    Ok((number * 1000.0) as u64)
}

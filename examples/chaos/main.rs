//! Sessions on a bad network: a server, players, and between them a proxy that cuts, stalls, slows and delays.
//! In the end everything that was said must have been heard once and in order, and every copy must be right.
//!
//! ```text
//! cargo run --release --example chaos -- --clients 200 --seconds 30 --json
//! ```

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
mod args;
mod game;
mod player;
mod proxy;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use room::prelude::*;
use room::server::{Server, ServerHandle};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use args::{Args, Flag};
use game::{Forest, Heard, Tree};
use player::{Player, Tale};
use proxy::Proxy;

type Failure = Box<dyn Error + Send + Sync>;

const FLAGS: &[Flag] = &[
    Flag { name: "clients", value: "N", help: "players behind the bad network (200)" },
    Flag { name: "seconds", value: "S", help: "how long the network is bad (30)" },
    Flag { name: "seed", value: "N", help: "what befalls the links (1)" },
    Flag { name: "json", value: "", help: "print the report as one JSON line" },
];

const ROOM: &str = "forest";
/// How long everything may take to arrive once the network is good again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the room is asked what is under way.
const LOOK: Duration = Duration::from_millis(200);

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Report {
    clients: u64,
    seconds: u64,
    seed: u64,
    cuts: u64,
    drops: u64,
    resumes: u64,
    new_sessions: u64,
    events_sent: u64,
    events_lost: u64,
    events_twice: u64,
    events_out_of_order: u64,
    calls: u64,
    calls_lost: u64,
    calls_twice: u64,
    resume_bytes: f64,
    join_bytes: f64,
    mismatches: u64,
    merged_updates: u64,
    unacknowledged_bytes_max: usize,
    dropped_ticks: u64,
}

impl Report {
    /// What must not be.
    fn faults(&self) -> u64 {
        let events = self.events_lost + self.events_twice + self.events_out_of_order;
        events + self.calls_lost + self.calls_twice + self.mismatches
    }
}

fn main() -> ExitCode {
    let args = Args::of_process("Players on a bad network, and what their sessions make of it.", FLAGS);
    run(&args).unwrap_or_else(|error| {
        eprintln!("chaos: {error}");
        ExitCode::from(2)
    })
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    let clients = args.number("clients", 200, 1..=2000)?;
    let seconds = args.number("seconds", 30, 1..=86_400)?;
    let seed = args.number("seed", 1, 0..=u64::MAX)?;
    let json = args.has("json");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(chaos(clients, seconds, seed, json))?;
    let text = if json { serde_json::to_string(&report)? } else { serde_json::to_string_pretty(&report)? };
    println!("{text}");
    let small = report.resumes == 0 || report.resume_bytes * 10.0 <= report.join_bytes;
    Ok(if report.faults() == 0 && small { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn chaos(clients: u64, seconds: u64, seed: u64, json: bool) -> Result<Report, Failure> {
    let calm = Arc::new(AtomicBool::new(false));
    let shared = calm.clone();
    let server = Server::new(move |_: &str| Forest::new(shared.clone()))
        .port(0)
        .max_players(2 * clients as usize)
        .sockets_per_second(1_000_000)
        .start()
        .await?;
    let proxy = Proxy::start(server.local_addr(), seed).await?;
    let url = format!("ws://{}/rooms/{ROOM}", proxy.address);
    let (stop, stopping) = watch::channel(false);
    let mut playing = JoinSet::new();
    for number in 1..=clients {
        let player = Player::start(&url, number)?;
        playing.spawn(player.play(stopping.clone(), PATIENCE));
    }
    let most = watch_links(&server, seconds, json).await;
    calm.store(true, Ordering::Relaxed);
    proxy.calm();
    stop.send_replace(true);
    let mut players = playing.join_all().await;
    // The last change of the forest has long been sent; this lets it arrive.
    sleep(Duration::from_secs(2)).await;
    let look = |forest: &Forest, room: &Room<Forest>| {
        let trees: Vec<(Id<Tree>, Tree)> = room.all::<Tree>().map(|(id, tree)| (id, tree.clone())).collect();
        (forest.heard.clone(), trees, room.stats().merged)
    };
    let (heard, trees, merged) = server.inspect(ROOM, look).await.ok_or("the room is gone")?;
    let trees = Arc::new(trees);
    let mut report = Report {
        clients,
        seconds,
        seed,
        cuts: proxy.cuts(),
        merged_updates: merged,
        unacknowledged_bytes_max: most,
        dropped_ticks: server.stats(ROOM).await.map_or(0, |stats| stats.dropped_ticks),
        ..Report::default()
    };
    let mut bytes = (Vec::new(), Vec::new());
    for player in &mut players {
        player.client.update(std::time::Instant::now());
        report.mismatches += player.mismatches(&trees) as u64;
        let tale = player.told();
        bytes.0.extend(&tale.resume_bytes);
        bytes.1.extend(tale.join_bytes.filter(|bytes| *bytes > 0));
        report.add(&tale, &heard);
    }
    (report.resume_bytes, report.join_bytes) = (mean(&bytes.0), mean(&bytes.1));
    drop(players);
    server.shutdown().await;
    Ok(report)
}

/// Looks at the room while the network is bad; returns the most bytes that were under way to one player.
async fn watch_links(server: &ServerHandle<Forest>, seconds: u64, json: bool) -> usize {
    let began = Instant::now();
    let (mut most, mut told) = (0, 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        sleep(LOOK).await;
        let look = |_: &Forest, room: &Room<Forest>| {
            let under_way = room.connections().map(|conn| room.unacknowledged_bytes(conn.id()));
            (under_way.max().unwrap_or(0), room.players(), room.sessions())
        };
        let Some((now, players, sessions)) = server.inspect(ROOM, look).await else { continue };
        most = most.max(now);
        let second = began.elapsed().as_secs();
        if !json && second >= told + 5 {
            told = second;
            eprintln!("{second} of {seconds} s: {players} connected, {} held", sessions - players);
        }
    }
    most
}

impl Report {
    fn add(&mut self, tale: &Tale, heard: &BTreeMap<u64, Heard>) {
        self.drops += tale.drops;
        self.resumes += tale.resumes;
        self.new_sessions += tale.lives.len() as u64 - 1;
        for (index, life) in tale.lives.iter().enumerate() {
            let heard = heard.get(&life.number).copied().unwrap_or_default();
            let goes_on = index + 1 == tale.lives.len();
            self.events_sent += life.words + life.answers;
            self.calls += life.calls;
            self.events_lost += (life.words - life.undelivered_words).saturating_sub(heard.words);
            self.calls_lost += (life.calls - life.undelivered_calls).saturating_sub(heard.calls);
            if goes_on {
                self.events_lost += heard.words.saturating_sub(life.answers);
                self.calls_lost += life.calls.saturating_sub(life.results) + life.refused;
            }
            self.events_twice += heard.twice + life.twice;
            self.events_out_of_order += heard.out_of_order + life.out_of_order;
            self.calls_twice += heard.calls_twice + life.results.saturating_sub(life.calls);
        }
    }
}

fn mean(values: &[u64]) -> f64 {
    let sum: u64 = values.iter().sum();
    if values.is_empty() { 0.0 } else { (10 * sum / values.len() as u64) as f64 / 10.0 }
}

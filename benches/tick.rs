//! What a tick costs: `cargo bench --bench tick`. Prints one line a measurement; with `--json` the ticks alone, for charts.
//!
//! The crowd: 20,000 entities that all move by at most 0.5 units a tick in a square of 1,414 units, 1,000
//! connections, range 80, cells of 40, coordinates in steps of 0.01. Beside it, in the same run and on the same
//! buffers, the floor: the same records copied one by one from known lists.

#[path = "tick/world.rs"]
mod world;

use std::hint::black_box;
use std::time::{Duration, Instant};

use room::prelude::*;
use room::room::runtime::Runtime;
use room::server::Threads;
use room::wire::deflate::Compressor;
use world::{Client, Crowd, Mover, Plain, Quantized, Rng, Rule, Static, Terrain};

const SIDE: f64 = 1414.0;
const ROUNDS: usize = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too: a few rounds show that it works.
    let rounds = if arguments.iter().any(|arg| arg == "--bench") { ROUNDS } else { 2 };
    let json = arguments.iter().any(|arg| arg == "--json");
    // Any other word picks the measurements whose names have it.
    let only: Vec<&String> = arguments.iter().filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
    if wanted("quantized crowd") {
        crowd::<Quantized>("crowd, steps of 0.01", rounds, 1, json);
    }
    if wanted("plain crowd") {
        crowd::<Plain>("crowd, two f32", rounds, 1, json);
    }
    if wanted("threads") {
        crowd::<Quantized>("crowd on two threads", rounds, 2, json);
    }
    if wanted("pairs") && !json {
        pairs(rounds);
    }
    for entities in [1_000, 10_000, 100_000] {
        if wanted("idle") {
            idle(entities, rounds, json);
        }
    }
    if wanted("burst") && !json {
        burst();
    }
    if wanted("levels") && !json {
        levels();
    }
}

/// One tick, by itself, so that profilers can be told to look at nothing else.
#[inline(never)]
fn measured<G: Game>(runtime: &mut Runtime<G>) -> Duration {
    let start = Instant::now();
    runtime.tick(Duration::ZERO);
    start.elapsed()
}

/// The median, in milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// A line for the chart of ticks, in milliseconds.
fn line(name: &str, tick: f64, floor: Option<f64>) {
    let floor = floor.map_or(String::new(), |floor| format!(r#","floor_us":{:.1}"#, floor * 1e3));
    println!(r#"{{"name":"{name}","tick_us":{:.1}{floor}}}"#, tick * 1e3);
}

fn crowd<K: Mover>(name: &str, rounds: usize, threads: usize, json: bool) {
    let (entities, connections) = (20_000, 1_000);
    let mut world = Crowd::<K>::new(entities, connections, SIDE);
    if threads > 1 {
        world.runtime.set_workers(Box::new(Threads::new(threads).expect("threads start")));
    }
    world.tick();
    let mut rng = Rng(7);
    let (mut ticks, mut drains, mut floors, mut copies, mut encodes) =
        (vec![], vec![], vec![], vec![], vec![]);
    let (mut bytes, mut visible) = (0, 0);
    let mut floor = world::Floor::default();
    for round in 0..rounds + 3 {
        world.move_all(&mut rng, 0.5, SIDE);
        if round < 3 {
            // Warms the buffers up.
            world.runtime.tick(Duration::ZERO);
        } else {
            ticks.push(measured(&mut world.runtime));
        }
        let start = Instant::now();
        bytes = world.drain();
        drains.push(start.elapsed());
        // Working out the floor's lists takes longer than many ticks, and empties the caches: once in a while.
        if round % 10 == 0 {
            visible = floor.learn(&world);
            floor.copy_one_by_one();
            floors.extend((0..10).map(|_| floor.copy_one_by_one()));
            copies.extend((0..10).map(|_| floor.copy_whole()));
            encodes.push(world.encode_alone());
        }
        world.acknowledge();
    }
    let (tick, floor_ms) = (median(&mut ticks), median(&mut floors));
    if json {
        return line(name, tick, Some(floor_ms));
    }
    println!(
        "{name}: {entities} entities, {connections} connections, {:.0} visible each",
        visible as f64 / 1e3
    );
    println!("  tick            {tick:8.3} ms   {:5.1} ns a visible change", tick * 1e6 / visible as f64);
    println!(
        "  floor           {floor_ms:8.3} ms   {:5.1} ns a visible change",
        floor_ms * 1e6 / visible as f64
    );
    println!("  plain memcpy    {:8.3} ms", median(&mut copies));
    println!(
        "  encode alone    {:8.3} ms   {:5.1} ns an entity",
        median(&mut encodes),
        median(&mut encodes) * 50.0
    );
    println!("  drain to slices {:8.3} ms", median(&mut drains));
    println!("  tick / floor    {:8.2}", tick / floor_ms);
    println!("  bytes           {:8.2} a visible change", bytes as f64 / visible as f64);
}

fn idle(entities: usize, rounds: usize, json: bool) {
    let connections = 1_000;
    let mut world = Crowd::<Static>::new(entities, connections, SIDE);
    for _ in 0..4 {
        world.tick();
    }
    let mut ticks = Vec::new();
    for _ in 0..rounds * 5 {
        ticks.push(measured(&mut world.runtime));
        assert_eq!(world.drain(), 0, "an idle room sends nothing");
    }
    let tick = median(&mut ticks);
    if json {
        return line(&format!("idle, {entities} entities"), tick, None);
    }
    println!(
        "idle, {entities} static entities: {tick:8.4} ms   {:5.3} us a connection",
        tick * 1e3 / connections as f64
    );
}

/// What each level makes of the terrain's chunks, each compressed by itself.
fn levels() {
    let chunks: Vec<Vec<u8>> = Terrain::chunks().into_iter().map(|(_, blocks)| blocks).collect();
    let plain: usize = chunks.iter().map(Vec::len).sum();
    let mut compressor = Compressor::new();
    for level in 1..=9 {
        let (mut times, mut packed) = (vec![], vec![]);
        for _ in 0..5 {
            packed.clear();
            let start = Instant::now();
            chunks.iter().for_each(|chunk| compressor.piece(level, chunk, &mut packed));
            times.push(start.elapsed());
        }
        let each = median(&mut times) * 1e3 / chunks.len() as f64;
        println!(
            "level {level}: {each:6.1} us a chunk, {:5.1} times smaller",
            plain as f64 / packed.len() as f64
        );
    }
}

/// What a rule that is asked for each pair costs in a world at rest, closure and all; the closures do nothing.
fn pairs(rounds: usize) {
    let (entities, connections) = (20_000, 500);
    let mut idle = None;
    for (name, rule) in [
        ("plain grid", Rule::Grid),
        ("sees", Rule::Sees),
        ("priority", Rule::Limit),
        ("priority, half kept", Rule::Half(96)),
    ] {
        let mut world = Crowd::<Static>::with(entities, connections, SIDE, rule);
        (0..4).for_each(|_| world.tick());
        let visible = world::Floor::default().learn(&world) as f64;
        let mut ticks = Vec::new();
        for _ in 0..rounds * 2 {
            ticks.push(measured(&mut world.runtime));
            world.drain();
        }
        let tick = median(&mut ticks) * 1e6;
        let above = tick - *idle.get_or_insert(tick);
        println!("at rest, {name}: {:.1} ns a pair", above / visible);
    }
}

/// 500 connections enter the same 125 chunks in one tick, with nothing compressed before.
fn burst() {
    let connections = 500;
    let (mut runtime, chunks) = Terrain::runtime(connections);
    runtime.tick(Duration::ZERO);
    let mut clients = Client::drain(&mut runtime);
    let plain = chunks * (4096 + 16);
    Terrain::let_in(&mut runtime);
    let start = Instant::now();
    runtime.tick(Duration::ZERO);
    let took = start.elapsed().as_secs_f64() * 1e3;
    let sent: usize = Client::drain(&mut runtime).values().sum();
    clients.clear();
    println!(
        "burst: {connections} connections enter {chunks} chunks: {took:.1} ms, {:.1} us a connection, {:.1} KiB each, {:.1} times smaller",
        took * 1e3 / connections as f64,
        sent as f64 / connections as f64 / 1024.0,
        (plain * connections) as f64 / sent as f64,
    );
    black_box(sent);
    let _: Option<EntityId> = None;
}

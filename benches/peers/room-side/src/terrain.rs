//! The join burst: 500 connections enter the same 125 chunks in one tick, with nothing compressed before.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use room::prelude::*;
use room::room::runtime::{Outgoing, Runtime, Settings};
use room::wire::message::tag;
use room_client::Replica;
use serde_json::json;
use world::terrain::{CONNECTIONS, Chunk, RADIUS, chunks};
use world::{peak_rss_mb, sample, stop_with};

use crate::crowd::{acknowledge, join};

/// The level that each connection's own compression is given.
const LEVEL: u32 = 6;

/// Of how many connections the compression of each is measured. The others would take as long.
const COMPRESSED: usize = 20;

/// A chunk of blocks.
#[derive(Entity, Clone, Debug)]
struct Blocks {
    x: i16,
    y: i16,
    z: i16,
    blocks: Bytes,
}

struct Land {
    open: bool,
}

impl Game for Land {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Blocks>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid::<Self>(16.0)
            .kind(|chunk: &Blocks| [chunk.x, chunk.y, chunk.z].map(|c| f64::from(c) * 16.0))
            .around(|room, _| room.game.open.then_some([0.0; 3]))
            .radius(RADIUS as u16)
            .into()
    }
}

/// Measures it and prints one line.
pub fn burst() {
    let chunks = chunks();
    let cap = 1 << 20;
    let settings = Settings { seats: CONNECTIONS, update_cap: cap, window: cap, ..Settings::default() };
    let mut runtime =
        Runtime::new(Land { open: false }, settings, [1; 32]).expect("the settings are in range");
    for Chunk { at, blocks } in &chunks {
        let [x, y, z] = at.map(|c| c as i16);
        let chunk = Blocks { x, y, z, blocks: Bytes::from(&blocks[..]) };
        runtime.parts_mut().1.create(chunk).expect("an ID is free");
    }
    join(&mut runtime, CONNECTIONS);
    let mut replicas = Replicas::new();
    runtime.tick(Duration::from_millis(50));
    replicas.take(&mut runtime);
    acknowledge(&mut runtime, CONNECTIONS, Duration::from_millis(50));
    runtime.parts_mut().0.open = true;

    let start = Instant::now();
    runtime.tick(Duration::from_millis(100));
    let took = start.elapsed();
    let drained = Instant::now();
    let mut bytes = replicas.take(&mut runtime);
    // Copying the sample's bytes is in it.
    let took = took + drained.elapsed();
    replicas.apply();
    // A window of 64 KiB holds the rest back at most.
    let mut ticks = 1;
    while replicas.held() < chunks.len() && ticks < 100 {
        let now = Duration::from_millis(100 + 50 * ticks);
        acknowledge(&mut runtime, CONNECTIONS, now);
        runtime.tick(now);
        bytes += replicas.take(&mut runtime);
        replicas.apply();
        ticks += 1;
    }
    let checked = replicas.check(&chunks);
    let (each, each_bytes) = compress_for_each(&chunks);
    println!(
        "{}",
        json!({
            "tick_us": took.as_secs_f64() * 1e6,
            "tick_p99_us": took.as_secs_f64() * 1e6,
            "bytes_per_client": bytes as f64 / CONNECTIONS as f64,
            "rss_mb": peak_rss_mb(),
            "checked": checked,
            "visible": chunks.len(),
            "crossings": chunks.len(),
            "ticks": ticks,
            "settings": "in process; one thread; cap and window 1 MiB; nothing compressed before",
            "compress_each_us": each.as_secs_f64() * 1e6 / COMPRESSED as f64 * CONNECTIONS as f64,
            "compress_each_bytes_per_client": each_bytes,
        })
    );
}

/// The floor to beat: what each connection sees, compressed for it alone.
fn compress_for_each(chunks: &[Chunk]) -> (Duration, usize) {
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..COMPRESSED {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
        for chunk in chunks {
            let at = chunk.at.map(|c| c as i8 as u8);
            encoder.write_all(&at).and_then(|()| encoder.write_all(&chunk.blocks)).expect("memory takes it");
        }
        bytes = encoder.finish().expect("memory takes it").len();
    }
    (start.elapsed(), bytes)
}

struct Replicas {
    all: Vec<(usize, Replica)>,
    inbox: Vec<(usize, Vec<u8>)>,
}

impl Replicas {
    fn new() -> Replicas {
        let sampled = sample(CONNECTIONS).into_iter();
        let all = sampled.map(|connection| (connection, Replica::new(&Land::schema()))).collect();
        Replicas { all, inbox: Vec::new() }
    }

    /// Takes every message; returns the bytes of updates.
    fn take(&mut self, runtime: &mut Runtime<Land>) -> u64 {
        let mut bytes = 0;
        while let Some(transmit) = runtime.poll_transmit() {
            let Outgoing::Message(message) = transmit.outgoing else { continue };
            if message[0] != tag::UPDATE {
                continue;
            }
            bytes += message.len() as u64;
            let whose = transmit.conn.0 as usize;
            if self.all.iter().any(|(connection, _)| *connection == whose) {
                self.inbox.push((whose, message[1..].to_vec()));
            }
        }
        bytes
    }

    /// Decodes what was taken.
    fn apply(&mut self) {
        for (whose, part) in self.inbox.drain(..) {
            if let Some((_, replica)) = self.all.iter_mut().find(|(connection, _)| *connection == whose) {
                replica.handle_part(&part).expect("the room's updates apply");
            }
        }
    }

    /// The fewest chunks that one of them holds.
    fn held(&self) -> usize {
        self.all.iter().map(|(_, replica)| replica.len()).min().unwrap_or_default()
    }

    fn check(&self, chunks: &[Chunk]) -> usize {
        for (connection, replica) in &self.all {
            let mut held: Vec<([i32; 3], &[u8])> = replica
                .all::<Blocks>()
                .map(|(_, chunk)| ([chunk.x, chunk.y, chunk.z].map(i32::from), &chunk.blocks[..]))
                .collect();
            held.sort_unstable();
            let mut should: Vec<_> = chunks.iter().map(|chunk| (chunk.at, &chunk.blocks[..])).collect();
            should.sort_unstable();
            if held != should {
                stop_with(&format!("connection {connection} does not hold the chunks that it should"));
            }
        }
        self.all.len()
    }
}

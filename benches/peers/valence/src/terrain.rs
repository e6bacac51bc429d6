//! The join burst. A chunk of the world is a section here: 25 columns of five sections.

use valence::client::VisibleEntityLayers;
use valence::prelude::*;
use valence::protocol::packets::play::ChunkDataS2c;
use valence::protocol::{Packet, PacketDecoder};
use world::terrain::{CONNECTIONS, RADIUS, chunks};
use world::{peak_rss_mb, sample, stop_with};

use crate::client::Link;
use crate::palette;
use crate::server::{self, Times};

/// Packets of so many bytes and more are compressed, as its own servers do.
const THRESHOLD: u32 = 256;

/// Where no chunks are.
const NOWHERE: f64 = 8000.0;

/// Measures it and prints one line.
pub fn burst() {
    let mut app = server::app(Some(THRESHOLD));
    let layer = server::layer(&mut app);
    let mut columns: Vec<(ChunkPos, UnloadedChunk)> = (-RADIUS..=RADIUS)
        .flat_map(|x| (-RADIUS..=RADIUS).map(move |z| ChunkPos::new(x, z)))
        .map(|pos| (pos, UnloadedChunk::with_height(384)))
        .collect();
    let chunks = chunks();
    for chunk in &chunks {
        let [cx, cy, cz] = chunk.at;
        let (_, column) =
            columns.iter_mut().find(|(pos, _)| (pos.x, pos.z) == (cx, cz)).expect("all columns are there");
        for (i, block) in chunk.blocks.iter().enumerate() {
            let (x, z, y) = (i as u32 % 16, i as u32 / 16 % 16, i as u32 / 256);
            let bottom = ((cy + RADIUS) * 16) as u32;
            // Another block for each, as in the palette; block 1 and on are solid.
            let state = BlockState::from_raw(u16::from(*block)).expect("there are more states");
            column.set_block_state(x, bottom + y, z, state);
        }
    }
    let mut layers = app.world.get_mut::<ChunkLayer>(layer).expect("it is one");
    for (pos, column) in columns {
        layers.insert_chunk(pos, column);
    }
    app.update();

    // They join where there is nothing, so that what a player is told at the join is not measured.
    let links: Vec<Link> = (0..CONNECTIONS).map(|_| Link::default()).collect();
    for link in &links {
        let player = server::player(&mut app, layer, link.clone(), DVec3::splat(NOWHERE), RADIUS as u8);
        app.world.get_mut::<VisibleEntityLayers>(player).expect("it is one").0.clear();
    }
    app.update();
    for link in &links {
        link.take();
        link.confirm_teleport();
    }
    app.update();
    for link in &links {
        link.take();
        link.say_moved(DVec3::splat(8.0));
    }
    app.update();
    let took = app.world.resource::<Times>().send();
    let bytes: u64 = links.iter().map(Link::waiting).sum();

    let sampled = sample(CONNECTIONS);
    for connection in &sampled {
        let mut decoder = PacketDecoder::new();
        decoder.set_compression(Some(THRESHOLD));
        decoder.queue_bytes(links[*connection].take());
        let mut held = 0;
        while let Some(frame) = decoder.try_next_packet().expect("the server's packets decode") {
            if frame.id == ChunkDataS2c::ID {
                let packet: ChunkDataS2c<'_> = frame.decode().expect("it decodes");
                let sections = palette::sections(packet.blocks_and_biomes).expect("they decode");
                let own =
                    chunks.iter().filter(|chunk| (chunk.at[0], chunk.at[2]) == (packet.pos.x, packet.pos.z));
                held += own.filter(|chunk| same(chunk, &sections)).count();
            }
        }
        if held != chunks.len() {
            stop_with(&format!("connection {connection} holds {held} chunks of {}", chunks.len()));
        }
    }
    println!(
        "{}",
        serde_json::json!({
            "tick_us": took.as_secs_f64() * 1e6,
            "tick_p99_us": took.as_secs_f64() * 1e6,
            "bytes_per_client": bytes as f64 / CONNECTIONS as f64,
            "rss_mb": peak_rss_mb(),
            "checked": sampled.len(),
            "visible": chunks.len(),
            "crossings": chunks.len(),
            "ticks": 1,
            "settings": "each column of five chunks is encoded and compressed once, at level 4; client ends decode \
                         every block",
        })
    );
}

/// Whether a section is what its chunk says.
fn same(chunk: &world::terrain::Chunk, sections: &[Vec<u64>]) -> bool {
    let section = &sections[(chunk.at[1] + RADIUS) as usize];
    section.iter().copied().eq(chunk.blocks.iter().map(|block| u64::from(*block)))
}

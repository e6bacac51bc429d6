//! Walking back and forth over a border of chunks, with and without what clients keep.

use std::io::Read;

use room::prelude::*;
use room::runtime::{Identity, Settings};

use super::link::Link;

/// Blocks along a side of a chunk, and in one.
const SIDE: f64 = 16.0;
const VOLUME: usize = 4096;

/// How often she crosses the border.
const CROSSINGS: usize = 100;

#[derive(Entity, Clone, Debug, PartialEq)]
struct Chunk {
    cx: i16,
    cy: i16,
    cz: i16,
    blocks: Bytes,
}

/// The terrain of the voxel example.
struct Terrain {
    retain: usize,
}

impl Game for Terrain {
    type Event = ();
    type Scratch = f64;

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Chunk>()
    }

    fn interest(&self) -> Visibility<Self> {
        let middle = |c: i16| (f64::from(c) + 0.5) * SIDE;
        grid::<Self>(SIDE)
            .kind(move |chunk: &Chunk| [chunk.cx, chunk.cy, chunk.cz].map(middle))
            .around(|_, conn| Some([conn.scratch, 8.0, 8.0]))
            .radius(3)
            .retain(self.retain)
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        let packed: &[u8] = include_bytes!("../../examples/voxel/terrain/chunks.bin.gz");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("the terrain is whole");
        for record in bytes.chunks_exact(12 + VOLUME) {
            let at = |i: usize| i32::from_le_bytes(record[i..i + 4].try_into().expect("four")) as i16;
            let blocks = Bytes::from(&record[12..]);
            let chunk = Chunk { cx: at(0), cy: at(4), cz: at(8), blocks };
            room.create_with_id(id_of(&chunk), chunk).expect("no chunk comes twice");
        }
    }
}

/// As the voxel example has it: five bytes on the wire.
fn id_of(chunk: &Chunk) -> u64 {
    let axes = [chunk.cx, chunk.cy, chunk.cz].map(|c| u64::from((c << 1 ^ c >> 15) as u16));
    (0..42).fold(1 << 32, |id, bit| id + ((axes[bit % 3] >> (bit / 3) & 1) << bit))
}

/// Bytes of all crossings; digs a block of each chunk in view between them where that is wanted.
fn walk(retain: usize, dig: bool) -> usize {
    let settings = Settings { update_cap: 1 << 20, window: 1 << 20, ..Settings::default() };
    let mut link = Link::new(Terrain { retain }, settings);
    let conn = link.open(Identity::guest());
    link.ticks(10);
    let before = link.client(conn).bytes;
    for n in 0..CROSSINGS {
        link.edit(|room| {
            room.connection_mut(conn).expect("it joined").scratch = if n % 2 == 0 { -4.0 } else { 4.0 };
            if dig {
                let all: Vec<_> = room.all::<Chunk>().map(|(id, _)| id).collect();
                let mut chunk = room.get_mut(all[n * 31 % all.len()]).expect("it lives");
                chunk.patch_blocks(n, &[n as u8]).expect("it fits");
            }
        });
        link.tick();
        let (room, replica) = (link.room.room(), link.replica(conn));
        assert!(room.is_drained(conn));
        let far = if n % 2 == 0 { -4 } else { -3 };
        let near = |chunk: &Chunk| {
            (far..far + 7).contains(&chunk.cx) && (-3..4).contains(&chunk.cy) && (-3..4).contains(&chunk.cz)
        };
        assert!(room.all::<Chunk>().filter(|(_, chunk)| near(chunk)).eq(replica.all::<Chunk>()));
    }
    link.client(conn).bytes - before
}

#[test]
fn crossing_a_border_of_chunks_a_hundred_times_costs_a_twentieth_where_clients_keep_them() {
    let (without, with) = (walk(0, false), walk(1000, false));
    println!("{with} of {without} bytes");
    assert!(with * 20 <= without, "{with} bytes with, {without} without");
}

#[test]
fn what_changes_out_of_sight_comes_with_the_return() {
    let (without, with) = (walk(0, true), walk(1000, true));
    assert!(with * 10 <= without, "{with} bytes with, {without} without");
}

//! The join burst: many connections enter the same chunks of real terrain at once.

use std::io::Read;

/// How many join.
pub const CONNECTIONS: usize = 500;

/// How far they see, in chunks along each axis: 125 chunks.
pub const RADIUS: i32 = 2;

/// A chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Where it is, in chunks.
    pub at: [i32; 3],
    /// 16 × 16 × 16 blocks, a byte each.
    pub blocks: Vec<u8>,
}

/// The chunks around the middle.
pub fn chunks() -> Vec<Chunk> {
    let packed: &[u8] = include_bytes!("../../../../examples/voxel/terrain/chunks.bin.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("the terrain is whole");
    let mut all: Vec<Chunk> = bytes
        .chunks_exact(12 + 4096)
        .map(|record| Chunk {
            at: [0, 4, 8].map(|i| i32::from_le_bytes(record[i..i + 4].try_into().expect("four bytes"))),
            blocks: record[12..].to_vec(),
        })
        .collect();
    all.retain(|chunk| chunk.at.iter().all(|c| c.abs() <= RADIUS));
    all
}

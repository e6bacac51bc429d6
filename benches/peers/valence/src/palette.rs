//! Decodes the blocks of a chunk packet, to see that they are what they should be.

use valence::protocol::{Decode, VarInt};

/// Blocks of a section.
const BLOCKS: usize = 4096;

/// Biomes of a section.
const BIOMES: usize = 64;

/// Entries of more bits than this are no indexes into a palette.
const PALETTE_BITS: u32 = 8;

/// The block states of each section from the lowest on.
pub fn sections(mut bytes: &[u8]) -> Option<Vec<Vec<u64>>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        // How many are not air.
        bytes = bytes.get(2..)?;
        all.push(container(&mut bytes, BLOCKS)?);
        container(&mut bytes, BIOMES)?;
    }
    Some(all)
}

fn container(bytes: &mut &[u8], many: usize) -> Option<Vec<u64>> {
    let bits = u32::from(u8::decode(bytes).ok()?);
    let mut number = || VarInt::decode(bytes).ok().map(|number| number.0 as u64);
    let palette = match bits {
        0 => vec![number()?],
        1..=PALETTE_BITS => (0..number()?).map(|_| number()).collect::<Option<_>>()?,
        _ => Vec::new(),
    };
    let words = number()?;
    let words = (0..words).map(|_| u64::decode(bytes).ok()).collect::<Option<Vec<u64>>>()?;
    if bits == 0 {
        return Some(vec![palette[0]; many]);
    }
    let each = (u64::BITS / bits) as usize;
    let entries = (0..many).map(|i| {
        let entry = words.get(i / each)? >> (bits as usize * (i % each)) & ((1 << bits) - 1);
        if palette.is_empty() { Some(entry) } else { palette.get(entry as usize).copied() }
    });
    entries.collect()
}

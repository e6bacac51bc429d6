//! Small damage to messages, from a seed.

/// SplitMix64: enough randomness for damage, and the same on every platform.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Bytes at which decoders turn: ends of ranges, and heads of lengths and lists.
const TURNS: [u8; 20] = [
    0x00, 0x01, 0x7f, 0x80, 0x81, 0x82, 0x8f, 0x90, 0x9f, 0xa0, 0xc0, 0xc1, 0xc6, 0xc9, 0xd9, 0xdb, 0xdc,
    0xdd, 0xdf, 0xff,
];

/// Puts `original` with one to four damages, some of them pieces of `other`, into `out`.
pub(crate) fn mutate(rng: &mut Rng, original: &[u8], other: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(original);
    for _ in 0..=rng.below(4) {
        let at = near_the_front(rng, out.len());
        match rng.below(9) {
            0 if !out.is_empty() => out[at] ^= 1 << rng.below(8),
            1 if !out.is_empty() => out[at] = TURNS[rng.below(TURNS.len())],
            2 if !out.is_empty() => out[at] = rng.next() as u8,
            3 => out.truncate(at),
            4 => out.insert(at, TURNS[rng.below(TURNS.len())]),
            5 => {
                let end = (at + rng.below(9)).min(out.len());
                out.drain(at..end);
            }
            6 => {
                let end = (at + rng.below(17)).min(out.len());
                out.extend_from_within(at..end);
            }
            7 => {
                let from = near_the_front(rng, other.len());
                let to = (from + rng.below(33)).min(other.len());
                out.splice(at..at, other[from..to].iter().copied());
            }
            // A declared length or count far too large.
            _ => {
                let end = (at + 5).min(out.len());
                let large = rng.next() as u32 | 0x8000_0000;
                out.splice(
                    at..end,
                    [[0xdb, 0xdd, 0xff][rng.below(3)]].into_iter().chain(large.to_be_bytes()),
                );
            }
        }
    }
}

/// A place in `len` bytes; half the time among the first 32, where heads are.
fn near_the_front(rng: &mut Rng, len: usize) -> usize {
    let most = if rng.below(2) == 0 { len.min(32) } else { len };
    if most == 0 { 0 } else { rng.below(most) }
}

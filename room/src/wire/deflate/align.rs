//! The end of a piece: at a byte, in as few bits as there are.
//!
//! A flush ends at a byte by an empty stored block, 35 to 42 bits. Most pieces can end shorter. An empty block
//! of fixed codes takes 10 bits, and the description of the first block's codes can be padded by 3 bits where
//! it leaves out lengths that are 0 anyway. Some of each, or nothing at all, often come out at a byte.

/// Bits of an empty block of fixed codes: not the last, type 1, end of block.
const EMPTY_FIXED: (u64, usize) = (0b010, 10);
/// An empty stored block's lengths, after three bits and up to the next byte.
const EMPTY_STORED: [u8; 4] = [0x00, 0x00, 0xff, 0xff];
/// Where a dynamic block that begins a stream says how many code lengths follow: four bits, less 4.
const COUNT_AT: usize = 13;
const COUNT_BITS: usize = 4;
/// Bits of a code length, and how many there can be.
const LENGTH_BITS: usize = 3;
const LENGTHS_LESS_4: usize = 15;

/// How a piece is ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// Code lengths of 0 added to the first block, and empty blocks of fixed codes.
    Padded { lengths: usize, blocks: usize },
    /// An empty stored block.
    Stored,
}

/// Appends to `out` a piece out of `flushed`: blocks, then what a partial flush (one empty block of fixed codes)
/// and a full one leave behind. `one_block` promises that the data is in a single block.
pub(super) fn end_piece(flushed: &[u8], one_block: bool, out: &mut Vec<u8>) {
    let data = flushed.strip_suffix(&EMPTY_STORED).expect("a flush ends with an empty stored block");
    let end = data_bits(data);
    let ending = shortest(end, if one_block { spare_lengths(data) } else { 0 });
    let mut bits = BitWriter { out, held: 0, count: 0 };
    match ending {
        Ending::Padded { lengths, blocks } => {
            if lengths == 0 {
                bits.copy(data, 0, end);
            } else {
                let count = read(data, COUNT_AT, COUNT_BITS);
                let lengths_at = COUNT_AT + COUNT_BITS;
                let lengths_end = lengths_at + LENGTH_BITS * (count as usize + 4);
                bits.copy(data, 0, COUNT_AT);
                bits.put(count + lengths as u64, COUNT_BITS);
                bits.copy(data, lengths_at, lengths_end);
                bits.put(0, LENGTH_BITS * lengths);
                bits.copy(data, lengths_end, end);
            }
            for _ in 0..blocks {
                bits.put(EMPTY_FIXED.0, EMPTY_FIXED.1);
            }
            debug_assert_eq!(bits.count, 0, "the ending was chosen to end at a byte");
        }
        Ending::Stored => {
            bits.copy(data, 0, end);
            bits.put(0, 3);
            bits.put(0, (8 - bits.count) % 8);
            bits.out.extend_from_slice(&EMPTY_STORED);
        }
    }
}

/// Bits before the empty block of fixed codes. Its type is the last bit that is set, after one that is not.
fn data_bits(data: &[u8]) -> usize {
    let last = data.iter().rposition(|byte| *byte != 0).expect("a partial flush sets a bit");
    last * 8 + 7 - data[last].leading_zeros() as usize - 1
}

/// How many code lengths the first block can add to its description; 0 where its codes are not its own.
fn spare_lengths(data: &[u8]) -> usize {
    const DYNAMIC: u64 = 2;
    if read(data, 1, 2) != DYNAMIC {
        return 0;
    }
    LENGTHS_LESS_4 - read(data, COUNT_AT, COUNT_BITS) as usize
}

/// The ending with the fewest bits for data of `end` bits.
fn shortest(end: usize, spare_lengths: usize) -> Ending {
    let mut best = (3 + 32 + (16 - (end + 3) % 8) % 8, Ending::Stored);
    for lengths in 0..=spare_lengths {
        for blocks in 0..4 {
            let bits = LENGTH_BITS * lengths + EMPTY_FIXED.1 * blocks;
            if (end + bits).is_multiple_of(8) && bits < best.0 {
                best = (bits, Ending::Padded { lengths, blocks });
            }
        }
    }
    best.1
}

/// The `n` bits from bit `at`, at most 8, lowest first. Bits past the end are 0.
fn read(data: &[u8], at: usize, n: usize) -> u64 {
    let low = data.get(at / 8).copied().unwrap_or(0);
    let high = data.get(at / 8 + 1).copied().unwrap_or(0);
    u64::from(u16::from_le_bytes([low, high]) >> (at % 8)) & ((1 << n) - 1)
}

/// Appends bits, lowest first.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    // Invariant: below 8 between calls.
    count: usize,
}

impl BitWriter<'_> {
    /// Appends `n` bits, at most 45.
    fn put(&mut self, bits: u64, n: usize) {
        self.held |= bits << self.count;
        self.count += n;
        while self.count >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Appends the bits `from..to` of `data`.
    fn copy(&mut self, data: &[u8], mut from: usize, to: usize) {
        if self.count == 0 && from.is_multiple_of(8) {
            let whole = to / 8 * 8;
            self.out.extend_from_slice(&data[from / 8..whole.max(from) / 8]);
            from = whole.max(from);
        }
        while from < to {
            let n = (to - from).min(8);
            self.put(read(data, from, n), n);
            from += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_ending_is_found() {
        let padded = |lengths, blocks| Ending::Padded { lengths, blocks };
        assert_eq!(shortest(16, 0), padded(0, 0));
        assert_eq!(shortest(14, 0), padded(0, 1));
        assert_eq!(shortest(13, 0), Ending::Stored);
        assert_eq!(shortest(13, 1), padded(1, 0));
        assert_eq!(shortest(10, 15), padded(2, 0));
        assert_eq!(shortest(15, 1), padded(1, 3));
        assert_eq!(shortest(15, 3), padded(3, 0));
    }

    #[test]
    fn bits_are_copied_from_and_to_any_place() {
        let data = [0b1011_0101, 0b1100_1010, 0b0011_1101];
        for from in 0..24 {
            for to in from..24 {
                for before in 0..8 {
                    let mut out = Vec::new();
                    let mut bits = BitWriter { out: &mut out, held: 0, count: 0 };
                    bits.put(0, before);
                    bits.copy(&data, from, to);
                    bits.put(0, (8 - bits.count) % 8);
                    for at in 0..to - from {
                        assert_eq!(read(&out, before + at, 1), read(&data, from + at, 1));
                    }
                    assert_eq!(out.len(), (before + to - from).div_ceil(8));
                }
            }
        }
    }
}

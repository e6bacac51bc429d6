//! Raw DEFLATE in pieces that can be joined in any order, and its inverse with a cap.
//!
//! A piece is compressed once, by itself, and ends at a byte without a final block. Any pieces one after
//! another, with stored bytes between them where needed, and [`finish`] make one valid stream.

mod align;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::DecodeError;
use crate::limits;

/// The most bytes of one stored block.
const STORED_MOST: usize = 65_535;
/// A flush needs this much room to end in one call: two calls would write its marker twice.
const FLUSH_ROOM: usize = 64;
/// Input up to this long is compressed as a single block: a block ends where its 16,383 symbols are full, and
/// a symbol stands for a byte at least.
const ONE_BLOCK: usize = 16_000;
/// The highest level.
const LEVEL_MOST: u32 = 9;

/// Makes pieces, reusing the compressor of each level (about 300 KiB each, made at the first use).
#[derive(Default)]
pub struct Compressor {
    levels: [Option<Compress>; LEVEL_MOST as usize + 1],
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// A compressor that has made nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Compressor::default()
    }

    /// Appends `plain` as a piece: the same bytes whatever was compressed before. Levels above 9 count as 9.
    pub fn piece(&mut self, level: u32, plain: &[u8], out: &mut Vec<u8>) {
        if plain.is_empty() {
            return;
        }
        let level = level.min(LEVEL_MOST);
        let deflate =
            self.levels[level as usize].get_or_insert_with(|| Compress::new(Compression::new(level), false));
        deflate.reset();
        self.scratch.clear();
        // Incompressible input grows by five bytes a stored block, or by an eighth in a fixed one.
        self.scratch.reserve(plain.len() + plain.len() / 7 + 2 * FLUSH_ROOM);
        flush(deflate, plain, FlushCompress::Partial, &mut self.scratch);
        flush(deflate, &[], FlushCompress::Full, &mut self.scratch);
        align::end_piece(&self.scratch, plain.len() <= ONE_BLOCK, out);
    }
}

/// Compresses all of `plain` and flushes it.
fn flush(deflate: &mut Compress, plain: &[u8], how: FlushCompress, out: &mut Vec<u8>) {
    let before = deflate.total_in();
    loop {
        let taken = (deflate.total_in() - before) as usize;
        let status = deflate.compress_vec(&plain[taken..], out, how);
        assert!(matches!(status, Ok(Status::Ok)), "compressing memory to memory does not fail: {status:?}");
        if deflate.total_in() - before == plain.len() as u64 && out.capacity() > out.len() {
            return;
        }
        out.reserve(plain.len() + FLUSH_ROOM);
    }
}

/// Appends `plain` uncompressed, in a form that can stand between pieces: five bytes more for each 65,535.
pub fn stored(plain: &[u8], out: &mut Vec<u8>) {
    for block in plain.chunks(STORED_MOST) {
        let len = block.len() as u16;
        out.push(0);
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(block);
    }
}

/// Ends a stream of pieces: an empty last block.
pub fn finish(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x03, 0x00]);
}

/// Inflates streams from outside, reusing its state (about 40 KiB).
#[derive(Debug)]
pub struct Inflater(Decompress);

impl Default for Inflater {
    fn default() -> Self {
        Inflater(Decompress::new(false))
    }
}

impl Inflater {
    /// An inflater that has read nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Inflater::default()
    }

    /// Appends what `compressed`, one whole stream, holds: exactly `plain_len` bytes, at most
    /// [`limits::PART`]. On an error `out` is as it was. No more than `plain_len` bytes are ever written,
    /// whatever the stream would yield.
    pub fn inflate(
        &mut self,
        compressed: &[u8],
        plain_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        if plain_len > limits::PART {
            return Err(DecodeError::TooLong);
        }
        let start = out.len();
        out.resize(start + plain_len, 0);
        self.0.reset(false);
        let status = self.0.decompress(compressed, &mut out[start..], FlushDecompress::Finish);
        let whole = matches!(status, Ok(Status::StreamEnd))
            && self.0.total_in() == compressed.len() as u64
            && self.0.total_out() == plain_len as u64;
        if !whole {
            out.truncate(start);
            return Err(DecodeError::Deflate);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Bytes that look like nothing, and bytes that repeat.
    fn samples() -> Vec<Vec<u8>> {
        let mut state = 1u32;
        let mut noise = |n: usize| -> Vec<u8> {
            (0..n)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect()
        };
        let mut samples = vec![b"a".to_vec(), vec![7; 4108], noise(1), noise(600), noise(61_440)];
        samples.push((0..5000u32).flat_map(|i| [(i / 300) as u8, 2, 2]).collect());
        samples
    }

    fn plain_reader(stream: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut reader = flate2::read::DeflateDecoder::new(stream);
        reader.read_to_end(&mut plain).unwrap();
        assert_eq!(reader.total_in(), stream.len() as u64);
        plain
    }

    #[test]
    fn pieces_join_in_any_order_into_one_stream() {
        let samples = samples();
        for level in 0..=9 {
            let mut compressor = Compressor::new();
            let pieces: Vec<_> = samples
                .iter()
                .map(|plain| {
                    let mut piece = Vec::new();
                    compressor.piece(level, plain, &mut piece);
                    piece
                })
                .collect();
            for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [4, 4, 1, 1, 0, 0]] {
                let (mut stream, mut plain) = (Vec::new(), Vec::new());
                for i in order {
                    stream.extend_from_slice(&pieces[i]);
                    plain.extend_from_slice(&samples[i]);
                    stored(&samples[i][..1], &mut stream);
                    plain.extend_from_slice(&samples[i][..1]);
                }
                finish(&mut stream);
                assert_eq!(plain_reader(&stream), plain, "level {level}");
            }
        }
    }

    #[test]
    fn pieces_of_every_length_and_texture_are_whole() {
        // Runs of random length from a few values end at every bit of a byte, and with all kinds of blocks.
        let mut state = 9u32;
        let mut next = move |end: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % end
        };
        let (mut compressor, mut inflater) = (Compressor::new(), Inflater::new());
        let (mut shorter, mut tried) = (0, 0);
        for i in 0..500 {
            let most = [40, 600, 5000, 17_000, 60_000][i % 5];
            let (values, run) = (1 + next(256), 1 + next(200));
            let len = 1 + next(most) as usize;
            let mut plain = Vec::new();
            while plain.len() < len {
                let value = next(values) as u8;
                plain.extend((0..1 + next(run)).map(|_| value));
            }
            plain.truncate(len);
            let mut stream = Vec::new();
            compressor.piece(1 + i as u32 % 9, &plain, &mut stream);
            tried += 1;
            shorter += usize::from(!stream.ends_with(&[0, 0, 0xff, 0xff]));
            compressor.piece(6, b"the next one", &mut stream);
            finish(&mut stream);
            plain.extend_from_slice(b"the next one");
            let mut out = Vec::new();
            if plain.len() <= limits::PART {
                assert_eq!(inflater.inflate(&stream, plain.len(), &mut out), Ok(()), "{i}");
                assert_eq!(out, plain, "{i}");
            }
            assert_eq!(plain_reader(&stream), plain, "{i}");
        }
        assert!(shorter * 2 > tried, "{shorter} of {tried} end without a stored block");
    }

    #[test]
    fn a_piece_is_the_same_whatever_came_before() {
        let samples = samples();
        let mut compressor = Compressor::new();
        for plain in samples.iter().chain(samples.iter().rev()) {
            let (mut reused, mut fresh) = (vec![9], vec![9]);
            compressor.piece(6, plain, &mut reused);
            compressor.piece(9, plain, &mut Vec::new());
            Compressor::new().piece(6, plain, &mut fresh);
            assert_eq!(reused, fresh);
        }
    }

    #[test]
    fn long_and_empty_input_is_stored_too() {
        let plain = vec![5; STORED_MOST * 2 + 1];
        let mut stream = Vec::new();
        stored(&plain, &mut stream);
        stored(&[], &mut stream);
        Compressor::new().piece(9, &[], &mut stream);
        assert_eq!(stream.len(), plain.len() + 15);
        finish(&mut stream);
        assert_eq!(plain_reader(&stream), plain);
    }

    #[test]
    fn inflating_takes_exactly_what_was_declared() {
        let plain: Vec<u8> = (0..50_000u32).map(|i| (i / 90) as u8).collect();
        let mut stream = Vec::new();
        let mut compressor = Compressor::new();
        for part in plain.chunks(7000) {
            compressor.piece(6, part, &mut stream);
        }
        let unfinished = stream.clone();
        finish(&mut stream);

        let mut inflater = Inflater::new();
        let mut out = vec![1];
        for declared in [0, 1, plain.len() - 1, plain.len() + 1, limits::PART] {
            assert_eq!(
                inflater.inflate(&stream, declared, &mut out),
                Err(DecodeError::Deflate),
                "{declared}"
            );
            assert_eq!(out, [1]);
        }
        assert_eq!(inflater.inflate(&stream, limits::PART + 1, &mut out), Err(DecodeError::TooLong));
        for n in 0..stream.len() {
            assert_eq!(
                inflater.inflate(&stream[..n], plain.len(), &mut out),
                Err(DecodeError::Deflate),
                "{n}"
            );
        }
        assert_eq!(inflater.inflate(&unfinished, plain.len(), &mut out), Err(DecodeError::Deflate));
        stream.push(0);
        assert_eq!(inflater.inflate(&stream, plain.len(), &mut out), Err(DecodeError::Deflate));
        stream.pop();
        inflater.inflate(&stream, plain.len(), &mut out).unwrap();
        assert_eq!(out[1..], plain);

        let mut empty = Vec::new();
        finish(&mut empty);
        assert_eq!(inflater.inflate(&empty, 0, &mut out), Ok(()));
        assert_eq!(inflater.inflate(&empty, 1, &mut out), Err(DecodeError::Deflate));
        assert_eq!(inflater.inflate(&[], 0, &mut out), Err(DecodeError::Deflate));
        assert_eq!(inflater.inflate(&[0xff; 20], 20, &mut out), Err(DecodeError::Deflate));
    }

    #[test]
    fn a_bomb_yields_no_more_than_it_declares() {
        let mut stream = Vec::new();
        Compressor::new().piece(9, &vec![0; 1_000_000], &mut stream);
        finish(&mut stream);
        let mut out = Vec::new();
        assert_eq!(Inflater::new().inflate(&stream, limits::PART, &mut out), Err(DecodeError::Deflate));
        assert!(out.is_empty() && out.capacity() <= limits::PART);
    }
}

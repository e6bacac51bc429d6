//! Terrain files: gzipped or plain chunk records, and the palette that names their bytes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use thiserror::Error;

use crate::blocks::{CHUNKS, Palette, SIDE, VOLUME};

/// The world that comes with the example.
const CHUNK_FILE: &[u8] = include_bytes!("terrain/chunks.bin.gz");
const PALETTE_FILE: &str = include_str!("terrain/palette.txt");

/// Bytes of a record: three coordinates and the blocks.
const RECORD: usize = 12 + VOLUME;
/// The most chunks of a world: 256 MiB of blocks.
const MOST_CHUNKS: usize = 65_536;

/// The most characters of a block's name, so that a whole palette fits in the room's state.
const NAME: usize = 60;

/// A world as it is loaded.
#[derive(Debug)]
pub struct Terrain {
    /// What the blocks are.
    pub palette: Palette,
    /// Coordinates and blocks, in the order of coordinates.
    pub chunks: Vec<([i32; 3], Vec<u8>)>,
}

/// Why a world cannot be loaded.
#[derive(Debug, Error)]
pub enum TerrainError {
    /// A file cannot be opened or read.
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: std::io::Error },
    /// The gzip stream is broken.
    #[error("the terrain's gzip stream is broken ({0}): give the whole file, or a plain one")]
    Gzip(std::io::Error),
    /// Too short, cut off, or another format.
    #[error(
        "the terrain has {0} bytes, which is not a whole number of {RECORD}-byte chunk records (cx, cy, cz as \
         little-endian i32, then {VOLUME} blocks)"
    )]
    Cut(usize),
    /// No chunk at all.
    #[error("the terrain has no chunks")]
    Empty,
    /// More than a room should hold.
    #[error("the terrain has more than {MOST_CHUNKS} chunks")]
    TooLarge,
    /// A coordinate that no position reaches.
    #[error("chunk {0:?}: coordinates must lie from {low} to {high}", low = -CHUNKS, high = CHUNKS - 1)]
    OutOfBounds([i32; 3]),
    /// The same place twice.
    #[error("chunk {0:?} is in the terrain twice")]
    Twice([i32; 3]),
    /// A byte without a name.
    #[error(
        "chunk {chunk:?} has block {block}, which the palette does not name: give the palette it was made with"
    )]
    Unnamed { chunk: [i32; 3], block: u8 },
    /// A line that is not `index name`.
    #[error(
        "line {line} of the palette is `{text}`: must be an index from 0 to 255, each once, and a name of at \
         most {NAME} letters, digits, `_`, `:`, `.` and `-`"
    )]
    PaletteLine { line: usize, text: String },
    /// Nothing to leave behind when digging.
    #[error("the palette has no `air`")]
    NoAir,
}

impl Terrain {
    /// The world that comes with the example.
    pub fn built_in() -> Result<Terrain, TerrainError> {
        Terrain::parse(CHUNK_FILE, PALETTE_FILE)
    }

    /// Loads a world from its two files.
    pub fn load(chunks: &Path, palette: &Path) -> Result<Terrain, TerrainError> {
        Terrain::parse(&read(chunks)?, &String::from_utf8_lossy(&read(palette)?))
    }

    /// Reads and checks a world, gzipped or plain.
    pub fn parse(chunks: &[u8], palette: &str) -> Result<Terrain, TerrainError> {
        let palette = parse_palette(palette)?;
        let plain = if chunks.starts_with(&[0x1f, 0x8b]) { &inflate(chunks)? } else { chunks };
        if plain.is_empty() {
            return Err(TerrainError::Empty);
        }
        if plain.len() > MOST_CHUNKS * RECORD {
            return Err(TerrainError::TooLarge);
        }
        if !plain.len().is_multiple_of(RECORD) {
            return Err(TerrainError::Cut(plain.len()));
        }
        let mut chunks = Vec::with_capacity(plain.len() / RECORD);
        for record in plain.chunks_exact(RECORD) {
            chunks.push(parse_chunk(record, &palette)?);
        }
        chunks.sort_unstable_by_key(|(at, _)| *at);
        match chunks.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(TerrainError::Twice(pair[0].0)),
            None => Ok(Terrain { palette, chunks }),
        }
    }

    /// The lowest and the highest coordinates that any chunk has, an axis at a time.
    pub fn bounds(&self) -> ([i32; 3], [i32; 3]) {
        let axis = |i: usize| self.chunks.iter().map(move |(at, _)| at[i]);
        let low = [0, 1, 2].map(|i| axis(i).min().unwrap_or(0));
        let high = [0, 1, 2].map(|i| axis(i).max().unwrap_or(0));
        (low, high)
    }

    /// Corners of the world in blocks: the first inside, and the first past it.
    pub fn block_bounds(&self) -> ([i32; 3], [i32; 3]) {
        let (low, high) = self.bounds();
        (low.map(|c| c * SIDE), high.map(|c| (c + 1) * SIDE))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TerrainError> {
    let failed = |error| TerrainError::Io { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    let most = (MOST_CHUNKS * RECORD + 1) as u64;
    File::open(path).map_err(failed)?.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Inflates up to one byte past the largest world, so that a bomb ends as "too large".
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, TerrainError> {
    let mut plain = Vec::new();
    let most = (MOST_CHUNKS * RECORD + 1) as u64;
    GzDecoder::new(bytes).take(most).read_to_end(&mut plain).map_err(TerrainError::Gzip)?;
    Ok(plain)
}

fn parse_chunk(record: &[u8], palette: &Palette) -> Result<([i32; 3], Vec<u8>), TerrainError> {
    let (head, blocks) = record.split_at(12);
    let at = [0, 4, 8].map(|i| i32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]));
    if at.iter().any(|c| !(-CHUNKS..CHUNKS).contains(c)) {
        return Err(TerrainError::OutOfBounds(at));
    }
    match blocks.iter().find(|block| palette.name(**block).is_empty()) {
        Some(block) => Err(TerrainError::Unnamed { chunk: at, block: *block }),
        None => Ok((at, blocks.to_vec())),
    }
}

fn parse_palette(text: &str) -> Result<Palette, TerrainError> {
    let mut names: Vec<String> = Vec::new();
    for (i, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let wrong = || TerrainError::PaletteLine { line: i + 1, text: text.chars().take(80).collect() };
        let (index, name) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let index = usize::from(index.parse::<u8>().map_err(|_| wrong())?);
        if names.len() <= index {
            names.resize(index + 1, String::new());
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
        let fits = name.len() <= NAME && name.chars().all(plain);
        if !names[index].is_empty() || !fits {
            return Err(wrong());
        }
        names[index] = name.to_owned();
    }
    Palette::new(names).ok_or(TerrainError::NoAir)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const PALETTE: &str = "0 default:stone\n1 air\n";

    fn record(at: [i32; 3], block: u8) -> Vec<u8> {
        let mut bytes: Vec<u8> = at.iter().flat_map(|c| c.to_le_bytes()).collect();
        bytes.resize(RECORD, block);
        bytes
    }

    fn message(chunks: &[u8], palette: &str) -> String {
        Terrain::parse(chunks, palette).unwrap_err().to_string()
    }

    #[test]
    fn the_world_that_comes_along_loads_whole() {
        let terrain = Terrain::built_in().unwrap();
        assert_eq!(terrain.chunks.len(), 1536);
        assert_eq!(terrain.bounds(), ([-8, -2, -8], [7, 3, 7]));
        assert_eq!(terrain.block_bounds(), ([-128, -32, -128], [128, 64, 128]));
        assert_eq!(terrain.palette.name(terrain.palette.air), "air");
    }

    #[test]
    fn plain_and_gzipped_files_are_the_same_world() {
        let plain = [record([1, 0, 0], 0), record([0, 0, -1], 1)].concat();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let (a, b) = (Terrain::parse(&plain, PALETTE), Terrain::parse(&gzip.finish().unwrap(), PALETTE));
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a.chunks, b.chunks);
        assert_eq!(a.chunks[0].0, [0, 0, -1], "in the order of coordinates");
    }

    #[test]
    fn broken_files_say_what_is_wrong() {
        let good = record([0, 0, 0], 0);
        assert!(message(&good[1..], PALETTE).contains("4107 bytes"));
        assert!(message(&[], PALETTE).contains("no chunks"));
        assert!(message(&[0x1f, 0x8b, 8], PALETTE).contains("gzip"));
        assert!(message(&[&good[..], &good].concat(), PALETTE).contains("[0, 0, 0] is in the terrain twice"));
        assert!(message(&record([0, 9000, 0], 0), PALETTE).contains("-8192 to 8191"));
        assert!(message(&record([0, 0, 0], 2), PALETTE).contains("block 2"));
        assert!(message(&good, "0 default:stone").contains("no `air`"));
        assert!(message(&good, "0 default:stone\nx air").contains("line 2"));
        assert!(message(&good, "0 my air").contains("line 1"));
        assert!(message(&good, "0 air\n0 air").contains("line 2"));
        let missing = Terrain::load(Path::new("no/such/file"), Path::new("nor/this")).unwrap_err();
        assert!(missing.to_string().contains("no/such/file"));
    }
}

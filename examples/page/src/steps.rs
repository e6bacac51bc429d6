//! A recording of inputs, walked by a room and by a client that predicts it: on every machine to the same bytes.

use room::runtime::Settings;
use room_client::testing::TestRoom;

use crate::game::{Field, Square, Steer, Walk};

/// Bytes of a recorded input.
pub const INPUT: usize = 3;

fn steer(bytes: &[u8]) -> Steer {
    let part = |byte: u8| f32::from(byte as i8) / 127.0;
    Steer { right: part(bytes[0]), down: part(bytes[1]), jump: bytes[2] & 1 == 1 }
}

/// Walks a recording, an input a tick. Returns where the square ended, as the room has it and as the client draws it,
/// and a hash of where it was in each tick.
#[must_use]
pub fn walk(recording: &[u8]) -> Vec<u8> {
    let mut room = TestRoom::with(Field, Settings { tick_rate: 20, send_every: 1, ..Settings::default() });
    let ada = room.join("ada");
    room.advance(3);
    // FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut last = Vec::new();
    for bytes in recording.chunks_exact(INPUT) {
        ada.input::<Walk>(steer(bytes));
        room.advance(1);
        last.clear();
        let drawn = ada.view::<Square>();
        let stored = room.room().all::<Square>().map(|(_, square)| square);
        for square in stored.chain(drawn.iter().map(|(_, square)| square)) {
            last.extend(square.x.to_bits().to_le_bytes());
            last.extend(square.y.to_bits().to_le_bytes());
            last.extend(square.jumps.to_le_bytes());
        }
        for byte in &last {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    last.extend(hash.to_le_bytes());
    last
}

#[cfg(target_family = "wasm")]
mod exported {
    use wasm_bindgen::prelude::wasm_bindgen;

    /// As [`walk`](super::walk), for the page's scripts.
    #[wasm_bindgen]
    #[must_use]
    pub fn walk(recording: &[u8]) -> Vec<u8> {
        super::walk(recording)
    }
}

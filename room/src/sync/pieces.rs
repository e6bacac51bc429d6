//! Compressed pieces: an entering entity that many will see is compressed once a version.

use std::collections::VecDeque;

use super::world::World;
use crate::limits;
use crate::wire::deflate::Compressor;
use crate::wire::record::SentBytes;
use crate::wire::update;

/// Appends a whole entering entity: tag, kind, ID, fields.
pub(crate) fn put_enter(world: &World, slot: u32, out: &mut SentBytes) {
    let kind = world.wire_kind(slot).expect("only visible kinds are shown");
    update::put_enter_head(kind, world.info(slot).id, out.head());
    world.put_whole(slot, out);
}

/// The pieces in store, by slot.
#[derive(Default)]
pub struct Pieces {
    pieces: Vec<Option<Box<[u8]>>>,
    /// Slots in the order in which their pieces were made; some may be gone.
    order: VecDeque<u32>,
    bytes: usize,
    plain: SentBytes,
    packed: Vec<u8>,
}

impl Pieces {
    /// Drops the piece of a slot whose entity changed or went.
    pub fn forget(&mut self, slot: u32) {
        if let Some(piece) = self.pieces.get_mut(slot as usize).and_then(Option::take) {
            self.bytes -= piece.len();
        }
    }

    /// The length of a slot's piece, if there is one.
    #[must_use]
    pub fn len(&self, slot: u32) -> Option<usize> {
        self.pieces.get(slot as usize)?.as_ref().map(|p| p.len())
    }

    /// Appends the piece of a slot, made now if need be; returns its length.
    pub fn append(
        &mut self,
        world: &World,
        slot: u32,
        level: u32,
        compressor: &mut Compressor,
        out: &mut Vec<u8>,
    ) -> usize {
        let len = self.ready(world, slot, level, compressor);
        out.extend_from_slice(self.pieces[slot as usize].as_deref().unwrap_or_default());
        len
    }

    /// Makes the piece of a slot if need be; returns its length.
    pub fn ready(&mut self, world: &World, slot: u32, level: u32, compressor: &mut Compressor) -> usize {
        if self.pieces.len() <= slot as usize {
            self.pieces.resize_with(world.slot_count().max(slot as usize + 1), || None);
        }
        if self.pieces[slot as usize].is_none() {
            self.make(world, slot, level, compressor);
        }
        self.len(slot).unwrap_or_default()
    }

    fn make(&mut self, world: &World, slot: u32, level: u32, compressor: &mut Compressor) {
        self.plain.reset();
        put_enter(world, slot, &mut self.plain);
        self.packed.clear();
        compressor.piece(level, self.plain.as_slice(), &mut self.packed);
        self.bytes += self.packed.len();
        self.pieces[slot as usize] = Some(self.packed.as_slice().into());
        self.order.push_back(slot);
        while self.bytes > limits::PIECE_CACHE || self.order.len() > 2 * self.pieces.len() + 64 {
            let Some(oldest) = self.order.pop_front() else { break };
            if oldest != slot {
                self.forget(oldest);
            }
        }
    }
}

//! Compressed pieces: an entering entity that many will see is compressed once a version.

use std::collections::VecDeque;
use std::sync::OnceLock;

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

/// The pieces in store, by slot. One that is missing is made by whoever needs it first, on any thread, and by nobody
/// else. What is made in a seal counts for decisions only after it, so that these do not depend on who was first.
#[derive(Default)]
pub struct Pieces {
    pieces: Vec<OnceLock<Box<[u8]>>>,
    /// The lengths of those that were there when the seal began; 0 for none.
    lengths: Vec<u32>,
    /// Slots in the order in which their pieces were made; some may be gone.
    order: VecDeque<u32>,
    bytes: usize,
}

/// What makes pieces: one a thread.
pub struct Maker {
    level: u32,
    compressor: Compressor,
    plain: SentBytes,
    packed: Vec<u8>,
    /// Slots whose pieces it made in this seal.
    made: Vec<u32>,
}

impl Maker {
    /// One that compresses at a level from 1 to 9.
    #[must_use]
    pub fn new(level: u32) -> Maker {
        Maker {
            level,
            compressor: Compressor::new(),
            plain: SentBytes::default(),
            packed: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Compresses bytes that are not shared.
    pub fn press(&mut self, level: u32, bytes: &[u8], out: &mut Vec<u8>) {
        self.compressor.piece(level, bytes, out);
    }

    fn make(&mut self, world: &World, slot: u32) -> Box<[u8]> {
        self.plain.reset();
        put_enter(world, slot, &mut self.plain);
        self.packed.clear();
        self.compressor.piece(self.level, self.plain.as_slice(), &mut self.packed);
        self.made.push(slot);
        self.packed.as_slice().into()
    }
}

impl Pieces {
    /// Makes room for slots.
    pub fn grow(&mut self, slots: usize) {
        if self.pieces.len() < slots {
            self.pieces.resize_with(slots, OnceLock::new);
            self.lengths.resize(slots, 0);
        }
    }

    /// Drops the piece of a slot whose entity changed or went.
    pub fn forget(&mut self, slot: u32) {
        // Most have none.
        let Some(len) = self.lengths.get_mut(slot as usize).filter(|len| **len > 0) else { return };
        self.bytes -= std::mem::take(len) as usize;
        self.pieces[slot as usize].take();
    }

    /// The length of a slot's piece, if there was one when the seal began.
    #[must_use]
    pub fn len(&self, slot: u32) -> Option<usize> {
        self.lengths.get(slot as usize).copied().filter(|len| *len > 0).map(|len| len as usize)
    }

    /// The piece of a slot, made now if need be.
    pub fn ready(&self, world: &World, slot: u32, maker: &mut Maker) -> &[u8] {
        self.pieces[slot as usize].get_or_init(|| maker.make(world, slot))
    }

    /// Takes note of what was made in a seal, and drops the oldest where it is too much.
    pub fn settle<'a>(&mut self, makers: impl Iterator<Item = &'a mut Maker>) {
        let from = self.order.len();
        makers.for_each(|maker| self.order.extend(maker.made.drain(..)));
        if self.order.len() == from {
            return;
        }
        // Who made which is chance where there are several.
        self.order.make_contiguous()[from..].sort_unstable();
        for slot in self.order.range(from..) {
            let len = self.pieces[*slot as usize].get().map_or(0, |piece| piece.len());
            self.lengths[*slot as usize] = len as u32;
            self.bytes += len;
        }
        while self.bytes > limits::PIECE_CACHE || self.order.len() > 2 * self.pieces.len() + 64 {
            let Some(oldest) = self.order.pop_front() else { break };
            self.forget(oldest);
        }
    }
}

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
/// else.
#[derive(Default)]
pub struct Pieces {
    pieces: Vec<OnceLock<Box<[u8]>>>,
    /// What is known of those that were there when the seal began.
    kept: Vec<Kept>,
    /// Numbers, rising, and slots of pieces in the order in which they were made; some may be gone.
    order: VecDeque<(u64, u32)>,
    bytes: usize,
    next: u64,
    /// Pieces from this number on were made in haste.
    improved: u64,
}

/// What is known of a piece.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    number: u64,
    // 0 where there is none.
    len: u32,
}

/// What makes pieces: one a thread.
pub struct Maker {
    level: u32,
    /// The level at a send, where somebody waits.
    in_haste: u32,
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
            in_haste: level.min(limits::PIECE_LEVEL_IN_HASTE),
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

    fn make(&mut self, level: u32, world: &World, slot: u32) -> &[u8] {
        self.plain.reset();
        put_enter(world, slot, &mut self.plain);
        self.packed.clear();
        self.compressor.piece(level, self.plain.as_slice(), &mut self.packed);
        &self.packed
    }
}

impl Pieces {
    /// Makes room for slots.
    pub fn grow(&mut self, slots: usize) {
        if self.pieces.len() < slots {
            self.pieces.resize_with(slots, OnceLock::new);
            self.kept.resize(slots, Kept::default());
        }
    }

    /// Drops the piece of a slot whose entity changed or went.
    pub fn forget(&mut self, slot: u32) {
        // Most rooms and entities have none.
        if self.bytes == 0 {
            return;
        }
        let Some(kept) = self.kept.get_mut(slot as usize).filter(|kept| kept.len > 0) else { return };
        self.bytes -= std::mem::take(&mut kept.len) as usize;
        self.pieces[slot as usize].take();
    }

    /// The piece of a slot, made now if need be.
    pub fn ready(&self, world: &World, slot: u32, maker: &mut Maker) -> &[u8] {
        self.pieces[slot as usize].get_or_init(|| {
            maker.made.push(slot);
            maker.make(maker.in_haste, world, slot).into()
        })
    }

    /// Takes note of what was made in a seal, and drops the oldest where it is too much.
    pub fn settle<'a>(&mut self, makers: impl Iterator<Item = &'a mut Maker>) {
        let (from, mut hasty) = (self.order.len(), false);
        for maker in makers {
            hasty |= maker.in_haste < maker.level;
            self.order.extend(maker.made.drain(..).map(|slot| (0, slot)));
        }
        if self.order.len() == from {
            return;
        }
        // Who made which is chance where there are several.
        self.order.make_contiguous()[from..].sort_unstable();
        for (number, slot) in self.order.range_mut(from..) {
            *number = self.next;
            self.next += 1;
            let len = self.pieces[*slot as usize].get().map_or(0, |piece| piece.len());
            self.kept[*slot as usize] = Kept { number: *number, len: len as u32 };
            self.bytes += len;
        }
        if !hasty {
            self.improved = self.next;
        }
        while self.bytes > limits::PIECE_CACHE {
            let Some((number, oldest)) = self.order.pop_front() else { break };
            if is_kept(&self.kept, number, oldest) {
                self.forget(oldest);
            }
        }
        if self.order.len() > 2 * self.pieces.len() + 64 {
            let kept = &self.kept;
            self.order.retain(|(number, slot)| is_kept(kept, *number, *slot));
        }
    }

    /// Whether a piece was made in haste.
    #[must_use]
    pub fn is_hasty(&self) -> bool {
        self.order.back().is_some_and(|(number, _)| *number >= self.improved)
    }

    /// Makes one of the pieces better that were made in haste, the oldest first.
    pub fn improve(&mut self, world: &World, maker: &mut Maker) {
        let from = self.order.partition_point(|(number, _)| *number < self.improved);
        let mut hasty = self.order.range(from..);
        let Some((number, slot)) = hasty.find(|(number, slot)| is_kept(&self.kept, *number, *slot)) else {
            self.improved = self.next;
            return;
        };
        self.improved = number + 1;
        let kept = &mut self.kept[*slot as usize];
        let better = maker.make(maker.level, world, *slot);
        if better.len() < kept.len as usize {
            self.bytes -= kept.len as usize - better.len();
            kept.len = better.len() as u32;
            self.pieces[*slot as usize] = OnceLock::from(Box::from(better));
        }
    }
}

/// Whether the piece of a slot is still the one of that number.
fn is_kept(kept: &[Kept], number: u64, slot: u32) -> bool {
    let kept = kept[slot as usize];
    kept.number == number && kept.len > 0
}

//! From what a connection gets to the messages it travels in.

use std::ops::Range;

use super::pieces::{Maker, Pieces, put_enter};
use super::rates::{Pace, Rates};
use super::world::World;
use crate::entity::{EntityId, FieldMask};
use crate::limits;
use crate::store::records::{RecordBuffer, RecordRef, Records};
use crate::tick::Tick;
use crate::wire::deflate;
use crate::wire::record::SentBytes;
use crate::wire::update::{self, Part, UpdateHead};
use crate::wire::varint;

/// Messages ready for the sockets, in one buffer.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The bytes of all messages.
    pub bytes: Vec<u8>,
    /// Each message's viewer and place.
    pub messages: Vec<(u32, Range<usize>)>,
}

impl Outbox {
    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
    }
}

/// Where the bytes of a message are.
#[derive(Clone, Debug)]
pub struct Letter {
    pub(super) bench: u32,
    pub(super) range: Range<usize>,
}

/// What the writer needs besides the update itself.
pub struct Press<'a> {
    /// The world at this seal.
    pub world: &'a World,
    /// The seal's records.
    pub records: &'a Records,
    /// Pieces in store.
    pub pieces: &'a Pieces,
    /// Makes pieces.
    pub maker: &'a mut Maker,
    /// Where messages go.
    pub out: &'a mut Outbox,
    /// What was done, counted.
    pub stats: &'a mut Stats,
}

/// What a room has sent, counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Records encoded: each changed entity once a send, for all who see it.
    pub encoded: u64,
    /// Updates with something in them.
    pub updates: u64,
    /// Updates that span more than one tick of changes.
    pub merged: u64,
    /// Entities that entered a connection's view.
    pub enters: u64,
    /// Those of them that the client had retained, and of which it was sent what changed.
    pub returns: u64,
    /// Changes sent.
    pub changes: u64,
    /// Entities that left a connection's view.
    pub leaves: u64,
    /// Bytes of update messages.
    pub bytes_sent: u64,
    /// Bytes of their content before compression.
    pub bytes_plain: u64,
    /// Plain bytes of entities that travelled as shared pieces.
    pub piece_plain: u64,
    /// Bytes of those pieces.
    pub piece_packed: u64,
    /// Cells of interests whose members were looked at.
    pub cells: u64,
    /// Distances between connections and entities that were worked out.
    pub distances: u64,
}

impl Stats {
    /// Adds what another has counted, but for records encoded.
    pub(crate) fn add(&mut self, other: Stats) {
        let Stats { encoded: _, updates, merged, enters, returns, changes, leaves, .. } = other;
        let Stats { bytes_sent, bytes_plain, piece_plain, piece_packed, cells, distances, .. } = other;
        for (sum, more) in [
            (&mut self.updates, updates),
            (&mut self.merged, merged),
            (&mut self.enters, enters),
            (&mut self.returns, returns),
            (&mut self.changes, changes),
            (&mut self.leaves, leaves),
            (&mut self.bytes_sent, bytes_sent),
            (&mut self.bytes_plain, bytes_plain),
            (&mut self.piece_plain, piece_plain),
            (&mut self.piece_packed, piece_packed),
            (&mut self.cells, cells),
            (&mut self.distances, distances),
        ] {
            *sum += more;
        }
    }
}

/// A retained entity that enters again, in the order in which such are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Returning {
    /// The number by which its kind travels.
    pub kind: u8,
    /// The fields that changed since the client last had it.
    pub mask: FieldMask,
    /// The entity.
    pub id: EntityId,
    /// Its slot.
    pub slot: u32,
    /// The tick up to which the client has it.
    pub since: Tick,
}

/// What stands before the plain blocks, in order.
#[derive(Clone, Copy, Debug)]
enum Segment {
    /// Up to this offset of the loose bytes.
    Loose(usize),
    /// The piece of a slot, and its plain length.
    Piece(u32, usize),
}

/// Small runs of loose bytes are stored, longer ones compressed, each time anew at a low level: they are this
/// connection's own.
const LOOSE_LEVEL: u32 = 1;
const LOOSE_FROM: usize = 256;

/// Lays an update out in parts. Its memory is used again for the next one.
#[derive(Default)]
pub struct UpdateWriter {
    viewer: u32,
    head: Option<UpdateHead>,
    loose: SentBytes,
    segments: Vec<Segment>,
    plain: Vec<u8>,
    section: Vec<u8>,
    scratch: SentBytes,
    /// Plain bytes of the pieces in the open part.
    pieces: usize,
    /// Tag, kind and fields of the group of merges or returns that ends the loose bytes.
    merging: Option<(u8, u8, FieldMask)>,
    /// Bytes of the messages of the update so far.
    sent: Vec<usize>,
}

impl UpdateWriter {
    /// Starts an update.
    pub fn begin(&mut self, viewer: u32, head: UpdateHead) {
        self.viewer = viewer;
        self.head = Some(head);
        self.sent.clear();
        self.start_part();
    }

    fn start_part(&mut self) {
        self.loose.reset();
        self.segments.clear();
        self.plain.clear();
        self.pieces = 0;
        self.merging = None;
    }

    fn used(&self) -> usize {
        self.loose.len() + self.pieces + self.plain.len()
    }

    fn make_room(&mut self, len: usize, press: &mut Press<'_>) {
        debug_assert!(len <= limits::PART, "an entity fits in a part");
        if self.used() + len > limits::PART {
            self.close_part(false, press);
        }
    }

    fn end_loose(&mut self) {
        let end = self.loose.len();
        match self.segments.last_mut() {
            Some(Segment::Loose(at)) => *at = end,
            _ => self.segments.push(Segment::Loose(end)),
        }
    }

    /// IDs that leave, in blocks of this tag. Sorts them.
    pub fn leaves(&mut self, tag: u8, ids: &mut [EntityId], press: &mut Press<'_>) {
        ids.sort_unstable();
        let (mut at, mut open) = (0, false);
        for id in ids.iter() {
            if open && self.used() + varint::MAX_LEN + 1 > limits::PART {
                self.loose.head().push(0);
                self.end_loose();
                self.close_part(false, press);
                open = false;
            }
            if !open {
                self.loose.head().push(tag);
                (at, open) = (0, true);
            }
            varint::put(self.loose.head(), id.get() - at);
            at = id.get();
        }
        if open {
            self.loose.head().push(0);
            self.end_loose();
        }
        press.stats.leaves += ids.len() as u64;
    }

    /// Entities that enter: the small ones together, then the large ones as shared pieces.
    pub fn enters(&mut self, slots: &[u32], press: &mut Press<'_>) {
        let (world, mut entering) = (press.world, std::mem::take(&mut self.scratch));
        let large = |slot: &&u32| is_piece(world, **slot);
        for slot in slots.iter().filter(|slot| !large(slot)) {
            entering.reset();
            put_enter(world, *slot, &mut entering);
            self.make_room(entering.len(), press);
            self.loose.append(entering.as_slice());
            self.end_loose();
        }
        self.scratch = entering;
        for slot in slots.iter().filter(large) {
            let len = enter_len(world, *slot);
            self.make_room(len, press);
            self.segments.push(Segment::Piece(*slot, len));
            self.pieces += len;
        }
        press.stats.enters += slots.len() as u64;
    }

    /// Retained entities that enter again.
    pub(crate) fn returns(&mut self, returns: &[Returning], press: &mut Press<'_>) {
        for returning in returns {
            self.put_since(update::RETURNS, returning.slot, returning.mask, returning.since, press);
        }
        press.stats.enters += returns.len() as u64;
        press.stats.returns += returns.len() as u64;
    }

    /// What changed of an entity since a tick before the last seal.
    pub fn merge(&mut self, slot: u32, mask: FieldMask, since: Tick, press: &mut Press<'_>) {
        self.put_since(update::CHANGES, slot, mask, since, press);
        press.stats.changes += 1;
    }

    /// What changed of an entity since a tick, in a block of this tag.
    fn put_since(&mut self, tag: u8, slot: u32, mask: FieldMask, since: Tick, press: &mut Press<'_>) {
        let world = press.world;
        let mut record = std::mem::take(&mut self.scratch);
        record.reset();
        varint::put(record.head(), world.info(slot).id.get());
        if !mask.is_empty() {
            world.put_since(slot, mask, since, &mut record);
        }
        let kind = world.wire_kind(slot).expect("only visible kinds are shown");
        let fields = world.fields(slot);
        self.make_room(record.len() + 3 + fields.div_ceil(8), press);
        if self.merging == Some((tag, kind, mask)) {
            // Into the group before, in place of its end.
            self.loose.truncate(self.loose.len() - 1);
        } else {
            update::put_group_head(tag, kind, fields, mask, self.loose.head());
            self.merging = Some((tag, kind, mask));
        }
        self.loose.append(record.as_slice());
        self.loose.head().push(0);
        self.end_loose();
        self.scratch = record;
    }

    /// Records of the seal, all of one group, if they fit the open part; returns whether they did.
    pub fn changes(&mut self, group: u32, records: &RecordBuffer, press: &mut Press<'_>) -> bool {
        let (head, tail) = (press.records.head(group), press.records.tail(group));
        let fits = self.used() + head.len() + records.as_slice().len() + tail.len() <= limits::PART;
        if fits {
            self.plain.extend_from_slice(head);
            self.plain.extend_from_slice(records.as_slice());
            self.plain.extend_from_slice(tail);
            press.stats.changes += records.records() as u64;
        }
        fits
    }

    /// Records of the seal, all of one group, over as many parts as they need.
    pub fn changes_in_parts(&mut self, group: u32, records: &[RecordRef], press: &mut Press<'_>) {
        let (head, tail) = (press.records.head(group), press.records.tail(group));
        press.stats.changes += records.len() as u64;
        let mut open = false;
        for at in records {
            let record = press.records.bytes(*at);
            if open && self.used() + record.len() + tail.len() > limits::PART {
                self.plain.extend_from_slice(tail);
                self.close_part(false, press);
                open = false;
            }
            if !open {
                self.make_room(head.len() + record.len() + tail.len(), press);
                self.plain.extend_from_slice(head);
                open = true;
            }
            self.plain.extend_from_slice(record);
        }
        self.plain.extend_from_slice(tail);
    }

    /// How often entities are sent from now on, by pace and ID.
    pub fn periods(&mut self, turns: &[(Pace, EntityId)], rates: &Rates, press: &mut Press<'_>) {
        for of in turns.chunk_by(|a, b| a.0 == b.0) {
            let (mut at, mut open) = (0, false);
            for (pace, id) in of {
                if open && self.used() + varint::MAX_LEN + 1 > limits::PART {
                    self.plain.push(0);
                    self.close_part(false, press);
                    open = false;
                }
                if !open {
                    self.make_room(2 * varint::MAX_LEN + 2, press);
                    self.plain.push(update::PERIODS);
                    varint::put(&mut self.plain, rates.period(*pace).into());
                    (at, open) = (0, true);
                }
                varint::put(&mut self.plain, id.get() - at);
                at = id.get();
            }
            self.plain.push(0);
        }
    }

    /// Ends the update; returns the bytes of each of its messages.
    pub fn finish(&mut self, press: &mut Press<'_>) -> &[usize] {
        self.close_part(true, press);
        press.stats.bytes_sent += self.sent.iter().sum::<usize>() as u64;
        &self.sent
    }

    fn close_part(&mut self, last: bool, press: &mut Press<'_>) {
        press.stats.bytes_plain += self.used() as u64;
        let packable = self.loose.len() + self.pieces;
        let packed = packable >= limits::COMPRESS_FROM && self.pack(packable, press);
        let start = press.out.bytes.len();
        let deflated = packed.then_some((packable, self.section.as_slice()));
        let mut part = Part { head: self.head.take(), last, deflated, plain: &self.plain };
        if packed || packable == 0 {
            part.encode(&mut press.out.bytes);
        } else {
            part.plain = &[];
            part.encode(&mut press.out.bytes);
            self.put_unpacked(press);
            press.out.bytes.extend_from_slice(&self.plain);
        }
        let end = press.out.bytes.len();
        self.sent.push(end - start);
        press.out.messages.push((self.viewer, start..end));
        self.start_part();
    }

    /// Builds the compressed section; returns whether it is worth sending.
    fn pack(&mut self, packable: usize, press: &mut Press<'_>) -> bool {
        self.section.clear();
        let (mut from, mut plain, mut packed) = (0, 0, 0);
        for segment in &self.segments {
            match *segment {
                Segment::Loose(to) => {
                    let bytes = &self.loose.as_slice()[from..to];
                    if bytes.len() >= LOOSE_FROM {
                        press.maker.press(LOOSE_LEVEL, bytes, &mut self.section);
                    } else {
                        deflate::stored(bytes, &mut self.section);
                    }
                    from = to;
                }
                Segment::Piece(slot, len) => {
                    let piece = press.pieces.ready(press.world, slot, press.maker);
                    self.section.extend_from_slice(piece);
                    packed += piece.len();
                    plain += len;
                }
            }
        }
        deflate::finish(&mut self.section);
        let worth = self.section.len() < packable;
        if worth {
            press.stats.piece_plain += plain as u64;
            press.stats.piece_packed += packed as u64;
        }
        worth
    }

    fn put_unpacked(&mut self, press: &mut Press<'_>) {
        let mut from = 0;
        for segment in &self.segments {
            match *segment {
                Segment::Loose(to) => {
                    press.out.bytes.extend_from_slice(&self.loose.as_slice()[from..to]);
                    from = to;
                }
                Segment::Piece(slot, _) => {
                    self.scratch.reset();
                    put_enter(press.world, slot, &mut self.scratch);
                    press.out.bytes.extend_from_slice(self.scratch.as_slice());
                }
            }
        }
    }
}

/// Plain bytes of an entering entity.
pub(crate) fn enter_len(world: &World, slot: u32) -> usize {
    2 + varint::len(world.info(slot).id.get()) + world.size(slot)
}

/// Whether an entering entity travels as a shared piece.
pub(super) fn is_piece(world: &World, slot: u32) -> bool {
    world.size(slot) >= limits::PIECE
}

/// The plain bytes of what enters, and the bytes on the wire: exactly, unless these are more than `free` or there is
/// so much that they are bound to be. Makes the pieces that it counts.
pub(super) fn enters_len(enters: &[u32], free: usize, press: &mut Press<'_>) -> (usize, usize) {
    let plain: usize = enters.iter().map(|slot| enter_len(press.world, *slot)).sum();
    if plain <= free || plain / LIKELY_RATIO > free {
        return (plain, plain);
    }
    let mut wire = 0;
    for slot in enters {
        let len = enter_len(press.world, *slot);
        let large = is_piece(press.world, *slot) && wire <= free;
        wire += if large { press.pieces.ready(press.world, *slot, press.maker).len().min(len) } else { len };
    }
    (plain, wire)
}

/// What enters is hardly ever made smaller than that many times.
const LIKELY_RATIO: usize = 32;

//! A seal's records: every change encoded once, for all who see it.

use std::collections::BTreeMap;

use super::bits::Bits;
use crate::entity::{EntityId, FieldMask};
use crate::wire::packed::{self, Packing};
use crate::wire::record::{Sealed, SentBytes};
use crate::wire::{update, varint};

/// Where a slot's record lies.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordRef {
    /// Offset in the bytes.
    pub start: u32,
    /// Length.
    pub len: u32,
    /// The group: kind, fields, and which of them are differences.
    pub group: u32,
}

/// Bytes that [`RecordBuffer::push`] copies at once.
pub const STEP: usize = 16;
/// Bytes that can be read behind all records, and written behind what a buffer holds: a short run is copied in one step
/// of that many.
pub const PAD: usize = 128;

/// Records of one group, one behind the other.
///
/// Most records are a few bytes long, and a call that copies so few costs more than the copy. So a short one is
/// copied as 16 bytes whatever its length, and the next one overwrites what was too much.
#[derive(Debug, Default)]
pub struct RecordBuffer {
    // Invariant: at least PAD bytes longer than `used`, or empty.
    bytes: Vec<u8>,
    used: usize,
    records: usize,
}

impl RecordBuffer {
    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.records = 0;
    }

    /// The records.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// How many records there are.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// Appends a record of `bytes`, behind which [`PAD`] more can be read.
    #[inline(always)]
    pub fn push(&mut self, bytes: &[u8], start: u32, len: u32) {
        self.push_all(bytes, len as usize, std::iter::once((start, len)));
    }

    /// Appends so many records that lie side by side.
    #[inline]
    pub fn push_run(&mut self, bytes: &[u8], from: usize, to: usize, records: usize) {
        let len = to - from;
        let room = self.room(len);
        // A copy of a length that the processor cannot guess costs more than one that is too long.
        const STRIDE: usize = PAD / 2;
        for at in (0..len).step_by(STRIDE) {
            room[at..at + STRIDE].copy_from_slice(&bytes[from + at..from + at + STRIDE]);
        }
        self.used += len;
        self.records += records;
    }

    /// Appends records that begin at these places of `bytes` and are so long: at most `most` bytes together.
    #[inline(always)]
    pub fn push_all(&mut self, bytes: &[u8], most: usize, at: impl Iterator<Item = (u32, u32)>) {
        let room = self.room(most);
        let (mut end, mut records) = (0, 0);
        for (start, len) in at {
            let (start, len) = (start as usize, len as usize);
            copy_step(room, end, bytes, start);
            if len > STEP {
                copy_rest(room, end, bytes, start, len);
            }
            end += len;
            records += 1;
        }
        self.used += end;
        self.records += records;
    }

    /// Where the next so many bytes go, and [`PAD`] more.
    #[inline(always)]
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if end + PAD > self.bytes.len() {
            self.grow(end);
        }
        &mut self.bytes[self.used..]
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(2 * (end + PAD).max(1024), 0);
    }
}

/// Copies [`STEP`] bytes.
#[inline(always)]
pub fn copy_step(to: &mut [u8], at: usize, from: &[u8], start: usize) {
    to[at..at + STEP].copy_from_slice(&from[start..start + STEP]);
}

/// Copies what [`copy_step`] leaves of so many bytes.
#[cold]
#[inline(never)]
fn copy_rest(to: &mut [u8], at: usize, from: &[u8], start: usize, len: usize) {
    to[at + STEP..at + len].copy_from_slice(&from[start + STEP..start + len]);
}

/// Bytes of differences from which packing them is tried.
const PACKED_FROM: usize = 3;

/// The records of one seal.
#[derive(Debug, Default)]
pub struct Records {
    bytes: SentBytes,
    table: Vec<RecordRef>,
    changed: Bits,
    slots: Vec<u32>,
    groups: Vec<Group>,
    /// Numbers of groups.
    by_shape: BTreeMap<(u8, Sealed, Option<Packing>), usize>,
    last_group: usize,
    /// Records encoded since the room began: tests count them.
    pub encoded: u64,
}

/// Records of one shape: they stand behind one head.
#[derive(Debug)]
struct Group {
    kind: u8,
    sealed: Sealed,
    packing: Option<Packing>,
    head: Vec<u8>,
}

impl Records {
    /// Forgets the last seal and makes room for `slots` slots.
    pub fn begin(&mut self, slots: usize) {
        self.bytes.reset();
        self.changed.clear();
        self.changed.grow(slots);
        self.slots.clear();
        if self.table.len() < slots {
            self.table.resize(slots, RecordRef::default());
        }
        // Groups stay from seal to seal, for the same few come again; a long list starts anew.
        if self.groups.len() > 64 {
            self.groups.clear();
            self.by_shape.clear();
        }
        self.last_group = 0;
    }

    /// Encodes one entity's change: `seal` appends the fields and says which. Returns those that changed.
    #[inline(always)]
    pub fn push(
        &mut self,
        slot: u32,
        id: EntityId,
        kind: u8,
        fields: usize,
        seal: impl FnOnce(&mut SentBytes, &mut Sealed),
    ) -> FieldMask {
        let Some((record, sealed)) = self.encode(id, kind, fields, seal) else { return FieldMask::NONE };
        self.table[slot as usize] = record;
        self.changed.insert(slot);
        self.slots.push(slot);
        sealed.changed
    }

    /// Encodes a record, unless nothing changed: the caller keeps where it lies. Says which fields it has.
    #[inline(always)]
    pub fn encode(
        &mut self,
        id: EntityId,
        kind: u8,
        fields: usize,
        seal: impl FnOnce(&mut SentBytes, &mut Sealed),
    ) -> Option<(RecordRef, Sealed)> {
        let start = self.bytes.len();
        varint::put(self.bytes.head(), id.get());
        let fields_at = self.bytes.len();
        let mut sealed = Sealed::default();
        seal(&mut self.bytes, &mut sealed);
        if sealed.changed.is_empty() {
            self.bytes.truncate(start);
            return None;
        }
        let mut packing = None;
        // Shorter ones hardly ever become shorter still.
        if self.bytes.len() - fields_at >= PACKED_FROM && sealed.differences.is(&sealed.changed, fields) {
            packing = self.pack(start);
        }
        let group = self.group(kind, fields, &sealed, packing) as u32;
        let len = (self.bytes.len() - start) as u32;
        self.encoded += 1;
        Some((RecordRef { start: start as u32, len, group }, sealed))
    }

    /// The group of records of these fields.
    #[inline(always)]
    fn group(&mut self, kind: u8, fields: usize, sealed: &Sealed, packing: Option<Packing>) -> usize {
        let is =
            |group: &Group| group.kind == kind && group.packing == packing && group.sealed.is(sealed, fields);
        if !self.groups.get(self.last_group).is_some_and(is) {
            self.find_group(kind, fields, *sealed, packing);
        }
        self.last_group
    }

    #[cold]
    fn find_group(&mut self, kind: u8, fields: usize, sealed: Sealed, packing: Option<Packing>) {
        self.last_group = *self.by_shape.entry((kind, sealed, packing)).or_insert_with(|| {
            let mut head = Vec::new();
            update::put_changes_head(kind, fields, sealed.changed, sealed.differences, packing, &mut head);
            self.groups.push(Group { kind, sealed, packing, head });
            self.groups.len() - 1
        });
    }

    /// Packs the record that begins there, where that makes it shorter.
    fn pack(&mut self, start: usize) -> Option<Packing> {
        let (packing, packed) = Packing::of(&self.bytes.as_slice()[start..])?;
        self.bytes.truncate(start);
        self.bytes.append(&packed.to_le_bytes()[..packing.record_len()]);
        Some(packing)
    }

    /// Slots that changed, in the order of their encoding.
    #[must_use]
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Slots that changed, as a set.
    #[inline]
    #[must_use]
    pub fn changed(&self) -> &Bits {
        &self.changed
    }

    /// Where the record of a slot lies, if it changed.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<RecordRef> {
        self.changed.contains(slot).then(|| self.at(slot))
    }

    /// Where the record of a changed slot lies.
    #[inline]
    #[must_use]
    pub fn at(&self, slot: u32) -> RecordRef {
        self.table[slot as usize]
    }

    /// The bytes of all records, padded by [`PAD`].
    #[inline]
    #[must_use]
    pub fn all_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The bytes of a record.
    #[inline]
    #[must_use]
    pub fn bytes(&self, at: RecordRef) -> &[u8] {
        &self.bytes.as_slice()[at.start as usize..(at.start + at.len) as usize]
    }

    /// Ends the encoding: pads the bytes by [`PAD`].
    pub fn end(&mut self) {
        let head = self.bytes.head();
        head.extend_from_slice(&[0; PAD]);
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// What stands behind a group's records: the ID 0.
    #[must_use]
    pub fn tail(&self, group: u32) -> &'static [u8] {
        let packing = self.groups[group as usize].packing;
        &[0; packed::MOST][..packing.map_or(1, Packing::record_len)]
    }

    /// What stands before a group's records.
    #[must_use]
    pub fn head(&self, group: u32) -> &[u8] {
        &self.groups[group as usize].head
    }
}

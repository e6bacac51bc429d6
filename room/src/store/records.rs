//! A seal's records: every change encoded once, for all who see it.

use std::collections::BTreeMap;

use super::bits::Bits;
use crate::entity::{EntityId, FieldMask};
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

/// Records of one group, one behind the other.
///
/// Most records are a few bytes long, and a call that copies so few costs more than the copy. So a short one is
/// copied as 16 bytes whatever its length, and the next one overwrites what was too much.
#[derive(Debug, Default)]
pub struct RecordBuffer {
    // Invariant: at least STEP bytes longer than `used`, or empty.
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

    /// Appends a record that lies at `at` of `bytes`, behind which [`STEP`] more can be read.
    #[inline(always)]
    pub fn push(&mut self, bytes: &[u8], at: RecordRef) {
        self.copy(bytes, at.start as usize, at.len as usize);
        self.records += 1;
    }

    /// Appends so many records that lie side by side.
    #[inline]
    pub fn push_run(&mut self, bytes: &[u8], from: usize, to: usize, records: usize) {
        self.copy(bytes, from, to - from);
        self.records += records;
    }

    #[inline(always)]
    fn copy(&mut self, bytes: &[u8], from: usize, len: usize) {
        let end = self.used + len;
        if end + STEP > self.bytes.len() {
            self.bytes.resize(2 * (end + STEP).max(1024), 0);
        }
        if len <= 8 * STEP {
            let steps = len.div_ceil(STEP);
            let to = self.bytes[self.used..].chunks_exact_mut(STEP);
            for (to, from) in to.zip(bytes[from..].chunks_exact(STEP)).take(steps) {
                to.copy_from_slice(from);
            }
        } else {
            self.bytes[self.used..end].copy_from_slice(&bytes[from..from + len]);
        }
        self.used = end;
    }
}

/// The records of one seal.
#[derive(Debug, Default)]
pub struct Records {
    bytes: SentBytes,
    table: Vec<RecordRef>,
    changed: Bits,
    slots: Vec<u32>,
    groups: Vec<Group>,
    /// Numbers of groups.
    by_shape: BTreeMap<(u8, Sealed), usize>,
    last_group: usize,
    /// Records encoded since the room began: tests count them.
    pub encoded: u64,
}

/// Records of one shape: they stand behind one head.
#[derive(Debug)]
struct Group {
    kind: u8,
    sealed: Sealed,
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

    /// Encodes one entity's change: `seal` appends the fields and says which.
    #[inline]
    pub fn push(
        &mut self,
        slot: u32,
        id: EntityId,
        kind: u8,
        fields: usize,
        seal: impl FnOnce(&mut SentBytes) -> Sealed,
    ) -> FieldMask {
        let start = self.bytes.len();
        varint::put(self.bytes.head(), id.get());
        let sealed = seal(&mut self.bytes);
        if sealed.changed.is_empty() {
            self.bytes.truncate(start);
            return sealed.changed;
        }
        let group = self.group(kind, fields, sealed) as u32;
        let len = (self.bytes.len() - start) as u32;
        self.table[slot as usize] = RecordRef { start: start as u32, len, group };
        self.changed.insert(slot);
        self.slots.push(slot);
        self.encoded += 1;
        sealed.changed
    }

    fn group(&mut self, kind: u8, fields: usize, sealed: Sealed) -> usize {
        let same = |g: &Group| g.kind == kind && g.sealed == sealed;
        if !self.groups.get(self.last_group).is_some_and(same) {
            self.last_group = *self.by_shape.entry((kind, sealed)).or_insert_with(|| {
                let mut head = Vec::new();
                update::put_changes_head(kind, fields, sealed.changed, sealed.differences, &mut head);
                self.groups.push(Group { kind, sealed, head });
                self.groups.len() - 1
            });
        }
        self.last_group
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

    /// Where the record of a changed slot lies.
    #[inline]
    #[must_use]
    pub fn at(&self, slot: u32) -> RecordRef {
        self.table[slot as usize]
    }

    /// The bytes of all records, padded so that a short one can be copied in one step.
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

    /// Ends the encoding: pads the bytes, so that a short record can be copied in one step of [`STEP`] bytes.
    pub fn end(&mut self) {
        let head = self.bytes.head();
        head.extend_from_slice(&[0; STEP]);
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// What stands before a group's records.
    #[must_use]
    pub fn head(&self, group: u32) -> &[u8] {
        &self.groups[group as usize].head
    }
}

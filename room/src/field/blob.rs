//! `Bytes` fields: bytes that change in ranges, and remember which for readers that are behind.

use std::ops::{Deref, Range};

use smallvec::SmallVec;

use super::{Codec, Field, OverLimit, WireType};
use crate::entity::WriteError;
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// A byte string of at most 48 KiB that can be patched: only the changed ranges travel.
///
/// ```
/// use room::prelude::*;
/// let blocks = Bytes::from(vec![0; 4096]);
/// assert_eq!(blocks[17], 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(Vec<u8>);

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(bytes)
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Bytes(bytes.to_vec())
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        bytes.0
    }
}

type Ranges = SmallVec<[Range<usize>; 4]>;

/// What a `Bytes` field remembers.
#[derive(Debug, Default)]
pub struct BlobTrack {
    /// The value at the last seal, while there are writes since; later a buffer to use again.
    base: Vec<u8>,
    /// The field was replaced since the last seal.
    replaced: bool,
    /// Ranges patched since the last seal, sorted and apart.
    patched: Ranges,
    /// The last tick at which the field went whole, or up to which the log is lost.
    whole: Tick,
    /// Invariant: ranges patched after `whole`, oldest first, at most [`limits::PATCHES`]; of two that were
    /// merged the later tick stands, so a reader gets rather too much than too little.
    log: Vec<(Tick, Range<usize>)>,
}

/// Adds a range to sorted ranges that do not touch.
fn add_range(ranges: &mut Ranges, new: Range<usize>) {
    if new.is_empty() {
        return;
    }
    let first = ranges.partition_point(|r| r.end < new.start);
    let last = ranges.partition_point(|r| r.start <= new.end);
    if first == last {
        ranges.insert(first, new);
        return;
    }
    let merged = ranges[first].start.min(new.start)..ranges[last - 1].end.max(new.end);
    ranges.drain(first + 1..last);
    ranges[first] = merged;
}

impl BlobTrack {
    /// The ranges patched after `since`, or none where the field was replaced since.
    fn since(&self, since: Tick) -> Option<Ranges> {
        if self.whole > since {
            return None;
        }
        let mut ranges = Ranges::new();
        for (tick, range) in &self.log {
            if *tick > since {
                add_range(&mut ranges, range.clone());
            }
        }
        Some(ranges)
    }

    fn remember(&mut self, tick: Tick, ranges: Ranges) {
        for range in ranges {
            if self.log.len() == limits::PATCHES {
                let old = self.log.remove(0);
                let merged = &mut self.log[0];
                merged.1 = merged.1.start.min(old.1.start)..merged.1.end.max(old.1.end);
            }
            self.log.push((tick, range));
        }
    }
}

/// The part of `range` in which `now` differs from `base`.
fn trim(base: &[u8], now: &[u8], range: &Range<usize>) -> Range<usize> {
    let differs = |i: &usize| base.get(*i) != Some(&now[*i]);
    let end = range.end.min(now.len());
    let Some(first) = (range.start..end).find(differs) else { return 0..0 };
    let last = (first..end).rev().find(differs).unwrap_or(first);
    first..last + 1
}

/// Appends a change: 0 and the whole value, or the number of ranges, the new length, and each range as its
/// distance from the end of the one before, its length and its bytes. Whichever is shorter.
fn put_ranges(value: &[u8], ranges: &[Range<usize>], out: &mut Vec<u8>) {
    let start = out.len();
    varint::put(out, ranges.len() as u64);
    varint::put(out, value.len() as u64);
    let mut at = 0;
    for range in ranges {
        varint::put(out, (range.start - at) as u64);
        varint::put(out, range.len() as u64);
        out.extend_from_slice(&value[range.clone()]);
        at = range.end;
    }
    let whole = 1 + varint::len(value.len() as u64) + value.len();
    if ranges.is_empty() || out.len() - start > whole {
        out.truncate(start);
        Blob::put_change_bytes(value, out);
    }
}

/// The codec of [`Bytes`].
pub struct Blob;

impl Blob {
    /// Writes `bytes` at `offset`; past the end the value grows, a gap fills with zeros. The caller has
    /// checked that the result is within the limits.
    pub(crate) fn patch(value: &mut Bytes, offset: usize, bytes: &[u8], track: &mut BlobTrack, first: bool) {
        if first {
            track.base.clear();
            track.base.extend_from_slice(&value.0);
        }
        let (old, end) = (value.0.len(), offset + bytes.len());
        if end > old {
            value.0.resize(end, 0);
        }
        value.0[offset..end].copy_from_slice(bytes);
        if !track.replaced {
            add_range(&mut track.patched, offset.min(old)..end);
        }
    }

    /// Bytes of the whole encoding of a value of `len` bytes.
    pub(crate) fn size_of(len: usize) -> usize {
        varint::len(len as u64) + len
    }

    fn put_change_bytes(value: &[u8], out: &mut Vec<u8>) {
        out.push(0);
        varint::put(out, value.len() as u64);
        out.extend_from_slice(value);
    }
}

impl Field for Bytes {
    type Codec = Blob;
}

impl Codec for Blob {
    type Value = Bytes;
    type Track = BlobTrack;
    type Outcome = Result<(), WriteError>;
    const WIRE: WireType = WireType::Bytes;

    fn check(value: &Bytes) -> Result<(), OverLimit> {
        let (size, limit) = (value.len(), limits::BLOB);
        if size <= limit { Ok(()) } else { Err(OverLimit { size, limit }) }
    }
    fn size(value: &Bytes) -> usize {
        Blob::size_of(value.len())
    }
    fn same(a: &Bytes, b: &Bytes) -> bool {
        a == b
    }
    fn replace(value: &mut Bytes, new: Bytes, track: &mut BlobTrack, first: bool) {
        let old = std::mem::replace(value, new);
        if first {
            track.base = old.0;
        }
        track.replaced = true;
        track.patched.clear();
    }
    fn seal(value: &Bytes, track: &mut BlobTrack, tick: Tick) -> bool {
        let replaced = std::mem::take(&mut track.replaced);
        let patched = std::mem::take(&mut track.patched);
        if replaced {
            if std::mem::take(&mut track.base) == value.0 {
                return false;
            }
            track.whole = tick;
            track.log.clear();
            return true;
        }
        // A patch never shrinks, so a value of the old length that differs in no patched range is the old one.
        let ranges: Ranges =
            patched.iter().map(|r| trim(&track.base, &value.0, r)).filter(|r| !r.is_empty()).collect();
        let changed = !ranges.is_empty();
        track.remember(tick, ranges);
        changed
    }
    /// A reader that is behind that tick may lack any range.
    fn restored(track: &mut BlobTrack, tick: Tick) {
        track.whole = tick;
    }
    fn put_sealed(value: &Bytes, track: &mut BlobTrack, tick: Tick, out: &mut Vec<u8>) -> bool {
        Self::put_since(value, track, Tick(tick.0 - 1), out);
        false
    }
    fn put_since(value: &Bytes, track: &BlobTrack, since: Tick, out: &mut Vec<u8>) {
        match track.since(since) {
            Some(ranges) => put_ranges(value, &ranges, out),
            None => Self::put_change_bytes(value, out),
        }
    }
    fn put_change(value: &Bytes, out: &mut Vec<u8>) {
        Self::put_change_bytes(value, out);
    }
    fn put(value: &Bytes, out: &mut Vec<u8>) {
        varint::put(out, value.len() as u64);
        out.extend_from_slice(value);
    }
    fn take(r: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
        r.blob(limits::BLOB).map(Bytes::from)
    }
    fn take_change(value: &mut Bytes, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        let ranges = r.count(limits::BLOB)?;
        if ranges == 0 {
            *value = Self::take(r)?;
            return Ok(());
        }
        let len = r.varint()? as usize;
        // A patch cannot shrink a field, and grows it only by bytes that it brings: what it fills beyond the
        // old end is part of a range.
        if len > limits::BLOB || len < value.len() || len - value.len() > r.remaining() {
            return Err(DecodeError::TooLong);
        }
        value.0.resize(len, 0);
        let mut at = 0usize;
        for _ in 0..ranges {
            let start = at.saturating_add(r.varint()? as usize);
            let bytes = r.blob(limits::BLOB)?;
            let range = start..start.saturating_add(bytes.len());
            value.0.get_mut(range.clone()).ok_or(DecodeError::Value)?.copy_from_slice(bytes);
            at = range.end;
        }
        Ok(())
    }
}

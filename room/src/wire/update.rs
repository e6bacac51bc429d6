//! An update: the part messages it travels in and the blocks it holds.
//!
//! A part is the tag, a byte of flags, for the first part the ticks, then content: a compressed section where
//! the flags say so, and plain blocks up to the end. The content of all parts, one behind the other, is a
//! sequence of blocks: leaves, then enters, then changes. No block is cut by the end of a part.

use super::packed::Packing;
use super::{DecodeError, Reader, varint};
use crate::entity::{EntityId, FieldMask};
use crate::limits;
use crate::tick::Tick;

/// The first part of an update.
pub const FIRST: u8 = 1;
/// The last part of an update.
pub const LAST: u8 = 2;
/// A compressed section stands before the plain blocks.
pub const DEFLATED: u8 = 4;
/// The first part carries a hash of the view.
pub const HASHED: u8 = 8;

/// A block of IDs that leave, as rising gaps, ended by 0.
pub const LEAVES: u8 = 1;
/// One entity that enters: kind, ID, every field.
pub const ENTER: u8 = 2;
/// Changes of one kind and set of fields: IDs and whole values or ranges, ended by the ID 0.
pub const CHANGES: u8 = 3;
/// As [`CHANGES`], with a second set of fields: those that travel as differences.
pub const DIFFERENCES: u8 = 4;
/// As [`LEAVES`], of entities that were deleted: a client that retains what leaves does not retain them.
pub const GONE: u8 = 5;
/// Retained entities of one kind that enter again, and in which fields they changed since they were retained: as
/// [`CHANGES`], but that there may be no such fields.
pub const RETURNS: u8 = 6;

/// Appends what stands before a group of [`CHANGES`] or [`RETURNS`].
pub fn put_group_head(tag: u8, kind: u8, fields: usize, mask: FieldMask, out: &mut Vec<u8>) {
    out.extend([tag, kind]);
    mask.put(fields, out);
}

/// How often entities are sent from now on: a period in sends, then IDs as in [`LEAVES`].
pub const PERIODS: u8 = 7;

/// Changes of one kind and set of fields, all of them differences, packed.
pub const PACKED: u8 = 8;

/// Appends what stands before a group of changes.
pub fn put_changes_head(
    kind: u8,
    fields: usize,
    mask: FieldMask,
    differences: FieldMask,
    packing: Option<Packing>,
    out: &mut Vec<u8>,
) {
    if let Some(packing) = packing {
        put_group_head(PACKED, kind, fields, mask, out);
        return packing.put(out);
    }
    let tag = if differences.is_empty() { CHANGES } else { DIFFERENCES };
    put_group_head(tag, kind, fields, mask, out);
    if !differences.is_empty() {
        differences.put(fields, out);
    }
}

/// Appends what stands before an entering entity's fields.
pub fn put_enter_head(kind: u8, id: EntityId, out: &mut Vec<u8>) {
    out.extend([ENTER, kind]);
    varint::put(out, id.get());
}

/// What the first part of an update says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateHead {
    /// The tick of the state it leads to.
    pub tick: Tick,
    /// The newest tick up to which nothing of what the client holds is held back.
    pub complete: Tick,
    /// A hash of what the client holds after it, where the room sends one.
    pub hash: Option<u64>,
}

/// A part message behind its tag.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Present in the first part.
    pub head: Option<UpdateHead>,
    /// Whether it is the last one.
    pub last: bool,
    /// The compressed section and the length it inflates to.
    pub deflated: Option<(usize, &'a [u8])>,
    /// Plain blocks behind the compressed section.
    pub plain: &'a [u8],
}

impl<'a> Part<'a> {
    /// Reads a part message behind its tag.
    pub fn decode(bytes: &'a [u8]) -> Result<Part<'a>, DecodeError> {
        let mut r = Reader::new(bytes);
        let flags = r.u8()?;
        if flags & !(FIRST | LAST | DEFLATED | HASHED) != 0 {
            return Err(DecodeError::Tag(flags));
        }
        let head = if flags & FIRST != 0 {
            let tick = r.varint()?;
            let behind = r.varint()?;
            let complete = tick.checked_sub(behind).ok_or(DecodeError::Value)?;
            let hash = if flags & HASHED != 0 { Some(u64::from_le_bytes(r.array()?)) } else { None };
            Some(UpdateHead { tick: Tick(tick), complete: Tick(complete), hash })
        } else if flags & HASHED != 0 {
            return Err(DecodeError::Tag(flags));
        } else {
            None
        };
        let deflated = if flags & DEFLATED != 0 {
            let plain = r.varint()?;
            if plain > limits::PART as u64 {
                return Err(DecodeError::TooLong);
            }
            Some((plain as usize, r.blob(limits::ROOM_MESSAGE)?))
        } else {
            None
        };
        let plain = r.rest();
        if deflated.map_or(0, |(n, _)| n) + plain.len() > limits::PART {
            return Err(DecodeError::TooLong);
        }
        Ok(Part { head, last: flags & LAST != 0, deflated, plain })
    }

    /// Appends the message with its tag.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(super::message::tag::UPDATE);
        let mut flags = 0;
        for (set, flag) in [
            (self.head.is_some(), FIRST),
            (self.last, LAST),
            (self.deflated.is_some(), DEFLATED),
            (self.head.is_some_and(|h| h.hash.is_some()), HASHED),
        ] {
            flags |= if set { flag } else { 0 };
        }
        out.push(flags);
        if let Some(UpdateHead { tick, complete, hash }) = self.head {
            varint::put(out, tick.0);
            varint::put(out, tick.0 - complete.0);
            if let Some(hash) = hash {
                out.extend(hash.to_le_bytes());
            }
        }
        if let Some((plain, bytes)) = self.deflated {
            varint::put(out, plain as u64);
            varint::put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(self.plain);
    }
}

/// What reads the blocks of an update.
pub trait Blocks {
    /// An entity leaves; it is retained, where entities are.
    fn leave(&mut self, id: EntityId) -> Result<(), DecodeError>;
    /// An entity is sent every so many sends from now on.
    fn period(&mut self, id: EntityId, sends: u32) -> Result<(), DecodeError>;
    /// An entity leaves because it was deleted.
    fn gone(&mut self, id: EntityId) -> Result<(), DecodeError>;
    /// An entity enters; its fields are read from `r`.
    fn enter(&mut self, kind: u8, id: EntityId, r: &mut Reader<'_>) -> Result<(), DecodeError>;
    /// A retained entity enters again, with what changed since, read from `r`.
    fn enter_again(
        &mut self,
        kind: u8,
        id: EntityId,
        mask: FieldMask,
        r: &mut Reader<'_>,
    ) -> Result<(), DecodeError>;
    /// How many fields a kind has.
    fn fields(&self, kind: u8) -> Result<usize, DecodeError>;
    /// An entity changes; its fields are read from `r`.
    fn change(
        &mut self,
        kind: u8,
        id: EntityId,
        mask: FieldMask,
        differences: FieldMask,
        r: &mut Reader<'_>,
    ) -> Result<(), DecodeError>;
}

/// Reads the blocks of one part's content, in order.
pub fn read_blocks(content: &[u8], to: &mut impl Blocks) -> Result<(), DecodeError> {
    let mut r = Reader::new(content);
    while !r.is_empty() {
        match r.u8()? {
            LEAVES => read_gaps(&mut r, |id| to.leave(id))?,
            GONE => read_gaps(&mut r, |id| to.gone(id))?,
            PERIODS => {
                let sends = u32::try_from(r.varint()?).map_err(|_| DecodeError::Value)?;
                if !(1..=limits::PERIOD).contains(&sends) {
                    return Err(DecodeError::Value);
                }
                read_gaps(&mut r, |id| to.period(id, sends))?;
            }
            ENTER => {
                let kind = r.u8()?;
                let id = EntityId::from_wire(r.varint()?).ok_or(DecodeError::Value)?;
                to.enter(kind, id, &mut r)?;
            }
            RETURNS => {
                let kind = r.u8()?;
                let mask = FieldMask::take(to.fields(kind)?, &mut r)?;
                read_group(&mut r, |id, r| to.enter_again(kind, id, mask, r))?;
            }
            tag @ (CHANGES | DIFFERENCES) => {
                let kind = r.u8()?;
                let fields = to.fields(kind)?;
                let mask = FieldMask::take(fields, &mut r)?;
                let differences =
                    if tag == DIFFERENCES { FieldMask::take(fields, &mut r)? } else { FieldMask::NONE };
                if mask.is_empty() || !differences.iter().all(|f| mask.has(f)) {
                    return Err(DecodeError::Value);
                }
                read_group(&mut r, |id, r| to.change(kind, id, mask, differences, r))?;
            }
            PACKED => {
                let kind = r.u8()?;
                let mask = FieldMask::take(to.fields(kind)?, &mut r)?;
                let packing = Packing::take(&mut r)?;
                if mask.is_empty() {
                    return Err(DecodeError::Value);
                }
                read_packed(&mut r, packing, |id, r| to.change(kind, id, mask, mask, r))?;
            }
            tag => return Err(DecodeError::Tag(tag)),
        }
    }
    Ok(())
}

/// Packed records, ended by the ID 0.
fn read_packed(
    r: &mut Reader<'_>,
    packing: Packing,
    mut each: impl FnMut(EntityId, &mut Reader<'_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut varints = Vec::new();
    loop {
        let id = packing.read(r, &mut varints)?;
        if id == 0 {
            return Ok(());
        }
        let mut differences = Reader::new(&varints);
        each(EntityId::from_wire(id).ok_or(DecodeError::Value)?, &mut differences)?;
        differences.end()?;
    }
}

/// IDs as rising gaps, ended by 0.
fn read_gaps(
    r: &mut Reader<'_>,
    mut each: impl FnMut(EntityId) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut at = 0u64;
    loop {
        let gap = r.varint()?;
        if gap == 0 {
            return Ok(());
        }
        at = at.checked_add(gap).ok_or(DecodeError::Value)?;
        each(EntityId::from_wire(at).ok_or(DecodeError::Value)?)?;
    }
}

/// Records of a group, each behind its ID, ended by the ID 0.
fn read_group<'a>(
    r: &mut Reader<'a>,
    mut each: impl FnMut(EntityId, &mut Reader<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    loop {
        let id = r.varint()?;
        if id == 0 {
            return Ok(());
        }
        each(EntityId::from_wire(id).ok_or(DecodeError::Value)?, r)?;
    }
}

//! What a player does: inputs and writes, and what became of them.

use super::{DecodeError, Reader, put_blob, put_number, tag, take_u32, varint};
use crate::entity::EntityId;
use crate::limits;
use crate::tick::Tick;

/// What became of a client's inputs since it was last said, for a client that paces its inputs by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Of those that came in time, the fewest ticks that one was early: 0 is just in time. None where none came so.
    pub early: Option<u32>,
    /// How many came after their tick.
    pub late: u32,
    /// Ticks for which none had come, in which the last one was repeated.
    pub starved: u32,
}

/// The fields of one entity as its owner has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEntry<'a> {
    /// The number by which its kind travels.
    pub kind: u8,
    /// The entity.
    pub id: EntityId,
    /// Which fields, as a set of the kind's, and behind it each in a whole value.
    pub fields: &'a [u8],
}

impl Report {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        varint::put(out, self.early.map_or(0, |early| u64::from(early) + 1));
        varint::put(out, self.late.into());
        varint::put(out, self.starved.into());
    }

    pub(super) fn take(r: &mut Reader<'_>) -> Result<Report, DecodeError> {
        let (early, late, starved) = (take_u32(r)?, take_u32(r)?, take_u32(r)?);
        Ok(Report { early: early.checked_sub(1), late, starved })
    }
}

pub(super) fn put_inputs(out: &mut Vec<u8>, first: Tick, inputs: &[&[u8]]) {
    debug_assert!((1..=limits::INPUTS).contains(&inputs.len()));
    put_number(out, tag::INPUT, first.0);
    inputs.iter().for_each(|input| put_blob(out, input));
}

pub(super) fn take_inputs<'a>(r: &mut Reader<'a>) -> Result<(Tick, Vec<&'a [u8]>), DecodeError> {
    let first = Tick(r.varint()?);
    let mut inputs = Vec::new();
    while inputs.is_empty() || r.remaining() > 0 {
        if inputs.len() == limits::INPUTS {
            return Err(DecodeError::TooLong);
        }
        inputs.push(take_blob(r, limits::INPUT)?);
    }
    // The last one's tick is one that there can be.
    if first.0 > limits::ID_MOST { Err(DecodeError::Value) } else { Ok((first, inputs)) }
}

pub(super) fn put_writes(out: &mut Vec<u8>, number: u64, entries: &[WriteEntry<'_>]) {
    debug_assert!((1..=limits::WRITES).contains(&entries.len()));
    put_number(out, tag::WRITE, number);
    for WriteEntry { kind, id, fields } in entries {
        out.push(*kind);
        varint::put(out, id.get());
        put_blob(out, fields);
    }
}

pub(super) fn take_writes<'a>(r: &mut Reader<'a>) -> Result<(u64, Vec<WriteEntry<'a>>), DecodeError> {
    let number = r.varint()?;
    let mut entries: Vec<WriteEntry<'a>> = Vec::new();
    while entries.is_empty() || r.remaining() > 0 {
        if entries.len() == limits::WRITES {
            return Err(DecodeError::TooLong);
        }
        let kind = r.u8()?;
        let id = EntityId::from_wire(r.varint()?).ok_or(DecodeError::Value)?;
        // So an entity is written once: a message counts as one, whatever it has the game look at.
        if entries.last().is_some_and(|last| (last.kind, last.id) >= (kind, id)) {
            return Err(DecodeError::Order);
        }
        entries.push(WriteEntry { kind, id, fields: take_blob(r, limits::CLIENT_MESSAGE)? });
    }
    Ok((number, entries))
}

/// The number of a message of writes, which is all that is read of one past its sender's credit.
#[must_use]
pub fn writes_number(bytes: &[u8]) -> Option<u64> {
    let mut r = Reader::new(bytes);
    (r.u8().ok()? == tag::WRITE).then(|| r.varint().ok()).flatten()
}

fn take_blob<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a [u8], DecodeError> {
    let len = usize::try_from(r.varint()?).map_err(|_| DecodeError::TooLong)?;
    if len > most { Err(DecodeError::TooLong) } else { r.bytes(len) }
}

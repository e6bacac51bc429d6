//! `String` fields.

use super::{Codec, Field, OverLimit, WireType};
use crate::entity::WriteError;
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// The codec of `String`.
pub struct Text;

impl Field for String {
    type Codec = Text;
}

impl Codec for Text {
    type Value = String;
    type Track = Option<String>;
    type Outcome = Result<(), WriteError>;
    const WIRE: WireType = WireType::Text;

    fn check(value: &String) -> Result<(), OverLimit> {
        let (size, limit) = (value.len(), limits::TEXT);
        if size <= limit { Ok(()) } else { Err(OverLimit { size, limit }) }
    }
    fn size(value: &String) -> usize {
        varint::len(value.len() as u64) + value.len()
    }
    fn same(a: &String, b: &String) -> bool {
        a == b
    }
    fn replace(value: &mut String, new: String, track: &mut Option<String>, first: bool) {
        let old = std::mem::replace(value, new);
        if first {
            *track = Some(old);
        }
    }
    fn seal(value: &String, track: &mut Option<String>, _tick: Tick) -> bool {
        track.take().is_none_or(|base| base != *value)
    }
    fn put(value: &String, out: &mut Vec<u8>) {
        varint::put(out, value.len() as u64);
        out.extend_from_slice(value.as_bytes());
    }
    fn take(r: &mut Reader<'_>) -> Result<String, DecodeError> {
        r.text(limits::TEXT).map(str::to_owned)
    }
}

//! Games' own messages: serde values in MessagePack, structs as maps from names.
//!
//! Bytes from outside are walked once by [`scan`] before serde sees them, so that a declared count never sizes
//! an allocation and nesting never grows the stack.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{DecodeError, Reader};
use crate::limits;

/// A value that cannot be sent; nothing was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The encoding is too long.
    #[error("the message takes {size} bytes; the most is {limit}: shorten it or send it in several")]
    TooLarge {
        /// Bytes of the refused encoding.
        size: usize,
        /// The most bytes.
        limit: usize,
    },
    /// The value nests deeper, or holds more values, than a receiver accepts.
    #[error(
        "the message has more than {} levels or {} values: split it, or hold bytes as bytes and not as a list",
        limits::PAYLOAD_DEPTH,
        limits::PAYLOAD_VALUES
    )]
    TooComplex,
    /// The value's `Serialize` refused.
    #[error("the message cannot be encoded: {0}")]
    Serialize(String),
}

/// Appends `value` in MessagePack of at most `limit` bytes. On an error `out` is as it was.
pub fn encode<T: Serialize + ?Sized>(value: &T, limit: usize, out: &mut Vec<u8>) -> Result<(), PayloadError> {
    let start = out.len();
    let result = encode_from(value, limit, start, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn encode_from<T: Serialize + ?Sized>(
    value: &T,
    limit: usize,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<(), PayloadError> {
    let mut capped = Capped { out, limit, size: 0 };
    rmp_serde::encode::write_named(&mut capped, value)
        .map_err(|error| PayloadError::Serialize(error.to_string()))?;
    let size = capped.size;
    if size > limit {
        return Err(PayloadError::TooLarge { size, limit });
    }
    // What the receiver would refuse is refused here, where the mistake is.
    scan(&out[start..]).map_err(|_| PayloadError::TooComplex)
}

/// Reads one value that fills `bytes`.
///
/// What the decoding allocates is bounded by the 8,192 values that [`scan`] lets through and by the size of
/// `T`'s own values.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    scan(bytes)?;
    let mut from = rmp_serde::Deserializer::from_read_ref(bytes);
    from.set_max_depth(limits::PAYLOAD_DEPTH + 1);
    let value = T::deserialize(&mut from).map_err(|_| DecodeError::Payload)?;
    // A type may stop before the end of what was scanned. One more read must find no byte at all.
    match u8::deserialize(&mut from) {
        Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) => Ok(value),
        _ => Err(DecodeError::Trailing),
    }
}

/// Checks that `bytes` are exactly one MessagePack value of at most [`limits::PAYLOAD_DEPTH`] nested arrays and
/// maps and [`limits::PAYLOAD_VALUES`] values (the keys of maps are values, too), each complete.
pub fn scan(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut r = Reader::new(bytes);
    // Values still to come in each open array or map. Invariant: none of `open[..depth]` is 0.
    let mut open = [0usize; limits::PAYLOAD_DEPTH];
    let mut depth = 0;
    let (mut declared, mut pending) = (1usize, 1usize);
    loop {
        let children = take_value(&mut r)?;
        pending -= 1;
        if let Some(n) = children {
            if depth == limits::PAYLOAD_DEPTH {
                return Err(DecodeError::TooLong);
            }
            declared = declared.saturating_add(n);
            if declared > limits::PAYLOAD_VALUES {
                return Err(DecodeError::TooLong);
            }
            pending += n;
            if n > 0 {
                open[depth] = n;
                depth += 1;
            }
        }
        // Every value takes a byte at least.
        if pending > r.remaining() {
            return Err(DecodeError::Truncated);
        }
        if children.unwrap_or(0) > 0 {
            continue;
        }
        while depth > 0 {
            open[depth - 1] -= 1;
            if open[depth - 1] > 0 {
                break;
            }
            depth -= 1;
        }
        if depth == 0 {
            return r.end();
        }
    }
}

/// Whether every float in a value that was [scanned](scan) is finite, also as an `f32`.
pub fn is_finite(bytes: &[u8]) -> bool {
    let mut r = Reader::new(bytes);
    while r.remaining() > 0 {
        let mut float = r.clone();
        let finite = match float.u8() {
            Ok(0xca) => float.array().is_ok_and(|bytes| f32::from_be_bytes(bytes).is_finite()),
            Ok(0xcb) => float.array().is_ok_and(|bytes| (f64::from_be_bytes(bytes) as f32).is_finite()),
            _ => true,
        };
        if !finite || take_value(&mut r).is_err() {
            return false;
        }
    }
    true
}

/// Reads one value's head and, of strings and numbers, the rest. Returns how many values an array or map holds.
fn take_value(r: &mut Reader<'_>) -> Result<Option<usize>, DecodeError> {
    let head = r.u8()?;
    let skip = match head {
        0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => 0,
        0x80..=0x8f => return Ok(Some(usize::from(head & 0x0f) * 2)),
        0x90..=0x9f => return Ok(Some(usize::from(head & 0x0f))),
        0xa0..=0xbf => usize::from(head & 0x1f),
        // Never used by MessagePack.
        0xc1 => return Err(DecodeError::Value),
        0xc4 | 0xd9 => number::<1>(r)?,
        0xc5 | 0xda => number::<2>(r)?,
        0xc6 | 0xdb => number::<4>(r)?,
        // An extension's type takes one byte more than its data.
        0xc7 => number::<1>(r)?.saturating_add(1),
        0xc8 => number::<2>(r)?.saturating_add(1),
        0xc9 => number::<4>(r)?.saturating_add(1),
        0xcc | 0xd0 => 1,
        0xcd | 0xd1 | 0xd4 => 2,
        0xd5 => 3,
        0xca | 0xce | 0xd2 => 4,
        0xd6 => 5,
        0xcb | 0xcf | 0xd3 => 8,
        0xd7 => 9,
        0xd8 => 17,
        0xdc => return Ok(Some(number::<2>(r)?)),
        0xdd => return Ok(Some(number::<4>(r)?)),
        0xde => return Ok(Some(number::<2>(r)? * 2)),
        0xdf => return Ok(Some(number::<4>(r)?.saturating_mul(2))),
    };
    r.bytes(skip)?;
    Ok(None)
}

/// A big-endian number of `N` bytes, at most four.
fn number<const N: usize>(r: &mut Reader<'_>) -> Result<usize, DecodeError> {
    let value = r.array::<N>()?.iter().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
    usize::try_from(value).map_err(|_| DecodeError::TooLong)
}

/// Keeps the first `limit` bytes and counts all, so that an error can name the size without holding it.
struct Capped<'a> {
    out: &'a mut Vec<u8>,
    limit: usize,
    size: usize,
}

impl io::Write for Capped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.size += bytes.len();
        if self.size <= self.limit {
            self.out.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Move {
        Pass,
        Play { card: u8, to: String },
        Say(String),
    }

    fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, limits::CLIENT_PAYLOAD, &mut out).unwrap();
        out
    }

    #[test]
    fn values_round_trip_with_their_names() {
        let play = Move::Play { card: 7, to: "ada".into() };
        assert!(bytes(&play).windows(4).any(|w| w == b"card"));
        for value in [Move::Pass, play, Move::Say("hi".into())] {
            assert_eq!(decode::<Move>(&bytes(&value)), Ok(value));
        }
        let map = BTreeMap::from([(1u32, vec![Some(-5i64), None]), (70_000, vec![])]);
        assert_eq!(decode::<BTreeMap<u32, Vec<Option<i64>>>>(&bytes(&map)), Ok(map));
        assert_eq!(decode::<()>(&bytes(&())), Ok(()));
    }

    #[test]
    fn a_long_message_is_refused_with_its_size_and_leaves_nothing() {
        let mut out = vec![1, 2];
        let error = encode(&"x".repeat(70_000), 1000, &mut out).unwrap_err();
        assert_eq!(error, PayloadError::TooLarge { size: 70_005, limit: 1000 });
        assert_eq!(out, [1, 2]);
        encode(&"x".repeat(995), 997, &mut out).unwrap_err();
        encode(&"x".repeat(995), 998, &mut out).unwrap();
        assert_eq!(out.len(), 1000);
    }

    #[test]
    fn a_message_that_its_receiver_would_refuse_is_refused_at_once() {
        let mut out = Vec::new();
        let list = vec![0u8; limits::PAYLOAD_VALUES];
        assert_eq!(encode(&list, limits::CLIENT_PAYLOAD, &mut out), Err(PayloadError::TooComplex));
        assert!(out.is_empty());
        encode(&list[1..], limits::CLIENT_PAYLOAD, &mut out).unwrap();
        let refusing = BTreeMap::from([(1, f64::NAN)]);
        assert!(encode(&refusing, 100, &mut out).is_ok());
    }

    #[test]
    fn depth_and_values_are_bounded() {
        let nested = |levels: usize, inner: u8| {
            let mut bytes = vec![0x91; levels - 1];
            bytes.push(inner);
            bytes
        };
        assert_eq!(scan(&nested(limits::PAYLOAD_DEPTH, 0x90)), Ok(()));
        assert_eq!(scan(&nested(limits::PAYLOAD_DEPTH + 1, 0xc0)), Ok(()));
        assert_eq!(scan(&nested(limits::PAYLOAD_DEPTH + 1, 0x90)), Err(DecodeError::TooLong));
        assert!(scan(&vec![0x91; 20_000]).is_err());

        // A map of n entries holds 2n values and is one itself.
        let map = |entries: u16| {
            let mut bytes = vec![0xde];
            bytes.extend(entries.to_be_bytes());
            bytes.extend(vec![0; usize::from(entries) * 2]);
            bytes
        };
        assert_eq!(scan(&map(4095)), Ok(()));
        assert_eq!(scan(&map(4096)), Err(DecodeError::TooLong));
        let mut strings = vec![0xdc];
        strings.extend(10_000u16.to_be_bytes());
        strings.extend(vec![0xa0; 10_000]);
        assert_eq!(scan(&strings), Err(DecodeError::TooLong));
    }

    #[test]
    fn declared_counts_are_checked_against_what_is_left() {
        for bytes in [
            &[0xdd, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 0, 0, 0][..],
            &[0xdf, 0xff, 0xff, 0xff, 0xff],
            &[0xdc, 0, 3, 0, 0],
            &[0x92, 0x92, 0, 0],
            &[0xdb, 0xff, 0xff, 0xff, 0xff, b'x'],
            &[0xc6, 0, 0, 0, 2, 0],
            &[0xc9, 0xff, 0xff, 0xff, 0xff, 0, 0],
            &[0xd8, 1],
            &[0xcb, 1],
            &[0xa2, b'x'],
            &[0xc1],
            &[0x91, 0xc1],
            &[0, 0],
            &[0x91, 0, 0],
            &[],
        ] {
            assert!(scan(bytes).is_err(), "{bytes:02x?}");
            assert!(decode::<serde::de::IgnoredAny>(bytes).is_err(), "{bytes:02x?}");
        }
        for bytes in [&[0xc7, 1, 5, 9][..], &[0xd4, 5, 9], &[0xc4, 0], &[0x82, 1, 0x90, 2, 0x80]] {
            assert_eq!(scan(bytes), Ok(()), "{bytes:02x?}");
            assert!(decode::<serde::de::IgnoredAny>(bytes).is_ok(), "{bytes:02x?}");
        }
    }

    #[test]
    fn floats_that_are_not_finite_are_found_wherever_they_stand() {
        for number in [0.0, -1.5, f64::from(f32::MAX)] {
            assert!(is_finite(&bytes(&("\u{cb}", number, number as f32, [1, 2]))), "{number}");
        }
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            assert!(!is_finite(&bytes(&BTreeMap::from([("a", vec![Some(0.0), Some(number)])]))), "{number}");
            assert!(!is_finite(&bytes(&(1, number as f32))), "{number}");
        }
    }

    #[test]
    fn another_type_is_an_error() {
        assert_eq!(decode::<Move>(&bytes(&5)), Err(DecodeError::Payload));
        assert_eq!(decode::<(u8, u8)>(&bytes(&(1u8, 2u8, 3u8))), Err(DecodeError::Payload));
        assert_eq!(decode::<u8>(&bytes(&300)), Err(DecodeError::Payload));
    }
}

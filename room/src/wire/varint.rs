//! Little-endian base-128 integers: seven bits a byte, the lowest first, the top bit set on all but the last.

use super::{DecodeError, Reader};

/// The most bytes a 64-bit varint takes.
pub const MAX_LEN: usize = 10;

/// Appends `value`.
#[inline(always)]
pub fn put(out: &mut Vec<u8>, value: u64) {
    // Nearly all are so short.
    if value < 0x80 {
        out.push(value as u8);
    } else {
        put_long(out, value);
    }
}

fn put_long(out: &mut Vec<u8>, mut value: u64) {
    let low = |shift: u32| (value >> shift) as u8 & 0x7f;
    match value {
        0x80..0x4000 => return out.extend_from_slice(&[low(0) | 0x80, low(7)]),
        0x4000..0x20_0000 => return out.extend_from_slice(&[low(0) | 0x80, low(7) | 0x80, low(14)]),
        _ => {}
    }
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes [`put`] would append.
#[inline]
#[must_use]
pub fn len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Maps small negative and positive numbers to small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads one varint. Only the shortest form of a number is accepted, so that one value has one encoding.
#[inline]
pub fn take(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let mut value = 0u64;
    for i in 0..MAX_LEN {
        let byte = r.u8()?;
        if i == MAX_LEN - 1 && byte > 1 {
            return Err(DecodeError::Varint);
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return if byte == 0 && i > 0 { Err(DecodeError::Varint) } else { Ok(value) };
        }
    }
    Err(DecodeError::Varint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_reports_its_length() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put(&mut out, value);
                assert_eq!(out.len(), len(value), "{value}");
                assert_eq!(take(&mut Reader::new(&out)), Ok(value));
            }
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }

    #[test]
    fn refuses_long_and_padded_forms() {
        for bytes in [&[0x80, 0x00][..], &[0xff; 10], &[0xff; 11], &[0x80], &[]] {
            assert!(take(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
    }
}

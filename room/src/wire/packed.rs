//! Packed records: an ID and differences in as few whole bytes as hold their bits.
//!
//! A varint has a bit in eight that says nothing but whether another byte follows, and a difference of nine bits takes two
//! bytes. All records of a packed group have the same layout, which stands once before them.

use super::{DecodeError, Reader, varint};
use crate::limits;

/// The layout of a group of packed records: from the lowest bit the ID, then each difference, then zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packing {
    /// Bits of the ID.
    id: u8,
    /// How many differences a record has.
    differences: u8,
    /// Bytes of a record.
    bytes: u8,
}

/// The most bytes of a packed record.
pub const MOST: usize = 8;
/// The most differences of one.
const DIFFERENCES: usize = 16;
/// The most bits of an ID.
const ID_BITS: usize = limits::ID_MOST.ilog2() as usize + 1;
/// A varint's bits in each of its bytes.
const SEVEN: usize = 7;

impl Packing {
    /// The layout of a record that consists of varints, and the record in it; none where that is no shorter.
    #[must_use]
    pub fn of(record: &[u8]) -> Option<(Packing, u64)> {
        let mut r = Reader::new(record);
        let id = r.varint().ok()?;
        let id_bits = (SEVEN * (record.len() - r.remaining())).min(ID_BITS);
        // A difference has at least one bit.
        let (mut values, mut count, mut any) = ([0; DIFFERENCES], 0, 1u64);
        while !r.is_empty() {
            *values.get_mut(count)? = r.varint().ok()?;
            any |= values[count];
            count += 1;
        }
        let bits = id_bits + count * (64 - any.leading_zeros() as usize);
        let bytes = bits.div_ceil(8);
        if count == 0 || bytes >= record.len() || bytes > MOST {
            return None;
        }
        let packing = Packing { id: id_bits as u8, differences: count as u8, bytes: bytes as u8 };
        let mut packed = id;
        for (value, at) in values[..count].iter().zip(0..) {
            packed |= value << packing.place(at);
        }
        Some((packing, packed))
    }

    /// The bytes of a record.
    #[must_use]
    pub fn record_len(self) -> usize {
        self.bytes.into()
    }

    /// Bits of each difference: as many as the bytes have room for.
    fn width(self) -> u32 {
        (u32::from(self.bytes) * 8 - u32::from(self.id)) / u32::from(self.differences)
    }

    /// The lowest bit of a difference.
    fn place(self, at: u32) -> u32 {
        u32::from(self.id) + at * self.width()
    }

    /// Appends it to a group's head.
    pub fn put(self, out: &mut Vec<u8>) {
        out.extend([self.id, self.differences, self.bytes]);
    }

    /// Reads what [`put`](Self::put) wrote.
    pub fn take(r: &mut Reader<'_>) -> Result<Packing, DecodeError> {
        let packing = Packing { id: r.u8()?, differences: r.u8()?, bytes: r.u8()? };
        let Packing { id, differences, bytes } = packing;
        let fits = (1..=MOST).contains(&bytes.into())
            && (1..=ID_BITS).contains(&id.into())
            && (1..=DIFFERENCES).contains(&differences.into())
            && u32::from(id) + u32::from(differences) <= u32::from(bytes) * 8;
        if fits { Ok(packing) } else { Err(DecodeError::Value) }
    }

    /// Reads a record: returns its ID, and puts its differences into `varints` as such. The ID 0 ends a group.
    pub fn read(self, r: &mut Reader<'_>, varints: &mut Vec<u8>) -> Result<u64, DecodeError> {
        let mut le = [0; MOST];
        le[..self.record_len()].copy_from_slice(r.bytes(self.record_len())?);
        let packed = u64::from_le_bytes(le);
        let bits = |from: u32, many: u32| packed.checked_shr(from).unwrap_or(0) & (u64::MAX >> (64 - many));
        let (id, end) = (bits(0, self.id.into()), self.place(self.differences.into()));
        // One record has one encoding.
        if packed.checked_shr(end).unwrap_or(0) != 0 || (id == 0 && packed != 0) {
            return Err(DecodeError::Value);
        }
        varints.clear();
        for at in 0..self.differences {
            varint::put(varints, bits(self.place(at.into()), self.width()));
        }
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64, differences: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        varint::put(&mut out, id);
        differences.iter().for_each(|difference| varint::put(&mut out, varint::zigzag(*difference)));
        out
    }

    #[test]
    fn a_packed_record_is_shorter_and_comes_back() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut packed = 0;
        for _ in 0..20_000 {
            let bits = next(30);
            let id = 1 + next(1 << bits);
            let most = 1u64 << next(20);
            let differences: Vec<i64> =
                (0..1 + next(5)).map(|_| next(2 * most + 1) as i64 - most as i64).collect();
            let plain = record(id, &differences);
            let Some((packing, bits)) = Packing::of(&plain) else { continue };
            packed += 1;
            assert!(packing.record_len() < plain.len());
            let mut out = Vec::new();
            packing.put(&mut out);
            out.extend_from_slice(&bits.to_le_bytes()[..packing.record_len()]);
            let (mut r, mut varints) = (Reader::new(&out), Vec::new());
            assert_eq!(Packing::take(&mut r), Ok(packing));
            assert_eq!(packing.read(&mut r, &mut varints), Ok(id));
            assert!(r.is_empty());
            assert_eq!(varints, plain[plain.len() - varints.len()..]);
        }
        assert!(packed > 2_000, "{packed}");
    }

    #[test]
    fn what_flies_takes_four_bytes_and_not_six() {
        let (packing, _) = Packing::of(&record(9_999, &[200, -200])).expect("it is shorter");
        assert_eq!((packing.record_len(), packing.width()), (4, 9));
        assert_eq!(Packing::of(&record(9_999, &[50, -50])), None, "four bytes are as many");
    }

    #[test]
    fn a_layout_or_record_that_cannot_be_is_an_error() {
        for head in [[0, 1, 1], [54, 1, 8], [7, 0, 1], [7, 17, 8], [8, 1, 1], [7, 1, 0], [7, 1, 9]] {
            assert_eq!(Packing::take(&mut Reader::new(&head)), Err(DecodeError::Value), "{head:?}");
        }
        let packing = Packing { id: 7, differences: 2, bytes: 2 };
        let read = |bytes: [u8; 2]| packing.read(&mut Reader::new(&bytes), &mut Vec::new());
        assert_eq!(read([0, 0]), Ok(0));
        assert_eq!(read([1, 0x7f]), Ok(1));
        assert_eq!(read([1, 0x80]), Err(DecodeError::Value), "a bit past the last difference");
        assert_eq!(read([0x80, 0]), Err(DecodeError::Value), "an end with a difference");
    }
}

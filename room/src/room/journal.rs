//! A room's log: what its rows say.
//!
//! A row is entries one behind the other, and a checksum over them, the room's name and the row's number. The first
//! entry says of which tick the others are. Reading the rows in their order, each entry on top of those before it,
//! gives the room as it was at the last commit ([`image`]).

pub(super) mod entry;
pub(super) mod image;

use crate::wire::{DecodeError, Reader};
pub(super) use entry::Entry;

/// The version of rows. A room does not read those of a newer one.
const VERSION: u8 = 1;
/// Bytes of a checksum.
const SUM: usize = 4;

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowError {
    #[error("row {0} does not have its checksum")]
    Sum(u64),
    #[error("row {0} is of version {1}, which this build does not know")]
    Version(u64, u8),
    #[error("row {0}: {1}")]
    Decode(u64, DecodeError),
    #[error("row {0} makes no sense behind those before it: {1}")]
    Order(u64, &'static str),
}

/// A row under way.
#[derive(Debug, Default)]
pub(super) struct Row(Vec<u8>);

impl Row {
    pub(super) fn new() -> Row {
        Row(vec![VERSION])
    }

    pub(super) fn push(&mut self, entry: &Entry<'_>) {
        entry.put(&mut self.0);
    }

    /// Whether it has no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.0.len() <= 1
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The finished row.
    pub(super) fn seal(self, room: &str, number: u64) -> Vec<u8> {
        let mut bytes = self.0;
        let sum = checksum(room, number, &bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }
}

/// The entries of a row.
pub(super) fn entries<'a>(
    room: &str,
    number: u64,
    row: &'a [u8],
) -> Result<impl Iterator<Item = Result<Entry<'a>, RowError>> + use<'a>, RowError> {
    let (bytes, sum) = row.split_last_chunk::<SUM>().ok_or(RowError::Sum(number))?;
    if checksum(room, number, bytes) != *sum {
        return Err(RowError::Sum(number));
    }
    let mut r = Reader::new(bytes);
    match r.u8() {
        Ok(VERSION) => {}
        Ok(version) => return Err(RowError::Version(number, version)),
        Err(error) => return Err(RowError::Decode(number, error)),
    }
    Ok(std::iter::from_fn(move || {
        let read = |r: &mut Reader<'a>| Entry::take(r).map_err(|error| RowError::Decode(number, error));
        (!r.is_empty()).then(|| read(&mut r))
    }))
}

/// A row under another name or number is no row of this room.
fn checksum(room: &str, number: u64, bytes: &[u8]) -> [u8; SUM] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(room.as_bytes());
    sum.update(&number.to_le_bytes());
    sum.update(bytes);
    sum.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::Tick;

    #[test]
    fn a_row_is_what_was_written_or_an_error() {
        let mut row = Row::new();
        assert!(row.is_empty());
        row.push(&Entry::Tick(Tick(7)));
        row.push(&Entry::Failed);
        let bytes = row.seal("a", 3);
        let read: Result<Vec<_>, _> = entries("a", 3, &bytes).unwrap().collect();
        assert_eq!(read.unwrap(), [Entry::Tick(Tick(7)), Entry::Failed]);
        assert!(entries("b", 3, &bytes).is_err() && entries("a", 4, &bytes).is_err());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(entries("a", 3, &damaged).is_err(), "byte {at}");
            assert!(entries("a", 3, &bytes[..at]).is_err());
        }
    }
}

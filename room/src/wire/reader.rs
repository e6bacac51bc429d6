//! A cursor over bytes from outside.

use super::{DecodeError, varint};

/// Reads values from the front of a byte slice. Every read is checked; none panics or allocates.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// Bytes not yet read.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        let (&head, tail) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    /// A varint.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        varint::take(self)
    }

    /// A varint that counts bytes or items still to come, each of at least one byte: checked against what is
    /// left and against `most`, so that a declared count never sizes an allocation by itself.
    #[inline]
    pub fn count(&mut self, most: usize) -> Result<usize, DecodeError> {
        let n = self.varint()?;
        if n > most as u64 {
            return Err(DecodeError::TooLong);
        }
        if n > self.rest.len() as u64 {
            return Err(DecodeError::Truncated);
        }
        Ok(n as usize)
    }

    /// A counted byte string of at most `most` bytes.
    #[inline]
    pub fn blob(&mut self, most: usize) -> Result<&'a [u8], DecodeError> {
        let n = self.count(most)?;
        self.bytes(n)
    }

    /// A counted UTF-8 string of at most `most` bytes.
    pub fn text(&mut self, most: usize) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.blob(most)?).map_err(|_| DecodeError::Text)
    }

    /// Everything not yet read.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Fails if bytes are left.
    pub fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

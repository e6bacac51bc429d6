//! Bytes as choices.

/// What is left of an input. Past its end everything is 0.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.u8()) % end.max(1)
    }

    /// One in so many times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub(crate) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let len = self.below(most + 1).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// A number of any size: small ones, ends of ranges, and all others.
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(6) {
            0 | 1 => self.u8().into(),
            2 => self.u16().into(),
            3 => self.pick(&[0, 1, u64::MAX, 1 << 32, (1 << 53) - 1, 1 << 53, 1 << 63, u64::MAX - 1]),
            4 => u64::from(self.u16()) << self.below(48),
            _ => (0..8).fold(0, |number, _| number << 8 | u64::from(self.u8())),
        }
    }
}

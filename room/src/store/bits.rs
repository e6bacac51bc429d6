//! Sets of entity slots: dense ones to build and to test against, sparse ones to keep.

/// A set over all slots: one bit a slot, and one bit a non-empty word of 64 so that walking skips the rest.
#[derive(Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
    // Invariant: bit w is set exactly where words[w] != 0.
    summary: Vec<u64>,
}

impl Bits {
    /// Makes room for `slots` slots.
    pub fn grow(&mut self, slots: usize) {
        let words = slots.div_ceil(64);
        if words > self.words.len() {
            self.words.resize(words, 0);
            self.summary.resize(words.div_ceil(64), 0);
        }
    }

    /// Adds a slot; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        let (w, bit) = ((slot >> 6) as usize, 1 << (slot & 63));
        let new = self.words[w] & bit == 0;
        self.words[w] |= bit;
        self.summary[w >> 6] |= 1 << (w & 63);
        new
    }

    /// Takes a slot out; returns whether it was in.
    pub fn remove(&mut self, slot: u32) -> bool {
        let (w, bit) = ((slot >> 6) as usize, 1 << (slot & 63));
        let had = self.words[w] & bit != 0;
        self.words[w] &= !bit;
        if self.words[w] == 0 {
            self.summary[w >> 6] &= !(1 << (w & 63));
        }
        had
    }

    /// Whether a slot is in it.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.words.get((slot >> 6) as usize).is_some_and(|w| w >> (slot & 63) & 1 != 0)
    }

    /// The word of 64 slots at `index`.
    #[inline]
    #[must_use]
    pub fn word(&self, index: u32) -> u64 {
        self.words.get(index as usize).copied().unwrap_or(0)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.summary.iter().all(|w| *w == 0)
    }

    /// Empties it, touching only what is set.
    pub fn clear(&mut self) {
        for s in 0..self.summary.len() {
            let mut rest = std::mem::take(&mut self.summary[s]);
            while rest != 0 {
                self.words[s * 64 + rest.trailing_zeros() as usize] = 0;
                rest &= rest - 1;
            }
        }
    }

    /// Non-empty words in order, with their indices.
    pub fn words(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.summary.iter().enumerate().flat_map(move |(s, summary)| {
            Ones(*summary).map(move |w| {
                let index = s * 64 + w as usize;
                (index as u32, self.words[index])
            })
        })
    }

    /// Slots in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words().flat_map(|(w, bits)| Ones(bits).map(move |b| w * 64 + b))
    }

    /// Adds every slot of a sparse set.
    pub fn union(&mut self, other: &SlotSet) {
        for (w, bits) in &other.words {
            self.words[*w as usize] |= bits;
            self.summary[(w >> 6) as usize] |= 1 << (w & 63);
        }
    }
}

/// The positions of a word's set bits, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Ones(pub u64);

impl Iterator for Ones {
    type Item = u32;
    #[inline]
    fn next(&mut self) -> Option<u32> {
        (self.0 != 0).then(|| {
            let bit = self.0.trailing_zeros();
            self.0 &= self.0 - 1;
            bit
        })
    }
}

/// A set of slots whose memory follows its size: the non-empty words in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotSet {
    // Invariant: strictly rising indices, no empty word.
    words: Vec<(u32, u64)>,
}

impl SlotSet {
    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many slots are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|(_, w)| w.count_ones() as usize).sum()
    }

    /// Appends a word behind all others.
    #[inline]
    pub fn push_word(&mut self, index: u32, bits: u64) {
        debug_assert!(self.words.last().is_none_or(|(last, _)| *last < index));
        if bits != 0 {
            self.words.push((index, bits));
        }
    }

    /// Becomes the same set as `other`, in the memory it has.
    pub fn assign(&mut self, other: &SlotSet) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
    }

    /// Becomes the same set as `bits`.
    pub fn copy_from(&mut self, bits: &Bits) {
        self.words.clear();
        self.words.extend(bits.words());
    }

    /// The non-empty words in order.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[(u32, u64)] {
        &self.words
    }

    /// Whether a slot is in it.
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.words
            .binary_search_by_key(&(slot >> 6), |(w, _)| *w)
            .is_ok_and(|i| self.words[i].1 >> (slot & 63) & 1 != 0)
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: u32) {
        match self.words.binary_search_by_key(&(slot >> 6), |(w, _)| *w) {
            Ok(i) => self.words[i].1 |= 1 << (slot & 63),
            Err(i) => self.words.insert(i, (slot >> 6, 1 << (slot & 63))),
        }
    }

    /// Takes a slot out; returns whether it was in.
    pub fn remove(&mut self, slot: u32) -> bool {
        let Ok(i) = self.words.binary_search_by_key(&(slot >> 6), |(w, _)| *w) else { return false };
        let bit = 1 << (slot & 63);
        let had = self.words[i].1 & bit != 0;
        self.words[i].1 &= !bit;
        if self.words[i].1 == 0 {
            self.words.remove(i);
        }
        had
    }

    /// Slots in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().flat_map(|(w, bits)| Ones(*bits).map(move |b| w * 64 + b))
    }
}

/// Walks two sets word by word: the index, the word of the first, the word of the second.
pub fn pairs<'a>(
    a: impl Iterator<Item = (u32, u64)> + 'a,
    b: impl Iterator<Item = (u32, u64)> + 'a,
) -> impl Iterator<Item = (u32, u64, u64)> + 'a {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x.0 == y.0 => Some((x.0, a.next()?.1, b.next()?.1)),
        (Some(x), Some(y)) if x.0 < y.0 => a.next().map(|(w, bits)| (w, bits, 0)),
        (Some(_), None) => a.next().map(|(w, bits)| (w, bits, 0)),
        (_, Some(_)) => b.next().map(|(w, bits)| (w, 0, bits)),
        (None, None) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn both_sets_agree_with_a_plain_one() {
        let mut seed = 7u64;
        let mut next = move |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let (mut dense, mut sparse, mut plain) = (Bits::default(), SlotSet::default(), BTreeSet::new());
            dense.grow(10_000);
            for _ in 0..next(300) {
                let slot = next(10_000) as u32;
                assert_eq!(dense.insert(slot), plain.insert(slot));
                sparse.insert(slot);
            }
            let list: Vec<u32> = plain.iter().copied().collect();
            assert_eq!(dense.iter().collect::<Vec<_>>(), list);
            assert_eq!(sparse.iter().collect::<Vec<_>>(), list);
            let mut copy = SlotSet::default();
            copy.copy_from(&dense);
            assert_eq!(copy, sparse);
            for slot in list {
                assert!(dense.contains(slot) && sparse.contains(slot) && sparse.remove(slot));
                assert!(!sparse.contains(slot));
            }
            assert!(sparse.is_empty());
            dense.clear();
            assert!(dense.is_empty() && dense.iter().next().is_none());
        }
    }
}

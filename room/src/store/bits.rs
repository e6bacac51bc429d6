//! Sets of entity slots: dense ones to build and to test against, sparse ones to keep.

/// Words of a block: what one mark of a dense set stands for.
const BLOCK: usize = 64;

/// A set over all slots: one bit a slot. A mark for each block of 4,096 slots lets walking and emptying skip the
/// blocks that nothing was put into.
#[derive(Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
    // Invariant: set where a word of the block is not 0; may be set elsewhere too. A plain store, so that adding
    // many slots does not wait on one another.
    marks: Vec<bool>,
}

impl Bits {
    /// Makes room for `slots` slots.
    pub fn grow(&mut self, slots: usize) {
        let blocks = slots.div_ceil(64 * BLOCK);
        if blocks > self.marks.len() {
            self.words.resize(blocks * BLOCK, 0);
            self.marks.resize(blocks, false);
        }
    }

    /// Adds a slot; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        let w = (slot >> 6) as usize;
        let (word, bit) = (self.words[w], 1 << (slot & 63));
        self.words[w] = word | bit;
        self.marks[w / BLOCK] = true;
        word & bit == 0
    }

    /// Takes a slot out; returns whether it was in.
    pub fn remove(&mut self, slot: u32) -> bool {
        let had = self.contains(slot);
        if had {
            self.words[(slot >> 6) as usize] &= !(1 << (slot & 63));
        }
        had
    }

    /// Whether a slot is in it.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.word(slot >> 6) >> (slot & 63) & 1 != 0
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
        self.words().next().is_none()
    }

    /// How many slots are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words().map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// Empties it, touching only the blocks that were put into.
    pub fn clear(&mut self) {
        for (mark, block) in self.marks.iter_mut().zip(self.words.chunks_exact_mut(BLOCK)) {
            if std::mem::take(mark) {
                block.fill(0);
            }
        }
    }

    /// Non-empty words in order, with their indices.
    #[inline]
    pub fn words(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let blocks = self.marks.iter().zip(self.words.chunks_exact(BLOCK)).enumerate();
        blocks.filter(|(_, (mark, _))| **mark).flat_map(|(b, (_, block))| {
            let words = block.iter().enumerate().filter(|(_, word)| **word != 0);
            words.map(move |(w, word)| ((b * BLOCK + w) as u32, *word))
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
            self.marks[*w as usize / BLOCK] = true;
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

    /// Becomes the same set as a dense one, in the memory it has.
    pub fn assign_bits(&mut self, bits: &Bits) {
        self.words.clear();
        let mut end = 0;
        for (b, (_, block)) in
            bits.marks.iter().zip(bits.words.chunks_exact(BLOCK)).enumerate().filter(|(_, m)| *m.0)
        {
            // Which words are empty is a coin's throw, so each is written, and counted without a branch.
            self.words.resize(end + BLOCK, (0, 0));
            for (w, word) in block.iter().enumerate() {
                self.words[end] = ((b * BLOCK + w) as u32, *word);
                end += usize::from(*word != 0);
            }
        }
        self.words.truncate(end);
    }

    /// Becomes the same set as `other`, in the memory it has.
    pub fn assign(&mut self, other: &SlotSet) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
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

/// Walks a sparse and a second set word by word: calls `f` with the index, the word of the first and the word of
/// the second.
#[inline]
pub fn compare(a: &SlotSet, b: impl Iterator<Item = (u32, u64)>, mut f: impl FnMut(u32, u64, u64)) {
    let mut old = a.words.iter().copied().peekable();
    b.for_each(|(w, new)| {
        while let Some((gone, bits)) = old.next_if(|(index, _)| *index < w) {
            f(gone, bits, 0);
        }
        f(w, old.next_if(|(index, _)| *index == w).map_or(0, |(_, bits)| bits), new);
    });
    old.for_each(|(gone, bits)| f(gone, bits, 0));
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
            copy.assign_bits(&dense);
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

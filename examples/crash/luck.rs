//! Chances from a seed.

/// A generator of chances.
#[derive(Clone, Debug)]
pub struct Luck(u64);

impl Luck {
    pub fn new(seed: u64) -> Luck {
        Luck(seed)
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below another.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }

    /// A number from one to another.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Another generator.
    pub fn split(&mut self) -> Luck {
        Luck(self.draw())
    }
}

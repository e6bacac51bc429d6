//! A small generator: every run of every peer moves alike.

/// The state.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// From 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 31) as f64
    }

    /// A whole number from `-most` to `most`.
    pub fn within(&mut self, most: i32) -> i32 {
        (self.next() % (2 * most as u64 + 1)) as i32 - most
    }
}

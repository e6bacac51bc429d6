//! A hash of what a client holds, by which two ends find out that they differ.

use crate::entity::EntityId;

/// 64-bit FNV-1a over the entities in ID order: each ID as eight bytes, then every field's encoding.
#[derive(Clone, Copy, Debug)]
pub struct ViewHash(u64);

impl ViewHash {
    /// Of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        ViewHash(0xcbf2_9ce4_8422_2325)
    }

    /// Adds the next entity.
    pub fn add(&mut self, id: EntityId, whole: &[u8]) {
        for byte in id.get().to_le_bytes().iter().chain(whole) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0
    }
}

impl Default for ViewHash {
    fn default() -> Self {
        ViewHash::new()
    }
}

//! The hash of a view.

use super::Viewer;
use crate::sync::interest::Part;
use crate::sync::world::World;
use crate::wire::record::SentBytes;

impl Viewer {
    /// A hash of what the client holds: IDs in order, each with its whole encoding.
    pub(super) fn hash(&self, parts: &[Part], world: &World) -> u64 {
        let mut members = self.members(parts, world);
        members.sort_unstable();
        let mut hash = crate::wire::ViewHash::new();
        let mut record = SentBytes::default();
        for (id, slot) in members {
            record.reset();
            world.put_whole(slot, &mut record);
            hash.add(id, record.as_slice());
        }
        hash.finish()
    }
}

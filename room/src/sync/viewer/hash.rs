//! The hash of a view.

use super::Viewer;
use crate::entity::EntityId;
use crate::sync::world::World;
use crate::wire::record::SentBytes;

impl Viewer {
    /// A hash of what the client holds: IDs in order, each with its whole encoding.
    pub(super) fn hash(&self, world: &World) -> u64 {
        let mut members: Vec<(EntityId, u32)> = self.view.iter().map(|s| (world.info(s).id, s)).collect();
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

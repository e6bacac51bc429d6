//! The view of a client that comes back, made of what it says that it holds, and what such a claim counts for.

use super::Viewer;
use crate::entity::PlayerId;
use crate::faults::{self, Fault};
use crate::sync::interest::Part;
use crate::sync::world::World;
use crate::tick::Tick;
use crate::wire::message::Claim;

impl Viewer {
    /// A viewer of a client that comes back. What it claims to hold up to a tick is brought up to date; what does
    /// not live any more, or was created later, leaves. Of another generation, everything leaves.
    #[must_use]
    pub fn resumed(
        player: PlayerId,
        parts: usize,
        claim: &Claim,
        complete: Option<Tick>,
        world: &World,
    ) -> Viewer {
        let mut viewer = Viewer { claimed: true, rest_due: true, ..Viewer::new(player, parts) };
        viewer.behind = Some(complete.unwrap_or_default());
        let held = |slot: &u32| {
            let created = world.info(*slot).created;
            world.wire_kind(*slot).is_some()
                && created > Tick::ZERO
                && complete.is_some_and(|tick| created <= tick)
        };
        for id in &claim.ids {
            match world.slot(*id).filter(held) {
                Some(slot) => viewer.view.insert(slot),
                None => viewer.owed.push(*id),
            }
        }
        if faults::is(Fault::LeaveForgotten) {
            viewer.owed.clear();
        }
        viewer
    }

    /// Whether the client was sent the entity of a slot.
    #[must_use]
    pub fn knows(&self, slot: u32, parts: &[Part]) -> bool {
        if self.by_cells { self.sees_by_cells(slot, parts) } else { !self.claimed && self.has(slot) }
    }

    /// Whether the entity was in the view that the room made: a limit lets such stay a little longer.
    #[must_use]
    pub fn was_shown(&self, slot: u32) -> bool {
        !self.claimed && self.view.contains(slot)
    }
}

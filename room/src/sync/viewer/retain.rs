//! What the client keeps of what left its view, and what of it enters again.

use super::{Scratch, Sealed, Viewer};
use crate::entity::{EntityId, FieldMask};
use crate::limits;
use crate::sync::fit::What;
use crate::sync::update::{Returning, enter_len};
use crate::sync::world::World;
use crate::tick::Tick;
use crate::wire::record::SentBytes;
use crate::wire::varint;

/// What leaves and comes back in one update.
#[derive(Default)]
pub(super) struct Retaining {
    /// What leaves and is retained, in the order of IDs, with the tick up to which the client has it whole. In the
    /// list of leaves these stand first, before what is not retained.
    left: Vec<(EntityId, Tick)>,
    /// What leaves and is not retained, where anything is.
    gone: Vec<EntityId>,
    /// Whether anything is retained at all.
    used: bool,
    /// What enters again.
    pub(super) returns: Vec<Returning>,
    measured: SentBytes,
}

impl Retaining {
    /// How many of so many leaves are those of entities that live: all, where nothing is retained.
    pub(super) fn left(&self, leaves: usize) -> usize {
        if self.used { self.left.len() } else { leaves }
    }

    /// The slots of what enters again.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.returns.iter().map(|returning| returning.slot)
    }

    /// Adds what enters again.
    pub(super) fn add(&mut self, slot: u32, mask: FieldMask, since: Tick, world: &World) {
        let kind = world.wire_kind(slot).expect("only visible kinds are shown");
        self.returns.push(Returning { kind, mask, id: world.info(slot).id, slot, since });
    }
}

impl Viewer {
    /// The tick up to which the client has an entity whole that it retains; none where it retains none under this
    /// ID, or another: one that was created later.
    fn retains(&self, slot: u32, world: &World) -> Option<Tick> {
        let info = world.info(slot);
        self.retained.get(info.id).copied().filter(|since| info.created <= *since)
    }

    /// How an entity enters that the client does not have in view, and its size.
    pub(super) fn enter(&self, slot: u32, world: &World, measured: &mut SentBytes) -> (What, usize) {
        let Some(since) = self.retains(slot, world) else {
            return (What::Enter, enter_len(world, slot));
        };
        let mask = world.changed_since(slot, since);
        measured.reset();
        if !mask.is_empty() {
            world.put_since(slot, mask, since, measured);
        }
        // Where much of a large one changed, the piece that all share is smaller, and made once.
        if measured.len() >= limits::PIECE.max(world.size(slot) / 2) {
            return (What::Enter, enter_len(world, slot));
        }
        (What::Return(mask, since), varint::len(world.info(slot).id.get()) + measured.len())
    }

    /// Sorts out what of the leaves is retained and what of the enters returns, which it takes out of `enters`;
    /// returns the plain bytes of what returns.
    pub(super) fn find_retained(
        &self,
        sealed: &Sealed<'_>,
        leaves: &mut Vec<EntityId>,
        enters: &mut Vec<u32>,
        retaining: &mut Retaining,
        world: &World,
    ) -> usize {
        retaining.returns.clear();
        retaining.used = self.retained.most() > 0;
        if !retaining.used {
            return 0;
        }
        self.part_leaves(sealed, leaves, retaining, world);
        if self.retained.is_empty() {
            return 0;
        }
        let (mut plain, mut measured) = (0, std::mem::take(&mut retaining.measured));
        enters.retain(|slot| match self.enter(*slot, world, &mut measured) {
            (What::Return(mask, since), size) => {
                retaining.add(*slot, mask, since, world);
                plain += size + 3 + world.fields(*slot).div_ceil(8);
                false
            }
            _ => true,
        });
        retaining.measured = measured;
        plain
    }

    /// Puts the leaves of entities that live first.
    fn part_leaves(
        &self,
        sealed: &Sealed<'_>,
        leaves: &mut Vec<EntityId>,
        retaining: &mut Retaining,
        world: &World,
    ) {
        let Retaining { left, gone, .. } = retaining;
        left.clear();
        gone.clear();
        // What is owed was deleted, or is not what a returning client holds.
        let owed = self.owed.len();
        gone.extend(leaves.drain(..owed));
        for id in leaves.drain(..) {
            // A new entity under the ID of one that was deleted is not in the view.
            match world.slot(id).filter(|slot| self.view.contains(*slot)) {
                Some(slot) => {
                    let since = self.held(slot).and_then(|held| held.since);
                    let last = || self.has_up_to(slot, self.behind.unwrap_or(sealed.last), sealed);
                    left.push((id, since.unwrap_or_else(last)));
                }
                None => gone.push(id),
            }
        }
        left.sort_unstable();
        leaves.extend(left.iter().map(|(id, _)| *id));
        leaves.extend_from_slice(gone);
    }

    /// Brings the list of what is retained to where the client has it after this update.
    pub(super) fn remember(&mut self, scratch: &mut Scratch, world: &World) {
        let Scratch { enters, retaining, .. } = scratch;
        if !retaining.used {
            return;
        }
        // By kind and fields, for those travel behind one head.
        retaining.returns.sort_unstable();
        for id in enters.iter().map(|slot| world.info(*slot).id) {
            self.retained.take(id);
        }
        for returning in &retaining.returns {
            self.retained.take(returning.id);
        }
        for (id, since) in &retaining.left {
            self.retained.push(*id, *since);
        }
        self.retained.settle(|_, _| {});
    }
}

//! Why a connection sees an entity, or does not.

use super::Views;
use super::interest::{Lens, Part, PartView};
use super::limit;
use super::viewer::Held;
use super::world::World;
use crate::store::bits::Bits;

/// The answer for one connection and entity, as of the last send.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Whether the client holds it.
    pub sent: bool,
    /// Whether it is a member of the view, held back or not.
    pub member: bool,
    /// Part by part: the first is the library's own (room state for all, private state for its player), then
    /// those of the interest in their order.
    pub parts: Vec<PartAnswer>,
    /// The entity's rank among what the limit counts, from 1, and the limit; none where there is no limit or
    /// the entity is not counted.
    pub rank: Option<(usize, usize)>,
    /// What is held back of it.
    pub held: Option<Held>,
}

impl Views {
    /// Why a viewer sees the entity of a slot or does not.
    #[must_use]
    pub fn explain(&self, viewer: u32, slot: u32, world: &World, lens: &dyn Lens) -> Option<Explanation> {
        let looking = self.viewer(viewer)?;
        let parts: Vec<PartAnswer> = self
            .parts
            .iter()
            .zip(&looking.parts)
            .enumerate()
            .map(|(i, (part, view))| explain_part(i, part, view, viewer, slot, lens))
            .collect();
        Some(Explanation {
            sent: looking.knows(slot, &self.parts),
            member: looking.is_member(slot, &self.parts),
            rank: self.limit.most.and_then(|most| Some((self.rank(viewer, slot, world, lens)?, most))),
            parts,
            held: looking.held(slot).copied(),
        })
    }

    fn rank(&self, viewer: u32, slot: u32, world: &World, lens: &dyn Lens) -> Option<usize> {
        let looking = self.viewer(viewer)?;
        let mut shown = Bits::default();
        shown.grow(world.slot_count());
        for (i, (part, view)) in self.parts.iter().zip(&looking.parts).enumerate().skip(1) {
            let mut one = Vec::new();
            part.show(view, &mut one);
            for slot in one.into_iter().filter(|slot| !part.narrows || lens.sees(i, viewer, *slot)) {
                shown.insert(slot);
            }
        }
        let counted = |slot: u32| world.owner(slot) != Some(looking.player);
        if !shown.contains(slot) || !counted(slot) {
            return None;
        }
        let rank = |slot: u32| (lens.priority(viewer, slot), world.info(slot).id);
        let (priority, id) = rank(slot);
        let better = shown.iter().filter(|other| counted(*other)).filter(|other| {
            let (p, i) = rank(*other);
            limit::order(p, priority).then(i.cmp(&id)).is_lt()
        });
        Some(better.count() + 1)
    }
}

/// What one part of an interest says of a connection and an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct PartAnswer {
    /// Keys in common, as people read them.
    pub common: Vec<String>,
    /// The distance, in a grid that placed both.
    pub distance: Option<f64>,
    /// Whether this part showed it at the last update or, where it does not remember, would show it now.
    pub shows: bool,
}

/// Answers for one part and pair.
fn explain_part(
    index: usize,
    part: &Part,
    view: &PartView,
    viewer: u32,
    slot: u32,
    lens: &dyn Lens,
) -> PartAnswer {
    let common = part.common(view, slot);
    let mut shown = Vec::new();
    part.show(view, &mut shown);
    let shows = shown.contains(&slot) && (!part.narrows || lens.sees(index, viewer, slot));
    PartAnswer {
        common: common.iter().map(|number| part.table.name(*number)).collect(),
        distance: part.distance2(view, slot).map(f64::sqrt),
        shows,
    }
}

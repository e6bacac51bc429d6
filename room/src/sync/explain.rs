//! Why a connection sees an entity, or does not.

use super::Views;
use super::budget;
use super::interest::{Lens, Part, PartView};
use super::limit;
use super::seen::Looked;
use super::viewer::Viewer;
use super::world::World;
use crate::store::bits::Bits;
use crate::tick::Tick;

/// The answer for one connection and entity, as of the last send.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Whether the client holds it.
    pub sent: bool,
    /// Whether it is a member of the view, held back or not.
    pub member: bool,
    /// Part by part: the first is the library's own (room state and presence for all, private state for its player), then
    /// those of the interest in their order.
    pub parts: Vec<PartAnswer>,
    /// The entity's rank among what the limit counts, from 1, and the limit; none where there is no limit or
    /// the entity is not counted.
    pub rank: Option<(usize, usize)>,
    /// How many sends lie between two records of it: 1 without rates by distance.
    pub period: u32,
    /// What is held back of it.
    pub held: Option<HeldBack>,
}

/// What is held back of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// What the client has of it: everything up to this tick, or nothing, for its enter is what is held back.
    pub since: Option<Tick>,
    /// The tick of the send by which the rest goes: the next at which it is due at its rate, or the one up to which a
    /// budget lets it wait, where the connection takes every update and neither leaves nor state use the budget up.
    /// None where only the size of updates or the window hold it back.
    pub until: Option<Tick>,
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
            period: self.rates.period(looking.pace(slot)),
            held: self.held_back(looking, slot, world),
        })
    }

    fn held_back(&self, looking: &Viewer, slot: u32, world: &World) -> Option<HeldBack> {
        if let Some(held) = looking.held(slot) {
            let until = self.share.map(|share| {
                let wanted = looking
                    .members(&self.parts, world)
                    .iter()
                    .map(|(_, slot)| looking.most(*slot, world))
                    .sum();
                let sends = budget::longest_wait(wanted, share.saturating_sub(budget::UPDATE_HEAD));
                Tick(held.from.0 + sends * u64::from(self.settings.send_every))
            });
            return Some(HeldBack { since: held.since, until });
        }
        let pace = looking.pace(slot);
        let waits = pace > 0 && self.rates.pending(pace, slot >> 6) >> (slot & 63) & 1 != 0;
        waits.then(|| HeldBack {
            since: Some(self.rates.last_due(pace, slot, self.last)),
            until: Some(self.rates.next_due(pace, slot)),
        })
    }

    fn rank(&self, viewer: u32, slot: u32, world: &World, lens: &dyn Lens) -> Option<usize> {
        let looking = self.viewer(viewer)?;
        let mut shown = Bits::default();
        shown.grow(world.slot_count());
        for (i, (part, view)) in self.parts.iter().zip(&looking.parts).enumerate().skip(1) {
            let mut one = Vec::new();
            part.show(view, &mut one, &mut Looked::default());
            for slot in one.into_iter().filter(|slot| !part.narrows || lens.sees_one(i, viewer, *slot)) {
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
    part.show(view, &mut shown, &mut Looked::default());
    let shows = shown.contains(&slot) && (!part.narrows || lens.sees_one(index, viewer, slot));
    PartAnswer {
        common: common.iter().map(|number| part.table.name(*number)).collect(),
        distance: part.distance2(view, slot).map(f64::sqrt),
        shows,
    }
}

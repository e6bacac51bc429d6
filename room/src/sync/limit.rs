//! The cut of a view: by rank where the interest has a limit, and by the library's bound.

use std::cmp::Ordering;

use super::viewer::{Sealed, Viewer};
use super::world::World;
use crate::limits;
use crate::store::bits::Bits;

/// The limit of an interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// The rank up to which entities are kept; none keeps all.
    pub most: Option<usize>,
    /// Whether priorities are asked of changed entities alone.
    pub on_change: bool,
}

/// Buffers of a cut.
#[derive(Debug, Default)]
pub struct Ranking {
    ranked: Vec<(f64, u64, u32)>,
}

/// Higher priorities first; NaN last.
#[must_use]
pub fn order(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (a, b) => a.cmp(&b),
    }
}

/// Takes out of `shown`, which holds no more than `at_most`, what the limit or the library's bound leaves out;
/// returns whether it may have left something out. `always` holds what is never left out: what the
/// library itself shows, besides what the player owns.
pub fn cut(
    index: u32,
    viewer: &mut Viewer,
    sealed: &Sealed<'_>,
    world: &World,
    (shown, at_most): (&mut Bits, usize),
    always: &Bits,
    ranking: &mut Ranking,
) -> bool {
    let ranked = &mut ranking.ranked;
    if let Some(most) = sealed.limit.most {
        rank(index, viewer, sealed, world, shown, always, ranked);
        // Those in the view stay while they are within a tenth of the limit.
        let slack = most + most.div_ceil(10);
        for (i, (_, _, slot)) in ranked.iter().enumerate().skip(most) {
            if i >= slack || !viewer.was_shown(*slot) {
                shown.remove(*slot);
            }
        }
    }
    if at_most <= limits::VIEW {
        return sealed.limit.most.is_some();
    }
    let count = shown.len();
    if count > limits::VIEW {
        sealed.lens.note(|notes| notes.views.push(index));
        if sealed.limit.most.is_none() {
            ranked.clear();
            ranked.extend(
                candidates(viewer, world, shown, always).map(|slot| (0.0, world.info(slot).id.get(), slot)),
            );
            ranked.sort_unstable_by_key(|(_, id, _)| *id);
        }
        let mut over = count - limits::VIEW;
        for (_, _, slot) in ranked.iter().rev() {
            if over == 0 {
                break;
            }
            over -= usize::from(shown.remove(*slot));
        }
    }
    true
}

fn candidates<'a>(
    viewer: &'a Viewer,
    world: &'a World,
    shown: &'a Bits,
    always: &'a Bits,
) -> impl Iterator<Item = u32> + 'a {
    shown.iter().filter(|slot| !always.contains(*slot) && world.owner(*slot) != Some(viewer.player))
}

/// Ranks every candidate, best first; ties by ID.
fn rank(
    index: u32,
    viewer: &mut Viewer,
    sealed: &Sealed<'_>,
    world: &World,
    shown: &Bits,
    always: &Bits,
    ranked: &mut Vec<(f64, u64, u32)>,
) {
    ranked.clear();
    ranked
        .extend(candidates(viewer, world, shown, always).map(|slot| (0.0, world.info(slot).id.get(), slot)));
    if sealed.limit.on_change {
        for (priority, _, slot) in ranked.iter_mut() {
            let known = viewer.priorities.get(slot).filter(|_| !sealed.changed.contains(*slot));
            *priority = known.copied().unwrap_or_else(|| sealed.lens.priority(index, *slot));
            viewer.priorities.insert(*slot, *priority);
        }
    } else {
        let slots = ranked.iter().map(|(_, _, slot)| *slot);
        let priorities = viewer.ranked.ask(index, slots, sealed.lens);
        ranked.iter_mut().zip(priorities).for_each(|(ranked, priority)| ranked.0 = *priority);
    }
    ranked.sort_unstable_by(|a, b| order(a.0, b.0).then(a.1.cmp(&b.1)));
    if sealed.limit.on_change {
        viewer.priorities.retain(|slot, _| shown.contains(*slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_first_and_nan_last() {
        let mut all = [1.0, f64::NAN, f64::INFINITY, -1.0, f64::NEG_INFINITY];
        all.sort_by(|a, b| order(*a, *b));
        assert_eq!(all[..4], [f64::INFINITY, 1.0, -1.0, f64::NEG_INFINITY]);
        assert!(all[4].is_nan());
    }
}

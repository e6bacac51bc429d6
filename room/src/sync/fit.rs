//! What goes into an update that has no room for everything.

use std::cmp::Ordering;

use crate::entity::FieldMask;
use crate::tick::Tick;

/// One thing to send where not everything fits or not everything is of the last seal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) slot: u32,
    pub(super) what: What,
    pub(super) size: usize,
    /// 0 for the room's and the player's own, 1 for all others.
    pub(super) class: u8,
    pub(super) priority: f64,
    pub(super) from: Tick,
}

/// How an entity is brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Enter,
    Record,
    Merge(FieldMask, Tick),
}

/// Sorts what fits to the front; returns how many do. The room's and the player's own go first. Of the rest,
/// half of the room goes to what has waited longest, so that nothing starves, and what is left by priority: a
/// change waits at most as many sends as half an update has to carry all that is wanted. The longest waiting
/// goes even where it is larger than what is left, so the largest entity has its turn too.
pub(super) fn take_fitting(
    items: &mut [Item],
    room: usize,
    now: Tick,
    by_priority: impl Fn(&Item, &Item) -> Ordering,
) -> usize {
    let (mut used, mut fit) = (0, 0);
    while fit < items.len() && items[fit].class == 0 && (fit == 0 || used + items[fit].size <= room) {
        used += items[fit].size;
        fit += 1;
    }
    items[fit..]
        .sort_unstable_by(|a, b| a.class.cmp(&b.class).then(a.from.cmp(&b.from)).then(by_priority(a, b)));
    let first = fit;
    while fit < items.len() && items[fit].from < now && used < room / 2 {
        if fit > first && used + items[fit].size > room {
            break;
        }
        used += items[fit].size;
        fit += 1;
    }
    items[fit..].sort_unstable_by(by_priority);
    while fit < items.len() && (fit == 0 || used + items[fit].size <= room) {
        used += items[fit].size;
        fit += 1;
    }
    fit
}

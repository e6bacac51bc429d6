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
    /// As a merge, of what the client retains.
    Return(FieldMask, Tick),
}

/// What an update has room for, in bytes before compression and on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) plain: usize,
    pub(super) wire: usize,
    /// Whether one item goes even where it does not fit: nothing else is under way.
    pub(super) whatever: bool,
}

/// Sorts what fits to the front; returns how many do. Half of the room goes to what has waited longest, so that
/// nothing starves; the rest goes to the room's and the player's own, then by priority. A change waits at most
/// as many sends as half an update has to carry all that is wanted. The longest waiting goes even where it is
/// larger than that, so the largest entity has its turn too, beside an own one that changes at every send.
/// `wire` says what an item takes on the wire; it is asked only of what may go.
pub(super) fn take_fitting(
    items: &mut [Item],
    room: Room,
    now: Tick,
    by_priority: impl Fn(&Item, &Item) -> Ordering,
    mut wire: impl FnMut(&Item) -> usize,
) -> usize {
    let (mut plain, mut on_wire, mut fit) = (0, 0, 0);
    // Whether an item goes beside what goes already.
    let mut goes = |item: &Item, first: bool, half: bool| {
        let share = if half { 2 } else { 1 };
        let anyway = first && room.whatever;
        if !anyway && (plain + item.size > room.plain || plain >= room.plain / share) {
            return false;
        }
        let bytes = wire(item);
        if !anyway && (on_wire + bytes > room.wire || on_wire >= room.wire / share) {
            return false;
        }
        plain += item.size;
        on_wire += bytes;
        true
    };
    items.sort_unstable_by(|a, b| a.from.cmp(&b.from).then(by_priority(a, b)));
    while fit < items.len() && items[fit].from < now && goes(&items[fit], fit == 0, true) {
        fit += 1;
    }
    items[fit..].sort_unstable_by(by_priority);
    while fit < items.len() && goes(&items[fit], fit == 0, false) {
        fit += 1;
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(slot: u32, size: usize, class: u8, from: u64) -> Item {
        Item { slot, what: What::Record, size, class, priority: 0.0, from: Tick(from) }
    }

    #[test]
    fn an_own_entity_that_fills_every_update_starves_nobody() {
        let order = |a: &Item, b: &Item| a.class.cmp(&b.class).then(a.slot.cmp(&b.slot));
        let mut waiting: Vec<Item> = (1..=5).map(|slot| item(slot, 40, 1, 1)).collect();
        for now in 1..=10 {
            waiting.retain(|held| held.slot != 0);
            let mut items = waiting.clone();
            items.push(item(0, 95, 0, now));
            let room = Room { plain: 100, wire: 100, whatever: true };
            let fit = take_fitting(&mut items, room, Tick(now), order, |item| item.size);
            assert!(fit > 0, "something goes at every send");
            waiting = items.split_off(fit);
        }
        waiting.retain(|held| held.slot != 0);
        assert!(waiting.is_empty(), "{waiting:?}");
    }
}

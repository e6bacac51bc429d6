//! What goes into an update that has no room for everything.

use std::cmp::Ordering;

use super::limit;
use crate::entity::{EntityId, FieldMask};
use crate::store::records::RecordRef;
use crate::tick::Tick;

/// One thing to send where not everything fits or not everything is of the last seal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) slot: u32,
    pub(super) id: EntityId,
    pub(super) what: What,
    /// Its own bytes.
    pub(super) size: usize,
    /// The group behind whose head it stands, and the head's bytes; none for what stands alone.
    pub(super) group: Option<(u32, usize)>,
    pub(super) class: Class,
    pub(super) priority: f64,
    pub(super) from: Tick,
}

/// Whose an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The room's state and private state: no budget holds them back.
    State,
    /// The player's own, and presence that everyone sees.
    Own,
    Other,
}

/// How an entity is brought up to date.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Enter,
    /// A record of this seal, of what changed since a tick.
    Record(RecordRef, Tick),
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
    pub(super) budget: Option<Budget>,
}

/// What a budget leaves for all but state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) left: usize,
    /// There is no debt: one item goes even where it is larger than that.
    pub(super) full: bool,
}

/// What is in an update so far.
struct Fill<'a> {
    room: Room,
    plain: usize,
    wire: usize,
    /// Of the budget.
    spent: usize,
    /// Which groups have their head.
    heads: &'a mut Vec<bool>,
}

impl Fill<'_> {
    /// Whether an item goes beside what goes already. `half`: only where less than half is used.
    fn takes(&mut self, item: &Item, first: bool, half: bool, wire: impl FnOnce(&Item) -> usize) -> bool {
        let share = if half { 2 } else { 1 };
        let head = match item.group {
            Some((group, len)) if !self.heads.get(group as usize).is_some_and(|open| *open) => len,
            _ => 0,
        };
        let anyway = first && self.room.whatever;
        let plain = item.size + head;
        if !anyway && (self.plain + plain > self.room.plain || self.plain >= self.room.plain / share) {
            return false;
        }
        let bytes = wire(item) + head;
        if !anyway && (self.wire + bytes > self.room.wire || self.wire >= self.room.wire / share) {
            return false;
        }
        if let Some(Budget { left, full }) = self.room.budget.filter(|_| item.class != Class::State) {
            let alone = self.spent == 0 && full;
            if !alone && (self.spent + bytes > left || self.spent >= left / share) {
                return false;
            }
            self.spent += bytes;
        }
        self.plain += plain;
        self.wire += bytes;
        if let Some((group, _)) = item.group {
            let len = self.heads.len().max(group as usize + 1);
            self.heads.resize(len, false);
            self.heads[group as usize] = true;
        }
        true
    }
}

/// Sorts what fits to the front; returns how many do. Half of the room goes to what has waited longest, so that
/// nothing starves; the rest goes to the room's and the player's own, then by priority. A change waits at most
/// as many sends as half an update has to carry all that is wanted. The longest waiting goes even where it is
/// larger than that, so the largest entity has its turn too, beside an own one that changes at every send.
/// `wire` says what an item takes on the wire; it is asked only of what may go. `heads` is a buffer.
pub(super) fn take_fitting(
    items: &mut [Item],
    room: Room,
    now: Tick,
    heads: &mut Vec<bool>,
    mut wire: impl FnMut(&Item) -> usize,
) -> usize {
    heads.clear();
    let mut fill = Fill { room, plain: 0, wire: 0, spent: 0, heads };
    let by_priority = |a: &Item, b: &Item| {
        a.class.cmp(&b.class).then(limit::order(a.priority, b.priority)).then(a.id.cmp(&b.id))
    };
    let by_age = |a: &Item, b: &Item| a.from.cmp(&b.from).then_with(|| by_priority(a, b));
    let mut fit = 0;
    let mut sorted = Sorted::from(fit);
    while sorted.has(items, fit, by_age)
        && items[fit].from < now
        && fill.takes(&items[fit], fit == 0, true, &mut wire)
    {
        fit += 1;
    }
    let mut sorted = Sorted::from(fit);
    while sorted.has(items, fit, by_priority) && fill.takes(&items[fit], fit == 0, false, &mut wire) {
        fit += 1;
    }
    fit
}

/// Items that are sorted as far as they are looked at: of many that wait, few go.
struct Sorted {
    to: usize,
    step: usize,
}

impl Sorted {
    fn from(at: usize) -> Sorted {
        Sorted { to: at, step: 32 }
    }

    /// Whether there is an item at `at`, where it belongs.
    fn has(&mut self, items: &mut [Item], at: usize, order: impl Fn(&Item, &Item) -> Ordering) -> bool {
        if at == self.to {
            let rest = &mut items[at..];
            let step = self.step.min(rest.len());
            if step < rest.len() {
                rest.select_nth_unstable_by(step, &order);
            }
            rest[..step].sort_unstable_by(&order);
            self.to += step;
            self.step *= 2;
        }
        at < items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(slot: u32, size: usize, class: Class, from: u64) -> Item {
        let id = EntityId::from_wire(u64::from(slot) + 2).expect("it is one");
        Item { slot, id, what: What::Enter, size, group: None, class, priority: 0.0, from: Tick(from) }
    }

    fn fits(items: &mut [Item], room: Room, now: u64) -> usize {
        take_fitting(items, room, Tick(now), &mut Vec::new(), |item| item.size)
    }

    #[test]
    fn an_own_entity_that_fills_every_update_starves_nobody() {
        let mut waiting: Vec<Item> = (1..=5).map(|slot| item(slot, 40, Class::Other, 1)).collect();
        for now in 1..=10 {
            waiting.retain(|held| held.slot != 0);
            let mut items = waiting.clone();
            items.push(item(0, 95, Class::Own, now));
            let room = Room { plain: 100, wire: 100, whatever: true, budget: None };
            let fit = fits(&mut items, room, now);
            assert!(fit > 0, "something goes at every send");
            waiting = items.split_off(fit);
        }
        waiting.retain(|held| held.slot != 0);
        assert!(waiting.is_empty(), "{waiting:?}");
    }

    #[test]
    fn the_longest_waiting_go_first_however_many_wait() {
        let mut items: Vec<Item> = (0..500).map(|n| item(n, 1, Class::Other, u64::from(n % 7) + 1)).collect();
        let room = Room { plain: 400, wire: 400, whatever: true, budget: None };
        let fit = fits(&mut items, room, 7);
        assert_eq!(fit, 400);
        let old: Vec<(u64, u32)> = items[..200].iter().map(|item| (item.from.0, item.slot)).collect();
        assert!(old.is_sorted() && old[199].0 == 3);
        let rest: Vec<u32> = items[200..fit].iter().map(|item| item.slot).collect();
        assert!(rest.is_sorted(), "and then by priority");
    }

    #[test]
    fn a_head_counts_once_a_group_and_state_is_not_held_back() {
        let budget = Some(Budget { left: 20, full: false });
        let room = Room { plain: 1000, wire: 1000, whatever: true, budget };
        let mut items: Vec<Item> = (0..9).map(|n| item(n, 4, Class::Other, 1)).collect();
        items.iter_mut().for_each(|item| item.group = Some((item.slot / 8, 8)));
        assert_eq!(fits(&mut items, room, 1), 3, "8 + 3 * 4");
        items.push(item(77, 500, Class::State, 1));
        assert_eq!((fits(&mut items, room, 1), items[0].slot), (4, 77));
    }

    #[test]
    fn what_is_larger_than_the_bucket_goes_alone_where_there_is_no_debt() {
        let mut items = vec![item(1, 300, Class::Other, 1), item(2, 5, Class::Other, 2)];
        let room = |full| Room {
            plain: 1000,
            wire: 1000,
            whatever: true,
            budget: Some(Budget { left: if full { 100 } else { 60 }, full }),
        };
        assert_eq!((fits(&mut items, room(true), 3), items[0].slot), (1, 1));
        let fit = fits(&mut items, room(false), 3);
        assert_eq!(fit, 0, "the largest has the first turn by priority, and waits for a full bucket");
    }
}

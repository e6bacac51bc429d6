//! What left a view and is still known: one list for both ends, so that both forget the same.

use std::collections::BTreeMap;

use crate::entity::EntityId;

/// Entities that left a view, in the order of leaving, with what this end remembers of each: a room the tick up to
/// which the client has it whole, a client its kind.
///
/// Both ends do the same with it in every update: [`push`](Self::push) what leaves, in the order of IDs,
/// [`take`](Self::take) what enters, and [`settle`](Self::settle) once at the end.
#[derive(Debug)]
pub struct Retained<T> {
    most: usize,
    // Trees, for one that grows by an entry never asks for much memory at once.
    entries: BTreeMap<EntityId, (u64, T)>,
    // Invariant: the places of `entries`.
    order: BTreeMap<u64, EntityId>,
    next: u64,
}

impl<T> Default for Retained<T> {
    fn default() -> Self {
        Retained::new(0)
    }
}

impl<T> Retained<T> {
    /// An empty list that keeps so many.
    #[must_use]
    pub fn new(most: usize) -> Retained<T> {
        Retained { most, entries: BTreeMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// How many are kept; 0 where nothing ever is.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is remembered of an entity.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&T> {
        self.entries.get(&id).map(|(_, of)| of)
    }

    /// IDs in the order of leaving, with what is remembered.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, &T)> + '_ {
        self.order.values().filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Adds one that leaves, behind all others.
    pub fn push(&mut self, id: EntityId, of: T) {
        let place = self.next;
        self.next += 1;
        if let Some((before, _)) = self.entries.insert(id, (place, of)) {
            self.order.remove(&before);
        }
        self.order.insert(place, id);
    }

    /// Takes one out.
    pub fn take(&mut self, id: EntityId) -> Option<T> {
        let (place, of) = self.entries.remove(&id)?;
        self.order.remove(&place);
        Some(of)
    }

    /// Forgets those that left first until there are no more than are kept; says which.
    pub fn settle(&mut self, mut forget: impl FnMut(EntityId, T)) {
        while self.entries.len() > self.most {
            let Some((_, id)) = self.order.pop_first() else { return };
            if let Some((_, of)) = self.entries.remove(&id) {
                forget(id, of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> EntityId {
        EntityId::from_wire(n).expect("it is an ID")
    }

    #[test]
    fn it_forgets_in_the_order_of_leaving_and_agrees_with_a_plain_list() {
        let (mut kept, mut plain) = (Retained::new(5), Vec::<(u64, u64)>::new());
        let mut seed = 3u64;
        let mut next = move |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        for turn in 0..2000 {
            for _ in 0..next(4) {
                let n = 1 + next(12);
                plain.retain(|(other, _)| *other != n);
                plain.push((n, turn));
                kept.push(id(n), turn);
            }
            let n = 1 + next(12);
            let at = plain.iter().position(|(other, _)| *other == n);
            assert_eq!(kept.take(id(n)), at.map(|at| plain.remove(at).1));
            let mut forgotten = Vec::new();
            kept.settle(|id, of| forgotten.push((id.get(), of)));
            assert_eq!(forgotten, plain.drain(..plain.len().saturating_sub(5)).collect::<Vec<_>>());
            assert_eq!(kept.iter().map(|(id, of)| (id.get(), *of)).collect::<Vec<_>>(), plain);
            assert_eq!((kept.len(), kept.is_empty()), (plain.len(), plain.is_empty()));
        }
    }
}

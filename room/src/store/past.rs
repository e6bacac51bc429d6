//! What entities were a moment ago: for a room that looks at them as a player drew them.

use std::collections::{BTreeMap, VecDeque};

use crate::entity::{Entity, EntityId, Visit, VisitMut};
use crate::field::Codec;
use crate::tick::Tick;

/// A state of an entity.
#[derive(Debug)]
struct State<K> {
    /// The seal that first had it.
    tick: Tick,
    /// The seal before, up to which the state before held.
    before: Tick,
    /// None where the entity was deleted.
    value: Option<K>,
}

/// The states of one kind's entities in the last so many ticks.
#[derive(Debug)]
pub struct Past<K> {
    ticks: u64,
    /// Invariant: none is empty, and ticks rise.
    by_id: BTreeMap<EntityId, VecDeque<State<K>>>,
    /// All states by their ticks, for those that are too old to be found.
    order: VecDeque<(Tick, EntityId)>,
    /// Deleted since the last seal.
    gone: Vec<EntityId>,
    sealed: Tick,
}

impl<K: Entity> Past<K> {
    pub(super) fn new(ticks: u64) -> Past<K> {
        Past { ticks, by_id: BTreeMap::new(), order: VecDeque::new(), gone: Vec::new(), sealed: Tick::ZERO }
    }

    /// An entity is not there any more from the next seal on.
    pub(super) fn delete(&mut self, id: EntityId) {
        self.gone.push(id);
    }

    /// A seal begins.
    pub(super) fn begin(&mut self, tick: Tick) {
        for id in std::mem::take(&mut self.gone) {
            if self.by_id.contains_key(&id) {
                self.push(tick, id, None);
            }
        }
    }

    /// An entity is new in a seal, or changed in it.
    pub(super) fn note(&mut self, tick: Tick, id: EntityId, value: &K) {
        self.push(tick, id, Some(value.clone()));
    }

    fn push(&mut self, tick: Tick, id: EntityId, value: Option<K>) {
        let (states, before) = (self.by_id.entry(id).or_default(), self.sealed);
        // Deleted and made anew between two seals: nobody saw it go.
        if states.back().is_some_and(|last| last.tick == tick) {
            states.pop_back();
        }
        states.push_back(State { tick, before, value });
        self.order.push_back((tick, id));
    }

    /// A seal ends: forgets what nobody can ask for any more.
    pub(super) fn end(&mut self, tick: Tick) {
        self.sealed = tick;
        let oldest = Tick(tick.0.saturating_sub(self.ticks));
        while let Some((of, id)) = self.order.front().copied().filter(|(of, _)| *of <= oldest) {
            self.order.pop_front();
            let Some(states) = self.by_id.get_mut(&id) else { continue };
            // All before this one.
            while states.len() > 1 && states[1].tick <= of {
                states.pop_front();
            }
            if states.len() == 1 && states[0].value.is_none() {
                self.by_id.remove(&id);
            }
        }
    }

    /// An entity as it was at a time, in ticks: between two states, floats lie on the line from one to the other, and
    /// all else is as it was before. `None` where it was not there.
    #[must_use]
    pub fn at(&self, id: EntityId, time: f64) -> Option<K> {
        let states = self.by_id.get(&id)?;
        let next = states.partition_point(|state| state.tick.0 as f64 <= time);
        let state = states.get(next.checked_sub(1)?)?;
        let value = state.value.as_ref()?;
        let Some(State { tick, before, value: Some(to) }) = states.get(next) else {
            return Some(value.clone());
        };
        let (from, until) = (before.0.max(state.tick.0) as f64, tick.0 as f64);
        let part = (time - from) / (until - from);
        Some(if part > 0.0 { between(value, to, part) } else { value.clone() })
    }

    /// All entities that were there at a time, in ID order.
    pub fn all(&self, time: f64) -> impl Iterator<Item = (EntityId, K)> + '_ {
        self.by_id.keys().filter_map(move |id| Some((*id, self.at(*id, time)?)))
    }

    #[cfg(test)]
    pub(super) fn states(&self) -> usize {
        self.by_id.values().map(VecDeque::len).sum()
    }
}

/// What lies so far on the way from one state to the next.
fn between<K: Entity>(from: &K, to: &K, part: f64) -> K {
    struct Read<'a>(&'a mut Vec<f64>);
    impl Visit for Read<'_> {
        fn field<C: Codec>(&mut self, _: usize, value: &C::Value, _: &C::Track) {
            if C::WIRE.is_float() {
                let start = self.0.len();
                self.0.resize(start + C::WIRE.numbers(), 0.0);
                C::numbers(value, &mut self.0[start..]);
            }
        }
    }
    struct Blend<'a> {
        to: std::slice::Iter<'a, f64>,
        part: f64,
    }
    impl VisitMut for Blend<'_> {
        type Error = std::convert::Infallible;
        fn field<C: Codec>(
            &mut self,
            _: usize,
            value: &mut C::Value,
            _: &mut C::Track,
        ) -> Result<(), Self::Error> {
            if C::WIRE.is_float() {
                let mut numbers = vec![0.0; C::WIRE.numbers()];
                C::numbers(value, &mut numbers);
                for (number, to) in numbers.iter_mut().zip(&mut self.to) {
                    *number += (to - *number) * self.part;
                }
                C::set_numbers(value, &numbers);
            }
            Ok(())
        }
    }
    let (mut numbers, mut track) = (Vec::new(), K::Track::default());
    to.visit(&track, &mut Read(&mut numbers));
    let mut value = from.clone();
    let Ok(()) = value.visit_mut(&mut track, &mut Blend { to: numbers.iter(), part });
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(crate::Entity, Clone, Debug, PartialEq)]
    #[entity(crate = "crate")]
    struct Ball {
        x: f32,
        at: [f32; 2],
        hits: u32,
    }

    fn ball(x: f32, hits: u32) -> Ball {
        Ball { x, at: [x, -x], hits }
    }

    fn seal(past: &mut Past<Ball>, tick: u64, changes: &[(u64, Ball)]) {
        past.begin(Tick(tick));
        for (id, ball) in changes {
            past.note(Tick(tick), EntityId::from_wire(*id).expect("one"), ball);
        }
        past.end(Tick(tick));
    }

    #[test]
    fn it_is_as_it_was_then_and_between_two_states_on_the_line() {
        let (mut past, id) = (Past::new(20), EntityId::from_wire(9).expect("one"));
        seal(&mut past, 10, &[(9, ball(0.0, 0))]);
        (11..15).for_each(|tick| seal(&mut past, tick, &[]));
        seal(&mut past, 15, &[(9, ball(10.0, 3))]);
        past.delete(id);
        seal(&mut past, 18, &[]);
        assert_eq!(past.at(id, 9.9), None);
        assert_eq!(past.at(id, 10.0), Some(ball(0.0, 0)));
        assert_eq!(past.at(id, 14.0), Some(ball(0.0, 0)), "it stood until the seal before");
        assert_eq!(past.at(id, 14.25), Some(Ball { hits: 0, ..ball(2.5, 0) }));
        assert_eq!(past.at(id, 15.0), Some(ball(10.0, 3)));
        assert_eq!(past.at(id, 17.9), Some(ball(10.0, 3)));
        assert_eq!((past.at(id, 18.0), past.all(18.0).count(), past.all(17.0).count()), (None, 0, 1));
    }

    #[test]
    fn what_is_older_than_is_asked_for_takes_no_memory() {
        let mut past = Past::new(20);
        for tick in 1..500 {
            let changes: Vec<_> = (2..12).map(|id| (id, ball(tick as f32, 0))).collect();
            seal(&mut past, tick, &changes);
            past.delete(EntityId::from_wire(2 + tick % 10).expect("one"));
        }
        assert!(past.states() <= 10 * 22, "{}", past.states());
        (500..600).for_each(|tick| seal(&mut past, tick, &[]));
        assert!(past.states() <= 10, "{}", past.states());
        assert_eq!(past.at(EntityId::from_wire(5).expect("one"), 590.0), Some(ball(499.0, 0)));
    }
}

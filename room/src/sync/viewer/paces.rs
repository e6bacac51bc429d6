//! How often each member of a view is sent, where a grid has rates by distance.
//!
//! A member at a slower pace lacks what changed since it was due last; nothing is noted of it but its pace. Where
//! what the client has is another thing, after a change of the pace or where an update had no room, it is among
//! [`Held`].

use super::{Held, Scratch, Sealed, Viewer};
use crate::entity::EntityId;
use crate::store::bits::{Bits, Ones, SlotSet};
use crate::store::records::RecordRef;
use crate::sync::rates::Pace;
use crate::sync::update::Press;
use crate::sync::world::World;
use crate::tick::Tick;

/// Buffers of the paces of one viewer's members.
#[derive(Debug, Default)]
pub(super) struct Paces {
    /// By slot, of members of the new view. Empty where nothing has a rate.
    pub(super) now: Vec<Pace>,
    /// By slot, of members of the last view.
    was: Vec<Pace>,
    /// The new view's members at each pace but 0.
    next: Vec<SlotSet>,
    set: Bits,
    /// Members whose pace is that of the last view.
    known: Bits,
    /// What the client is to be told, with IDs.
    turns: Vec<(Pace, EntityId)>,
}

/// No part that was asked so far shows it.
const UNSEEN: Pace = Pace::MAX;

impl Paces {
    /// Works out the paces of what the parts show a viewer: the fastest counts. Of each part, what it shows and its pace.
    /// Where the viewer stands as it stood, only of what `moved`, and of what was not in its view.
    pub(super) fn show<'a>(
        &mut self,
        sealed: &Sealed<'_>,
        world: &World,
        still: Option<(&Viewer, &Bits)>,
        parts: impl Iterator<Item = (&'a [u32], impl Fn(u32) -> Pace)>,
    ) {
        let Paces { now, known, .. } = self;
        now.clear();
        if sealed.rates.is_empty() {
            return;
        }
        now.resize(world.slot_count(), UNSEEN);
        known.clear();
        known.grow(world.slot_count());
        if let Some((viewer, moved)) = still {
            let stays = |slot: &u32| !moved.contains(*slot);
            for slot in viewer.view.iter().filter(stays) {
                now[slot as usize] = 0;
                known.insert(slot);
            }
            for (slow, pace) in viewer.slow.iter().zip(1..) {
                slow.iter().filter(stays).for_each(|slot| now[slot as usize] = pace);
            }
        }
        for (slots, pace) in parts {
            for slot in slots.iter().filter(|slot| !known.contains(**slot)) {
                let now = &mut now[*slot as usize];
                if *now > 0 {
                    *now = pace(*slot).min(*now);
                }
            }
        }
    }

    /// What the client is to be told of how often entities are sent, by pace and ID: of what changed its pace and,
    /// once it is known, of what enters.
    pub(super) fn turns(&self) -> &[(Pace, EntityId)] {
        &self.turns
    }

    /// These enter.
    pub(super) fn enter(&mut self, slots: impl Iterator<Item = u32>, world: &World) {
        let Paces { now, turns, .. } = self;
        let slow = slots.filter(|slot| now.get(*slot as usize).is_some_and(|pace| *pace > 0));
        turns.extend(slow.map(|slot| (now[slot as usize], world.info(slot).id)));
        turns.sort_unstable();
    }
}

impl Sealed<'_> {
    /// The tick since which a record of this seal at a pace says what changed.
    pub(super) fn before(&self, pace: Pace) -> Tick {
        if pace == 0 { self.last } else { self.rates.before(pace) }
    }

    /// A word of the slots that have a record at any pace.
    #[inline]
    pub(super) fn touched(&self, word: u32) -> u64 {
        self.changed.word(word) | self.rates.due(word)
    }
}

impl Viewer {
    /// The record of a member that is due now at its pace.
    #[inline]
    pub(super) fn record(
        &self,
        slot: u32,
        sealed: &Sealed<'_>,
        paces: &[Pace],
        press: &Press<'_>,
    ) -> Option<RecordRef> {
        match paces.get(slot as usize) {
            None | Some(0) => sealed.changed.contains(slot).then(|| press.records.at(slot)),
            Some(pace) => {
                let record = sealed.rates.record(*pace, slot)?;
                // It may have been sent all of it out of turn.
                let has = self.whole > sealed.rates.before(*pace)
                    && press.world.changed_since(slot, self.whole).is_empty();
                (!has).then_some(record)
            }
        }
    }

    /// How often a member of the last view is sent.
    #[must_use]
    pub fn pace(&self, slot: u32) -> Pace {
        self.slow.iter().position(|set| set.contains(slot)).map_or(0, |at| at as Pace + 1)
    }

    /// The tick up to which the client has a member of which nothing is noted, up to the last update at `at`.
    pub(super) fn has_up_to(&self, slot: u32, at: Tick, sealed: &Sealed<'_>) -> Tick {
        match self.pace(slot) {
            0 => at,
            // A claim may say less than that.
            pace => sealed.rates.last_due(pace, slot, at).min(at),
        }
    }

    /// Compares the paces of the new view's members with the last ones. What was held back at the pace before
    /// goes now, so that nothing shown is older than its period.
    pub(super) fn find_paces(&mut self, sealed: &Sealed<'_>, scratch: &mut Scratch, world: &World) {
        let Scratch { paces, candidates, .. } = scratch;
        let Paces { now, was, next, set, turns, .. } = paces;
        turns.clear();
        if sealed.rates.is_empty() {
            return;
        }
        was.clear();
        was.resize(world.slot_count(), 0);
        self.slow.resize_with(sealed.rates.len(), SlotSet::default);
        for (at, slow) in self.slow.iter().enumerate() {
            slow.iter().for_each(|slot| was[slot as usize] = at as Pace + 1);
        }
        if !self.look {
            now.clone_from(was);
            return;
        }
        next.resize_with(sealed.rates.len(), SlotSet::default);
        set.grow(world.slot_count());
        for (at, next) in next.iter_mut().enumerate() {
            set.clear();
            let members = candidates.iter().filter(|slot| now[**slot as usize] == at as Pace + 1);
            members.for_each(|slot| {
                set.insert(*slot);
            });
            next.assign_bits(set);
        }
        let turned = candidates.iter().filter(|slot| now[**slot as usize] != was[**slot as usize]);
        let mut late = Vec::new();
        for slot in turned.copied().filter(|slot| self.has(*slot)) {
            turns.push((now[slot as usize], world.info(slot).id));
            // One that is behind gets everything that is missing anyway.
            if self.behind.is_some() || was[slot as usize] == 0 || self.held(slot).is_some() {
                continue;
            }
            let since = sealed.rates.last_due(was[slot as usize], slot, sealed.last);
            if !world.changed_since(slot, since).is_empty() {
                late.push(Held { slot, since: Some(since), from: sealed.tick });
            }
        }
        if !late.is_empty() {
            self.held.append(&mut late);
            self.held.sort_unstable_by_key(|held| held.slot);
        }
    }

    /// The new paces are those of the view.
    pub(super) fn commit_paces(&mut self, scratch: &mut Scratch) {
        if self.look {
            std::mem::swap(&mut self.slow, &mut scratch.paces.next);
        }
    }

    /// The tick up to which the client has everything that is not noted as held back: at a slower pace something
    /// may wait for its turn. Says less for one that entered between a change and its turn: when each member entered
    /// is not noted, so it gets that turn's record too.
    pub(super) fn lag(&self, sealed: &Sealed<'_>, world: &World) -> Option<Tick> {
        let mut least: Option<Tick> = None;
        for (at, slow) in self.slow.iter().enumerate() {
            let pace = at as Pace + 1;
            for (word, bits) in slow.words() {
                for bit in Ones(bits & sealed.rates.pending(pace, *word)) {
                    let slot = word * 64 + bit;
                    let due = sealed.rates.last_due(pace, slot, sealed.tick);
                    let has = due.max(self.whole).max(world.info(slot).created);
                    if has == due || !world.changed_since(slot, has).is_empty() {
                        least = Some(least.map_or(has, |least| least.min(has)));
                    }
                }
            }
        }
        least
    }
}

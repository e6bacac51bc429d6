//! What goes first where not all fits: sizes, groups and priorities of what a client lacks.

use std::collections::BTreeMap;

use super::{Scratch, Sealed, Viewer};
use crate::entity::{EntityId, FieldMask};
use crate::field::write::CHANGE_SPARE;
use crate::limits;
use crate::sync::fit::{Budget, Class, Item, Room, What, take_fitting};
use crate::sync::rates::Pace;
use crate::sync::update::{Press, enter_len, is_piece};
use crate::sync::world::World;
use crate::wire::record::SentBytes;
use crate::wire::varint;

/// Buffers of a choice.
#[derive(Debug, Default)]
pub(super) struct Fitting {
    measured: SentBytes,
    /// Groups of merges and of returns, numbered behind those of the seal's records.
    merges: BTreeMap<(bool, u8, FieldMask), u32>,
    heads: Vec<bool>,
}

/// Bytes of an update's first part besides its content and its two ticks: tag and flags, and the two lengths of a
/// compressed section.
const PART_HEAD: usize = 2 + 3 + 3;
/// Bytes of a block of periods besides its IDs.
const PERIODS_HEAD: usize = 4;
/// Bytes of the hash of a view.
const HASH: usize = 8;

impl Viewer {
    /// What the bucket holds, where that is less than `wire` bytes of content.
    pub(super) fn is_over(&self, wire: usize, sealed: &Sealed<'_>) -> Option<usize> {
        let left = self.bucket.left(sealed.send, sealed.share?);
        (wire + head_len(sealed) > left).then_some(left)
    }

    /// All that the client lacks, as items.
    pub(super) fn find_items(
        &self,
        index: u32,
        sealed: &Sealed<'_>,
        scratch: &mut Scratch,
        press: &Press<'_>,
        items: &mut Vec<Item>,
    ) {
        items.clear();
        let Fitting { measured, merges, .. } = &mut scratch.fitting;
        merges.clear();
        let records = press.records.groups() as u32;
        for slot in scratch.next.iter() {
            let paces = &scratch.paces.now;
            let Some((what, mut size)) = self.missing(slot, sealed, press, paces, measured) else { continue };
            let info = press.world.info(slot);
            let class = self.class(slot, press.world);
            let group = match what {
                What::Enter => None,
                What::Record(at, _) => {
                    let (head, tail) = (press.records.head(at.group), press.records.tail(at.group));
                    Some((at.group, head.len() + tail.len()))
                }
                What::Merge(mask, _) | What::Return(mask, _) => {
                    let next = records + merges.len() as u32;
                    let returns = matches!(what, What::Return(..));
                    let group = *merges.entry((returns, info.kind, mask)).or_insert(next);
                    Some((group, 3 + press.world.fields(slot).div_ceil(8)))
                }
            };
            if matches!(what, What::Enter | What::Return(..))
                && paces.get(slot as usize).is_some_and(|pace| *pace > 0)
            {
                size += varint::len(info.id.get());
            }
            let from = self.held(slot).map_or(sealed.tick, |h| h.from);
            let priority = if class == Class::Other { self.priority(index, slot, sealed) } else { 0.0 };
            items.push(Item { slot, id: info.id, what, size, group, class, priority, from });
        }
    }

    /// What the client lacks of a member of the view, and its size.
    fn missing(
        &self,
        slot: u32,
        sealed: &Sealed<'_>,
        press: &Press<'_>,
        paces: &[Pace],
        measured: &mut SentBytes,
    ) -> Option<(What, usize)> {
        let held = self.held(slot);
        if !self.view.contains(slot) || held.is_some_and(|h| h.since.is_none()) {
            return Some(self.enter(slot, press.world, measured));
        }
        let since = match (held.and_then(|h| h.since), self.behind) {
            (Some(since), _) => since,
            (None, Some(behind)) => self.has_up_to(slot, behind, sealed),
            (None, None) => {
                let at = self.record(slot, sealed, paces, press)?;
                let pace = paces.get(slot as usize).copied().unwrap_or_default();
                return Some((What::Record(at, sealed.before(pace)), at.len as usize));
            }
        };
        let mask = press.world.changed_since(slot, since);
        if mask.is_empty() {
            return None;
        }
        measured.reset();
        press.world.put_since(slot, mask, since, measured);
        Some((What::Merge(mask, since), varint::len(press.world.info(slot).id.get()) + measured.len()))
    }

    /// Sorts what goes to the front of the items; returns how many do.
    pub(super) fn fit(
        &self,
        items: &mut [Item],
        sealed: &Sealed<'_>,
        free: usize,
        scratch: &mut Scratch,
        press: &mut Press<'_>,
    ) -> usize {
        let Press { world, pieces, maker, .. } = press;
        let (world, tight) = (*world, sealed.share.is_some());
        let leaves = scratch.leaves.len() * (varint::MAX_LEN + 1);
        let room = Room {
            plain: sealed.cap.saturating_sub(leaves),
            wire: free.saturating_sub(leaves),
            whatever: self.window.is_empty(),
            budget: sealed.share.map(|share| self.budget(share, items, sealed, scratch)),
        };
        take_fitting(items, room, sealed.tick, &mut scratch.fitting.heads, |item| match item.what {
            // Alone, one that is not large enough for a compressed section travels plain.
            What::Enter if is_piece(world, item.slot) && (!tight || item.size >= limits::COMPRESS_FROM) => {
                pieces.ready(world, item.slot, maker).len().min(item.size)
            }
            _ => item.size,
        })
    }

    /// What the bucket has for all but what is never held back.
    fn budget(&self, share: usize, items: &[Item], sealed: &Sealed<'_>, scratch: &mut Scratch) -> Budget {
        let Scratch { leaves, paces, retaining, .. } = scratch;
        let left = retaining.left(leaves.len());
        let (left, gone) = leaves.split_at_mut(left);
        let leaves = leaves_len(left) + leaves_len(gone);
        let turns: usize = paces.turns().iter().map(|(_, id)| varint::len(id.get())).sum();
        let state = items.iter().filter(|item| item.class == Class::State);
        let state: usize = state.map(|item| item.size + item.group.map_or(0, |(_, head)| head)).sum();
        let debt = self.bucket.debt(sealed.send, share);
        let spent = debt.saturating_add(head_len(sealed) + leaves + turns + state);
        Budget { left: share.saturating_sub(spent), full: debt == 0 }
    }

    /// The most bytes of an update that has only this entity in it, besides the update's own head.
    pub(in crate::sync) fn most(&self, slot: u32, world: &World) -> usize {
        enter_len(world, slot) + 1 + world.fields(slot).div_ceil(8) + CHANGE_SPARE
    }

    fn class(&self, slot: u32, world: &World) -> Class {
        let info = world.info(slot);
        if info.private_to.is_some() || info.id == EntityId::STATE {
            Class::State
        } else if info.for_all || world.owner(slot) == Some(self.player) {
            Class::Own
        } else {
            Class::Other
        }
    }

    /// Whether nothing is held back of what the player owns, nor of what is hers alone.
    pub(in crate::sync) fn has_own(&self, world: &World) -> bool {
        let others = |slot| self.class(slot, world) == Class::Other;
        !self.is_behind() && !self.claimed && self.held.iter().all(|held| others(held.slot))
    }

    /// How important a member of the view is where not all fits: as the limit says, and where there is none by
    /// nearness in the grids that place both. NaN, which leaves the order to IDs, where no grid does.
    fn priority(&self, index: u32, slot: u32, sealed: &Sealed<'_>) -> f64 {
        if sealed.limit.most.is_some() {
            return sealed.lens.priority(index, slot);
        }
        let distances =
            sealed.parts.iter().zip(&self.parts).filter_map(|(part, view)| part.distance2(view, slot));
        distances.min_by(f64::total_cmp).map_or(f64::NAN, |d2| -d2)
    }
}

/// The bytes of a block of leaves. Sorts them.
fn leaves_len(ids: &mut [EntityId]) -> usize {
    ids.sort_unstable();
    let mut at = 0;
    let gaps = ids.iter().map(|id| varint::len(id.get() - std::mem::replace(&mut at, id.get())));
    gaps.sum::<usize>() + if ids.is_empty() { 0 } else { 2 }
}

/// The most bytes of an update's first part besides its content.
fn head_len(sealed: &Sealed<'_>) -> usize {
    let periods = if sealed.rates.is_empty() { 0 } else { PERIODS_HEAD * (sealed.rates.len() + 1) };
    PART_HEAD + 2 * varint::len(sealed.tick.0) + periods + if sealed.hash { HASH } else { 0 }
}

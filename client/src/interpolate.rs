//! What moves is drawn a little behind the room's clock, between the states that have come, so that it moves
//! smoothly however they come. No clock, no I/O.
//!
//! A game says once which fields of a kind are drawn so
//! ([`Machine::interpolate`](crate::machine::Machine::interpolate)), and reads entities by
//! [`Replica::drawn`](crate::replica::Replica::drawn) and [`drawn_all`](crate::replica::Replica::drawn_all) instead of
//! `get` and `all`.

mod clock;
mod glide;
mod history;
mod kind;
mod plan;

use std::fmt;

use room::Tick;
use room::entity::{EntityId, FieldMask, Visible};
use room::store::replica::{AnyTable, Table};

use crate::replica::Periods;

use clock::Newest;
pub(crate) use clock::{Beat, Frame};
use kind::{AnyKind, Kind, Moment};
use plan::Plan;
pub use plan::{Smooth, Smoothed};

/// An entity that entered or changed in the update that is being applied.
#[derive(Clone, Copy, Debug)]
struct Touch {
    kind: u8,
    id: EntityId,
    mask: FieldMask,
    /// Its period before the update.
    period: u32,
}

/// What a replica has interpolated.
#[derive(Default)]
pub(crate) struct Interpolation {
    // By wire kind; empty while no kind is interpolated.
    kinds: Vec<Option<Box<dyn AnyKind>>>,
    touched: Vec<Touch>,
    newest: Newest,
    beat: Beat,
    extrapolated: u64,
}

impl Interpolation {
    /// From now on a kind is drawn by a plan. What is here of it stands where it is.
    pub(crate) fn add<K: Visible>(&mut self, kind: usize, table: &Table<K>, fields: impl Smooth<K>) {
        let mut added = Kind::<K>::new(Plan::of(fields));
        added.fill(table, self.newest.tick);
        if self.kinds.len() <= kind {
            self.kinds.resize_with(kind + 1, || None);
        }
        self.kinds[kind] = Some(Box::new(added));
    }

    /// What the room's welcome says of its ticks and sends.
    pub(crate) fn set_beat(&mut self, beat: Beat) {
        self.beat = beat;
    }

    fn kind<K: Visible>(&self, kind: usize) -> Option<&Kind<K>> {
        self.kinds.get(kind)?.as_ref()?.as_any().downcast_ref()
    }

    /// An entity as it is drawn; `None` where its kind is not interpolated, or it is not here.
    pub(crate) fn get<K: Visible>(&self, kind: usize, id: EntityId) -> Option<&K> {
        self.kind::<K>(kind)?.get(id)
    }

    /// The tick that an entity is drawn at.
    pub(crate) fn time<K: Visible>(&self, kind: usize, id: EntityId) -> Option<f64> {
        self.kind::<K>(kind)?.time(id)
    }

    /// An entity entered, or these fields of it changed.
    #[inline]
    pub(crate) fn touch(&mut self, kind: u8, id: EntityId, mask: FieldMask, periods: &Periods) {
        if self.kinds.get(usize::from(kind)).is_some_and(Option::is_some) {
            let period = periods.get(&id).copied().unwrap_or(1);
            self.touched.push(Touch { kind, id, mask, period });
        }
    }

    /// An entity left.
    pub(crate) fn leave(&mut self, kind: u8, id: EntityId) {
        if let Some(Some(kind)) = self.kinds.get_mut(usize::from(kind)) {
            kind.leave(id);
        }
    }

    /// Everything left.
    pub(crate) fn leave_all(&mut self) {
        self.touched.clear();
        self.newest = Newest::default();
        self.kinds.iter_mut().flatten().for_each(|kind| kind.leave_all());
    }

    /// An update has been applied to the tables.
    pub(crate) fn applied(
        &mut self,
        tables: &[Box<dyn AnyTable>],
        (tick, complete, changed): (Tick, Tick, bool),
        periods: &Periods,
    ) {
        let moment = Moment { tick: tick.0 as f64, before: self.newest, beat: self.beat };
        for touch in self.touched.drain(..) {
            let at = usize::from(touch.kind);
            if let Some(Some(kind)) = self.kinds.get_mut(at) {
                kind.touch(&*tables[at], &touch, &moment);
            }
        }
        let longest = if self.kinds.is_empty() { 1 } else { periods.values().copied().max().unwrap_or(1) };
        self.newest = self.newest.next(tick, complete, changed, longest);
    }

    /// All stand where the last update has them.
    pub(crate) fn settle(&mut self) {
        let tick = self.newest.tick;
        self.kinds.iter_mut().flatten().for_each(|kind| kind.settle(tick));
    }

    /// Draws everything as of a moment.
    pub(crate) fn draw(&mut self, tables: &[Box<dyn AnyTable>], frame: &Frame, periods: &Periods) {
        for (kind, table) in self.kinds.iter_mut().zip(tables) {
            if let Some(kind) = kind {
                self.extrapolated += kind.draw(&**table, frame, self.newest, periods);
            }
        }
    }

    /// What is predicted looks otherwise than it was drawn.
    pub(crate) fn glide(&mut self, tables: &[Box<dyn AnyTable>]) {
        for (kind, table) in self.kinds.iter_mut().zip(tables) {
            if let Some(kind) = kind {
                kind.glide(&**table);
            }
        }
    }

    /// How often an entity was drawn past its last state.
    pub(crate) fn extrapolated(&self) -> u64 {
        self.extrapolated
    }

    /// The room's beat.
    pub(crate) fn beat(&self) -> Beat {
        self.beat
    }
}

impl fmt::Debug for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interpolation").field("newest", &self.newest).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

//! What a client holds, as it is to be drawn: see [`interpolate`](crate::interpolate).

use std::time::Duration;

use room::entity::{Id, Visible};

use super::{Replica, Tables, table};
use crate::interpolate::{Frame, Interpolation, Smooth};

impl Replica {
    /// Draws some fields of a kind smoothly from now on.
    pub(crate) fn interpolate<K: Visible>(&mut self, fields: impl Smooth<K>) {
        let Tables { by_wire_kind, drawn, .. } = &mut self.tables;
        let found = table::<K>(by_wire_kind);
        let (kind, table) = found.unwrap_or_else(|| panic!("`{}` is not in the schema", K::KIND.name));
        drawn.add(kind, table, fields);
    }

    /// What is interpolated: for the machine, which has the clock.
    pub(crate) fn interpolation(&mut self) -> &mut Interpolation {
        &mut self.tables.drawn
    }

    /// Draws what is interpolated, at a time at which the room's clock is estimated to be there.
    pub(crate) fn draw(&mut self, now: Duration, estimate: Option<f64>) {
        let Some(estimate) = estimate else { return };
        let beat = self.tables.drawn.beat();
        let frame = Frame { now, estimate, pace: beat.tick_rate, beat };
        let Tables { by_wire_kind, drawn, periods, .. } = &mut self.tables;
        drawn.draw(by_wire_kind, &frame, periods);
    }

    /// How often something was drawn past its last state.
    pub(crate) fn extrapolated(&self) -> u64 {
        self.tables.drawn.extrapolated()
    }

    /// An entity as it is to be drawn at the time of the last `update`: its interpolated fields lie between the
    /// states that have come, all others are those of [`get`](Self::get). Of a kind that is not interpolated it is
    /// just that.
    #[must_use]
    pub fn drawn<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        let (kind, table) = table::<K>(&self.tables.by_wire_kind)?;
        let entity = table.get(id.entity())?;
        Some(self.tables.drawn.get(kind, id.entity()).unwrap_or(entity))
    }

    /// All entities of a kind as they are to be drawn, in ID order; see [`drawn`](Self::drawn).
    pub fn drawn_all<K: Visible>(&self) -> impl DoubleEndedIterator<Item = (Id<K>, &K)> + '_ {
        table::<K>(&self.tables.by_wire_kind).into_iter().flat_map(move |(kind, table)| {
            let drawn = move |id, entity| self.tables.drawn.get(kind, id).unwrap_or(entity);
            table.all().map(move |(id, entity)| (Id::assume(id), drawn(id, entity)))
        })
    }

    /// The room's time, in ticks, of which [`drawn`](Self::drawn) shows an entity; `None` where it is not interpolated,
    /// or was not drawn yet.
    #[must_use]
    pub fn drawn_time<K: Visible>(&self, id: Id<K>) -> Option<f64> {
        let (kind, _) = table::<K>(&self.tables.by_wire_kind)?;
        self.tables.drawn.time::<K>(kind, id.entity())
    }
}

//! Lag compensation: the room as a player drew it when she acted.

use super::{ConnectionId, Game, Room};
use crate::entity::{Entity, Id};
use crate::limits;
use crate::sync::world::World;

/// The room at a time that has been: what kinds with a history were then.
#[derive(Clone, Copy)]
pub struct Past<'a> {
    world: &'a World,
    time: f64,
}

impl Past<'_> {
    /// The time, in ticks: as was asked for, or as near to it as is allowed.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.time
    }

    /// An entity as it was drawn: between two states floats lie on the line from one to the other, and all else is as it
    /// was before. `None` where it was not there.
    ///
    /// # Panics
    /// If the kind keeps no history.
    #[must_use]
    pub fn get<K: Entity>(&self, id: Id<K>) -> Option<K> {
        self.world.past::<K>().at(id.entity(), self.time)
    }

    /// All entities of a kind that were there, in ID order.
    ///
    /// # Panics
    /// If the kind keeps no history.
    pub fn all<K: Entity>(&self) -> impl Iterator<Item = (Id<K>, K)> + '_ {
        self.world.past::<K>().all(self.time).map(|(id, entity)| (Id::assume(id), entity))
    }
}

impl<G: Game> Room<G> {
    /// Reads the room as a player drew it at a time that her client says (`drawn_time`, in ticks), to see what she aimed
    /// at. Of kinds with `#[entity(history = "…")]` there is what they were then.
    ///
    /// A client may say anything: the time counts as no earlier than its round trip, what drawing takes and two sends
    /// before now, as no earlier than a second ago (a setting, `rewind_ms`), and as no later than now.
    pub fn rewind<R>(&self, conn: ConnectionId, drawn: f64, read: impl FnOnce(Past<'_>) -> R) -> R {
        let now = self.tick.0 as f64;
        let time = if drawn.is_finite() { drawn } else { now };
        read(Past { world: &self.world, time: time.clamp(now - self.rewinds(conn), now) })
    }

    /// How many ticks back [`rewind`](Self::rewind) goes for a connection at the most.
    #[must_use]
    pub fn rewinds(&self, conn: ConnectionId) -> f64 {
        let ticks = |ms: u64| ms as f64 * f64::from(self.tick_rate) / 1000.0;
        let sends = 2.0 * f64::from(self.send_every);
        let viewer = self.by_id.get(&conn).and_then(|viewer| self.views.as_ref()?.viewer(*viewer));
        let round_trip = viewer.map_or(0.0, |viewer| viewer.round_trip.unwrap_or(0.0));
        let drawing = sends.max(ticks(limits::DRAW_DELAY_MS));
        (round_trip + drawing + sends).min(ticks(self.rewind_ms.into())).min(self.tick.0 as f64)
    }
}

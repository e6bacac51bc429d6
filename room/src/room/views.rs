//! What connections see, and what they were sent of it.

use super::{ConnectionId, Game, Room, lens};
use crate::entity::EntityId;
use crate::sync::explain::Explanation;
use crate::sync::viewer::Viewer;

impl<G: Game> Room<G> {
    /// Why a connection sees an entity or does not, as of the last send: keys in common, the part that shows it,
    /// the distance, the rank, what is held back. `game` is the room's game: `self` in a hook. `None` where there
    /// is no such connection or entity.
    #[must_use]
    pub fn explain(&self, game: &G, conn: ConnectionId, id: impl Into<EntityId>) -> Option<Explanation> {
        let slot = self.world.slot(id.into())?;
        let lens = lens::RoomLens::new(game, self);
        self.views.as_ref()?.explain(*self.by_id.get(&conn)?, slot, &self.world, &lens)
    }

    /// Whether a connection was sent an entity and holds it.
    #[must_use]
    pub fn was_sent(&self, conn: ConnectionId, id: impl Into<EntityId>) -> bool {
        let (viewer, slot) = (self.by_id.get(&conn), self.world.slot(id.into()));
        let views = self.views.as_ref().zip(viewer).zip(slot);
        views.is_some_and(|((views, viewer), slot)| views.knows(*viewer, slot))
    }

    /// Whether every update that is due was sent to a connection and acknowledged, nothing held back.
    #[must_use]
    pub fn is_drained(&self, conn: ConnectionId) -> bool {
        self.viewer(conn).is_some_and(|viewer| viewer.is_drained())
    }

    /// What the client of a connection keeps of what left its view, as of the last send, in the order in which it
    /// is forgotten: see [`Visibility::retain`](super::Visibility::retain). Some of it may be deleted.
    pub fn retained(&self, conn: ConnectionId) -> impl Iterator<Item = EntityId> + '_ {
        self.viewer(conn).into_iter().flat_map(|viewer| viewer.retained.iter().map(|(id, _)| id))
    }

    fn viewer(&self, conn: ConnectionId) -> Option<&Viewer> {
        self.views.as_ref()?.viewer(*self.by_id.get(&conn)?)
    }
}

//! Who sees presence.

use super::{Game, Grid, Part, Visibility};

impl<G: Game> Visibility<G> {
    /// Leaves it to the parts of this interest who sees [`Presence`](crate::Presence), as with any kind: by keys
    /// of the game's own, say, of a player's team. If not said, everyone sees everybody's, and the parts are not
    /// asked.
    ///
    /// Then a limit counts other players' presence too, and a player sees her own only where a part shows it.
    #[must_use]
    pub fn presence_by_interest(mut self) -> Visibility<G> {
        self.presence_by_interest = true;
        self
    }
}

impl<G: Game> Part<G> {
    /// Leaves it to this part who sees presence; see [`Visibility::presence_by_interest`].
    #[must_use]
    pub fn presence_by_interest(self) -> Visibility<G> {
        Visibility::from(self).presence_by_interest()
    }
}

impl<G: Game> Grid<G> {
    /// Leaves it to this grid who sees presence; see [`Visibility::presence_by_interest`].
    #[must_use]
    pub fn presence_by_interest(self) -> Visibility<G> {
        Visibility::from(self).presence_by_interest()
    }
}

//! The room's state, and what is a player's alone.

use super::{Game, Room};
use crate::entity::{Entity, PlayerId, Visible};
use crate::schema::Role;

impl<G: Game> Room<G> {
    /// The room's state.
    ///
    /// # Panics
    /// If the schema's state kind is not `K`.
    #[must_use]
    pub fn state<K: Visible>(&self) -> &K {
        let state = self.world.state().and_then(|slot| self.world.at(slot));
        state.unwrap_or_else(|| no_state::<K>())
    }

    /// The room's state, to write.
    ///
    /// # Panics
    /// If the schema's state kind is not `K`.
    pub fn state_mut<K: Visible>(&mut self) -> K::Writer<'_> {
        let slot = self.world.state();
        slot.and_then(|slot| self.world.at_mut::<K>(slot)).unwrap_or_else(|| no_state::<K>())
    }

    /// A player's private state; `None` where the player has none.
    ///
    /// # Panics
    /// If the schema's private kind is not `K`.
    #[must_use]
    pub fn private<K: Visible>(&self, player: PlayerId) -> Option<&K> {
        self.check_private::<K>();
        self.world.at(self.world.private(player)?)
    }

    /// A player's private state, to write.
    ///
    /// # Panics
    /// If the schema's private kind is not `K`.
    pub fn private_mut<K: Visible>(&mut self, player: PlayerId) -> Option<K::Writer<'_>> {
        self.check_private::<K>();
        let slot = self.world.private(player)?;
        self.world.at_mut::<K>(slot)
    }

    /// A player's private state, to write, created from its default where there is none yet.
    ///
    /// # Panics
    /// If the schema's private kind is not `K`.
    pub fn create_private<K: Visible>(&mut self, player: PlayerId) -> K::Writer<'_> {
        self.check_private::<K>();
        let slot = self.world.ensure_private(player);
        slot.and_then(|slot| self.world.at_mut::<K>(slot)).expect("the schema has the kind")
    }

    fn check_private<K: Visible>(&self) {
        let kinds = self.world.schema().entries();
        let listed = kinds.iter().any(|entry| entry.role == Role::Private && entry.kind.name == K::KIND.name);
        assert!(listed, "the schema's private kind is not {}: add `.private::<…>()` to it", K::KIND.name);
    }

    /// Players who have private state, in order.
    pub fn private_players(&self) -> impl Iterator<Item = PlayerId> + '_ {
        self.world.private_players()
    }
}

fn no_state<K: Entity>() -> ! {
    panic!("the schema's state kind is not {}: add `.state::<…>()` to it", K::KIND.name)
}

//! Private states, one a player.

use super::World;
use crate::entity::PlayerId;
use crate::schema::Role;

impl World {
    /// The slot of a player's private state, created from its default where there is none and the schema has
    /// such a kind.
    pub fn ensure_private(&mut self, player: PlayerId) -> Option<u32> {
        if let Some(slot) = self.privates.get(&player) {
            return Some(*slot);
        }
        let id = self.random_id();
        let slot = self.insert_default(Role::Private, id)?;
        self.slots.0[slot as usize].private_to = Some(player);
        self.privates.insert(player, slot);
        Some(slot)
    }

    /// Deletes a player's private state.
    pub fn remove_private(&mut self, player: PlayerId) {
        if let Some(slot) = self.privates.remove(&player) {
            self.remove_slot(slot);
        }
    }

    /// The slot of a player's private state.
    #[must_use]
    pub fn private(&self, player: PlayerId) -> Option<u32> {
        self.privates.get(&player).copied()
    }

    /// Players who have private state, in order.
    pub fn private_players(&self) -> impl Iterator<Item = PlayerId> + '_ {
        self.privates.keys().copied()
    }
}

//! Entities that the library itself makes: the room's state, private state, presence.

use std::collections::BTreeMap;

use super::World;
use crate::entity::{EntityId, Id, PlayerId};
use crate::presence::Presence;
use crate::schema::Role;

/// Their slots.
#[derive(Debug, Default)]
pub(super) struct Own {
    state: Option<u32>,
    privates: BTreeMap<PlayerId, u32>,
    presences: BTreeMap<PlayerId, u32>,
    /// Whether the game's interest says who sees presence.
    presence_by_interest: bool,
}

/// What a player's sessions say of her presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present<'a> {
    /// The display name.
    pub name: &'a str,
    /// How many connections she has.
    pub connections: u16,
    /// The last tick in which she is held, where she has none.
    pub held_until: Option<u64>,
}

impl World {
    /// Whether the library shows a kind's entities to everyone.
    pub(super) fn is_for_all(&self, kind: u8) -> bool {
        match self.schema.entries()[kind as usize].role {
            Role::State => true,
            Role::Presence => !self.own.presence_by_interest,
            Role::Private | Role::Entity => false,
        }
    }

    /// Creates the state or a private entity, where the schema has such a kind.
    fn insert_default(&mut self, role: Role, id: EntityId) -> Option<u32> {
        let kind = self.schema.entries().iter().position(|k| k.role == role)?;
        let make = self.schema.entries()[kind].make.as_ref()?.default.clone()?;
        let slot = self.free_slot();
        let row = self.stores[kind].push_default(&*make, id, slot);
        self.occupy(slot, kind as u8, id, row);
        Some(slot)
    }

    /// Creates the room's state, where the schema has such a kind.
    pub(super) fn insert_state(&mut self) {
        if self.own.state.is_none() {
            self.own.state = self.insert_default(Role::State, EntityId::STATE);
        }
    }

    /// Takes note of a stored entity that is the library's own.
    pub(super) fn restored(&mut self, slot: u32, private_to: Option<PlayerId>) {
        if self.entry(slot).role == Role::State {
            self.own.state = Some(slot);
        }
        if let Some(player) = private_to {
            self.slots.0[slot as usize].private_to = Some(player);
            self.own.privates.insert(player, slot);
        }
    }

    /// The slot of the room's state.
    #[must_use]
    pub fn state(&self) -> Option<u32> {
        self.own.state
    }

    /// The slot of a player's private state, created from its default where there is none and the schema has
    /// such a kind.
    pub fn ensure_private(&mut self, player: PlayerId) -> Option<u32> {
        if let Some(slot) = self.own.privates.get(&player) {
            return Some(*slot);
        }
        let id = self.random_id();
        let slot = self.insert_default(Role::Private, id)?;
        self.slots.0[slot as usize].private_to = Some(player);
        self.own.privates.insert(player, slot);
        Some(slot)
    }

    /// Deletes a player's private state.
    pub fn remove_private(&mut self, player: PlayerId) {
        if let Some(slot) = self.own.privates.remove(&player) {
            self.remove_slot(slot);
        }
    }

    /// The slot of a player's private state.
    #[must_use]
    pub fn private(&self, player: PlayerId) -> Option<u32> {
        self.own.privates.get(&player).copied()
    }

    /// Players who have private state, in order.
    pub fn private_players(&self) -> impl Iterator<Item = PlayerId> + '_ {
        self.own.privates.keys().copied()
    }

    /// Lets the game's interest say who sees presence. To be said before the first seal.
    pub fn set_presence_by_interest(&mut self, by_interest: bool) {
        self.own.presence_by_interest = by_interest;
        for slot in 0..self.slots.0.len() {
            self.slots.0[slot].for_all = self.is_for_all(self.slots.0[slot].kind);
        }
    }

    /// A player's presence.
    #[must_use]
    pub fn presence(&self, player: PlayerId) -> Option<&Presence> {
        self.at(*self.own.presences.get(&player)?)
    }

    /// The ID of a player's presence.
    #[must_use]
    pub fn presence_id(&self, player: PlayerId) -> Option<Id<Presence>> {
        let slot = *self.own.presences.get(&player)?;
        Some(Id::assume(self.info(slot).id))
    }

    /// Everyone's presence, in the order of players.
    pub fn presences(&self) -> impl DoubleEndedIterator<Item = &Presence> + '_ {
        self.own.presences.values().filter_map(|slot| self.at(*slot))
    }

    /// Brings a player's presence up to date, which is made where there is none and the schema has the kind. What is
    /// as it was is not written.
    pub fn present(&mut self, player: PlayerId, now: Present<'_>) {
        let Some(slot) = self.ensure_presence(player) else { return };
        let Some(mut presence) = self.at_mut::<Presence>(slot) else { return };
        if presence.name != now.name {
            // As long as a name may be, far below what a field holds.
            let _ = presence.set_name(now.name.to_owned());
        }
        presence.set_connections(now.connections);
        presence.set_held_until(now.held_until);
    }

    fn ensure_presence(&mut self, player: PlayerId) -> Option<u32> {
        if let Some(slot) = self.own.presences.get(&player) {
            return Some(*slot);
        }
        let kind = self.kind_of::<Presence>()?;
        let (name, status) = (String::new(), String::new());
        let presence = Presence { player, name, status, connections: 0, held_until: None };
        let id = self.random_id();
        let slot = self.insert(kind, id, presence).ok()?;
        self.own.presences.insert(player, slot);
        Some(slot)
    }

    /// Writes the status of a player's presence, of a length that was checked; returns whether she has one.
    pub fn set_status(&mut self, player: PlayerId, status: String) -> bool {
        let slot = self.own.presences.get(&player).copied();
        let presence = slot.and_then(|slot| self.at_mut::<Presence>(slot));
        presence.is_some_and(|mut presence| presence.set_status(status).is_ok())
    }

    /// Deletes a player's presence.
    pub fn remove_presence(&mut self, player: PlayerId) {
        if let Some(slot) = self.own.presences.remove(&player) {
            self.remove_slot(slot);
        }
    }

    /// Finds the presence of players again among entities that came from a store.
    pub fn find_presences(&mut self) {
        let found = self.all::<Presence>().map(|(id, presence)| (presence.player, id.entity()));
        let found = found.filter_map(|(player, id)| Some((player, self.slot(id)?))).collect();
        self.own.presences = found;
    }

    /// Players who have presence, in order.
    pub fn presence_players(&self) -> impl Iterator<Item = PlayerId> + '_ {
        self.own.presences.keys().copied()
    }

    /// Deletes what was created since the births were `before` many: a refused join leaves nothing behind. Presence
    /// stays: it goes with her session.
    pub fn undo_births(&mut self, before: usize) {
        for i in before..self.born.len() {
            let slot = self.born[i];
            if self.is_live(slot) && self.entry(slot).role == Role::Entity {
                self.remove_slot(slot);
            }
        }
        let born = &self.born[before..];
        let privates = self.own.privates.iter().filter(|(_, slot)| born.contains(slot));
        let players: Vec<PlayerId> = privates.map(|(player, _)| *player).collect();
        for player in players {
            self.remove_private(player);
        }
    }
}

//! Presence: who is in a room, and whether she is there just now.

use crate::entity::PlayerId;
use crate::tick::Tick;

/// A player who is in the room. There is one for each, of a kind that the library makes and keeps: from before her
/// `on_join` until after her `on_leave`. Every schema has the kind, unless it is made
/// [`without_presence`](crate::schema::Schema::without_presence).
///
/// Everyone sees it, unless the game's interest says who does
/// ([`presence_by_interest`](crate::Visibility::presence_by_interest)). Of all fields only the status is written by
/// anybody: by the game ([`Room::set_status`](crate::Room::set_status)), and by the player through her client.
#[derive(crate::Entity, Clone, Debug, PartialEq, Eq)]
#[entity(crate = "crate", name = "room_presence", owner = player, ids = "random")]
pub struct Presence {
    /// The player.
    pub player: PlayerId,
    /// The display name that her newest session gave: for display only, and not unique.
    pub name: String,
    /// What game or player say of her, at most 256 bytes: "in the lobby", "away". Empty until somebody says something.
    pub status: String,
    /// How many connections she has: none while she is held, more than one where a game allows her several sessions.
    pub connections: u16,
    /// Where she has no connection: the last tick in which she is held. A number, for fields hold no ticks; see
    /// [`held`](Self::held).
    pub held_until: Option<u64>,
}

impl Presence {
    /// Whether a connection of hers is open.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.held_until.is_none()
    }

    /// The last tick in which she is held; none while she is connected.
    #[must_use]
    pub fn held(&self) -> Option<Tick> {
        self.held_until.map(Tick)
    }
}

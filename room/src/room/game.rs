//! What a game implements.

use serde::de::DeserializeOwned;

use super::interest::Visibility;
use super::{ConnectionId, Room};
use crate::entity::PlayerId;
use crate::schema::Schema;

/// A game's rules on the server. One value of it runs one room.
///
/// In each tick, all that arrived is handled in the order of its arrival (joins, events, leaves), then
/// [`on_tick`](Game::on_tick) runs, then, where a send is due, what changed goes to those who may see it.
pub trait Game: Sized + Send + Sync + 'static {
    /// What a client's `send` carries.
    type Event: DeserializeOwned + Send;
    /// Scratch data of a connection; `()` where there is none.
    type Scratch: Default + Send + Sync + 'static;

    /// The kinds. Clients build the same schema.
    fn schema() -> Schema;

    /// Who sees what. Asked once, when the room is made.
    fn interest(&self) -> Visibility<Self> {
        Visibility::everything()
    }

    /// The room was made.
    fn on_create(&mut self, room: &mut Room<Self>) {
        let _ = room;
    }

    /// A player joins. Not called where her account plays already over another connection: that one closes with
    /// 4005 and she goes on over the new one, with the same number, entities and scratch data. A refusal undoes what the hook created and closes the connection with 4014.
    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let _ = (room, peer);
        Ok(())
    }

    /// A client sent an event.
    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: Self::Event) {
        let _ = (room, peer, event);
    }

    /// A step of the simulation.
    fn on_tick(&mut self, room: &mut Room<Self>) {
        let _ = room;
    }

    /// A player is gone.
    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, why: LeaveReason) {
        let _ = (room, player, why);
    }
}

/// Who sent something: a player, and the connection she used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The player.
    pub player: PlayerId,
    /// The connection.
    pub conn: ConnectionId,
}

/// Why a join hook lets a player not in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    reason: String,
}

impl Refused {
    /// A refusal; the client gets the first 123 bytes of the reason.
    pub fn new(reason: impl Into<String>) -> Refused {
        Refused { reason: reason.into() }
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// How a player's stay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaveReason {
    /// She left.
    Left,
    /// Her connection ended.
    Dropped,
    /// The room kicked her.
    Kicked,
    /// Her connection was closed for what it sent: a message that does not decode, an event that is not the
    /// game's, a second hello, or too much.
    Misbehaved,
}

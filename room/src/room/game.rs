//! What a game implements.

use std::future::Future;

use serde::de::DeserializeOwned;

use super::interest::Visibility;
use super::migrate::Migrating;
use super::outside::{Answer, Effect, Payload};
use super::steps::Steps;
use super::writes::Written;
use super::{Calls, ConnectionId, Room};
use crate::entity::{PlayerId, SessionId};
use crate::schema::Schema;

/// A game's rules on the server. One value of it runs one room.
///
/// In each tick, all that arrived is handled in the order of its arrival (joins, events, writes, leaves), then players
/// are [stepped](Game::steps), then [`on_tick`](Game::on_tick) runs, then, where a send is due, what changed goes to those who may see it.
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

    /// The room was made: it is new, and nothing is stored of it.
    fn on_create(&mut self, room: &mut Room<Self>) {
        let _ = room;
    }

    /// The room goes on from what its store has: entities, state and private states are as they were, and every session
    /// is held. What the game keeps in its own fields is new, for this is another value of it.
    /// [`on_drop`](Game::on_drop) follows for each session that was connected when the room ended.
    fn on_wake(&mut self, room: &mut Room<Self>) {
        let _ = room;
    }

    /// The calls that clients can make. Asked once, when the room is made.
    fn calls() -> Calls<Self> {
        Calls::new()
    }

    /// The room wakes, and was stored by a build with another schema: called for each stored entity whose kind is not
    /// what it was, or is gone, before it is converted. By default what converts by itself does, and anything else
    /// keeps the room from waking. See [`migrate`](crate::migrate). A refusal keeps the room from waking too.
    fn migrate(entity: &mut Migrating) -> Result<(), Refused> {
        let _ = entity;
        Ok(())
    }

    /// A player joins: a session begins. Not called where a session goes on over a new connection. A refusal undoes
    /// what the hook created and closes the connection with 4014.
    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let _ = (room, peer);
        Ok(())
    }

    /// A connection ended, and not for good: the session is held, with the seat and everything that is the player's.
    /// Either [`on_resume`](Game::on_resume) follows or, once her last session's hold has run out,
    /// [`on_leave`](Game::on_leave).
    fn on_drop(&mut self, room: &mut Room<Self>, player: PlayerId, session: SessionId, how: Dropped) {
        let _ = (room, player, session, how);
    }

    /// A held session goes on over a new connection.
    fn on_resume(&mut self, room: &mut Room<Self>, peer: Peer) {
        let _ = (room, peer);
    }

    /// A client sent an event: each is handled exactly once, in order. If the session is held by now, the
    /// connection is the one that it had.
    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: Self::Event) {
        let _ = (room, peer, event);
    }

    /// A client sent a transient, which may have been lost. By default it is handled as an event.
    fn on_transient(&mut self, room: &mut Room<Self>, peer: Peer, event: Self::Event) {
        self.on_event(room, peer, event);
    }

    /// How players are stepped: what their inputs do, once a tick, before [`on_tick`](Game::on_tick). Asked once, when
    /// the room is made.
    fn steps() -> Steps<Self> {
        Steps::none()
    }

    /// A player writes fields of an entity that she owns from her client. The fields are writable ones and their floats
    /// finite; quantized ones are rounded. The game may change what is written, or refuse it: her client then shows what
    /// the room has. By default all is let through.
    fn on_write(&mut self, room: &mut Room<Self>, peer: Peer, written: &mut Written) -> Result<(), Refused> {
        let _ = (room, peer, written);
        Ok(())
    }

    /// A player's client sets what her presence says of her. What is returned becomes her status, of which the first 256
    /// bytes count; with `None` it stays as it was. Each is handled once, in the order of her events.
    fn on_status(&mut self, room: &mut Room<Self>, player: PlayerId, status: String) -> Option<String> {
        let _ = (room, player);
        Some(status)
    }

    /// A step of the simulation.
    fn on_tick(&mut self, room: &mut Room<Self>) {
        let _ = room;
    }

    /// Another room of this server sent a message.
    fn on_message(&mut self, room: &mut Room<Self>, from: &str, message: Payload) {
        let _ = (room, from, message);
    }

    /// Work that the room spawned has come to its end: what it gave, or why there is nothing.
    fn on_answer(&mut self, room: &mut Room<Self>, name: &str, answer: Answer) {
        let _ = (room, name, answer);
    }

    /// Does outside what [`Room::after_commit`] asked for: it is called until it succeeds, by later runs of the room
    /// too. It may have succeeded before without the room's hearing of it; the effect's key is the same then.
    fn perform(effect: Effect) -> impl Future<Output = Result<(), String>> + Send + 'static {
        async move { Err(format!("the game asked for {} and has no `perform`", effect.key)) }
    }

    /// A player is gone: her last session has ended.
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

/// Why a hook does not do what it is asked to: let a player in, carry out a call, convert an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    reason: String,
}

impl Refused {
    /// A refusal; of a join, the client gets the first 123 bytes of the reason.
    pub fn new(reason: impl Into<String>) -> Refused {
        Refused { reason: reason.into() }
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// How a connection ended whose session is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dropped {
    /// With a close frame: a reload, a closed tab.
    Closed,
    /// Without one.
    Broken,
    /// Nothing was heard of it for too long.
    Silent,
    /// It did not take what it was sent.
    FellBehind,
    /// The room closed it for what it sent: a message that does not decode, a second hello, too much.
    Misbehaved,
}

/// Why a player is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaveReason {
    /// She left.
    Left,
    /// Her connection ended, and she did not come back in time.
    Dropped,
    /// The room kicked her.
    Kicked,
}

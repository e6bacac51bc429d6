//! A room as game code meets it: entities, connections, messages.

mod calls;
pub mod game;
pub mod interest;
mod journal;
pub mod label;
mod lens;
pub mod log;
pub mod migrate;
mod outgoing;
pub mod outside;
mod own;
mod presence;
pub mod rewind;
pub mod runtime;
mod sessions;
mod steps;
mod views;
mod writes;

use std::any::TypeId;
use std::collections::BTreeMap;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

pub use calls::Calls;
pub use game::{Dropped, Game, LeaveReason, Peer, Refused};
pub use interest::{EntityRef, Interest, Key, Keys, RoomRef, Visibility};
pub use label::{BadKind, Label};
pub use outgoing::SendError;
pub use presence::StatusError;
pub use rewind::Past;
pub use steps::Steps;
pub use writes::Written;

use crate::entity::{Entity, EntityId, Id, PlayerId, SessionId};
use crate::presence::Presence;
use crate::sync::Views;
use crate::sync::update::Stats;
pub use crate::sync::world::CreateError;
use crate::sync::world::World;
use crate::tick::Tick;
use crate::wire::record::StoredRecord;
use label::{Site, Standing};
use outgoing::{Class, Messages, Target};
use sessions::Sessions;

/// The number of a connection: chosen by whoever drives the room, unique in it, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A connection that has joined.
#[derive(Debug)]
pub struct Connection<G: Game> {
    id: ConnectionId,
    session: SessionId,
    player: PlayerId,
    name: String,
    account: Option<String>,
    /// The game's scratch data.
    pub scratch: G::Scratch,
}

impl<G: Game> Connection<G> {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// The session that goes on over it.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The player who plays over it.
    #[must_use]
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// The display name that the client gave; for display only.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The account that authentication returned.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Player and connection.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer { player: self.player, conn: self.id }
    }
}

/// A room's entities, connections and messages: what a game's hooks work on.
pub struct Room<G: Game> {
    tick: Tick,
    tick_rate: u32,
    send_every: u32,
    rewind_ms: u32,
    standing: Standing,
    interest: Visibility<G>,
    world: World,
    /// By the numbers of their views.
    connections: Vec<Option<Connection<G>>>,
    by_id: BTreeMap<ConnectionId, u32>,
    sessions: Sessions<G>,
    rng: ChaCha12Rng,
    messages: Messages,
    outside: outside::Said,
    kicks: Vec<(PlayerId, String)>,
    // Invariant: there, but for the moment of a seal, when the interest looks at the room.
    views: Option<Box<Views>>,
}

impl<G: Game> Room<G> {
    fn new(
        interest: Visibility<G>,
        world: World,
        views: Views,
        tick_rate: u32,
        send_every: u32,
        seed: [u8; 32],
    ) -> Self {
        Room {
            tick: Tick::ZERO,
            tick_rate,
            send_every,
            rewind_ms: crate::limits::REWIND_MS,
            standing: Standing::new(Site::default(), crate::limits::SEATS),
            interest,
            world,
            connections: Vec::new(),
            by_id: BTreeMap::new(),
            sessions: Sessions::default(),
            rng: ChaCha12Rng::from_seed(seed),
            messages: Messages::default(),
            outside: outside::Said::default(),
            kicks: Vec::new(),
            views: Some(Box::new(views)),
        }
    }

    /// The tick that runs; in `on_create` the one before the first.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Ticks a second.
    #[must_use]
    pub fn tick_rate(&self) -> u32 {
        self.tick_rate
    }

    /// Ticks from one send to the next.
    #[must_use]
    pub fn send_every(&self) -> u32 {
        self.send_every
    }

    /// Seconds that one tick stands for.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        1.0 / f64::from(self.tick_rate)
    }

    /// The room's random numbers: one seed, one run. For the game's chances, not for secrets.
    pub fn rng(&mut self) -> &mut ChaCha12Rng {
        &mut self.rng
    }

    /// Creates an entity under the next automatic ID, or a random one if its kind says so.
    pub fn create<K: Entity>(&mut self, entity: K) -> Result<Id<K>, CreateError> {
        self.world.create(entity)
    }

    /// Creates an entity under an ID from 2 to 2^52 that room and clients can work out, such as a chunk's from
    /// its coordinates. The ID of a deleted entity is free at once.
    pub fn create_with_id<K: Entity>(&mut self, id: u64, entity: K) -> Result<Id<K>, CreateError> {
        self.world.create_with_id(id, entity)
    }

    /// Deletes an entity; returns whether there was one. The room's state, private states and presence stay.
    pub fn delete(&mut self, id: impl Into<EntityId>) -> bool {
        self.world.delete(id.into())
    }

    /// An entity. One look-up; an ID of another kind gives `None`.
    #[must_use]
    pub fn get<K: Entity>(&self, id: Id<K>) -> Option<&K> {
        self.world.get(id.entity())
    }

    /// An entity, to write. Of [`Presence`] there is none: see [`set_status`](Self::set_status).
    pub fn get_mut<K: Entity>(&mut self, id: Id<K>) -> Option<K::Writer<'_>> {
        if TypeId::of::<K>() == TypeId::of::<Presence>() {
            return None;
        }
        self.world.get_mut::<K>(id.entity())
    }

    /// The typed ID of an entity, if it lives and is of kind `K`.
    #[must_use]
    pub fn id<K: Entity>(&self, id: EntityId) -> Option<Id<K>> {
        self.world.get::<K>(id).map(|_| Id::assume(id))
    }

    /// Whether an entity lives.
    #[must_use]
    pub fn contains(&self, id: impl Into<EntityId>) -> bool {
        self.world.slot(id.into()).is_some()
    }

    /// All entities of a kind in ID order.
    pub fn all<K: Entity>(&self) -> impl DoubleEndedIterator<Item = (Id<K>, &K)> + '_ {
        self.world.all()
    }

    /// How many entities of a kind there are.
    #[must_use]
    pub fn count<K: Entity>(&self) -> usize {
        self.world.count::<K>()
    }

    /// How many entities there are, of all kinds.
    #[must_use]
    pub fn entities(&self) -> usize {
        self.world.len()
    }

    /// An entity of any kind, hidden ones too, as whole values: for inspection.
    #[must_use]
    pub fn stored(&self, id: impl Into<EntityId>) -> Option<StoredRecord> {
        self.world.stored(id.into())
    }

    /// Asks an entity's keys again at the next send: for keys that depend on more than the entity.
    pub fn rekey(&mut self, id: impl Into<EntityId>) {
        self.world.rekey(id.into());
    }

    /// Connections that have joined, in the order of their numbers.
    pub fn connections(&self) -> impl Iterator<Item = &Connection<G>> + '_ {
        self.by_id.values().filter_map(|viewer| self.at(*viewer))
    }

    /// A connection.
    #[must_use]
    pub fn connection(&self, conn: ConnectionId) -> Option<&Connection<G>> {
        self.at(*self.by_id.get(&conn)?)
    }

    /// A connection, to change its scratch data.
    pub fn connection_mut(&mut self, conn: ConnectionId) -> Option<&mut Connection<G>> {
        let viewer = *self.by_id.get(&conn)?;
        self.connections[viewer as usize].as_mut()
    }

    /// How many connections have joined.
    #[must_use]
    pub fn players(&self) -> usize {
        self.by_id.len()
    }

    /// Sends an event to one connection's session. It leaves at the next send, behind that connection's update,
    /// and reaches the session exactly once, over whichever connection.
    pub fn send<E: Serialize + ?Sized>(&mut self, conn: ConnectionId, event: &E) -> Result<(), SendError> {
        self.queue_for(conn, Class::Event, event)
    }

    /// Sends an event to all sessions of a player.
    pub fn send_player<E: Serialize + ?Sized>(
        &mut self,
        player: PlayerId,
        event: &E,
    ) -> Result<(), SendError> {
        self.messages.push(Target::Player(player, self.sessions.last()), Class::Event, event)
    }

    /// Sends an event to everyone, held sessions too. It is encoded once.
    pub fn broadcast<E: Serialize + ?Sized>(&mut self, event: &E) -> Result<(), SendError> {
        self.messages.push(Target::Everyone(self.sessions.last()), Class::Event, event)
    }

    /// Sends an event to everyone who sees an entity: who was sent its enter, up to the update that the event
    /// stands behind. If the entity is deleted before the next send, to those who saw it until then. A held
    /// session sees nothing.
    pub fn send_seeing<E: Serialize + ?Sized>(
        &mut self,
        id: impl Into<EntityId>,
        event: &E,
    ) -> Result<(), SendError> {
        self.queue_seeing(id.into(), Class::Event, event)
    }

    /// Sends an event to everyone who subscribes to a key, in any part of the interest. A held session subscribes
    /// to nothing.
    pub fn send_key<E: Serialize + ?Sized>(
        &mut self,
        key: impl Into<Key>,
        event: &E,
    ) -> Result<(), SendError> {
        self.messages.push(Target::Key(key.into()), Class::Event, event)
    }

    /// As [`send`](Self::send), for an effect that may be lost: it goes out once, and neither to a
    /// hidden page nor to a client that is behind, for which it would be stale.
    pub fn send_transient<E: Serialize + ?Sized>(
        &mut self,
        conn: ConnectionId,
        effect: &E,
    ) -> Result<(), SendError> {
        self.queue_for(conn, Class::Transient, effect)
    }

    /// As [`send_player`](Self::send_player), for an effect that may be lost.
    pub fn send_transient_player<E: Serialize + ?Sized>(
        &mut self,
        player: PlayerId,
        effect: &E,
    ) -> Result<(), SendError> {
        self.messages.push(Target::Player(player, self.sessions.last()), Class::Transient, effect)
    }

    /// As [`broadcast`](Self::broadcast), for an effect that may be lost.
    pub fn broadcast_transient<E: Serialize + ?Sized>(&mut self, effect: &E) -> Result<(), SendError> {
        self.messages.push(Target::Everyone(self.sessions.last()), Class::Transient, effect)
    }

    /// As [`send_seeing`](Self::send_seeing), for an effect that may be lost.
    pub fn send_transient_seeing<E: Serialize + ?Sized>(
        &mut self,
        id: impl Into<EntityId>,
        effect: &E,
    ) -> Result<(), SendError> {
        self.queue_seeing(id.into(), Class::Transient, effect)
    }

    /// As [`send_key`](Self::send_key), for an effect that may be lost.
    pub fn send_transient_key<E: Serialize + ?Sized>(
        &mut self,
        key: impl Into<Key>,
        effect: &E,
    ) -> Result<(), SendError> {
        self.messages.push(Target::Key(key.into()), Class::Transient, effect)
    }

    fn queue_for<E: Serialize + ?Sized>(
        &mut self,
        conn: ConnectionId,
        class: Class,
        value: &E,
    ) -> Result<(), SendError> {
        let session = self.sessions.of_conn(conn).ok_or(SendError::NoConnection { conn })?;
        self.messages.push(Target::Session(session), class, value)
    }

    fn queue_seeing<E: Serialize + ?Sized>(
        &mut self,
        id: EntityId,
        class: Class,
        value: &E,
    ) -> Result<(), SendError> {
        let slot = self.world.slot(id).ok_or(SendError::NoEntity { id })?;
        self.messages.push(Target::Seeing(slot), class, value)
    }

    /// Sessions that there are, held ones too: each has a seat.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Whether anybody has ever been in it.
    #[must_use]
    pub fn was_joined(&self) -> bool {
        self.sessions.last() > SessionId(0)
    }

    /// The sessions of a player, held ones too, in the order in which they began.
    pub fn sessions_of(&self, player: PlayerId) -> impl Iterator<Item = SessionId> + '_ {
        self.sessions.of_player(player).iter().copied()
    }

    /// The last tick in which a session is held, where its connection has ended; `None` where it is connected or
    /// there is none.
    #[must_use]
    pub fn held_until(&self, session: SessionId) -> Option<Tick> {
        self.sessions.get(session)?.held
    }

    /// Events, results and failures that a session keeps for its client, which has not acknowledged them, and
    /// their bytes.
    #[must_use]
    pub fn unacknowledged_events(&self, session: SessionId) -> (usize, usize) {
        self.sessions.get(session).map_or((0, 0), |session| (session.outbox.len(), session.outbox.bytes()))
    }

    /// Bytes of updates that a connection was sent and has not acknowledged.
    #[must_use]
    pub fn unacknowledged_bytes(&self, conn: ConnectionId) -> usize {
        let viewer = self.by_id.get(&conn).and_then(|viewer| self.views.as_ref()?.viewer(*viewer));
        viewer.map_or(0, |viewer| viewer.window.bytes())
    }

    /// Removes a player after this tick: `on_leave` runs, her connections close with 4013 and the message, of
    /// which the client gets the first 123 bytes, and stays away.
    pub fn kick(&mut self, player: PlayerId, message: impl Into<String>) {
        self.kicks.push((player, message.into()));
    }

    /// What the room has sent, counted since it began.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.views.as_ref().map(|views| *views.stats()).unwrap_or_default()
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// The connection of a view.
    pub(crate) fn at(&self, viewer: u32) -> Option<&Connection<G>> {
        self.connections.get(viewer as usize)?.as_ref()
    }

    fn views_mut(&mut self) -> &mut Views {
        self.views.as_mut().expect("views are away only while the interest looks at the room")
    }
}

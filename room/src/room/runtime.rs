//! A room as its driver meets it: bytes and time in, bytes and log entries out. No I/O, no clock.
//!
//! Every call that changes something is followed by a full drain of [`Runtime::poll_transmit`] and
//! [`Runtime::poll_log`].

mod inbox;
mod send;
mod settings;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub use super::ConnectionId;
use super::game::{Game, LeaveReason, Peer};
use super::log::{Log, LogGate};
use super::{Connection, Room};
use crate::entity::PlayerId;
use crate::limits;
use crate::session::{Hello, close_reason, code};
use crate::sync::world::World;
use crate::sync::{SyncSettings, Views, limit::Limit};
use crate::tick::Tick;
use crate::wire::PROTOCOL_VERSION;
use crate::wire::message::{RoomMessage, Welcome};
use inbox::{Arrival, Inbox};
use send::{Out, Source};
pub use settings::{Settings, StartError};

/// Who authentication says a client is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The account; none for a guest, who is forgotten when she leaves.
    pub account: Option<String>,
}

impl Identity {
    /// Somebody without an account.
    #[must_use]
    pub fn guest() -> Identity {
        Identity::default()
    }

    /// The owner of an account.
    pub fn account(name: impl Into<String>) -> Identity {
        Identity { account: Some(name.into()) }
    }
}

/// A client that may come in.
#[derive(Clone, Debug)]
pub struct Join {
    /// Its first message, as [`session::admit`](crate::session::admit) let it pass.
    pub hello: Hello,
    /// Who it is.
    pub identity: Identity,
}

/// How a socket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// With a close frame.
    WithFrame,
    /// Without one.
    Broken,
}

/// Something for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing<'a> {
    /// A binary message.
    Message(&'a [u8]),
    /// A close frame; nothing follows for that connection.
    Close {
        /// The code.
        code: u16,
        /// The reason, at most 123 bytes.
        reason: &'a str,
    },
}

/// Something for one connection's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// The connection.
    pub conn: ConnectionId,
    /// What its socket should do.
    pub outgoing: Outgoing<'a>,
}

/// A game's room at work.
pub struct Runtime<G: Game> {
    game: G,
    room: Room<G>,
    settings: Settings,
    inbox: Inbox<G>,
    accounts: BTreeMap<String, PlayerId>,
    next_player: u32,
    out: Out,
    logs: std::collections::VecDeque<Log>,
    log_gate: LogGate,
    /// Panics in the interest that the log has not told of yet.
    interest_panics: u64,
}

impl<G: Game> Runtime<G> {
    /// Makes a room and runs `on_create`. One seed, one run.
    pub fn new(game: G, settings: Settings, seed: [u8; 32]) -> Result<Self, StartError> {
        settings.validate()?;
        let schema = G::schema();
        schema.validate()?;
        let interest = game.interest();
        let sync = SyncSettings {
            update_cap: settings.update_cap,
            window: settings.window,
            piece_level: settings.piece_level,
            view_hash: settings.view_hash,
        };
        let parts = interest.parts.iter().map(|part| (part.shape(), part.sees.is_some())).collect();
        let limit = match &interest.limit {
            Some((most, on_change, _)) => Limit { most: Some(*most), on_change: *on_change },
            None => Limit::default(),
        };
        // Random IDs are drawn from a generator of their own, so that they tell nothing of the game's.
        let mut ids = seed;
        ids.iter_mut().for_each(|byte| *byte = !*byte);
        let world = World::new(schema, ids);
        let room = Room::new(
            interest,
            world,
            Views::new(sync, parts, limit),
            settings.tick_rate,
            settings.send_every,
            seed,
        );
        let mut runtime = Runtime {
            game,
            room,
            settings,
            inbox: Inbox::new(),
            accounts: BTreeMap::new(),
            next_player: 1,
            out: Out::default(),
            logs: std::collections::VecDeque::new(),
            log_gate: LogGate::default(),
            interest_panics: 0,
        };
        runtime.note_unseen_kinds();
        runtime.game.on_create(&mut runtime.room);
        Ok(runtime)
    }

    fn note_unseen_kinds(&mut self) {
        for entry in self.room.world.schema().entries() {
            let kind = entry.kind.name;
            let asked = entry.role == crate::schema::Role::Entity && !entry.kind.hidden;
            if asked && !self.room.interest.parts.iter().any(|part| part.can_show(kind)) {
                self.logs.push_back(Log::UnseenKind { kind });
            }
        }
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Room<G> {
        &self.room
    }

    /// The room and its game, to change between two ticks: for tools and tests. What changes is sent at the
    /// next send like everything else.
    pub fn parts_mut(&mut self) -> (&mut G, &mut Room<G>) {
        (&mut self.game, &mut self.room)
    }

    /// The game.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Connections that have joined or wait to.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.room.players() + self.inbox.joining()
    }

    /// A client asks to come in. It is seated at the next tick; a full room closes it with 4004 at once.
    pub fn handle_open(&mut self, conn: ConnectionId, _now: Duration, join: Join) {
        let replaces = join.identity.account.as_ref().and_then(|account| self.accounts.get(account));
        let replaces = replaces.is_some_and(|player| self.room.of_player.contains_key(player));
        if self.connections() >= self.settings.seats && !replaces {
            let reason = format!(r#"{{"players":{},"max":{}}}"#, self.connections(), self.settings.seats);
            self.out.close(conn, code::FULL, reason);
            return;
        }
        self.inbox.open(conn, join);
    }

    /// A message came. What does not decode ends the connection with 4000; a hook never sees it.
    pub fn handle_message(&mut self, conn: ConnectionId, _now: Duration, bytes: &[u8]) {
        let (code, reason) = match self.inbox.message(conn, bytes) {
            Ok(Some(tick)) => {
                if let Some(viewer) = self.room.by_id.get(&conn) {
                    let viewer = *viewer;
                    self.room.views_mut().acknowledge(viewer, tick);
                }
                return;
            }
            Ok(None) => return,
            Err(refused) => refused,
        };
        if let Some(player) = self.room.connection(conn).map(Connection::player) {
            let event = std::any::type_name::<G::Event>();
            self.logs.push_back(Log::BadMessage { player, code, reason: reason.clone(), event });
        }
        self.out.close(conn, code, reason);
        self.inbox.close(conn, LeaveReason::Misbehaved);
    }

    /// A socket ended. The player leaves at the next tick, behind what she sent before.
    pub fn handle_close(&mut self, conn: ConnectionId, _now: Duration, _how: Closed) {
        self.inbox.close(conn, LeaveReason::Dropped);
    }

    /// Makes one step: all that arrived, in the order of its arrival; `on_tick`; then, where a send is due, the
    /// seal.
    pub fn tick(&mut self, _now: Duration) {
        self.room.tick = self.room.tick.next();
        let mut arrivals = self.inbox.take();
        for (conn, arrival) in arrivals.drain(..) {
            match arrival {
                Arrival::Join(join) => self.join(conn, join),
                Arrival::Event(event) => {
                    if let Some(peer) = self.room.connection(conn).map(Connection::peer) {
                        self.game.on_event(&mut self.room, peer, event);
                    }
                }
                Arrival::Leave => {
                    self.out.close(conn, code::LEFT, String::new());
                    self.leave(conn, LeaveReason::Left);
                }
                Arrival::Close(why) => self.leave(conn, why),
            }
        }
        self.inbox.reuse(arrivals);
        self.game.on_tick(&mut self.room);
        self.kick();
        if self.room.tick.0.is_multiple_of(u64::from(self.settings.send_every)) {
            self.send();
        }
        self.note_clamped();
        self.out.forget_closed();
    }

    fn join(&mut self, conn: ConnectionId, join: Join) {
        let known = join.identity.account.as_ref().and_then(|account| self.accounts.get(account)).copied();
        let older = known.and_then(|player| self.room.of_player.get(&player).copied());
        if let (Some(older), Some(player)) = (older, known) {
            self.take_over(older, conn, player, join);
            return;
        }
        let player = known.unwrap_or(PlayerId(self.next_player));
        if known.is_none() {
            self.next_player += 1;
        }
        let before = self.room.world.born().len();
        self.room.world.ensure_private(player);
        self.seat(conn, player, &join);
        let Room { tick, .. } = self.room;
        let (game, room) = (&mut self.game, &mut self.room);
        let joined = catch_unwind(AssertUnwindSafe(|| game.on_join(room, Peer { player, conn })));
        let refused = match joined {
            Ok(Ok(())) => return self.welcome(conn, player, join),
            Ok(Err(refused)) => refused.reason().to_owned(),
            Err(panic) => {
                let message = panic_message(&*panic);
                self.logs.push_back(Log::HookPanicked { hook: "on_join", tick: tick.0, message });
                String::from("the room failed to let you in")
            }
        };
        self.unseat(conn);
        self.room.world.undo_births(before);
        self.out.close(conn, code::JOIN_REFUSED, close_reason(refused));
        self.inbox.close_now(conn);
    }

    /// The account plays already, over another connection: the player goes on over this one, and no hook runs.
    fn take_over(&mut self, older: ConnectionId, conn: ConnectionId, player: PlayerId, join: Join) {
        self.out.close(older, code::REPLACED, String::from("replaced by a newer connection"));
        self.inbox.close_now(older);
        let scratch = self.unseat(older).map(|gone| gone.scratch);
        self.seat(conn, player, &join);
        if let (Some(scratch), Some(seated)) = (scratch, self.room.connection_mut(conn)) {
            seated.scratch = scratch;
        }
        self.welcome(conn, player, join);
    }

    fn seat(&mut self, conn: ConnectionId, player: PlayerId, join: &Join) {
        let viewer = self.room.views_mut().add(player);
        let connection = Connection {
            id: conn,
            player,
            name: join.hello.name.clone(),
            account: join.identity.account.clone(),
            scratch: G::Scratch::default(),
        };
        if self.room.connections.len() <= viewer as usize {
            self.room.connections.push(None);
        }
        self.room.connections[viewer as usize] = Some(connection);
        self.room.by_id.insert(conn, viewer);
        self.room.of_player.insert(player, conn);
    }

    fn unseat(&mut self, conn: ConnectionId) -> Option<Connection<G>> {
        let viewer = self.room.by_id.remove(&conn)?;
        self.room.views_mut().remove(viewer);
        let gone = self.room.connections[viewer as usize].take()?;
        self.room.of_player.remove(&gone.player);
        Some(gone)
    }

    fn welcome(&mut self, conn: ConnectionId, player: PlayerId, join: Join) {
        let build = (!self.settings.build.is_empty()).then_some(self.settings.build.as_str());
        let welcome = RoomMessage::Welcome(Welcome {
            protocol: PROTOCOL_VERSION,
            build,
            player,
            tick: self.room.tick,
            tick_rate: self.settings.tick_rate,
            send_every: self.settings.send_every,
            payload_max: limits::CLIENT_PAYLOAD as u32,
            ..Welcome::default()
        });
        self.out.message(conn, |out| welcome.encode(out));
        if let (Some(room), Some(client)) = (build, &join.hello.build)
            && room != client
        {
            let (room, client) = (room.to_owned(), client.clone());
            self.logs.push_back(Log::BuildMismatch { player, room, client });
        }
        if let Some(account) = join.identity.account {
            self.accounts.insert(account, player);
        }
        self.logs.push_back(Log::Join { player, name: join.hello.name });
    }

    fn leave(&mut self, conn: ConnectionId, why: LeaveReason) {
        let Some(gone) = self.unseat(conn) else { return };
        self.game.on_leave(&mut self.room, gone.player, why);
        // A player with an account keeps number and private state; a guest is forgotten.
        if gone.account.is_none() {
            self.room.world.remove_private(gone.player);
        }
        let why = match why {
            LeaveReason::Left => "left",
            LeaveReason::Dropped => "connection ended",
            LeaveReason::Kicked => "kicked",
            LeaveReason::Misbehaved => "closed for what was sent",
        };
        self.logs.push_back(Log::Leave { player: gone.player, why });
    }

    fn kick(&mut self) {
        for (player, message) in std::mem::take(&mut self.room.kicks) {
            let conn = self.room.of_player.get(&player).copied();
            if let Some(conn) = conn {
                self.leave(conn, LeaveReason::Kicked);
                self.inbox.close_now(conn);
                self.out.close(conn, code::KICKED, close_reason(message));
            }
        }
    }

    /// Clamped values are counted, and told of once a heartbeat.
    fn note_clamped(&mut self) {
        let Some((id, kind, field)) = self.room.world.clamped.first else { return };
        let heartbeat = limits::HEARTBEAT_SECONDS * u64::from(self.settings.tick_rate);
        if self.log_gate.admits_every(heartbeat, "clamped", 0, self.room.tick) {
            let count = std::mem::take(&mut self.room.world.clamped).count;
            self.logs.push_back(Log::Clamped { count, id, kind, field });
        }
    }

    /// The next thing for a socket.
    pub fn poll_transmit(&mut self) -> Option<Transmit<'_>> {
        let item = self.out.next()?;
        let outgoing = match item.source {
            Source::Own(range) => Outgoing::Message(&self.out.bytes[range]),
            Source::Update(range) => Outgoing::Message(&self.room.views.as_ref()?.outbox().bytes[range]),
            Source::Event(range) => Outgoing::Message(&self.out.events[range]),
            Source::Close(code, range) => Outgoing::Close {
                code,
                reason: std::str::from_utf8(&self.out.bytes[range]).unwrap_or_default(),
            },
        };
        Some(Transmit { conn: item.conn, outgoing })
    }

    /// The next entry for the log.
    pub fn poll_log(&mut self) -> Option<Log> {
        self.logs.pop_front()
    }

    /// The tick of the room.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.room.tick
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

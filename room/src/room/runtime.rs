//! A room as its driver meets it: bytes and time in, bytes and log entries out. No I/O, no clock.
//!
//! Every call that changes something is followed by a full drain of [`Runtime::poll_transmit`] and
//! [`Runtime::poll_log`].

mod caution;
mod durable;
mod edge;
mod heard;
mod inbox;
mod out;
mod played;
mod rows;
mod seats;
mod send;
mod settings;
mod snapshot;
#[cfg(test)]
mod tests;
mod wake;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sha2::{Digest, Sha256};

pub use super::ConnectionId;
use super::calls::Calls;
use super::game::{Dropped, Game};
use super::label::{Label, Standing};
pub use super::label::{Site, is_code};
use super::log::{Log, LogGate};
pub use super::outside::{Answer, Effect, Outside, Payload, Work, WorkFailed};
use super::steps::Steps;
use super::{Connection, Room};
use crate::entity::PlayerId;
use crate::limits;
use crate::schema::Role;
use crate::sync::workers::Workers;
use crate::sync::world::World;
use crate::sync::{SyncSettings, Views, limit::Limit};
use crate::tick::Tick;
use durable::Durable;
pub use edge::{Closed, Identity, Join, Outgoing, Stopwatch, Transmit};
use inbox::{Arrival, Inbox};
use out::{Out, Source};
#[cfg(feature = "server")]
pub(crate) use seats::PRIVATE;
use seats::Turned;
pub use seats::{Resuming, Way};
pub use settings::{Sessions, Settings, StartError};
pub use wake::{Origin, WakeError};

/// A game's room at work.
pub struct Runtime<G: Game> {
    game: G,
    room: Room<G>,
    settings: Settings,
    calls: Calls<G>,
    steps: Steps<G>,
    generation: u64,
    /// When the last tick ran.
    ticked_at: Duration,
    inbox: Inbox<G>,
    accounts: BTreeMap<String, Account>,
    next_player: u32,
    /// The time of the world outside, in seconds since 1970, as the driver last said; 0 where nobody knows.
    unix: u64,
    out: Out,
    /// What the driver is to do outside; and what waits for a commit before that.
    outside: std::collections::VecDeque<Outside>,
    leaving: Vec<Outside>,
    /// None for a room without a store.
    durable: Option<Durable>,
    logs: std::collections::VecDeque<Log>,
    log_gate: LogGate,
    /// Panics in the interest that the log has not told of yet.
    interest_panics: u64,
    /// The version of the label that the driver was last told.
    label_told: u64,
    stopwatch: Option<Box<dyn Stopwatch>>,
}

/// What a room knows of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    player: PlayerId,
    /// When her last session ended, in seconds since 1970, 0 where nobody knew the time; none while she has one.
    left: Option<u64>,
}

impl<G: Game> Runtime<G> {
    /// Makes a room without a store and runs `on_create`. One seed, one run.
    pub fn new(game: G, settings: Settings, seed: [u8; 32]) -> Result<Self, StartError> {
        Runtime::at(Site::default(), game, settings, seed)
    }

    /// As [`new`](Runtime::new), for a room among others, which has a name and a label.
    pub fn at(site: Site, game: G, settings: Settings, seed: [u8; 32]) -> Result<Self, StartError> {
        site.validate()?;
        settings.validate()?;
        let schema = G::schema();
        schema.validate()?;
        // Random IDs are drawn from a generator of their own, so that they tell nothing of the game's.
        let world = World::new(schema, other_seed(seed));
        let mut runtime = Runtime::of_world(site, game, settings, seed, world);
        runtime.game.on_create(&mut runtime.room);
        Ok(runtime)
    }

    /// A room of a world that no hook has seen yet.
    fn of_world(site: Site, game: G, settings: Settings, seed: [u8; 32], world: World) -> Self {
        let interest = game.interest();
        let sync = SyncSettings {
            update_cap: settings.update_cap,
            window: settings.window,
            tick_rate: settings.tick_rate,
            send_every: settings.send_every,
            piece_level: settings.piece_level,
            view_hash: settings.view_hash,
            retain: interest.retain,
        };
        let parts = interest.parts.iter().map(|part| (part.shape(), part.sees.is_some())).collect();
        let limit = match &interest.limit {
            Some((most, on_change, _)) => Limit { most: Some(*most), on_change: *on_change },
            None => Limit::default(),
        };
        let rates: Vec<_> = interest.parts.iter().map(|part| part.rates.clone()).collect();
        let views = Views::new(sync, parts, limit).with_rates(&rates).with_budget(interest.budget);
        let mut world = world;
        world.set_presence_by_interest(interest.presence_by_interest);
        world.keep_past(settings.tick_rate);
        let mut room = Room::new(interest, world, views, settings.tick_rate, settings.send_every, seed);
        room.standing = Standing::new(site, settings.seats);
        room.rewind_ms = settings.rewind_ms;
        let mut runtime = Runtime {
            game,
            room,
            settings,
            calls: G::calls(),
            steps: G::steps(),
            generation: generation(&seed),
            ticked_at: Duration::ZERO,
            inbox: Inbox::new(),
            accounts: BTreeMap::new(),
            next_player: 1,
            unix: 0,
            out: Out::default(),
            outside: std::collections::VecDeque::new(),
            leaving: Vec::new(),
            durable: None,
            logs: std::collections::VecDeque::new(),
            log_gate: LogGate::default(),
            interest_panics: 0,
            label_told: 0,
            stopwatch: None,
        };
        runtime.room.outside.origin = runtime.generation;
        runtime.note_unseen_kinds();
        runtime
    }

    fn note_unseen_kinds(&mut self) {
        for entry in self.room.world.schema().entries() {
            let kind = entry.kind.name;
            let asked = match entry.role {
                Role::Entity => !entry.kind.hidden,
                Role::Presence => self.room.interest.presence_by_interest,
                Role::State | Role::Private => false,
            };
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

    /// Lends the room threads on which it lays out its connections' updates. What is sent is the same for any number
    /// of them.
    pub fn set_workers(&mut self, workers: Box<dyn Workers>) {
        self.room.views_mut().set_workers(workers);
    }

    /// Lends the room a stopwatch, for who wants to know where a tick's time goes.
    pub fn set_stopwatch(&mut self, stopwatch: Box<dyn Stopwatch>) {
        self.stopwatch = Some(stopwatch);
    }

    /// The room's label where it is another one than when this was last asked, and at the first time.
    pub fn label_if_changed(&mut self) -> Option<&Label> {
        let version = self.room.standing.version();
        let told = std::mem::replace(&mut self.label_told, version);
        (told != version).then(|| self.room.standing.label())
    }

    /// A number that is another one after each change of the label, never 0: for whoever else has to learn of them.
    #[must_use]
    pub fn label_version(&self) -> u64 {
        self.room.standing.version()
    }

    /// For the time between ticks: compresses one large entity better that was compressed in haste at a send. Returns
    /// whether there is more to do.
    pub fn improve(&mut self) -> bool {
        // A piece holds what was sealed, and not what was written since.
        if self.room.world.is_sealed()
            && let Some(views) = &mut self.room.views
        {
            views.improve(&self.room.world);
        }
        self.is_hasty()
    }

    /// Whether [`improve`](Self::improve) has something to do.
    #[must_use]
    pub fn is_hasty(&self) -> bool {
        self.room.world.is_sealed() && self.room.views.as_ref().is_some_and(|views| views.is_hasty())
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

    /// The generation of the room's state: another one after a change of the schema, and where the store was put back
    /// from a copy. What clients hold of another generation counts for nothing.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Sessions, held ones too, and clients that wait for a seat.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.room.sessions.len() + self.inbox.joining()
    }

    /// Whether something has arrived that the next tick handles.
    #[must_use]
    pub fn has_arrivals(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// A client asks to come in. It is seated at the next tick; where it cannot be, it is closed at once: 4004
    /// where the room is full, 4007 for a session that is not there, 4003 for another account's, 4005 where the
    /// session goes on elsewhere, 4003 for a new session in a private room.
    pub fn handle_open(&mut self, conn: ConnectionId, now: Duration, join: Join) {
        let back = self.handle_open_by(conn, now, &Way::Name, join);
        debug_assert!(back.is_none(), "by its name somebody asks for this room alone");
    }

    /// As [`handle_open`](Runtime::handle_open), for a client that found the room in some way. Who looks for any
    /// room of a kind, and for whom this one has no seat, is handed back to be asked elsewhere: nothing has
    /// happened then. Whoever is not handed back has her seat from now on, if there is one: no two get the last.
    #[must_use = "a client that is handed back hears nothing from this room"]
    pub fn handle_open_by(
        &mut self,
        conn: ConnectionId,
        _now: Duration,
        way: &Way,
        join: Join,
    ) -> Option<Join> {
        match self.needs_seat(way, &join) {
            Ok(seat) => self.inbox.open(conn, seat, join),
            Err(Turned::Away(refusal)) => self.out.close(conn, refusal.code, refusal.reason),
            Err(Turned::Back) => return Some(join),
        }
        None
    }

    /// A message came. What does not decode ends the connection with 4000; a hook never sees it.
    pub fn handle_message(&mut self, conn: ConnectionId, now: Duration, bytes: &[u8]) {
        if let Err((code, reason)) = self.hear(conn, now, bytes) {
            self.refuse(conn, code, reason);
            self.inbox.end(conn, Arrival::Drop(Dropped::Misbehaved));
        }
    }

    /// Closes a connection for what it sent.
    fn refuse(&mut self, conn: ConnectionId, code: u16, reason: String) {
        if let Some(player) = self.room.connection(conn).map(Connection::player) {
            let event = std::any::type_name::<G::Event>();
            self.logs.push_back(Log::BadMessage { player, code, reason: reason.clone(), event });
        }
        self.out.close(conn, code, reason);
    }

    /// A socket ended. Its session is held from the next tick on, behind what it sent before.
    pub fn handle_close(&mut self, conn: ConnectionId, _now: Duration, how: Closed) {
        self.inbox.end(conn, Arrival::Drop(heard::dropped(how)));
    }

    /// Makes one step: all that arrived, in the order of its arrival; `on_tick`; then, where a send is due, the
    /// seal.
    pub fn tick(&mut self, now: Duration) {
        self.room.tick = self.room.tick.next();
        self.ticked_at = now;
        self.hold_output();
        for id in std::mem::take(&mut self.room.sessions.owing) {
            self.handle_waiting(id);
        }
        let mut arrivals = self.inbox.take();
        for (conn, arrival) in arrivals.drain(..) {
            match arrival {
                Arrival::Join(join) => self.join(conn, *join),
                Arrival::Said(session) => self.handle_said(session),
                Arrival::Transient(event) => self.transient(conn, event),
                Arrival::Write(number, writes) => self.write(conn, number, writes),
                Arrival::Leave => self.leave(conn),
                Arrival::Drop(how) => self.drop_connection(conn, how),
                Arrival::Mail(from, message) => {
                    self.caught("on_message", |game, room| game.on_message(room, &from, message));
                }
                Arrival::Answer(name, answer) => {
                    self.caught("on_answer", |game, room| game.on_answer(room, &name, answer));
                }
            }
        }
        self.inbox.reuse(arrivals);
        self.expire();
        self.step_players();
        self.caught("on_tick", Game::on_tick);
        self.kick();
        self.watch();
        // While a commit is on its way what changes waits for the next send.
        if self.room.tick.0.is_multiple_of(u64::from(self.settings.send_every)) && !self.awaits_commit() {
            self.timed("send", |runtime| runtime.send(None));
        }
        if self.durable.is_none() {
            self.settle_outside();
        }
        self.out.hold(false);
        self.note_clamped();
        self.note_flooded();
        self.out.forget_closed();
    }

    /// Runs a hook. On a deployed server a panic costs that call: it is logged, and `None` is returned.
    fn caught<R>(&mut self, hook: &'static str, run: impl FnOnce(&mut G, &mut Room<G>) -> R) -> Option<R> {
        let (game, room) = (&mut self.game, &mut self.room);
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.start(hook);
        }
        // A join is undone whole, so its panic can always be caught.
        let caught = self.settings.deployed || hook == "on_join";
        let ran =
            if caught { catch_unwind(AssertUnwindSafe(|| run(game, room))) } else { Ok(run(game, room)) };
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.stop(hook);
        }
        ran.map_err(|panic| {
            let message = panic_message(&*panic);
            let heartbeat = limits::HEARTBEAT_SECONDS * u64::from(self.settings.tick_rate);
            if self.log_gate.admits_every(heartbeat / 4, hook, 0, self.room.tick) {
                self.logs.push_back(Log::HookPanicked { hook, tick: self.room.tick.0, message });
            }
        })
        .ok()
    }

    /// Does a part of the room's own work, which is no hook.
    fn timed(&mut self, what: &'static str, work: impl FnOnce(&mut Self)) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.start(what);
        }
        work(self);
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.stop(what);
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
            Source::Update(letter) => Outgoing::Message(self.room.views.as_ref()?.letter(letter)),
            Source::Shared(message) => Outgoing::Message(self.out.lend(message)),
            Source::Abort => Outgoing::Abort,
            Source::Close(code, range) => Outgoing::Close {
                code,
                reason: std::str::from_utf8(&self.out.bytes[range]).unwrap_or_default(),
            },
        };
        Some(Transmit { conn: item.conn, outgoing })
    }

    /// The next thing to be done outside.
    pub fn poll_outside(&mut self) -> Option<Outside> {
        self.outside.pop_front()
    }

    /// Another room of the server sent a message.
    pub fn handle_mail(&mut self, from: String, message: Payload) {
        self.inbox.arrived(inbox::NOBODY, Arrival::Mail(from, message));
    }

    /// Work that the room spawned under a name has come to its end.
    pub fn handle_answer(&mut self, name: String, answer: Answer) {
        self.inbox.arrived(inbox::NOBODY, Arrival::Answer(name, answer));
    }

    /// The time of the world outside, in seconds since 1970: to be said when the room begins, and about once a minute.
    pub fn handle_time(&mut self, unix: u64) {
        self.unix = self.unix.max(unix);
        self.forget_accounts();
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

/// A number for the state that begins with a seed. It tells nothing of the seed.
fn generation(seed: &[u8; 32]) -> u64 {
    let hash: [u8; 32] = Sha256::digest(seed).into();
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A seed that tells nothing of another.
fn other_seed(seed: [u8; 32]) -> [u8; 32] {
    seed.map(|byte| !byte)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

//! The server: sockets, rooms by name and their clocks, over tokio.
//!
//! ```no_run
//! # use room::prelude::*;
//! # #[derive(Default)] struct Forest;
//! # impl Game for Forest { type Event = (); type Scratch = (); fn schema() -> Schema { Schema::new() } }
//! # async fn run() -> Result<(), room::server::StartError> {
//! room::server::init_logs();
//! room::server::Server::new(|_room: &str| Forest).port(8787).run().await
//! # }
//! ```
//!
//! `GET /rooms/<name>` with a WebSocket upgrade of the subprotocol `room.v1` joins a room; it is created when the
//! first client has been let in. `/codes/<code>` joins one by its code, `/any/<kind>` any one of a kind, and
//! `GET /rooms` lists them. Everything here that waits, reads a clock or draws from the operating system's
//! randomness stays here: a room's task gives its runtime bytes and time, and takes bytes from it.

mod access;
mod assets;
mod auth;
mod config;
mod door;
mod frames;
mod goal;
mod handle;
mod lag;
mod listener;
mod logs;
mod outbox;
mod pace;
mod proxies;
mod pulse;
mod registry;
mod room_task;
mod shutdown;
mod socket;
mod sqlite;
mod stats;
mod threads;
mod throttle;

use std::collections::BTreeSet;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

pub use auth::{AuthRequest, Denied};
pub use config::StartError;
pub use handle::ServerHandle;
pub use logs::init_logs;
pub use sqlite::{Durability, OpenError, SqliteOptions, SqliteStats, SqliteStore};
pub use stats::RoomStats;
pub use threads::Threads;

use crate::limits;
use crate::room::Game;
use crate::runtime::Identity;
pub use crate::runtime::Sessions;
use crate::schema::Schema;
use crate::storage::{Store, StoreError};
use access::Access;
use assets::Assets;
use auth::Hook;
use config::Config;
use door::Door;
use proxies::Proxies;
use pulse::Rhythm;
use registry::{Make, Registry};
use throttle::Throttle;

/// What every socket needs.
struct Shared<G: Game> {
    schema: Schema,
    access: Access,
    assets: Assets,
    proxies: Proxies,
    throttle: Throttle,
    opened: Instant,
    door: Arc<Door>,
    authenticate: Option<Hook>,
    registry: Arc<Registry<G>>,
    kinds: BTreeSet<String>,
    hello: Duration,
    rhythm: Rhythm,
    connections: AtomicU64,
}

impl<G: Game> Shared<G> {
    /// Whether one more socket may be opened by an address.
    fn admits(&self, address: IpAddr) -> bool {
        self.throttle.admits(address, self.opened.elapsed())
    }

    fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}

/// A server of rooms that all run one game, not yet started.
///
/// Every setting has a default that suits development on one's own machine.
#[must_use = "a server does nothing until `start` or `run`"]
pub struct Server<G: Game> {
    config: Config,
    make: Make<G>,
    authenticate: Option<Hook>,
    store: Option<Arc<dyn Store>>,
}

impl<G: Game> Server<G> {
    /// A server whose rooms are made by `make`, which is given the room's name. It is called on a thread where
    /// it may take long, such as to load a world.
    pub fn new(make: impl Fn(&str) -> G + Send + Sync + 'static) -> Server<G> {
        Server { config: Config::default(), make: Arc::new(make), authenticate: None, store: None }
    }

    /// The host name or address to listen on. Default: 127.0.0.1, which only this machine reaches.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.config.host = host.into();
        self
    }

    /// Keeps the rooms in a store, such as a [`SqliteStore`]: a process that is killed loses nothing that a client was
    /// told, and the next one goes on with every room and every session. Without one, rooms live in memory alone.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// How far back [`Room::rewind`](crate::Room::rewind) goes at the most, in milliseconds, 0 to 10,000; 1,000 if not
    /// said.
    pub fn rewind_ms(mut self, ms: u32) -> Self {
        self.config.room.rewind_ms = ms;
        self
    }

    /// Hours that an account's private state is kept after its player has left, or `None` for ever. Default: 24.
    pub fn retention_hours(mut self, hours: Option<u64>) -> Self {
        self.config.room.retention_hours = hours;
        self
    }

    /// The port to listen on; 0 lets the system choose. Default: 8787.
    pub fn port(mut self, port: u16) -> Self {
        self.config.port = port;
        self
    }

    /// The names under which players reach the server, as `name` or `name:port`. In development loopback names
    /// need not be listed; a request for any other name is answered with 403.
    pub fn hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.config.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// The pages, other than the server's own and those of localhost, that may open sockets, such as
    /// `https://game.example`. A page that is not listed is answered with 403.
    pub fn origins<S: Into<String>>(mut self, origins: impl IntoIterator<Item = S>) -> Self {
        self.config.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// A folder with the game's page, which the server hands out under its own paths: `/` is its `index.html`, and a file
    /// that has a shorter twin of the same name with `.gz` goes as that to browsers that take it. Its files, at most 256
    /// MiB, are read when the server starts; what begins with a dot is left out. `rooms`, `codes` and `any` are the
    /// server's own. Default: none.
    pub fn assets(mut self, folder: impl Into<PathBuf>) -> Self {
        self.config.assets = Some(folder.into());
        self
    }

    /// The proxies in front of the server, as addresses or networks such as `10.0.0.0/8`. What a request through one
    /// of them is said to come from, in `X-Forwarded-For`, counts as its address; from others the header is
    /// ignored.
    pub fn trusted_proxies<S: Into<String>>(mut self, proxies: impl IntoIterator<Item = S>) -> Self {
        self.config.trusted_proxies = proxies.into_iter().map(Into::into).collect();
        self
    }

    /// New sockets a second, and as many more at once; one address (of IPv6, a /64) may open half of them. Past it
    /// they are sent away with 1013, or just dropped where there are very many. Default: 200, or a tenth of
    /// [`max_players`](Self::max_players) where that is more.
    pub fn sockets_per_second(mut self, sockets: u32) -> Self {
        self.config.sockets_per_second = Some(sockets);
        self
    }

    /// Ticks a second, 1 to 128. Default: 20.
    pub fn tick_rate(mut self, ticks: u32) -> Self {
        self.config.room.tick_rate = ticks;
        self
    }

    /// Sends an update every `ticks` ticks, 1 to 128. Default: 1.
    pub fn send_every(mut self, ticks: u32) -> Self {
        self.config.room.send_every = ticks;
        self
    }

    /// Seats of a room; who comes to a full one is refused with 4004. Default: 20.
    pub fn max_players(mut self, seats: usize) -> Self {
        self.config.room.seats = seats;
        self
    }

    /// The most plain bytes of one update, 60 KiB to 2 MiB. Default: 256 KiB.
    pub fn update_cap(mut self, bytes: usize) -> Self {
        self.config.room.update_cap = bytes;
        self
    }

    /// The most unacknowledged bytes after which no update starts, 60 KiB to 2 MiB. Default: 256 KiB.
    pub fn window(mut self, bytes: usize) -> Self {
        self.config.room.window = bytes;
        self
    }

    /// Seconds that a player whose connection ended keeps her seat and all she owns, 0 to 300. Default: 15 where
    /// the connection was closed, 30 where it broke, 120 where the page had been hidden.
    pub fn hold_seconds(mut self, seconds: u32) -> Self {
        self.config.room.hold_seconds = Some(seconds);
        self
    }

    /// What becomes of an account that plays already and comes in again. Default: the newer connection goes on
    /// with the session, and the older one is closed with 4005.
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.config.room.sessions = sessions;
        self
    }

    /// The most events, and bytes of them, that are kept for a player who has not acknowledged them. Default: 4,096
    /// and 1 MiB.
    pub fn events(mut self, most: usize, bytes: usize) -> Self {
        self.config.room.events_most = most;
        self.config.room.events_bytes = bytes;
        self
    }

    /// Events, calls and other messages a second that a player may send. Events and calls past it wait, and close
    /// with 4008 where too many do; transients past it are dropped. Default: 60.
    pub fn messages_per_second(mut self, messages: u32) -> Self {
        self.config.room.messages_per_second = messages;
        self
    }

    /// How many of them she may send at once. Default: 120.
    pub fn messages_burst(mut self, messages: u32) -> Self {
        self.config.room.messages_burst = messages;
        self
    }

    /// The DEFLATE level of compressed pieces, 1 to 9. They are made once and sent to everyone who needs them. Default: 9.
    /// At a send they are made at level 5 at the most, and better in the time until the next tick.
    pub fn piece_level(mut self, level: u32) -> Self {
        self.config.room.piece_level = level;
        self
    }

    /// Threads on which rooms lay out their connections' updates, 1 to 64; what is sent is the same for any number.
    /// Default: 1. Worth it for rooms of many hundred connections on a machine with cores to spare.
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads;
        self
    }

    /// Adds a hash of the view to each update, which clients compare: for tests, and for finding divergence.
    pub fn view_hash(mut self, on: bool) -> Self {
        self.config.room.view_hash = on;
        self
    }

    /// The build's name, at most 64 letters, digits, `.`, `_` and `-`. A client of another build plays on, and
    /// both sides are told.
    pub fn build(mut self, build: impl Into<String>) -> Self {
        self.config.room.build = build.into();
        self
    }

    /// The most rooms at once; past it, a client that would create another is sent away with 1013. Default: 1,000.
    pub fn max_rooms(mut self, rooms: usize) -> Self {
        self.config.max_rooms = rooms;
        self
    }

    /// Rooms that one address (of IPv6, a /64) may have made in a minute, and at once; past it, a client that would
    /// create another is sent away with 1013. Default: 30.
    pub fn rooms_per_minute(mut self, rooms: u32) -> Self {
        self.config.rooms_per_minute = rooms;
        self
    }

    /// The kinds of rooms that clients may ask for at `/any/<kind>`, each like a room's name. Who does is seated in
    /// the first room of the kind, in order of creation, that has a free seat, has not started and is not private;
    /// where there is none, in a new one. Default: none.
    pub fn kinds<S: Into<String>>(mut self, kinds: impl IntoIterator<Item = S>) -> Self {
        self.config.kinds = kinds.into_iter().map(Into::into).collect();
        self
    }

    /// Seconds that a new socket has for its request, and again for its hello. Default: 10.
    pub fn hello_seconds(mut self, seconds: u64) -> Self {
        self.config.hello = Duration::from_secs(seconds);
        self
    }

    /// Seconds after which a room that nobody is in stops. Default: 60.
    pub fn sleep_seconds(mut self, seconds: u64) -> Self {
        self.config.sleep = Duration::from_secs(seconds);
        self
    }

    /// Asks `hook` who a client is, before it gets a room or a seat. Without a hook everybody comes in as a guest.
    /// It has 10 seconds; one that takes longer, or panics, costs its client and nobody else.
    ///
    /// ```no_run
    /// # use room::prelude::*;
    /// # struct Forest;
    /// # impl Game for Forest { type Event = (); type Scratch = (); fn schema() -> Schema { Schema::new() } }
    /// use room::server::{Denied, Server};
    /// # let server = Server::new(|_: &str| Forest);
    /// let server = server.authenticate(|request| async move {
    ///     match request.auth::<String>() {
    ///         Ok(Some(password)) if password == "friend" => Ok(room::runtime::Identity::account("ada")),
    ///         _ => Err(Denied::new("speak, friend, and enter")),
    ///     }
    /// });
    /// ```
    pub fn authenticate<F, A>(mut self, hook: F) -> Self
    where
        F: Fn(AuthRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Identity, Denied>> + Send + 'static,
    {
        self.authenticate = Some(Hook::new(hook));
        self
    }

    /// For servers that strangers reach: refuses to start without an [`authenticate`](Self::authenticate) hook,
    /// answers only to the names it is configured with, and a hook that panics on what one player sent costs her
    /// that and not everybody the room.
    pub fn deployed(mut self) -> Self {
        self.config.room.deployed = true;
        self
    }

    /// How often sockets are asked whether they are there, and when they are given up: for tests, which have no
    /// quarter of a minute.
    #[doc(hidden)]
    pub fn rhythm(mut self, ping: Duration, silence: Duration) -> Self {
        self.config.rhythm = Rhythm { ping, silence };
        self
    }

    /// Starts listening. The server lives until its handle is [shut down](ServerHandle::shutdown) or dropped.
    ///
    /// # Errors
    /// Fails where a setting has a value it cannot have, where a deployed server lacks what it needs, and where
    /// the address cannot be listened on.
    pub async fn start(self) -> Result<ServerHandle<G>, StartError> {
        let Server { config, make, authenticate, store } = self;
        let access = config.check(authenticate.is_some())?;
        let proxies = config.proxies()?;
        let assets = config.assets.as_deref().map_or(Ok(Assets::default()), Assets::read);
        let assets = assets.map_err(|(path, error)| StartError::Assets { path, error })?;
        let schema = G::schema();
        schema.validate().map_err(crate::runtime::StartError::from)?;
        let listener = listener::bind(&config.host, config.port).await?;
        let address = listener.local_addr().map_err(|error| StartError::Listen {
            host: config.host.clone(),
            port: config.port,
            error,
        })?;
        let (stop, stopped) = watch::channel(false);
        let unjoined = (limits::UNJOINED_PER_SEAT * config.room.seats).max(limits::UNJOINED_LEAST);
        log_start(&config, address);
        let throttle = Throttle::new(config.sockets_per_second());
        let threads = match config.threads {
            1 => None,
            several => Some(Threads::new(several).map_err(StartError::Threads)?),
        };
        let stored = match store.clone() {
            Some(store) => tokio::task::spawn_blocking(move || store.awake()).await,
            None => Ok(Ok(Vec::new())),
        };
        let stored = stored.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))?;
        let most = (config.max_rooms, config.rooms_per_minute);
        let registry = Arc::new(Registry::new(make, config.room, threads, config.sleep, most, store));
        // Before anybody can come in: a client that comes back finds her room.
        registry.wake(stored, &stopped).await;
        let shared = Arc::new(Shared {
            schema,
            access,
            assets,
            proxies,
            throttle,
            opened: Instant::now(),
            door: Door::new(unjoined),
            authenticate,
            registry,
            kinds: config.kinds.into_iter().collect(),
            hello: config.hello,
            rhythm: config.rhythm,
            connections: AtomicU64::new(1),
        });
        tokio::spawn(listener::accept(shared.clone(), listener, stopped));
        Ok(ServerHandle { shared, stop, address })
    }

    /// Serves until ctrl-c or SIGTERM, then closes every socket with 1001 and returns.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn run(self) -> Result<(), StartError> {
        self.start().await?.run().await;
        Ok(())
    }
}

fn log_start(config: &Config, address: SocketAddr) {
    tracing::info!(
        kind = "started",
        %address,
        version = env!("CARGO_PKG_VERSION"),
        build = config.room.build,
        tick_rate = config.room.tick_rate,
        send_every = config.room.send_every,
        max_players = config.room.seats,
        max_rooms = config.max_rooms,
        threads = config.threads,
        sockets_per_second = config.sockets_per_second(),
        deployed = config.room.deployed,
        "server started"
    );
}

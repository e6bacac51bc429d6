//! The native client: a socket on tokio, polled by a game loop that needs no runtime of its own.

mod dial;
mod link;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::time::{Duration, Instant};

use room::session::code;
use room::wire::message::is_build;
use room::wire::payload::{self, PayloadError};
use room::{PlayerId, Schema, limits};
use serde::Serialize;

use crate::event::{ClientStats, Event, SendError, Status};
use crate::machine::{Machine, Options};
use crate::replica::Replica;
use link::Link;

/// Starts to connect to a room: `connect(url, schema).name("Ada").await`.
///
/// `url` is the room's, such as `ws://127.0.0.1:8787/rooms/forest`. The future resolves once the room has let the
/// client in. It must be awaited on a tokio runtime, which must live as long as the client.
pub fn connect(url: impl Into<String>, schema: Schema) -> Connect {
    Connect { url: url.into(), schema, options: Options::default(), auth_fault: None, record: false }
}

/// A connection about to be made; await it.
#[derive(Debug)]
#[must_use = "nothing happens until it is awaited"]
pub struct Connect {
    url: String,
    schema: Schema,
    options: Options,
    auth_fault: Option<PayloadError>,
    record: bool,
}

/// Why a client is not in the room.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL is not one of a room.
    #[error("{url:?} is no room's URL: {reason}")]
    BadUrl {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The display name is too long.
    #[error("the name has {size} bytes; the most is {}", limits::DISPLAY_NAME)]
    Name {
        /// Bytes of the name.
        size: usize,
    },
    /// The build's name has characters that it cannot have, or too many.
    #[error("the build {build:?} is not 1 to 64 letters, digits, `.`, `_` or `-`")]
    Build {
        /// The name.
        build: String,
    },
    /// The auth value cannot travel.
    #[error("the auth value: {0}")]
    Auth(PayloadError),
    /// The schema has a fault.
    #[error(transparent)]
    Schema(#[from] room::SchemaError),
    /// No server answers there.
    #[error("cannot reach {address}: {error}")]
    Dial {
        /// Host and port.
        address: String,
        /// What went wrong.
        error: std::io::Error,
    },
    /// The server speaks HTTP but opens no socket.
    #[error("the server answered {status} and opened no socket: {message}")]
    Http {
        /// The HTTP status.
        status: u16,
        /// The start of what it said.
        message: String,
    },
    /// The room did not let the client in.
    #[error("the room refused with {code}: {reason}{}", differences.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Refused {
        /// The close code (see [`room::session::code`]).
        code: u16,
        /// The reason.
        reason: String,
        /// In what the schemas differ, where they do.
        differences: Vec<String>,
    },
    /// The link broke before the room had answered.
    #[error("the link broke before the room let the client in: {0}")]
    Lost(String),
    /// Nothing was heard in time.
    #[error("the room did not answer within {} seconds", limits::CONNECT_SECONDS)]
    Timeout,
}

impl Connect {
    /// The display name, at most 256 bytes.
    pub fn name(mut self, name: impl Into<String>) -> Connect {
        self.options.name = name.into();
        self
    }

    /// This build's name: 1 to 64 letters, digits, `.`, `_`, `-`. Where the room's differs, an event tells so.
    pub fn build(mut self, build: impl Into<String>) -> Connect {
        self.options.build = Some(build.into());
        self
    }

    /// What the game's `authenticate` hook gets: any value of at most 4 KiB.
    pub fn auth<T: Serialize + ?Sized>(mut self, auth: &T) -> Connect {
        self.options.auth.clear();
        self.auth_fault = payload::encode(auth, limits::AUTH, &mut self.options.auth).err();
        self
    }

    /// Keeps every byte that comes, as it came and inflated, for tests that look for what should not be there.
    /// See [`Client::received`].
    pub fn record(mut self, on: bool) -> Connect {
        self.record = on;
        self
    }

    async fn join(self) -> Result<Client, ConnectError> {
        self.schema.validate()?;
        if let Some(fault) = self.auth_fault {
            return Err(ConnectError::Auth(fault));
        }
        if self.options.name.len() > limits::DISPLAY_NAME {
            return Err(ConnectError::Name { size: self.options.name.len() });
        }
        if let Some(build) = self.options.build.as_ref().filter(|build| !is_build(build)) {
            return Err(ConnectError::Build { build: build.clone() });
        }
        let origin = Instant::now();
        let link = Link::new(dial::dial(&self.url).await?);
        let mut machine = Machine::new(self.schema, self.options);
        if self.record {
            machine.record();
        }
        machine.handle_open(Duration::ZERO);
        let mut client = Client { machine, link, origin };
        client.flush();
        loop {
            client.link.arrived().await;
            client.receive(Instant::now());
            match client.status() {
                Status::Connecting => {}
                Status::Joined => return Ok(client),
                Status::Closed { code: Some(code), reason } => {
                    let (code, reason) = (*code, reason.clone());
                    let differences = client.machine.differences().to_vec();
                    return Err(ConnectError::Refused { code, reason, differences });
                }
                Status::Closed { code: None, reason } => return Err(ConnectError::Lost(reason.clone())),
            }
        }
    }
}

impl IntoFuture for Connect {
    type Output = Result<Client, ConnectError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let limit = Duration::from_secs(limits::CONNECT_SECONDS);
            tokio::time::timeout(limit, self.join()).await.unwrap_or(Err(ConnectError::Timeout))
        })
    }
}

/// A client in a room. What it sees is read through [`Replica`], to which it derefs.
///
/// Dropping it closes the connection; [`leave`](Client::leave) also gives the seat back at once.
pub struct Client {
    machine: Machine,
    link: Link,
    // What the machine's times count from.
    origin: Instant,
}

impl Client {
    /// Applies everything that has come and sends what waits. Afterwards the report (what entered, changed, left,
    /// and the events) is that of this call alone. `now` is `Instant::now()`.
    pub fn update(&mut self, now: Instant) {
        self.receive(now);
        self.machine.update(self.since(now));
        self.flush();
    }

    /// Where the connection stands, as of the last [`update`](Self::update).
    #[must_use]
    pub fn status(&self) -> &Status {
        self.machine.status()
    }

    /// Who this client is in the room.
    #[must_use]
    pub fn player(&self) -> Option<PlayerId> {
        self.machine.player()
    }

    /// The room's ticks a second.
    #[must_use]
    pub fn tick_rate(&self) -> u32 {
        self.machine.tick_rate()
    }

    /// The room's ticks between two sends.
    #[must_use]
    pub fn send_every(&self) -> u32 {
        self.machine.send_every()
    }

    /// What happened, oldest first; each event is handed out once. Of events that are not read the last 4,096 are
    /// kept.
    ///
    /// The client can be read in the loop over them: what an event speaks of is there already.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + use<> {
        self.machine.events()
    }

    /// Sends the game on the server a message, which its `on_event` gets.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the client is not joined, the value takes more than 24 KiB or cannot be
    /// encoded, or more than 1 MiB waits for the socket.
    pub fn send<T: Serialize + ?Sized>(&mut self, event: &T) -> Result<(), SendError> {
        let sent = self.machine.send(event);
        self.flush();
        sent
    }

    /// Leaves for good. Says whether the room has released the player; gives up waiting after a second.
    pub async fn leave(&mut self) -> bool {
        self.machine.leave();
        self.flush();
        let limit = Duration::from_secs(limits::LEAVE_SECONDS);
        let closed = async {
            while !self.status().is_closed() {
                self.link.arrived().await;
                self.receive(Instant::now());
            }
        };
        // Late or not, the status says how it ended.
        let _ = tokio::time::timeout(limit, closed).await;
        matches!(self.status(), Status::Closed { code: Some(code::LEFT), .. })
    }

    /// Figures of the connection.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        self.machine.stats()
    }

    /// Every byte that came, as it came and as the updates' plain content; empty unless the connection was made
    /// with [`record`](Connect::record).
    #[must_use]
    pub fn received(&self) -> (&[u8], &[u8]) {
        self.machine.received()
    }

    /// The state machine behind this client.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Takes what the socket has; the machine keeps it for the next update.
    fn receive(&mut self, now: Instant) {
        let now = self.since(now);
        let (messages, closed) = self.link.take();
        for message in messages {
            self.machine.handle_message(now, message);
        }
        if let Some((code, reason)) = closed {
            self.machine.handle_close(now, code, &reason);
        }
        self.flush();
    }

    fn flush(&mut self) {
        while self.link.has_room() {
            let Some(outgoing) = self.machine.poll_transmit() else { return };
            self.link.send(outgoing);
        }
    }

    fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.origin)
    }
}

impl Deref for Client {
    type Target = Replica;

    fn deref(&self) -> &Replica {
        self.machine.replica()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("player", &self.player())
            .field("status", self.status())
            .finish_non_exhaustive()
    }
}

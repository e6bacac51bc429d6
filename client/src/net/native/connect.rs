//! What a game says before it connects, and why it may not come to it.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use room::wire::message::is_build;
use room::wire::payload::{self, PayloadError};
use room::{Schema, limits};
use serde::Serialize;
use tokio::runtime::Handle;

use super::Client;
use super::dial::{self, Auth, Dialer};
use crate::event::{Event, Status, Undelivered};
use crate::machine::{Checkpoint, CheckpointError, Machine, NoticeKind, Options};

/// Starts to connect to a room: `connect(url, schema).name("Ada").await`.
///
/// `url` is the room's, such as `ws://127.0.0.1:8787/rooms/forest`; or, of a room whose code a friend has told,
/// `…/codes/KWMTRX`; or, for any room of a kind that has a free seat, `…/any/duel`. Whichever it is, the client comes
/// back to the room that it was let into. The future resolves once the room has let the
/// client in; [`start`](Connect::start) gives a client at once, which connects while the game runs. Either must
/// happen on a tokio runtime, which must live as long as the client.
pub fn connect(url: impl Into<String>, schema: Schema) -> Connect {
    let url = url.into();
    let options = Options { room: url.clone(), ..Options::default() };
    let auth: Auth = Arc::new(|| Box::pin(async { Ok(Vec::new()) }));
    Connect { url, schema, options, auth, auth_fault: None, checkpoint: None, record: false }
}

/// A connection about to be made; await it, or start it.
#[must_use = "nothing happens until it is awaited or started"]
pub struct Connect {
    url: String,
    schema: Schema,
    options: Options,
    auth: Auth,
    auth_fault: Option<PayloadError>,
    checkpoint: Option<Checkpoint>,
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
    /// The game's auth provider has none.
    #[error("no auth value: {0}")]
    NoAuth(AuthError),
    /// The schema has a fault.
    #[error(transparent)]
    Schema(#[from] room::SchemaError),
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// There is no runtime for the socket.
    #[error("a client needs a tokio runtime for its socket: call this inside one, or in its `enter()`")]
    NoRuntime,
    /// No server answers there, and it was tried for as long as was set.
    #[error("cannot reach {address}: {error}")]
    Dial {
        /// Host and port.
        address: String,
        /// What went wrong the last time.
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
    /// The links that opened broke before the room had answered, for as long as was set.
    #[error("the link broke before the room let the client in: {0}")]
    Broken(String),
    /// The session of the checkpoint is gone.
    #[error("the session is gone, and {} events of it were not delivered: connect without the checkpoint", undelivered.len())]
    SessionLost {
        /// What the room has not handled.
        undelivered: Vec<Undelivered>,
    },
}

/// Why a game's auth provider has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// Not now: it is asked again.
    #[error("{0}")]
    Retry(String),
    /// Never: the client stops.
    #[error("{0}")]
    Refused(String),
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

    /// What the game's `authenticate` hook gets, at each try: any value of at most 4 KiB.
    pub fn auth<T: Serialize + ?Sized>(mut self, auth: &T) -> Connect {
        let mut bytes = Vec::new();
        self.auth_fault = payload::encode(auth, limits::AUTH, &mut bytes).err();
        self.auth = Arc::new(move || Box::pin(std::future::ready(Ok(bytes.clone()))));
        self
    }

    /// As [`auth`](Self::auth), with a value that is asked for at each try: for what runs out.
    ///
    /// ```no_run
    /// # use room_client::{AuthError, Connect};
    /// # async fn ticket() -> Result<String, String> { Ok(String::new()) }
    /// # fn with(connect: Connect) -> Connect {
    /// connect.auth_with(|| async { ticket().await.map_err(AuthError::Retry) })
    /// # }
    /// ```
    pub fn auth_with<P, F, T>(mut self, provider: P) -> Connect
    where
        P: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<T, AuthError>> + Send + 'static,
        T: Serialize,
    {
        self.auth_fault = None;
        self.auth = Arc::new(move || {
            let value = provider();
            Box::pin(async move {
                let value = value.await.map_err(ConnectError::NoAuth)?;
                let mut bytes = Vec::new();
                payload::encode(&value, limits::AUTH, &mut bytes).map_err(ConnectError::Auth)?;
                Ok(bytes)
            })
        });
        self
    }

    /// How long it tries without a socket before it gives up: 60 seconds unless set.
    pub fn give_up(mut self, after: Duration) -> Connect {
        self.options.give_up = after;
        self
    }

    /// Whether the client makes a new session by itself where the old one is lost, once a drop. Otherwise it waits
    /// for [`Client::rejoin`].
    pub fn rejoin(mut self, on: bool) -> Connect {
        self.options.rejoin = on;
        self
    }

    /// Continues the session of a checkpoint, which must be of the same URL: of the one that the client was given
    /// then, or of the room's own.
    pub fn checkpoint(mut self, checkpoint: Checkpoint) -> Connect {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Replaces the words of [`Client::notice`]: gets the kind and the library's words.
    pub fn words(mut self, words: impl Fn(NoticeKind, &str) -> String + Send + Sync + 'static) -> Connect {
        self.options.words = Some(Arc::new(words));
        self
    }

    /// Keeps every byte that comes, as it came and inflated, for tests that look for what should not be there.
    /// See [`Client::received`].
    pub fn record(mut self, on: bool) -> Connect {
        self.record = on;
        self
    }

    /// A client at once, which connects in the background while the game calls [`Client::update`].
    ///
    /// # Errors
    /// Fails where no try could succeed, such as for a bad URL, or where there is no tokio runtime.
    pub fn start(self) -> Result<Client, ConnectError> {
        self.check()?;
        let runtime = Handle::try_current().map_err(|_| ConnectError::NoRuntime)?;
        let seed = RandomState::new().hash_one(0);
        let mut machine = match self.checkpoint {
            None => Machine::new(self.schema, self.options, seed),
            Some(checkpoint) => {
                let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let unix_ms = unix.as_millis() as u64;
                Machine::restore(self.schema, self.options, checkpoint, unix_ms, seed)?
            }
        };
        if self.record {
            machine.record();
        }
        let mut client = Client::new(machine, Dialer { runtime, auth: self.auth });
        client.pump(Instant::now());
        Ok(client)
    }

    fn check(&self) -> Result<(), ConnectError> {
        self.schema.validate()?;
        dial::parse(&self.url)?;
        if let Some(fault) = &self.auth_fault {
            return Err(ConnectError::Auth(fault.clone()));
        }
        if self.options.name.len() > limits::DISPLAY_NAME {
            return Err(ConnectError::Name { size: self.options.name.len() });
        }
        match self.options.build.as_ref().filter(|build| !is_build(build)) {
            Some(build) => Err(ConnectError::Build { build: build.clone() }),
            None => Ok(()),
        }
    }

    /// Tries until the room lets the client in, or says that it will not, or for as long as is set.
    async fn join(self) -> Result<Client, ConnectError> {
        let give_up = self.options.give_up;
        let mut client = self.start()?;
        let began = Instant::now();
        loop {
            match client.status() {
                Status::Joined => return Ok(client),
                Status::Closed { .. } | Status::Lost => return Err(client.why_not()),
                // Sockets that open and close again are no connection either.
                _ if began.elapsed() >= give_up && !client.machine.has_socket() => {
                    return Err(client.why_not());
                }
                _ => {
                    let until = Some(began + give_up).filter(|until| *until > Instant::now());
                    client.wait(until).await;
                }
            }
            client.pump(Instant::now());
        }
    }
}

impl Client {
    /// Why it is not in the room.
    fn why_not(&mut self) -> ConnectError {
        if *self.status() == Status::Lost {
            let lost = self.events().filter_map(|event| match event {
                Event::SessionLost { undelivered } => Some(undelivered),
                _ => None,
            });
            return ConnectError::SessionLost { undelivered: lost.flatten().collect() };
        }
        if let Some(failure) = self.failure.take() {
            return failure;
        }
        let (code, reason) = match (self.status(), self.last_drop()) {
            (Status::Closed { code: Some(code), reason }, _) => (Some(*code), reason.clone()),
            (_, Some(drop)) => (drop.code, drop.reason.clone()),
            (Status::Closed { reason, .. }, _) => (None, reason.clone()),
            _ => (None, "no socket opened".to_owned()),
        };
        let differences = self.machine.differences().to_vec();
        match code {
            Some(code) => ConnectError::Refused { code, reason, differences },
            None => ConnectError::Broken(reason),
        }
    }
}

impl IntoFuture for Connect {
    type Output = Result<Client, ConnectError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.join())
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the auth value, which appears in no log.
        f.debug_struct("Connect")
            .field("url", &self.url)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

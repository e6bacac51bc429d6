//! What a game says before it connects, and why it may not come to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use room::wire::message::is_build;
use room::wire::payload::{self, PayloadError};
use room::{Schema, limits};
use serde::Serialize;

use super::client::Client;
use super::system::{self, Auth};
use crate::event::{Event, Status, Undelivered};
use crate::machine::{Checkpoint, CheckpointError, Machine, NoticeKind, Options};

/// A connection about to be made; await it, or start it.
#[derive(Clone)]
#[must_use = "nothing happens until it is awaited or started"]
pub struct Connect {
    pub(super) url: String,
    schema: Schema,
    pub(super) options: Options,
    pub(super) auth: Auth,
    pub(super) auth_fault: Option<PayloadError>,
    pub(super) checkpoint: Option<Checkpoint>,
    record: bool,
    // Whether the page keeps what continues its session.
    #[cfg(any(target_family = "wasm", not(feature = "native")))]
    pub(super) remember: bool,
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
    /// There is no page.
    #[error("a browser's client needs a page with a window: start it there, and not in a worker")]
    NoPage,
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

impl ConnectError {
    /// Whether trying again is of no use. A server that has let this client in before may be starting again, and not
    /// know its rooms yet.
    pub(super) fn is_final(&self, has_session: bool) -> bool {
        match self {
            ConnectError::Dial { .. } | ConnectError::NoAuth(AuthError::Retry(_)) => false,
            // A request that was too slow, too early or one of too many.
            ConnectError::Http { status: 408 | 425 | 429, .. } => false,
            ConnectError::Http { status, .. } => (400..500).contains(status) && !has_session,
            _ => true,
        }
    }
}

impl Connect {
    pub(super) fn new(url: String, schema: Schema) -> Connect {
        Connect {
            options: Options { room: url.clone(), ..Options::default() },
            url,
            schema,
            auth: system::ready(Vec::new()),
            auth_fault: None,
            checkpoint: None,
            record: false,
            #[cfg(any(target_family = "wasm", not(feature = "native")))]
            remember: true,
        }
    }

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
        self.auth = system::ready(bytes);
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

    /// The machine of a client. `seed` is where the gaps between its tries come from.
    pub(super) fn machine(self, seed: u64) -> Result<Machine, ConnectError> {
        let mut machine = match self.checkpoint {
            None => Machine::new(self.schema, self.options, seed),
            Some(saved) => Machine::restore(self.schema, self.options, saved, system::unix_ms(), seed)?,
        };
        if self.record {
            machine.record();
        }
        Ok(machine)
    }

    pub(super) fn check(&self) -> Result<(), ConnectError> {
        self.schema.validate()?;
        system::check_url(&self.url)?;
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
}

impl Client {
    /// Why it is not in the room.
    pub(super) fn why_not(&mut self) -> ConnectError {
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

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the auth value, which appears in no log.
        f.debug_struct("Connect")
            .field("url", &self.url)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

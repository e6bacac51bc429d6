//! The native client: a socket on tokio, polled by a game loop that needs no runtime of its own.

mod connect;
mod dial;
mod link;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use room::session::code;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::client::Client;
use super::connect::ConnectError;
use crate::event::Status;
use crate::machine::Outgoing;
use dial::{Dialer, Dialing};
use link::{Closed, Link};

pub use connect::connect;
pub(super) use dial::{Auth, check_url, ready};

/// The time, as games say it.
pub(super) type Now = Instant;

pub(super) fn now() -> Now {
    Instant::now()
}

/// The wall clock.
pub(super) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// The socket of a client, and the one that is being opened.
pub(super) struct Sockets {
    dialer: Dialer,
    link: Option<Link>,
    dialing: Option<Dialing>,
    // A background task has something.
    wake: Arc<Notify>,
    // What the machine's times count from.
    origin: Instant,
}

impl Sockets {
    fn new(runtime: Handle, auth: Auth) -> Sockets {
        let (wake, origin) = (Arc::default(), Instant::now());
        Sockets { dialer: Dialer { runtime, auth }, link: None, dialing: None, wake, origin }
    }

    pub(super) fn since(&self, now: Now) -> Duration {
        now.saturating_duration_since(self.origin)
    }

    /// Whether bytes have come since the last time, of whole messages or not.
    pub(super) fn heard(&self) -> bool {
        self.link.as_ref().is_some_and(Link::heard)
    }

    /// The messages that have come since the last time, and how the socket closed.
    pub(super) fn take(&mut self) -> (Vec<(Duration, Vec<u8>)>, Option<Closed>) {
        let Some(link) = &self.link else { return (Vec::new(), None) };
        let (messages, closed) = link.take();
        if closed.is_some() {
            self.link = None;
        }
        (messages.into_iter().map(|(at, message)| (self.since(at), message)).collect(), closed)
    }

    /// What became of the socket that was being opened, once that is known: the auth value that goes with it.
    pub(super) fn opened(&mut self) -> Option<Result<Vec<u8>, ConnectError>> {
        let opened = self.dialing.as_mut().and_then(Dialing::poll)?;
        self.dialing = None;
        Some(opened.map(|(link, auth)| {
            self.link = Some(link);
            auth
        }))
    }

    /// Begins to open a socket.
    pub(super) fn dial(&mut self, url: &str) {
        self.dialing = Some(self.dialer.dial(url, self.wake.clone()));
    }

    /// Whether there is a socket that wants more.
    pub(super) fn has_room(&self) -> bool {
        self.link.as_ref().is_some_and(Link::has_room)
    }

    /// Hands something to the socket, if there is one.
    pub(super) fn send(&mut self, outgoing: Outgoing) {
        let ends = !matches!(outgoing, Outgoing::Message(_));
        if let Some(link) = &self.link {
            link.send(outgoing);
        }
        if ends {
            self.link = None;
        }
    }
}

impl Client {
    /// Leaves for good, once the room has what was sent before. Says whether the room has released the player;
    /// stops waiting after a second, and then keeps what continues the session in a
    /// [`checkpoint`](Self::checkpoint).
    pub async fn leave(&mut self) -> bool {
        self.machine.leave(self.since(Instant::now()));
        loop {
            self.pump(Instant::now());
            match self.status() {
                Status::Closed { code, .. } => return *code == Some(code::LEFT),
                _ => self.wait(None).await,
            }
        }
    }

    /// Waits until there is something to pump, or until then.
    pub(super) async fn wait(&self, until: Option<Instant>) {
        let timeout = self.machine.poll_timeout().map(|timeout| self.sockets.origin + timeout);
        let until = [timeout, until].into_iter().flatten().min();
        let woken = self.sockets.wake.notified();
        match until {
            // Of one that is past already nothing more is to come.
            Some(until) if until > Instant::now() => {
                let _ = tokio::time::timeout_at(until.into(), woken).await;
            }
            Some(_) => tokio::task::yield_now().await,
            None => woken.await,
        }
    }
}

//! From what a game says to a client in a page.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use room::wire::payload;
use room::{Schema, limits};
use serde::Serialize;

use super::super::client::Client;
use super::super::connect::{AuthError, Connect, ConnectError};
use super::memory::Memory;
use super::page::Page;
use super::{now, since, window};
use crate::event::Status;

/// Starts to connect to a room: `connect(url, schema).name("Ada").start()`.
///
/// `url` is the room's, such as `wss://game.example/rooms/forest` (see [`room_url`](super::room_url)); or, of a room
/// whose code a friend has told, `…/codes/KWMTRX`; or, for any room of a kind that has a free seat, `…/any/duel`.
/// Whichever it is, the client comes back to the room that it was let into. [`start`](Connect::start) gives a client at
/// once, which connects while the page runs; awaited, it resolves once the room has let the client in.
///
/// A page that was loaded again goes on with the session that it had: see [`remember`](Connect::remember).
pub fn connect(url: impl Into<String>, schema: Schema) -> Connect {
    Connect::new(url.into(), schema)
}

impl Connect {
    /// As [`auth`](Self::auth), with a value that is asked for at each try: for what runs out.
    pub fn auth_with<P, F, T>(mut self, provider: P) -> Connect
    where
        P: Fn() -> F + 'static,
        F: Future<Output = Result<T, AuthError>> + 'static,
        T: Serialize,
    {
        self.auth_fault = None;
        self.auth = Rc::new(move || {
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

    /// Whether the page keeps in `sessionStorage`, under the URL, what continues its session, and goes on with what it
    /// finds there. It does unless this says otherwise. Where the room no longer knows the session that was found, the
    /// client makes a new one by itself, and an event tells what was not delivered.
    ///
    /// A tab that is duplicated takes a copy along: it goes on with the session, and the other one ends.
    pub fn remember(mut self, on: bool) -> Connect {
        self.remember = on;
        self
    }

    /// A client at once, which connects while the page runs.
    ///
    /// # Errors
    /// Fails where no try could succeed, such as for a bad URL, or where there is no page.
    pub fn start(mut self) -> Result<Page, ConnectError> {
        let window = window().ok_or(ConnectError::NoPage)?;
        self.check()?;
        let memory = if self.remember { Memory::new(&self.url) } else { None };
        let found = memory.as_ref().filter(|_| self.checkpoint.is_none()).and_then(Memory::load);
        let auth = self.auth.clone();
        let seed = (js_sys::Math::random() * (1_u64 << 53) as f64) as u64;
        let (machine, found) = match found {
            None => (self.machine(seed)?, false),
            Some(found) => {
                let plain = self.clone();
                self.checkpoint = Some(found);
                match self.machine(seed) {
                    Ok(machine) => (machine, true),
                    // What is no checkpoint of this room's says nothing.
                    Err(_) => (plain.machine(seed)?, false),
                }
            }
        };
        Ok(Page::new(&window, machine, auth, memory, found))
    }

    /// Tries until the room lets the client in, or says that it will not, or for as long as is set.
    async fn join(self) -> Result<Page, ConnectError> {
        let give_up = self.options.give_up;
        let page = self.start()?;
        let until = since(now()) + give_up;
        poll_fn(|context| {
            let mut client = page.client();
            let client: &mut Client = &mut client;
            match client.status() {
                Status::Joined => Poll::Ready(Ok(())),
                Status::Closed { .. } | Status::Lost => Poll::Ready(Err(client.why_not())),
                // Sockets that open and close again are no connection either.
                _ if since(now()) >= until && !client.machine.has_socket() => {
                    Poll::Ready(Err(client.why_not()))
                }
                _ => {
                    page.wake_later(context);
                    Poll::Pending
                }
            }
        })
        .await
        .map(|()| page)
    }
}

impl IntoFuture for Connect {
    type Output = Result<Page, ConnectError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.join())
    }
}

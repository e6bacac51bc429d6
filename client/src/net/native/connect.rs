//! From what a game says to a client on a tokio runtime.

use std::future::{Future, IntoFuture};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use room::wire::payload;
use room::{Schema, limits};
use serde::Serialize;
use tokio::runtime::Handle;

use super::super::client::Client;
use super::super::connect::{AuthError, Connect, ConnectError};
use super::Sockets;
use crate::event::Status;

/// Starts to connect to a room: `connect(url, schema).name("Ada").await`.
///
/// `url` is the room's, such as `ws://127.0.0.1:8787/rooms/forest`; or, of a room whose code a friend has told,
/// `…/codes/KWMTRX`; or, for any room of a kind that has a free seat, `…/any/duel`. Whichever it is, the client comes
/// back to the room that it was let into. The future resolves once the room has let the
/// client in; [`start`](Connect::start) gives a client at once, which connects while the game runs. Either must
/// happen on a tokio runtime, which must live as long as the client.
pub fn connect(url: impl Into<String>, schema: Schema) -> Connect {
    Connect::new(url.into(), schema)
}

impl Connect {
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

    /// A client at once, which connects in the background while the game calls [`Client::update`].
    ///
    /// # Errors
    /// Fails where no try could succeed, such as for a bad URL, or where there is no tokio runtime.
    pub fn start(self) -> Result<Client, ConnectError> {
        self.check()?;
        let runtime = Handle::try_current().map_err(|_| ConnectError::NoRuntime)?;
        let sockets = Sockets::new(runtime, self.auth.clone());
        let mut client = Client::new(self.machine(RandomState::new().hash_one(0))?, sockets);
        client.pump(Instant::now());
        Ok(client)
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

impl IntoFuture for Connect {
    type Output = Result<Client, ConnectError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.join())
    }
}

//! A server that runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::room_task::Command;
use super::{RoomStats, Shared, shutdown};
use crate::limits;
use crate::room::{Game, Label, Room};

/// A running server. Dropping it stops the server without waiting.
#[must_use = "the server stops when its handle is dropped"]
pub struct ServerHandle<G: Game> {
    pub(super) shared: Arc<Shared<G>>,
    // Every task of the server holds a receiver: true stops them, and with the last one gone all have stopped.
    pub(super) stop: watch::Sender<bool>,
    pub(super) address: SocketAddr,
}

impl<G: Game> ServerHandle<G> {
    /// The address it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a room for a client on this machine.
    #[must_use]
    pub fn url(&self, room: &str) -> String {
        self.url_of("rooms", room)
    }

    /// The URL of the room with this code for a client on this machine.
    #[must_use]
    pub fn url_by_code(&self, code: &str) -> String {
        self.url_of("codes", code)
    }

    /// The URL of any room of a kind for a client on this machine.
    #[must_use]
    pub fn url_by_kind(&self, kind: &str) -> String {
        self.url_of("any", kind)
    }

    fn url_of(&self, way: &str, what: &str) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        format!("ws://{address}/{way}/{what}")
    }

    /// The names of the rooms there are, in order.
    #[must_use]
    pub fn rooms(&self) -> Vec<String> {
        self.shared.registry.names()
    }

    /// What is shown of a room to those who are not in it, its code among it; `None` where there is no such room, or
    /// the store does not answer. Of one that sleeps the store is asked.
    pub async fn label(&self, room: &str) -> Option<Label> {
        self.shared.registry.label(room).await.ok().flatten()
    }

    /// Looks at a room between two ticks. `None` where there is no such room, or `look` panicked.
    pub async fn inspect<R: Send + 'static>(
        &self,
        room: &str,
        look: impl FnOnce(&G, &Room<G>) -> R + Send + 'static,
    ) -> Option<R> {
        let (reply, answer) = oneshot::channel();
        let look = Command::Inspect(Box::new(move |runtime| {
            // Who asked may have stopped waiting.
            let _ = reply.send(look(runtime.game(), runtime.room()));
        }));
        let link = self.shared.registry.find(room)?;
        link.send(look).await.ok()?;
        answer.await.ok()
    }

    /// Figures of a room, or `None` where there is no such room.
    pub async fn stats(&self, room: &str) -> Option<RoomStats> {
        let (reply, answer) = oneshot::channel();
        let link = self.shared.registry.find(room)?;
        link.send(Command::Stats(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Serves until ctrl-c or SIGTERM, then shuts down.
    pub async fn run(self) {
        shutdown::signal().await;
        self.shutdown().await;
    }

    /// Closes every socket with 1001 and stops all rooms. Returns once all have stopped, or after 10 seconds.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        let limit = Duration::from_secs(limits::SHUTDOWN_SECONDS);
        if tokio::time::timeout(limit, self.stop.closed()).await.is_err() {
            tracing::warn!(kind = "stopped", "server stopped while a room or a socket was still busy");
        } else {
            tracing::info!(kind = "stopped", "server stopped");
        }
        if let Some(store) = self.shared.registry.store.clone() {
            let _ = tokio::task::spawn_blocking(move || store.close()).await;
        }
    }
}

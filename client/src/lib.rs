//! The client of the `room` crate: a replica of what a player may see, and the connection that keeps it.
//!
//! ```no_run
//! # use room::prelude::*;
//! # fn schema() -> Schema { Schema::new() }
//! # async fn play() -> Result<(), room_client::ConnectError> {
//! let mut client = room_client::connect("ws://127.0.0.1:8787/rooms/forest", schema()).name("Ada").await?;
//! while !client.status().is_closed() {
//!     client.update(std::time::Instant::now()); // applies what has come
//!     for event in client.events() { /* … */ }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`connect`] runs on tokio; everything after it is polled, so that a game loop needs no async runtime: call
//! [`update`](Client::update) once a frame, then read what entered, changed and left (see [`Replica`]). The socket
//! lives on a background task of the runtime that `connect` ran on.
//!
//! The feature `native`, which is on by default, is that client. The feature `web` is the same one in a browser's page, on
//! wasm32: see the module `web`, which is there in its documentation. Where both are on, the target decides.

mod event;
pub mod interpolate;
pub mod machine;
#[cfg(any(feature = "web", all(feature = "native", not(target_family = "wasm"))))]
mod net;
mod predict;
pub mod replica;
#[cfg(feature = "testing")]
pub mod testing;

pub use event::{
    CallId, CallOptions, ClientStats, Event, EventId, LastDrop, Message, SendError, Status, Undelivered,
};
pub use interpolate::{Smooth, Smoothed};
pub use machine::{Checkpoint, CheckpointError, Notice, NoticeKind, WriteRefused};
#[cfg(all(feature = "web", any(target_family = "wasm", not(feature = "native"))))]
pub use net::web;
#[cfg(any(feature = "web", all(feature = "native", not(target_family = "wasm"))))]
pub use net::{AuthError, Client, Connect, ConnectError, connect};
pub use predict::Predicted;
pub use replica::{Applied, Change, Replica};

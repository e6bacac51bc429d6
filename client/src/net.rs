//! Sockets: the only part of this crate that does I/O. What games meet is one client, over the sockets of the system
//! that it is built for.

mod client;
mod connect;
#[cfg(all(feature = "native", not(target_family = "wasm")))]
mod native;
#[cfg(all(feature = "web", any(target_family = "wasm", not(feature = "native"))))]
pub mod web;

#[cfg(all(feature = "native", not(target_family = "wasm")))]
use native as system;
#[cfg(all(feature = "web", any(target_family = "wasm", not(feature = "native"))))]
use web as system;

pub use client::Client;
pub use connect::{AuthError, Connect, ConnectError};
pub use system::connect;

//! A small game in a browser's page: squares that walk over hills, jump, and plant flowers.
//!
//! ```text
//! cargo web build examples/page --release
//! cargo run --example page                # and open http://127.0.0.1:8787
//! ```
//!
//! [`game`] is what the server and the page share. The page itself is there for wasm32 alone.

#[cfg(target_family = "wasm")]
mod draw;
pub mod game;
#[cfg(target_family = "wasm")]
mod keys;
#[cfg(target_family = "wasm")]
mod look;
#[cfg(target_family = "wasm")]
mod page;
#[cfg(feature = "steps")]
pub mod steps;

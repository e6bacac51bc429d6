//! The client in a browser: its WebSocket, its page events, and a session that a reload goes on with.
//!
//! ```no_run
//! # #[cfg(target_family = "wasm")]
//! # fn play(schema: room::Schema) -> Result<(), room_client::ConnectError> {
//! use room_client::web;
//!
//! let page = web::connect(web::room_url("/rooms/forest"), schema).name("Ada").start()?;
//! // Once a frame, with what `requestAnimationFrame` says:
//! let frame = move |now: f64| {
//!     let mut client = page.update(now);
//!     for event in client.events() { /* … */ }
//! };
//! # drop(frame);
//! # Ok(())
//! # }
//! ```
//!
//! A page that is hidden gets no frames. The client goes on by itself there: it pings, comes back, takes the room's
//! events and keeps them in `sessionStorage`. So it is shared between the game and the page's events: the game has it
//! while it holds what [`Page::update`] or [`Page::client`] gave.

mod connect;
mod events;
mod memory;
mod page;
mod sockets;

use std::time::Duration;

pub use connect::connect;
pub use page::Page;
pub(super) use sockets::{Auth, Sockets, check_url, ready};

/// The time, as games say it: milliseconds since the page was loaded.
pub(super) type Now = f64;

pub(super) fn now() -> Now {
    window().and_then(|window| window.performance()).map_or(0.0, |performance| performance.now())
}

/// A time of the page as the machine counts.
fn since(now: Now) -> Duration {
    Duration::from_secs_f64(now.clamp(0.0, 1e15) / 1000.0)
}

/// The wall clock.
pub(super) fn unix_ms() -> u64 {
    js_sys::Date::now() as u64
}

fn window() -> Option<web_sys::Window> {
    web_sys::window()
}

/// The URL of a path such as `/rooms/forest` on the server that the page is from.
///
/// # Panics
/// Where there is no page.
#[must_use]
pub fn room_url(path: &str) -> String {
    let location = window().expect("a client in a browser needs a page").location();
    let scheme = if location.protocol().is_ok_and(|scheme| scheme == "https:") { "wss" } else { "ws" };
    format!("{scheme}://{}{path}", location.host().unwrap_or_default())
}

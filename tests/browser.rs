//! In a real browser: pages that join, walk, reload, are hidden, and outlive their server.
//!
//! They need Chromium, and the page: `cargo web build examples/page --release --features steps`. Where one is missing
//! they say so and pass, unless `ROOM_BROWSER=must` is set. Pictures of what was seen are in `target/browser`.

#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/memory.rs"]
mod memory;
#[path = "browser/play.rs"]
mod play;
#[path = "browser/server.rs"]
mod server;
#[path = "browser/stage.rs"]
mod stage;
#[path = "browser/steps.rs"]
mod steps;

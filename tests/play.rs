//! What players do: writes to what they own, inputs, and steps that are made at both ends.

#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

#[path = "play/attacks.rs"]
mod attacks;
#[path = "play/calls.rs"]
mod calls;
#[path = "play/game.rs"]
mod game;
#[path = "play/rewind.rs"]
mod rewind;
#[path = "play/steps.rs"]
mod steps;
#[path = "play/writes.rs"]
mod writes;

//! The client of the `room` crate: a replica of what a player may see, and the connection that keeps it.

pub mod replica;

pub use replica::{Applied, Change, Replica};

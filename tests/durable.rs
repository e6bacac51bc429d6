//! Rooms with a store, killed between two ticks and woken again: what a client saw stays, every event is handled once.

#[path = "durable/away.rs"]
mod away;
#[path = "durable/change.rs"]
mod change;
#[path = "durable/edge.rs"]
mod edge;
#[path = "durable/fail.rs"]
mod fail;
#[path = "durable/game.rs"]
mod game;
#[path = "durable/kill.rs"]
mod kill;
#[path = "durable/model.rs"]
mod model;

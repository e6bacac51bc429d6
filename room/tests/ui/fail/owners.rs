//! Owners and writable fields.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(owner = player)]
struct Missing {
    owner: PlayerId,
    #[field(writable)]
    aim: f32,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
struct NoPlayer {
    owner: Option<u32>,
    #[field(writable)]
    aim: f32,
}

#[derive(Entity, Clone, Debug)]
struct Nobody {
    #[field(writable)]
    aim: f32,
    #[field(writable)]
    fire: bool,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = "owner")]
struct Quoted {
    owner: PlayerId,
}

fn main() {}

//! A hidden kind has neither owner nor writable fields, and is taken nowhere that clients see.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(hidden, owner = owner)]
struct Deck {
    owner: PlayerId,
    #[field(writable)]
    top: u8,
}

fn main() {}

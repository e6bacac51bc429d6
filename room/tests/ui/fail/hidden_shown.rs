//! A hidden kind cannot be shown, nor can anyone make the proof that it may be sent.

use room::entity::Sent;
use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
struct Deck {
    order: Json<Vec<u8>>,
}

fn show<K: Visible>() {}

fn main() {
    show::<Deck>();
    let _: Sent<Deck> = Sent::new();
}

//! The room crate under another name, and behind a path.

extern crate room as my_room;

mod engine {
    pub mod net {
        pub use my_room::*;
    }
}

use my_room::{Bytes, Entity as _, Json, PlayerId};

#[derive(my_room::FieldEnum, Clone, Copy, Debug)]
#[field_enum(crate = "my_room")]
enum Facing {
    North,
    South,
}

#[derive(my_room::Entity, Clone, Debug)]
#[entity(crate = "my_room", owner = owner)]
struct Avatar {
    owner: PlayerId,
    facing: Facing,
    #[field(writable, quantize(step = 0.5, min = -10, max = 10))]
    x: f32,
    blocks: Bytes,
    cards: Json<Vec<u8>>,
}

#[derive(my_room::Entity, Clone, Debug)]
#[entity(crate = "crate::engine::net")]
struct Rock {
    x: f32,
}

fn main() {
    assert_eq!(Avatar::KIND.fields.len(), 5);
    assert_eq!(Rock::KIND.name, "rock");
    let _ = [Facing::North, Facing::South];
}

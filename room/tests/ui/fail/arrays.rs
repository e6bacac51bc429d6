//! Arrays of a length that no field has.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
struct Arrays {
    none: [u8; 0],
    many: [f32; 17],
    maybe: Option<[u8; 20]>,
}

fn main() {}

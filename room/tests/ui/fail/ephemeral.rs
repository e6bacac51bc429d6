//! What is never stored is not stored less often either.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(ephemeral)]
struct Shot {
    #[field(coarse)]
    x: f32,
    y: f32,
    #[field(coarse, quantize(step = 0.1, min = 0, max = 1))]
    z: f32,
}

fn main() {}

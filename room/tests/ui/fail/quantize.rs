//! Ranges of quantized fields.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
struct Values {
    #[field(quantize(step = 0, min = 0, max = 1))]
    zero: f32,
    #[field(quantize(step = -0.5, min = 0, max = 1))]
    negative: f64,
    #[field(quantize(step = 0.1, min = 5, max = -5))]
    turned: f32,
    #[field(quantize(step = 0.1, min = 2.5, max = 2.5))]
    narrow: f32,
    #[field(quantize(step = 1, min = 0, max = 1e400))]
    infinite: f64,
    #[field(quantize(step = 1e30, min = -1e39, max = 0))]
    beyond: f32,
    #[field(quantize(step = 5, min = 0, max = 1))]
    wide: f32,
    #[field(quantize(step = 0.0001, min = -1000, max = 1000))]
    many: f32,
    #[field(quantize(step = 1e-9, min = -1e6, max = 1e6))]
    many_more: [f64; 2],
    #[field(quantize(step = 0.01, min = 1e6, max = 1000100.0))]
    fine: Option<f32>,
    #[field(quantize(step = 0.01, min = 1e15, max = 1000000000000100))]
    far: f64,
    #[field(quantize(step = 1u8, min = 0, max = 0.5 + 0.5))]
    sum: f32,
}

#[derive(Entity, Clone, Debug)]
struct Types {
    #[field(quantize(step = 1, min = 0, max = 100))]
    number: u32,
    #[field(quantize(step = 1, min = 0, max = 100))]
    text: String,
    #[field(quantize(step = 1, min = 0, max = 100))]
    maybe: Option<u8>,
    #[field(quantize(step = 1, min = 0, max = 100))]
    many: Option<[f32; 3]>,
}

fn main() {}

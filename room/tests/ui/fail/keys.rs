//! Keys that are unknown, repeated, or in the wrong place or form: all of them at once.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(nmae = "avatar", hidden = true, owner, ids = "sequential", crate = "not a path")]
#[entity(name = avatar, name = "avatar", ephemeral = true, ephemeral, fleeting)]
#[field(writable)]
struct Avatar {
    #[field(coarse = 1, coarse, fine, writable(true), name)]
    a: u8,
    #[field(quantize)]
    b: f32,
    #[field(quantize(step = 0.1, step = 0.1, most = 4))]
    c: f32,
    #[field(quantize(step = 0.1, min = "0", max = LAST), name = "d" writable)]
    d: f32,
    #[field]
    e: u8,
    #[field = "f"]
    f: u8,
    #[entity(name = "g")]
    g: u8,
    #[field(name = "h")]
    #[field(name = "i")]
    h: u8,
    #[field(, 3)]
    j: u8,
}

#[derive(Entity, Clone, Debug)]
#[entity(history = "a while")]
struct Long {
    x: u8,
}

#[derive(Entity, Clone, Debug)]
#[entity(history = "11s")]
struct Longer {
    x: u8,
}

fn main() {
    let _ = Avatar::KIND.name;
    let _ = Avatar::A;
}

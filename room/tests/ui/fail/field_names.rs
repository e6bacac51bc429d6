//! Names of fields, on the wire and in Rust.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
struct Forbidden {
    id: u32,
    #[field(name = "sort")]
    kind: u8,
    #[field(name = "patch")]
    piece: u8,
}

#[derive(Entity, Clone, Debug)]
struct Syntax {
    #[field(name = "x y")]
    x: f32,
    größe: f32,
}

#[derive(Entity, Clone, Debug)]
struct Twice {
    hp: u8,
    #[field(name = "hp")]
    health: u8,
    #[field(name = "mana")]
    magic: u8,
    mana: u8,
}

#[derive(Entity, Clone, Debug)]
#[allow(non_snake_case)]
struct Constants {
    x: f32,
    X: f32,
}

fn main() {}

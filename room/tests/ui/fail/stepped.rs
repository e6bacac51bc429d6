//! A step meets what clients may see and nothing else, and a client writes what is writable and nothing else.

use room::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
struct Secret {
    code: u8,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
struct Avatar {
    owner: PlayerId,
    #[field(writable)]
    aim: f32,
    hp: u8,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
struct Item {
    owner: PlayerId,
}

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
struct Steer {
    right: f32,
}

struct Walk;

impl Stepper for Walk {
    type Input = Steer;
    fn step(world: &mut impl StepWorld, _: &Steer, _: f32) {
        let _ = world.all::<Secret>().count();
    }
}

fn write(mut avatar: AvatarOwned<'_>) {
    avatar.set_aim(1.0);
    avatar.set_hp(255);
}

fn owned<K: room::Owned>() {}

fn main() {
    owned::<Avatar>();
    owned::<Item>();
}

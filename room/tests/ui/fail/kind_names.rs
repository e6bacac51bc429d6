//! Names of kinds.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(name = "2fast")]
struct Digit {}

#[derive(Entity, Clone, Debug)]
#[entity(name = "")]
struct Empty {}

#[derive(Entity, Clone, Debug)]
#[entity(name = "a-b")]
struct Dash {}

#[derive(Entity, Clone, Debug)]
#[entity(name = "a2345678901234567890123456789012345678901234567890123456789012345")]
struct Long {}

#[derive(Entity, Clone, Debug)]
struct Größe {}

#[derive(Entity, Clone, Debug)]
#[entity(name = "room_mine")]
struct Mine {}

#[derive(Entity, Clone, Debug)]
struct RoomState {}

fn main() {}

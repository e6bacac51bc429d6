//! Two variants of one number.

use room::prelude::*;

#[derive(FieldEnum, Clone, Copy, Debug)]
enum Facing {
    North = 1,
    South = 1,
}

fn main() {}

//! What a field's enum cannot be; a field of it is no second message.

use room::prelude::*;

#[derive(FieldEnum, Clone, Copy, Debug)]
struct Struct {
    value: u8,
}

#[derive(FieldEnum, Clone, Copy, Debug)]
enum Nothing {}

#[derive(FieldEnum, Clone, Copy, Debug)]
enum Holding {
    Plain,
    Tuple(u8),
    Named { value: u8 },
}

const THREE: isize = 3;

#[derive(FieldEnum, Clone, Copy, Debug)]
enum Numbers {
    Below = -1,
    Above = 300,
    Named = THREE,
    Last = 255,
    Past,
}

#[derive(FieldEnum, Clone, Copy, Debug)]
enum Generic<T> {
    A,
    B(T),
}

#[derive(FieldEnum, Clone, Copy, Debug)]
#[field_enum(name = "keys", crate)]
enum Keys {
    #[field_enum(name = "one")]
    One,
}

#[derive(Entity, Clone, Debug)]
struct Used {
    holding: Holding,
    keys: Keys,
    maybe: Option<Numbers>,
    none: Nothing,
}

fn main() {}

//! What is no struct with named fields gets one message each, also where the rest of the program uses it.

use room::prelude::*;

#[derive(Entity, Clone, Debug)]
struct Tuple(u8, f32);

#[derive(Entity, Clone, Debug)]
struct Unit;

#[derive(Entity, Clone, Debug)]
enum Choice {
    A(u8),
    B,
}

#[derive(Entity, Clone, Copy)]
union Either {
    a: u8,
    b: f32,
}

#[derive(Entity, Clone, Debug)]
struct Generic<T> {
    value: Option<T>,
}

#[derive(Entity, Clone, Debug)]
struct Constant<const N: usize> {
    values: [u8; N],
}

#[derive(Entity, Clone, Debug)]
struct Borrowed<'a> {
    name: &'a str,
}

#[derive(Entity, Clone, Debug)]
struct Bounded
where
    u8: Copy,
{
    value: u8,
}

impl std::fmt::Debug for Either {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

fn used<K: Visible>() {}

fn main() {
    used::<Tuple>();
    used::<Unit>();
    used::<Choice>();
    used::<Either>();
    used::<Generic<u8>>();
    used::<Constant<3>>();
    used::<Bounded>();
}

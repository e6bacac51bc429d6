//! An input is a struct with named fields, and its attributes are few.

use room::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
struct Pair(f32, f32);

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
enum Turn {
    #[default]
    Left,
}

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
struct Steer<T> {
    right: T,
}

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
#[input(once)]
struct Wrong {
    #[input(always)]
    right: f32,
    #[input(once, keep)]
    jump: bool,
    #[input(once = true)]
    dash: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Plain {
    right: f32,
}

struct Walk;

impl Stepper for Walk {
    type Input = Plain;
    fn step(_: &mut impl StepWorld, _: &Plain, _: f32) {}
}

fn main() {}

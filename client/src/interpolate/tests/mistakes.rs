//! What a game says wrongly is told at the call.

use room::prelude::*;

use super::town::{Town, Walker};
use crate::Smooth;
use crate::machine::{Machine, Options};

#[derive(Entity, Clone, Debug)]
struct Stranger {
    x: f32,
}

fn machine() -> Machine {
    Machine::new(Town::schema(), Options::default(), 1)
}

#[test]
#[should_panic(expected = "`walker.name` cannot be interpolated: it is a string")]
fn a_text_is_refused_by_name() {
    machine().interpolate::<Walker>((Walker::X, Walker::NAME));
}

#[test]
#[should_panic(expected = "`walker.x` is interpolated already")]
fn a_field_is_named_once() {
    machine().interpolate::<Walker>((Walker::X, Walker::Y, Walker::X.snap(3.0)));
}

#[test]
#[should_panic(expected = "`walker.at` is no rotation")]
fn a_rotation_has_four_numbers() {
    machine().interpolate::<Walker>(Walker::AT.rotation());
}

#[test]
#[should_panic(expected = "a turn of 0 is none")]
fn an_angle_has_a_turn() {
    let _ = Walker::HEADING.angle(0.0);
}

#[test]
#[should_panic(expected = "`stranger` is not in the schema")]
fn a_kind_is_one_of_the_schema() {
    machine().interpolate::<Stranger>(Stranger::X);
}

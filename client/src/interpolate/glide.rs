//! What this client predicts: it is drawn where it is predicted to be, and glides there where it was drawn elsewhere.

use super::history::{jumps, short};
use super::plan::{Plan, Way};

/// The way from where a predicted entity was drawn to where it is.
#[derive(Debug, Default)]
pub(super) struct Glide {
    /// Its numbers as they were last drawn, but for `off`; none while it is not predicted.
    shown: Vec<f64>,
    /// How far from them it was drawn.
    off: Vec<f64>,
    /// Seconds until it is there.
    left: f64,
}

impl Glide {
    /// Whether it was drawn as predicted.
    pub(super) fn is_on(&self) -> bool {
        !self.shown.is_empty()
    }

    /// It is not predicted any more.
    pub(super) fn end(&mut self) {
        self.shown.clear();
        self.left = 0.0;
    }

    /// What was drawn as `shown` is at `numbers`: it goes there within so many seconds, unless that is a jump.
    pub(super) fn correct(&mut self, plan: &Plan, numbers: &[f64], seconds: f64) {
        let jumps = jumps(plan, &self.shown, numbers);
        self.off.resize(plan.width, 0.0);
        let mut moved = false;
        for (at, column) in plan.columns.iter().enumerate() {
            for n in column.numbers.clone() {
                let way = match column.way {
                    Way::Line => self.shown[n] - numbers[n],
                    Way::Angle(turn) => short(numbers[n], self.shown[n], turn),
                    // What lies between two rotations is no sum of numbers.
                    Way::Rotation => 0.0,
                };
                if jumps >> at & 1 != 0 {
                    self.off[n] = 0.0;
                } else if way != 0.0 && way.is_finite() {
                    self.off[n] += way;
                    moved = true;
                }
            }
        }
        if moved {
            self.left = seconds;
        }
        self.shown.copy_from_slice(numbers);
    }

    /// It is drawn at `numbers`, so many seconds after the last time; adds what is left of the way.
    pub(super) fn draw(&mut self, plan: &Plan, numbers: &mut [f64], passed: f64) {
        self.shown.clear();
        self.shown.extend_from_slice(numbers);
        self.off.resize(plan.width, 0.0);
        let rest = if self.left > passed { (self.left - passed) / self.left } else { 0.0 };
        self.left = (self.left - passed).max(0.0);
        for (number, off) in numbers.iter_mut().zip(&mut self.off) {
            *off *= rest;
            *number += *off;
        }
    }

    /// It begins to be predicted, or ends: it was drawn at `drawn` so far.
    pub(super) fn begin(&mut self, drawn: &[f64]) {
        self.shown.clear();
        self.shown.extend_from_slice(drawn);
        self.off.clear();
    }
}

//! The last states of one entity, and what lies between them.

use super::plan::{Column, Plan, Way};

/// What is known of one state besides its numbers.
#[derive(Clone, Copy, Debug)]
struct Head {
    tick: f64,
    // The columns that jumped there from the state before, a bit each.
    jumps: u64,
}

/// States in the order of their ticks. The memory of those that are dropped is used again.
#[derive(Debug, Default)]
pub(super) struct History {
    // Invariant: rising ticks; as many times a plan's width of numbers as heads.
    heads: Vec<Head>,
    numbers: Vec<f64>,
}

/// Where a time lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// In the first state or before it, in the last one, or past it where nothing goes on.
    At(usize),
    /// Between this state and the next one, so far on the way.
    Between(usize, f64),
    /// Past the last state, so many times the way to it beyond the state before.
    Past(f64),
}

impl History {
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The tick of the newest state.
    pub(super) fn last(&self) -> Option<f64> {
        self.heads.last().map(|head| head.tick)
    }

    fn state(&self, at: usize, plan: &Plan) -> &[f64] {
        &self.numbers[at * plan.width..][..plan.width]
    }

    /// Adds a state. One that is not newer than the last begins anew. Past `most` states the oldest goes.
    pub(super) fn push(&mut self, plan: &Plan, tick: f64, numbers: &[f64], most: usize) {
        if self.last().is_some_and(|last| tick <= last) {
            self.clear();
        }
        let jumps = match self.len().checked_sub(1) {
            Some(last) => jumps(plan, self.state(last, plan), numbers),
            None => 0,
        };
        self.heads.push(Head { tick, jumps });
        self.numbers.extend_from_slice(numbers);
        if self.len() > most {
            self.drop_first(plan, 1);
        }
    }

    /// The entity stood still from its last state up to a tick.
    pub(super) fn rest(&mut self, plan: &Plan, until: f64) {
        if self.last().is_none_or(|last| last >= until) {
            return;
        }
        self.heads.push(Head { tick: until, jumps: 0 });
        self.numbers.extend_from_within(self.numbers.len() - plan.width..);
    }

    /// Keeps the newest state alone, as of a tick.
    pub(super) fn settle(&mut self, plan: &Plan, tick: f64) {
        self.drop_first(plan, self.len().saturating_sub(1));
        if let Some(head) = self.heads.first_mut() {
            *head = Head { tick, jumps: 0 };
        }
    }

    /// Drops the states that a time and all later ones do not need: all before the last one at that time, and one
    /// more where what came last may go on.
    pub(super) fn forget(&mut self, plan: &Plan, time: f64, goes_on: bool) {
        let past = self.heads.iter().take_while(|head| head.tick <= time).count();
        let kept = if goes_on && past == self.len() { 2 } else { 1 };
        self.drop_first(plan, past.saturating_sub(kept));
    }

    fn clear(&mut self) {
        self.heads.clear();
        self.numbers.clear();
    }

    fn drop_first(&mut self, plan: &Plan, n: usize) {
        self.heads.drain(..n);
        self.numbers.drain(..n * plan.width);
    }

    /// Where a time lies. Past the last state what moved goes on for at most so many ticks.
    pub(super) fn place(&self, time: f64, extrapolate: f64) -> Place {
        let past = self.heads.iter().rposition(|head| head.tick <= time);
        let Some(at) = past else { return Place::At(0) };
        let tick = self.heads[at].tick;
        if let Some(next) = self.heads.get(at + 1) {
            return Place::Between(at, (time - tick) / (next.tick - tick));
        }
        let beyond = (time - tick).min(extrapolate);
        match at.checked_sub(1).map(|before| self.heads[before].tick) {
            Some(before) if beyond > 0.0 => Place::Past((tick + beyond - before) / (tick - before)),
            _ => Place::At(at),
        }
    }

    /// Writes down the numbers at a place.
    pub(super) fn sample(&self, plan: &Plan, place: Place, out: &mut [f64]) {
        let (from, part, at_jump) = match place {
            Place::At(at) => return out.copy_from_slice(self.state(at, plan)),
            // What jumps stays until it is there.
            Place::Between(at, part) => (at, part, at),
            Place::Past(part) => (self.len() - 2, part, self.len() - 1),
        };
        let (a, b) = (self.state(from, plan), self.state(from + 1, plan));
        let jumps = self.heads[from + 1].jumps;
        for (at, column) in plan.columns.iter().enumerate() {
            let numbers = column.numbers.clone();
            if jumps >> at & 1 != 0 {
                out[numbers.clone()].copy_from_slice(&self.state(at_jump, plan)[numbers]);
            } else {
                blend(column, &a[numbers.clone()], &b[numbers.clone()], part, &mut out[numbers]);
            }
        }
    }
}

/// Which columns jump from one state to the next.
pub(super) fn jumps(plan: &Plan, a: &[f64], b: &[f64]) -> u64 {
    let mut jumps = 0;
    for (at, column) in plan.columns.iter().enumerate() {
        // Between what is no finite number and anything else lies nothing.
        let finite = column.numbers.clone().all(|at| a[at].is_finite() && b[at].is_finite());
        jumps |= u64::from(!finite) << at;
    }
    for group in &plan.groups {
        let columns = &plan.columns[group.columns.clone()];
        let straight = columns.iter().any(|column| column.way == Way::Line);
        let counts = columns.iter().filter(|column| !straight || column.way == Way::Line);
        let distance: f64 = counts.map(|column| distance(column, a, b)).sum();
        if distance > group.most {
            group.columns.clone().for_each(|at| jumps |= 1 << at);
        }
    }
    jumps
}

/// The square of how far apart a column's numbers are.
fn distance(column: &Column, a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (&a[column.numbers.clone()], &b[column.numbers.clone()]);
    match column.way {
        Way::Line => a.iter().zip(b).map(|(a, b)| (b - a).powi(2)).sum(),
        Way::Angle(turn) => a.iter().zip(b).map(|(a, b)| short(*a, *b, turn).powi(2)).sum(),
        // The angle between the two, in radians.
        Way::Rotation => (2.0 * dot(a, b).abs().min(1.0).acos()).powi(2),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// From one angle to another, the short way.
pub(super) fn short(a: f64, b: f64, turn: f64) -> f64 {
    let way = (b - a).rem_euclid(turn);
    if way > turn / 2.0 { way - turn } else { way }
}

/// What lies so far on the way from `a` to `b`; past `b` where that is more than 1.
fn blend(column: &Column, a: &[f64], b: &[f64], part: f64, out: &mut [f64]) {
    match column.way {
        Way::Line => {
            for ((a, b), out) in a.iter().zip(b).zip(out) {
                *out = a + (b - a) * part;
            }
        }
        Way::Angle(turn) => {
            for ((a, b), out) in a.iter().zip(b).zip(out) {
                *out = within(*a, *b, turn, a + short(*a, *b, turn) * part);
            }
        }
        Way::Rotation => {
            let sign = if dot(a, b) < 0.0 { -1.0 } else { 1.0 };
            for ((a, b), out) in a.iter().zip(b).zip(out.iter_mut()) {
                *out = a + (sign * b - a) * part;
            }
            // The length of the first one, so that it is exact there.
            let ratio = (dot(a, a) / dot(out, out)).sqrt();
            if part > 0.0 && ratio.is_finite() {
                out.iter_mut().for_each(|out| *out *= ratio);
            }
        }
    }
}

/// Takes an angle into the turn that both ends lie in: from 0, or around 0 where one is below it. Others count their
/// turns, and keep them.
fn within(a: f64, b: f64, turn: f64, angle: f64) -> f64 {
    let least = if a.min(b) < 0.0 { -turn / 2.0 } else { 0.0 };
    let range = least..=least + turn;
    if range.contains(&angle) || !range.contains(&a) || !range.contains(&b) {
        return angle;
    }
    least + (angle - least).rem_euclid(turn)
}

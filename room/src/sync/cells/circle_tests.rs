//! The circle over cells, looked at in every way that a part has, against the rule: dx² + dy² + dz² ≤ r² in `f64`.

use std::collections::BTreeSet;

use crate::store::records::Records;
use crate::sync::grid::{distance2, on_axes};
use crate::sync::interest::{
    Lens, Notes, Part, PartView, Place, Reach, RekeyScratch, Shape, SubscribeScratch,
};
use crate::sync::keys::Keys;
use crate::sync::seen::{Looked, Seen};
use crate::sync::workers::Shared;

/// Points that stand still, and one who looks.
#[derive(Default)]
struct Still {
    points: Vec<[f64; 3]>,
    around: [f64; 3],
    notes: Shared<Notes>,
}

impl Lens for Still {
    fn place(&self, _part: usize, slots: &[u32], places: &mut Vec<Place>) {
        places.extend(slots.iter().map(|slot| Place::At(self.points[*slot as usize])));
    }
    fn keys(&self, _part: usize, _slot: u32, _keys: &mut Keys) {}
    fn around(&self, _part: usize, _viewer: u32) -> Option<[f64; 3]> {
        Some(self.around)
    }
    fn subscriptions(&self, _part: usize, _viewer: u32, _keys: &mut Keys) {}
    fn sees(&self, _part: usize, _viewer: u32, slots: &[u32], answers: &mut Vec<bool>) {
        answers.extend(slots.iter().map(|_| true));
    }
    fn priority(&self, _viewer: u32, _slot: u32) -> f64 {
        0.0
    }
    fn priorities(&self, _viewer: u32, slots: &[u32], answers: &mut Vec<f64>) {
        answers.extend(slots.iter().map(|_| 0.0));
    }
    fn notes(&self) -> &Shared<Notes> {
        &self.notes
    }
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) ^ (self.0 << 30)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 13) % n
    }

    /// From -1 to 1.
    fn unit(&mut self) -> f64 {
        self.below(1 << 40) as f64 / (1_u64 << 39) as f64 - 1.0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// A few steps of the last place up or down.
    fn nudge(&mut self, mut x: f64) -> f64 {
        // Squares of what is next to zero have no numbers.
        let steps = if x == 0.0 { 0 } else { self.below(4) };
        let up = self.below(2) == 0;
        (0..steps).for_each(|_| x = if up { x.next_up() } else { x.next_down() });
        x
    }
}

/// A grid and a range.
#[derive(Clone, Copy, Debug)]
struct Setting {
    cell: f64,
    axes: [bool; 3],
    r: f64,
    from: [f64; 3],
}

/// Points about the circle: near its edge within a few steps, at corners of cells, at the middle, and anywhere.
fn points(dice: &mut Dice, setting: &Setting) -> Vec<[f64; 3]> {
    let Setting { cell, r, from, .. } = *setting;
    let mut points = Vec::new();
    for n in 0..90 {
        let mut direction = [dice.unit(), dice.unit(), dice.unit()];
        if n % 5 == 0 {
            // Along one axis, where the distance is exact.
            let axis = dice.below(3) as usize;
            direction = [0.0; 3];
            direction[axis] = dice.pick(&[-1.0, 1.0]);
        }
        let direction = on_axes(direction, setting.axes);
        let len = distance2(direction, [0.0; 3]).sqrt().max(1e-9);
        let away = match n % 3 {
            0 | 1 => dice.nudge(r),
            _ => r * (1.0 + dice.unit() * 1e-6),
        };
        let on = |i: usize| from[i] + direction[i] / len * away;
        let near = [on(0), on(1), on(2)];
        points.push(near.map(|x| dice.nudge(x)));
    }
    for _ in 0..30 {
        let mut corner = |i: usize| {
            let at = (from[i] / cell).floor() + dice.below(5) as f64 - 2.0;
            dice.nudge(at * cell)
        };
        points.push([corner(0), corner(1), corner(2)]);
    }
    for _ in 0..40 {
        let wide = r + 1.5 * cell;
        let mut on = |i: usize| from[i] + dice.unit() * wide;
        points.push([on(0), on(1), on(2)]);
    }
    points.push(from);
    points.retain(|point| point.iter().all(|x| x.is_finite()));
    points
}

/// What a part shows by each of its ways of looking; none where the range has more cells than may be subscribed to.
fn shown(setting: &Setting, still: &Still) -> Option<[BTreeSet<u32>; 3]> {
    let Setting { cell, axes, r, .. } = *setting;
    let shape = Shape::Grid { cell, axes, prefix: 0, reach: Reach::Range(r, r) };
    let mut part = Part::new(shape, false);
    let slots: Vec<u32> = (0..still.points.len() as u32).collect();
    part.table.begin(slots.len());
    let mut records = Records::default();
    records.begin(slots.len());
    let mut view = PartView::default();
    // First with all far away, so that the next look finds them come.
    part.subscribe(0, 0, &mut view, still, &mut SubscribeScratch::default());
    if still.notes.with(|notes| !std::mem::take(&mut notes.subscriptions).is_empty()) {
        return None;
    }
    let (mut looked, mut seen) = (Looked::default(), Seen::default());
    part.look(&view, &mut seen, &mut looked);
    view.seen.assign(&seen);
    view.settle();
    part.table.begin(slots.len());
    part.rekey(0, &slots, &records, still, &mut RekeyScratch::default());
    for key in part.table.touched() {
        view.dirty.extend(view.place_of(*key));
    }
    let slots_of = |seen: &Seen| -> BTreeSet<u32> {
        let mut slots = BTreeSet::new();
        for (index, number) in seen.cells().iter().enumerate() {
            for (w, bits) in seen.words(index).iter().enumerate() {
                slots.extend(part.table.cell(*number).slots_of(w, *bits));
            }
        }
        slots
    };
    let mut all = Seen::default();
    part.look(&view, &mut all, &mut looked);
    let again = if part.look_again(&view, &mut seen, &mut looked) { slots_of(&seen) } else { slots_of(&all) };
    let mut listed = Vec::new();
    part.show(&view, &mut listed, &mut looked);
    let shown: BTreeSet<u32> = listed.iter().copied().collect();
    assert_eq!(listed.len(), shown.len(), "each once");
    Some([slots_of(&all), again, shown])
}

fn check(dice: &mut Dice, setting: Setting) -> bool {
    let around = setting.from;
    let still = Still { points: points(dice, &setting), around, notes: Shared::default() };
    let from = on_axes(setting.from, setting.axes);
    let exact: BTreeSet<u32> = (0..still.points.len() as u32)
        .filter(|slot| {
            let at = on_axes(still.points[*slot as usize], setting.axes);
            distance2(at, from) <= setting.r * setting.r
        })
        .collect();
    let Some(ways) = shown(&setting, &still) else { return false };
    for (way, slots) in ways.iter().enumerate() {
        if let Some(wrong) = slots.symmetric_difference(&exact).next() {
            panic!("way {way}, {setting:?}: {:?} is wrong", still.points[*wrong as usize]);
        }
    }
    true
}

const AXES: [[bool; 3]; 3] = [[true, true, false], [true, false, true], [true; 3]];

/// Checks many settings; `from` is in cells, `r` too.
fn check_all(seed: u64, cells: &[f64], ranges: &[f64], from: &[f64]) {
    let mut dice = Dice(seed);
    let (mut checked, cases) = (0, 1500);
    for _ in 0..cases {
        let cell = dice.pick(cells) * (1.0 + dice.unit() * 0.5);
        let axes = dice.pick(&AXES);
        let r = dice.pick(ranges) * cell;
        let r = if dice.below(3) == 0 { r } else { r * (1.0 + dice.unit() * 0.3) };
        let mut on = || {
            let at = dice.pick(from) * dice.pick(&[-1.0, 1.0, 1.0]);
            (at + dice.pick(&[0.0, 0.5]) + dice.unit() * dice.pick(&[0.0, 1e-9, 1.0])) * cell
        };
        let from = [on(), on(), on()];
        checked += u32::from(check(&mut dice, Setting { cell, axes, r, from }));
    }
    assert!(checked > cases / 4, "{checked} of {cases} could be checked");
}

#[test]
fn a_range_of_some_cells_is_exact() {
    check_all(
        1,
        &[1.0, 10.0, 32.0, 0.1, 1e-5, 1e6],
        &[0.3, 1.0, 1.5, 3.0, 6.0],
        &[0.0, 1.0, 7.0, 1000.0, 1e6],
    );
}

#[test]
fn a_range_much_smaller_than_a_cell_is_exact() {
    check_all(2, &[1.0, 1000.0, 1e6], &[0.0, 0.0, 1e-3, 1e-6, 1e-9, 1e-12], &[0.0, 1.0, 500.0, 1e5]);
}

#[test]
fn a_range_of_many_cells_is_exact() {
    check_all(3, &[1.0, 0.01, 8.0], &[7.0, 12.0, 25.0, 30.0], &[0.0, 3.0, 1e4, 1e8]);
}

#[test]
fn a_range_is_exact_in_cells_far_out() {
    let far: Vec<f64> = [30, 38, 39, 40, 41, 45, 50].map(|power| 2f64.powi(power)).to_vec();
    check_all(4, &[1.0, 16.0, 1e-3], &[0.5, 1.0, 2.0, 4.0], &far);
    // On one axis far out, on the others near.
    check_all(5, &[1.0, 16.0], &[0.5, 1.0, 2.0, 4.0], &[0.0, 2f64.powi(40), 2f64.powi(41)]);
}

#[test]
fn a_range_is_exact_where_single_precision_has_no_numbers() {
    for power in [
        -150, -100, -60, -45, -40, -30, -25, -23, -22, -21, -20, -19, -18, 17, 18, 19, 20, 25, 38, 39, 60,
        140,
    ] {
        check_all(6, &[10f64.powi(power)], &[0.0, 1e-3, 0.5, 1.0, 3.0, 6.0], &[0.0, 1.0, 100.0]);
    }
}

#[test]
fn a_range_is_exact_where_the_number_of_a_cell_says_nothing() {
    let far: Vec<f64> = [55, 60, 62, 63, 64, 70, 200].map(|power| 2f64.powi(power)).to_vec();
    let mut dice = Dice(7);
    for _ in 0..1500 {
        let from = [dice.pick(&far), dice.pick(&far), dice.pick(&far)];
        let r = dice.pick(&far) * dice.pick(&[0.0, 2f64.powi(-52), 2f64.powi(-50), 0.5]);
        check(&mut dice, Setting { cell: 1.0, axes: dice_axes(r), r, from });
    }
}

fn dice_axes(r: f64) -> [bool; 3] {
    AXES[(r.to_bits() >> 52) as usize % 3]
}

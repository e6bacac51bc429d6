//! The geometry of grids: which cells a reach covers, and how each lies to it.

use super::interest::Reach;
use crate::field::quantize::WHOLE;
use crate::limits;

/// More than rounding makes of a few products.
const MARGIN: f64 = 1.0 + 1e-9;

/// How a cell lies to what a viewer sees.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    Outside,
    Whole,
    /// Only what was shown before.
    Remembered,
    /// Within the first squared distance, or within the second if it was shown before.
    Exact(f64, f64),
}

impl Cut {
    pub(super) fn of_radius(point: [f64; 3], there: [i64; 3], cell: f64, r: u16, release: u16) -> Cut {
        let here = cell_of(point, cell);
        let away = (0..3).map(|i| here[i].abs_diff(there[i])).max().unwrap_or(0);
        if away <= u64::from(r) {
            Cut::Whole
        } else if away <= u64::from(release) {
            Cut::Remembered
        } else {
            Cut::Outside
        }
    }

    /// A cell against a circle. The slack keeps rounding in the corners from deciding: a cell near
    /// the edge is checked member by member.
    pub(super) fn of_range(
        point: [f64; 3],
        at: [i64; 3],
        cell: f64,
        axes: [bool; 3],
        r: f64,
        release: f64,
    ) -> Cut {
        if at.iter().any(|i| [i64::MIN, i64::MAX].contains(i)) {
            // So far out that the number of the cell says nothing of the place.
            return Cut::Exact(r * r, release * release);
        }
        let (mut near2, mut far2) = (0.0, 0.0);
        for i in (0..3).filter(|i| axes[*i]) {
            let [near, far] = side(at[i], cell, point[i]);
            (near2, far2) = (near2 + near, far2 + far);
        }
        Cut::within(near2, far2, r, release)
    }

    #[inline]
    fn within(near2: f64, far2: f64, r: f64, release: f64) -> Cut {
        if near2 > release * release * MARGIN {
            Cut::Outside
        } else if far2 * MARGIN < r * r {
            Cut::Whole
        } else {
            Cut::Exact(r * r, release * release)
        }
    }
}

/// The squared distances on one axis from a point to a cell's nearest and farthest side.
#[inline]
fn side(at: i64, cell: f64, point: f64) -> [f64; 2] {
    let low = at as f64 * cell;
    let (a, b) = (low - point, point - (low + cell));
    let slack = rounding(low.abs() + cell, point);
    let near = (a.max(b) - slack).max(0.0);
    let far = (-a).max(-b) + slack;
    [near * near, far * far]
}

/// The most cells on an axis of a box whose sides are worked out axis by axis.
const SIDE: usize = 16;

/// How the cells of a box lie to a circle, with the work of each axis done once. Its memory is used again.
#[derive(Debug, Default)]
pub struct Sides {
    axes: [[Side; SIDE]; 3],
    counts: [usize; 3],
    r: f64,
}

/// How far a point is from a cell on one axis.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// The squared distances to the nearest and the farthest side.
    near2: f64,
    far2: f64,
    /// The offset from the lower side.
    offset: f32,
}

impl Sides {
    /// Becomes the sides of a box of cells. Returns false for a very long one, and for one so far out that the number of
    /// a cell says nothing of its place.
    #[inline]
    #[must_use]
    pub fn set(
        &mut self,
        point: [f64; 3],
        (low, high): ([i64; 3], [i64; 3]),
        axes: [bool; 3],
        cell: f64,
        r: f64,
    ) -> bool {
        let far = low.contains(&i64::MIN) || high.contains(&i64::MAX);
        self.counts = [0, 1, 2].map(|i| high[i].abs_diff(low[i]) as usize + 1);
        self.r = r;
        if far || self.counts.iter().any(|count| *count > SIDE) {
            return false;
        }
        for i in 0..3 {
            for (sides, at) in self.axes[i][..self.counts[i]].iter_mut().zip(low[i]..) {
                *sides = Side::default();
                if axes[i] {
                    let [near2, far2] = side(at, cell, point[i]);
                    *sides = Side { near2, far2, offset: (point[i] - at as f64 * cell) as f32 };
                }
            }
        }
        true
    }

    /// Calls `f` with how each cell lies and the point's offset from its corner, in the order of [`each_cell`].
    #[inline(always)]
    pub(super) fn each(&self, mut f: impl FnMut(Lies, [f32; 3])) {
        let [xs, ys, zs] = [0, 1, 2].map(|i| &self.axes[i][..self.counts[i]]);
        let (out, within) = (self.r * self.r * MARGIN, self.r * self.r / MARGIN);
        for x in xs {
            for y in ys {
                for z in zs {
                    let (near2, far2) = (x.near2 + y.near2 + z.near2, x.far2 + y.far2 + z.far2);
                    f(Lies(u8::from(near2 <= out) + u8::from(far2 < within)), [x.offset, y.offset, z.offset]);
                }
            }
        }
    }
}

/// How a cell lies to a circle: a number, so that it is worked out without a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lies(u8);

impl Lies {
    /// Outside.
    pub const OUTSIDE: Lies = Lies(0);
    /// The circle cuts it.
    pub const CUT: Lies = Lies(1);
    /// Inside.
    pub const WHOLE: Lies = Lies(2);
}

/// More than the rounding of a few sums of two numbers.
fn rounding(a: f64, b: f64) -> f64 {
    (a.abs() + b.abs()) * 1e-15
}

/// The squared straight-line distance.
#[inline]
#[must_use]
pub fn distance2(a: [f64; 3], b: [f64; 3]) -> f64 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

pub(super) fn on_axes(point: [f64; 3], axes: [bool; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| if axes[i] { point[i] } else { 0.0 })
}

/// The cell of a point: floor(position / cell size) on each axis.
#[inline]
#[must_use]
pub fn cell_of(point: [f64; 3], cell: f64) -> [i64; 3] {
    point.map(|x| cell_on(x, cell))
}

/// The cell of a coordinate on its axis.
#[inline]
pub(super) fn cell_on(x: f64, cell: f64) -> i64 {
    floor(x / cell)
}

/// Floor as an integer, saturated: without the call that `f64::floor` is on a plain x86-64.
#[inline]
fn floor(x: f64) -> i64 {
    if x.abs() < 2f64.powi(51) {
        let sum = x + WHOLE;
        return sum.to_bits() as i64 - WHOLE.to_bits() as i64 - i64::from(sum - WHOLE > x);
    }
    let cut = x as i64;
    if cut as f64 > x { cut.saturating_sub(1) } else { cut }
}

/// The corners of the box of cells that a reach covers from a point.
pub(super) fn corners(point: [f64; 3], axes: [bool; 3], cell: f64, reach: Reach) -> ([i64; 3], [i64; 3]) {
    let here = cell_of(point, cell);
    let on = |i: usize, low: i64, high: i64| if axes[i] { (low, high) } else { (0, 0) };
    let sides = [0, 1, 2].map(|i| match reach {
        Reach::Radius(_, release) => {
            let n = i64::from(release);
            on(i, here[i].saturating_sub(n), here[i].saturating_add(n))
        }
        Reach::Range(_, release) => {
            let side = |x: f64| floor(x / cell);
            let reach = release + rounding(point[i], release);
            on(i, side(point[i] - reach), side(point[i] + reach))
        }
    });
    (sides.map(|s| s.0), sides.map(|s| s.1))
}

pub(super) fn count((low, high): ([i64; 3], [i64; 3])) -> u64 {
    (0..3).map(|i| high[i].abs_diff(low[i]).saturating_add(1)).fold(1, u64::saturating_mul)
}

pub(super) fn each_cell((low, high): ([i64; 3], [i64; 3]), mut f: impl FnMut([i64; 3])) {
    for x in low[0]..=high[0] {
        for y in low[1]..=high[1] {
            for z in low[2]..=high[2] {
                f([x, y, z]);
            }
        }
    }
}

/// The cells of a reach, nearest first, as many as a viewer may subscribe to; returns whether some are left
/// out. Looks at no more than a few shells beyond what it keeps, however far the reach.
pub(super) fn nearest_cells(
    point: [f64; 3],
    (low, high): ([i64; 3], [i64; 3]),
    cell: f64,
    reach: Reach,
    out: &mut Vec<(f64, [i64; 3])>,
) -> bool {
    out.clear();
    let most = limits::SUBSCRIPTIONS - 1;
    let here = cell_of(point, cell);
    let reach2 = match reach {
        Reach::Range(_, release) => release * release * (1.0 + 1e-9),
        Reach::Radius(..) => f64::INFINITY,
    };
    // A box around the point large enough to hold the nearest `most` cells and then some: with n cells to each
    // side, all cells nearer than n edges are inside.
    let used = (0..3).filter(|i| high[*i] > low[*i]).count() as u32;
    let mut n = 1i64;
    while (2 * n as u64 + 1).pow(used.max(1)) < 8 * most as u64 {
        n += 1;
    }
    let inner = (
        [0, 1, 2].map(|i| low[i].max(here[i].saturating_sub(n)).min(high[i])),
        [0, 1, 2].map(|i| high[i].min(here[i].saturating_add(n)).max(low[i])),
    );
    // A narrow box (one axis of few cells) needs more along the others.
    let area =
        if count(inner) < most as u64 && used > 0 { narrow(here, (low, high), most as i64) } else { inner };
    each_cell(area, |at| {
        let mut near2 = 0.0;
        // The number of a cell that is far enough out says nothing of its place.
        for i in (0..3).filter(|i| ![i64::MIN, i64::MAX].contains(&at[*i])) {
            let edge = at[i] as f64 * cell;
            let near = (edge - point[i]).max(point[i] - (edge + cell)).max(0.0);
            near2 += near * near;
        }
        if near2 <= reach2 {
            out.push((near2, at));
        }
    });
    out.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let cut = out.len() > most || count(area) < count((low, high));
    out.truncate(most);
    cut
}

/// A box for reaches that are short on some axes: those whole, the others as far as `most` cells.
fn narrow(here: [i64; 3], (low, high): ([i64; 3], [i64; 3]), most: i64) -> ([i64; 3], [i64; 3]) {
    let wide = |i: usize| high[i].saturating_sub(low[i]) > 64;
    let n = if (0..3).filter(|i| wide(*i)).count() > 1 { 64 } else { most };
    (
        [0, 1, 2].map(|i| if wide(i) { low[i].max(here[i].saturating_sub(n)) } else { low[i] }),
        [0, 1, 2].map(|i| if wide(i) { high[i].min(here[i].saturating_add(n)) } else { high[i] }),
    )
}

/// A cell's place on a curve that winds through all cells, so that near ones are near on it: the bits of the
/// coordinates, in turns.
pub(super) fn curve(at: [i64; 3]) -> u64 {
    let spread = |x: i64| {
        // 21 bits, two free ones between any two.
        let mut x = x as u64 & 0x1f_ffff;
        for (shift, mask) in [
            (32, 0x1f_0000_0000_ffff),
            (16, 0x1f_0000_ff00_00ff),
            (8, 0x100f_00f0_0f00_f00f),
            (4, 0x10c3_0c30_c30c_30c3),
            (2, 0x1249_2492_4924_9249),
        ] {
            x = (x | x << shift) & mask;
        }
        x
    };
    spread(at[0]) | spread(at[1]) << 1 | spread(at[2]) << 2
}

//! Interest: which entities have a key that a viewer subscribes to, and which of those a part shows.

use super::keys::{Cell, CellKey, EVERYWHERE, Key, KeyTable, Keys};
use super::rates::Pace;
use crate::limits;
use crate::store::bits::SlotSet;
use crate::tick::Tick;

/// What a part of an interest is, apart from the game's own code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Keys that the game's code gives.
    Keys,
    /// A grid.
    Grid {
        /// The edge of a cell.
        cell: f64,
        /// The axes in use.
        axes: [bool; 3],
        /// Keeps the grid's keys apart from others with the same cells.
        prefix: u64,
        /// How far it shows.
        reach: Reach,
    },
}

/// How far a grid shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// Within a straight-line distance; what was shown stays up to the second one.
    Range(f64, f64),
    /// Within so many cells on each axis; what was shown stays up to the second number.
    Radius(u16, u16),
}

/// Where a grid places an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// The grid does not place this kind.
    Nowhere,
    /// The position function gave none: every connection of the part sees it.
    Everywhere,
    /// At a point.
    At([f64; 3]),
}

/// The game's answers, without the game's type. Parts are numbered in the order of the interest.
pub trait Lens {
    /// Where part `part`, a grid, places the entity of a slot.
    fn place(&self, part: usize, slot: u32) -> Place;
    /// The keys that part `part`, not a grid, gives the entity of a slot.
    fn keys(&self, part: usize, slot: u32, keys: &mut Keys);
    /// Where a viewer stands in part `part`, a grid.
    fn around(&self, part: usize, viewer: u32) -> Option<[f64; 3]>;
    /// What a viewer subscribes to in part `part`, not a grid.
    fn subscriptions(&self, part: usize, viewer: u32, keys: &mut Keys);
    /// Whether the viewer sees the entity of a slot, of which part `part` says that it may.
    fn sees(&self, part: usize, viewer: u32, slot: u32) -> bool;
    /// How important the entity of a slot is to a viewer; higher is kept.
    fn priority(&self, viewer: u32, slot: u32) -> f64;
    /// Bookkeeping of what was refused.
    fn notes(&self) -> &std::cell::RefCell<Notes>;
}

/// What an interest got wrong, for the log.
#[derive(Debug, Default)]
pub struct Notes {
    /// Positions of entities that were not finite.
    pub bad_positions: Vec<u32>,
    /// Viewers whose `around` was not finite.
    pub bad_arounds: Vec<u32>,
    /// Entities with too many keys.
    pub entity_keys: Vec<u32>,
    /// Viewers with too many subscriptions.
    pub subscriptions: Vec<u32>,
    /// Viewers who would see too many entities.
    pub views: Vec<u32>,
    /// Panics in the game's interest, counted.
    pub panics: u64,
}

/// One part at work.
#[derive(Debug)]
pub struct Part {
    /// What it is.
    pub shape: Shape,
    /// Whether the game narrows it further, pair by pair.
    pub narrows: bool,
    /// How often it sends by squared distance; nothing where always.
    pub bands: Vec<(f64, Pace)>,
    /// Its keys.
    pub table: KeyTable,
}

/// What a viewer has of a part.
#[derive(Debug, Default)]
pub struct PartView {
    /// Where it stood at the last seal.
    point: Option<[f64; 3]>,
    /// The cells it subscribed to, as corners, where it took a whole box of them.
    corners: Option<([i64; 3], [i64; 3])>,
    /// Numbers of its keys, sorted.
    pub keys: Vec<u32>,
    /// What this part showed at the last update, where the part remembers.
    pub shown: SlotSet,
}

impl Part {
    /// A part with no keys yet.
    #[must_use]
    pub fn new(shape: Shape, narrows: bool) -> Part {
        Part { shape, narrows, bands: Vec::new(), table: KeyTable::new() }
    }

    /// Whether what it showed last decides what it shows next.
    #[must_use]
    pub fn remembers(&self) -> bool {
        match self.shape {
            Shape::Grid { reach: Reach::Range(r, release), .. } => release > r,
            Shape::Grid { reach: Reach::Radius(r, release), .. } => release > r,
            Shape::Keys => false,
        }
    }

    /// Asks the keys of a slot's entity.
    pub fn rekey(&mut self, index: usize, slot: u32, lens: &dyn Lens, keys: &mut Keys, tick: Tick) {
        match self.shape {
            Shape::Keys => {
                keys.begin(limits::ENTITY_KEYS);
                lens.keys(index, slot, keys);
                if keys.refused() > 0 {
                    lens.notes().borrow_mut().entity_keys.push(slot);
                }
                self.table.set(slot, keys.as_slice(), tick);
            }
            Shape::Grid { axes, cell, prefix, .. } => match lens.place(index, slot) {
                Place::Nowhere => self.table.remove(slot, tick),
                Place::Everywhere => self.table.set(slot, &[Key::EVERYWHERE], tick),
                Place::At(point) if on_axes(point, axes).iter().all(|x| x.is_finite()) => {
                    let point = on_axes(point, axes);
                    let key = CellKey { prefix, cell: cell_of(point, cell) };
                    self.table.place(slot, key, point, tick);
                }
                Place::At(_) => {
                    lens.notes().borrow_mut().bad_positions.push(slot);
                    self.table.remove(slot, tick);
                }
            },
        }
    }

    /// Asks what a viewer subscribes to. Returns whether what it sees may differ for that alone.
    pub fn subscribe(
        &mut self,
        index: usize,
        viewer: u32,
        view: &mut PartView,
        lens: &dyn Lens,
        scratch: &mut SubscribeScratch,
    ) -> bool {
        match self.shape {
            Shape::Keys => {
                scratch.keys.begin(limits::SUBSCRIPTIONS - 1);
                lens.subscriptions(index, viewer, &mut scratch.keys);
                if scratch.keys.refused() > 0 {
                    lens.notes().borrow_mut().subscriptions.push(viewer);
                }
                scratch.numbers.clear();
                scratch.numbers.push(EVERYWHERE);
                for key in scratch.keys.as_slice() {
                    scratch.numbers.push(self.table.intern(key));
                }
                self.resubscribe(viewer, view, &mut scratch.numbers)
            }
            Shape::Grid { axes, cell, prefix, reach } => {
                let mut point = lens.around(index, viewer).map(|p| on_axes(p, axes));
                if point.is_some_and(|p| !p.iter().all(|x| x.is_finite())) {
                    lens.notes().borrow_mut().bad_arounds.push(viewer);
                    point = None;
                }
                if point == view.point && !view.keys.is_empty() {
                    return false;
                }
                view.point = point;
                let corners = point.map(|p| corners(p, axes, cell, reach));
                if corners.is_some() && corners == view.corners {
                    // The same cells; where distance counts, what is within it may differ.
                    return matches!(reach, Reach::Range(..)) || !self.bands.is_empty();
                }
                scratch.numbers.clear();
                scratch.numbers.push(EVERYWHERE);
                view.corners = None;
                if let (Some(point), Some(corners)) = (point, corners) {
                    if count(corners) < limits::SUBSCRIPTIONS as u64 {
                        view.corners = Some(corners);
                        each_cell(corners, |cell| {
                            scratch.numbers.push(self.table.intern(&CellKey { prefix, cell }.into()));
                        });
                    } else {
                        let cut = nearest_cells(point, corners, cell, reach, &mut scratch.cells);
                        if cut {
                            lens.notes().borrow_mut().subscriptions.push(viewer);
                        }
                        for (_, cell) in &scratch.cells {
                            scratch.numbers.push(self.table.intern(&CellKey { prefix, cell: *cell }.into()));
                        }
                    }
                }
                self.resubscribe(viewer, view, &mut scratch.numbers);
                true
            }
        }
    }

    fn resubscribe(&mut self, viewer: u32, view: &mut PartView, numbers: &mut Vec<u32>) -> bool {
        numbers.sort_unstable();
        numbers.dedup();
        let differs = *numbers != view.keys;
        if differs {
            self.table.subscribe(viewer, &mut view.keys, numbers);
        }
        differs
    }

    /// Ends a viewer's subscriptions.
    pub fn unsubscribe(&mut self, viewer: u32, view: &mut PartView) {
        self.table.subscribe(viewer, &mut view.keys, &[]);
    }

    /// Appends the slots that this part shows a viewer now, given what it showed at the last update. One with
    /// several keys in common may stand there several times.
    pub fn show(&self, view: &PartView, slots: &mut Vec<u32>) {
        let Shape::Grid { cell, axes, reach, .. } = self.shape else {
            for number in &view.keys {
                slots.extend_from_slice(&self.table.cell(*number).members);
            }
            return;
        };
        slots.extend_from_slice(&self.table.cell(EVERYWHERE).members);
        let Some(point) = view.point else { return };
        for number in &view.keys {
            let of = self.table.cell(*number);
            let Some(at) = of.at.filter(|_| !of.members.is_empty()) else { continue };
            let cut = match reach {
                Reach::Range(r, release) => Cut::of_range(point, at.cell, cell, axes, r, release),
                Reach::Radius(r, release) => Cut::of_radius(point, at.cell, cell, r, release),
            };
            show_cell(point, of, cut, view, slots);
        }
    }

    /// The squared distance between a viewer and a slot that this grid placed.
    #[must_use]
    pub fn distance2(&self, view: &PartView, slot: u32) -> Option<f64> {
        Some(distance2(view.point?, self.table.point_of(slot)?))
    }

    /// How often it sends a viewer an entity that it shows.
    #[must_use]
    pub fn pace(&self, view: &PartView, slot: u32) -> Pace {
        let Some((_, last)) = self.bands.last() else { return 0 };
        let Some(distance2) = self.distance2(view, slot) else { return 0 };
        self.bands.iter().find(|(most, _)| distance2 <= *most).map_or(*last, |(_, pace)| *pace)
    }

    /// Keys that a viewer and a slot have in common.
    #[must_use]
    pub fn common(&self, view: &PartView, slot: u32) -> Vec<u32> {
        self.table.keys_of(slot).filter(|number| view.keys.binary_search(number).is_ok()).collect()
    }
}

/// Appends what a viewer at `point` sees of a cell.
fn show_cell(point: [f64; 3], cell: &Cell, cut: Cut, view: &PartView, slots: &mut Vec<u32>) {
    match cut {
        Cut::Outside => {}
        Cut::Whole => slots.extend_from_slice(&cell.members),
        Cut::Remembered => slots.extend(cell.members.iter().filter(|slot| view.shown.contains(**slot))),
        Cut::Exact(r2, release2) if r2 == release2 => {
            // Which members are near is a coin's throw, so each is written, and counted without a branch.
            let mut end = slots.len();
            slots.resize(end + cell.members.len(), 0);
            for (slot, at) in cell.members.iter().zip(&cell.points) {
                slots[end] = *slot;
                end += usize::from(distance2(point, *at) <= r2);
            }
            slots.truncate(end);
        }
        Cut::Exact(r2, release2) => {
            for (slot, at) in cell.members.iter().zip(&cell.points) {
                let d2 = distance2(point, *at);
                if d2 <= r2 || (d2 <= release2 && view.shown.contains(*slot)) {
                    slots.push(*slot);
                }
            }
        }
    }
}

/// Buffers of [`Part::subscribe`].
#[derive(Debug, Default)]
pub struct SubscribeScratch {
    keys: Keys,
    numbers: Vec<u32>,
    cells: Vec<(f64, [i64; 3])>,
}

/// How a cell lies to what a viewer sees.
enum Cut {
    Outside,
    Whole,
    /// Only what was shown before.
    Remembered,
    /// Within the first squared distance, or within the second if it was shown before.
    Exact(f64, f64),
}

impl Cut {
    fn of_radius(point: [f64; 3], there: [i64; 3], cell: f64, r: u16, release: u16) -> Cut {
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
    fn of_range(point: [f64; 3], at: [i64; 3], cell: f64, axes: [bool; 3], r: f64, release: f64) -> Cut {
        if at.iter().any(|i| [i64::MIN, i64::MAX].contains(i)) {
            // So far out that the number of the cell says nothing of the place.
            return Cut::Exact(r * r, release * release);
        }
        let (mut near2, mut far2) = (0.0, 0.0);
        for i in (0..3).filter(|i| axes[*i]) {
            let low = at[i] as f64 * cell;
            let (a, b) = (low - point[i], point[i] - (low + cell));
            let slack = rounding(low.abs() + cell, point[i]);
            let near = (a.max(b) - slack).max(0.0);
            let far = (-a).max(-b) + slack;
            near2 += near * near;
            far2 += far * far;
        }
        const MARGIN: f64 = 1.0 + 1e-9;
        if near2 > release * release * MARGIN {
            Cut::Outside
        } else if far2 * MARGIN < r * r {
            Cut::Whole
        } else {
            Cut::Exact(r * r, release * release)
        }
    }
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

fn on_axes(point: [f64; 3], axes: [bool; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| if axes[i] { point[i] } else { 0.0 })
}

/// The cell of a point: floor(position / cell size) on each axis.
#[inline]
#[must_use]
pub fn cell_of(point: [f64; 3], cell: f64) -> [i64; 3] {
    point.map(|x| floor(x / cell))
}

/// Floor as an integer, saturated: without the call that `f64::floor` is on a plain x86-64.
#[inline]
fn floor(x: f64) -> i64 {
    let cut = x as i64;
    if cut as f64 > x { cut.saturating_sub(1) } else { cut }
}

/// The corners of the box of cells that a reach covers from a point.
fn corners(point: [f64; 3], axes: [bool; 3], cell: f64, reach: Reach) -> ([i64; 3], [i64; 3]) {
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

fn count((low, high): ([i64; 3], [i64; 3])) -> u64 {
    (0..3).map(|i| high[i].abs_diff(low[i]).saturating_add(1)).fold(1, u64::saturating_mul)
}

fn each_cell((low, high): ([i64; 3], [i64; 3]), mut f: impl FnMut([i64; 3])) {
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
fn nearest_cells(
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
        for i in 0..3 {
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

//! Interest: which entities have a key that a viewer subscribes to, and which of those a part shows.

use super::cells::{Cell, Circle, EVERYWHERE, Grid, KeyTable};
use super::grid::{Cut, corners, count, distance2, each_cell, nearest_cells, on_axes};
use super::keys::{CellKey, Keys};
pub use super::part_view::PartView;
use super::rates::Pace;
use super::seen::Looked;
use super::workers::Shared;
use crate::limits;
use crate::store::bits::{Bits, Ones};
use crate::store::records::Records;

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

impl Reach {
    /// What is shown of cells that the edge cuts.
    #[must_use]
    pub fn circle(self, cell: f64) -> Circle {
        let r = if let Reach::Range(r, _) = self { r } else { 0.0 };
        Circle::new(r, cell)
    }
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
pub trait Lens: Sync {
    /// Appends where part `part`, a grid, places the entity of each slot.
    fn place(&self, part: usize, slots: &[u32], places: &mut Vec<Place>);
    /// The keys that part `part`, not a grid, gives the entity of a slot.
    fn keys(&self, part: usize, slot: u32, keys: &mut Keys);
    /// Where a viewer stands in part `part`, a grid.
    fn around(&self, part: usize, viewer: u32) -> Option<[f64; 3]>;
    /// What a viewer subscribes to in part `part`, not a grid.
    fn subscriptions(&self, part: usize, viewer: u32, keys: &mut Keys);
    /// Appends whether the viewer sees the entity of each slot, of which part `part` says that it may.
    fn sees(&self, part: usize, viewer: u32, slots: &[u32], answers: &mut Vec<bool>);
    /// How important the entity of a slot is to a viewer; higher is kept.
    fn priority(&self, viewer: u32, slot: u32) -> f64;
    /// Appends how important the entity of each slot is to a viewer.
    fn priorities(&self, viewer: u32, slots: &[u32], answers: &mut Vec<f64>);
    /// Bookkeeping of what was refused.
    fn notes(&self) -> &Shared<Notes>;
}

impl dyn Lens + '_ {
    /// Whether the viewer sees the entity of a slot, of which part `part` says that it may.
    pub fn sees_one(&self, part: usize, viewer: u32, slot: u32) -> bool {
        let mut answers = Vec::new();
        self.sees(part, viewer, &[slot], &mut answers);
        answers == [true]
    }

    /// Takes note of what was refused.
    pub fn note(&self, note: impl FnOnce(&mut Notes)) {
        self.notes().with(note);
    }
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

impl Part {
    /// A part with no keys yet.
    #[must_use]
    pub fn new(shape: Shape, narrows: bool) -> Part {
        let grid = match shape {
            Shape::Grid { cell: edge, axes, prefix, reach } => {
                Some(Grid { edge, axes, prefix, ranges: matches!(reach, Reach::Range(..)) })
            }
            Shape::Keys => None,
        };
        Part { shape, narrows, bands: Vec::new(), table: KeyTable::new(grid) }
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

    /// Asks the keys of the entities of slots, and notes the records of those that changed.
    pub fn rekey(
        &mut self,
        index: usize,
        slots: &[u32],
        records: &Records,
        lens: &dyn Lens,
        scratch: &mut RekeyScratch,
    ) {
        if self.shape == Shape::Keys {
            for slot in slots {
                scratch.keys.begin(limits::ENTITY_KEYS);
                lens.keys(index, *slot, &mut scratch.keys);
                if scratch.keys.refused() > 0 {
                    lens.note(|notes| notes.entity_keys.push(*slot));
                }
                self.table.set(*slot, scratch.keys.as_slice());
                self.mark(*slot, records);
            }
            return;
        }
        scratch.places.clear();
        lens.place(index, slots, &mut scratch.places);
        self.table.place_all(slots, &scratch.places, records, |slot| {
            lens.note(|notes| notes.bad_positions.push(slot));
        });
    }

    /// Notes the record of a slot, if it changed.
    #[inline]
    pub fn mark(&mut self, slot: u32, records: &Records) {
        if let Some(record) = records.get(slot) {
            self.table.mark(slot, record);
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
                    lens.note(|notes| notes.subscriptions.push(viewer));
                }
                scratch.numbers.clear();
                scratch.numbers.push(EVERYWHERE);
                for key in scratch.keys.as_slice() {
                    scratch.numbers.push(self.table.intern(key));
                }
                scratch.numbers.sort_unstable();
                scratch.numbers.dedup();
                self.resubscribe(viewer, view, scratch)
            }
            Shape::Grid { axes, cell, prefix, reach } => {
                let mut point = lens.around(index, viewer).map(|p| on_axes(p, axes));
                if point.is_some_and(|p| !p.iter().all(|x| x.is_finite())) {
                    lens.note(|notes| notes.bad_arounds.push(viewer));
                    point = None;
                }
                if point == view.point && !view.keys.is_empty() {
                    return false;
                }
                view.point = point;
                let corners = point.map(|p| corners(p, axes, cell, reach));
                if corners.is_some() && corners == view.corners {
                    // The same cells; where distance counts, what is within it may differ.
                    let differs = matches!(reach, Reach::Range(..)) || !self.bands.is_empty();
                    view.moved |= differs;
                    return differs;
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
                            lens.note(|notes| notes.subscriptions.push(viewer));
                        }
                        for (_, cell) in &scratch.cells {
                            scratch.numbers.push(self.table.intern(&CellKey { prefix, cell: *cell }.into()));
                        }
                    }
                }
                self.resubscribe(viewer, view, scratch);
                view.moved = true;
                true
            }
        }
    }

    /// Gives a viewer these keys, which stand in the order of looking. Returns whether they differ from what it had.
    fn resubscribe(&mut self, viewer: u32, view: &mut PartView, scratch: &mut SubscribeScratch) -> bool {
        if scratch.numbers == view.order {
            return false;
        }
        scratch.sorted.clear();
        scratch.sorted.extend(scratch.numbers.iter().copied().zip(0..));
        scratch.sorted.sort_unstable();
        scratch.old.clear();
        std::mem::swap(&mut scratch.old, &mut view.keys);
        view.keys.extend(scratch.sorted.iter().map(|(number, _)| *number));
        self.table.subscribe(viewer, &scratch.old, &view.keys);
        view.places.clear();
        view.places.extend(scratch.sorted.iter().map(|(_, place)| *place));
        view.order.clear();
        view.order.extend_from_slice(&scratch.numbers);
        (view.moved, view.other_keys) = (true, true);
        true
    }

    /// Gives a viewer exactly these keys of a part without a grid.
    pub fn give(
        &mut self,
        viewer: u32,
        view: &mut PartView,
        numbers: &[u32],
        scratch: &mut SubscribeScratch,
    ) {
        scratch.numbers.clear();
        scratch.numbers.extend_from_slice(numbers);
        self.resubscribe(viewer, view, scratch);
    }

    /// Ends a viewer's subscriptions.
    pub fn unsubscribe(&mut self, viewer: u32, view: &PartView) {
        self.table.subscribe(viewer, &view.keys, &[]);
    }

    /// Appends the slots that this part shows a viewer now, given what it showed at the last update. One with
    /// several keys in common may stand there several times.
    pub fn show(&self, view: &PartView, slots: &mut Vec<u32>, looked: &mut Looked) {
        looked.cells += view.order.len() as u64;
        let Shape::Grid { cell, reach, .. } = self.shape else {
            for number in &view.order {
                slots.extend(self.table.cell(*number).members());
            }
            return;
        };
        slots.extend(self.table.cell(EVERYWHERE).members());
        let Some(point) = view.point else { return };
        let circle = reach.circle(cell);
        for number in &view.order {
            let of = self.table.cell(*number);
            if of.at().is_some() {
                let cut = self.cut(view, of);
                looked.distances += self.show_cell(point, of, cut, &circle, view, slots);
            }
        }
    }

    /// Brings up to date what of this part is within reach of a viewer that stands where it stood: looks only at members
    /// that came, went or moved, and adds these to a set.
    pub fn show_again(&self, view: &PartView, shown: &mut Bits, stirred: &mut Bits, looked: &mut Looked) {
        looked.cells += view.dirty.len() as u64;
        let dirty = || view.dirty.iter().map(|index| self.table.cell(view.order[*index as usize]));
        for of in dirty() {
            for (w, word) in of.words().iter().enumerate() {
                for slot in of.slots_of(w, word.gone) {
                    stirred.insert(slot);
                    // With several keys, one that lost one of them may have another in common.
                    if self.shape != Shape::Keys || self.common(view, slot).is_empty() {
                        shown.remove(slot);
                    }
                }
            }
        }
        let before = |slot: u32| view.shown.contains(slot);
        for of in dirty() {
            let cut = self.cut(view, of);
            for (w, word) in of.words().iter().enumerate() {
                let moved = word.moved & word.members;
                let near = match cut {
                    Cut::Outside | Cut::Remembered => 0,
                    Cut::Whole => moved,
                    Cut::Exact(r2, _) => {
                        looked.distances += u64::from(moved.count_ones());
                        self.table.near_of(of, w, moved, view.point.unwrap_or_default(), r2)
                    }
                };
                let between = match cut {
                    Cut::Remembered => moved,
                    Cut::Exact(r2, release2) if release2 > r2 => {
                        self.table.near_of(of, w, moved & !near, view.point.unwrap_or_default(), release2)
                    }
                    _ => 0,
                };
                for (slot, place) in of.slots_of(w, moved).zip(Ones(moved)) {
                    stirred.insert(slot);
                    if near >> place & 1 != 0 || (between >> place & 1 != 0 && before(slot)) {
                        shown.insert(slot);
                    } else {
                        shown.remove(slot);
                    }
                }
            }
        }
    }

    /// How a cell lies to what a viewer sees.
    pub(super) fn cut(&self, view: &PartView, of: &Cell) -> Cut {
        let Shape::Grid { cell, axes, reach, .. } = self.shape else { return Cut::Whole };
        match (view.point, of.at()) {
            (Some(point), Some(at)) => match reach {
                Reach::Range(r, release) => Cut::of_range(point, at, cell, axes, r, release),
                Reach::Radius(r, release) => Cut::of_radius(point, at, cell, r, release),
            },
            _ => Cut::Whole,
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
        let keys = self.table.places_of(slot).iter().map(|(number, _)| *number);
        keys.filter(|number| view.keys.binary_search(number).is_ok()).collect()
    }

    /// Whether this part showed a viewer a slot at the last update, of a viewer that sees by cells.
    #[must_use]
    pub fn showed(&self, view: &PartView, slot: u32) -> bool {
        let mut places = self.table.places_of(slot).iter();
        places.any(|(number, place)| {
            view.place_of(*number).is_some_and(|index| view.seen.has(index as usize, *place))
        })
    }

    /// Appends what a viewer at `point` sees of a cell; returns how many distances that took.
    fn show_cell(
        &self,
        point: [f64; 3],
        cell: &Cell,
        cut: Cut,
        circle: &Circle,
        view: &PartView,
        slots: &mut Vec<u32>,
    ) -> u64 {
        let mut distances = 0;
        let shown = |slot: &u32| view.shown.contains(*slot);
        match cut {
            Cut::Outside => {}
            Cut::Whole => slots.extend(cell.members()),
            Cut::Remembered => slots.extend(cell.members().filter(shown)),
            Cut::Exact(r2, release2) => {
                for (w, word) in cell.words().iter().enumerate() {
                    let (near, asked) = self.table.near(cell, w, point, circle);
                    distances += asked as u64;
                    slots.extend(cell.slots_of(w, near));
                    if release2 > r2 {
                        let others = word.members & !near;
                        let between = self.table.near_of(cell, w, others, point, release2);
                        distances += u64::from(others.count_ones());
                        slots.extend(cell.slots_of(w, between).filter(shown));
                    }
                }
            }
        }
        distances
    }
}

/// Buffers of [`Part::rekey`].
#[derive(Debug, Default)]
pub struct RekeyScratch {
    keys: Keys,
    places: Vec<Place>,
}

/// Buffers of [`Part::subscribe`].
#[derive(Debug, Default)]
pub struct SubscribeScratch {
    keys: Keys,
    numbers: Vec<u32>,
    sorted: Vec<(u32, u32)>,
    old: Vec<u32>,
    cells: Vec<(f64, [i64; 3])>,
}

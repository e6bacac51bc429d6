//! What a part shows a viewer, cell by cell: a few words of places, which are compared with those of the last update.

use super::cells::{Cell, Circle, EVERYWHERE, KeyTable, Offset, Word};
use super::grid::{Cut, Lies, Sides};
use super::interest::{Part, PartView, Reach, Shape};

/// What a part showed a viewer: for each of its cells, the places of the members that it shows.
#[derive(Debug, Default)]
pub struct Seen {
    cells: Vec<u32>,
    /// Where each cell's words end.
    ends: Vec<u32>,
    words: Vec<u64>,
}

/// A word of a cell, as a viewer looks at it.
#[derive(Clone, Copy, Debug, Default)]
struct Glance {
    /// The cell's number.
    cell: u32,
    /// Which of the viewer's words this is, and which of the cell's.
    index: u32,
    word: u32,
    lies: Lies,
    /// The viewer's offset from the cell's corner.
    offset: [f32; 3],
    /// What the cell has there.
    members: u64,
    changed: u64,
}

/// What a viewer found in a word of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// The cell's number.
    pub cell: u32,
    /// Which of the cell's words.
    pub word: u32,
    /// What it showed of it.
    pub old: u64,
    /// What it shows now.
    pub new: u64,
    /// Whose members changed.
    pub changed: u64,
}

/// Buffers of looking from one point.
#[derive(Debug, Default)]
pub struct Glances {
    sides: Sides,
    words: Vec<Glance>,
}

/// What looking took, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Cells whose members were looked at.
    pub cells: u64,
    /// Distances worked out.
    pub distances: u64,
}

impl Seen {
    fn clear(&mut self) {
        self.cells.clear();
        self.ends.clear();
        self.words.clear();
    }

    /// Becomes the same as another, in the memory it has.
    pub fn assign(&mut self, other: &Seen) {
        self.clear();
        self.cells.extend_from_slice(&other.cells);
        self.ends.extend_from_slice(&other.ends);
        self.words.extend_from_slice(&other.words);
    }

    #[inline]
    fn end(&mut self) {
        self.ends.push(self.words.len() as u32);
    }

    fn push_whole(&mut self, cell: &Cell) {
        self.words.extend(cell.words().iter().map(|word| word.members));
        self.end();
    }

    /// Takes the words of another of the same cells, which gets its own.
    pub fn swap_words(&mut self, other: &mut Seen) {
        std::mem::swap(&mut self.words, &mut other.words);
    }

    /// What each cell shows, with the cells and words of `self`, or with the words of another of the same cells.
    pub fn cells_with<'a>(&'a self, words: &'a Seen) -> impl Iterator<Item = (u32, &'a [u64])> + 'a {
        let at = |index: usize| index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let words = move |index: usize| &words.words[at(index)..self.ends[index] as usize];
        self.cells.iter().enumerate().map(move |(index, number)| (*number, words(index)))
    }

    /// The most members that it may hold.
    #[must_use]
    pub fn at_most(&self) -> usize {
        self.words.len() * 64
    }

    /// How many members it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Its cells, in order.
    #[must_use]
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[index] as usize
    }

    /// The words of the cell at `index`.
    #[inline]
    #[must_use]
    pub fn words(&self, index: usize) -> &[u64] {
        &self.words[self.range(index)]
    }

    /// Whether it holds a place of the cell at `index`.
    #[must_use]
    pub fn has(&self, index: usize, place: u32) -> bool {
        let word = self.words(index).get(place as usize / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 != 0)
    }

    /// What was found where `self` has the words that were looked at, and `old` those of the update before.
    pub fn found<'a>(&'a self, old: &'a Seen, glances: &'a Glances) -> impl Iterator<Item = Found> + 'a {
        glances.words.iter().map(|glance| {
            let Glance { cell, word, changed, .. } = *glance;
            let index = glance.index as usize;
            Found { cell, word, old: old.words[index], new: self.words[index], changed }
        })
    }

    /// Reads something of each line of a cache that a look reads.
    #[inline]
    pub fn warm(&self) -> usize {
        let ends = self.ends.iter().step_by(16).fold(0, |sum, end| sum ^ end);
        let words = self.words.iter().step_by(8).fold(0, |sum, word| sum ^ word);
        ends as usize ^ words as usize
    }

    /// Whether each cell has as many words as in another of the same cells.
    #[must_use]
    pub fn is_like(&self, other: &Seen) -> bool {
        self.ends == other.ends && self.cells == other.cells
    }
}

impl Glances {
    /// Gathers the words of cells with these numbers, in the order of the box whose sides are known; behind the
    /// everywhere key, which is whole. What is outside and showed nothing is left out. Returns false where a cell has
    /// other words than it had.
    ///
    /// Nothing but this reads the cells in one go: what of them is not in the caches is fetched all at once.
    fn gather(&mut self, table: &KeyTable, numbers: &[u32], old: &Seen) -> bool {
        let Glances { sides, words } = self;
        words.resize(old.words.len(), Glance::default());
        let (mut count, mut index, mut same) = (0, 0, numbers.len() == old.cells.len());
        let mut ends = numbers.iter().zip(&old.ends);
        let mut add = |lies: Lies, offset: [f32; 3]| {
            let Some((number, end)) = ends.next().filter(|_| same) else { return };
            let of = table.cell(*number).words();
            same = of.len() == *end as usize - index;
            for (word, marks) in of.iter().enumerate().take(*end as usize - index) {
                let Word { members, changed, .. } = *marks;
                let at = index as u32;
                words[count] =
                    Glance { cell: *number, index: at, word: word as u32, lies, offset, members, changed };
                // No branch depends on it.
                count += usize::from((lies != Lies::OUTSIDE) | (old.words[index] != 0));
                index += 1;
            }
        };
        add(Lies::WHOLE, [0.0; 3]);
        sides.each(add);
        words.truncate(count);
        same
    }
}

impl Part {
    /// What this part shows a viewer now. Of a part that [remembers](Part::remembers) or narrows it says too much.
    pub fn look(&self, view: &PartView, out: &mut Seen, looked: &mut Looked) {
        out.clear();
        out.cells.extend_from_slice(view.order());
        looked.cells += out.cells.len() as u64;
        let (Shape::Grid { cell, axes, reach: Reach::Range(r, _), .. }, Some(point)) =
            (self.shape, view.point())
        else {
            // Whole cells; a radius subscribes to no others.
            view.order().iter().for_each(|number| out.push_whole(self.table.cell(*number)));
            return;
        };
        out.push_whole(self.table.cell(EVERYWHERE));
        let circle = Circle::new(r, cell);
        let mut numbers = view.order()[1..].iter();
        let mut push = |number: u32, lies: Lies| {
            let of = self.table.cell(number);
            match lies {
                Lies::OUTSIDE => out.words.extend(of.words().iter().map(|_| 0)),
                Lies::WHOLE => out.words.extend(of.words().iter().map(|word| word.members)),
                _ => {
                    for w in 0..of.words().len() {
                        let (near, asked) = self.table.near(of, w, point, &circle);
                        looked.distances += asked as u64;
                        out.words.push(near);
                    }
                }
            }
            out.end();
        };
        let mut sides = Sides::default();
        match view.corners().filter(|corners| sides.set(point, *corners, axes, cell, r)) {
            Some(_) => sides.each(|lies, _| {
                numbers.next().into_iter().for_each(|number| push(*number, lies));
            }),
            None => numbers.for_each(|number| {
                let lies = match self.cut(view, self.table.cell(*number)) {
                    Cut::Outside => Lies::OUTSIDE,
                    Cut::Exact(..) => Lies::CUT,
                    Cut::Whole | Cut::Remembered => Lies::WHOLE,
                };
                push(*number, lies);
            }),
        }
    }

    /// Looks at all that this part shows a viewer whose keys are those of the last update, and puts the words alone into
    /// `out`: what there is to [find](Seen::found) is in `glances`. Returns false, with nothing done, where the keys are
    /// others or a cell has other words than it had: see [`look`](Part::look).
    #[must_use]
    pub fn look_from(
        &self,
        view: &PartView,
        out: &mut Seen,
        glances: &mut Glances,
        looked: &mut Looked,
    ) -> bool {
        let (Shape::Grid { cell, axes, reach: Reach::Range(r, _), .. }, Some(point), Some(corners)) =
            (self.shape, view.point(), view.corners())
        else {
            return false;
        };
        if view.has_other_keys()
            || !glances.sides.set(point, corners, axes, cell, r)
            || !glances.gather(&self.table, view.order(), &view.seen)
        {
            return false;
        }
        out.clear();
        out.words.resize(view.seen.words.len(), 0);
        let circle = Circle::new(r, cell);
        for glance in &glances.words {
            out.words[glance.index as usize] = match glance.lies {
                Lies::OUTSIDE => 0,
                Lies::WHOLE => glance.members,
                _ => {
                    let of = self.table.cell(glance.cell);
                    let exact = |word, members| self.table.near_of(of, word, members, point, circle.r2());
                    let (near, asked) = of.near(glance.word as usize, Offset(glance.offset), &circle, exact);
                    looked.distances += asked as u64;
                    near
                }
            };
        }
        looked.cells += view.order().len() as u64;
        true
    }

    /// Brings up to date what a viewer that stands where it stood sees of the cells that were touched: looks only at
    /// members that came, went or moved. Returns false where a cell has other words than it had.
    #[must_use]
    pub fn look_again(&self, view: &PartView, seen: &mut Seen, looked: &mut Looked) -> bool {
        looked.cells += view.dirty.len() as u64;
        for index in &view.dirty {
            let index = *index as usize;
            let (number, range) = (seen.cells[index], seen.range(index));
            let of = self.table.cell(number);
            if range.len() != of.words().len() {
                return false;
            }
            let cut = self.cut(view, of);
            for (w, (word, seen)) in of.words().iter().zip(&mut seen.words[range]).enumerate() {
                *seen = match cut {
                    Cut::Outside => 0,
                    Cut::Exact(r2, _) => {
                        let (point, moved) = (view.point().unwrap_or_default(), word.moved & word.members);
                        looked.distances += u64::from(moved.count_ones());
                        *seen & word.members & !moved | self.table.near_of(of, w, moved, point, r2)
                    }
                    Cut::Whole | Cut::Remembered => word.members,
                };
            }
        }
        true
    }
}

/// Calls `f` with each cell that stands in either of two sets, and its words before and after.
pub fn compare(old: &Seen, new: &Seen, pairs: &mut Pairs, mut f: impl FnMut(u32, &[u64], &[u64])) {
    if old.is_like(new) {
        let (mut start, mut index) = (0, 0);
        while index < new.cells.len() {
            let end = new.ends[index] as usize;
            f(new.cells[index], &old.words[start..end], &new.words[start..end]);
            (start, index) = (end, index + 1);
        }
        return;
    }
    let numbered = |seen: &Seen, out: &mut Vec<(u32, u32)>| {
        out.clear();
        out.extend(seen.cells.iter().zip(0..).map(|(number, index)| (*number, index)));
        out.sort_unstable();
    };
    numbered(old, &mut pairs.old);
    numbered(new, &mut pairs.new);
    let mut before = pairs.old.iter().peekable();
    for (number, index) in &pairs.new {
        while let Some((gone, at)) = before.next_if(|(other, _)| other < number) {
            f(*gone, old.words(*at as usize), &[]);
        }
        let at = before.next_if(|(other, _)| other == number);
        f(*number, at.map_or(&[], |(_, at)| old.words(*at as usize)), new.words(*index as usize));
    }
    before.for_each(|(gone, at)| f(*gone, old.words(*at as usize), &[]));
}

/// Buffers of [`compare`].
#[derive(Debug, Default)]
pub struct Pairs {
    old: Vec<(u32, u32)>,
    new: Vec<(u32, u32)>,
}

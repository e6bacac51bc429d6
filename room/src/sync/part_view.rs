//! What a viewer has of one part of an interest.

use super::grid::curve;
use super::seen::Seen;
use super::viewer::Asked;
use crate::store::bits::SlotSet;

/// What a viewer has of a part.
#[derive(Debug, Default)]
pub struct PartView {
    /// Where it stood at the last seal.
    pub(super) point: Option<[f64; 3]>,
    /// The cells it subscribed to, as corners, where it took a whole box of them.
    pub(super) corners: Option<([i64; 3], [i64; 3])>,
    /// Numbers of its keys: the everywhere key, then others in the order in which a grid's box has them.
    pub(super) order: Vec<u32>,
    /// The same, sorted.
    pub(super) keys: Vec<u32>,
    /// Where each of the sorted ones stands in `order`.
    pub(super) places: Vec<u32>,
    /// It stands elsewhere, or has other keys, than at the last update.
    pub moved: bool,
    /// It has other keys than at the last update.
    pub(super) other_keys: bool,
    /// Places in `order` of keys that were touched since the last update, where it has not moved.
    pub dirty: Vec<u32>,
    /// What the game answered at the last look, where it narrows the part.
    pub asked: Asked,
    /// What this part showed at the last update, where the part remembers.
    pub shown: SlotSet,
    /// What this part showed at the last update, where the viewer sees by cells.
    pub seen: Seen,
    /// What was within reach in the last seal, whatever the game said of it, of a viewer that stood still.
    pub stands: SlotSet,
    /// Whether that is known.
    pub known: bool,
}

impl PartView {
    /// Where it stands.
    #[must_use]
    pub fn point(&self) -> Option<[f64; 3]> {
        self.point
    }

    /// The box of cells that it subscribes to, if it is one.
    #[must_use]
    pub fn corners(&self) -> Option<([i64; 3], [i64; 3])> {
        self.corners
    }

    /// Whether it has other keys than at the last update.
    #[must_use]
    pub fn has_other_keys(&self) -> bool {
        self.other_keys
    }

    /// Numbers of its keys, in the order of looking.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// A number by which those that look at the same things stand near each other; none where it is not known.
    #[must_use]
    pub fn neighborhood(&self) -> Option<u64> {
        match self.corners {
            Some((low, _)) => Some(curve(low)),
            None => self.order.get(1).map(|number| u64::from(*number)),
        }
    }

    /// The place of a key in the order of looking.
    #[must_use]
    pub fn place_of(&self, number: u32) -> Option<u32> {
        self.keys.binary_search(&number).ok().map(|at| self.places[at])
    }

    /// Takes note of which of its keys were touched.
    pub fn find_dirty(&mut self, touched: &[bool]) {
        let places = self.order.iter().zip(0..).filter(|(key, _)| touched[**key as usize]);
        self.dirty.extend(places.map(|(_, place)| place));
    }

    /// Reads something of each line of a cache on which it stands.
    #[inline]
    pub fn warm(&self) -> usize {
        let flags = usize::from(self.moved) ^ usize::from(self.corners.is_some());
        flags ^ self.order.len() ^ self.dirty.len() ^ self.seen.at_most() ^ self.shown.words().len()
    }

    /// Reads something of each line of the lists that a look reads.
    #[inline]
    pub fn warm_lists(&self) -> usize {
        let order = self.order.iter().step_by(16).fold(0, |sum, number| sum ^ number);
        self.seen.warm() ^ order as usize
    }

    /// A new look at everything is not needed until something happens.
    pub fn settle(&mut self) {
        (self.moved, self.other_keys) = (false, false);
        self.dirty.clear();
    }
}

//! What the game answered for each pair, where it is asked at every send: while nothing else happens and all answers
//! are as they were, a view is as it was.

use super::{Sealed, Viewer};
use crate::sync::interest::Lens;

/// Whether a viewer sees each of some slots, as last answered.
#[derive(Debug, Default)]
pub struct Asked {
    pub(super) slots: Vec<u32>,
    pub(super) answers: Vec<bool>,
}

/// How important each of some slots is to a viewer, as last answered.
#[derive(Debug, Default)]
pub struct Ranked {
    slots: Vec<u32>,
    priorities: Vec<f64>,
}

impl Asked {
    /// Asks about the slots.
    pub(super) fn ask(&mut self, part: usize, viewer: u32, lens: &dyn Lens) {
        self.answers.clear();
        lens.sees(part, viewer, &self.slots, &mut self.answers);
    }
}

impl Ranked {
    /// Asks about these slots; returns how important each is.
    pub fn ask(&mut self, viewer: u32, slots: impl Iterator<Item = u32>, lens: &dyn Lens) -> &[f64] {
        self.slots.clear();
        self.slots.extend(slots);
        self.priorities.clear();
        lens.priorities(viewer, &self.slots, &mut self.priorities);
        &self.priorities
    }
}

/// Buffers of [`Viewer::answers_differ`].
#[derive(Debug, Default)]
pub(super) struct Answers {
    yes: Vec<bool>,
    priorities: Vec<f64>,
}

impl Viewer {
    /// Asks the game again about all that it was asked about at the last look; returns whether an answer is another.
    pub(super) fn answers_differ(&self, index: u32, sealed: &Sealed<'_>, scratch: &mut Answers) -> bool {
        let mut differ = false;
        for (number, (part, view)) in sealed.parts.iter().zip(&self.parts).enumerate().skip(1) {
            if part.narrows {
                scratch.yes.clear();
                sealed.lens.sees(number, index, &view.asked.slots, &mut scratch.yes);
                differ |= scratch.yes != view.asked.answers;
            }
        }
        if sealed.limit.most.is_some() && !sealed.limit.on_change {
            let Ranked { slots, priorities } = &self.ranked;
            scratch.priorities.clear();
            sealed.lens.priorities(index, slots, &mut scratch.priorities);
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
            differ |= !scratch.priorities.iter().zip(priorities).all(same);
        }
        differ
    }
}

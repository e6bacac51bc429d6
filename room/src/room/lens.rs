//! The game's interest as the sync core asks it. A panic in the game's code fails closed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::interest::{EntityRef, Place, RoomRef, Source, Visibility};
use super::{Connection, Game, Room};
use crate::sync::interest::{Lens, Notes};
use crate::sync::keys::Keys;
use crate::sync::workers::Shared;

/// A room, its game and its interest at one seal.
pub(crate) struct RoomLens<'a, G: Game> {
    game: &'a G,
    room: &'a Room<G>,
    interest: &'a Visibility<G>,
    pub(crate) notes: Shared<Notes>,
}

impl<'a, G: Game> RoomLens<'a, G> {
    pub(crate) fn new(game: &'a G, room: &'a Room<G>) -> Self {
        RoomLens { game, room, interest: &room.interest, notes: Shared::default() }
    }

    fn room(&self) -> RoomRef<'_, G> {
        RoomRef { game: self.game, room: self.room }
    }

    fn entity(&self, slot: u32) -> EntityRef<'_> {
        EntityRef { world: self.room.world(), slot }
    }

    /// The parts of the game's interest stand behind the library's own.
    fn source(&self, part: usize) -> &Source<G> {
        &self.interest.parts[part - 1].source
    }

    /// Runs the game's code; where it panics, the answer is the one that shows nothing.
    #[inline]
    fn closed<R>(&self, closed: R, ask: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| {
            self.notes.with(|notes| notes.panics += 1);
            closed
        })
    }

    /// Appends the game's answer for each slot; for one where it panics, the answer that shows nothing.
    #[inline]
    fn each_closed<R: Copy>(&self, slots: &[u32], answers: &mut Vec<R>, closed: R, ask: impl Fn(u32) -> R) {
        let start = answers.len();
        while let Some(rest) = slots.get(answers.len() - start..).filter(|rest| !rest.is_empty()) {
            let all = self.closed(false, || {
                answers.extend(rest.iter().map(|slot| ask(*slot)));
                true
            });
            if !all {
                // The others are asked on.
                answers.push(closed);
            }
        }
    }

    fn connection(&self, viewer: u32) -> Option<&Connection<G>> {
        self.room.at(viewer)
    }
}

impl<G: Game> Lens for RoomLens<'_, G> {
    fn place(&self, part: usize, slots: &[u32], places: &mut Vec<Place>) {
        let (source, start) = (self.source(part), places.len());
        while let Some(rest) = slots.get(places.len() - start..).filter(|rest| !rest.is_empty()) {
            let placed = self.closed(false, || {
                source.place(self.room.world(), rest, places);
                true
            });
            if !placed {
                // The one of which the game's code panicked has no place; the others are asked on.
                places.push(Place::Nowhere);
            }
        }
    }

    fn keys(&self, part: usize, slot: u32, keys: &mut Keys) {
        match self.source(part) {
            Source::Everything => keys.everywhere(),
            Source::Grid { .. } => {}
            Source::Keys(interest) => {
                let asked = self.closed(false, || {
                    interest.keys(self.room(), self.entity(slot), keys);
                    true
                });
                if !asked {
                    keys.close();
                }
            }
        }
    }

    fn around(&self, part: usize, viewer: u32) -> Option<[f64; 3]> {
        let conn = self.connection(viewer)?;
        self.closed(None, || self.source(part).around(self.room(), conn))
    }

    fn subscriptions(&self, part: usize, viewer: u32, keys: &mut Keys) {
        let (Source::Keys(interest), Some(conn)) = (self.source(part), self.connection(viewer)) else {
            return;
        };
        let asked = self.closed(false, || {
            interest.subscriptions(self.room(), conn, keys);
            true
        });
        if !asked {
            keys.close();
        }
    }

    fn sees(&self, part: usize, viewer: u32, slots: &[u32], answers: &mut Vec<bool>) {
        let (Some(sees), Some(conn)) = (&self.interest.parts[part - 1].sees, self.connection(viewer)) else {
            answers.extend(slots.iter().map(|_| true));
            return;
        };
        self.each_closed(slots, answers, false, |slot| sees(self.room(), conn, self.entity(slot)));
    }

    fn priority(&self, viewer: u32, slot: u32) -> f64 {
        let (Some((_, _, priority)), Some(conn)) = (&self.interest.limit, self.connection(viewer)) else {
            return f64::NAN;
        };
        self.closed(f64::NAN, || priority(self.room(), conn, self.entity(slot)))
    }

    fn priorities(&self, viewer: u32, slots: &[u32], answers: &mut Vec<f64>) {
        let (Some((_, _, priority)), Some(conn)) = (&self.interest.limit, self.connection(viewer)) else {
            answers.extend(slots.iter().map(|_| f64::NAN));
            return;
        };
        self.each_closed(slots, answers, f64::NAN, |slot| priority(self.room(), conn, self.entity(slot)));
    }

    fn notes(&self) -> &Shared<Notes> {
        &self.notes
    }
}

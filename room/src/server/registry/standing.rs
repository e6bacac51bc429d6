//! How a room stands that somebody comes for: by what runs, and by what the store says.

use std::sync::MutexGuard;

use super::archive::Sleeper;
use super::index::letters;
use super::{NoPlace, Registry, Rooms, TRIES, WayIn, no_letters, unix_seconds};
use crate::limits;
use crate::room::{Game, Label};

/// How a room stands of which the store was asked.
pub(super) enum Standing<'a, G: Game> {
    Runs(WayIn<G>),
    /// It does not, nor will it begin to while the rooms are locked.
    Not(MutexGuard<'a, Rooms<G>>, Stored),
}

/// What the store has of a room.
pub(super) struct Stored {
    pub(super) sleeper: Option<Sleeper>,
    /// A code that no room has, where this one has none.
    code: Option<String>,
}

impl Stored {
    /// The label with which the room begins; of a new one, of that kind.
    pub(super) fn label(self, kind: &str) -> Label {
        let fresh = || Label { kind: kind.to_owned(), created: unix_seconds(), ..Label::default() };
        let label = self.sleeper.map_or_else(fresh, |sleeper| sleeper.label);
        Label { code: self.code.unwrap_or_else(|| label.code.clone()), ..label }
    }
}

impl<G: Game> Registry<G> {
    /// How a room stands. The store is asked of one that does not run, and asked again where its answer may not hold.
    pub(super) async fn standing(&self, name: &str) -> Result<Standing<'_, G>, NoPlace> {
        for _ in 0..TRIES {
            let left = {
                let rooms = self.lock();
                if let Some(entry) = rooms.by_name.get(name) {
                    return Ok(Standing::Runs(entry.way_in()));
                }
                rooms.left
            };
            let sleeper = self.archive.find(name).await?;
            let code = match &sleeper {
                Some(sleeper) if !sleeper.label.code.is_empty() => None,
                _ => Some(self.fresh_code().await?),
            };
            let rooms = self.lock();
            if let Some(entry) = rooms.by_name.get(name) {
                return Ok(Standing::Runs(entry.way_in()));
            }
            let taken = code.as_ref().is_some_and(|code| rooms.index.by_code(code).is_some());
            if rooms.left == left && !taken {
                return Ok(Standing::Not(rooms, Stored { sleeper, code }));
            }
        }
        Err(NoPlace::NoAnswer)
    }

    /// A code that no room has, whether it runs or not.
    async fn fresh_code(&self) -> Result<String, NoPlace> {
        loop {
            let code = letters(limits::CODE).map_err(no_letters)?;
            let runs = self.lock().index.by_code(&code).is_some();
            if !runs && self.archive.by_code(&code).await?.is_none() {
                return Ok(code);
            }
        }
    }
}

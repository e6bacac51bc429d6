//! A room comes to rest: what it has not kept yet is kept.

use super::keeper::Kept;
use super::{Keeper, RoomTask};
use crate::room::Game;
use crate::storage::{State, StoreError};

/// Why a room's loop ended.
pub(super) enum Outcome {
    Stopped,
    Unwanted,
    Failed(String),
    /// The store does not take what the room has to keep.
    NotKept(String),
    /// Another owner has taken the room, which is not to be taken back from it.
    Lost(String),
}

impl Outcome {
    /// What becomes of a room whose commit was refused for good.
    pub(super) fn refused(error: StoreError) -> Outcome {
        let fenced = matches!(error, StoreError::Fenced { .. });
        let message = error.to_string();
        if fenced { Outcome::Lost(message) } else { Outcome::NotKept(message) }
    }
}

impl<G: Game> RoomTask<G> {
    /// What becomes of the room that nobody is in.
    pub(super) fn ending(&self) -> State {
        let room = self.runtime.room();
        // Nothing is kept of one that nobody ever was in.
        if room.label().discard || !room.was_joined() { State::Gone } else { State::Asleep }
    }

    /// Keeps all that the room has, and what it is from now on. A room without a store has nothing to keep.
    pub(super) async fn rest(&mut self, state: State) -> Result<(), Outcome> {
        if self.keeper.is_none() {
            return Ok(());
        }
        // First what is on its way already.
        self.commits_kept().await?;
        let rested = self.guarded(|task| {
            task.runtime.rest(state);
            task.drain();
        });
        rested.map_err(Outcome::Failed)?;
        self.commits_kept().await
    }

    /// Says in the log of a room that it failed, so that its next run is careful.
    pub(super) async fn note_failure(&mut self) {
        if self.commits_kept().await.is_err() {
            return;
        }
        if let (Some(keeper), Some(commit)) = (&mut self.keeper, self.runtime.failure()) {
            keeper.give(commit);
            // Without it the next run is less careful.
            let _ = settled(keeper).await;
        }
    }

    /// Waits until the commit on its way is kept.
    async fn commits_kept(&mut self) -> Result<(), Outcome> {
        while self.runtime.awaits_commit() {
            let Some(keeper) = &mut self.keeper else { return Ok(()) };
            settled(keeper).await?;
            self.publish();
            self.runtime.handle_committed();
            self.drain();
        }
        Ok(())
    }
}

/// Waits for the commit on its way.
async fn settled(keeper: &mut Keeper) -> Result<(), Outcome> {
    loop {
        match keeper.next().await {
            Kept::Yes => return Ok(()),
            Kept::NotYet(..) => {}
            Kept::No(error) => return Err(Outcome::refused(error)),
        }
    }
}

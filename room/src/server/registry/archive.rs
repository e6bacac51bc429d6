//! The store, asked about rooms that do not run: on threads where waiting disturbs nobody, a few questions at a time,
//! and none for ever.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::NoPlace;
use crate::limits;
use crate::room::Label;
use crate::storage::{Store, StoreError, StoredRoom};

/// Answers questions about stored rooms, of which nothing is kept in memory. Without a store there are none.
pub(super) struct Archive {
    store: Option<Arc<dyn Store>>,
    // Held by each question until it is answered, though nobody may wait for it any more: a store that hangs gets no
    // more threads than these.
    turns: Arc<Semaphore>,
}

/// What a stored room was when it was last committed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sleeper {
    pub(super) awake: bool,
    /// Its code is empty where another room has got it.
    pub(super) label: Label,
}

impl From<StoredRoom> for Sleeper {
    fn from(room: StoredRoom) -> Sleeper {
        let code = room.label.code;
        // What a room is called is in its log as well.
        let label = Label::decode(&room.label.bytes).unwrap_or_default();
        Sleeper { awake: room.awake, label: Label { code, ..label } }
    }
}

impl Archive {
    pub(super) fn new(store: Option<Arc<dyn Store>>) -> Archive {
        Archive { store, turns: Arc::new(Semaphore::new(limits::STORE_QUESTIONS)) }
    }

    /// The stored room of a name.
    pub(super) async fn find(&self, name: &str) -> Result<Option<Sleeper>, NoPlace> {
        let name = name.to_owned();
        let found = self.ask(move |store| store.find(&name)).await?;
        Ok(found.map(Sleeper::from))
    }

    /// The name of the stored room that has a code.
    pub(super) async fn by_code(&self, code: &str) -> Result<Option<String>, NoPlace> {
        let code = code.to_owned();
        self.ask(move |store| store.by_code(&code)).await
    }

    async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Store) -> Result<Option<R>, StoreError> + Send + 'static,
    ) -> Result<Option<R>, NoPlace> {
        let Some(store) = self.store.clone() else { return Ok(None) };
        let turns = self.turns.clone();
        let answer = async {
            let turn = turns.acquire_owned().await.map_err(|_| StoreError::Closed)?;
            let asked = tokio::task::spawn_blocking(move || {
                let answer = question(&*store);
                drop(turn);
                answer
            });
            asked.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        };
        let limit = Duration::from_secs(limits::STORE_QUESTION_SECONDS);
        let silent = |_| Err(StoreError::Unavailable("a question has no answer".to_owned()));
        timeout(limit, answer).await.unwrap_or_else(silent).map_err(|error| {
            tracing::warn!(kind = "store_failed", "the store does not say what it has: {error}");
            NoPlace::NoAnswer
        })
    }
}

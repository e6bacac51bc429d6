//! A room's commits on their way to the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::super::stats::Times;
use crate::limits;
use crate::room::Label;
use crate::storage::{Commit, Store, StoreError};

/// Gives a room's commits to its store, one at a time, and tries those again that it refuses for now.
pub(super) struct Keeper {
    store: Arc<dyn Store>,
    under_way: Option<UnderWay>,
    /// The label that the store has, where it was given one.
    pub(super) label: Option<Label>,
    /// The same, until somebody is told of it.
    pub(super) news: Option<Label>,
    /// How long the last commits took.
    pub(super) waits: Times,
}

struct UnderWay {
    commit: Arc<Commit>,
    begun: Instant,
    answer: Answer,
    /// Whether the log was told that the store refuses.
    told: bool,
}

enum Answer {
    Awaited(oneshot::Receiver<Result<(), StoreError>>),
    /// It is tried again then.
    Refused(tokio::time::Instant),
}

/// What became of a commit.
pub(super) enum Kept {
    Yes,
    /// The store refuses for now; it is tried again. Whether that is news.
    NotYet(StoreError, bool),
    No(StoreError),
}

impl Keeper {
    pub(super) fn new(store: Arc<dyn Store>) -> Keeper {
        Keeper { store, under_way: None, label: None, news: None, waits: Times::default() }
    }

    pub(super) fn give(&mut self, commit: Arc<Commit>) {
        let answer = self.send(&commit);
        self.under_way = Some(UnderWay { commit, begun: Instant::now(), answer, told: false });
    }

    fn send(&self, commit: &Arc<Commit>) -> Answer {
        let (done, answer) = oneshot::channel();
        // The room may have ended when the answer comes.
        self.store.commit(commit.clone(), Box::new(move |result| drop(done.send(result))));
        Answer::Awaited(answer)
    }

    /// Waits until something becomes of the commit on its way; for ever where none is.
    pub(super) async fn next(&mut self) -> Kept {
        let Some(UnderWay { commit, answer, begun, .. }) = &mut self.under_way else {
            return std::future::pending().await;
        };
        let given = match answer {
            Answer::Refused(at) => {
                tokio::time::sleep_until(*at).await;
                let commit = commit.clone();
                let answer = self.send(&commit);
                if let Some(under_way) = &mut self.under_way {
                    under_way.answer = answer;
                }
                return Box::pin(self.next()).await;
            }
            Answer::Awaited(answer) => {
                let until = tokio::time::Instant::from_std(*begun) + PATIENCE;
                match tokio::time::timeout_at(until, answer).await {
                    // A store that ends without an answer has ended for good.
                    Ok(answer) => answer.unwrap_or(Err(StoreError::Closed)),
                    // Should it be kept after all, the room's next run finds it in the log, or has fenced it.
                    Err(_) => {
                        self.under_way = None;
                        return Kept::No(StoreError::Unavailable("a commit has no answer".to_owned()));
                    }
                }
            }
        };
        let waited = begun.elapsed();
        match given {
            Ok(()) => {
                let label = commit.label.as_ref().and_then(|label| Label::decode(&label.bytes).ok());
                if label.is_some() {
                    (self.label, self.news) = (label.clone(), label);
                }
                self.under_way = None;
                self.waits.push(waited);
                Kept::Yes
            }
            Err(error) if error.is_final() || waited >= PATIENCE => {
                self.under_way = None;
                Kept::No(error)
            }
            Err(error) => {
                let again = tokio::time::Instant::now() + Duration::from_millis(limits::STORE_RETRY_MS);
                let Some(under_way) = &mut self.under_way else { return Kept::No(error) };
                under_way.answer = Answer::Refused(again);
                Kept::NotYet(error, !std::mem::replace(&mut under_way.told, true))
            }
        }
    }
}

/// How long a room waits for its store.
const PATIENCE: Duration = Duration::from_secs(limits::STORE_SECONDS);

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::storage::{Done, State, StoredRoom, Taken};

    /// Takes commits and never answers.
    #[derive(Default)]
    struct Silent(Mutex<Vec<Done>>);

    impl Store for Silent {
        fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
            Ok(Vec::new())
        }
        fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
            Ok(Vec::new())
        }
        fn find(&self, _: &str) -> Result<Option<StoredRoom>, StoreError> {
            Ok(None)
        }
        fn by_code(&self, _: &str) -> Result<Option<String>, StoreError> {
            Ok(None)
        }
        fn take(&self, _: &str) -> Result<Taken, StoreError> {
            Err(StoreError::Closed)
        }
        fn commit(&self, _: Arc<Commit>, done: Done) {
            self.0.lock().expect("nothing panics").push(done);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_not_waited_for_for_ever() {
        let mut keeper = Keeper::new(Arc::new(Silent::default()));
        let (room, state) = ("a".into(), State::Awake);
        let commit = Commit { room, epoch: 1, first: 1, rows: vec![vec![1]], forget: 0, state, label: None };
        keeper.give(Arc::new(commit));
        let hour = Duration::from_secs(3600);
        let kept = tokio::time::timeout(hour, keeper.next()).await.expect("it gives up");
        assert!(matches!(kept, Kept::No(StoreError::Unavailable(_))));
    }
}

//! What a room has done outside: mail, effects, and work that waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet};

use crate::limits;
use crate::room::Game;
use crate::runtime::{Answer, Effect, Outside, Payload, WorkFailed};
use crate::server::registry::{Place, Registry};
use crate::server::room_task::Command;

/// The tasks of one run of a room. They end with it: what is not done then, a later run asks for again, if it was
/// an effect.
pub(super) struct Errands {
    tasks: JoinSet<Done>,
    /// What each task is for, in case that it panics.
    names: HashMap<Id, For>,
    mail: Option<mpsc::Sender<(String, Payload)>>,
}

/// What came of a task.
pub(super) enum Done {
    /// An effect was performed.
    Performed(u64),
    Answer(String, Answer),
    Nothing,
}

enum For {
    Effect(u64, Effect),
    Work(String),
    Mail,
}

impl Errands {
    pub(super) fn new() -> Errands {
        Errands { tasks: JoinSet::new(), names: HashMap::new(), mail: None }
    }

    /// Sees to something.
    pub(super) fn run<G: Game>(&mut self, outside: Outside, place: &Place<G>) {
        match outside {
            Outside::Mail { to, message } => self.post(to, message, place),
            Outside::Effect { number, key, payload } => {
                self.perform::<G>(number, Effect { key, payload: Payload::new(payload) }, Duration::ZERO);
            }
            Outside::Work { name, work } => {
                let (work, called) = (work.into_inner(), name.clone());
                let task = self.tasks.spawn(async move { Done::Answer(called, work.await) });
                self.names.insert(task.id(), For::Work(name));
            }
        }
    }

    /// Performs an effect until it succeeds, for the first time after `wait`.
    fn perform<G: Game>(&mut self, number: u64, effect: Effect, wait: Duration) {
        let again = effect.clone();
        let task = self.tasks.spawn(async move {
            tokio::time::sleep(wait).await;
            let mut gap = FIRST_GAP;
            while let Err(error) = G::perform(effect.clone()).await {
                tracing::warn!(kind = "effect_failed", key = &*effect.key, "an effect failed: {error}");
                tokio::time::sleep(gap).await;
                gap = (2 * gap).min(LONGEST_GAP);
            }
            Done::Performed(number)
        });
        self.names.insert(task.id(), For::Effect(number, again));
    }

    /// Sends a message to another room, behind those before it.
    fn post<G: Game>(&mut self, to: String, message: Payload, place: &Place<G>) {
        let mail = match &self.mail {
            Some(mail) => mail,
            None => {
                let (mail, letters) = mpsc::channel(limits::ROOM_QUEUE);
                let (registry, from, stop) = (place.registry.clone(), place.name.clone(), place.stop.clone());
                let carried = carry(registry, (from, stop), letters);
                let task = self.tasks.spawn(carried);
                self.names.insert(task.id(), For::Mail);
                self.mail.insert(mail)
            }
        };
        if let Err(error) = mail.try_send((to, message)) {
            let (to, _) = error.into_inner();
            tracing::warn!(
                kind = "mail_lost",
                room = place.name,
                to,
                "too many messages to rooms wait; one is lost"
            );
        }
    }

    /// Whether something is not done yet.
    pub(super) fn is_busy(&self) -> bool {
        let carrying = |mail: &mpsc::Sender<_>| mail.capacity() < mail.max_capacity();
        let asked = self.names.values().any(|name| !matches!(name, For::Mail));
        asked || self.mail.as_ref().is_some_and(carrying)
    }

    /// Waits until a task has come to its end; for ever where there is none.
    pub(super) async fn next<G: Game>(&mut self) -> Done {
        let Some(ended) = self.tasks.join_next_with_id().await else { return std::future::pending().await };
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let name = self.names.remove(&id);
        match (ended, name) {
            (Ok((_, done)), _) => done,
            (Err(_), Some(For::Effect(number, effect))) => {
                tracing::error!(
                    kind = "hook_panicked",
                    hook = "perform",
                    key = &*effect.key,
                    "perform panicked"
                );
                self.perform::<G>(number, effect, LONGEST_GAP);
                Done::Nothing
            }
            (Err(_), Some(For::Work(name))) => Done::Answer(name, Err(WorkFailed("it panicked".to_owned()))),
            (Err(_), Some(For::Mail) | None) => {
                self.mail = None;
                Done::Nothing
            }
        }
    }
}

/// Carries messages to rooms, in order.
async fn carry<G: Game>(
    registry: Arc<Registry<G>>,
    (from, stop): (String, watch::Receiver<bool>),
    mut letters: mpsc::Receiver<(String, Payload)>,
) -> Done {
    while let Some((to, message)) = letters.recv().await {
        let commands = match registry.reach(&to, &stop).await {
            Ok(Some(commands)) => commands,
            Ok(None) => {
                tracing::info!(kind = "mail_lost", room = from, to, "a message to a room that there is not");
                continue;
            }
            Err(error) => {
                tracing::warn!(kind = "mail_lost", room = from, to, "a room cannot be woken: {error:?}");
                continue;
            }
        };
        // A room that ends just now gets nothing: at most once.
        let _ = commands.send(Command::Mail { from: from.clone(), message }).await;
    }
    Done::Nothing
}

/// Until an effect is tried for the second time.
const FIRST_GAP: Duration = Duration::from_millis(limits::EFFECT_GAP_MS);
/// The longest time between two tries.
const LONGEST_GAP: Duration = Duration::from_millis(limits::EFFECT_GAP_MOST_MS);

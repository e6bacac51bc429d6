//! A room begins: its game is made, and its log read where it has one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::JoinError;

use super::away::turn_away;
use super::{Desk, panic_message};
use crate::limits;
use crate::room::Game;
use crate::runtime::{Origin, Runtime, Site, WakeError};
use crate::server::registry::Make;
use crate::session::code;
use crate::storage::{Store, StoreError, Taken};

/// A room that did not begin.
pub(super) enum Failed {
    /// It may another time.
    ForNow(String),
    /// Nothing is gained by trying again. The code with which who comes is sent away.
    ForGood(u16, String),
}

/// Makes the game and its runtime on a thread where taking long disturbs nobody.
pub(super) async fn begin<G: Game>(
    desk: &mut Desk<G>,
    site: Site,
    make: Make<G>,
) -> Result<Runtime<G>, Failed> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Failed::ForNow(format!("no random seed: {error}")))?;
    let taken = match desk.place.registry.store.clone() {
        Some(store) => Some(take(desk, store).await?),
        None => None,
    };
    let place = &desk.place;
    let (name, settings) = (place.name.clone(), place.registry.settings.clone());
    let (threads, stored) = (place.registry.threads.clone(), taken.is_some());
    let made = tokio::task::spawn_blocking(move || {
        let mut runtime = match taken {
            None => {
                let mut runtime = Runtime::at(site, make(&name), settings, seed)
                    .map_err(|error| Failed::ForGood(code::FAILED, error.to_string()))?;
                runtime.handle_time(unix_seconds());
                runtime
            }
            Some(taken) => {
                let fresh = taken.rows.is_empty();
                let origin = Origin { site, taken, unix: unix_seconds() };
                let open = || Runtime::open(make(&name), settings, seed, origin).map_err(of_wake);
                // What is stored is worth another try; a room that there never was is not.
                let failed = |message| if fresh { in_the_game(message) } else { Failed::ForNow(message) };
                let opened = catch_unwind(AssertUnwindSafe(open));
                let runtime = opened.map_err(|panic| failed(panic_message(&*panic)))??;
                let kind = if fresh { "created" } else { "woken" };
                tracing::info!(kind, room = name, sessions = runtime.sessions(), "room {kind}");
                runtime
            }
        };
        if let Some(threads) = threads {
            runtime.set_workers(Box::new(threads));
        }
        Ok(runtime)
    });
    let runtime = match made.await {
        Ok(made) => made?,
        Err(error) => {
            return Err(in_the_game(match error.try_into_panic() {
                Ok(panic) => panic_message(&*panic),
                Err(error) => error.to_string(),
            }));
        }
    };
    if !stored {
        tracing::info!(kind = "created", room = place.name, "room created");
    }
    Ok(runtime)
}

/// Has the store give the room. Should that take longer than anybody waits, who comes is to come again, and the room
/// waits on.
async fn take<G: Game>(desk: &mut Desk<G>, store: Arc<dyn Store>) -> Result<Taken, Failed> {
    let name = desk.place.name.clone();
    let mut taking = tokio::task::spawn_blocking(move || store.take(&name));
    let mut told = false;
    loop {
        tokio::select! {
            biased;
            taken = &mut taking => {
                let failed = |error: JoinError| Failed::ForNow(format!("the store failed: {error}"));
                return taken.map_err(failed)?.map_err(of_store);
            }
            () = tokio::time::sleep(PATIENCE) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::error!(kind = "store_failed", room = desk.place.name, "the store does not give the room");
                }
                while let Ok(command) = desk.commands.try_recv() {
                    turn_away(command, code::BUSY, "the room is not loaded yet; try again");
                }
            }
        }
    }
}

/// How long who comes waits for the store to give the room.
const PATIENCE: Duration = Duration::from_secs(limits::STORE_TAKE_SECONDS);

/// The game failed before there was a room.
fn in_the_game(message: String) -> Failed {
    Failed::ForGood(code::FAILED, message)
}

fn of_store(error: StoreError) -> Failed {
    let message = error.to_string();
    // One that is closed is closed by a server that stops.
    let for_now = !error.is_final() || error == StoreError::Closed;
    if for_now { Failed::ForNow(message) } else { Failed::ForGood(code::NOT_LOADED, message) }
}

fn of_wake(error: WakeError) -> Failed {
    Failed::ForGood(code::NOT_LOADED, error.to_string())
}

/// The time, in seconds since 1970; 0 where the clock stands before that.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

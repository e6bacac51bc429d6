//! What a page keeps of its session, for when it is loaded again.

use std::cell::Cell;

use room::SessionId;
use web_sys::Storage;

use super::super::client::Client;
use super::{Now, window};
use crate::machine::Checkpoint;

/// A hidden page that hears much writes it down at most so often.
const GAP_MS: f64 = 1000.0;

/// The page's place in `sessionStorage`: it outlives a reload, is the page's own, and goes with its tab. A tab that is
/// duplicated takes a copy along.
pub(super) struct Memory {
    storage: Storage,
    key: String,
    // Of what was written last.
    state: Cell<State>,
    at: Cell<Now>,
}

/// What a checkpoint would differ by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct State {
    session: Option<SessionId>,
    epoch: u32,
    // Both are looked at in a hidden page alone.
    heard: u64,
    unacknowledged: usize,
}

impl Memory {
    /// Where a client of this URL is kept. None where the browser keeps nothing, as some do in private windows.
    pub(super) fn new(url: &str) -> Option<Memory> {
        let storage = window()?.session_storage().ok().flatten()?;
        let (state, at) = (Cell::default(), Cell::new(f64::NEG_INFINITY));
        Some(Memory { storage, key: format!("room {url}"), state, at })
    }

    /// What the page before this one wrote.
    pub(super) fn load(&self) -> Option<Checkpoint> {
        let text = self.storage.get_item(&self.key).ok().flatten()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes down what continues the session, where that is due: with each welcome, for it brings a token; in a hidden
    /// page once something has come; and where the page may be gone in a moment.
    pub(super) fn keep(&self, client: &mut Client, now: Now, last_chance: bool) {
        let mut state = State { session: client.session(), epoch: client.epoch(), ..State::default() };
        if client.is_hidden() {
            state.heard = client.stats().messages_received;
            state.unacknowledged = client.unacknowledged();
        }
        let before = self.state.get();
        let other = (state.session, state.epoch) != (before.session, before.epoch);
        let more = client.is_hidden() && state != before && now - self.at.get() >= GAP_MS;
        if !(last_chance || other || more) {
            return;
        }
        self.state.set(state);
        self.at.set(now);
        self.write(client);
    }

    fn write(&self, client: &mut Client) {
        let written = match client.checkpoint() {
            Some(checkpoint) => serde_json::to_string(&checkpoint)
                .is_ok_and(|text| self.storage.set_item(&self.key, &text).is_ok()),
            None => self.storage.remove_item(&self.key).is_ok(),
        };
        if !written {
            // What the room sent meanwhile is not safe here, so the room keeps it.
            client.machine.checkpoint_failed();
        }
    }
}

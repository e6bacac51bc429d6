//! Rooms with a store, in tests: killed, and woken again.

use room::Game;
use room::runtime::{Origin, Runtime, Settings, Site};
use room::storage::{MemoryStore, Store};

use super::TestRoom;
use crate::event::Status;

/// What a room is woken with.
pub(super) struct Kept<G: Game> {
    make: Box<dyn Fn() -> G>,
    settings: Settings,
    store: MemoryStore,
    runs: u64,
}

/// When the world outside begins.
pub(super) const UNIX: u64 = 1_800_000_000;

/// The name of every room in tests.
const NAME: &str = "test";

impl<G: Game> Kept<G> {
    /// Takes the room, and begins it or goes on with it.
    fn open(&mut self, unix: u64) -> Runtime<G> {
        self.runs += 1;
        let taken = self.store.take(NAME).unwrap_or_else(|error| panic!("{error}"));
        let site = Site { name: NAME.to_owned(), ..Site::default() };
        let origin = Origin { site, taken, unix };
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.runs.to_le_bytes());
        let runtime = Runtime::open((self.make)(), self.settings.clone(), seed, origin);
        runtime.unwrap_or_else(|error| panic!("{error}"))
    }
}

impl<G: Game> TestRoom<G> {
    /// A room with a store, which [`kill_and_wake`](TestRoom::kill_and_wake) wakes again with another value of the
    /// game.
    ///
    /// # Panics
    /// If the schema has a fault.
    #[must_use]
    pub fn durable(make: impl Fn() -> G + 'static) -> TestRoom<G> {
        TestRoom::durable_with(make, Settings::default())
    }

    /// As [`durable`](TestRoom::durable), with settings of the test's own.
    ///
    /// # Panics
    /// If the schema has a fault or a setting is outside its range.
    #[must_use]
    pub fn durable_with(make: impl Fn() -> G + 'static, settings: Settings) -> TestRoom<G> {
        let mut kept = Kept { make: Box::new(make), settings, store: MemoryStore::new(), runs: 0 };
        let runtime = kept.open(UNIX);
        TestRoom::around(runtime, Some(kept))
    }

    /// Ends the room as a killed process does, between two ticks and without a word to anybody, and wakes it from its
    /// store. Clients that were connected come back, and as much time passes as that takes.
    ///
    /// # Panics
    /// If the room has no store, or cannot be woken.
    pub fn kill_and_wake(&mut self) {
        let kept = self.store.as_mut().expect("a room that can be woken is made with `TestRoom::durable`");
        self.runtime = kept.open(self.unix);
        // What it did not live to have done; of effects the woken room knows by itself.
        self.asked = super::outside::Asked::default();
        let mut away = Vec::new();
        for link in &mut self.clients {
            if link.conn.take().is_some() {
                link.client.machine.borrow_mut().handle_close(self.now, None, "the room was killed");
                away.push(link.client.clone());
            }
        }
        self.deliver();
        for _ in 0..super::RESUME_TICKS {
            if !away.iter().any(|client| client.status() == Status::Reconnecting) {
                return;
            }
            self.advance(1);
        }
    }

    /// Ends the room as one that failed: to be called after a hook panicked and the panic was caught. The room's next
    /// run is careful with the events that it is sent.
    ///
    /// # Panics
    /// If the room has no store, or cannot be woken; or as the hooks of the woken room do.
    pub fn fail_and_wake(&mut self) {
        self.commit();
        if let (Some(kept), Some(commit)) = (&self.store, self.runtime.failure()) {
            kept.store.keep(&commit).unwrap_or_else(|error| panic!("{error}"));
        }
        self.kill_and_wake();
    }

    /// The store of a room that has one.
    #[must_use]
    pub fn store(&self) -> Option<&MemoryStore> {
        self.store.as_ref().map(|kept| &kept.store)
    }

    /// Keeps what the room commits; says whether there was something.
    pub(super) fn commit(&mut self) -> bool {
        let Some(kept) = &self.store else { return false };
        let Some(commit) = self.runtime.poll_commit() else { return false };
        kept.store.keep(&commit).unwrap_or_else(|error| panic!("{error}"));
        self.runtime.handle_committed();
        true
    }
}

//! The rooms of a server by name.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, mpsc, watch};

use super::Threads;
use super::room_task::{self, Command};
use crate::limits;
use crate::room::Game;
use crate::runtime::Settings;
use crate::storage::{Store, StoredRoom};

/// How a game is made for a room's name.
pub(super) type Make<G> = Arc<dyn Fn(&str) -> G + Send + Sync>;

/// Finds rooms, and starts the task of one that is not there yet.
pub(super) struct Registry<G: Game> {
    make: Make<G>,
    pub(super) settings: Settings,
    pub(super) threads: Option<Threads>,
    pub(super) sleep: std::time::Duration,
    max_rooms: usize,
    pub(super) store: Option<Arc<dyn Store>>,
    rooms: Mutex<Rooms<G>>,
}

struct Rooms<G: Game> {
    by_name: HashMap<String, Entry<G>>,
    /// Stored rooms that do not run.
    asleep: BTreeSet<String>,
    next: u64,
}

struct Entry<G: Game> {
    // Tells a room from a later one of the same name.
    number: u64,
    link: mpsc::Sender<Command<G>>,
    checks: Arc<Semaphore>,
    ticket: Arc<()>,
}

/// What leads to a room that runs.
pub(super) struct Entrance<G: Game> {
    pub(super) commands: mpsc::Sender<Command<G>>,
    /// Leave to have a token checked.
    pub(super) checks: Arc<Semaphore>,
}

/// Keeps a room from going to sleep while a client is on its way in.
#[derive(Debug)]
pub(super) struct Ticket {
    _held: Arc<()>,
}

/// The server has as many rooms as it may have.
#[derive(Debug)]
pub(super) struct NoPlace;

impl<G: Game> Registry<G> {
    pub(super) fn new(
        make: Make<G>,
        settings: Settings,
        threads: Option<Threads>,
        sleep: std::time::Duration,
        max_rooms: usize,
        store: Option<Arc<dyn Store>>,
    ) -> Registry<G> {
        let rooms = Mutex::new(Rooms { by_name: HashMap::new(), asleep: BTreeSet::new(), next: 0 });
        Registry { make, settings, threads, sleep, max_rooms, store, rooms }
    }

    /// Wakes the rooms that ran when the last process ended, and takes note of those that sleep.
    pub(super) fn wake(self: &Arc<Self>, stored: Vec<StoredRoom>, stop: &watch::Receiver<bool>) {
        for room in stored {
            let mut rooms = self.lock();
            if room.awake {
                self.begin(&mut rooms, &room.name, stop);
            } else {
                rooms.asleep.insert(room.name);
            }
        }
    }

    /// The way to a room that runs, or sleeps and is woken for it; none where there is no such room.
    pub(super) fn reach(
        self: &Arc<Self>,
        name: &str,
        stop: &watch::Receiver<bool>,
    ) -> Option<mpsc::Sender<Command<G>>> {
        let mut rooms = self.lock();
        if let Some(entry) = rooms.by_name.get(name) {
            return Some(entry.link.clone());
        }
        (rooms.asleep.contains(name) && !*stop.borrow()).then(|| self.begin(&mut rooms, name, stop).0)
    }

    /// The room of that name, created if need be.
    pub(super) fn enter(
        self: &Arc<Self>,
        name: &str,
        stop: &watch::Receiver<bool>,
    ) -> Result<(mpsc::Sender<Command<G>>, Ticket), NoPlace> {
        let mut rooms = self.lock();
        if let Some(entry) = rooms.by_name.get(name) {
            return Ok((entry.link.clone(), Ticket { _held: entry.ticket.clone() }));
        }
        if rooms.by_name.len() >= self.max_rooms {
            return Err(NoPlace);
        }
        let (link, ticket) = self.begin(&mut rooms, name, stop);
        Ok((link, Ticket { _held: ticket }))
    }

    /// Starts a room's task.
    fn begin(
        self: &Arc<Self>,
        rooms: &mut Rooms<G>,
        name: &str,
        stop: &watch::Receiver<bool>,
    ) -> (mpsc::Sender<Command<G>>, Arc<()>) {
        let (link, commands) = mpsc::channel(limits::ROOM_QUEUE);
        let ticket = Arc::new(());
        rooms.asleep.remove(name);
        let number = rooms.next;
        rooms.next += 1;
        let checks = Arc::new(Semaphore::new(limits::CHECKS));
        let entry = Entry { number, link: link.clone(), checks, ticket: ticket.clone() };
        rooms.by_name.insert(name.to_owned(), entry);
        let place = Place { registry: self.clone(), name: name.to_owned(), number, stop: stop.clone() };
        tokio::spawn(room_task::run(place, self.make.clone(), commands));
        (link, ticket)
    }

    /// The room of that name, if there is one.
    pub(super) fn find(&self, name: &str) -> Option<Entrance<G>> {
        let rooms = self.lock();
        let entry = rooms.by_name.get(name)?;
        Some(Entrance { commands: entry.link.clone(), checks: entry.checks.clone() })
    }

    /// The room of that name, if there is one, for a client that comes back to it.
    pub(super) fn reenter(&self, name: &str) -> Option<(mpsc::Sender<Command<G>>, Ticket)> {
        let rooms = self.lock();
        let entry = rooms.by_name.get(name)?;
        Some((entry.link.clone(), Ticket { _held: entry.ticket.clone() }))
    }

    /// The names of all rooms, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.lock().by_name.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    fn lock(&self) -> MutexGuard<'_, Rooms<G>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A room's own entry; given up when its task ends, however it ends.
pub(super) struct Place<G: Game> {
    pub(super) registry: Arc<Registry<G>>,
    pub(super) name: String,
    pub(super) stop: watch::Receiver<bool>,
    number: u64,
}

impl<G: Game> Place<G> {
    /// Takes the entry out unless a client is on its way in.
    pub(super) fn leave_if_unwanted(&self) -> bool {
        let mut rooms = self.registry.lock();
        let unwanted = rooms
            .by_name
            .get(&self.name)
            .is_some_and(|entry| entry.number == self.number && Arc::strong_count(&entry.ticket) == 1);
        if unwanted {
            rooms.by_name.remove(&self.name);
            if self.registry.store.is_some() {
                rooms.asleep.insert(self.name.clone());
            }
        }
        unwanted
    }

    /// Takes the entry out.
    pub(super) fn leave(&self) {
        let mut rooms = self.registry.lock();
        if rooms.by_name.get(&self.name).is_some_and(|entry| entry.number == self.number) {
            rooms.by_name.remove(&self.name);
        }
    }
}

impl<G: Game> Drop for Place<G> {
    fn drop(&mut self) {
        self.leave();
    }
}

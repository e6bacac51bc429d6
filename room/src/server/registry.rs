//! The rooms of a server: by name, by code, and by what they say of themselves.

mod index;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{Semaphore, mpsc, watch};

use super::Threads;
use super::room_task::{self, Command};
use super::throttle::Allowance;
use crate::limits;
use crate::room::{Game, Label};
use crate::runtime::{Settings, Site, Way};
use crate::storage::{State, Store, StoredRoom};
pub(super) use index::Rank;
use index::{Index, letters};

/// How a game is made for a room's name.
pub(super) type Make<G> = Arc<dyn Fn(&str) -> G + Send + Sync>;

/// Finds rooms, and starts the task of one that is not there yet.
pub(super) struct Registry<G: Game> {
    make: Make<G>,
    pub(super) settings: Settings,
    pub(super) threads: Option<Threads>,
    pub(super) sleep: Duration,
    max_rooms: usize,
    pub(super) store: Option<Arc<dyn Store>>,
    opened: Instant,
    creations: Allowance,
    guesses: Allowance,
    rooms: Mutex<Rooms<G>>,
}

struct Rooms<G: Game> {
    by_name: BTreeMap<String, Entry<G>>,
    // Rooms that sleep, with the labels that they had; some may run again.
    known: BTreeMap<String, Label>,
    index: Index,
    next: u64,
}

struct Entry<G: Game> {
    // Tells a room from a later one of the same name.
    rank: Rank,
    link: mpsc::Sender<Command<G>>,
    checks: Arc<Semaphore>,
    ticket: Arc<()>,
    label: Label,
    seats: Arc<Seats>,
}

/// A room's seats, by the last that it said.
#[derive(Debug)]
struct Seats {
    taken: AtomicUsize,
    most: AtomicUsize,
}

impl Seats {
    fn get(&self) -> (usize, usize) {
        (self.taken.load(Ordering::Relaxed), self.most.load(Ordering::Relaxed))
    }
}

/// What leads to a room that runs.
pub(super) struct Entrance<G: Game> {
    pub(super) commands: mpsc::Sender<Command<G>>,
    /// Leave to have a token checked.
    pub(super) checks: Arc<Semaphore>,
}

/// What leads into a room.
pub(super) struct WayIn<G: Game> {
    pub(super) link: mpsc::Sender<Command<G>>,
    pub(super) ticket: Ticket,
    pub(super) rank: Rank,
}

/// Keeps a room from going to sleep while a client is on its way in.
#[derive(Debug)]
pub(super) struct Ticket {
    _held: Arc<()>,
}

/// Why a room is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// The server has as many rooms as it may have.
    Full,
    /// The address has had as many made as it may.
    TooOften,
    /// The room is private, and sleeps.
    Private,
    /// The system gives no random letters.
    NoLetters,
}

/// A room as the list has it.
#[derive(Debug, serde::Serialize)]
pub(super) struct Listed {
    name: String,
    kind: String,
    players: usize,
    max: usize,
    created: u64,
    started: bool,
}

impl<G: Game> Registry<G> {
    pub(super) fn new(
        make: Make<G>,
        settings: Settings,
        threads: Option<Threads>,
        sleep: Duration,
        (max_rooms, rooms_per_minute): (usize, u32),
        store: Option<Arc<dyn Store>>,
    ) -> Registry<G> {
        let rooms =
            Rooms { by_name: BTreeMap::new(), known: BTreeMap::new(), index: Index::default(), next: 0 };
        Registry {
            make,
            settings,
            threads,
            sleep,
            max_rooms,
            store,
            opened: Instant::now(),
            creations: Allowance::new(rooms_per_minute),
            guesses: Allowance::new(limits::CODES_PER_MINUTE),
            rooms: Mutex::new(rooms),
        }
    }

    /// The room of that name, created if need be for a client of that address, or woken. One that sleeps and is
    /// private is not woken for who knows its name alone: nobody has a session in it.
    pub(super) fn enter(
        self: &Arc<Self>,
        name: &str,
        way: &Way,
        address: IpAddr,
        stop: &watch::Receiver<bool>,
    ) -> Result<WayIn<G>, NoPlace> {
        let mut rooms = self.lock();
        if let Some(entry) = rooms.by_name.get(name) {
            return Ok(entry.way_in());
        }
        if *way == Way::Name && rooms.known.get(name).is_some_and(|label| label.private) {
            return Err(NoPlace::Private);
        }
        self.start(&mut rooms, name.to_owned(), "room", address, stop)
    }

    /// The first open room of a kind behind `after` in order of creation, or a new one. While others are on their
    /// way into a room it counts as if they were in it. With `crowded` it does not, and no room is created: `None`
    /// where there is no other.
    pub(super) fn any(
        self: &Arc<Self>,
        kind: &str,
        after: Option<Rank>,
        crowded: bool,
        address: IpAddr,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<WayIn<G>>, NoPlace> {
        let mut rooms = self.lock();
        let entries = rooms.index.open(kind, after).filter_map(|(_, name)| rooms.by_name.get(name));
        let mut free = entries.filter(|entry| crowded || !entry.is_crowded());
        if let Some(entry) = free.next() {
            return Ok(Some(entry.way_in()));
        }
        drop(free);
        if crowded {
            return Ok(None);
        }
        let name = rooms.fresh_name(kind)?;
        self.start(&mut rooms, name, kind, address, stop).map(Some)
    }

    /// Wakes the rooms that ran when the last process ended, and takes note of those that sleep.
    pub(super) fn wake(self: &Arc<Self>, stored: Vec<StoredRoom>, stop: &watch::Receiver<bool>) {
        for StoredRoom { name, awake, label } in stored {
            // What a room is called is in its log as well.
            let label = Label::decode(&label.bytes).unwrap_or_default();
            self.remember(&name, label.clone());
            if awake {
                let mut rooms = self.lock();
                if let Err(error) = self.launch(&mut rooms, name, label, stop) {
                    tracing::error!(kind = "failed", "a room cannot be woken: {error:?}");
                }
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
        let label = rooms.known.get(name).filter(|_| !*stop.borrow())?.clone();
        let way = self.launch(&mut rooms, name.to_owned(), label, stop);
        way.ok().map(|way| way.link)
    }

    /// Starts a room that does not run: a new one of that kind, or one that sleeps.
    fn start(
        self: &Arc<Self>,
        rooms: &mut Rooms<G>,
        name: String,
        kind: &str,
        address: IpAddr,
        stop: &watch::Receiver<bool>,
    ) -> Result<WayIn<G>, NoPlace> {
        if rooms.by_name.len() >= self.max_rooms {
            return Err(NoPlace::Full);
        }
        let label = match rooms.known.get(&name) {
            Some(label) => label.clone(),
            None if self.creations.admits(address, self.opened.elapsed()) => {
                Label { kind: kind.to_owned(), created: unix_seconds(), ..Label::default() }
            }
            None => return Err(NoPlace::TooOften),
        };
        self.launch(rooms, name, label, stop)
    }

    /// Starts a room's task.
    fn launch(
        self: &Arc<Self>,
        rooms: &mut Rooms<G>,
        name: String,
        mut label: Label,
        stop: &watch::Receiver<bool>,
    ) -> Result<WayIn<G>, NoPlace> {
        if label.code.is_empty() {
            label.code = rooms.index.fresh_code().map_err(no_letters)?;
        }
        let rank = (label.created, rooms.next);
        rooms.next += 1;
        let most = label.max_players.map_or(self.settings.seats, |most| most as usize);
        let seats = Arc::new(Seats { taken: AtomicUsize::new(0), most: AtomicUsize::new(most) });
        let (link, commands) = mpsc::channel(limits::ROOM_QUEUE);
        let (checks, ticket) = (Arc::new(Semaphore::new(limits::CHECKS)), Arc::new(()));
        let entry = Entry { rank, link, checks, ticket, label: label.clone(), seats: seats.clone() };
        let way_in = entry.way_in();
        rooms.index.put_code(&label.code, &name);
        rooms.index.put(&name, rank, &label, true);
        rooms.by_name.insert(name.clone(), entry);
        let site = Site { name: name.clone(), label };
        let place = Place { registry: self.clone(), name, rank, seats, free: true, stop: stop.clone() };
        tokio::spawn(room_task::run(place, site, self.make.clone(), commands));
        Ok(way_in)
    }

    /// The room of that name, if there is one that runs.
    pub(super) fn find(&self, name: &str) -> Option<Entrance<G>> {
        let rooms = self.lock();
        let entry = rooms.by_name.get(name)?;
        Some(Entrance { commands: entry.link.clone(), checks: entry.checks.clone() })
    }

    /// The room of that name, if there is one that runs, for a client that comes back to it.
    pub(super) fn reenter(&self, name: &str) -> Option<WayIn<G>> {
        self.lock().by_name.get(name).map(Entry::way_in)
    }

    /// The name of the room that has a code, whether it runs or sleeps; `Some(None)` where none has it, and `None`
    /// where the address has tried too many that none has.
    pub(super) fn by_code(&self, code: &str, address: IpAddr) -> Option<Option<String>> {
        let code = code.to_ascii_uppercase();
        let find = || self.lock().index.by_code(&code).map(str::to_owned);
        self.guesses.unless(address, self.opened.elapsed(), find)
    }

    /// A room sleeps that has this label: from now on it is found by name and by code.
    pub(super) fn remember(&self, name: &str, label: Label) {
        let mut rooms = self.lock();
        rooms.index.put_code(&label.code, name);
        rooms.known.insert(name.to_owned(), label);
    }

    /// Rooms that run and are listed, of a kind or of all: those behind the name `after`, in order, one page of
    /// them.
    pub(super) fn list(&self, kind: Option<&str>, after: &str) -> Vec<Listed> {
        let rooms = self.lock();
        let names = rooms.index.listed(kind, after).take(limits::ROOMS_PAGE);
        names.filter_map(|name| Some(rooms.by_name.get(name)?.listed(name))).collect()
    }

    /// The names of all rooms that run, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.lock().by_name.keys().cloned().collect()
    }

    /// The label of a room, whether it runs or sleeps.
    pub(super) fn label(&self, name: &str) -> Option<Label> {
        let rooms = self.lock();
        let running = rooms.by_name.get(name).map(|entry| &entry.label);
        running.or_else(|| rooms.known.get(name)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Rooms<G>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: Game> Rooms<G> {
    /// A name for a room of that kind which no other has.
    fn fresh_name(&self, kind: &str) -> Result<String, NoPlace> {
        // A kind is ASCII.
        let kind = &kind[..kind.len().min(limits::ROOM_NAME - limits::CODE - 1)];
        loop {
            let name = format!("{kind}-{}", letters(limits::CODE).map_err(no_letters)?.to_ascii_lowercase());
            if !self.by_name.contains_key(&name) && !self.known.contains_key(&name) {
                return Ok(name);
            }
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(entry) = self.by_name.remove(name) {
            self.index.take(name, entry.rank, &entry.label);
            if !self.known.contains_key(name) {
                self.index.drop_code(&entry.label.code, name);
            }
        }
    }
}

impl<G: Game> Entry<G> {
    fn way_in(&self) -> WayIn<G> {
        let ticket = Ticket { _held: self.ticket.clone() };
        WayIn { link: self.link.clone(), ticket, rank: self.rank }
    }

    /// Whether there is no seat for one more, should everybody be seated who is on the way in.
    fn is_crowded(&self) -> bool {
        let (taken, most) = self.seats.get();
        taken + Arc::strong_count(&self.ticket) > most
    }

    fn listed(&self, name: &str) -> Listed {
        let (players, max) = self.seats.get();
        let Label { kind, created, started, .. } = &self.label;
        let (name, kind) = (name.to_owned(), kind.clone());
        Listed { name, kind, players, max, created: *created, started: *started }
    }
}

fn no_letters(error: getrandom::Error) -> NoPlace {
    tracing::error!(kind = "failed", "no random letters for a room: {error}");
    NoPlace::NoLetters
}

fn unix_seconds() -> u64 {
    // A clock that stands before 1970 knows nothing.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A room's own entry; given up when its task ends, however it ends.
pub(super) struct Place<G: Game> {
    pub(super) registry: Arc<Registry<G>>,
    pub(super) name: String,
    pub(super) stop: watch::Receiver<bool>,
    rank: Rank,
    seats: Arc<Seats>,
    // Whether the room was last said to have a free seat.
    free: bool,
}

impl<G: Game> Place<G> {
    /// Says how many seats are taken, of how many, and what the label is by now.
    pub(super) fn publish(&mut self, taken: usize, most: usize, label: Option<&Label>) {
        self.seats.taken.store(taken, Ordering::Relaxed);
        self.seats.most.store(most, Ordering::Relaxed);
        let free = taken < most;
        if label.is_none() && free == self.free {
            return;
        }
        self.free = free;
        let mut rooms = self.registry.lock();
        let Rooms { by_name, known, index, .. } = &mut *rooms;
        let Some(entry) = by_name.get_mut(&self.name).filter(|entry| entry.rank == self.rank) else { return };
        index.take(&self.name, self.rank, &entry.label);
        if let Some(label) = label {
            entry.label.clone_from(label);
            if let Some(known) = known.get_mut(&self.name) {
                known.clone_from(label);
            }
        }
        index.put(&self.name, self.rank, &entry.label, free);
    }

    /// Takes the entry out unless a client is on its way in. A stored room is known from then on, unless it is gone.
    pub(super) fn leave_if_unwanted(&self, state: State) -> bool {
        let mut rooms = self.registry.lock();
        let own = rooms.by_name.get(&self.name).filter(|entry| entry.rank == self.rank);
        let unwanted = own.filter(|entry| Arc::strong_count(&entry.ticket) == 1);
        let Some(label) = unwanted.map(|entry| entry.label.clone()) else { return false };
        if state == State::Gone || self.registry.store.is_none() {
            rooms.known.remove(&self.name);
        } else {
            rooms.known.insert(self.name.clone(), label);
        }
        rooms.remove(&self.name);
        true
    }

    /// Takes the entry out.
    pub(super) fn leave(&self) {
        let mut rooms = self.registry.lock();
        if rooms.by_name.get(&self.name).is_some_and(|entry| entry.rank == self.rank) {
            rooms.remove(&self.name);
        }
    }
}

impl<G: Game> Drop for Place<G> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    struct Quiet;

    impl Game for Quiet {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new()
        }
    }

    fn registry(max_rooms: usize) -> Arc<Registry<Quiet>> {
        let make: Make<Quiet> = Arc::new(|_| Quiet);
        let sleep = Duration::from_secs(60);
        Arc::new(Registry::new(make, Settings::default(), None, sleep, (max_rooms, 3), None))
    }

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn asleep(code: &str) -> Label {
        let (code, kind) = (code.to_owned(), "duel".to_owned());
        Label { code, kind, created: 5, private: true, max_players: Some(2), ..Label::default() }
    }

    #[tokio::test]
    async fn a_room_that_sleeps_is_found_by_code_and_by_name_and_is_what_it_was() {
        let registry = registry(10);
        registry.remember("den", asleep("KWMTRX"));
        assert_eq!(registry.by_code("kwmtrx", ip(1)), Some(Some("den".to_owned())));
        assert_eq!((registry.names().len(), registry.list(None, "").len()), (0, 0), "it does not run");
        let (_stop, stopped) = watch::channel(false);
        assert_eq!(registry.enter("den", &Way::Name, ip(1), &stopped).err(), Some(NoPlace::Private));
        let way = registry.enter("den", &Way::Code, ip(1), &stopped).expect("it wakes");
        let label = || {
            let rooms = registry.lock();
            rooms.by_name["den"].label.clone()
        };
        assert_eq!(label(), asleep("KWMTRX"));
        assert_eq!(way.rank.0, 5, "it stands where it was made");
        assert!(registry.any("duel", None, true, ip(1), &stopped).expect("asked").is_none(), "private");
        drop(way);
        registry.lock().known.remove("den");
        assert_eq!(registry.by_code("KWMTRX", ip(1)), Some(Some("den".to_owned())), "it runs still");
        registry.lock().remove("den");
        assert_eq!(registry.by_code("KWMTRX", ip(1)), Some(None));
    }

    #[tokio::test]
    async fn waking_rooms_do_not_count_as_new_ones_and_new_ones_do() {
        let registry = registry(100);
        let (_stop, stopped) = watch::channel(false);
        for n in 0..10 {
            registry.remember(&format!("old-{n}"), Label::default());
            assert!(registry.enter(&format!("old-{n}"), &Way::Name, ip(1), &stopped).is_ok());
        }
        let new = |n: u8, address| registry.enter(&format!("new-{n}"), &Way::Name, address, &stopped).err();
        assert_eq!([1, 2, 3, 4].map(|n| new(n, ip(1))), [None, None, None, Some(NoPlace::TooOften)]);
        assert_eq!(new(4, ip(2)), None);
        let codes: std::collections::BTreeSet<_> =
            registry.names().iter().map(|name| registry.label(name).expect("it runs").code).collect();
        assert_eq!(codes.len(), 14, "each has a code of its own");
    }

    #[tokio::test]
    async fn while_some_are_on_their_way_into_a_room_others_get_another_one() {
        let registry = registry(2);
        let (_stop, stopped) = watch::channel(false);
        let any = |after, crowded| registry.any("duel", after, crowded, ip(1), &stopped);
        let ways: Vec<_> = (0..2 * limits::SEATS)
            .map(|_| any(None, false).ok().flatten().expect("a seat, as far as one can tell"))
            .collect();
        assert_eq!(registry.names().len(), 2);
        assert_eq!(any(None, false).err(), Some(NoPlace::Full));
        let first = any(None, true).ok().flatten().expect("somebody may not arrive");
        assert_eq!(first.rank, ways[0].rank);
        let second = any(Some(first.rank), true).ok().flatten().expect("the next one");
        assert!(second.rank > first.rank);
        assert!(any(Some(second.rank), true).expect("asked").is_none());
    }
}

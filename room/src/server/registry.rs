//! The rooms of a server: by name, by code, and by what they say of themselves.

mod archive;
mod index;
mod standing;

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
use crate::storage::{Store, StoredRoom};
use archive::{Archive, Sleeper};
pub(super) use index::Rank;
use index::{Index, letters};
use standing::{Standing, Stored};

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
    archive: Archive,
    opened: Instant,
    creations: Allowance,
    guesses: Allowance,
    rooms: Mutex<Rooms<G>>,
}

struct Rooms<G: Game> {
    by_name: BTreeMap<String, Entry<G>>,
    index: Index,
    next: u64,
    // How many were taken out: what the store said of a room before may not be so since.
    left: u64,
}

struct Entry<G: Game> {
    // Tells a room from a later one of the same name.
    rank: Rank,
    link: mpsc::Sender<Command<G>>,
    checks: Arc<Semaphore>,
    ticket: Arc<()>,
    label: Label,
    // Whether the label is that of something kept, or of a room without a store. Until then others hear nothing of the
    // room, for it may never have been.
    kept: bool,
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

/// What leads into a room.
pub(super) struct WayIn<G: Game> {
    pub(super) link: mpsc::Sender<Command<G>>,
    /// Leave to have a token checked.
    pub(super) checks: Arc<Semaphore>,
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
    /// The store does not say whether there is such a room.
    NoAnswer,
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
        let rooms = Rooms { by_name: BTreeMap::new(), index: Index::default(), next: 0, left: 0 };
        Registry {
            archive: Archive::new(store.clone()),
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
    pub(super) async fn enter(
        self: &Arc<Self>,
        name: &str,
        way: &Way,
        address: IpAddr,
        stop: &watch::Receiver<bool>,
    ) -> Result<WayIn<G>, NoPlace> {
        let (mut rooms, stored) = match self.standing(name).await? {
            Standing::Runs(way) => return Ok(way),
            Standing::Not(rooms, stored) => (rooms, stored),
        };
        let private = stored.sleeper.as_ref().is_some_and(|sleeper| sleeper.label.private);
        if *way == Way::Name && private {
            return Err(NoPlace::Private);
        }
        self.start(&mut rooms, name.to_owned(), stored, "room", address, stop)
    }

    /// The first open room of a kind behind `after` in order of creation, or a new one. While others are on their
    /// way into a room it counts as if they were in it. With `crowded` it does not, and no room is created: `None`
    /// where there is no other.
    pub(super) async fn any(
        self: &Arc<Self>,
        kind: &str,
        after: Option<Rank>,
        crowded: bool,
        address: IpAddr,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<WayIn<G>>, NoPlace> {
        for _ in 0..TRIES {
            if let Some(way) = self.lock().open(kind, after, crowded) {
                return Ok(Some(way));
            }
            if crowded {
                return Ok(None);
            }
            let name = fresh_name(kind)?;
            let Standing::Not(mut rooms, stored) = self.standing(&name).await? else { continue };
            if stored.sleeper.is_some() {
                continue;
            }
            // Somebody else may have had one made meanwhile.
            if let Some(way) = rooms.open(kind, after, crowded) {
                return Ok(Some(way));
            }
            return self.start(&mut rooms, name, stored, kind, address, stop).map(Some);
        }
        Err(NoPlace::NoAnswer)
    }

    /// Wakes rooms that ran when the last process ended.
    pub(super) async fn wake(self: &Arc<Self>, stored: Vec<StoredRoom>, stop: &watch::Receiver<bool>) {
        for room in stored {
            match self.wake_one(&room.name, |_| true, stop).await {
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(kind = "failed", room = room.name, "a room cannot be woken: {error:?}");
                }
            }
        }
    }

    /// A room that runs, or one that is stored and to be woken.
    async fn wake_one(
        self: &Arc<Self>,
        name: &str,
        wakes: impl FnOnce(&Sleeper) -> bool,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<WayIn<G>>, NoPlace> {
        match self.standing(name).await? {
            Standing::Runs(way) => Ok(Some(way)),
            Standing::Not(mut rooms, stored) => {
                if *stop.borrow() || !stored.sleeper.as_ref().is_some_and(wakes) {
                    return Ok(None);
                }
                Ok(Some(self.launch(&mut rooms, name.to_owned(), (stored.label(""), true), stop)))
            }
        }
    }

    /// The way to a room that runs, or sleeps and is woken for it; none where there is no such room.
    pub(super) async fn reach(
        self: &Arc<Self>,
        name: &str,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<mpsc::Sender<Command<G>>>, NoPlace> {
        if let Some(entry) = self.lock().by_name.get(name) {
            return Ok(Some(entry.link.clone()));
        }
        Ok(self.wake_one(name, |_| true, stop).await?.map(|way| way.link))
    }

    /// Starts a room that does not run: a new one of that kind, or one that sleeps.
    fn start(
        self: &Arc<Self>,
        rooms: &mut Rooms<G>,
        name: String,
        stored: Stored,
        kind: &str,
        address: IpAddr,
        stop: &watch::Receiver<bool>,
    ) -> Result<WayIn<G>, NoPlace> {
        if rooms.by_name.len() >= self.max_rooms {
            return Err(NoPlace::Full);
        }
        if stored.sleeper.is_none() && !self.creations.admits(address, self.opened.elapsed()) {
            return Err(NoPlace::TooOften);
        }
        let known = stored.sleeper.is_some();
        Ok(self.launch(rooms, name, (stored.label(kind), known), stop))
    }

    /// Starts a room's task. `stored` is whether the store has the room already.
    fn launch(
        self: &Arc<Self>,
        rooms: &mut Rooms<G>,
        name: String,
        (label, stored): (Label, bool),
        stop: &watch::Receiver<bool>,
    ) -> WayIn<G> {
        let rank = (label.created, rooms.next);
        rooms.next += 1;
        let seats = Arc::new(Seats { taken: AtomicUsize::new(0), most: AtomicUsize::new(self.most(&label)) });
        let (link, commands) = mpsc::channel(limits::ROOM_QUEUE);
        let (checks, ticket) = (Arc::new(Semaphore::new(limits::CHECKS)), Arc::new(()));
        let kept = stored || self.store.is_none();
        let entry = Entry { rank, link, checks, ticket, label: label.clone(), kept, seats: seats.clone() };
        let way_in = entry.way_in();
        rooms.index.put_code(&label.code, &name);
        rooms.index.put(&name, rank, &entry.shown(), true);
        rooms.by_name.insert(name.clone(), entry);
        let site = Site { name: name.clone(), label };
        let place = Place { registry: self.clone(), name, rank, seats, free: true, stop: stop.clone() };
        tokio::spawn(room_task::run(place, site, self.make.clone(), commands));
        way_in
    }

    /// The room of that name, if there is one that runs.
    pub(super) fn find(&self, name: &str) -> Option<mpsc::Sender<Command<G>>> {
        self.lock().by_name.get(name).map(|entry| entry.link.clone())
    }

    /// The room of that name for a client that comes back to it; none where it holds no session. One that the store
    /// has as awake may hold hers, whatever has become of it here, and is woken: what keeps it from running is then
    /// what she hears.
    pub(super) async fn reenter(
        self: &Arc<Self>,
        name: &str,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<WayIn<G>>, NoPlace> {
        self.wake_one(name, |sleeper| sleeper.awake, stop).await
    }

    /// The name of the room that has a code, whether it runs or sleeps; `Some(None)` where none has it, and `None`
    /// where the address has tried too many that none has.
    pub(super) async fn by_code(
        &self,
        code: &str,
        address: IpAddr,
    ) -> Result<Option<Option<String>>, NoPlace> {
        let code = code.to_ascii_uppercase();
        let runs = || self.lock().index.by_code(&code).map(str::to_owned);
        match self.guesses.unless(address, self.opened.elapsed(), runs) {
            Some(None) => {}
            known => return Ok(known),
        }
        // It has been paid for already, so that nobody makes many guesses while the first is looked at.
        let found = self.archive.by_code(&code).await;
        if !matches!(found, Ok(None)) {
            self.guesses.give_back(address);
        }
        found.map(Some)
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
    pub(super) async fn label(&self, name: &str) -> Result<Option<Label>, NoPlace> {
        let running = self.lock().by_name.get(name).map(|entry| entry.kept.then(|| entry.label.clone()));
        match running {
            Some(label) => Ok(label),
            None => Ok(self.archive.find(name).await?.map(|sleeper| sleeper.label)),
        }
    }

    /// The seats of a room with that label.
    fn most(&self, label: &Label) -> usize {
        label.max_players.map_or(self.settings.seats, |most| most as usize)
    }

    fn lock(&self) -> MutexGuard<'_, Rooms<G>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often the store is asked of one room while others come and go.
const TRIES: usize = 8;

impl<G: Game> Rooms<G> {
    /// The first open room of a kind behind `after`; with `crowded`, whoever is on the way into it.
    fn open(&self, kind: &str, after: Option<Rank>, crowded: bool) -> Option<WayIn<G>> {
        let mut entries = self.index.open(kind, after).filter_map(|(_, name)| self.by_name.get(name));
        entries.find(|entry| crowded || !entry.is_crowded()).map(Entry::way_in)
    }

    fn remove(&mut self, name: &str) {
        if let Some(entry) = self.by_name.remove(name) {
            self.index.take(name, entry.rank, &entry.label);
            self.index.drop_code(&entry.label.code, name);
            self.left += 1;
        }
    }
}

/// A name for a room of that kind, which most likely no other has.
fn fresh_name(kind: &str) -> Result<String, NoPlace> {
    // A kind is ASCII.
    let kind = &kind[..kind.len().min(limits::ROOM_NAME - limits::CODE - 1)];
    Ok(format!("{kind}-{}", letters(limits::CODE).map_err(no_letters)?.to_ascii_lowercase()))
}

impl<G: Game> Entry<G> {
    fn way_in(&self) -> WayIn<G> {
        let ticket = Ticket { _held: self.ticket.clone() };
        WayIn { link: self.link.clone(), checks: self.checks.clone(), ticket, rank: self.rank }
    }

    /// Whether there is no seat for one more, should everybody be seated who is on the way in.
    fn is_crowded(&self) -> bool {
        let (taken, most) = self.seats.get();
        taken + Arc::strong_count(&self.ticket) > most
    }

    /// The label as far as others may see it.
    fn shown(&self) -> Label {
        Label { hidden: self.label.hidden || !self.kept, ..self.label.clone() }
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
    /// Says how many seats are taken, and what the label is by now, where that is another one.
    pub(super) fn publish(&mut self, taken: usize, label: Option<&Label>) {
        self.seats.taken.store(taken, Ordering::Relaxed);
        if let Some(label) = label {
            self.seats.most.store(self.registry.most(label), Ordering::Relaxed);
        }
        let free = taken < self.seats.most.load(Ordering::Relaxed);
        if label.is_none() && free == self.free {
            return;
        }
        self.free = free;
        let mut rooms = self.registry.lock();
        let Rooms { by_name, index, .. } = &mut *rooms;
        let Some(entry) = by_name.get_mut(&self.name).filter(|entry| entry.rank == self.rank) else { return };
        index.take(&self.name, self.rank, &entry.label);
        if let Some(label) = label {
            entry.label.clone_from(label);
            entry.kept = true;
        }
        index.put(&self.name, self.rank, &entry.shown(), free);
    }

    /// Takes the entry out unless a client is on its way in.
    pub(super) fn leave_if_unwanted(&self) -> bool {
        let mut rooms = self.registry.lock();
        let own = rooms.by_name.get(&self.name).filter(|entry| entry.rank == self.rank);
        let unwanted = own.is_some_and(|entry| Arc::strong_count(&entry.ticket) == 1);
        if unwanted {
            rooms.remove(&self.name);
        }
        unwanted
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
    use crate::storage::{Commit, Done, MemoryStore, State, StoreError, StoredLabel, Taken};

    struct Quiet;

    impl Game for Quiet {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new()
        }
    }

    fn registry(max_rooms: usize, store: Option<MemoryStore>) -> Arc<Registry<Quiet>> {
        let make: Make<Quiet> = Arc::new(|_| Quiet);
        let sleep = Duration::from_secs(60);
        let store = store.map(|store| Arc::new(store) as Arc<dyn Store>);
        Arc::new(Registry::new(make, Settings::default(), None, sleep, (max_rooms, 3), store))
    }

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn asleep(code: &str) -> Label {
        let (code, kind) = (code.to_owned(), "duel".to_owned());
        Label { code, kind, created: 5, private: true, max_players: Some(2), ..Label::default() }
    }

    /// Has a store keep a room of this label.
    fn keep(store: &MemoryStore, room: &str, label: &Label, state: State) {
        let (taken, mut bytes) = (store.take(room).expect("it answers"), Vec::new());
        label.encode(&mut bytes);
        let (room, label) = (room.into(), Some(StoredLabel { code: label.code.clone(), bytes }));
        let (first, rows, forget) = (taken.first + taken.rows.len() as u64, Vec::new(), 0);
        store.keep(&Commit { room, epoch: taken.epoch, first, rows, forget, state, label }).expect("it fits");
    }

    #[tokio::test]
    async fn a_room_that_sleeps_is_found_by_code_and_by_name_and_is_what_it_was() {
        let store = MemoryStore::new();
        keep(&store, "den", &asleep("KWMTRX"), State::Asleep);
        let registry = registry(10, Some(store.clone()));
        let by_code = async |code, address| registry.by_code(code, address).await.expect("it answers");
        assert_eq!(by_code("kwmtrx", ip(1)).await, Some(Some("den".to_owned())));
        assert_eq!((registry.names().len(), registry.list(None, "").len()), (0, 0), "it does not run");
        assert_eq!(registry.label("den").await, Ok(Some(asleep("KWMTRX"))));
        let (_stop, stopped) = watch::channel(false);
        let refused = registry.enter("den", &Way::Name, ip(1), &stopped).await.err();
        assert_eq!(refused, Some(NoPlace::Private));
        let way = registry.enter("den", &Way::Code, ip(1), &stopped).await.expect("it wakes");
        let label = || {
            let rooms = registry.lock();
            rooms.by_name["den"].label.clone()
        };
        assert_eq!(label(), asleep("KWMTRX"));
        assert_eq!(way.rank.0, 5, "it stands where it was made");
        let other = registry.any("duel", None, true, ip(1), &stopped).await;
        assert!(other.expect("asked").is_none(), "private");
        drop(way);
        keep(&store, "den", &asleep("KWMTRX"), State::Gone);
        assert_eq!(by_code("KWMTRX", ip(1)).await, Some(Some("den".to_owned())), "it runs still");
        registry.lock().remove("den");
        assert_eq!(by_code("KWMTRX", ip(1)).await, Some(None));
    }

    #[tokio::test]
    async fn wrong_codes_count_and_good_ones_do_not_whether_their_rooms_run_or_sleep() {
        let store = MemoryStore::new();
        keep(&store, "den", &asleep("KWMTRX"), State::Asleep);
        let registry = registry(10, Some(store));
        let (good, wrong) = ("KWMTRX", "BBBBBB");
        let by_code = async |code| registry.by_code(code, ip(1)).await.expect("it answers");
        for _ in 0..3 * limits::CODES_PER_MINUTE {
            assert_eq!(by_code(good).await, Some(Some("den".to_owned())));
        }
        for _ in 0..limits::CODES_PER_MINUTE {
            assert_eq!(by_code(wrong).await, Some(None));
        }
        assert_eq!((by_code(wrong).await, by_code(good).await), (None, None));
    }

    #[tokio::test]
    async fn waking_rooms_do_not_count_as_new_ones_and_new_ones_do() {
        let store = MemoryStore::new();
        (0..10).for_each(|n| keep(&store, &format!("old-{n}"), &Label::default(), State::Asleep));
        let registry = registry(100, Some(store));
        let (_stop, stopped) = watch::channel(false);
        for n in 0..10 {
            assert!(registry.enter(&format!("old-{n}"), &Way::Name, ip(1), &stopped).await.is_ok());
        }
        let new = async |n: u8, address| {
            registry.enter(&format!("new-{n}"), &Way::Name, address, &stopped).await.err()
        };
        for n in 1..=3 {
            assert_eq!(new(n, ip(1)).await, None);
        }
        assert_eq!((new(4, ip(1)).await, new(4, ip(2)).await), (Some(NoPlace::TooOften), None));
        let rooms = registry.lock();
        let codes: std::collections::BTreeSet<_> =
            rooms.by_name.values().map(|entry| &entry.label.code).collect();
        assert_eq!(codes.len(), 14, "each has a code of its own");
    }

    #[tokio::test]
    async fn while_some_are_on_their_way_into_a_room_others_get_another_one() {
        let registry = registry(2, None);
        let (_stop, stopped) = watch::channel(false);
        let any = async |after, crowded| registry.any("duel", after, crowded, ip(1), &stopped).await;
        let mut ways = Vec::new();
        for _ in 0..2 * limits::SEATS {
            ways.push(any(None, false).await.ok().flatten().expect("a seat, as far as one can tell"));
        }
        assert_eq!(registry.names().len(), 2);
        assert_eq!(any(None, false).await.err(), Some(NoPlace::Full));
        let first = any(None, true).await.ok().flatten().expect("somebody may not arrive");
        assert_eq!(first.rank, ways[0].rank);
        let second = any(Some(first.rank), true).await.ok().flatten().expect("the next one");
        assert!(second.rank > first.rank);
        assert!(any(Some(second.rank), true).await.expect("asked").is_none());
    }

    /// A store whose answers come when the test says so.
    #[derive(Clone)]
    struct Slow {
        store: MemoryStore,
        answers: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
        fails: bool,
    }

    impl Slow {
        /// With the end by which its answers are let go.
        fn new(fails: bool) -> (Slow, std::sync::mpsc::Sender<()>) {
            let (go, answers) = std::sync::mpsc::channel();
            (Slow { store: MemoryStore::new(), answers: Arc::new(Mutex::new(answers)), fails }, go)
        }

        fn answer<R>(&self, answer: Result<R, StoreError>) -> Result<R, StoreError> {
            // Answered before it waits, so that it is old when it arrives.
            let _ = self.answers.lock().expect("nothing panics").recv();
            if self.fails { Err(StoreError::Unavailable("the test".to_owned())) } else { answer }
        }
    }

    impl Store for Slow {
        fn rooms(&self) -> Result<Vec<StoredRoom>, StoreError> {
            self.store.rooms()
        }
        fn awake(&self) -> Result<Vec<StoredRoom>, StoreError> {
            self.store.awake()
        }
        fn find(&self, room: &str) -> Result<Option<StoredRoom>, StoreError> {
            self.answer(self.store.find(room))
        }
        fn by_code(&self, code: &str) -> Result<Option<String>, StoreError> {
            self.answer(self.store.by_code(code))
        }
        fn take(&self, room: &str) -> Result<Taken, StoreError> {
            self.store.take(room)
        }
        fn commit(&self, commit: Arc<Commit>, done: Done) {
            self.store.commit(commit, done);
        }
    }

    fn registry_of(store: &Slow) -> Arc<Registry<Quiet>> {
        let registry = registry(100, None);
        let store: Arc<dyn Store> = Arc::new(store.clone());
        let mut own = Arc::into_inner(registry).expect("nobody has it");
        (own.archive, own.store) = (Archive::new(Some(store.clone())), Some(store));
        Arc::new(own)
    }

    #[tokio::test]
    async fn a_room_that_left_while_the_store_was_asked_is_asked_for_again() {
        let (store, go) = Slow::new(false);
        let registry = registry_of(&store);
        let (_stop, stopped) = watch::channel(false);
        let asking = tokio::spawn({
            let (registry, stopped) = (registry.clone(), stopped.clone());
            async move { registry.enter("den", &Way::Name, ip(1), &stopped).await.err() }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        // Nothing is stored of it when the store looks; meanwhile it runs, goes to sleep, and is private.
        registry.launch(&mut registry.lock(), "den".to_owned(), (asleep("KWMTRX"), false), &stopped);
        keep(&store.store, "den", &asleep("KWMTRX"), State::Asleep);
        registry.lock().remove("den");
        (0..9).for_each(|_| go.send(()).expect("it listens"));
        let heard = tokio::time::timeout(Duration::from_secs(20), asking).await.expect("in time");
        assert_eq!(heard.expect("no panic"), Some(NoPlace::Private), "and no new room under its name");
    }

    #[tokio::test]
    async fn where_the_store_fails_or_hangs_no_room_is_made_and_no_guess_is_counted() {
        let (store, go) = Slow::new(true);
        let registry = registry_of(&store);
        drop(go);
        let (_stop, stopped) = watch::channel(false);
        for _ in 0..2 * limits::CODES_PER_MINUTE {
            assert_eq!(registry.by_code("KWMTRX", ip(1)).await, Err(NoPlace::NoAnswer));
        }
        assert_eq!(registry.enter("den", &Way::Name, ip(1), &stopped).await.err(), Some(NoPlace::NoAnswer));
        let any = registry.any("duel", None, false, ip(1), &stopped).await;
        assert_eq!(any.err(), Some(NoPlace::NoAnswer));
        assert_eq!(registry.reenter("den", &stopped).await.err(), Some(NoPlace::NoAnswer));
        assert_eq!(registry.names().len(), 0);
        // Now one that hangs.
        let (store, _go) = Slow::new(true);
        let registry = registry_of(&store);
        let began = Instant::now();
        assert_eq!(registry.enter("den", &Way::Name, ip(1), &stopped).await.err(), Some(NoPlace::NoAnswer));
        assert!(began.elapsed() < Duration::from_secs(2 * limits::STORE_QUESTION_SECONDS));
    }
}

//! The lives of the room: its commits on their way, how it ends and how it begins again, as a server sees to it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use room::faults::{Fault, is};
use room::runtime::{Origin, Runtime, Site};
use room::session::code;
use room::storage::{Commit, State, StoreError};
use room::{SessionId, limits};

use super::edge::Stage;
use super::game::{News, World};
use super::page::UNIX_MS;
use super::plan::Plan;
use super::rng::Rng;
use super::run::Sim;
use super::store::{FaultyStore, ROOM};

/// Where the room stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Up,
    /// A hook panicked: what is on its way is kept, then that it failed.
    Failing,
    /// It has its last seal as soon as what is on its way is kept.
    Ending(State),
    /// Its last seal is on its way.
    Ended(State),
    /// There is none until then. Whether there is a server whose sockets open.
    Down {
        until: u64,
        server: bool,
    },
    Asleep,
}

/// A commit on its way, with what it says.
pub(crate) struct Flight {
    commit: Arc<Commit>,
    /// What the hooks were told in the ticks that it has.
    pub(crate) news: Vec<(u64, News)>,
    /// The tick of its seal.
    made: u64,
    begun: u64,
    /// It was refused, and is given again then.
    again: Option<u64>,
}

/// Where the next kill is to find the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    /// A commit was made, and the store has not been given it.
    Untaken,
    /// A commit is kept, and nothing of it has left.
    Unsaid,
    /// Some of it has left.
    HalfSaid,
}

/// The room's store, and what becomes of the room.
pub(crate) struct Fate {
    pub(crate) life: Life,
    pub(crate) rng: Rng,
    /// None for a room without a store.
    store: Option<FaultyStore>,
    pub(crate) flight: Option<Flight>,
    /// What hooks were told since the last seal; and what is just being heard of.
    pub(crate) pending: Vec<(u64, News)>,
    pub(crate) heard: Vec<(u64, News)>,
    trap: Option<Trap>,
    empty_since: Option<u64>,
    /// The tick in which the run began, where it went on from another one.
    pub(crate) begun: u64,
    /// Runs so far; and those that failed, of which the store could not be told.
    runs: u64,
    unknown_failures: u64,
    /// Nothing changes, and nobody is let in: also for the next value of the game.
    pub(crate) frozen: bool,
    pub(crate) refuse: bool,
}

impl Fate {
    pub(crate) fn new(plan: &Plan, mut rng: Rng) -> Fate {
        let store = plan.keep.map(|keep| FaultyStore::new(keep, rng.fork()));
        Fate {
            life: Life::Up,
            rng,
            store,
            flight: None,
            pending: Vec::new(),
            heard: Vec::new(),
            trap: None,
            empty_since: None,
            begun: u64::MAX,
            runs: 0,
            unknown_failures: 0,
            frozen: false,
            refuse: false,
        }
    }

    /// Whether the room takes what comes.
    pub(crate) fn is_up(&self) -> bool {
        self.life == Life::Up
    }

    /// Whether sockets open.
    pub(crate) fn has_server(&self) -> bool {
        !matches!(self.life, Life::Down { server: false, .. })
    }

    /// Whether what is heard of the room may lag behind it.
    pub(crate) fn lags(&self) -> bool {
        self.flight.is_some() || !self.pending.is_empty()
    }

    /// How many joins have not been heard of.
    pub(crate) fn joins(&self) -> usize {
        let flying = self.flight.iter().flat_map(|flight| &flight.news);
        let unheard = flying.chain(&self.pending);
        unheard.filter(|(_, news)| matches!(news, News::Joined { .. })).count()
    }

    /// Whether something of a session has not been heard of.
    pub(crate) fn hides(&self, session: SessionId) -> bool {
        let flying = self.flight.iter().flat_map(|flight| &flight.news);
        let mut unheard = flying.chain(&self.pending).chain(&self.heard);
        unheard.any(|(_, news)| news.concerns(session))
    }
}

/// Makes a run of the room.
pub(crate) fn begin(plan: &Plan, fate: &mut Fate, now: u64, rng: Rng, seed: [u8; 32]) -> Runtime<World> {
    let mut game = World::new(plan.clone(), rng, fate.runs);
    (game.frozen, game.refuse) = (fate.frozen, fate.refuse);
    fate.runs += 1;
    let Some(store) = &mut fate.store else {
        return Runtime::new(game, plan.settings.clone(), seed).expect("the room starts");
    };
    let site = Site { name: ROOM.to_owned(), ..Site::default() };
    let origin = Origin { site, taken: store.take(), unix: (UNIX_MS + now) / 1000 };
    Runtime::open(game, plan.settings.clone(), seed, origin).expect("the room wakes")
}

impl Sim {
    /// Freezes the game, or lets it go on.
    pub(crate) fn freeze(&mut self, frozen: bool) {
        self.fate.frozen = frozen;
        self.runtime.parts_mut().0.frozen = frozen;
    }

    /// From now on nobody is let in, or everybody again.
    pub(crate) fn refuse_joins(&mut self, refuse: bool) {
        self.fate.refuse = refuse;
        self.runtime.parts_mut().0.refuse = refuse;
    }

    /// No more faults of the store, or those of the plan again.
    pub(crate) fn calm_store(&mut self, calm: bool) {
        if let (Some(store), Some(keep)) = (&mut self.fate.store, self.plan.keep) {
            store.calm(calm, keep);
        }
        self.fate.trap = None;
    }

    /// What befalls a room with a store in a step.
    pub(crate) fn befall(&mut self) {
        let Some(keep) = self.plan.keep else { return };
        if self.fate.store.as_mut().is_some_and(|store| store.step(self.now)) {
            self.count("outages");
        }
        let down = matches!(self.fate.life, Life::Down { .. });
        if self.fate.rng.millionths(keep.kills) && !down {
            match self.fate.rng.below(5) {
                0 => self.fate.trap = Some(Trap::Untaken),
                1 => self.fate.trap = Some(Trap::Unsaid),
                2 => self.fate.trap = Some(Trap::HalfSaid),
                _ => self.kill(),
            }
        }
        if !self.fate.is_up() {
            return;
        }
        if self.fate.rng.millionths(keep.restarts) {
            self.fate.life = Life::Ending(State::Awake);
        } else if self.fate.rng.millionths(keep.panics) {
            let trips = self.fate.rng.one_in(2);
            let game = self.runtime.parts_mut().0;
            if trips { game.trips = true } else { game.stumbles = true }
        }
    }

    /// The room's life in a step.
    pub(crate) fn live(&mut self) {
        self.keep();
        match self.fate.life {
            Life::Up => self.look_for_sleep(),
            Life::Failing if self.fate.flight.is_none() => match self.runtime.failure() {
                Some(commit) => self.give(commit, Vec::new()),
                None => self.fail(),
            },
            Life::Ending(state) if self.fate.flight.is_none() => {
                self.runtime.rest(state);
                // It did not look at what arrived.
                let now = self.runtime.now().0;
                self.books.values_mut().for_each(|book| book.closing = book.closing.map(|_| now));
                self.fate.life = Life::Ended(state);
                self.speak(true);
                self.keep();
            }
            Life::Ended(State::Asleep) if self.fate.flight.is_none() => self.sleep(),
            Life::Ended(_) if self.fate.flight.is_none() => self.stop(),
            Life::Down { until, .. } if until <= self.now => self.begin(),
            Life::Asleep if self.sockets.values().any(|socket| matches!(socket.stage, Stage::Hello)) => {
                self.begin();
            }
            _ => {}
        }
    }

    /// A tick, in which a hook may panic; whether it came to its end.
    pub(crate) fn guarded_tick(&mut self) -> bool {
        let now = self.clock();
        if self.plan.settings.deployed {
            self.runtime.tick(now);
            return true;
        }
        match catch_unwind(AssertUnwindSafe(|| self.runtime.tick(now))) {
            Ok(()) => true,
            Err(panic) if panic.is::<super::Boom>() => {
                self.count("failures");
                let last = self.runtime.game().news.last().cloned();
                self.trace(|| format!("the room fails; the last that it heard is {last:?}"));
                self.fate.life = Life::Failing;
                self.note_failure();
                false
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    /// What failed the room is tried in two more runs that are known to have failed, and not again.
    fn note_failure(&mut self) {
        let game = self.runtime.game();
        let Some(News::Acted { mark, .. }) = game.news.last() else { return };
        let mark = *mark;
        let times = self.tried.entry(mark).or_default();
        *times += 1;
        let event = (mark.page, mark.life, mark.n);
        if !self.booms.contains(&event) {
            // It stumbled, or had bad luck: more than once in a room that is careful already.
            self.given_up.extend((*times > 1).then_some(event));
            return;
        }
        let most = 3 + self.fate.unknown_failures;
        assert!(*times <= most, "{mark:?} fails the room for the {times}. time");
    }

    /// Takes what the runtime would have kept. Says whether there was something.
    pub(crate) fn take_commit(&mut self) -> bool {
        if self.fate.store.is_none() {
            return false;
        }
        if self.fate.trap == Some(Trap::Untaken) && self.runtime.awaits_commit() && self.fate.flight.is_none()
        {
            self.kill();
            return true;
        }
        let Some(commit) = self.runtime.poll_commit() else { return false };
        let news = std::mem::take(&mut self.fate.pending);
        self.give(commit, news);
        true
    }

    fn give(&mut self, commit: Arc<Commit>, news: Vec<(u64, News)>) {
        let (now, made) = (self.now, self.runtime.now().0);
        let Some(store) = &mut self.fate.store else { return };
        store.give(now, commit.clone());
        self.trace(|| format!("rows {} to {} go to the store", commit.first, commit.last()));
        let flight = Flight { commit, news, made, begun: now, again: None };
        self.fate.flight = Some(flight);
    }

    /// Hears what became of the commit on its way, or gives it again.
    pub(crate) fn keep(&mut self) {
        let now = self.now;
        let (Some(store), Some(flight)) = (&mut self.fate.store, &mut self.fate.flight) else { return };
        if flight.again.is_some_and(|at| at <= now) {
            flight.again = None;
            store.give(now, flight.commit.clone());
        }
        match store.answer(now) {
            None => {}
            Some(Ok(())) => self.kept(),
            Some(Err(error)) if error.is_final() || now - flight.begun >= limits::STORE_SECONDS * 1000 => {
                self.not_kept(&error);
            }
            Some(Err(_)) => {
                flight.again = Some(now + limits::STORE_RETRY_MS);
                self.count("refused commits");
            }
        }
    }

    /// The commit on its way is kept: what it says may leave.
    fn kept(&mut self) {
        if self.fate.trap == Some(Trap::Unsaid) {
            return self.kill();
        }
        let Some(flight) = self.fate.flight.take() else { return };
        if self.fate.life == Life::Failing && !self.runtime.awaits_commit() {
            // That was the word of its failure.
            self.fate.life = Life::Up;
            return self.fail();
        }
        self.runtime.handle_committed();
        self.trace(|| format!("tick {} is kept", flight.made));
        if self.fate.trap == Some(Trap::HalfSaid) {
            let most = self.fate.rng.below(8) as usize;
            self.release(flight.news, flight.made, most);
            self.expire(flight.made, false);
            self.blur();
            return self.kill();
        }
        self.release(flight.news, flight.made, usize::MAX);
        self.expire(flight.made, true);
    }

    /// The store refused for too long.
    fn not_kept(&mut self, error: &StoreError) {
        self.trace(|| format!("the store failed: {error}"));
        self.count("store failures");
        let stops = matches!(self.fate.life, Life::Ending(State::Awake) | Life::Ended(State::Awake));
        if stops { self.stop() } else { self.fail() }
    }

    /// The room failed; its server stays.
    fn fail(&mut self) {
        self.trace(|| String::from("the room has failed"));
        self.end(true);
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            if matches!(self.sockets[&id].stage, Stage::In) {
                self.close_frame(id, code::FAILED, String::from(r#"{"saved":true}"#));
            }
        }
        let gap = self.fate.rng.between(250, 1000);
        self.fate.life = Life::Down { until: self.now + gap, server: true };
    }

    /// The server stops in order.
    fn stop(&mut self) {
        self.count("restarts");
        self.trace(|| String::from("the server stops"));
        self.end(true);
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            if !matches!(self.sockets[&id].stage, Stage::Over) {
                self.close_frame(id, code::GOING_AWAY, String::from("the server is going away"));
            }
        }
        self.fate.life = Life::Down { until: self.now + self.fate.rng.between(50, 2000), server: false };
    }

    /// The process is killed.
    pub(crate) fn kill(&mut self) {
        self.count("kills");
        self.trace(|| String::from("the process is killed"));
        self.end(false);
        let (now, power) = (self.now, self.plan.keep.is_some_and(|keep| keep.power));
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            // What the system has of a process's words still arrives.
            let arrives = !power && self.fate.rng.one_in(2);
            let silent = power || self.fate.rng.one_in(8);
            let after = self.fate.rng.below(300);
            let Some(socket) = self.sockets.get_mut(&id).filter(|socket| !socket.cut) else { continue };
            socket.up.lose();
            let last = socket.down.halt(now, arrives);
            (socket.cut, socket.server_learns) = (true, None);
            socket.client_learns = (!silent).then(|| last.unwrap_or(now).max(now) + 10 + after);
            socket.stage = Stage::Over;
        }
        self.fate.life = Life::Down { until: now + self.fate.rng.between(20, 2000), server: false };
    }

    /// A run is over: of what is on its way something is kept, or nothing.
    fn end(&mut self, polite: bool) {
        let now = self.now;
        self.fate.trap = None;
        self.fate.unknown_failures += u64::from(self.fate.life == Life::Failing);
        if let Some(store) = &mut self.fate.store {
            store.cut(now);
        }
        let flight = self.fate.flight.take();
        let kept = match (&flight, &self.fate.store) {
            (Some(flight), Some(store)) => store.has(&flight.commit),
            _ => false,
        };
        self.trace(|| format!("a run ends; kept what was on its way: {kept}; in order: {polite}"));
        self.fate.pending.clear();
        if let Some(flight) = flight.filter(|_| kept) {
            self.count("kept and not said");
            self.blur();
            self.inherit(flight.news, flight.made);
        }
        self.forget_run();
        self.fate.empty_since = None;
    }

    /// The next run begins.
    pub(crate) fn begin(&mut self) {
        let (seed, rng) = (self.fate.rng.bytes(), self.fate.rng.fork());
        self.runtime = begin(&self.plan, &mut self.fate, self.now, rng, seed);
        (self.fate.life, self.fate.begun) = (Life::Up, self.runtime.now().0);
        self.stirred = self.now;
        self.trace(|| String::from("the room wakes"));
        self.speak(false);
        self.check_woken();
    }

    /// Lets a room sleep that nobody has been in for long enough.
    fn look_for_sleep(&mut self) {
        let Some(keep) = self.plan.keep else { return };
        let comes = |stage: &Stage| matches!(stage, Stage::In | Stage::Auth { .. });
        if self.runtime.sessions() > 0 || self.sockets.values().any(|socket| comes(&socket.stage)) {
            self.fate.empty_since = None;
        } else if self.now - *self.fate.empty_since.get_or_insert(self.now) >= keep.sleep {
            self.fate.life = Life::Ending(State::Asleep);
        }
    }

    /// All is kept of a room that nobody is in.
    fn sleep(&mut self) {
        assert_eq!(self.fate.store.as_ref().and_then(FaultyStore::is_awake), Some(false), "it sleeps");
        self.count("sleeps");
        self.fate.empty_since = None;
        if self.sockets.values().any(|socket| matches!(socket.stage, Stage::Hello | Stage::Auth { .. })) {
            // Somebody is on the way in.
            self.fate.life = Life::Up;
            return;
        }
        self.trace(|| String::from("the room sleeps"));
        self.end(true);
        self.fate.life = Life::Asleep;
    }

    /// Whether what the room says is heard of at once, planted so.
    pub(crate) fn leaks() -> bool {
        is(Fault::SendBeforeCommit)
    }
}

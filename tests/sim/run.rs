//! One run: a room, its clients and the links between them on one clock, from one seed.

use std::collections::BTreeMap;

use room::runtime::{Closed, Runtime};
use room::session::Resume;
use room::{SessionId, Tick};
use room_client::Status;

use super::book::{Book, Booms};
use super::check::{is_spark, things};
use super::edge::{Owner, Socket, Stage};
use super::errands::Errands;
use super::fate::{Fate, Life, begin};
use super::game::{Avatar, LAMPS, Mark, Vault, World};
use super::net::STEP;
use super::page::Page;
use super::plan::Plan;
use super::rng::Rng;
use super::seen::Seen;

/// Milliseconds of a tick.
const TICK: u64 = 50;
/// Milliseconds in which everything comes to rest once the faults have stopped; and where hooks fail the room, which is
/// careful for a minute then.
const REST: u64 = 90_000;
const CAREFUL_REST: u64 = 300_000;

/// Milliseconds in which the game hears of nothing once everything is at rest.
const QUIET: u64 = 500;

/// All bytes of a run as one number.
#[derive(Debug)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    pub(crate) fn add(&mut self, socket: u64, bytes: &[u8]) {
        self.word(socket ^ (bytes.len() as u64) << 40);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
}

pub(crate) struct Sim {
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    /// Milliseconds.
    pub(crate) now: u64,
    pub(crate) runtime: Runtime<World>,
    pub(crate) accounts: Vec<Option<String>>,
    pub(crate) pages: BTreeMap<u32, Page>,
    pub(crate) pages_made: u32,
    pub(crate) sockets: BTreeMap<u64, Socket>,
    pub(crate) sockets_made: u64,
    pub(crate) books: BTreeMap<SessionId, Book>,
    /// The session of each connection that was welcomed.
    pub(crate) conns: BTreeMap<u64, SessionId>,
    /// Resumes that wait for the room.
    pub(crate) resumes: BTreeMap<u64, Option<Resume>>,
    /// Sessions that began and were not welcomed yet, with the words before them.
    pub(crate) unborn: BTreeMap<SessionId, (u64, u64)>,
    /// Events that make their hook panic; with those that the room may give up.
    pub(crate) booms: Booms,
    pub(crate) given_up: Booms,
    /// The tick of what is on its way out.
    pub(crate) made: Tick,
    pub(crate) fate: Fate,
    pub(crate) seen: Seen,
    pub(crate) errands: Errands,
    pub(crate) tried: BTreeMap<Mark, u64>,
    /// As a welcome said.
    pub(crate) generation: (u64, u64),
    /// When the game heard of something last.
    pub(crate) stirred: u64,
    /// No faults.
    pub(crate) calm: bool,
    pub(crate) hash: Hash,
    pub(crate) ticks: u64,
    pub(crate) checks: u64,
    pub(crate) faults: BTreeMap<&'static str, u64>,
    traces: bool,
}

/// What a run was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) ticks: u64,
    pub(crate) checks: u64,
    pub(crate) hash: u64,
    pub(crate) faults: BTreeMap<&'static str, u64>,
}

impl Sim {
    pub(crate) fn new(seed: u64, traces: bool) -> Sim {
        let mut rng = Rng::new(seed);
        let plan = Plan::new(seed, &mut rng);
        let mut fate = Fate::new(&plan, Rng::new(seed.rotate_left(32)));
        let runtime = begin(&plan, &mut fate, 0, rng.fork(), rng.bytes());
        let account = |person| format!("account {person}");
        let accounts = (0..plan.clients).map(|person| rng.one_in(2).then(|| account(person))).collect();
        Sim {
            plan,
            rng,
            now: 0,
            runtime,
            accounts,
            pages: BTreeMap::new(),
            pages_made: 0,
            sockets: BTreeMap::new(),
            sockets_made: 0,
            books: BTreeMap::new(),
            conns: BTreeMap::new(),
            resumes: BTreeMap::new(),
            unborn: BTreeMap::new(),
            booms: Booms::new(),
            given_up: Booms::new(),
            made: Tick::ZERO,
            fate,
            seen: Seen::default(),
            errands: Errands::default(),
            tried: BTreeMap::new(),
            generation: (0, 0),
            stirred: 0,
            calm: false,
            hash: Hash(0xcbf2_9ce4_8422_2325),
            ticks: 0,
            checks: 0,
            faults: BTreeMap::new(),
            traces,
        }
    }

    pub(crate) fn trace(&self, what: impl FnOnce() -> String) {
        if self.traces {
            println!("{:>7} ms, tick {:>4}: {}", self.now, self.runtime.now().0, what());
        }
    }

    pub(crate) fn count(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn run(mut self) -> Outcome {
        self.trace(|| format!("{:#?}", self.plan));
        self.drain();
        for person in 0..self.plan.clients {
            self.open_page(person, self.accounts[person].clone(), None);
        }
        for _ in 0..self.plan.rounds {
            let until = self.now + self.plan.seconds * 1000;
            while self.now < until {
                self.step();
            }
            self.rest();
        }
        self.finish();
        let Sim { ticks, checks, hash, faults, .. } = self;
        Outcome { ticks, checks, hash: hash.0, faults }
    }

    fn step(&mut self) {
        self.now += STEP;
        if !self.calm {
            self.weather();
            self.strangers();
            self.people();
            self.refuse_joins(self.plan.mischief > 0 && self.now % 20_000 < 500);
            self.befall();
        }
        self.live();
        self.run_errands();
        self.serve();
        self.rogues();
        let pages: Vec<u32> = self.pages.keys().copied().collect();
        for id in pages {
            self.run_page(id);
        }
        if self.now.is_multiple_of(TICK) {
            self.tick();
        }
    }

    fn rogues(&mut self) {
        let rogues =
            self.sockets.iter().filter(|(_, it)| it.client_open && matches!(it.owner, Owner::Rogue(_)));
        let ids: Vec<u64> = rogues.map(|(id, _)| *id).collect();
        for id in ids {
            if self.stranger(id) || self.calm {
                let socket = self.sockets.get_mut(&id).expect("it was listed");
                socket.client_open = false;
                self.cut(id, None, Some(0));
            }
        }
    }

    /// The faults stop and everything comes to rest; then it is compared.
    fn rest(&mut self) {
        self.last_storm();
        self.calm = true;
        self.calm_store(true);
        self.refuse_joins(false);
        self.trace(|| String::from("the faults stop"));
        for socket in self.sockets.values_mut() {
            (socket.loses_close, socket.loses_welcome) = (false, false);
            socket.up.calm();
            socket.down.calm();
            if socket.cut {
                (socket.client_learns, socket.server_learns) = (Some(self.now), Some(self.now));
            }
        }
        self.wake();
        let begun = self.now;
        let most = if self.plan.settings.deployed { REST } else { CAREFUL_REST };
        self.stirred = begun;
        loop {
            (0..10).for_each(|_| self.step());
            let waits = self.pages.keys().find_map(|id| Some((*id, self.unsettled(*id)?)));
            if let Some((page, why)) = waits {
                assert!(self.now < begun + most, "page {page} does not come to rest: it {why}");
            } else if self.now >= self.stirred + QUIET && self.settled() {
                break;
            }
            assert!(self.now < begun + 2 * most, "the room does not come to rest");
        }
        self.trace(|| String::from("everything rests"));
        self.check();
        self.calm = false;
        self.calm_store(false);
        self.freeze(false);
    }

    /// Whether the room is up or asleep, and has nothing on its way.
    fn settled(&self) -> bool {
        (self.fate.is_up() || self.fate.life == Life::Asleep) && !self.fate.lags() && self.errands.open() == 0
    }

    /// Nothing changes any more after a last large change, and links break while it is on its way: what they lose
    /// must be made up for by the resume.
    fn last_storm(&mut self) {
        let begun = self.now;
        while !self.fate.is_up() {
            if self.fate.life == Life::Asleep {
                self.begin();
            }
            self.step();
            assert!(self.now < begun + REST, "the room does not begin");
        }
        self.freeze(true);
        if self.plan.storm == 0 && self.plan.keep.is_none() {
            return;
        }
        if self.plan.storm > 0 {
            let (game, room) = self.runtime.parts_mut();
            game.storm(room);
        }
        for _ in 0..self.rng.below(60) {
            self.step();
        }
        if self.plan.keep.is_some_and(|keep| keep.kills > 0) && self.fate.rng.one_in(2) {
            self.kill();
        }
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            if self.rng.one_in(2) {
                self.count("cuts");
                self.cut_somehow(id);
            }
        }
    }

    /// Pages have network, are seen, and come back at once.
    fn wake(&mut self) {
        let clock = self.clock();
        let ids: Vec<u32> = self.pages.keys().copied().collect();
        for id in ids {
            let page = self.pages.get_mut(&id).expect("it was listed");
            page.offline_until = page.offline_until.min(self.now);
            page.frame = page.frame.min(200);
            if page.done {
                continue;
            }
            if std::mem::take(&mut page.hidden) {
                page.machine.handle_hidden(clock, false);
            }
            if *page.machine.status() != Status::Joined {
                page.machine.handle_online(clock);
            }
            self.observe(id);
            self.transmit(id);
        }
    }

    /// Everyone goes; nothing of them stays past its hold.
    fn finish(&mut self) {
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            if !matches!(self.sockets[&id].stage, Stage::Over) {
                self.server_loses(id, Closed::Broken);
            }
        }
        self.calm = true;
        self.calm_store(true);
        self.freeze(true);
        let most = u64::from(self.plan.settings.hold_seconds.unwrap_or(room::limits::HOLD_HIDDEN_SECONDS));
        // Commits take a while.
        for _ in 0..most * 20 + 40 {
            self.now += TICK;
            self.live();
            self.run_errands();
            self.tick();
            if self.runtime.sessions() == 0 && self.settled() {
                break;
            }
        }
        assert_eq!(self.runtime.sessions(), 0, "sessions that nobody has");
        assert_eq!(self.runtime.room().count::<Avatar>(), 0, "avatars that nobody has");
        assert!(self.runtime.game().seats.is_empty(), "players that nobody is");
        self.sleep_and_wake();
    }

    /// Who sleeps forgets nothing.
    fn sleep_and_wake(&mut self) {
        let Some(keep) = self.plan.keep else { return };
        let stored = |sim: &Sim| {
            let room = sim.runtime.room();
            let all = things(room).into_iter().filter(|(id, _)| *id < LAMPS && !is_spark(room, *id));
            all.map(|(id, thing)| (id, thing.record)).collect::<Vec<_>>()
        };
        let before = stored(self);
        let begun = self.now;
        while self.fate.life != Life::Asleep {
            self.now += TICK;
            self.live();
            self.tick();
            assert!(self.now < begun + keep.sleep + 5000, "the room does not sleep");
        }
        self.begin();
        assert!(before == stored(self), "the room sleeps and is another one");
        assert_eq!(self.runtime.room().count::<Vault>(), 1, "what nobody sees is there");
    }
}

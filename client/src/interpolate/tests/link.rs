//! A room, a client, and a slow link between them, on a virtual clock.

use std::collections::VecDeque;
use std::time::Duration;

use room::prelude::*;
use room::runtime::{self, Identity, Join, Runtime, Settings};
use room::session::{self, Token};
use room::wire::message::RoomMessage;
use room::wire::update::Part;

use crate::machine::{Machine, Options, Outgoing};

/// How a link behaves, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    /// What each message takes one way, and what it may take more.
    pub(super) latency: u64,
    pub(super) jitter: u64,
    /// So often nothing comes through for so long; 0 for never.
    pub(super) stall_every: u64,
    pub(super) stall: u64,
    /// Which chances it has.
    pub(super) seed: u64,
}

/// Messages under way in one direction, each with when it arrives.
#[derive(Default)]
struct Way(VecDeque<(u64, Vec<u8>)>);

impl Way {
    fn push(&mut self, at: u64, bytes: Vec<u8>) {
        // None overtakes another.
        let at = self.0.back().map_or(at, |(before, _)| at.max(*before));
        self.0.push_back((at, bytes));
    }

    fn pop(&mut self, now: u64) -> Option<Vec<u8>> {
        let (at, _) = self.0.front()?;
        if *at <= now { self.0.pop_front().map(|(_, bytes)| bytes) } else { None }
    }
}

/// The room and its one client. Time passes in milliseconds.
pub(super) struct Link<G: Game> {
    pub(super) room: Runtime<G>,
    pub(super) machine: Machine,
    weather: Weather,
    now: u64,
    up: Way,
    down: Way,
    chance: u64,
    /// Whether the room's ticks run, for one that a tool holds.
    pub(super) running: bool,
    /// How many times as fast as it should they run.
    pub(super) speed: u64,
    ticks: u64,
    /// The ticks of all updates, and up to which they said that nothing lags behind.
    pub(super) sent: Vec<(u64, u64)>,
}

const CONN: ConnectionId = ConnectionId(1);

impl<G: Game> Link<G> {
    pub(super) fn new(game: G, settings: Settings, weather: Weather) -> Link<G> {
        let room = Runtime::new(game, settings, [7; 32]).unwrap();
        let machine = Machine::new(G::schema(), Options::default(), 1);
        let (up, down) = (Way::default(), Way::default());
        let chance = weather.seed.wrapping_mul(2).wrapping_add(1);
        Link {
            room,
            machine,
            weather,
            now: 0,
            up,
            down,
            chance,
            running: true,
            speed: 1,
            ticks: 0,
            sent: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    /// The room's time in ticks, as it is.
    pub(super) fn room_time(&self) -> f64 {
        let since = self.now - self.ticks * self.tick_ms();
        self.room.now().0 as f64 + since as f64 / self.tick_ms() as f64
    }

    fn tick_ms(&self) -> u64 {
        u64::from(1000 / self.room.settings().tick_rate)
    }

    pub(super) fn edit<R>(&mut self, change: impl FnOnce(&mut Room<G>) -> R) -> R {
        change(self.room.parts_mut().1)
    }

    /// Changes the room where the next millisecond has a tick.
    pub(super) fn before_tick(&mut self, change: impl FnOnce(&mut Room<G>)) {
        if (self.now + 1).is_multiple_of(self.tick_ms() / self.speed) && self.running {
            self.edit(change);
        }
    }

    /// A millisecond passes; returns whether the room has ticked.
    pub(super) fn pass(&mut self) -> bool {
        self.now += 1;
        let ticks = self.now.is_multiple_of(self.tick_ms() / self.speed) && self.running;
        if self.now.is_multiple_of(self.tick_ms()) {
            self.ticks += 1;
        }
        if ticks {
            self.room.tick(self.now());
        }
        self.carry();
        ticks
    }

    /// The client draws.
    pub(super) fn draw(&mut self) {
        let now = self.now();
        self.machine.update(now);
        self.carry();
    }

    fn carry(&mut self) {
        let now = self.now();
        if self.machine.poll_dial(now) {
            self.machine.handle_open(now, Vec::new());
        }
        while let Some(outgoing) = self.machine.poll_transmit() {
            let Outgoing::Message(bytes) = outgoing else { panic!("{outgoing:?}") };
            let at = self.arrival();
            self.up.push(at, bytes);
        }
        while let Some(bytes) = self.up.pop(self.now) {
            match session::admit(&bytes, &G::schema()) {
                Ok(hello) if self.machine.epoch() == 0 => {
                    let join = Join { hello, identity: Identity::guest(), token: Token([1; 16]) };
                    self.room.handle_open(CONN, now, join);
                }
                _ => self.room.handle_message(CONN, now, &bytes),
            }
        }
        while let Some(transmit) = self.room.poll_transmit() {
            let runtime::Outgoing::Message(bytes) = transmit.outgoing else { panic!("it is closed") };
            if let Ok(RoomMessage::Update(part)) = RoomMessage::decode(bytes) {
                let part = Part::decode(part).unwrap();
                self.sent.extend(part.head.map(|head| (head.tick.0, head.complete.0)));
            }
            let bytes = bytes.to_vec();
            let at = self.arrival();
            self.down.push(at, bytes);
        }
        while let Some(bytes) = self.down.pop(self.now) {
            self.machine.handle_message(now, bytes);
        }
    }

    /// When what is sent now arrives.
    fn arrival(&mut self) -> u64 {
        let Weather { latency, jitter, stall_every, stall, .. } = self.weather;
        let at = self.now + latency + self.random() % (jitter + 1);
        let into = at.checked_rem(stall_every).unwrap_or(stall);
        if into < stall && at >= stall_every { at + stall - into } else { at }
    }

    fn random(&mut self) -> u64 {
        // An xorshift will do.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance >> 11
    }
}

//! After every commit, the log gives the room as it is: whatever happens to its entities, sessions, messages, accounts
//! and effects, however slow the store is, and wherever a snapshot under way is cut short.

mod careful;
mod mirror;

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::Entity;
use crate::entity::{EntityId, Id, SessionId};
use crate::field::Bytes;
use crate::room::game::{LeaveReason, Peer};
use crate::room::journal::image::Image;
use crate::room::{Room, game::Refused};
use crate::schema::Schema;
use crate::session::{Claim, Hello, Resume, Token};
use crate::storage::{MemoryStore, State, Store};
use crate::wire::message::{Ack, ClientMessage};
use crate::wire::payload;
use rand_chacha::rand_core::RngCore;

use mirror::{COARSE, FieldMaskOf, Mirror};

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(crate = "crate")]
struct Score {
    count: u64,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(crate = "crate")]
struct Purse {
    coins: u32,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(crate = "crate")]
struct Beast {
    age: u32,
    #[field(coarse)]
    x: f64,
    data: Bytes,
    name: String,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(crate = "crate", ephemeral)]
struct Spark {
    heat: u32,
}

struct Zoo;

impl Game for Zoo {
    type Event = u32;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().state::<Score>().private::<Purse>().entity::<Beast>().entity::<Spark>()
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        // Somebody is always refused, after she has done things.
        let beast = Beast { age: peer.player.0, ..Beast::default() };
        room.create(beast).map_err(|error| Refused::new(error.to_string()))?;
        if peer.player.0 % 5 == 4 { Err(Refused::new("not her")) } else { Ok(()) }
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: u32) {
        let count = room.state::<Score>().count + room.rng().next_u64() % 9;
        room.state_mut::<Score>().set_count(count);
        if let Some(mut purse) = room.private_mut::<Purse>(peer.player) {
            purse.set_coins(event);
        }
        room.send(peer.conn, &vec![7u8; event as usize % 3000]).expect("it is short");
        if event.is_multiple_of(4) {
            room.after_commit(&event).expect("it is short");
        }
        if event.is_multiple_of(31) {
            room.kick(peer.player, "enough");
        }
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        room.broadcast(&player.0).expect("it is short");
    }
}

/// Random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// One who plays, or did.
#[derive(Clone)]
struct Client {
    conn: u64,
    account: Option<String>,
    token: Token,
    session: Option<SessionId>,
}

struct Drive {
    dice: Dice,
    store: MemoryStore,
    runtime: Runtime<Zoo>,
    clients: Vec<Client>,
    beasts: Vec<Id<Beast>>,
    next: u64,
    unix: u64,
    mirror: Mirror,
    /// What the commit on its way has.
    pending: Option<Mirror>,
    kills: u64,
    snapshots: u64,
    largest: usize,
}

fn open(store: &MemoryStore, unix: u64, seed: u64, send_every: u32) -> Runtime<Zoo> {
    let taken = store.take("zoo").expect("memory");
    let site = Site { name: "zoo".into(), ..Site::default() };
    let settings = Settings { send_every, seats: 12, hold_seconds: Some(3), ..Settings::default() };
    let origin = Origin { site, taken, unix };
    Runtime::open(Zoo, settings, [seed as u8; 32], origin).unwrap_or_else(|error| panic!("{error}"))
}

impl Drive {
    fn new(seed: u64, send_every: u32) -> Drive {
        let store = MemoryStore::new();
        let runtime = open(&store, 1_800_000_000, seed, send_every);
        Drive {
            dice: Dice(seed),
            store,
            runtime,
            clients: Vec::new(),
            beasts: Vec::new(),
            next: 1,
            unix: 1_800_000_000,
            mirror: Mirror::default(),
            pending: None,
            kills: 0,
            snapshots: 0,
            largest: 0,
        }
    }

    fn drain(&mut self) {
        while self.runtime.poll_transmit().is_some() {}
        while self.runtime.poll_outside().is_some() {}
        while self.runtime.poll_log().is_some() {}
    }

    fn tick(&mut self) {
        self.runtime.tick(Duration::from_millis(50 * self.runtime.now().0));
        self.note();
    }

    /// Takes note of what a commit should have.
    fn note(&mut self) {
        if self.pending.is_none()
            && let Some(commit) = self.runtime.poll_commit()
        {
            let mut mirror = Mirror::of(&self.runtime);
            if commit.rows.is_empty() {
                (mirror.tick, mirror.place) = (self.mirror.tick, self.mirror.place);
            }
            self.pending = Some(mirror);
            self.runtime.durable.as_mut().expect("durable").pending.as_mut().expect("it is").1 = false;
        }
        self.drain();
    }

    fn keep(&mut self, heard: bool) {
        let Some(commit) = self.runtime.poll_commit() else { return };
        let before = self.store.bytes("zoo");
        self.store.keep(&commit).expect("it is the owner's");
        self.snapshots += u64::from(self.store.bytes("zoo") < before);
        self.largest = self.largest.max(self.store.bytes("zoo"));
        self.mirror = self.pending.take().expect("it was noted");
        self.check(commit.last() + 1);
        if heard {
            self.runtime.handle_committed();
            self.drain();
        }
    }

    fn check(&self, next: u64) {
        let mut rows = Vec::new();
        self.store.edit("zoo", |kept| rows.clone_from(kept));
        let first = next - rows.len() as u64;
        let image = Image::read("zoo", first, &rows).unwrap_or_else(|error| panic!("{error}"));
        let coarse: Vec<FieldMaskOf> =
            Zoo::schema().entries().iter().map(|entry| entry.kind.coarse().iter().collect()).collect();
        assert!(coarse.iter().any(|fields| fields.contains(&COARSE)));
        self.mirror.check(&image, &coarse);
    }

    fn say(&mut self, client: usize, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let conn = ConnectionId(self.clients[client].conn);
        self.runtime.handle_message(conn, Duration::ZERO, &bytes);
        self.drain();
    }

    fn hello(&mut self, account: Option<String>, resume: Option<Resume>) -> Client {
        self.next += 1;
        let mut token = [0; 16];
        token[..8].copy_from_slice(&self.next.to_le_bytes());
        let (conn, token) = (self.next, Token(token));
        let hello = Hello { name: format!("player {conn}"), resume, ..Hello::default() };
        let identity = Identity { account: account.clone() };
        let join = Join { hello, identity, token };
        self.runtime.handle_open(ConnectionId(conn), Duration::ZERO, join);
        self.drain();
        Client { conn, account, token, session: None }
    }

    fn find_sessions(&mut self) {
        for client in &mut self.clients {
            let session = self.runtime.room.sessions.of_conn(ConnectionId(client.conn));
            client.session = session.or(client.session);
        }
    }

    fn act(&mut self) {
        let (n, side) = (self.dice.roll(1000) as u32, self.dice.roll(40));
        let client = (!self.clients.is_empty()).then(|| self.dice.roll(self.clients.len() as u64) as usize);
        let beast =
            (!self.beasts.is_empty()).then(|| self.beasts[self.dice.roll(self.beasts.len() as u64) as usize]);
        let size = if self.dice.roll(6) == 0 { 45_000 } else { self.dice.roll(900) as usize };
        let (_, room) = self.runtime.parts_mut();
        match (side, client, beast) {
            (0..=3, ..) => {
                let beast = Beast { age: n, data: vec![n as u8; size].into(), ..Beast::default() };
                self.beasts.push(room.create(beast).expect("it fits"));
            }
            (4..=8, ..) => {
                // Under an ID that comes again and again.
                let id = 5_000_000_000 + u64::from(n % 20);
                let before = room.all::<Beast>().map(|(id, _)| id).find(|beast| beast.get() == id);
                if let Some(before) = before {
                    room.delete(before);
                }
                if n % 3 > 0 {
                    let beast = Beast { age: n, data: vec![1; size].into(), ..Beast::default() };
                    self.beasts.push(room.create_with_id(id, beast).expect("it is free"));
                }
            }
            (9..=10, _, Some(beast)) => {
                room.delete(beast);
            }
            (11..=15, _, Some(beast)) => {
                if let Some(mut beast) = room.get_mut(beast) {
                    beast.set_name(format!("beast {n}")).expect("it is short");
                    if n % 4 == 0 {
                        beast.set_x(f64::from(n));
                    }
                }
            }
            (16..=18, _, Some(beast)) => {
                if let Some(mut beast) = room.get_mut(beast) {
                    beast.set_x(f64::from(n));
                }
            }
            (19, _, Some(beast)) => {
                if let Some(mut beast) = room.get_mut(beast) {
                    beast.set_x(f64::NAN);
                    beast.set_age(n);
                }
            }
            (20, ..) => {
                room.create(Spark { heat: n }).expect("it fits");
            }
            (21..=22, ..) => {
                let account = (n % 3 > 0).then(|| format!("account {}", n % 9));
                let client = self.hello(account, None);
                self.clients.push(client);
            }
            (23..=24, Some(client), _) => {
                let Client { session: Some(session), token, account, .. } = self.clients[client].clone()
                else {
                    return;
                };
                let claim = Claim { incarnation: 1, complete: self.runtime.now(), ..Claim::default() };
                let resume = Resume { session, token, received: u64::from(n), claim };
                if self.runtime.check_resume(&resume).is_ok() {
                    let again = self.hello(account, Some(resume));
                    self.clients[client] = Client { session: Some(session), ..again };
                }
            }
            (25..=30, Some(client), _) => {
                let mut bytes = Vec::new();
                payload::encode(&n, 100, &mut bytes).expect("it is short");
                self.say(client, &ClientMessage::Event { gap: 1, payload: &bytes });
            }
            (31..=34, Some(client), _) => {
                let (tick, events) = (self.runtime.now(), u64::from(n));
                self.say(client, &ClientMessage::Ack(Ack { tick, parts: 0, events }));
            }
            (35, Some(client), _) => self.say(client, &ClientMessage::Hidden(n % 2 == 0)),
            (36, Some(client), _) => {
                let conn = ConnectionId(self.clients[client].conn);
                self.runtime.handle_close(conn, Duration::ZERO, Closed::Broken);
            }
            (37, Some(client), _) => self.say(client, &ClientMessage::Leave),
            (38, ..) => {
                self.unix += u64::from(n) * 60;
                self.runtime.handle_time(self.unix);
            }
            (39, ..) => {
                let effects: Vec<u64> =
                    self.runtime.durable.as_ref().expect("durable").effects.keys().copied().collect();
                effects
                    .into_iter()
                    .filter(|number| number % 2 == 0)
                    .for_each(|number| self.runtime.handle_performed(number));
            }
            _ => {}
        }
    }

    fn run(&mut self, ticks: u32, send_every: u32) {
        for _ in 0..ticks {
            for _ in 0..self.dice.roll(8) {
                self.act();
            }
            self.tick();
            self.find_sessions();
            if self.beasts.len() > 120 {
                let (_, room) = self.runtime.parts_mut();
                for beast in self.beasts.drain(..60) {
                    room.delete(beast);
                }
            }
            match self.dice.roll(120) {
                0 => self.kill(send_every),
                1 if !self.runtime.awaits_commit() => {
                    let state = [State::Asleep, State::Awake, State::Gone][self.dice.roll(3) as usize];
                    self.runtime.rest(state);
                    let gone = state == State::Gone;
                    if gone && let Some(commit) = self.runtime.poll_commit() {
                        self.store.keep(&commit).expect("it is the owner's");
                        self.runtime.handle_committed();
                        self.drain();
                        self.mirror = Mirror::default();
                    } else {
                        self.note();
                    }
                }
                2..60 => self.keep(true),
                _ => {}
            }
        }
    }

    fn kill(&mut self, send_every: u32) {
        // Between the store and the room, half the time.
        if self.dice.roll(2) == 0 {
            self.keep(false);
        }
        self.pending = None;
        self.kills += 1;
        self.runtime = open(&self.store, self.unix, self.kills + 50, send_every);
        let woken = Mirror::of(&self.runtime);
        let beasts = |mirror: &Mirror| -> BTreeMap<EntityId, Vec<u8>> {
            let own = |id: &EntityId| mirror.entities[id].0 == 2;
            mirror
                .records
                .iter()
                .filter(|(id, _)| own(id))
                .map(|(id, record)| (*id, record.clone()))
                .collect()
        };
        let (now, then) = (beasts(&woken), beasts(&self.mirror));
        for (id, record) in then {
            assert_eq!(now.get(&id), Some(&record));
        }
        assert_eq!(woken.effects, self.mirror.effects);
        assert_eq!(
            woken.sessions.keys().collect::<Vec<_>>(),
            self.mirror.sessions.keys().collect::<Vec<_>>()
        );
        for (id, (acknowledged, kept)) in &self.mirror.messages {
            let session = self.runtime.room.sessions.get(*id).expect("it is kept");
            let now: Vec<Vec<u8>> =
                session.outbox.after(*acknowledged).map(|(_, message)| message.to_vec()).collect();
            assert_eq!(&now, kept);
        }
        self.drain();
    }
}

/// More of them find more.
const SEEDS: u64 = 3;

#[test]
fn after_every_commit_the_log_gives_the_room_as_it_is() {
    let (mut kills, mut snapshots) = (0, 0);
    for seed in 1..=SEEDS {
        let send_every = 1 + (seed % 3) as u32;
        let mut drive = Drive::new(seed, send_every);
        drive.run(600, send_every);
        (kills, snapshots) = (kills + drive.kills, snapshots + drive.snapshots);
        assert!(drive.largest < 16 << 20, "the log has {} bytes", drive.largest);
    }
    assert!(kills > SEEDS && snapshots > SEEDS, "{kills} kills and {snapshots} snapshots");
}

#[test]
fn messages_that_are_acknowledged_between_the_slices_of_a_snapshot_are_not_missed() {
    for pace in 1..6 {
        let mut drive = Drive::new(1, 1);
        let client = drive.hello(None, None);
        drive.clients.push(client);
        settle(&mut drive, 2);
        let (_, room) = drive.runtime.parts_mut();
        for n in 0..19 {
            room.broadcast(&format!("{n:050000}")).expect("it fits");
        }
        for n in 0..20 {
            let (tick, events) = (drive.runtime.now(), n * pace);
            drive.say(0, &ClientMessage::Ack(Ack { tick, parts: 0, events }));
            settle(&mut drive, 1);
        }
        assert!(drive.snapshots > 0);
    }
}

/// So many ticks, each of which is kept.
fn settle(drive: &mut Drive, ticks: u32) {
    for _ in 0..ticks {
        drive.tick();
        drive.keep(true);
        drive.find_sessions();
    }
}

//! One room under whatever clients, sockets and a careless game may do, as an input's bytes say: for libFuzzer and,
//! with inputs from a seed, for `tests/fuzz.rs`.

#[path = "session/game.rs"]
mod game;
#[path = "session/honest.rs"]
mod honest;
#[path = "session/input.rs"]
mod input;
#[path = "session/rogue.rs"]
mod rogue;
#[path = "session/truth.rs"]
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use room::runtime::{Closed, Identity, Join, Outgoing, Runtime, Sessions, Settings};
use room::session::{self, Resume, Token, code};
use room::wire::message::RoomMessage;
use room::{Bytes, ConnectionId, EntityId, Game as _, Json, PlayerId, limits};

use super::counting;
use game::{Arena, Board, CHESTS, Chest, ENTITIES, Eyes, Hand, Spark, Unit, Vault};
use honest::Honest;
use input::Input;
use rogue::{Known, Rogue};

/// What one input may ask for.
const STEPS: usize = 300;
const TICKS: u64 = 200;
/// Bytes that the game sends in one input at the most, not counting answers to clients.
const SPOKEN: usize = 8 << 20;
const SEATS: usize = 4;
/// Connections that have not been seated, at the most: as many as an edge lets wait.
const WAITING: usize = limits::UNJOINED_LEAST;

/// The most memory of a room: what its entities take, in values, records and pieces; and for each session what waits
/// in either direction, with the answers of one second before it is ended, and its view.
const ROOM: usize = (CHESTS + SEATS) * 6 * limits::ENTITY + ENTITIES * 4096 + (4 << 20);
const SESSION: usize = limits::EVENTS_BYTES_MOST
    + (limits::MESSAGES_BURST + limits::MESSAGES_PER_SECOND) as usize * limits::ROOM_PAYLOAD
    + 2 * limits::INBOX
    + 2 * limits::UPDATE
    + 512 * 1024;
const MEMORY: usize = ROOM + SEATS * SESSION + WAITING * 8 * limits::CLAIM + 2 * SPOKEN;
/// What a room holds that everybody has left: buffers, and who had an account.
const EMPTY: usize = ROOM + (4 << 20);

/// What inputs came to, so that a test can see that they reach what they should.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// Codes with which the room closed connections; 0 for an end without a close frame.
    pub(crate) codes: BTreeSet<u16>,
    /// Welcomes that resumed, of rogues and of the honest client.
    pub(crate) resumed: [usize; 2],
    /// Comparisons of the honest client with the room, and rooms seen empty in the end.
    pub(crate) compared: usize,
    pub(crate) emptied: usize,
    /// Results and failures that came to the honest client.
    pub(crate) answered: usize,
    /// Writes of rogues that came before the game.
    pub(crate) written: usize,
}

/// Plays an input.
///
/// # Panics
/// If the room does what it should not.
pub(crate) fn session(data: &[u8], reached: &mut Reached) {
    let before = counting::held();
    let mut input = Input(data);
    let mut play = Play::new(&mut input, before, reached);
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        play.step(&mut input);
        play.check();
    }
    play.finish();
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Welcomed,
    /// The room closed it: nothing may follow.
    Closed,
}

struct Play<'r> {
    reached: &'r mut Reached,
    room: Runtime<Arena>,
    stages: BTreeMap<ConnectionId, Stage>,
    accounts: BTreeMap<ConnectionId, Option<String>>,
    /// Whose sockets have not ended.
    rogues: BTreeMap<ConnectionId, Rogue>,
    honest: Honest,
    known: Known,
    next: u64,
    now: Duration,
    ticks: u64,
    spoken: usize,
    serial: u64,
    /// IDs that lived once.
    ids: BTreeSet<u64>,
    /// Memory of the thread before.
    before: isize,
}

impl<'r> Play<'r> {
    fn new(input: &mut Input<'_>, before: isize, reached: &'r mut Reached) -> Self {
        let eyes = input.pick(&[Eyes::Everything, Eyes::Near, Eyes::Few, Eyes::Words]);
        let deployed = !input.one_in(3);
        let settings = Settings {
            tick_rate: input.pick(&[1, 4, 20]),
            send_every: input.pick(&[1, 1, 1, 3]),
            seats: 2 + input.below(SEATS - 1),
            update_cap: input.pick(&[limits::PART, limits::UPDATE]),
            window: input.pick(&[limits::PART, limits::WINDOW]),
            hold_seconds: input.pick(&[None, None, Some(0), Some(2), Some(300)]),
            sessions: input.pick(&[
                Sessions::Continue,
                Sessions::Continue,
                Sessions::Several,
                Sessions::Refuse,
            ]),
            events_most: input.pick(&[limits::EVENTS, 8]),
            events_bytes: input.pick(&[limits::EVENTS_BYTES, limits::ROOM_MESSAGE]),
            view_hash: input.one_in(4),
            deployed,
            piece_level: 1,
            ..Settings::default()
        };
        let room = Runtime::new(Arena::new(eyes, deployed), settings, [9; 32]).expect("the room starts");
        let mut play = Play {
            reached,
            room,
            stages: BTreeMap::new(),
            accounts: BTreeMap::new(),
            rogues: BTreeMap::new(),
            honest: Honest::new(),
            known: Known::default(),
            next: 1,
            now: Duration::ZERO,
            ticks: 0,
            spoken: 0,
            serial: 0,
            ids: BTreeSet::new(),
            before,
        };
        play.drain();
        play
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(24) {
            0..=2 => {
                for _ in 0..1 + input.below(3) {
                    self.tick();
                }
            }
            3 => {
                for _ in 0..input.u8() % 64 {
                    self.tick();
                }
            }
            4 | 5 => self.open(input, false),
            6 | 7 => self.open(input, true),
            8..=10 => self.say(input, 1),
            11 => {
                let times = input.u8().into();
                self.say(input, times);
            }
            12 => self.close(input),
            13..=15 => self.edit(input),
            16 => self.speak(input),
            17 => self.kick(input),
            _ => self.honest(input),
        }
        self.drain();
    }

    fn tick(&mut self) {
        if self.ticks < TICKS {
            self.ticks += 1;
            self.force_tick();
        }
    }

    fn force_tick(&mut self) {
        self.now += Duration::from_secs(1) / self.room.settings().tick_rate;
        self.room.tick(self.now);
        self.known.now = self.room.now();
        self.drain();
        let window = self.room.settings().window.max(limits::WINDOW_LEAST);
        for conn in self.room.room().connections().map(room::Connection::id) {
            // One entity goes whatever its size; leaves go always; parts and groups have heads.
            let most = window + limits::ENTITY + limits::CLAIM;
            let bytes = self.room.room().unacknowledged_bytes(conn);
            assert!(bytes <= most, "{bytes} bytes on the wire, the window is {window}");
        }
    }

    fn connect(&mut self, identity: Identity, hello: &session::Hello) {
        let conn = ConnectionId(self.next);
        self.next += 1;
        self.stages.insert(conn, Stage::Waiting);
        self.accounts.insert(conn, identity.account.clone());
        let mut first = Vec::new();
        hello.encode(&mut first);
        let hello = session::admit(&first, &Arena::schema()).expect("the hello is right");
        let mut token = [0x5a; 16];
        token[..8].copy_from_slice(&conn.0.to_be_bytes());
        self.room.handle_open(conn, self.now, Join { hello, identity, token: Token(token) });
        self.drain();
    }

    fn open(&mut self, input: &mut Input<'_>, resume: bool) {
        let waiting = self.rogues.keys().filter(|conn| self.stages[conn] == Stage::Waiting).count();
        if waiting >= WAITING {
            return;
        }
        let ids: Vec<EntityId> = self.ids.iter().filter_map(|id| EntityId::from_wire(*id)).collect();
        let resume = resume.then(|| self.known.resume(input, ids.into_iter()));
        // Mostly as whom the session is of, but never with the honest client's account.
        let owner = resume.as_ref().and_then(|resume| {
            self.known
                .tokens
                .iter()
                .find(|(session, ..)| *session == resume.session)
                .map(|(_, _, account)| account)
        });
        let account = match owner {
            Some(account) if !input.one_in(5) && account.as_deref() != Some(honest::NAME) => account.clone(),
            _ => input.pick(&rogue::ACCOUNTS).map(str::to_owned),
        };
        let name = input.pick(&["Bo", "Bo", "Bo", "Bo", "Bo", "refused", "failing"]);
        let hello = rogue::hello(name, resume);
        let conn = ConnectionId(self.next);
        self.rogues.insert(conn, Rogue::default());
        self.connect(Identity { account }, &hello);
    }

    fn rogue(&self, input: &mut Input<'_>) -> Option<ConnectionId> {
        self.rogues.keys().rev().nth(input.below(self.rogues.len().min(8))).copied()
    }

    fn say(&mut self, input: &mut Input<'_>, times: usize) {
        let Some(conn) = self.rogue(input) else { return };
        let ids = self.ids.iter().filter_map(|id| EntityId::from_wire(*id));
        let mut bytes = self.rogues[&conn].message(input, ids);
        if input.one_in(4) {
            rogue::damage(input, &mut bytes);
        }
        for _ in 0..times {
            self.room.handle_message(conn, self.now, &bytes);
            self.drain();
        }
    }

    fn close(&mut self, input: &mut Input<'_>) {
        let Some(conn) = self.rogue(input) else { return };
        let how = match input.below(6) {
            0 => {
                self.room.handle_message(conn, self.now, &[room::wire::message::tag::LEAVE]);
                return;
            }
            1 => Closed::WithFrame,
            2 => Closed::Silent,
            3 => Closed::FellBehind,
            _ => Closed::Broken,
        };
        self.rogues.remove(&conn);
        self.room.handle_close(conn, self.now, how);
    }

    fn edit(&mut self, input: &mut Input<'_>) {
        let room = self.room.parts_mut().1;
        let id = 2 + u64::from(input.u8() % 64);
        let entity = EntityId::from_wire(id).expect("it is one");
        let (x, size) = (f64::from(input.u8() % 64), usize::from(input.u16()) % limits::BLOB);
        let data = || Bytes::from((0..size).map(|n| ((n * n) >> 7) as u8).collect::<Vec<_>>());
        match input.below(10) {
            0 | 1 => {
                room.delete(entity);
            }
            2 if room.count::<Chest>() < CHESTS => {
                let chest = Chest { x, data: data(), list: Json::new(vec![x as i64; size % 20]) };
                room.delete(entity);
                let _ = room.create_with_id(id, chest);
            }
            3 if room.entities() < ENTITIES => {
                room.delete(entity);
                let owner = PlayerId(1 + id as u32 % 4);
                let _ = room.create_with_id(id, Unit { owner, x, hp: size as u32, ..Unit::default() });
            }
            4 if room.entities() < ENTITIES => {
                let _ = room.create(Spark { x, heat: size as i16 }).map(|id| self.ids.insert(id.get()));
                let _ = room.create(Vault { secret: size as u64 });
            }
            5 => {
                let sparks: Vec<_> = room.all::<Spark>().map(|(id, _)| id).collect();
                sparks.first().map(|id| room.delete(*id));
            }
            6 => room.state_mut::<Board>().set_text("b".repeat(size % limits::TEXT)).expect("it fits"),
            7 => {
                let player = PlayerId(1 + id as u32 % 4);
                if let Some(mut hand) = room.private_mut::<Hand>(player) {
                    hand.set_deck(data()).expect("it fits");
                }
            }
            8 => {
                if let Some(mut chest) = room.id::<Chest>(entity).and_then(|id| room.get_mut(id)) {
                    let _ = chest.patch_data(size / 2, &[x as u8; 9]);
                    chest.set_x(x);
                }
            }
            _ => {
                if let Some(mut unit) = room.id::<Unit>(entity).and_then(|id| room.get_mut(id)) {
                    unit.set_x(x);
                    unit.set_hp(size as u32);
                }
            }
        }
        self.ids.insert(id);
    }

    /// The game says something.
    fn speak(&mut self, input: &mut Input<'_>) {
        let (len, conn) = (usize::from(input.u16()) % limits::ROOM_PAYLOAD, self.rogue(input));
        let len = len.min(limits::ROOM_PAYLOAD - 16);
        self.spoken += len;
        if self.spoken > SPOKEN {
            return;
        }
        let tale = (0_u64, "s".repeat(len));
        let id = EntityId::from_wire(2 + u64::from(input.u8() % 64)).expect("it is one");
        let room = self.room.parts_mut().1;
        let conn = conn.unwrap_or(ConnectionId(0));
        let player = room.connection(conn).map_or(PlayerId(0), room::Connection::player);
        // Some of these are none of the room's, which is an error and no more.
        let _ = match input.below(10) {
            0 => room.send(conn, &tale),
            1 => room.send_player(player, &tale),
            2 => room.broadcast(&tale),
            3 => room.send_seeing(id, &tale),
            4 => room.send_key("even", &tale),
            5 => room.send_transient(conn, &tale),
            6 => room.send_transient_player(player, &tale),
            7 => room.broadcast_transient(&tale),
            8 => room.send_transient_seeing(id, &tale),
            _ => room.send_transient_key("odd", &tale),
        };
    }

    fn kick(&mut self, input: &mut Input<'_>) {
        let player = PlayerId(u32::from(input.u8()) % 9);
        if input.one_in(2) {
            self.room.parts_mut().1.kick(player, "k".repeat(input.u8().into()));
        }
    }

    fn honest(&mut self, input: &mut Input<'_>) {
        match input.below(12) {
            0 | 1 => self.honest.count(),
            2 => self.honest.call(input.pick(&["double", "nothing", "rare"]), input.u8().into()),
            3 | 4 => self.tell_honest(),
            5 => self.honest.event(&game::Say::Stand(f64::from(input.u8() % 64))),
            6 => self.honest.hide(input.one_in(2)),
            7 => self.honest.silent = input.one_in(2),
            8 => {
                let how = input.pick(&[Closed::Broken, Closed::WithFrame, Closed::Silent]);
                self.hang_up(how);
            }
            9 if self.honest.seat.is_some() => {
                // Its welcome will be lost.
                self.dial();
                self.honest.deaf = self.honest.conn.is_some();
            }
            _ => {
                if self.honest.deaf || self.honest.conn.is_none() {
                    self.hang_up(Closed::Broken);
                    self.dial();
                }
            }
        }
    }

    fn tell_honest(&mut self) {
        let Some(seat) = self.honest.seat else { return };
        let room = self.room.parts_mut().1;
        if room.sessions_of(seat.player).any(|session| session == seat.session) {
            self.serial += 1;
            room.send_player(seat.player, &(self.serial, "")).expect("it is short");
        }
    }

    fn hang_up(&mut self, how: Closed) {
        if let Some(conn) = self.honest.conn {
            self.honest.hang_up();
            self.room.handle_close(conn, self.now, how);
        }
    }

    /// The honest client connects. Nothing that others do makes its resume fail while its session lives.
    fn dial(&mut self) {
        let lived = self.honest.seat.is_some_and(|seat| {
            self.room.room().sessions_of(seat.player).any(|session| session == seat.session)
        });
        let resume: Option<Resume> = self.honest.dial(ConnectionId(self.next));
        self.connect(Identity::account(honest::NAME), &rogue::hello(honest::NAME, resume));
        assert!(!lived || self.honest.conn.is_some(), "a resume with the right token was refused");
    }

    /// Takes all that the room has for sockets and log.
    fn drain(&mut self) {
        loop {
            while let Some(transmit) = self.room.poll_transmit() {
                let conn = transmit.conn;
                let stage = self.stages.get_mut(&conn).expect("a connection that was opened");
                assert_ne!(*stage, Stage::Closed, "nothing follows a close: {transmit:?}");
                let honest = self.honest.conn == Some(conn);
                match transmit.outgoing {
                    Outgoing::Abort => {
                        *stage = Stage::Closed;
                        self.reached.codes.insert(0);
                        if honest {
                            self.honest.hang_up();
                        }
                    }
                    Outgoing::Close { code, reason } => {
                        assert!(reason.len() <= limits::CLOSE_REASON);
                        assert!(CODES.contains(&code), "{code}: {reason}");
                        *stage = Stage::Closed;
                        self.reached.codes.insert(code);
                        if honest {
                            self.honest.closed(code);
                        }
                    }
                    Outgoing::Message(bytes) => {
                        assert!(bytes.len() <= limits::ROOM_MESSAGE);
                        let message = RoomMessage::decode(bytes).expect("the room's messages decode");
                        match message {
                            RoomMessage::Welcome(welcome) => {
                                assert_eq!(*stage, Stage::Waiting, "one welcome");
                                *stage = Stage::Welcomed;
                                let account = self.accounts[&conn].clone();
                                self.known.tokens.push((welcome.session, welcome.token, account));
                                self.known.generation = welcome.generation;
                                self.reached.resumed[usize::from(honest)] += usize::from(welcome.resumed);
                            }
                            RoomMessage::Result { .. } | RoomMessage::Failed(_) => {
                                self.reached.answered += usize::from(honest);
                            }
                            RoomMessage::Pong { .. } => {}
                            _ => {}
                        }
                        let early = matches!(message, RoomMessage::Pong { .. });
                        assert!(early || *stage == Stage::Welcomed, "nothing comes before the welcome");
                        if honest {
                            self.honest.take(&message);
                        } else if let Some(rogue) = self.rogues.get_mut(&conn) {
                            rogue.hear(&message);
                        }
                    }
                }
            }
            while self.room.poll_log().is_some() {}
            self.honest.acknowledge();
            let Some(conn) = self.honest.conn.filter(|_| !self.honest.out.is_empty()) else { return };
            while let Some(bytes) = self.honest.out.pop_front() {
                self.room.handle_message(conn, self.now, &bytes);
            }
        }
    }
}

/// The codes with which a room closes connections.
pub(crate) const CODES: [u16; 10] = [
    code::LEFT,
    code::BAD_MESSAGE,
    code::SECOND_HELLO,
    code::NOT_ALLOWED,
    code::FULL,
    code::REPLACED,
    code::NO_SESSION,
    code::FLOOD,
    code::KICKED,
    code::JOIN_REFUSED,
];

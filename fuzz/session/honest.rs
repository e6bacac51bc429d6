//! A client that keeps to the rules whatever its link does: it checks that events come exactly once and in order,
//! that each call gets one result, and holds a replica.

use std::collections::{BTreeSet, VecDeque};

use room::entity::Visible;
use room::session::{Claim, Resume, Token, code};
use room::wire::message::{Ack, Call, ClientMessage, RoomMessage, Welcome};
use room::wire::payload;
use room::{ConnectionId, EntityId, Game as _, PlayerId, SessionId, Tick, limits};
use room_client::replica::Replica;

use super::game::{Arena, Say, Tale};

pub(crate) const NAME: &str = "honest";

/// Its session, as the last welcome named it.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    pub(crate) session: SessionId,
    pub(crate) player: PlayerId,
    token: Token,
    generation: u64,
    incarnation: u64,
}

/// Something said that the room has not acknowledged.
struct Kept {
    number: u64,
    message: Saying,
}

enum Saying {
    Event(Vec<u8>),
    Call(&'static str, Vec<u8>),
}

pub(crate) struct Honest {
    pub(crate) conn: Option<ConnectionId>,
    pub(crate) seat: Option<Seat>,
    pub(crate) replica: Replica,
    /// Whether its connection was welcomed.
    pub(crate) joined: bool,
    /// It reads nothing of what comes over this connection.
    pub(crate) deaf: bool,
    /// It applies what comes, and acknowledges nothing.
    pub(crate) silent: bool,
    pub(crate) hidden: bool,
    /// The number of the last event that it has, and of the last that came over this connection.
    received: u64,
    at: u64,
    /// The tick of the last update that it applied on this connection.
    applied: Tick,
    /// What it acknowledged last.
    told: Option<Ack>,
    kept: VecDeque<Kept>,
    /// The last number that it gave, and that it put on this connection's wire.
    number: u64,
    wired: u64,
    counted: u64,
    calls: BTreeSet<u64>,
    /// The last of the game's numbers that came in this session.
    serial: Option<u64>,
    /// What it has to say.
    pub(crate) out: VecDeque<Vec<u8>>,
}

impl Honest {
    pub(crate) fn new() -> Honest {
        Honest {
            conn: None,
            seat: None,
            replica: Replica::new(&Arena::schema()),
            joined: false,
            deaf: false,
            silent: false,
            hidden: false,
            received: 0,
            at: 0,
            applied: Tick::ZERO,
            told: None,
            kept: VecDeque::new(),
            number: 0,
            wired: 0,
            counted: 0,
            calls: BTreeSet::new(),
            serial: None,
            out: VecDeque::new(),
        }
    }

    /// Starts over a new connection; returns what it resumes.
    pub(crate) fn dial(&mut self, conn: ConnectionId) -> Option<Resume> {
        self.hang_up();
        self.conn = Some(conn);
        let Seat { session, token, generation, incarnation, .. } = self.seat?;
        let (complete, ids) = self.replica.claim();
        let claim = Claim { generation, incarnation, complete, ids };
        Some(Resume { session, token, received: self.received, claim })
    }

    /// Its connection is gone.
    pub(crate) fn hang_up(&mut self) {
        self.conn = None;
        (self.joined, self.deaf, self.hidden) = (false, false, false);
        self.out.clear();
        self.replica.discard_update();
    }

    /// Its session is gone, and what was not delivered with it.
    pub(crate) fn lose(&mut self) {
        self.seat = None;
        self.start_over();
    }

    fn start_over(&mut self) {
        self.replica.clear();
        self.kept.clear();
        self.calls.clear();
        (self.received, self.counted, self.serial) = (0, 0, None);
    }

    pub(crate) fn closed(&mut self, close: u16) {
        self.hang_up();
        match close {
            code::FULL | code::FLOOD => {}
            code::NO_SESSION | code::KICKED | code::LEFT => self.lose(),
            other => panic!("an honest client was closed with {other}"),
        }
    }

    /// The next number for the room to check.
    pub(crate) fn count(&mut self) {
        self.counted += 1;
        let n = self.counted;
        self.event(&Say::Count(n));
    }

    pub(crate) fn event(&mut self, say: &Say) {
        let mut bytes = Vec::new();
        payload::encode(say, limits::CLIENT_PAYLOAD, &mut bytes).expect("it fits");
        self.keep(Saying::Event(bytes));
    }

    pub(crate) fn call(&mut self, name: &'static str, n: i64) {
        if self.calls.len() < limits::CALLS {
            let mut bytes = Vec::new();
            payload::encode(&n, limits::CLIENT_PAYLOAD, &mut bytes).expect("it fits");
            self.keep(Saying::Call(name, bytes));
            self.calls.insert(self.number);
        }
    }

    fn keep(&mut self, message: Saying) {
        self.number += 1;
        self.kept.push_back(Kept { number: self.number, message });
        self.flush();
    }

    /// Puts on the wire what is not there yet.
    fn flush(&mut self) {
        if !self.joined || self.deaf {
            return;
        }
        let wired = self.wired;
        for Kept { number, message } in self.kept.iter().filter(|kept| kept.number > wired) {
            let gap = number - self.wired;
            let message = match message {
                Saying::Event(payload) => ClientMessage::Event { gap, payload },
                Saying::Call(name, payload) => {
                    ClientMessage::Call(Call { gap, name, through: None, deadline: Tick::ZERO, payload })
                }
            };
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            self.out.push_back(bytes);
            self.wired = *number;
        }
    }

    pub(crate) fn hide(&mut self, hidden: bool) {
        if self.joined && !self.deaf {
            self.hidden = hidden;
            self.say(&ClientMessage::Hidden(hidden));
        }
    }

    pub(crate) fn say(&mut self, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.out.push_back(bytes);
    }

    /// Takes a message of its connection.
    pub(crate) fn take(&mut self, message: &RoomMessage<'_>) {
        if self.deaf {
            return;
        }
        match message {
            RoomMessage::Welcome(welcome) => self.welcome(welcome),
            RoomMessage::Update(part) => {
                let applied = self.replica.handle_part(part).expect("updates for an honest client apply");
                self.applied = applied.map_or(self.applied, |applied| applied.tick);
            }
            RoomMessage::Event(payload) => {
                if self.is_new() {
                    let (serial, _): Tale = payload::decode(payload).expect("the game's events decode");
                    if serial != 0 {
                        let before = self.serial.replace(serial);
                        assert!(
                            before.is_none_or(|before| serial == before + 1),
                            "{serial} behind {before:?}"
                        );
                    }
                }
            }
            RoomMessage::Result { call, .. } => {
                if self.is_new() {
                    assert!(self.calls.remove(call), "one result for each call");
                }
            }
            RoomMessage::Failed(number) => {
                if self.is_new() {
                    assert!(*number <= self.number, "what failed was sent");
                }
            }
            RoomMessage::Ack(number) => {
                assert!(*number <= self.wired, "what is acknowledged was sent");
                while self.kept.front().is_some_and(|kept| kept.number <= *number) {
                    self.kept.pop_front();
                }
            }
            RoomMessage::Transient(_) | RoomMessage::Stepped { .. } | RoomMessage::Pong { .. } => {}
            RoomMessage::Closing(_) => panic!("no closing from within a room"),
        }
    }

    fn welcome(&mut self, welcome: &Welcome<'_>) {
        assert!(!self.joined, "one welcome a connection");
        self.joined = true;
        if welcome.resumed {
            assert_eq!(self.seat.map(|seat| seat.session), Some(welcome.session));
            assert!(welcome.sent <= self.received, "nothing that it has not got counts as sent");
            self.replica.rebase();
        } else {
            assert!(self.seat.is_none(), "a resume with a good token resumes");
            self.start_over();
            self.received = welcome.sent;
        }
        self.replica.retain(welcome.retain as usize);
        self.at = welcome.sent;
        self.wired = welcome.received;
        self.number = self.number.max(welcome.received);
        (self.applied, self.told) = (Tick::ZERO, None);
        let Welcome { session, player, token, generation, incarnation, .. } = *welcome;
        self.seat = Some(Seat { session, player, token, generation, incarnation });
        self.flush();
    }

    /// Counts a numbered message; returns whether it has not come before.
    fn is_new(&mut self) -> bool {
        self.at += 1;
        let new = self.at > self.received;
        if new {
            assert_eq!(self.at, self.received + 1, "no number is left out");
            self.received = self.at;
        }
        new
    }

    /// Acknowledges, where something differs.
    pub(crate) fn acknowledge(&mut self) {
        if !self.joined || self.deaf || self.silent {
            return;
        }
        let parts = self.replica.open_parts() as u32;
        let ack = Ack { tick: self.applied, parts, events: self.received };
        if self.told != Some(ack) {
            self.told = Some(ack);
            self.say(&ClientMessage::Ack(ack));
        }
    }

    /// Whether everything that it said was handled and answered.
    pub(crate) fn is_settled(&self) -> bool {
        self.joined && self.kept.is_empty() && self.calls.is_empty()
    }

    /// The entities of a kind that it holds.
    pub(crate) fn all<K: Visible>(&self) -> impl Iterator<Item = (EntityId, &K)> + '_ {
        self.replica.all::<K>().map(|(id, entity)| (id.entity(), entity))
    }
}

//! Strangers that speak the wire by hand: old tokens, guessed ones, those of other rooms or accounts, claims of what
//! they do not hold, half-open sockets.

use room::session::{Claim, Hello, Resume, Token, code};
use room::wire::PROTOCOL_VERSION;
use room::wire::deflate::Inflater;
use room::wire::message::{ClientMessage, RoomMessage};
use room::wire::update::Part;
use room::{EntityId, Game, PlayerId, SessionId, Tick};

use super::edge::{Owner, no_secret_but};
use super::game::World;
use super::net::Item;
use super::run::Sim;

/// What a stranger is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Says nothing, or goes at once.
    HalfOpen,
    /// Brings a token that may be any.
    Replay,
    /// Has a good token, and another account.
    Foreign,
    /// Has a good token, and lies about what it holds.
    Liar,
    /// Says what is no message.
    Babble,
}

pub(crate) struct Rogue {
    pub(crate) aim: Aim,
    inflater: Inflater,
    content: Vec<u8>,
    until: u64,
}

impl std::fmt::Debug for Rogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.aim)
    }
}

impl Rogue {
    /// A part was sent: nothing of others may be in it.
    pub(crate) fn part(&mut self, bytes: &[u8], player: PlayerId) {
        let part = Part::decode(bytes).expect("the room's parts decode");
        self.content.clear();
        if let Some((plain, packed)) = part.deflated {
            self.inflater.inflate(packed, plain, &mut self.content).expect("the room's parts inflate");
        }
        self.content.extend_from_slice(part.plain);
        no_secret_but(&[player.0], &self.content);
    }
}

impl Sim {
    /// A stranger may come.
    pub(crate) fn strangers(&mut self) {
        if !self.rng.millionths(self.plan.rogues) {
            return;
        }
        let aim =
            *self.rng.pick(&[Aim::HalfOpen, Aim::Replay, Aim::Replay, Aim::Foreign, Aim::Liar, Aim::Babble]);
        let sessions: Vec<SessionId> = self.books.keys().copied().collect();
        if sessions.is_empty() {
            return;
        }
        // Mostly one of the latest: the others have ended.
        let recent = sessions.len().saturating_sub(self.plan.clients + 2);
        let from = if self.rng.one_in(6) { 0 } else { recent };
        let session = *self.rng.pick(&sessions[from..]);
        let book = &self.books[&session];
        if aim == Aim::Liar && book.conn.is_none() && !self.rng.one_in(4) {
            return;
        }
        let (account, tokens, good) = (book.account.clone(), book.tokens.clone(), book.good_token());
        let acknowledged = book.acknowledged;
        let token = match aim {
            Aim::Replay if self.rng.one_in(4) => Token(self.rng.bytes()),
            Aim::Replay => *self.rng.pick(&tokens),
            _ => good,
        };
        let session = if aim == Aim::Replay && self.rng.one_in(8) {
            SessionId(self.rng.below(1 << 40))
        } else {
            session
        };
        let account = if aim == Aim::Foreign {
            *self.rng.pick(&[None, Some("a stranger")])
        } else {
            account.as_deref()
        };
        if aim == Aim::Foreign && account == self.books[&session].account.as_deref() {
            return;
        }
        let auth = auth(account);
        let received = *self.rng.pick(&[acknowledged, acknowledged, 0, u64::MAX >> 12]);
        let resume = Resume { session, token, received, claim: self.lie(aim) };
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            schema_hash: World::schema().hash(),
            name: String::from("rogue"),
            auth,
            resume: Some(resume),
            ..Hello::default()
        };
        self.count("strangers");
        self.trace(|| format!("a stranger comes: {aim:?} with {hello:?}"));
        let until = self.now + self.rng.between(200, 3000);
        let rogue = Rogue { aim, inflater: Inflater::new(), content: Vec::new(), until };
        let id = self.connect(Owner::Rogue(Box::new(rogue)));
        let mut bytes = Vec::new();
        match aim {
            Aim::HalfOpen if self.rng.one_in(2) => return,
            Aim::Babble => bytes = self.rng.noise(40),
            _ => ClientMessage::Hello(hello).encode(&mut bytes),
        }
        let socket = self.sockets.get_mut(&id).expect("it was made");
        socket.up.push(Item::Message(bytes));
    }

    fn lie(&mut self, aim: Aim) -> Claim {
        if aim != Aim::Liar && self.rng.one_in(2) {
            return Claim::default();
        }
        let now = self.runtime.now().0;
        let (generation, incarnation) = self.generation;
        let mut ids: Vec<EntityId> = (0..self.rng.below(80))
            .filter_map(|_| match self.rng.below(8) {
                0 => EntityId::from_wire(1 + self.rng.below(1 << 53)),
                1 => Some(EntityId::STATE),
                _ => EntityId::from_wire(1 + self.rng.below(120)),
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        Claim {
            generation: if self.rng.one_in(4) { self.rng.next() } else { generation },
            incarnation: if self.rng.one_in(4) { self.rng.below(9) } else { incarnation },
            complete: Tick(match self.rng.below(4) {
                0 => self.rng.next() >> 12,
                1 => now,
                _ => self.rng.below(now + 1),
            }),
            ids,
        }
    }

    /// What came to a stranger; returns whether it goes.
    pub(crate) fn stranger(&mut self, id: u64) -> bool {
        let now = self.now;
        while let Some(item) = self.sockets.get_mut(&id).and_then(|socket| socket.down.arrive(now)) {
            let socket = &self.sockets[&id];
            let Owner::Rogue(rogue) = &socket.owner else { return false };
            let aim = rogue.aim;
            match item {
                Item::Message(bytes) => match RoomMessage::decode(&bytes) {
                    Ok(RoomMessage::Welcome(welcome)) => {
                        assert!(aim != Aim::Foreign, "a stranger was welcomed");
                        self.generation = (welcome.generation, welcome.incarnation);
                    }
                    Ok(_) => {}
                    Err(error) => panic!("a stranger was sent what does not decode: {error}"),
                },
                Item::Close { code, .. } => {
                    let fine = match aim {
                        Aim::Foreign => [
                            code::NOT_ALLOWED,
                            code::NO_SESSION,
                            code::REPLACED,
                            code::GOING_AWAY,
                            code::FAILED,
                        ]
                        .contains(&code),
                        _ => true,
                    };
                    assert!(fine, "a stranger of another account was closed with {code}");
                    return true;
                }
            }
        }
        let socket = &self.sockets[&id];
        let Owner::Rogue(rogue) = &socket.owner else { return false };
        rogue.until <= now || socket.client_learns.is_some_and(|at| at <= now)
    }
}

/// MessagePack of an account's name; empty for a guest.
pub(crate) fn auth(account: Option<&str>) -> Vec<u8> {
    account.map_or_else(Vec::new, |account| {
        let mut bytes = vec![0xa0 | account.len() as u8];
        bytes.extend_from_slice(account.as_bytes());
        bytes
    })
}

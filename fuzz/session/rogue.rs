//! A client that keeps to no rule: messages of every kind with any fields, damaged or made of nothing.

use room::session::{Claim, Hello, Resume, Token};
use room::wire::message::{Ack, Call, ClientMessage, RoomMessage, WriteEntry};
use room::wire::update::Part;
use room::wire::{PROTOCOL_VERSION, payload};
use room::{EntityId, Game as _, SessionId, Tick, limits};

use super::game::{Arena, Push, Say};
use super::input::Input;

/// A connection that is not the honest client's.
#[derive(Default)]
pub(crate) struct Rogue {
    /// The tick of the last update that it was sent, and how many numbered messages.
    updated: Tick,
    numbered: u64,
}

/// What is known of sessions to whoever listens everywhere.
#[derive(Default)]
pub(crate) struct Known {
    /// Every session with every token it ever had, and its account.
    pub(crate) tokens: Vec<(SessionId, Token, Option<String>)>,
    pub(crate) generation: u64,
    pub(crate) now: Tick,
}

/// The number by which units travel: state and private state come first.
const UNIT: u8 = 2;

pub(crate) const ACCOUNTS: [Option<&str>; 4] = [None, Some("ada"), Some("bo"), None];

pub(crate) fn hello(name: &str, resume: Option<Resume>) -> Hello {
    let schema_hash = Arena::schema().hash();
    Hello { protocol: PROTOCOL_VERSION, schema_hash, name: name.into(), resume, ..Hello::default() }
}

impl Known {
    /// A resume of some session, with some token and some claim.
    pub(crate) fn resume(&self, input: &mut Input<'_>, ids: impl Iterator<Item = EntityId>) -> Resume {
        let guess = (SessionId(input.number()), Token([input.u8(); 16]), None);
        // The latest are the good ones.
        let from_end = input.below(self.tokens.len().max(1)).min(input.below(8));
        let known = self.tokens.iter().rev().nth(from_end).unwrap_or(&guess);
        let other = self.tokens.get(input.below(self.tokens.len().max(1))).unwrap_or(&guess);
        let (session, token) = match input.below(8) {
            0 => (guess.0, guess.1),
            1 => (known.0, other.1),
            2 => (other.0, known.1),
            _ => (known.0, known.1),
        };
        Resume { session, token, received: input.number(), claim: self.claim(input, ids) }
    }

    fn claim(&self, input: &mut Input<'_>, ids: impl Iterator<Item = EntityId>) -> Claim {
        let now = self.now.0;
        let complete = match input.below(4) {
            0 => now,
            1 => now.saturating_sub(input.u8().into()),
            2 => now + 1 + u64::from(input.u8()),
            _ => input.number(),
        };
        let ids: Vec<EntityId> = match input.below(5) {
            0 => Vec::new(),
            1 => ids.collect(),
            2 => {
                let bits = input.u16();
                let some = ids.enumerate().filter(|(n, _)| bits >> (n % 16) & 1 == 1);
                some.map(|(_, id)| id).collect()
            }
            // As many as fit.
            3 if input.one_in(16) => (1..=limits::CLAIM as u64).filter_map(EntityId::from_wire).collect(),
            _ => {
                let mut ids: Vec<EntityId> =
                    (0..input.below(9)).filter_map(|_| EntityId::from_wire(input.number())).collect();
                ids.sort_unstable();
                ids.dedup();
                ids
            }
        };
        let generation = if input.one_in(6) { input.number() } else { self.generation };
        Claim { generation, incarnation: input.number() % 3, complete: Tick(complete), ids }
    }
}

fn encoded(message: &ClientMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

fn value<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload::encode(value, limits::CLIENT_PAYLOAD, &mut bytes).expect("it fits");
    bytes
}

fn say(input: &mut Input<'_>) -> Say {
    match input.below(9) {
        0 => Say::Count(input.number()),
        1 => Say::Text("t".repeat(usize::from(input.u16()) % 20_000)),
        2 => Say::Stand(f64::from(input.u8()) - 20.0),
        3 => Say::Stand(f64::from_bits(input.number())),
        4 | 5 => Say::Make(input.u8()),
        6 => Say::Delete(input.u8().into()),
        7 => Say::Echo(input.u16()),
        _ => Say::Panic,
    }
}

fn gap(input: &mut Input<'_>) -> u64 {
    if input.one_in(6) { input.number().max(1) } else { 1 }
}

/// A call, of the right type or of another.
fn call(input: &mut Input<'_>, ids: impl Iterator<Item = EntityId>) -> Vec<u8> {
    let name = input.pick(&["double", "large", "fail", "nothing"]);
    let body = match (name, input.one_in(12)) {
        ("double", false) => value(&(input.number() as i64)),
        ("large", false) => value(&input.u16()),
        ("fail", false) => value(&()),
        _ => value(&"something else"),
    };
    let through = input.one_in(3).then(|| ids.take(1 + input.below(8)).last()).flatten();
    let deadline = if input.one_in(3) { Tick(input.number()) } else { Tick::ZERO };
    encoded(&ClientMessage::Call(Call { gap: gap(input), name, through, deadline, payload: &body }))
}

impl Rogue {
    /// Takes note of what it could acknowledge.
    pub(crate) fn hear(&mut self, message: &RoomMessage<'_>) {
        match message {
            RoomMessage::Welcome(welcome) => self.numbered = welcome.sent,
            RoomMessage::Update(part) => {
                let head = Part::decode(part).expect("the room's parts decode").head;
                self.updated = head.map_or(self.updated, |head| head.tick);
            }
            RoomMessage::Event(_) | RoomMessage::Result { .. } | RoomMessage::Failed(_) => self.numbered += 1,
            _ => {}
        }
    }

    /// A message of any kind.
    pub(crate) fn message(&self, input: &mut Input<'_>, ids: impl Iterator<Item = EntityId>) -> Vec<u8> {
        match input.below(12) {
            0 | 1 => {
                let payload = value(&say(input));
                encoded(&ClientMessage::Event { gap: gap(input), payload: &payload })
            }
            2 => encoded(&ClientMessage::Transient(&value(&say(input)))),
            3 | 4 => call(input, ids),
            5 | 6 => encoded(&ClientMessage::Ack(self.ack(input))),
            7 => encoded(&ClientMessage::Hidden(input.one_in(2))),
            8 if input.one_in(4) => encoded(&ClientMessage::Ping(input.number())),
            8 => self.writes(input, ids),
            9 => encoded(&ClientMessage::Event { gap: gap(input), payload: input.bytes(40) }),
            10 => encoded(&ClientMessage::Hello(hello("again", None))),
            _ => match input.below(4) {
                0 => input.bytes(60).to_vec(),
                1 => self.inputs(input),
                _ => self.writes(input, ids),
            },
        }
    }

    /// A tick near the one it has, or any.
    fn inputs(&self, input: &mut Input<'_>) -> Vec<u8> {
        let near = self.updated.0 + u64::from(input.u8() % 80);
        let first = if input.one_in(6) { input.number() } else { near.saturating_sub(20) };
        let pushes: Vec<Vec<u8>> = (0..1 + input.below(limits::INPUTS))
            .map(|_| {
                let by = if input.one_in(6) { f64::from_bits(input.number()) } else { f64::from(input.u8()) };
                value(&Push { by, draw: input.u8() % 3 })
            })
            .collect();
        encoded(&ClientMessage::Inputs {
            first: Tick(first),
            inputs: pushes.iter().map(Vec::as_slice).collect(),
        })
    }

    /// To units, mostly, of whomever.
    fn writes(&self, input: &mut Input<'_>, ids: impl Iterator<Item = EntityId>) -> Vec<u8> {
        let kind = if input.one_in(6) { input.u8() % 8 } else { UNIT };
        let set = if input.one_in(6) { input.u8() } else { 0b1100 };
        let mut fields = vec![set];
        fields.extend(u32::from(input.u8()).to_le_bytes());
        fields.push(input.u8() % 48);
        // Those that lived once, or the first that the room made.
        let known: Vec<EntityId> = ids.skip(input.below(8)).take(1 + input.below(8)).collect();
        let first = 2 + input.below(6) as u64;
        let made = (first..=first + input.below(4) as u64).filter_map(EntityId::from_wire);
        let ids = if input.one_in(3) { known } else { made.collect() };
        let mut entries: Vec<WriteEntry<'_>> =
            ids.iter().map(|id| WriteEntry { kind, id: *id, fields: &fields }).collect();
        if entries.is_empty() {
            entries.push(WriteEntry { kind, id: EntityId::STATE, fields: &fields });
        }
        encoded(&ClientMessage::Writes { number: input.number(), entries })
    }

    /// What it says that it has: as it is, or a lie.
    fn ack(&self, input: &mut Input<'_>) -> Ack {
        match input.below(4) {
            0 | 1 => Ack { tick: self.updated, parts: 0, events: self.numbered },
            2 => Ack { tick: Tick(self.updated.0.saturating_sub(1)), parts: input.u8().into(), events: 0 },
            _ => Ack { tick: Tick(input.number()), parts: input.number() as u32, events: input.number() },
        }
    }
}

/// Damages a message.
pub(crate) fn damage(input: &mut Input<'_>, bytes: &mut Vec<u8>) {
    let at = input.below(bytes.len().max(1)).min(bytes.len());
    match input.below(4) {
        0 => bytes.truncate(at),
        1 if !bytes.is_empty() => bytes[at] ^= 1 << input.below(8),
        2 => bytes.insert(at, input.u8()),
        _ => bytes.extend_from_slice(input.bytes(9)),
    }
}

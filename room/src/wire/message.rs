//! Every message but the insides of an update: a tag, then fields in order.

mod hello;
mod play;
mod welcome;

pub use hello::{Claim, Hello, Resume, Token, claim_fits, hello_protocol};
pub use play::{Report, WriteEntry, writes_number};
pub use welcome::{Closing, Welcome, welcome_protocol};

use super::{DecodeError, Reader, varint};
use crate::entity::EntityId;
use crate::limits;
use crate::tick::Tick;

/// First bytes of messages: below 0x80 from a client, above from the room.
pub mod tag {
    /// A client's first message.
    pub const HELLO: u8 = 0x01;
    /// A game's message from a client, delivered exactly once.
    pub const CLIENT_EVENT: u8 = 0x02;
    /// A game's message from a client, lost with the connection.
    pub const CLIENT_TRANSIENT: u8 = 0x03;
    /// What a player does in some ticks.
    pub const INPUT: u8 = 0x04;
    /// Fields that a player writes of what she owns.
    pub const WRITE: u8 = 0x05;
    /// A request, which gets one result.
    pub const CALL: u8 = 0x06;
    /// The client's page is hidden, or shown again.
    pub const HIDDEN: u8 = 0x08;
    /// What a client has of what the room sent.
    pub const ACK: u8 = 0x0a;
    /// A client's clock.
    pub const PING: u8 = 0x0b;
    /// A client leaves for good.
    pub const LEAVE: u8 = 0x0c;
    /// What a player says of herself in her presence.
    pub const STATUS: u8 = 0x0d;
    /// The room's first message.
    pub const WELCOME: u8 = 0x81;
    /// A part of an update.
    pub const UPDATE: u8 = 0x82;
    /// A game's message from the room, delivered exactly once.
    pub const ROOM_EVENT: u8 = 0x83;
    /// A game's message from the room, lost with the connection.
    pub const ROOM_TRANSIENT: u8 = 0x84;
    /// The result of a call.
    pub const RESULT: u8 = 0x86;
    /// The room failed to handle an event.
    pub const FAILED: u8 = 0x87;
    /// Which inputs and writes of the client are in what it was sent.
    pub const STEPPED: u8 = 0x88;
    /// Which of the client's events the room has handled.
    pub const ROOM_ACK: u8 = 0x8a;
    /// The answer to a ping.
    pub const PONG: u8 = 0x8b;
    /// Why the room is about to refuse a client, where a close reason is too short to say.
    pub const CLOSING: u8 = 0x8f;
}

/// What a client has of what the room sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The tick of the last update that it applied.
    pub tick: Tick,
    /// Parts of the next update that have come, where not all have.
    pub parts: u32,
    /// The number of the last event that its game has taken.
    pub events: u64,
}

/// A request, which gets one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// How much higher its number is than that of the event or call before.
    pub gap: u64,
    /// What is asked for, 1 to 64 bytes.
    pub name: &'a str,
    /// The entity that the caller must own.
    pub through: Option<EntityId>,
    /// The last tick in which the room may handle it; [`Tick::ZERO`] for any.
    pub deadline: Tick,
    /// A game's value: [`payload`](super::payload) not yet looked at.
    pub payload: &'a [u8],
}

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage<'a> {
    /// The first message.
    Hello(Hello),
    /// A game's message.
    Event {
        /// How much higher its number is than that of the one before on this connection; of the first, than the
        /// welcome's `received`.
        gap: u64,
        /// [`payload`](super::payload) not yet looked at.
        payload: &'a [u8],
    },
    /// A game's message that may be lost.
    Transient(&'a [u8]),
    /// A request.
    Call(Call<'a>),
    /// What the player does, tick by tick.
    Inputs {
        /// The tick of the first one.
        first: Tick,
        /// 1 to [`limits::INPUTS`], each of the tick after the one before: [`payload`](super::payload) not yet looked
        /// at, of at most [`limits::INPUT`] bytes.
        inputs: Vec<&'a [u8]>,
    },
    /// Fields that the player writes of what she owns.
    Writes {
        /// Which message of writes it is on this connection; each is higher than the one before.
        number: u64,
        /// 1 to [`limits::WRITES`] entities.
        entries: Vec<WriteEntry<'a>>,
    },
    /// What the player says of herself in her presence.
    Status {
        /// As of an event.
        gap: u64,
        /// At most [`limits::STATUS`] bytes.
        text: &'a str,
    },
    /// Whether the page is hidden.
    Hidden(bool),
    /// What has come.
    Ack(Ack),
    /// The client's clock, in units of its own.
    Ping(u64),
    /// The player leaves for good.
    Leave,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Accepted, with a game's value: [`payload`](super::payload) not yet looked at.
    Accepted(&'a [u8]),
    /// Refused, with a reason of at most [`limits::REFUSAL`] bytes.
    Refused(&'a str),
}

/// A message from the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomMessage<'a> {
    /// The first message.
    Welcome(Welcome<'a>),
    /// A part of an update: the bytes after the tag.
    Update(&'a [u8]),
    /// A game's message. It has a number: one more than that of the event, result or failure before on this
    /// connection; the first is one more than the welcome's `sent`.
    Event(&'a [u8]),
    /// A game's message that may be lost.
    Transient(&'a [u8]),
    /// The result of a call. It has a number, as an event.
    Result {
        /// The call's number.
        call: u64,
        /// The tick that ran it.
        tick: Tick,
        /// How it ended.
        outcome: Outcome<'a>,
    },
    /// The room failed to handle the client's event of this number; it will not be handled again. It has a
    /// number, as an event.
    Failed(u64),
    /// Every event of the client up to this number was handled.
    Ack(u64),
    /// In what the client was sent of its player's own is every input up to a tick, and every write up to a number.
    Stepped {
        /// The last tick that the room has stepped.
        tick: Tick,
        /// The number of the last message of writes that it has handled.
        writes: u64,
    },
    /// The answer to a ping.
    Pong {
        /// The client's clock, as it came.
        clock: u64,
        /// The room's time, in thousandths of a tick.
        time: u64,
        /// What became of the client's inputs since the last answer.
        inputs: Report,
    },
    /// The room is about to close the connection.
    Closing(Closing<'a>),
}

impl<'a> ClientMessage<'a> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            ClientMessage::Hello(hello) => hello.encode(out),
            ClientMessage::Event { gap, payload } => {
                debug_assert!(payload.len() <= limits::CLIENT_PAYLOAD);
                put_number(out, tag::CLIENT_EVENT, *gap);
                out.extend_from_slice(payload);
            }
            ClientMessage::Transient(payload) => put_tagged(out, tag::CLIENT_TRANSIENT, payload),
            ClientMessage::Call(call) => call.put(out),
            ClientMessage::Inputs { first, inputs } => play::put_inputs(out, *first, inputs),
            ClientMessage::Writes { number, entries } => play::put_writes(out, *number, entries),
            ClientMessage::Status { gap, text } => {
                debug_assert!(text.len() <= limits::STATUS);
                put_number(out, tag::STATUS, *gap);
                out.extend_from_slice(text.as_bytes());
            }
            ClientMessage::Hidden(hidden) => put_tagged(out, tag::HIDDEN, &[u8::from(*hidden)]),
            ClientMessage::Ack(ack) => {
                put_number(out, tag::ACK, ack.tick.0);
                varint::put(out, ack.parts.into());
                varint::put(out, ack.events);
            }
            ClientMessage::Ping(clock) => put_number(out, tag::PING, *clock),
            ClientMessage::Leave => out.push(tag::LEAVE),
        }
    }

    /// Reads a message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            tag::HELLO => ClientMessage::Hello(Hello::take(&mut r)?),
            tag::CLIENT_EVENT => ClientMessage::Event {
                gap: take_gap(&mut r)?,
                payload: take_rest(&mut r, limits::CLIENT_PAYLOAD)?,
            },
            tag::CLIENT_TRANSIENT => ClientMessage::Transient(take_rest(&mut r, limits::CLIENT_PAYLOAD)?),
            tag::CALL => ClientMessage::Call(Call::take(&mut r)?),
            tag::INPUT => {
                let (first, inputs) = play::take_inputs(&mut r)?;
                ClientMessage::Inputs { first, inputs }
            }
            tag::WRITE => {
                let (number, entries) = play::take_writes(&mut r)?;
                ClientMessage::Writes { number, entries }
            }
            tag::STATUS => {
                ClientMessage::Status { gap: take_gap(&mut r)?, text: take_text(&mut r, limits::STATUS)? }
            }
            tag::HIDDEN => ClientMessage::Hidden(take_flag(&mut r)?),
            tag::ACK => ClientMessage::Ack(Ack {
                tick: Tick(r.varint()?),
                parts: take_u32(&mut r)?,
                events: r.varint()?,
            }),
            tag::PING => ClientMessage::Ping(r.varint()?),
            tag::LEAVE => ClientMessage::Leave,
            other => return Err(DecodeError::Tag(other)),
        };
        r.end()?;
        Ok(message)
    }

    /// Whether `bytes` begin as one of these messages other than a hello.
    #[must_use]
    pub fn is_later(bytes: &[u8]) -> bool {
        use tag::{ACK, CALL, CLIENT_EVENT, CLIENT_TRANSIENT, HIDDEN, INPUT, LEAVE, PING, STATUS, WRITE};
        let later = [CLIENT_EVENT, CLIENT_TRANSIENT, INPUT, WRITE, CALL, HIDDEN, ACK, PING, LEAVE, STATUS];
        bytes.first().is_some_and(|tag| later.contains(tag))
    }
}

impl<'a> Call<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        debug_assert!((1..=limits::NAME).contains(&self.name.len()));
        debug_assert!(self.payload.len() <= limits::CLIENT_PAYLOAD);
        put_number(out, tag::CALL, self.gap);
        put_blob(out, self.name.as_bytes());
        varint::put(out, self.through.map_or(0, EntityId::get));
        varint::put(out, self.deadline.0);
        out.extend_from_slice(self.payload);
    }

    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let gap = take_gap(r)?;
        let name = r.text(limits::NAME)?;
        if name.is_empty() {
            return Err(DecodeError::Value);
        }
        let through = match r.varint()? {
            0 => None,
            id => Some(EntityId::from_wire(id).ok_or(DecodeError::Value)?),
        };
        let deadline = Tick(r.varint()?);
        Ok(Call { gap, name, through, deadline, payload: take_rest(r, limits::CLIENT_PAYLOAD)? })
    }
}

impl<'a> RoomMessage<'a> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            RoomMessage::Welcome(welcome) => welcome.put(out),
            RoomMessage::Update(part) => put_tagged(out, tag::UPDATE, part),
            RoomMessage::Event(payload) => {
                debug_assert!(payload.len() <= limits::ROOM_PAYLOAD);
                put_tagged(out, tag::ROOM_EVENT, payload);
            }
            RoomMessage::Transient(payload) => {
                debug_assert!(payload.len() <= limits::ROOM_PAYLOAD);
                put_tagged(out, tag::ROOM_TRANSIENT, payload);
            }
            RoomMessage::Result { call, tick, outcome } => {
                put_number(out, tag::RESULT, *call);
                varint::put(out, tick.0);
                let (accepted, rest) = match outcome {
                    Outcome::Accepted(payload) => (1, *payload),
                    Outcome::Refused(reason) => (0, reason.as_bytes()),
                };
                put_tagged(out, accepted, rest);
            }
            RoomMessage::Failed(event) => put_number(out, tag::FAILED, *event),
            RoomMessage::Ack(event) => put_number(out, tag::ROOM_ACK, *event),
            RoomMessage::Stepped { tick, writes } => {
                put_number(out, tag::STEPPED, tick.0);
                varint::put(out, *writes);
            }
            RoomMessage::Pong { clock, time, inputs } => {
                put_number(out, tag::PONG, *clock);
                varint::put(out, *time);
                inputs.put(out);
            }
            RoomMessage::Closing(closing) => closing.put(out),
        }
    }

    /// Reads a message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            tag::WELCOME => RoomMessage::Welcome(Welcome::take(&mut r)?),
            tag::UPDATE => RoomMessage::Update(r.rest()),
            tag::ROOM_EVENT => RoomMessage::Event(take_rest(&mut r, limits::ROOM_PAYLOAD)?),
            tag::ROOM_TRANSIENT => RoomMessage::Transient(take_rest(&mut r, limits::ROOM_PAYLOAD)?),
            tag::RESULT => RoomMessage::Result {
                call: r.varint()?,
                tick: Tick(r.varint()?),
                outcome: Outcome::take(&mut r)?,
            },
            tag::FAILED => RoomMessage::Failed(r.varint()?),
            tag::ROOM_ACK => RoomMessage::Ack(r.varint()?),
            tag::STEPPED => RoomMessage::Stepped { tick: take_tick(&mut r)?, writes: r.varint()? },
            tag::PONG => {
                RoomMessage::Pong { clock: r.varint()?, time: r.varint()?, inputs: Report::take(&mut r)? }
            }
            tag::CLOSING => RoomMessage::Closing(Closing::take(&mut r)?),
            other => return Err(DecodeError::Tag(other)),
        };
        r.end()?;
        Ok(message)
    }
}

impl<'a> Outcome<'a> {
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        if take_flag(r)? {
            return Ok(Outcome::Accepted(take_rest(r, limits::ROOM_PAYLOAD)?));
        }
        take_text(r, limits::REFUSAL).map(Outcome::Refused)
    }
}

/// Whether `name` may be a build's: 1 to 64 letters, digits, `.`, `_`, `-`.
#[must_use]
pub fn is_build(name: &str) -> bool {
    (1..=limits::BUILD).contains(&name.len()) && name.bytes().all(is_build_byte)
}

/// Whether `name` may be a room's: 1 to 64 characters of those that a URL carries as they are. `.` and `..` are
/// steps of a path, which clients resolve and a game that keeps files by room would follow.
#[must_use]
pub fn is_room_name(name: &str) -> bool {
    (1..=limits::ROOM_NAME).contains(&name.len())
        && !matches!(name, "." | "..")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

fn is_build_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn protocol(bytes: &[u8]) -> Result<Option<u32>, DecodeError> {
    if bytes.is_empty() { Ok(None) } else { take_u32(&mut Reader::new(bytes)).map(Some) }
}

fn put_tagged(out: &mut Vec<u8>, tag: u8, rest: &[u8]) {
    out.push(tag);
    out.extend_from_slice(rest);
}

fn put_number(out: &mut Vec<u8>, tag: u8, number: u64) {
    out.push(tag);
    varint::put(out, number);
}

fn put_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_build(out: &mut Vec<u8>, build: Option<&str>) {
    debug_assert!(build.is_none_or(is_build), "checked where it was set: {build:?}");
    put_blob(out, build.unwrap_or_default().as_bytes());
}

fn take_u32(r: &mut Reader<'_>) -> Result<u32, DecodeError> {
    u32::try_from(r.varint()?).map_err(|_| DecodeError::Value)
}

/// A tick that there can be, and behind which there are more.
fn take_tick(r: &mut Reader<'_>) -> Result<Tick, DecodeError> {
    let tick = r.varint()?;
    if tick <= limits::ID_MOST { Ok(Tick(tick)) } else { Err(DecodeError::Value) }
}

fn take_flag(r: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::Value),
    }
}

/// Numbers only grow.
fn take_gap(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    match r.varint()? {
        0 => Err(DecodeError::Value),
        gap => Ok(gap),
    }
}

fn take_build<'a>(r: &mut Reader<'a>) -> Result<Option<&'a str>, DecodeError> {
    match r.text(limits::BUILD)? {
        "" => Ok(None),
        name if is_build(name) => Ok(Some(name)),
        _ => Err(DecodeError::Build),
    }
}

fn take_room<'a>(r: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let name = r.text(limits::ROOM_NAME)?;
    if is_room_name(name) { Ok(name) } else { Err(DecodeError::Value) }
}

fn take_rest<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a [u8], DecodeError> {
    if r.remaining() > most { Err(DecodeError::TooLong) } else { Ok(r.rest()) }
}

/// Text that fills the rest.
fn take_text<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a str, DecodeError> {
    std::str::from_utf8(take_rest(r, most)?).map_err(|_| DecodeError::Text)
}

#[cfg(test)]
mod tests;

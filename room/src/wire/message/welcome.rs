//! The room's first message, and what it says before it refuses.

use super::{Token, is_room_name, put_blob, put_build, tag, take_build, take_room, take_u32};
use crate::entity::{PlayerId, SessionId};
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// The room's first message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Welcome<'a> {
    /// The version of the messages that the room speaks.
    pub protocol: u32,
    /// The room's build.
    pub build: Option<&'a str>,
    /// The room's name, by which the client comes back to it.
    pub room: &'a str,
    /// The session.
    pub session: SessionId,
    /// Which of the session's connections this is, counted from 1.
    pub epoch: u32,
    /// The secret with which the session can be continued.
    pub token: Token,
    /// Who the client is.
    pub player: PlayerId,
    /// The generation of the state. What was held of another one is not asked about again.
    pub generation: u64,
    /// Which run of the room this is.
    pub incarnation: u64,
    /// The room's tick.
    pub tick: Tick,
    /// Ticks a second.
    pub tick_rate: u32,
    /// Ticks between two sends.
    pub send_every: u32,
    /// The most bytes of a game's message from the client.
    pub payload_max: u32,
    /// The most events that the client keeps while they are not acknowledged.
    pub events_max: u32,
    /// The most entities that the client keeps after they left its view; at most [`limits::RETAIN`].
    pub retain: u32,
    /// Whether this continues the session that the client named.
    pub resumed: bool,
    /// The number of the last event that the room has from the client.
    pub received: u64,
    /// The number of the event before the first that the room still holds for the client.
    pub sent: u64,
}

/// What a client with another schema is told before it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing<'a> {
    /// The close code that follows.
    pub code: u16,
    /// The hash of the room's visible kinds.
    pub visible_hash: u64,
    /// The hash of all the room's kinds.
    pub hash: u64,
    /// The room's visible kinds, in the text of [`Schema::text`](crate::Schema::text).
    pub schema: &'a str,
}

impl<'a> Welcome<'a> {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.push(tag::WELCOME);
        varint::put(out, self.protocol.into());
        put_build(out, self.build);
        debug_assert!(is_room_name(self.room), "checked where it was set: {:?}", self.room);
        put_blob(out, self.room.as_bytes());
        varint::put(out, self.session.0);
        varint::put(out, self.epoch.into());
        out.extend_from_slice(&self.token.0);
        varint::put(out, self.player.0.into());
        out.extend_from_slice(&self.generation.to_le_bytes());
        varint::put(out, self.incarnation);
        varint::put(out, self.tick.0);
        for number in [self.tick_rate, self.send_every, self.payload_max, self.events_max, self.retain] {
            varint::put(out, number.into());
        }
        out.push(u8::from(self.resumed));
        varint::put(out, self.received);
        varint::put(out, self.sent);
    }

    pub(super) fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Welcome {
            protocol: take_u32(r)?,
            build: take_build(r)?,
            room: take_room(r)?,
            session: SessionId(r.varint()?),
            epoch: take_u32(r)?,
            token: Token(r.array()?),
            player: PlayerId(take_u32(r)?),
            generation: u64::from_le_bytes(r.array()?),
            incarnation: r.varint()?,
            tick: Tick(r.varint()?),
            tick_rate: take_u32(r)?,
            send_every: take_u32(r)?,
            payload_max: take_u32(r)?,
            events_max: take_u32(r)?,
            retain: take_u32(r).and_then(|most| {
                // A client's memory is bounded, whatever the room says.
                if most as usize <= limits::RETAIN { Ok(most) } else { Err(DecodeError::TooLong) }
            })?,
            resumed: super::take_flag(r)?,
            received: r.varint()?,
            sent: r.varint()?,
        })
    }
}

impl<'a> Closing<'a> {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        debug_assert!(self.schema.len() <= limits::SCHEMA_TEXT);
        out.push(tag::CLOSING);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(&self.visible_hash.to_le_bytes());
        out.extend_from_slice(&self.hash.to_le_bytes());
        put_blob(out, self.schema.as_bytes());
    }

    pub(super) fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Closing {
            code: u16::from_le_bytes(r.array()?),
            visible_hash: u64::from_le_bytes(r.array()?),
            hash: u64::from_le_bytes(r.array()?),
            schema: r.text(limits::SCHEMA_TEXT)?,
        })
    }
}

/// The version that a welcome names; otherwise as [`hello_protocol`](super::hello_protocol), for messages of the
/// room.
pub fn welcome_protocol(bytes: &[u8]) -> Result<Option<u32>, DecodeError> {
    if bytes.first() == Some(&tag::WELCOME) {
        return super::protocol(&bytes[1..]);
    }
    super::RoomMessage::decode(bytes)?;
    Err(DecodeError::Order)
}

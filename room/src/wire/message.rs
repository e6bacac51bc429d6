//! Every message but the insides of an update: a tag, then fields in order.

use super::{DecodeError, Reader, varint};
use crate::entity::PlayerId;
use crate::limits;
use crate::tick::Tick;

/// First bytes of messages: below 0x80 from a client, above from the room.
pub mod tag {
    /// A client's first message.
    pub const HELLO: u8 = 0x01;
    /// A game's message from a client.
    pub const CLIENT_EVENT: u8 = 0x02;
    /// A client took updates up to a tick.
    pub const ACK: u8 = 0x0a;
    /// A client leaves for good.
    pub const LEAVE: u8 = 0x0c;
    /// The room's first message.
    pub const WELCOME: u8 = 0x81;
    /// A part of an update.
    pub const UPDATE: u8 = 0x82;
    /// A game's message from the room.
    pub const ROOM_EVENT: u8 = 0x83;
    /// Why the room is about to refuse a client, where a close reason is too short to say.
    pub const CLOSING: u8 = 0x8f;
}

/// A client's first message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The version of the messages that it speaks.
    pub protocol: u32,
    /// The hash of its schema, hidden kinds and all.
    pub schema_hash: u64,
    /// Its build: 1 to 64 letters, digits, `.`, `_`, `-`.
    pub build: Option<String>,
    /// The player's display name, at most 256 bytes.
    pub name: String,
    /// MessagePack for the room's authentication, at most 4 KiB; empty where it gives none.
    pub auth: Vec<u8>,
}

/// The room's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome<'a> {
    /// The version of the messages that the room speaks.
    pub protocol: u32,
    /// The room's build.
    pub build: Option<&'a str>,
    /// Who the client is.
    pub player: PlayerId,
    /// The room's tick.
    pub tick: Tick,
    /// Ticks a second.
    pub tick_rate: u32,
    /// Ticks between two sends.
    pub send_every: u32,
    /// The most bytes of a game's message from the client.
    pub payload_max: u32,
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

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage<'a> {
    /// The first message.
    Hello(Hello),
    /// A game's message: [`payload`](super::payload) not yet looked at.
    Event(&'a [u8]),
    /// Every update up to this tick has come.
    Ack(Tick),
    /// The player leaves for good.
    Leave,
}

/// A message from the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomMessage<'a> {
    /// The first message.
    Welcome(Welcome<'a>),
    /// A part of an update: the bytes after the tag.
    Update(&'a [u8]),
    /// A game's message: [`payload`](super::payload) not yet looked at.
    Event(&'a [u8]),
    /// The room is about to close the connection.
    Closing(Closing<'a>),
}

impl Hello {
    /// Appends the message. Longer fields than the struct's limits are a bug of the caller.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.name.len() <= limits::DISPLAY_NAME && self.auth.len() <= limits::AUTH);
        out.push(tag::HELLO);
        varint::put(out, self.protocol.into());
        out.extend_from_slice(&self.schema_hash.to_le_bytes());
        put_build(out, self.build.as_deref());
        put_blob(out, self.name.as_bytes());
        put_blob(out, &self.auth);
    }

    fn take(r: &mut Reader<'_>) -> Result<Hello, DecodeError> {
        Ok(Hello {
            protocol: take_u32(r)?,
            schema_hash: u64::from_le_bytes(r.array()?),
            build: take_build(r)?.map(str::to_owned),
            name: r.text(limits::DISPLAY_NAME)?.to_owned(),
            auth: r.blob(limits::AUTH)?.to_vec(),
        })
    }
}

impl<'a> ClientMessage<'a> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            ClientMessage::Hello(hello) => hello.encode(out),
            ClientMessage::Event(payload) => {
                debug_assert!(payload.len() <= limits::CLIENT_PAYLOAD);
                put_tagged(out, tag::CLIENT_EVENT, payload);
            }
            ClientMessage::Ack(tick) => {
                out.push(tag::ACK);
                varint::put(out, tick.0);
            }
            ClientMessage::Leave => out.push(tag::LEAVE),
        }
    }

    /// Reads a message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            tag::HELLO => ClientMessage::Hello(Hello::take(&mut r)?),
            tag::CLIENT_EVENT => ClientMessage::Event(take_rest(&mut r, limits::CLIENT_PAYLOAD)?),
            tag::ACK => ClientMessage::Ack(Tick(r.varint()?)),
            tag::LEAVE => ClientMessage::Leave,
            other => return Err(DecodeError::Tag(other)),
        };
        r.end()?;
        Ok(message)
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
            tag::CLOSING => RoomMessage::Closing(Closing::take(&mut r)?),
            other => return Err(DecodeError::Tag(other)),
        };
        r.end()?;
        Ok(message)
    }
}

impl<'a> Welcome<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(tag::WELCOME);
        varint::put(out, self.protocol.into());
        put_build(out, self.build);
        varint::put(out, self.player.0.into());
        varint::put(out, self.tick.0);
        for number in [self.tick_rate, self.send_every, self.payload_max] {
            varint::put(out, number.into());
        }
    }

    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Welcome {
            protocol: take_u32(r)?,
            build: take_build(r)?,
            player: PlayerId(take_u32(r)?),
            tick: Tick(r.varint()?),
            tick_rate: take_u32(r)?,
            send_every: take_u32(r)?,
            payload_max: take_u32(r)?,
        })
    }
}

impl<'a> Closing<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        debug_assert!(self.schema.len() <= limits::SCHEMA_TEXT);
        out.push(tag::CLOSING);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.extend_from_slice(&self.visible_hash.to_le_bytes());
        out.extend_from_slice(&self.hash.to_le_bytes());
        put_blob(out, self.schema.as_bytes());
    }

    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Closing {
            code: u16::from_le_bytes(r.array()?),
            visible_hash: u64::from_le_bytes(r.array()?),
            hash: u64::from_le_bytes(r.array()?),
            schema: r.text(limits::SCHEMA_TEXT)?,
        })
    }
}

/// The version that a hello names, or `None` for one that ends before it names any. It is read by itself and
/// first, because the rest may be laid out as another version has it.
///
/// Another message of a client's is [`DecodeError::Order`]; bytes that are none are that decoding's error.
pub fn hello_protocol(bytes: &[u8]) -> Result<Option<u32>, DecodeError> {
    if bytes.first() == Some(&tag::HELLO) {
        return protocol(&bytes[1..]);
    }
    ClientMessage::decode(bytes)?;
    Err(DecodeError::Order)
}

/// The version that a welcome names; otherwise as [`hello_protocol`], for messages of the room.
pub fn welcome_protocol(bytes: &[u8]) -> Result<Option<u32>, DecodeError> {
    if bytes.first() == Some(&tag::WELCOME) {
        return protocol(&bytes[1..]);
    }
    RoomMessage::decode(bytes)?;
    Err(DecodeError::Order)
}

/// Whether `name` may be a build's: 1 to 64 letters, digits, `.`, `_`, `-`.
#[must_use]
pub fn is_build(name: &str) -> bool {
    (1..=limits::BUILD).contains(&name.len()) && name.bytes().all(is_build_byte)
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

fn take_build<'a>(r: &mut Reader<'a>) -> Result<Option<&'a str>, DecodeError> {
    match r.text(limits::BUILD)? {
        "" => Ok(None),
        name if is_build(name) => Ok(Some(name)),
        _ => Err(DecodeError::Build),
    }
}

fn take_rest<'a>(r: &mut Reader<'a>, most: usize) -> Result<&'a [u8], DecodeError> {
    if r.remaining() > most { Err(DecodeError::TooLong) } else { Ok(r.rest()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            protocol: 1,
            schema_hash: 0x0102_0304_0506_0708,
            build: Some("1.0-a_b".into()),
            name: "Zoë".into(),
            auth: vec![0xa1, b'x'],
        }
    }

    fn client(message: &ClientMessage<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.encode(&mut out);
        assert_eq!(ClientMessage::decode(&out).as_ref(), Ok(message));
        out
    }

    fn room(message: RoomMessage<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.encode(&mut out);
        assert_eq!(RoomMessage::decode(&out), Ok(message));
        out
    }

    #[test]
    fn messages_have_these_bytes() {
        let bytes = client(&ClientMessage::Hello(hello()));
        let mut expected = vec![0x01, 1, 8, 7, 6, 5, 4, 3, 2, 1, 7];
        expected.extend_from_slice(b"1.0-a_b\x04Zo\xc3\xab\x02\xa1x");
        assert_eq!(bytes, expected);
        assert_eq!(client(&ClientMessage::Event(&[0xc0])), [0x02, 0xc0]);
        assert_eq!(client(&ClientMessage::Ack(Tick(300))), [0x0a, 0xac, 0x02]);
        assert_eq!(client(&ClientMessage::Leave), [0x0c]);

        let welcome = Welcome {
            protocol: 1,
            build: None,
            player: PlayerId(3),
            tick: Tick(200),
            tick_rate: 20,
            send_every: 2,
            payload_max: 24_576,
        };
        let bytes = room(RoomMessage::Welcome(welcome));
        assert_eq!(bytes, [0x81, 1, 0, 3, 0xc8, 1, 20, 2, 0x80, 0xc0, 0x01]);
        assert_eq!(room(RoomMessage::Update(&[1, 2])), [0x82, 1, 2]);
        assert_eq!(room(RoomMessage::Event(&[0xc0])), [0x83, 0xc0]);
        let closing = Closing { code: 4006, visible_hash: 1, hash: 2, schema: "state a\n" };
        let bytes = room(RoomMessage::Closing(closing));
        assert_eq!(bytes[..3], [0x8f, 0xa6, 0x0f]);
        assert_eq!(bytes.len(), 1 + 2 + 8 + 8 + 1 + 8);
    }

    #[test]
    fn limits_hold_at_their_edge() {
        let edge = |name: usize, auth: usize, build: &str| {
            // Encoded by hand, because `encode` asserts the limits.
            let mut out = vec![tag::HELLO, 1];
            out.extend([0; 8]);
            put_blob(&mut out, build.as_bytes());
            put_blob(&mut out, "n".repeat(name).as_bytes());
            put_blob(&mut out, &vec![0; auth]);
            ClientMessage::decode(&out).map(|_| ())
        };
        assert_eq!(edge(limits::DISPLAY_NAME, limits::AUTH, &"b".repeat(limits::BUILD)), Ok(()));
        assert_eq!(edge(limits::DISPLAY_NAME + 1, 0, ""), Err(DecodeError::TooLong));
        assert_eq!(edge(0, limits::AUTH + 1, ""), Err(DecodeError::TooLong));
        assert_eq!(edge(0, 0, &"b".repeat(limits::BUILD + 1)), Err(DecodeError::TooLong));
        assert_eq!(edge(0, 0, "a b"), Err(DecodeError::Build));
        assert_eq!(edge(0, 0, "é"), Err(DecodeError::Build));

        let mut event = vec![0; limits::CLIENT_PAYLOAD + 1];
        event[0] = tag::CLIENT_EVENT;
        assert!(ClientMessage::decode(&event).is_ok());
        event.push(0);
        assert_eq!(ClientMessage::decode(&event), Err(DecodeError::TooLong));
    }

    #[test]
    fn what_is_cut_or_continued_is_no_message() {
        let mut bytes = client(&ClientMessage::Hello(hello()));
        for n in 0..bytes.len() {
            assert!(ClientMessage::decode(&bytes[..n]).is_err(), "{n}");
        }
        bytes.push(0);
        assert_eq!(ClientMessage::decode(&bytes), Err(DecodeError::Trailing));
        assert_eq!(ClientMessage::decode(&[tag::LEAVE, 0]), Err(DecodeError::Trailing));
        assert_eq!(ClientMessage::decode(&[tag::WELCOME]), Err(DecodeError::Tag(tag::WELCOME)));
        assert_eq!(RoomMessage::decode(&[tag::HELLO]), Err(DecodeError::Tag(tag::HELLO)));
        assert_eq!(ClientMessage::decode(&[]), Err(DecodeError::Truncated));
    }

    #[test]
    fn the_protocol_is_read_whatever_follows() {
        assert_eq!(hello_protocol(&client(&ClientMessage::Hello(hello()))), Ok(Some(1)));
        assert_eq!(hello_protocol(&[tag::HELLO, 0xac, 0x02, 0xff, 0xff]), Ok(Some(300)));
        assert_eq!(hello_protocol(&[tag::HELLO]), Ok(None));
        assert_eq!(hello_protocol(&[tag::HELLO, 0x80]), Err(DecodeError::Truncated));
        assert_eq!(hello_protocol(&[tag::LEAVE]), Err(DecodeError::Order));
        assert_eq!(hello_protocol(&[tag::ACK]), Err(DecodeError::Truncated));
        assert_eq!(hello_protocol(&[0x7f]), Err(DecodeError::Tag(0x7f)));
        assert_eq!(hello_protocol(&[]), Err(DecodeError::Truncated));
        assert_eq!(welcome_protocol(&[tag::WELCOME, 9, 0xff]), Ok(Some(9)));
        assert_eq!(welcome_protocol(&[tag::UPDATE]), Err(DecodeError::Order));
    }
}

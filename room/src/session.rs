//! A player's session: how a connection begins and with which codes it ends, the tokens that continue it, the
//! events it keeps, and how much a client may say.

pub mod credit;
pub mod inputs;
pub mod outbox;
pub mod tokens;

pub use crate::wire::message::{Claim, Hello, Resume, Token};

use crate::schema::Schema;
use crate::wire::message::{self, ClientMessage, Closing, RoomMessage};
use crate::wire::{DecodeError, PROTOCOL_VERSION};

/// Close codes, as both ends use them.
pub mod code {
    /// The player left.
    pub const LEFT: u16 = 1000;
    /// The server is going away; the client reconnects.
    pub const GOING_AWAY: u16 = 1001;
    /// A message was too large.
    pub const TOO_LARGE: u16 = 1009;
    /// The server is busy; the client tries again.
    pub const BUSY: u16 = 1013;
    /// A message that does not decode.
    pub const BAD_MESSAGE: u16 = 4000;
    /// A message before hello, or no hello in time.
    pub const NO_HELLO: u16 = 4001;
    /// A second hello.
    pub const SECOND_HELLO: u16 = 4002;
    /// Authentication said no.
    pub const NOT_ALLOWED: u16 = 4003;
    /// No seat is free.
    pub const FULL: u16 = 4004;
    /// A newer connection of the same player took its place.
    pub const REPLACED: u16 = 4005;
    /// Protocol or schema differs.
    pub const VERSION: u16 = 4006;
    /// The session is unknown, used up or past its hold.
    pub const NO_SESSION: u16 = 4007;
    /// The client sends too much.
    pub const FLOOD: u16 = 4008;
    /// What is stored of the room cannot be loaded, or is newer than the game.
    pub const NOT_LOADED: u16 = 4009;
    /// The room failed.
    pub const FAILED: u16 = 4012;
    /// The room kicked the player.
    pub const KICKED: u16 = 4013;
    /// The game's join hook refused.
    pub const JOIN_REFUSED: u16 = 4014;
    /// The server failed to handle this connection.
    pub const SERVER_FAILED: u16 = 4500;
}

/// A first message that lets nobody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A message to send before the close.
    pub closing: Option<Vec<u8>>,
    /// The close code.
    pub code: u16,
    /// The close reason, at most [`limits::CLOSE_REASON`](crate::limits::CLOSE_REASON) bytes.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: impl Into<String>) -> Refusal {
        Refusal { closing: None, code, reason: close_reason(reason.into()) }
    }
}

/// Checks a socket's first message. In this order: it is a hello (4001), of this protocol (4006), it decodes
/// (4000), and its schema is the room's (4006, behind a `closing` message with what the client needs to say in
/// what they differ).
pub fn admit(first: &[u8], schema: &Schema) -> Result<Hello, Refusal> {
    let bad = |error: DecodeError| Refusal::new(code::BAD_MESSAGE, error.to_string());
    match first.first() {
        Some(&message::tag::HELLO) => {}
        Some(_) if ClientMessage::is_later(first) => {
            return Err(Refusal::new(code::NO_HELLO, "the first message must be a hello"));
        }
        Some(tag) => return Err(bad(DecodeError::Tag(*tag))),
        None => return Err(bad(DecodeError::Truncated)),
    }
    let theirs = message::hello_protocol(first).map_err(bad)?;
    if theirs != Some(PROTOCOL_VERSION) {
        return Err(Refusal::new(code::VERSION, version_reason(PROTOCOL_VERSION, theirs)));
    }
    let hello = match ClientMessage::decode(first).map_err(bad)? {
        ClientMessage::Hello(hello) => hello,
        _ => return Err(bad(DecodeError::Order)),
    };
    if hello.schema_hash != schema.hash() {
        let mut closing = Vec::new();
        RoomMessage::Closing(Closing {
            code: code::VERSION,
            visible_hash: schema.visible_hash(),
            hash: schema.hash(),
            schema: &schema.closing_text(),
        })
        .encode(&mut closing);
        let reason = format!(
            r#"{{"room":"schema {:016x}","client":"schema {:016x}"}}"#,
            schema.hash(),
            hello.schema_hash
        );
        return Err(Refusal { closing: Some(closing), ..Refusal::new(code::VERSION, reason) });
    }
    Ok(hello)
}

/// The reason of a 4006 for the protocol, for machines and people.
#[must_use]
pub fn version_reason(room: u32, client: Option<u32>) -> String {
    match client {
        Some(client) => format!(r#"{{"room":"protocol {room}","client":"protocol {client}"}}"#),
        None => format!(r#"{{"room":"protocol {room}","client":"none"}}"#),
    }
}

/// Cuts a reason to what a close frame holds, at the end of a character.
#[must_use]
pub fn close_reason(reason: String) -> String {
    cut(reason, crate::limits::CLOSE_REASON)
}

/// Cuts text to so many bytes, at the end of a character.
#[must_use]
pub fn cut(mut text: String, most: usize) -> String {
    let mut most = most.min(text.len());
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    text.truncate(most);
    text
}

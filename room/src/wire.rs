//! Bytes: what travels between a room and a client, and how it is read without trust.

pub mod deflate;
pub mod message;
pub mod packed;
pub mod payload;
mod reader;
pub mod record;
pub mod schema_text;
pub mod update;
pub mod varint;
mod view_hash;

pub use reader::Reader;
pub use view_hash::ViewHash;

/// The version of the messages. Any change to them raises it.
pub const PROTOCOL_VERSION: u32 = 5;
/// The WebSocket subprotocol.
pub const SUBPROTOCOL: &str = "room.v1";

/// Bytes that mean nothing: the sender is broken, hostile, or speaks another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The message ends inside a value.
    #[error("the message ends inside a value")]
    Truncated,
    /// Bytes follow the last value.
    #[error("bytes follow the last value")]
    Trailing,
    /// A varint is longer than its number needs, or than 64 bits.
    #[error("a varint is not in its shortest form")]
    Varint,
    /// A declared length is above the limit of its field.
    #[error("a declared length is above its limit")]
    TooLong,
    /// Text is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
    /// A build name with other characters than letters, digits, `.`, `_` and `-`.
    #[error("a build name may hold letters, digits, `.`, `_` and `-` only")]
    Build,
    /// A number that its type does not have, such as an unknown variant of an enum.
    #[error("a number is outside its type")]
    Value,
    /// JSON text that does not fit its field's type.
    #[error("JSON does not fit its type")]
    Json,
    /// A game's payload that is not MessagePack within the limits, or does not fit its type.
    #[error("an event does not decode as the type that the other side takes")]
    Payload,
    /// A compressed section that does not inflate to exactly what it declares.
    #[error("a compressed section does not inflate to its declared length")]
    Deflate,
    /// An unknown message or block.
    #[error("unknown tag {0}")]
    Tag(u8),
    /// A kind, field or entity that this schema or this replica does not have.
    #[error("unknown kind, field or entity")]
    Unknown,
    /// A message that this moment of the connection does not allow.
    #[error("a message out of order")]
    Order,
    /// The view's hash differs from the room's.
    #[error("the replica's hash differs from the room's")]
    Hash,
}

//! Every bound of the library, in one place. Sizes are bytes unless a name says otherwise.

/// Bytes in a kibibyte.
const KIB: usize = 1024;

/// The most fields of a kind.
pub const FIELDS: usize = 255;
/// The most characters of a kind's or field's name.
pub const NAME: usize = 64;
/// The most kinds of a schema.
pub const KINDS: usize = 255;
/// The most values of an array field.
pub const ARRAY: usize = 16;
/// The most bytes of a `String` field.
pub const TEXT: usize = 16 * KIB;
/// The most bytes of a `Bytes` field.
pub const BLOB: usize = 48 * KIB;
/// The most bytes of a `Json` field's text.
pub const JSON: usize = 16 * KIB;
/// The most bytes of an entity with every field encoded: one part of an update less 64.
pub const ENTITY: usize = PART - 64;
/// The most ranges that a `Bytes` field remembers for readers that are behind.
pub const PATCHES: usize = 32;

/// The most plain bytes of one part of an update.
pub const PART: usize = 60 * KIB;
/// The most plain bytes of one update (*setting*).
pub const UPDATE: usize = 256 * KIB;
/// The highest setting of [`UPDATE`]: with the leaves, which are never held back, a client still takes it.
pub const UPDATE_MOST: usize = REPLICA_UPDATE / 2;
/// The most plain bytes of one update that a client takes: no room sends more.
pub const REPLICA_UPDATE: usize = 16 * KIB * KIB;
/// The most unacknowledged bytes after which no update starts (*setting*).
pub const WINDOW: usize = 256 * KIB;
/// Records at least this long are compressed apart, once a version, and shared by all who see them.
pub const PIECE: usize = 512;
/// A part with fewer compressible bytes than this is sent plain.
pub const COMPRESS_FROM: usize = KIB;
/// The most bytes of compressed pieces a room keeps.
pub const PIECE_CACHE: usize = 64 * KIB * KIB;

/// The most bytes of a game's message from a client.
pub const CLIENT_PAYLOAD: usize = 24 * KIB;
/// The most bytes of a game's message from the room.
pub const ROOM_PAYLOAD: usize = 60 * KIB;
/// The most bytes of any message from a client; a longer one closes with 1009.
pub const CLIENT_MESSAGE: usize = 32 * KIB;
/// The most bytes of any message from the room: a part or an event and its head.
pub const ROOM_MESSAGE: usize = 64 * KIB;
/// The most levels of a game's message.
pub const PAYLOAD_DEPTH: usize = 32;
/// The most values in a game's message.
pub const PAYLOAD_VALUES: usize = 8192;
/// The most bytes of a client's events that wait for one tick, each with [`MESSAGE_COST`]; past it the client is
/// closed with 4008.
pub const INBOX: usize = 256 * KIB;
/// The most bytes of a close frame's reason.
pub const CLOSE_REASON: usize = 123;
/// The most bytes of a schema's description in a `closing` message.
pub const SCHEMA_TEXT: usize = 60 * KIB;

/// The most bytes of a display name.
pub const DISPLAY_NAME: usize = 256;
/// The most bytes of a hello's auth value.
pub const AUTH: usize = 4 * KIB;
/// The most characters of a build name.
pub const BUILD: usize = 64;
/// The most characters of a room's name.
pub const ROOM_NAME: usize = 64;
/// Seconds a new socket has for its hello.
pub const HELLO_SECONDS: u64 = 10;
/// Seconds the game's authentication has.
pub const AUTHENTICATE_SECONDS: u64 = 10;
/// Sockets that have not joined, for each seat.
pub const UNJOINED_PER_SEAT: usize = 2;
/// Sockets that have not joined, at least.
pub const UNJOINED_LEAST: usize = 32;
/// Bytes waiting for one socket past which it is ended as broken.
pub const SOCKET_BACKLOG: usize = 4 * KIB * KIB;

/// Bytes of a socket's send buffer in the kernel.
pub const SOCKET_BUFFER: usize = 64 * KIB;
/// Bytes of messages that a socket hands to its room before the next tick, at the most; then it is not read
/// until the tick. More than [`INBOX`], so that a flood of events is closed and not only slowed.
pub const HANDED_OVER: usize = 2 * INBOX;
/// What each message counts there and in [`INBOX`] besides its own bytes.
pub const MESSAGE_COST: usize = 64;
/// Messages of all connections that wait for a room.
pub const ROOM_QUEUE: usize = 1024;
/// Seconds that a closed socket's input is read and dropped, so that the close frame arrives.
pub const CLOSE_SECONDS: u64 = 1;
/// Bytes that are read and dropped so at the most.
pub const CLOSE_DISCARD: usize = KIB * KIB;
/// Seconds that a stopping server waits for its sockets and rooms.
pub const SHUTDOWN_SECONDS: u64 = 10;

/// The port of a server (*setting*).
pub const PORT: u16 = 8787;
/// Rooms of a server (*setting*).
pub const ROOMS: usize = 1000;
/// Seconds after which a room that nobody is in stops (*setting*).
pub const SLEEP_SECONDS: u64 = 60;

/// Seconds from one line of the log to the next of what is counted, such as clamped values.
pub const HEARTBEAT_SECONDS: u64 = 15;

/// Seats of a room (*setting*).
pub const SEATS: usize = 20;
/// Ticks a second (*setting*).
pub const TICK_RATE: u32 = 20;
/// The highest tick rate.
pub const TICK_RATE_MOST: u32 = 128;
/// Steps that one turn of the loop makes at the most; time past them is dropped.
pub const STEPS_PER_TURN: u32 = 6;
/// Acknowledgements a second that a client sends at the most.
pub const ACKS_PER_SECOND: u32 = 20;

/// Bytes of messages that wait for a client's `update` at the most; past it the client closes.
pub const CLIENT_WAITING: usize = 16 * KIB * KIB;
/// Bytes that wait for a client's socket at the most; past it `send` refuses.
pub const CLIENT_QUEUE: usize = KIB * KIB;
/// Events that a client keeps for its game at the most; past it the oldest go.
pub const CLIENT_EVENTS: usize = 4096;
/// Seconds after which a client gives up to join: more than a room takes for hello and authentication.
pub const CONNECT_SECONDS: u64 = 30;
/// Seconds that a client waits for the answer to its leave.
pub const LEAVE_SECONDS: u64 = 1;

/// Keys that one connection subscribes to.
pub const SUBSCRIPTIONS: usize = 4096;
/// Entities that one connection sees.
pub const VIEW: usize = 16_384;
/// Keys of one entity.
pub const ENTITY_KEYS: usize = 64;

/// The lowest entity ID of a game; 1 is the room's state.
pub const ID_LEAST: u64 = 2;
/// The highest explicit entity ID; random ones lie above.
pub const ID_EXPLICIT_MOST: u64 = 1 << 52;
/// The highest entity ID: what a browser's numbers hold exactly.
pub const ID_MOST: u64 = (1 << 53) - 1;
/// Automatic IDs lie below this.
pub const ID_AUTOMATIC_END: u64 = 1 << 32;

/// The most bytes that decoding a message of `len` bytes may allocate.
#[must_use]
pub const fn decode_allocation(len: usize) -> usize {
    64 * len + 64 * KIB
}

const _: () = {
    assert!(BLOB + TEXT / 2 < ENTITY, "a large field leaves room for others");
    assert!(PART <= UPDATE && PART + 64 <= ROOM_MESSAGE && ROOM_PAYLOAD + 64 <= ROOM_MESSAGE);
    assert!(CLIENT_PAYLOAD + AUTH < CLIENT_MESSAGE);
    assert!(CLIENT_MESSAGE + MESSAGE_COST <= HANDED_OVER, "every message can be handed over");
    assert!(UPDATE < SOCKET_BACKLOG && WINDOW < SOCKET_BACKLOG);
    assert!(ID_LEAST < ID_AUTOMATIC_END && ID_AUTOMATIC_END < ID_EXPLICIT_MOST && ID_EXPLICIT_MOST < ID_MOST);
};

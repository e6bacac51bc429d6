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
/// The highest window of a connection (*setting*): the most bytes of updates on the wire that are not acknowledged.
pub const WINDOW: usize = 256 * KIB;
/// The window that a connection starts with.
pub const WINDOW_START: usize = 64 * KIB;
/// The lowest window of a connection.
pub const WINDOW_LEAST: usize = PART;
/// Seconds that a connection may acknowledge nothing while something is outstanding; then it is ended as broken.
pub const FELL_BEHIND_SECONDS: u64 = 60;
/// Records at least this long are compressed apart, once a version, and shared by all who see them.
pub const PIECE: usize = 512;
/// The level at which they are compressed (*setting*). On voxel terrain it takes 153 us for 4 KiB and makes it 23.4 times
/// smaller.
pub const PIECE_LEVEL: u32 = 9;
/// The highest level at a send, where somebody waits: 33 us and 21.8 times. What is made so is made better in the time
/// until the next tick.
pub const PIECE_LEVEL_IN_HASTE: u32 = 5;
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
/// The most bytes of the answer of work that a room spawned.
pub const ANSWER: usize = KIB * KIB;
/// The most levels of a game's message.
pub const PAYLOAD_DEPTH: usize = 32;
/// The most values in a game's message.
pub const PAYLOAD_VALUES: usize = 8192;
/// The most bytes of a call's refusal.
pub const REFUSAL: usize = 256;
/// The most bytes of the IDs that a returning client claims to hold; it forgets the others first.
pub const CLAIM: usize = 24 * KIB;
/// The most events that either end keeps while they are not acknowledged (*setting*).
pub const EVENTS: usize = 4096;
/// The most bytes of such events (*setting*).
pub const EVENTS_BYTES: usize = KIB * KIB;
/// Seconds that the room's side may stay past either; then the connection is ended.
pub const EVENTS_SECONDS: u64 = 30;
/// Events past which a session is ended.
pub const EVENTS_MOST: usize = 16_384;
/// Bytes of events past which a session is ended.
pub const EVENTS_BYTES_MOST: usize = 4 * KIB * KIB;
/// Bytes of events on the wire that are not acknowledged, past which more wait in the room.
pub const EVENTS_WINDOW: usize = 256 * KIB;
/// Calls that wait for a result.
pub const CALLS: usize = 64;
/// Bytes of an input's MessagePack.
pub const INPUT: usize = 256;
/// Inputs of a message, each of the tick after the one before.
pub const INPUTS: usize = 12;
/// How many ticks ahead of the room an input may be.
pub const INPUT_AHEAD: u64 = 60;
/// Ticks that a client predicts while the room says of none what came of it; past them it begins anew.
pub const PREDICTED: u64 = 240;
/// How many ticks after its own an input's actions may still run.
pub const INPUT_LATE: u64 = 17;
/// How many ticks the newest input is repeated where the next one has not come.
pub const INPUT_REPEATS: u64 = 15;
/// Messages with inputs that a client may send, each tick on average.
pub const INPUTS_PER_TICK: u32 = 2;
/// Messages with inputs that a client may send at once.
pub const INPUTS_BURST: u32 = 120;
/// How far back a room reads what entities were, in milliseconds (a setting).
pub const REWIND_MS: u32 = 1000;
/// Entities whose fields one message of writes may have.
pub const WRITES: usize = 64;
/// Messages a second that a client may send besides acknowledgements, hidden and leave (*setting*).
pub const MESSAGES_PER_SECOND: u32 = 60;
/// How many of them it may send at once (*setting*).
pub const MESSAGES_BURST: u32 = 120;
/// The most bytes of a client's events that wait for the room, each with [`MESSAGE_COST`]; past it the client is
/// closed with 4008.
pub const INBOX: usize = 256 * KIB;
/// The most bytes of a close frame's reason.
pub const CLOSE_REASON: usize = 123;
/// The most bytes of a schema's description in a `closing` message.
pub const SCHEMA_TEXT: usize = 60 * KIB;

/// The most bytes of a display name.
pub const DISPLAY_NAME: usize = 256;
/// The most bytes of a player's status in her presence.
pub const STATUS: usize = 256;
/// The most bytes of a hello's auth value.
pub const AUTH: usize = 4 * KIB;
/// The most characters of a build name.
pub const BUILD: usize = 64;
/// The most characters of a room's name, and of its kind's.
pub const ROOM_NAME: usize = 64;
/// Letters of a room's code.
pub const CODE: usize = 6;
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
/// Bytes that the kernel takes for a socket before the other side has: see `TCP_NOTSENT_LOWAT`.
pub const SOCKET_UNSENT: usize = 16 * KIB;

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

/// The most bytes of a room's label: what is shown of it while it sleeps.
pub const LABEL: usize = KIB;
/// Seconds that a room waits for its store; then it fails with 4012.
pub const STORE_SECONDS: u64 = 5;
/// Questions of a server at a time about rooms that do not run, each on a thread.
pub const STORE_QUESTIONS: usize = 4;
/// Seconds that who comes for such a room waits for the store's answer; then 1013.
pub const STORE_QUESTION_SECONDS: u64 = 5;
/// Seconds that who comes to a room waits for the store to give it to the server; then 1013, and the room waits on.
pub const STORE_TAKE_SECONDS: u64 = 5;
/// Milliseconds until a commit that failed is tried again.
pub const STORE_RETRY_MS: u64 = 250;
/// The most bytes of one slice of a snapshot, and of one row of a room's log where one entity fits it.
pub const SLICE: usize = 256 * KIB;
/// Seconds of changes after which a snapshot is made, where the log has not outgrown the state before.
pub const SNAPSHOT_SECONDS: u64 = 60;
/// Seconds between two times that a room stores what changed of its coarse fields.
pub const COARSE_SECONDS: u64 = 1;
/// Automatic IDs that a room reserves at once.
pub const ID_BLOCK: u64 = 1024;
/// Rows of a room's log that an SQLite store deletes in one transaction.
pub const STORE_TRIM_ROWS: u64 = 16;
/// Bytes of them, where they are more than one row.
pub const STORE_TRIM_BYTES: u64 = 1 << 20;
/// Bytes of an SQLite store's WAL from which they are moved into its file.
pub const STORE_WAL: u64 = 4 << 20;
/// Bytes of the WAL from which commits wait for that.
pub const STORE_WAL_MOST: u64 = 64 << 20;
/// The most bytes of an SQLite store's file that are written anew when it is closed, so that no page of it is free.
pub const STORE_COMPACT: u64 = 64 << 20;
/// Former runs of a room of which it remembers how far they came.
pub const INCARNATIONS: usize = 64;
/// Hours that private state of an account is kept after its player has left (*setting*).
pub const RETENTION_HOURS: u64 = 24;
/// Seconds after a failure in which a room handles one event a tick.
pub const CAUTIOUS_SECONDS: u64 = 60;

/// Milliseconds until an effect that failed is tried again. Each gap is twice the one before.
pub const EFFECT_GAP_MS: u64 = 500;
/// The longest such gap, in milliseconds.
pub const EFFECT_GAP_MOST_MS: u64 = 60_000;
/// Milliseconds until a room that failed is woken again. Each gap is twice the one before, until it has run a minute.
pub const WAKE_GAP_MS: u64 = 250;
/// The longest such gap, in milliseconds.
pub const WAKE_GAP_MOST_MS: u64 = 30_000;

/// The port of a server (*setting*).
pub const PORT: u16 = 8787;
/// Rooms of a server (*setting*).
pub const ROOMS: usize = 1000;
/// Rooms that one address may have made in a minute (*setting*).
pub const ROOMS_PER_MINUTE: u32 = 30;
/// Codes that name no room which one address may try in a minute.
pub const CODES_PER_MINUTE: u32 = 10;
/// Rooms in one answer to who asks for a list of them.
pub const ROOMS_PAGE: usize = 1000;
/// Seconds that somebody who looks for any room waits for one to answer.
pub const SEATING_SECONDS: u64 = 30;
/// Seconds in a row that a room is behind after which its log says so.
pub const BEHIND_SECONDS: u64 = 5;
/// Seconds after which a room that nobody is in stops (*setting*).
pub const SLEEP_SECONDS: u64 = 60;

/// Seconds from one line of the log to the next of what is counted, such as clamped values.
pub const HEARTBEAT_SECONDS: u64 = 15;

/// Seconds that a session is held whose connection ended with a close frame.
pub const HOLD_CLOSED_SECONDS: u32 = 15;
/// Seconds that a session is held whose connection broke.
pub const HOLD_BROKEN_SECONDS: u32 = 30;
/// Seconds that a session is held whose page was hidden.
pub const HOLD_HIDDEN_SECONDS: u32 = 120;
/// Seconds that a page must have been hidden for that.
pub const HIDDEN_SECONDS: u32 = 2;
/// The longest hold that a game may set (*setting*).
pub const HOLD_MOST_SECONDS: u32 = 300;
/// Tokens that a session remembers as displaced by another device.
pub const DISPLACED: usize = 8;
/// Seconds between two pings of a server.
pub const PING_SECONDS: u64 = 5;
/// Seconds without a word after which either end gives a connection up.
pub const SILENCE_SECONDS: u64 = 15;
/// New sockets a second, at the least (*setting*); a tenth of the seats where that is more. One address may open
/// half of them.
pub const SOCKETS_PER_SECOND: u32 = 200;
/// Sockets past that which are told so at a time; others are just dropped.
pub const REFUSALS: usize = 64;
/// Seconds that a socket has for being told so.
pub const REFUSED_SECONDS: u64 = 2;
/// Bytes of a game's page, all its files together.
pub const ASSETS: usize = 256 * 1024 * 1024;
/// Folders in folders of a game's page.
pub const ASSETS_DEPTH: usize = 16;
/// Seconds that a connection has for a file of a game's page, besides those for its request.
pub const ASSET_SECONDS: u64 = 120;
/// Tokens of sockets that a room checks at a time; the other sockets wait.
pub const CHECKS: usize = 4;

/// Seats of a room (*setting*).
pub const SEATS: usize = 20;
/// The most seats of a room.
pub const SEATS_MOST: usize = 1 << 20;
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
/// Seconds from an open socket to the welcome after which a client tries anew: more than a room takes for hello and
/// authentication.
pub const CONNECT_SECONDS: u64 = 30;
/// Seconds without an open socket after which a client gives up (*setting*).
pub const GIVE_UP_SECONDS: u64 = 60;
/// Seconds between two pings of a client.
pub const CLIENT_PING_SECONDS: u64 = 1;
/// Milliseconds from a client's first try to connect to the next. Each gap is twice the one before, up to half
/// shorter at random.
pub const GAP_MS: u64 = 250;
/// The longest gap, in milliseconds.
pub const GAP_MOST_MS: u64 = 8000;
/// The shortest first gap, in milliseconds, after a server said that it goes away, is busy or failed.
pub const GAP_AWAY_LEAST_MS: u64 = 300;
/// The longest first gap then, in milliseconds.
pub const GAP_AWAY_MOST_MS: u64 = 3000;
/// Milliseconds that a connection may say nothing when the page comes back to the foreground.
pub const FOREGROUND_MS: u64 = 1500;
/// Seconds that a client waits for the answer to its leave.
pub const LEAVE_SECONDS: u64 = 1;
/// Milliseconds within which what was predicted otherwise is drawn where it is (a setting of the client's).
pub const CORRECT_MS: u64 = 100;
/// Milliseconds by which what is interpolated is drawn behind the room's clock, at the least (*setting*).
pub const DRAW_DELAY_MS: u64 = 100;
/// Milliseconds that what is interpolated goes on as it moved, where nothing newer has come (*setting*).
pub const EXTRAPOLATE_MS: u64 = 100;
/// Milliseconds that updates may take on their way for which the delay makes room.
pub const DRAW_LATE_MOST_MS: u64 = 1000;
/// Fields of a kind that can be interpolated.
pub const INTERPOLATED: usize = 64;

/// The most threads on which the rooms of a server lay out updates.
pub const THREADS: usize = 64;

/// Keys that one connection subscribes to.
pub const SUBSCRIPTIONS: usize = 4096;
/// Entities that one connection sees.
pub const VIEW: usize = 16_384;
/// Entities that an interest lets each client keep after they left its view (*setting*).
pub const RETAIN: usize = 65_536;
/// Keys of one entity.
pub const ENTITY_KEYS: usize = 64;
/// Distances for which a grid says how often it sends.
pub const BANDS: usize = 8;
/// The most sends between two records of an entity.
pub const PERIOD: u32 = 128;

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
    assert!(CLAIM + AUTH + DISPLAY_NAME + BUILD + 256 <= CLIENT_MESSAGE, "a hello fits");
    assert!(CLIENT_MESSAGE + MESSAGE_COST <= HANDED_OVER, "every message can be handed over");
    assert!(UPDATE < SOCKET_BACKLOG && WINDOW < SOCKET_BACKLOG);
    assert!(ID_LEAST < ID_AUTOMATIC_END && ID_AUTOMATIC_END < ID_EXPLICIT_MOST && ID_EXPLICIT_MOST < ID_MOST);
};

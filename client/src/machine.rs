//! A client's sessions and connections as a state machine: bytes and time go in, bytes and reports come out. It
//! does no I/O and reads no clock, so that a test, a browser and a native socket can all drive it.
//!
//! `now` is the time since any fixed moment. After each call, a driver
//! 1. takes [`poll_transmit`](Machine::poll_transmit) until it has nothing more, and does what it says with the
//!    socket. After a close or an abort it tells nothing more of that socket;
//! 2. asks [`poll_dial`](Machine::poll_dial). Where that says yes, it opens a socket and answers with one of
//!    [`handle_open`](Machine::handle_open), [`handle_dial_failed`](Machine::handle_dial_failed) and
//!    [`handle_refused`](Machine::handle_refused);
//! 3. calls [`update`](Machine::update) once a frame, and by [`poll_timeout`](Machine::poll_timeout) at the latest.

mod address;
mod checkpoint;
mod clock;
mod connection;
mod dial;
mod inbox;
mod notice;
mod options;
mod outbox;
mod pending;
mod play;
mod stream;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use room::entity::Visible;
use room::wire::message::{self, Ack, ClientMessage, Token};
use room::wire::payload;
use room::{PlayerId, Schema, SessionId, Tick, limits};
use serde::Serialize;

use crate::event::{CallId, CallOptions, ClientStats, Event, EventId, LastDrop, SendError, Status};
use crate::interpolate::Smooth;
use crate::replica::Replica;
use clock::Clock;
use dial::Dial;
use inbox::Inbox;
use outbox::{CallHead, Outbox, Sort};
use pending::{Acks, Pending};
use play::Play;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use notice::{Notice, NoticeKind};
pub use options::{Options, Words};
pub use pending::Outgoing;
pub use play::WriteRefused;

/// Where the socket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is none, and none is wanted.
    Idle,
    /// One is to be opened then; at once where nothing is said.
    Waiting(Option<Duration>),
    /// One is being opened.
    Dialing,
    /// It opened then, and said hello.
    Opening(Duration),
    /// The room let it in.
    Joined,
}

/// What continues a session.
#[derive(Clone, Copy, Debug)]
struct Session {
    id: SessionId,
    token: Token,
}

/// What the last welcome said.
#[derive(Clone, Copy, Debug)]
struct Seat {
    player: PlayerId,
    epoch: u32,
    tick_rate: u32,
    send_every: u32,
    payload_max: usize,
    events_max: usize,
    // Generation and incarnation of the room.
    state: (u64, u64),
    // Whether the replica has seen the welcome.
    begun: bool,
}

/// A client, its session and its connections. Reads go through to its [`Replica`].
pub struct Machine {
    schema: Schema,
    options: Options,
    replica: Replica,
    status: Status,
    phase: Phase,
    dial: Dial,
    session: Option<Session>,
    // The name of the room that the last welcome was from, and its URL where the client was given one.
    room_name: Option<String>,
    home: Option<String>,
    seat: Option<Seat>,
    // Generation and incarnation of what the replica holds: those of the last update applied.
    held_state: (u64, u64),
    // What came since the last update, in order. The welcome goes through it, too.
    waiting: VecDeque<Vec<u8>>,
    // Their bytes, each with `MESSAGE_COST`.
    waiting_bytes: usize,
    pending: Pending,
    outbox: Outbox,
    inbox: Inbox,
    acks: Acks,
    clock: Clock,
    play: Play,
    // The latest time that was told.
    now: Duration,
    // When something was heard last, later where the game did not call in between.
    heard: Duration,
    timers_ran: Option<Duration>,
    next_ping: Duration,
    // By when something must be heard after the page came to the foreground.
    answer_by: Option<Duration>,
    leaving: Option<Duration>,
    hidden: bool,
    // A new session was made by itself since the last welcome.
    rejoined: bool,
    // The replica's report has something that the game has not seen.
    unseen: bool,
    jumped: bool,
    jump_next: bool,
    last_drop: Option<LastDrop>,
    differences: Vec<String>,
    stats: ClientStats,
    recorded: Option<Vec<u8>>,
}

impl Machine {
    /// A machine that wants its first socket at once. `seed` is where the gaps between its tries come from; give
    /// each client another one.
    #[must_use]
    pub fn new(schema: Schema, options: Options, seed: u64) -> Machine {
        Machine {
            replica: Replica::new(&schema),
            schema,
            options,
            status: Status::Connecting,
            phase: Phase::Waiting(None),
            dial: Dial::new(seed),
            session: None,
            room_name: None,
            home: None,
            seat: None,
            held_state: (0, 0),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            pending: Pending::default(),
            outbox: Outbox::new(0),
            inbox: Inbox::default(),
            acks: Acks::default(),
            clock: Clock::default(),
            play: Play::default(),
            now: Duration::ZERO,
            heard: Duration::ZERO,
            timers_ran: None,
            next_ping: Duration::ZERO,
            answer_by: None,
            leaving: None,
            hidden: false,
            rejoined: false,
            unseen: false,
            jumped: false,
            jump_next: false,
            last_drop: None,
            differences: Vec::new(),
            stats: ClientStats::default(),
            recorded: None,
        }
    }

    /// Keeps every message that comes from now on, and in the replica what they inflate to, for tests that look
    /// for what should not be there.
    pub fn record(&mut self) {
        self.recorded.get_or_insert_default();
        self.replica.record();
    }

    /// Every byte since [`record`](Self::record): as it came, and as the updates' plain content.
    #[must_use]
    pub fn received(&self) -> (&[u8], &[u8]) {
        (self.recorded.as_deref().unwrap_or_default(), self.replica.recorded())
    }

    /// Where the client stands.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Whether the client is in the room.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.status == Status::Joined
    }

    /// A line for the player about the connection; none while all is well.
    #[must_use]
    pub fn notice(&self) -> Option<Notice> {
        let mut notice = notice::notice(&self.status)?;
        if let Some(words) = &self.options.words {
            notice.text = words(notice.kind, &notice.text);
        }
        Some(notice)
    }

    /// Why the last socket closed, if one has.
    #[must_use]
    pub fn last_drop(&self) -> Option<&LastDrop> {
        self.last_drop.as_ref()
    }

    /// Why the last try to open a socket failed, if none has opened and been let in since.
    #[must_use]
    pub fn dial_error(&self) -> Option<&str> {
        self.dial.error.as_deref()
    }

    /// The display name that it gives.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Who this client is in the room, also while its connection is being made again; `None` without a session.
    #[must_use]
    pub fn player(&self) -> Option<PlayerId> {
        self.seat.map(|seat| seat.player)
    }

    /// The session; `None` before the first welcome, and once it is over.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session.map(|session| session.id)
    }

    /// Which of the session's connections the last welcome opened, counted from 1; 0 before.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.seat.map_or(0, |seat| seat.epoch)
    }

    /// Which run of the room the last update was of: a higher number after each wake; 0 before the first update, and in a
    /// room without a store always 1.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.held_state.1
    }

    /// The room's ticks a second; 0 until joined.
    #[must_use]
    pub fn tick_rate(&self) -> u32 {
        self.seat.map_or(0, |seat| seat.tick_rate)
    }

    /// The room's ticks between two sends; 0 until joined.
    #[must_use]
    pub fn send_every(&self) -> u32 {
        self.seat.map_or(0, |seat| seat.send_every)
    }

    /// In what this client's schema differs from the room's, where that is why it was closed.
    #[must_use]
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Figures of the client.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        ClientStats { extrapolated: self.replica.extrapolated(), ..self.stats }
    }

    /// What it sees.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// Whether what moves should stand at once where the last [`update`](Self::update) has it, without a glide
    /// from where it was: the client came back, was hidden, or fell behind by more than a second of sends.
    #[must_use]
    pub fn jumped(&self) -> bool {
        self.jumped
    }

    /// Draws some numbers of a kind smoothly from now on, a little behind the room's clock: see [`Smooth`], and
    /// [`drawn`](Replica::drawn) for what comes of it. It is said once, at any time; said again, it begins anew.
    ///
    /// # Panics
    /// If a field is no number and no array or vector of numbers, or is named twice, or the kind is not in the schema.
    pub fn interpolate<K: Visible>(&mut self, fields: impl Smooth<K>) {
        self.replica.interpolate(fields);
    }

    /// The room's time in ticks, as the client estimates it; `None` before the first welcome.
    #[must_use]
    pub fn room_time(&self, now: Duration) -> Option<f64> {
        self.clock.room_time(now)
    }

    /// How long a message takes to the room and back, smoothed; `None` before the first answer.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.clock.round_trip()
    }

    /// Events and calls that the room has not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.outbox.len()
    }

    /// What happened, oldest first; each event is handed out once, and with that the room's messages count as
    /// taken. Of transients and remarks that nobody reads the last 4,096 are kept, or 16 MiB of them.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + use<> {
        self.inbox.take()
    }

    /// Sends the game on the server an event, which its `on_event` gets exactly once, in the order of all events
    /// and calls. It waits where the client is not joined.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the session is over, the value takes more than 24 KiB or cannot be encoded,
    /// or 4,096 events or 1 MiB wait for the room.
    pub fn send<T: Serialize + ?Sized>(&mut self, event: &T) -> Result<EventId, SendError> {
        let payload = self.payload(event, Vec::new())?;
        self.outbox.push(payload, Sort::Event, self.events_max()).map(EventId)
    }

    /// Sends the game on the server a message that may be lost: it is for effects that are stale in a moment. It
    /// may overtake events.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the client is not joined, the value takes more than 24 KiB or cannot be
    /// encoded, or 1 MiB waits for the socket.
    pub fn transient<T: Serialize + ?Sized>(&mut self, event: &T) -> Result<(), SendError> {
        if self.phase != Phase::Joined {
            return Err(SendError::NotJoined);
        }
        let message = self.payload(event, vec![message::tag::CLIENT_TRANSIENT])?;
        if self.pending.push_transient(message) { Ok(()) } else { Err(SendError::Busy) }
    }

    /// Asks the game on the server for something, to which one [`Event::Result`] comes.
    ///
    /// # Errors
    /// As [`send`](Self::send); and where 64 calls wait for their results, or the name is empty or has more than
    /// 64 bytes.
    pub fn call<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
        options: CallOptions,
    ) -> Result<CallId, SendError> {
        if !(1..=limits::NAME).contains(&name.len()) {
            return Err(SendError::CallName { size: name.len() });
        }
        let payload = self.payload(value, Vec::new())?;
        let head = CallHead {
            name: name.to_owned(),
            through: options.through,
            due: options.deadline.map(|deadline| self.now.saturating_add(deadline)),
            deadline: Tick::ZERO,
        };
        self.outbox.push(payload, Sort::Call(head), self.events_max()).map(CallId)
    }

    /// Sets what the player's presence says of her, where the game lets her: in the order of her events, and like them
    /// exactly once. It waits where the client is not joined, and is gone with the session.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the text has more than 256 bytes, the schema has no presence, the session is
    /// over, or 4,096 events or 1 MiB wait for the room.
    pub fn set_status(&mut self, status: &str) -> Result<EventId, SendError> {
        self.check_open()?;
        if !self.schema.has_presence() {
            return Err(SendError::NoPresence);
        }
        if status.len() > limits::STATUS {
            return Err(SendError::Status { size: status.len() });
        }
        self.outbox.push(status.as_bytes().to_vec(), Sort::Status, self.events_max()).map(EventId)
    }

    fn check_open(&self) -> Result<(), SendError> {
        let over = self.leaving.is_some() || matches!(self.status, Status::Lost | Status::Closed { .. });
        if over { Err(SendError::Over) } else { Ok(()) }
    }

    /// A value's encoding behind what is there.
    fn payload<T: Serialize + ?Sized>(&self, value: &T, mut bytes: Vec<u8>) -> Result<Vec<u8>, SendError> {
        self.check_open()?;
        let most = self.seat.map_or(limits::CLIENT_PAYLOAD, |seat| seat.payload_max);
        payload::encode(value, most, &mut bytes)?;
        Ok(bytes)
    }

    fn events_max(&self) -> usize {
        self.seat.map_or(limits::EVENTS, |seat| seat.events_max)
    }

    /// What the next acknowledgement says.
    fn ack(&self) -> Ack {
        self.acks.ack(self.replica.open_parts(), self.inbox.acknowledged())
    }

    /// Whether the page is hidden.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Whether the socket is to be ended, whatever it still has to take.
    #[cfg(any(feature = "web", all(feature = "native", not(target_family = "wasm"))))]
    pub(crate) fn is_ending(&self) -> bool {
        self.pending.farewell.is_some()
    }

    /// The next thing to do with the socket.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        if let Some(farewell) = self.pending.farewell.take() {
            return Some(farewell);
        }
        let bytes = self.pending.hello.take().or_else(|| self.next_message())?;
        self.stats.messages_sent += 1;
        self.stats.bytes_sent += bytes.len() as u64;
        Some(Outgoing::Message(bytes))
    }

    fn next_message(&mut self) -> Option<Vec<u8>> {
        if self.phase != Phase::Joined {
            return None;
        }
        let message = if let Some(hidden) = self.pending.hidden.take() {
            ClientMessage::Hidden(hidden)
        } else if std::mem::take(&mut self.pending.ack) {
            let ack = self.ack();
            self.acks.said(ack);
            ClientMessage::Ack(ack)
        } else if let Some(clock) = self.pending.ping.take() {
            ClientMessage::Ping(clock)
        } else if let Some(bytes) = self.next_play() {
            return Some(bytes);
        } else if let Some(bytes) = self.pending.pop_transient().or_else(|| self.outbox.next(&self.clock)) {
            return Some(bytes);
        } else if self.pending.leave && self.outbox.is_sent() {
            self.pending.leave = false;
            ClientMessage::Leave
        } else {
            return None;
        };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        Some(bytes)
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("status", &self.status)
            .field("session", &self.session())
            .field("tick", &self.replica.tick())
            .field("waiting", &self.waiting.len())
            .field("unacknowledged", &self.outbox.len())
            .finish_non_exhaustive()
    }
}

impl Deref for Machine {
    type Target = Replica;

    fn deref(&self) -> &Replica {
        &self.replica
    }
}

#[cfg(test)]
mod tests;

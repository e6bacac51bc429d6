//! A connection as a state machine: bytes and time go in, bytes and reports come out. It does no I/O and reads no
//! clock, so that a test, a browser and a native socket can all drive it.
//!
//! `now` is the time since any fixed moment. Each call that may have something to say is followed by
//! [`Machine::poll_transmit`] until it has nothing more.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use room::session::{close_reason, code};
use room::wire::message::{self, ClientMessage, Closing, Hello, RoomMessage, Welcome};
use room::wire::{DecodeError, PROTOCOL_VERSION, payload};
use room::{PlayerId, Schema, Tick, limits};
use serde::Serialize;

use crate::event::{ClientStats, Event, Message, SendError, Status};
use crate::replica::Replica;

/// What a client says of itself.
#[derive(Clone, Default)]
pub struct Options {
    /// The display name, at most 256 bytes.
    pub name: String,
    /// The build: 1 to 64 letters, digits, `.`, `_`, `-`.
    pub build: Option<String>,
    /// MessagePack for the room's authentication, at most 4 KiB; empty where it gives none.
    pub auth: Vec<u8>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without `auth`, which appears in no log.
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("build", &self.build)
            .finish_non_exhaustive()
    }
}

/// What a machine wants sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// A binary message.
    Message(Vec<u8>),
    /// The close frame, after which the socket is to be closed.
    Close {
        /// The code.
        code: u16,
        /// The reason, at most 123 bytes.
        reason: String,
    },
}

/// What the welcome said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    player: PlayerId,
    tick_rate: u32,
    send_every: u32,
    payload_max: usize,
}

/// One connection of a client. Reads go through to its [`Replica`].
pub struct Machine {
    schema: Schema,
    options: Options,
    replica: Replica,
    status: Status,
    seat: Option<Seat>,
    // What came since the last update, in order.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    outgoing: VecDeque<Outgoing>,
    outgoing_bytes: usize,
    events: VecDeque<Event>,
    acks: Acks,
    differences: Vec<String>,
    stats: ClientStats,
    recorded: Option<Vec<u8>>,
}

impl Machine {
    /// A machine that has no socket yet.
    #[must_use]
    pub fn new(schema: Schema, options: Options) -> Machine {
        Machine {
            replica: Replica::new(&schema),
            schema,
            options,
            status: Status::Connecting,
            seat: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
            events: VecDeque::new(),
            acks: Acks::default(),
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

    /// Where the connection stands.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Whether the client is in the room.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.status == Status::Joined
    }

    /// Who this client is in the room; `None` until it has joined.
    #[must_use]
    pub fn player(&self) -> Option<PlayerId> {
        self.seat.map(|seat| seat.player)
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

    /// Figures of the connection.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        self.stats
    }

    /// What it sees.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// The socket is open: says hello.
    pub fn handle_open(&mut self, _now: Duration) {
        let hello = ClientMessage::Hello(Hello {
            protocol: PROTOCOL_VERSION,
            schema_hash: self.schema.hash(),
            build: self.options.build.clone(),
            name: self.options.name.clone(),
            auth: std::mem::take(&mut self.options.auth),
            resume: None,
        });
        self.push(&hello);
    }

    /// A whole message came. Whatever it changes for the game waits for the next [`update`](Self::update).
    pub fn handle_message(&mut self, _now: Duration, bytes: impl Into<Vec<u8>>) {
        if self.status.is_closed() {
            return;
        }
        let bytes = bytes.into();
        self.stats.messages_received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        if let Some(recorded) = &mut self.recorded {
            recorded.extend_from_slice(&bytes);
        }
        if self.status == Status::Connecting {
            if let Err(error) = self.admit(&bytes) {
                self.reject(error);
            }
            return;
        }
        self.waiting_bytes += bytes.len();
        self.waiting.push_back(bytes);
        if self.waiting_bytes > limits::CLIENT_WAITING {
            self.close(code::LEFT, "more than 16 MiB wait for `update`, which was not called");
        }
    }

    /// The socket is closed: with a close frame, or without.
    pub fn handle_close(&mut self, _now: Duration, code: Option<u16>, reason: &str) {
        if !self.status.is_closed() {
            self.status = Status::Closed { code, reason: reason.to_owned() };
        }
        self.outgoing.clear();
        self.outgoing_bytes = 0;
    }

    /// Applies everything that has come, as one report, which replaces the last one. What came before a
    /// connection closed is applied too.
    pub fn update(&mut self, now: Duration) {
        self.replica.forget_report();
        while let Some(message) = self.waiting.pop_front() {
            self.waiting_bytes -= message.len();
            if let Err(error) = self.apply(&message) {
                self.waiting.clear();
                self.waiting_bytes = 0;
                self.reject(error);
            }
        }
        if self.is_joined()
            && let Some(tick) = self.acks.due(now)
        {
            self.push(&ClientMessage::Ack(message::Ack { tick, parts: 0, events: 0 }));
        }
    }

    /// What happened, oldest first; each event is handed out once. The oldest go where a game leaves more than
    /// 4,096 unread.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + use<> {
        std::mem::take(&mut self.events).into_iter()
    }

    /// Sends the game on the server a message, which its `on_event` gets.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the client is not joined, the value takes more than 24 KiB or cannot be
    /// encoded, or more than 1 MiB waits for the socket.
    pub fn send<T: Serialize + ?Sized>(&mut self, event: &T) -> Result<(), SendError> {
        let Some(seat) = self.seat.filter(|_| self.is_joined()) else { return Err(SendError::NotJoined) };
        let mut bytes = vec![message::tag::CLIENT_EVENT, 1];
        payload::encode(event, seat.payload_max.min(limits::CLIENT_PAYLOAD), &mut bytes)?;
        if self.outgoing_bytes + bytes.len() > limits::CLIENT_QUEUE {
            return Err(SendError::Full);
        }
        self.push_bytes(bytes);
        Ok(())
    }

    /// Tells the room that the player leaves for good. The room answers by closing with 1000.
    pub fn leave(&mut self) {
        if self.is_joined() {
            self.push(&ClientMessage::Leave);
        }
    }

    /// Closes the connection from this side.
    pub fn close(&mut self, code: u16, reason: &str) {
        if self.status.is_closed() {
            return;
        }
        let reason = close_reason(reason.to_owned());
        self.status = Status::Closed { code: Some(code), reason: reason.clone() };
        self.outgoing.push_back(Outgoing::Close { code, reason });
    }

    /// The next thing to send.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        let next = self.outgoing.pop_front();
        if let Some(Outgoing::Message(bytes)) = &next {
            self.outgoing_bytes -= bytes.len();
            self.stats.messages_sent += 1;
            self.stats.bytes_sent += bytes.len() as u64;
        }
        next
    }

    /// The first message: a welcome, or what goes before a refusal.
    fn admit(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if bytes.first() == Some(&message::tag::WELCOME) {
            let room = message::welcome_protocol(bytes)?;
            if room != Some(PROTOCOL_VERSION) {
                let room = room.map_or_else(|| "none".to_owned(), |version| format!("protocol {version}"));
                let client = format!("protocol {PROTOCOL_VERSION}");
                self.close(code::VERSION, &format!(r#"{{"room":"{room}","client":"{client}"}}"#));
                return Ok(());
            }
        }
        match RoomMessage::decode(bytes)? {
            RoomMessage::Welcome(welcome) => self.seat(welcome),
            RoomMessage::Closing(closing) => self.closing(closing),
            _ => return Err(DecodeError::Order),
        }
        Ok(())
    }

    fn seat(&mut self, welcome: Welcome<'_>) {
        self.seat = Some(Seat {
            player: welcome.player,
            tick_rate: welcome.tick_rate,
            send_every: welcome.send_every,
            payload_max: welcome.payload_max as usize,
        });
        self.status = Status::Joined;
        if let (Some(room), Some(client)) = (welcome.build, &self.options.build)
            && room != client
        {
            let (room, client) = (room.to_owned(), client.clone());
            self.report(Event::BuildMismatch { room, client });
        }
    }

    fn closing(&mut self, closing: Closing<'_>) {
        if closing.code == code::VERSION {
            self.differences = self.schema.differences(closing.schema, closing.visible_hash, closing.hash);
        }
    }

    fn apply(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        match RoomMessage::decode(bytes)? {
            RoomMessage::Update(part) => {
                if let Some(applied) = self.replica.handle_part(part)? {
                    self.stats.updates += 1;
                    self.acks.newest = Some(applied.tick);
                }
            }
            RoomMessage::Event(payload) => self.report(Event::Message(Message::new(payload))),
            RoomMessage::Closing(closing) => self.closing(closing),
            RoomMessage::Welcome(_) => return Err(DecodeError::Order),
            _ => {}
        }
        Ok(())
    }

    fn report(&mut self, event: Event) {
        if self.events.len() == limits::CLIENT_EVENTS {
            self.events.pop_front();
            self.stats.events_dropped += 1;
        }
        self.events.push_back(event);
    }

    /// The room sent what means nothing.
    fn reject(&mut self, error: DecodeError) {
        self.close(code::BAD_MESSAGE, &format!("the room sent a bad message: {error}"));
    }

    fn push(&mut self, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.push_bytes(bytes);
    }

    fn push_bytes(&mut self, bytes: Vec<u8>) {
        self.outgoing_bytes += bytes.len();
        self.outgoing.push_back(Outgoing::Message(bytes));
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("status", &self.status)
            .field("tick", &self.replica.tick())
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

impl Deref for Machine {
    type Target = Replica;

    fn deref(&self) -> &Replica {
        &self.replica
    }
}

/// Acknowledges the newest update, at most so often a second.
#[derive(Debug, Default)]
struct Acks {
    newest: Option<Tick>,
    last: Option<Duration>,
}

impl Acks {
    fn due(&mut self, now: Duration) -> Option<Tick> {
        let gap = Duration::from_secs(1) / limits::ACKS_PER_SECOND;
        if self.last.is_some_and(|last| now.saturating_sub(last) < gap) {
            return None;
        }
        let tick = self.newest.take()?;
        self.last = Some(now);
        Some(tick)
    }
}

#[cfg(test)]
mod tests;

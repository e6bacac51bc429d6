//! The client that games poll, over whichever sockets the system has.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use room::entity::{Id, Owned, Visible};
use room::{PlayerId, SessionId, Stepper};
use serde::Serialize;

use super::connect::ConnectError;
use super::system::{self, Now, Sockets};
use crate::event::{CallId, CallOptions, ClientStats, Event, EventId, LastDrop, SendError, Status};
use crate::interpolate::Smooth;
use crate::machine::{Checkpoint, Machine, Notice, WriteRefused};
use crate::predict::Predicted;
use crate::replica::Replica;

/// A client of a room. What it sees is read through [`Replica`], to which it derefs.
///
/// It keeps its session over drops: [`update`](Client::update) opens a new socket where one is due, on the runtime
/// that the client was made on, or in its page. Dropping it closes the connection; leaving also gives the seat back
/// at once.
pub struct Client {
    pub(super) machine: Machine,
    pub(super) sockets: Sockets,
    // Why the last try to open a socket failed, if none has opened since.
    pub(super) failure: Option<ConnectError>,
}

impl Client {
    pub(super) fn new(machine: Machine, sockets: Sockets) -> Client {
        Client { machine, sockets, failure: None }
    }

    /// Applies everything that has come and sends what waits. Afterwards the report (what entered, changed, left,
    /// and the events) is that of this call alone. `now` is `Instant::now()`; in a browser, what
    /// `requestAnimationFrame` or `performance.now()` says.
    pub fn update(&mut self, now: Now) {
        self.receive(now);
        self.machine.update(self.since(now));
        self.flush();
        self.dial(now);
    }

    /// Where the client stands, as of the last [`update`](Self::update).
    #[must_use]
    pub fn status(&self) -> &Status {
        self.machine.status()
    }

    /// Whether the client is in the room.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.machine.is_joined()
    }

    /// A line for the player about the connection; none while all is well.
    #[must_use]
    pub fn notice(&self) -> Option<Notice> {
        self.machine.notice()
    }

    /// Why the last socket closed, if one has.
    #[must_use]
    pub fn last_drop(&self) -> Option<&LastDrop> {
        self.machine.last_drop()
    }

    /// Who this client is in the room, also while its connection is being made again; `None` without a session.
    #[must_use]
    pub fn player(&self) -> Option<PlayerId> {
        self.machine.player()
    }

    /// The name of the room; `None` before the first welcome. A client that was given a code or a kind learns here
    /// where it is.
    #[must_use]
    pub fn room_name(&self) -> Option<&str> {
        self.machine.room_name()
    }

    /// The session; `None` before the first welcome, and once it is over.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.machine.session()
    }

    /// Which of the session's connections the last welcome opened, counted from 1; 0 before.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.machine.epoch()
    }

    /// The room's ticks a second; 0 until joined.
    #[must_use]
    pub fn tick_rate(&self) -> u32 {
        self.machine.tick_rate()
    }

    /// The room's ticks between two sends; 0 until joined.
    #[must_use]
    pub fn send_every(&self) -> u32 {
        self.machine.send_every()
    }

    /// The room's time in ticks, as the client estimates it; `None` before the first welcome.
    #[must_use]
    pub fn room_time(&self, now: Now) -> Option<f64> {
        self.machine.room_time(self.since(now))
    }

    /// How long a message takes to the room and back, smoothed; `None` before the first answer.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.machine.round_trip()
    }

    /// Whether what moves should stand at once where the last [`update`](Self::update) has it, without a glide
    /// from where it was: the client came back, was hidden, or fell behind by more than a second of sends.
    #[must_use]
    pub fn jumped(&self) -> bool {
        self.machine.jumped()
    }

    /// Events and calls that the room has not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.machine.unacknowledged()
    }

    /// What happened, oldest first; each event is handed out once, and with that the room's messages count as
    /// taken. Of transients and remarks that nobody reads the last 4,096 are kept, or 16 MiB of them.
    ///
    /// The client can be read in the loop over them: what an event speaks of is there already.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + use<> {
        self.machine.events()
    }

    /// Sends the game on the server an event, which its `on_event` gets exactly once, in the order of all events
    /// and calls. It waits where the client is not joined.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the session is over, the value takes more than 24 KiB or cannot be encoded,
    /// or 4,096 events or 1 MiB wait for the room.
    pub fn send<T: Serialize + ?Sized>(&mut self, event: &T) -> Result<EventId, SendError> {
        let sent = self.machine.send(event);
        self.flush();
        sent
    }

    /// Sends the game on the server a message that may be lost: it is for effects that are stale in a moment. It
    /// may overtake events.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the client is not joined, the value takes more than 24 KiB or cannot be
    /// encoded, or 1 MiB waits for the socket.
    pub fn transient<T: Serialize + ?Sized>(&mut self, event: &T) -> Result<(), SendError> {
        let sent = self.machine.transient(event);
        self.flush();
        sent
    }

    /// Sets what the player's presence says of her, where the game lets her: in the order of her events, and like them
    /// exactly once. It waits where the client is not joined, and is gone with the session.
    ///
    /// # Errors
    /// Fails, and sends nothing, where the text has more than 256 bytes, the schema has no presence, the session is
    /// over, or 4,096 events or 1 MiB wait for the room.
    pub fn set_status(&mut self, status: &str) -> Result<EventId, SendError> {
        let sent = self.machine.set_status(status);
        self.flush();
        sent
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
        let sent = self.machine.call(name, value, options);
        self.flush();
        sent
    }

    /// The player does this from now on, as the game's [`Stepper`] has it: her steps are made at once, and by the room in
    /// the tick that they are meant for. Call it once a frame, before [`update`](Self::update). What is done once stays
    /// until a tick has had it, whatever the next frame says.
    ///
    /// The stepper of the first call is the client's for good.
    ///
    /// # Panics
    /// If an earlier call was with another stepper.
    pub fn input<S: Stepper>(&mut self, input: S::Input) {
        self.machine.input::<S>(input);
    }

    /// An entity that this client's player owns, to write. What is written shows at once, goes out with the next send,
    /// and is corrected where the room refuses or changes it.
    ///
    /// # Errors
    /// Fails where the client is not joined, does not see the entity, or its player does not own it.
    pub fn write<K: Owned>(&mut self, id: Id<K>) -> Result<K::Owned<'_>, WriteRefused> {
        self.machine.write(id)
    }

    /// As [`call`](Self::call), of which this client shows at once what it is expected to do: `effect` is done on top of
    /// what the room has, anew whenever that changes, until the result has come.
    ///
    /// # Errors
    /// As [`call`](Self::call); nothing is shown then.
    pub fn call_predicted<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
        options: CallOptions,
        effect: impl Fn(&mut Predicted<'_>) + Send + Sync + 'static,
    ) -> Result<CallId, SendError> {
        let sent = self.machine.call_predicted(name, value, options, effect);
        self.flush();
        sent
    }

    /// Draws some numbers of a kind smoothly from now on, a little behind the room's clock: see [`Smooth`], and
    /// [`drawn`](Replica::drawn) for what comes of it. It is said once, at any time; said again, it begins anew.
    ///
    /// # Panics
    /// If a field is no number and no array or vector of numbers, or is named twice, or the kind is not in the schema.
    pub fn interpolate<K: Visible>(&mut self, fields: impl Smooth<K>) {
        self.machine.interpolate(fields);
    }

    /// How many ticks ahead of the room's clock the client plays; 0 where it sends no inputs.
    #[must_use]
    pub fn lead_ticks(&self) -> f64 {
        self.machine.lead_ticks()
    }

    /// Makes a new session where the old one is [`Lost`](Status::Lost). Where the client gave up, and stands at
    /// [`Closed`](Status::Closed) without a code, it tries again, and goes on with its session if that is still
    /// held.
    pub fn rejoin(&mut self) {
        let now = system::now();
        self.machine.rejoin(self.since(now));
        self.dial(now);
    }

    /// What continues this session in another client of the same URL, or of the room's own; `None` where there is
    /// none to continue. Keep it like a password, and write it anew often: the newest counts.
    pub fn checkpoint(&mut self) -> Option<Checkpoint> {
        self.machine.checkpoint()
    }

    /// The game is hidden, or shown again. A hidden one gets events and no updates.
    pub fn set_hidden(&mut self, hidden: bool) {
        self.machine.handle_hidden(self.since(system::now()), hidden);
        self.flush();
    }

    /// Whether the room was told that the game is hidden.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.machine.is_hidden()
    }

    /// The system reports the network back: a socket that waits for its turn is opened at once.
    pub fn handle_online(&mut self) {
        let now = system::now();
        self.machine.handle_online(self.since(now));
        self.dial(now);
    }

    /// The game came to the foreground, or the device woke: as [`handle_online`](Self::handle_online), and a
    /// connection that says nothing for 1.5 seconds is replaced.
    pub fn handle_foreground(&mut self) {
        let now = system::now();
        // What came before is no answer.
        self.receive(now);
        self.machine.handle_foreground(self.since(now));
        self.flush();
        self.dial(now);
    }

    /// Figures of the client.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        self.machine.stats()
    }

    /// Every byte that came, as it came and as the updates' plain content; empty unless the connection was made
    /// with [`record`](crate::Connect::record).
    #[must_use]
    pub fn received(&self) -> (&[u8], &[u8]) {
        self.machine.received()
    }

    /// The state machine behind this client.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// All that [`update`](Self::update) does but to apply what came: that waits for the game.
    pub(super) fn pump(&mut self, now: Now) {
        self.receive(now);
        self.machine.handle_timeout(self.since(now));
        self.flush();
        self.dial(now);
    }

    /// Takes what the sockets have; the machine keeps it for the next update.
    pub(super) fn receive(&mut self, now: Now) {
        let at = self.since(now);
        if self.sockets.heard() {
            self.machine.handle_bytes(at);
        }
        let (messages, closed) = self.sockets.take();
        for (at, message) in messages {
            self.machine.handle_message(at, message);
        }
        if let Some((code, reason)) = closed {
            self.machine.handle_close(at, code, &reason);
        }
        self.flush();
        if let Some(opened) = self.sockets.opened() {
            self.dialed(at, opened);
            self.flush();
        }
    }

    fn dialed(&mut self, now: Duration, opened: Result<Vec<u8>, ConnectError>) {
        match opened {
            Ok(auth) => {
                self.failure = None;
                self.machine.handle_open(now, auth);
            }
            Err(error) => {
                let reason = error.to_string();
                if error.is_final(self.machine.session().is_some()) {
                    self.machine.handle_refused(now, &reason);
                } else {
                    self.machine.handle_dial_failed(now, &reason);
                }
                self.failure = Some(error);
            }
        }
    }

    /// Opens a socket where one is due.
    pub(super) fn dial(&mut self, now: Now) {
        if self.machine.poll_dial(self.since(now)) {
            self.sockets.dial(self.machine.room());
        }
    }

    pub(super) fn flush(&mut self) {
        while self.machine.is_ending() || self.sockets.has_room() {
            let Some(outgoing) = self.machine.poll_transmit() else { return };
            self.sockets.send(outgoing);
        }
    }

    pub(super) fn since(&self, now: Now) -> Duration {
        self.sockets.since(now)
    }
}

impl Deref for Client {
    type Target = Replica;

    fn deref(&self) -> &Replica {
        self.machine.replica()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("player", &self.player())
            .field("status", self.status())
            .finish_non_exhaustive()
    }
}

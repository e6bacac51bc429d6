//! What the room says: at once what concerns the connection, at the next update what the game sees.

use std::time::Duration;

use room::session::code;
use room::wire::message::{self, Closing, Outcome, RoomMessage, Welcome};
use room::wire::update::LAST;
use room::wire::{DecodeError, PROTOCOL_VERSION};
use room::{Tick, limits};

use super::dial::Then;
use super::{Machine, Phase, Seat, Session};
use crate::event::{CallId, Event, EventId, Message, Status};
use crate::interpolate::Beat;
use crate::replica::Applied;

impl Machine {
    /// A whole message came. Whatever it changes for the game waits for the next [`update`](Self::update).
    pub fn handle_message(&mut self, now: Duration, bytes: impl Into<Vec<u8>>) {
        self.see(now);
        if !self.has_socket() {
            return;
        }
        let bytes = bytes.into();
        self.stats.messages_received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        if let Some(recorded) = &mut self.recorded {
            recorded.extend_from_slice(&bytes);
        }
        self.hear(now);
        let heard = match (self.phase, bytes.first()) {
            (Phase::Opening(_), _) => self.admit(now, bytes),
            (_, Some(&(message::tag::ROOM_ACK | message::tag::PONG))) => self.note(now, &bytes),
            _ => {
                self.keep(now, bytes);
                Ok(())
            }
        };
        if let Err(error) = heard {
            self.reject(error);
        }
    }

    /// Keeps a message for the next update.
    fn keep(&mut self, now: Duration, bytes: Vec<u8>) {
        self.waiting_bytes += bytes.len() + limits::MESSAGE_COST;
        self.waiting.push_back(bytes);
        if self.waiting_bytes > limits::CLIENT_WAITING {
            // It comes again after the resume: nothing of it was acknowledged.
            self.waiting.clear();
            self.waiting_bytes = 0;
            let gap = self.dial.gap(Then::Reconnect);
            self.abort(now, "more than 16 MiB wait for `update`, which was not called", gap);
        }
    }

    /// Applies everything that has come, as one report, which replaces the last one, and runs the timers. What came
    /// before a connection closed is applied too.
    pub fn update(&mut self, now: Duration) {
        self.begin_report();
        self.catch_up();
        self.play(now);
        self.unseen = false;
        self.handle_timeout(now);
        self.replica.draw(self.now, self.clock.room_time(self.now));
    }

    /// Applies everything that has come while the game does not look, as in a hidden page: it will find it merged with
    /// what its next [`update`](Self::update) applies. Runs the timers.
    pub fn absorb(&mut self, now: Duration) {
        self.begin_report();
        self.catch_up();
        self.handle_timeout(now);
    }

    /// Forgets the report that the game has seen.
    pub(super) fn begin_report(&mut self) {
        if !std::mem::replace(&mut self.unseen, true) {
            self.replica.forget_report();
            self.jumped = false;
        }
    }

    /// Applies what waits.
    pub(super) fn catch_up(&mut self) {
        let sends = self.waiting.iter().filter(|bytes| ends_update(bytes)).count();
        let second = self.seat.map_or(1, |seat| (seat.tick_rate / seat.send_every.max(1)).max(1));
        let behind = sends > second as usize;
        if behind {
            self.stats.catch_ups += 1;
            self.jumped = true;
        }
        while let Some(message) = self.waiting.pop_front() {
            self.waiting_bytes -= message.len() + limits::MESSAGE_COST;
            if let Err(error) = self.apply(&message, behind) {
                self.waiting.clear();
                self.waiting_bytes = 0;
                self.reject(error);
            }
        }
        if !self.has_socket() {
            // The link broke it off.
            self.replica.discard_update();
        }
        if self.jumped {
            self.replica.interpolation().settle();
        }
    }

    /// The first message: a welcome, or what goes before a refusal.
    fn admit(&mut self, now: Duration, bytes: Vec<u8>) -> Result<(), DecodeError> {
        if bytes.first() == Some(&message::tag::WELCOME) {
            let room = message::welcome_protocol(&bytes)?;
            if room != Some(PROTOCOL_VERSION) {
                let room = room.map_or_else(|| "none".to_owned(), |version| format!("protocol {version}"));
                let client = format!("protocol {PROTOCOL_VERSION}");
                self.stop(code::VERSION, format!(r#"{{"room":"{room}","client":"{client}"}}"#));
                return Ok(());
            }
        }
        match RoomMessage::decode(&bytes)? {
            RoomMessage::Welcome(welcome) => {
                self.welcomed(now, welcome)?;
                self.keep(now, bytes);
            }
            RoomMessage::Closing(closing) => self.closing(closing),
            // The answer to a ping from before the welcome, which says nothing yet.
            RoomMessage::Pong { .. } => {}
            _ => return Err(DecodeError::Order),
        }
        Ok(())
    }

    fn welcomed(&mut self, now: Duration, welcome: Welcome<'_>) -> Result<(), DecodeError> {
        if welcome.received.max(welcome.sent) > limits::ID_MOST {
            return Err(DecodeError::Value);
        }
        if self.session.is_some_and(|session| session.id != welcome.session) {
            // The room made another one though this one was named.
            self.lose_session();
        }
        // A room that was woken counts its ticks from where it was stored, however long that is past.
        let same_run = self.seat.is_some_and(|seat| seat.state == (welcome.generation, welcome.incarnation));
        self.session = Some(Session { id: welcome.session, token: welcome.token });
        self.arrived(welcome.room);
        self.seat = Some(Seat {
            player: welcome.player,
            epoch: welcome.epoch,
            tick_rate: welcome.tick_rate,
            send_every: welcome.send_every,
            payload_max: (welcome.payload_max as usize).min(limits::CLIENT_PAYLOAD),
            events_max: (welcome.events_max as usize).min(limits::EVENTS_MOST),
            state: (welcome.generation, welcome.incarnation),
            begun: false,
        });
        (self.status, self.phase) = (Status::Joined, Phase::Joined);
        self.rejoined = false;
        self.dial.welcomed();
        self.clock.welcomed(now, welcome.tick, welcome.tick_rate, welcome.resumed && same_run);
        self.outbox.welcomed(welcome.received);
        self.acks.tick = Tick::ZERO;
        self.pending.ack = true;
        self.pending.hidden = self.hidden.then_some(true);
        self.ping(now);
        self.stats.resumes += u64::from(welcome.resumed);
        if let (Some(room), Some(client)) = (welcome.build, &self.options.build)
            && room != client
        {
            let (room, client) = (room.to_owned(), client.clone());
            self.report(Event::BuildMismatch { room, client });
        }
        Ok(())
    }

    fn closing(&mut self, closing: Closing<'_>) {
        if closing.code == code::VERSION {
            self.differences = self.schema.differences(closing.schema, closing.visible_hash, closing.hash);
        }
    }

    /// What the game does not see.
    fn note(&mut self, now: Duration, bytes: &[u8]) -> Result<(), DecodeError> {
        match RoomMessage::decode(bytes)? {
            RoomMessage::Ack(number) => self.outbox.acknowledge(number),
            RoomMessage::Pong { clock, time, inputs } => {
                self.clock.answered(now, clock, time);
                self.reported(inputs);
            }
            _ => return Err(DecodeError::Order),
        }
        Ok(())
    }

    fn apply(&mut self, bytes: &[u8], behind: bool) -> Result<(), DecodeError> {
        match RoomMessage::decode(bytes)? {
            RoomMessage::Update(part) => {
                if let Some(applied) = self.replica.handle_part(part)? {
                    self.updated(applied);
                }
            }
            RoomMessage::Stepped { tick, writes } => self.room_stepped(tick, writes),
            RoomMessage::Event(payload) => self.numbered(|_| Some(Event::Message(Message::new(payload))))?,
            RoomMessage::Result { call, tick, outcome } => self.numbered(|machine| {
                let call = CallId(machine.outbox.answered(call)?);
                machine.call_ended(call);
                let outcome = match outcome {
                    Outcome::Accepted(payload) => Ok(Message::new(payload)),
                    Outcome::Refused(reason) => Err(reason.to_owned()),
                };
                Some(Event::Result { call, tick, outcome })
            })?,
            RoomMessage::Failed(number) => {
                self.numbered(|machine| machine.outbox.id_of(number).map(|id| Event::Failed(EventId(id))))?;
            }
            // After more than a second it is stale.
            RoomMessage::Transient(_) if behind => self.stats.transients_dropped += 1,
            RoomMessage::Transient(payload) => self.report(Event::Transient(Message::new(payload))),
            RoomMessage::Closing(closing) => self.closing(closing),
            RoomMessage::Welcome(welcome) => self.begin(welcome)?,
            RoomMessage::Ack(_) | RoomMessage::Pong { .. } => return Err(DecodeError::Order),
        }
        Ok(())
    }

    /// The stream of a new connection begins.
    fn begin(&mut self, welcome: Welcome<'_>) -> Result<(), DecodeError> {
        let Some(seat) = self.seat.as_mut().filter(|seat| !seat.begun) else {
            return Err(DecodeError::Order);
        };
        seat.begun = true;
        self.inbox.begin(welcome.sent);
        if welcome.resumed {
            self.replica.rebase();
        } else {
            self.replica.clear();
        }
        self.replica.retain(welcome.retain as usize);
        self.begin_play();
        self.replica.interpolation().set_beat(Beat::new(welcome.tick_rate, welcome.send_every));
        self.jump_next = true;
        Ok(())
    }

    fn updated(&mut self, applied: Applied) {
        self.stats.updates += 1;
        self.acks.tick = applied.tick;
        self.jumped |= std::mem::take(&mut self.jump_next);
        if let Some(seat) = self.seat {
            self.held_state = seat.state;
        }
        if let Some(restored) = applied.restored {
            self.report(Event::Resumed { restored });
        }
    }

    /// Takes a numbered message, unless it came before.
    fn numbered(&mut self, event: impl FnOnce(&mut Machine) -> Option<Event>) -> Result<(), DecodeError> {
        if !self.inbox.count() {
            self.stats.repeats += 1;
            return Ok(());
        }
        match event(self) {
            Some(event) => self.inbox.push_numbered(event),
            // It speaks of what another page of this player did.
            None => Ok(()),
        }
    }

    pub(super) fn report(&mut self, event: Event) {
        self.stats.transients_dropped += self.inbox.push(event);
    }

    /// The room sent what means nothing.
    fn reject(&mut self, error: DecodeError) {
        self.stop(code::BAD_MESSAGE, format!("the room sent a bad message: {error}"));
    }
}

/// Whether a message is the last part of an update.
fn ends_update(bytes: &[u8]) -> bool {
    matches!(bytes, [message::tag::UPDATE, flags, ..] if flags & LAST != 0)
}

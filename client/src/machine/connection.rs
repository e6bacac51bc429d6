//! Sockets come and go: hello, close codes, timers, and what the system says of the page.

use std::time::Duration;

use room::Tick;
use room::limits;
use room::session::{close_reason, code};
use room::wire::PROTOCOL_VERSION;
use room::wire::message::{Claim, ClientMessage, Hello, Resume};

use super::dial::{self, Then};
use super::pending::Outgoing;
use super::{Machine, Phase};
use crate::event::{CallId, Event, LastDrop, Status};

/// A game that does not call for longer than this stood still itself, and the room did not fall silent meanwhile.
const STANDSTILL: Duration = Duration::from_secs(2);

impl Machine {
    /// Whether a socket is to be opened now; says so once.
    pub fn poll_dial(&mut self, now: Duration) -> bool {
        self.see(now);
        let due = match self.phase {
            Phase::Waiting(due) => due.is_none_or(|due| due <= now),
            _ => false,
        };
        if !due || self.pending.farewell.is_some() {
            return false;
        }
        self.dial.alone_since.get_or_insert(now);
        self.phase = Phase::Dialing;
        true
    }

    /// The socket is open: says hello. `auth` is MessagePack for the room's authentication, at most 4 KiB; empty
    /// where there is none.
    pub fn handle_open(&mut self, now: Duration, auth: Vec<u8>) {
        self.see(now);
        // What is claimed below is what the game will see.
        self.begin_report();
        self.catch_up();
        if self.phase != Phase::Dialing {
            // It gave up meanwhile.
            if !self.has_socket() {
                self.pending.reset(Some(Outgoing::Abort));
            }
            return;
        }
        self.phase = Phase::Opening(now);
        self.dial.alone_since = None;
        let resume = self.session.map(|session| {
            let (complete, ids) = self.replica.claim();
            let (generation, incarnation) = self.held_state;
            let claim = Claim { generation, incarnation, complete, ids };
            Resume { session: session.id, token: session.token, received: self.inbox.held, claim }
        });
        let mut hello = Vec::new();
        ClientMessage::Hello(Hello {
            protocol: PROTOCOL_VERSION,
            schema_hash: self.schema.hash(),
            build: self.options.build.clone(),
            name: self.options.name.clone(),
            auth,
            resume,
        })
        .encode(&mut hello);
        self.pending.hello = Some(hello);
    }

    /// No socket could be opened. It is tried again after a gap.
    pub fn handle_dial_failed(&mut self, now: Duration, reason: &str) {
        self.see(now);
        if self.phase == Phase::Dialing {
            self.dial.error = Some(reason.to_owned());
            let gap = self.dial.gap(Then::Reconnect);
            self.phase = Phase::Waiting(Some(now + gap));
        }
    }

    /// No socket could be opened, and trying again is of no use: the client stops.
    pub fn handle_refused(&mut self, now: Duration, reason: &str) {
        self.see(now);
        if self.phase == Phase::Dialing {
            self.dial.error = Some(reason.to_owned());
            self.end(None, reason.to_owned());
        }
    }

    /// The socket is closed: with a close frame, or without.
    pub fn handle_close(&mut self, now: Duration, code: Option<u16>, reason: &str) {
        self.see(now);
        if !self.has_socket() {
            return;
        }
        self.dropped(code, reason, None);
        if self.leaving.is_some() {
            return self.end(code, reason.to_owned());
        }
        match dial::then(code, reason) {
            Then::Lose => self.lose(now),
            Then::Stop => self.end(code, reason.to_owned()),
            then => {
                let gap = self.dial.gap(then);
                self.reconnect(now, gap);
            }
        }
    }

    /// Some bytes came, of a message that has not come whole: the room is not silent.
    pub fn handle_bytes(&mut self, now: Duration) {
        self.see(now);
        if self.has_socket() {
            self.hear(now);
        }
    }

    /// The room said something then.
    pub(super) fn hear(&mut self, at: Duration) {
        self.heard = self.heard.max(at);
        // What came before it was asked is no answer.
        self.answer_by = self.answer_by.filter(|by| at + FOREGROUND < *by);
    }

    /// The page is hidden, or shown again. A hidden one gets events and no updates.
    pub fn handle_hidden(&mut self, now: Duration, hidden: bool) {
        self.see(now);
        if self.hidden == hidden {
            return;
        }
        self.hidden = hidden;
        self.jump_next |= !hidden;
        if self.phase == Phase::Joined {
            self.pending.hidden = Some(hidden);
        }
    }

    /// The system reports the network back: a socket that waits for its gap is opened at once.
    pub fn handle_online(&mut self, now: Duration) {
        self.see(now);
        if let Phase::Waiting(due) = &mut self.phase {
            *due = None;
        }
    }

    /// The page came to the foreground, or the device woke: as [`handle_online`](Self::handle_online), and a
    /// connection that says nothing for 1.5 seconds is replaced.
    pub fn handle_foreground(&mut self, now: Duration) {
        self.handle_online(now);
        if self.phase == Phase::Joined {
            self.ping(now);
            self.answer_by = Some(now + FOREGROUND);
        }
    }

    /// Leaves for good, once the room has what was sent before. The room answers by closing with 1000; a client
    /// that hears nothing for a second stops by itself, and keeps what continues its session.
    pub fn leave(&mut self, now: Duration) {
        self.see(now);
        match self.phase {
            Phase::Joined => {
                self.pending.leave = true;
                self.leaving.get_or_insert(now);
            }
            Phase::Idle if self.status.is_closed() => {}
            _ => {
                let farewell = self.has_socket().then(|| close(code::LEFT, ""));
                self.end(None, "left while not joined".to_owned());
                self.pending.reset(farewell);
            }
        }
    }

    /// Makes a new session where the old one is [`Lost`](Status::Lost). Where the client gave up, and stands at
    /// [`Closed`](Status::Closed) without a code, it tries again, and goes on with its session if that is still
    /// held. Elsewhere it does nothing.
    pub fn rejoin(&mut self, now: Duration) {
        self.see(now);
        self.status = match self.status {
            Status::Lost => Status::Rejoining,
            Status::Closed { code: None, .. } if self.session.is_some() => Status::Reconnecting,
            Status::Closed { code: None, .. } => Status::Connecting,
            _ => return,
        };
        self.phase = Phase::Waiting(None);
        self.dial.alone_since = Some(now);
    }

    /// When [`update`](Self::update) must be called at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let gives_up = self.dial.alone_since.map(|since| since.saturating_add(self.options.give_up));
        let of_phase = match self.phase {
            Phase::Idle => return None,
            Phase::Waiting(due) => [Some(due.unwrap_or(self.now)), gives_up, None, None],
            Phase::Dialing => [gives_up, None, None, None],
            Phase::Opening(since) => [Some(since + CONNECT), None, None, None],
            Phase::Joined => {
                let leave_by = self.leaving.map(|since| since + LEAVE);
                let silent = self.answer_by.unwrap_or(self.heard + SILENCE);
                [Some(self.next_ping), Some(silent), leave_by, self.acks.when(self.ack())]
            }
        };
        of_phase.into_iter().flatten().min()
    }

    /// Pings, acknowledges, and gives up what is silent: what [`update`](Self::update) does besides applying, for a
    /// driver whose game does not look yet.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.see(now);
        let stood = self.timers_ran.replace(now).map_or(Duration::ZERO, |last| now.saturating_sub(last));
        self.heard = (self.heard + stood.saturating_sub(STANDSTILL)).min(now.max(self.heard));
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) | Phase::Dialing => self.check_alone(now),
            Phase::Opening(since) if now >= since + CONNECT => {
                let reason = format!("no welcome came within {} seconds", limits::CONNECT_SECONDS);
                let gap = self.dial.gap(Then::Reconnect);
                self.abort(now, &reason, gap);
            }
            Phase::Opening(_) => {}
            Phase::Joined => self.check_joined(now),
        }
    }

    fn check_alone(&mut self, now: Duration) {
        let since = *self.dial.alone_since.get_or_insert(now);
        if now.saturating_sub(since) >= self.options.give_up {
            let why = self.dial.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            let seconds = self.options.give_up.as_secs();
            self.end(None, format!("no connection for {seconds} seconds{why}"));
        }
    }

    fn check_joined(&mut self, now: Duration) {
        if self.leaving.is_some_and(|since| now >= since + LEAVE) {
            self.end(None, "the room did not answer the leave".to_owned());
            self.pending.reset(Some(close(code::LEFT, "")));
        } else if self.answer_by.is_some_and(|by| now >= by) {
            self.abort(now, "nothing was heard after the return to the foreground", Duration::ZERO);
        } else if now >= self.heard + SILENCE {
            let reason = format!("nothing was heard for {} seconds", limits::SILENCE_SECONDS);
            let gap = self.dial.gap(Then::Reconnect);
            self.abort(now, &reason, gap);
        } else {
            if now >= self.next_ping {
                self.ping(now);
            }
            let ack = self.ack();
            self.pending.ack |= self.acks.due(now, ack);
        }
    }

    pub(super) fn ping(&mut self, now: Duration) {
        self.pending.ping = Some(now.as_micros() as u64);
        self.next_ping = now + Duration::from_secs(limits::CLIENT_PING_SECONDS);
    }

    pub(super) fn see(&mut self, now: Duration) {
        let stood = now.saturating_sub(self.now);
        let late = |due: Duration| now.saturating_sub(due) > STANDSTILL;
        // The time in which it could not try, asleep say, is none that it tried in vain.
        if stood > STANDSTILL && self.poll_timeout().is_some_and(late) {
            self.dial.alone_since = self.dial.alone_since.map(|since| since + stood);
        }
        self.now = self.now.max(now);
    }

    /// Whether a socket is open, and not about to be closed.
    pub(crate) fn has_socket(&self) -> bool {
        matches!(self.phase, Phase::Opening(_) | Phase::Joined)
    }

    /// A socket that had opened is gone, or is to go.
    fn dropped(&mut self, code: Option<u16>, reason: &str, farewell: Option<Outgoing>) {
        self.last_drop = Some(LastDrop { code, reason: reason.to_owned() });
        self.stats.drops += 1;
        self.pending.reset(farewell);
        self.answer_by = None;
    }

    fn reconnect(&mut self, now: Duration, gap: Duration) {
        if self.status != Status::Rejoining {
            self.status = Status::Reconnecting;
        }
        self.phase = Phase::Waiting(Some(now + gap));
        self.dial.alone_since = Some(now);
    }

    /// Gives the socket up and opens another one.
    pub(super) fn abort(&mut self, now: Duration, reason: &str, gap: Duration) {
        self.dropped(None, reason, Some(Outgoing::Abort));
        if self.leaving.is_some() {
            let farewell = self.pending.farewell.take();
            self.end(None, reason.to_owned());
            return self.pending.reset(farewell);
        }
        self.reconnect(now, gap);
    }

    /// Closes the socket, if there is one, and stops.
    pub(super) fn stop(&mut self, code: u16, reason: String) {
        let reason = close_reason(reason);
        let farewell = self.has_socket().then(|| close(code, &reason));
        if farewell.is_some() {
            self.dropped(Some(code), &reason, None);
        }
        self.end(Some(code), reason);
        self.pending.reset(farewell);
    }

    /// The client stops, its socket being gone.
    fn end(&mut self, code: Option<u16>, reason: String) {
        if dial::ends_session(code) {
            self.session = None;
        }
        self.phase = Phase::Idle;
        self.status = Status::Closed { code, reason };
        self.pending.reset(None);
        self.leaving = None;
    }

    /// The session is gone. A new one is made by itself where that is wanted, once a drop.
    fn lose(&mut self, now: Duration) {
        self.lose_session();
        self.phase = Phase::Idle;
        self.status = Status::Lost;
        if self.options.rejoin && !std::mem::replace(&mut self.rejoined, true) {
            self.rejoin(now);
        }
    }

    /// Forgets the session, and tells the game what it takes along.
    pub(super) fn lose_session(&mut self) {
        let (undelivered, unanswered) = self.outbox.lose();
        self.inbox.lose();
        (self.session, self.seat) = (None, None);
        for call in unanswered {
            self.call_ended(CallId(call));
            let outcome = Err("lost".to_owned());
            self.report(Event::Result { call: CallId(call), tick: Tick::ZERO, outcome });
        }
        self.report(Event::SessionLost { undelivered });
    }
}

fn close(code: u16, reason: &str) -> Outgoing {
    Outgoing::Close { code, reason: reason.to_owned() }
}

const CONNECT: Duration = Duration::from_secs(limits::CONNECT_SECONDS);
const SILENCE: Duration = Duration::from_secs(limits::SILENCE_SECONDS);
const FOREGROUND: Duration = Duration::from_millis(limits::FOREGROUND_MS);
const LEAVE: Duration = Duration::from_secs(limits::LEAVE_SECONDS);

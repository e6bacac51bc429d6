//! After a failure: one event a tick, and before each it is committed that it is being tried. So an event that fails
//! the room can be told from the others, and fails it a few times and not for ever.

use std::collections::BTreeMap;

use super::rows::Rows;
use crate::entity::SessionId;
use crate::room::journal::Entry;
use crate::tick::Tick;

/// Runs that an event may fail before it is not tried again.
const TRIES: u32 = 2;

/// What a room knows of events that may fail it.
#[derive(Debug, Default)]
pub(super) struct Caution {
    /// The last failure, and up to when the room is careful for it, whichever run it is then.
    failed: Tick,
    until: Tick,
    /// Events that may fail the room, and in how many failed runs they were tried.
    tried: BTreeMap<(SessionId, u64), u32>,
    trying: Option<((SessionId, u64), Noted)>,
    /// The event whose hook runs. It is still there after a panic.
    running: Option<(SessionId, u64)>,
    /// Whose event was tried last: others come before her next one.
    last: SessionId,
    /// Of the events that wait, the one whose turn it is: every session asks in every tick.
    next: Option<(SessionId, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noted {
    InCommit,
    Kept,
}

/// What to do with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Handle it.
    Handle,
    /// Leave it for the next tick.
    Wait,
    /// It failed the room often enough.
    GiveUp,
}

impl Caution {
    /// For a room that failed in a tick, and is careful for so many.
    pub(super) fn new(failed: Option<Tick>, careful: u64, tried: BTreeMap<(SessionId, u64), u32>) -> Caution {
        let until = failed.map_or(Tick::ZERO, |tick| Tick(tick.0 + careful));
        Caution { failed: failed.unwrap_or_default(), until, tried, ..Caution::default() }
    }

    /// Says what to do with the next event of a session.
    pub(super) fn judge(&mut self, event: (SessionId, u64), now: Tick) -> Verdict {
        if self.tried.get(&event).is_some_and(|times| *times >= TRIES) {
            return Verdict::GiveUp;
        }
        if now > self.until && !self.tried.contains_key(&event) {
            return Verdict::Handle;
        }
        match self.trying {
            Some((trying, Noted::Kept)) if trying == event => return Verdict::Handle,
            Some((trying, Noted::InCommit)) if trying == event => {}
            _ if self.next.is_some_and(|next| self.turn(next.0) <= self.turn(event.0)) => {}
            _ => self.next = Some(event),
        }
        Verdict::Wait
    }

    /// Where a session stands in the line: behind the last one, round and round.
    fn turn(&self, session: SessionId) -> (bool, SessionId) {
        (session <= self.last, session)
    }

    /// The highest number of a session's events that may fail the room; 0 where there is none.
    pub(super) fn last_tried(&self, session: SessionId) -> u64 {
        let tried = self.tried.range((session, 0)..=(session, u64::MAX));
        tried.last().map_or(0, |((_, number), _)| *number)
    }

    /// The hook of an event begins.
    pub(super) fn begins(&mut self, event: (SessionId, u64)) {
        self.running = Some(event);
    }

    /// An event was handled, or given up.
    pub(super) fn done(&mut self, event: (SessionId, u64)) {
        self.running = None;
        self.tried.remove(&event);
        self.trying.take_if(|(trying, _)| *trying == event);
        self.next.take_if(|next| *next == event);
    }

    /// Events of a session are not handled any more.
    pub(super) fn ended(&mut self, session: SessionId) {
        self.tried.retain(|(of, _), _| *of != session);
        self.next.take_if(|(of, _)| *of == session);
        self.trying.take_if(|((of, _), _)| *of == session);
    }

    /// Says what is tried next, where nothing is.
    pub(super) fn put(&mut self, rows: &mut Rows) {
        if self.trying.is_none()
            && let Some(event) = self.next.take()
        {
            rows.push(&Entry::Trying { session: event.0, number: event.1 });
            (self.trying, self.last) = (Some((event, Noted::InCommit)), event.0);
        }
    }

    /// Says that the run failed, and in which event's hook, where it was in one. Nobody else is to blame then.
    pub(super) fn put_failure(&self, rows: &mut Rows) {
        rows.push(&Entry::Failed);
        let Some(running) = self.running else { return };
        let noted = self.trying.filter(|(_, noted)| *noted == Noted::Kept).map(|(event, _)| event);
        if noted == Some(running) {
            return;
        }
        // It was not noted that it is tried, which does not count; from now on it is.
        for event in noted.into_iter().chain([running]) {
            let times = self.tried.get(&event).copied().unwrap_or(0);
            rows.push(&Entry::Tried { session: event.0, number: event.1, times });
        }
    }

    /// Says everything, for a snapshot.
    pub(super) fn put_all(&self, now: Tick, rows: &mut Rows) {
        if now <= self.until {
            rows.push(&Entry::FailedAt(self.failed));
        }
        for ((session, number), times) in &self.tried {
            rows.push(&Entry::Tried { session: *session, number: *number, times: *times });
        }
        if let Some(((session, number), _)) = self.trying {
            rows.push(&Entry::Trying { session, number });
        }
    }

    /// What was noted is kept.
    pub(super) fn committed(&mut self) {
        if let Some((_, noted @ Noted::InCommit)) = &mut self.trying {
            *noted = Noted::Kept;
        }
    }
}

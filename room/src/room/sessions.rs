//! The sessions of a room: what outlives a player's connections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use super::calls::Run;
use super::{ConnectionId, Game, Peer};
use crate::entity::{EntityId, PlayerId, SessionId};
use crate::faults::{self, Fault};
use crate::limits;
use crate::session::credit::{Credit, Rate};
use crate::session::outbox::Outbox;
use crate::session::tokens::Tokens;
use crate::sync::workers::Shared;
use crate::tick::Tick;

/// One session.
pub(super) struct Session<G: Game> {
    pub(super) player: PlayerId,
    pub(super) name: String,
    pub(super) account: Option<String>,
    /// Connections so far: each is an epoch.
    pub(super) epoch: u32,
    pub(super) tokens: Tokens,
    /// Its connection; the last one while it is held.
    pub(super) conn: ConnectionId,
    /// The last tick in which it is held; none while it is connected.
    pub(super) held: Option<Tick>,
    /// The game's scratch data while no connection has it.
    pub(super) scratch: Option<G::Scratch>,
    pub(super) hidden_since: Option<Tick>,
    /// Bytes a second that its last link carried, where that is known.
    pub(super) pace: Option<usize>,
    pub(super) outbox: Outbox,
    /// Since when the outbox is past its bounds.
    pub(super) over_since: Option<Tick>,
    /// Since when something is on the wire and nothing was acknowledged, as far as was looked.
    pub(super) quiet_since: Option<Tick>,
    /// Events and calls that were not handled yet, in order.
    pub(super) waiting: VecDeque<Waiting<G>>,
    waiting_bytes: usize,
    /// The player leaves as soon as none waits.
    pub(super) leaving: bool,
    /// The number of the last event or call that came.
    pub(super) received: u64,
    /// The number of the last one handled.
    pub(super) handled: u64,
    /// The number up to which the client was told.
    pub(super) told: u64,
    pub(super) credit: Credit,
    /// Of calls that have a rate.
    pub(super) call_credit: BTreeMap<&'static str, Credit>,
    /// Of messages with inputs.
    pub(super) input_credit: Credit,
    /// Messages dropped since the log told of it.
    pub(super) flooded: u64,
    /// The number of the last message of writes on its connection, done or not.
    pub(super) written: u64,
    /// The tick in which the client was last told of inputs and writes.
    pub(super) told_stepped: Tick,
    /// Writes refused since the log told of it.
    pub(super) refused_writes: u64,
}

/// An event, a call or a status that waits for the game.
pub(super) struct Waiting<G: Game> {
    pub(super) number: u64,
    pub(super) cost: usize,
    /// Behind a lock that nobody waits for: a game's events need not be shared between threads, a room is.
    pub(super) said: Shared<Said<G>>,
}

pub(super) enum Said<G: Game> {
    Event(G::Event),
    Call(Asked<G>),
    /// In her presence.
    Status(String),
}

/// A call that waits for the game.
pub(super) struct Asked<G: Game> {
    /// Its name and what runs it; none where the game has no such call.
    pub(super) run: Option<(&'static str, Run<G>)>,
    pub(super) through: Option<EntityId>,
    pub(super) deadline: Tick,
}

impl<G: Game> Session<G> {
    pub(super) fn new(
        player: PlayerId,
        (name, account): (String, Option<String>),
        tokens: Tokens,
        conn: ConnectionId,
        [credit, input_credit]: [Credit; 2],
    ) -> Self {
        Session {
            player,
            name,
            account,
            epoch: 1,
            tokens,
            conn,
            held: None,
            scratch: None,
            hidden_since: None,
            pace: None,
            outbox: Outbox::default(),
            over_since: None,
            quiet_since: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            leaving: false,
            received: 0,
            handled: 0,
            told: 0,
            credit,
            call_credit: BTreeMap::new(),
            input_credit,
            flooded: 0,
            written: 0,
            told_stepped: Tick::ZERO,
            refused_writes: 0,
        }
    }

    pub(super) fn peer(&self) -> Peer {
        Peer { player: self.player, conn: self.conn }
    }

    /// Whether an event of this number came already.
    pub(super) fn has(&self, number: u64) -> bool {
        number <= self.received && !faults::is(Fault::NoDedupe)
    }

    /// The number of the last event that the room has.
    pub(super) fn last_received(&self) -> u64 {
        if faults::is(Fault::NoDedupe) { 0 } else { self.received }
    }

    /// Keeps an event for the game; returns whether there is room for it.
    pub(super) fn wait(&mut self, waiting: Waiting<G>) -> bool {
        if self.waiting_bytes + waiting.cost > limits::INBOX {
            return false;
        }
        self.waiting_bytes += waiting.cost;
        self.received = waiting.number;
        self.waiting.push_back(waiting);
        true
    }

    /// The next event for the game.
    pub(super) fn next(&mut self) -> Option<Waiting<G>> {
        let next = self.waiting.pop_front()?;
        self.waiting_bytes -= next.cost;
        Some(next)
    }

    /// Takes one message's credit of a call with a rate.
    pub(super) fn may_call(&mut self, name: &'static str, rate: Rate, now: Tick) -> bool {
        self.call_credit.entry(name).or_insert_with(|| Credit::full(rate, now)).take(rate, now)
    }
}

/// All sessions of a room.
pub(super) struct Sessions<G: Game> {
    by_id: BTreeMap<SessionId, Session<G>>,
    of_player: BTreeMap<PlayerId, Vec<SessionId>>,
    /// By their connection, or the last they had.
    of_conn: BTreeMap<ConnectionId, SessionId>,
    holds: BTreeSet<(Tick, SessionId)>,
    last: SessionId,
    /// Something is to be sent to them.
    pub(super) ready: BTreeSet<SessionId>,
    /// They wrote, and were not told yet what became of it.
    pub(super) wrote: BTreeSet<SessionId>,
    /// Something of theirs waits for credit.
    pub(super) owing: BTreeSet<SessionId>,
    /// What a store has not heard of yet; none where there is no store.
    pub(super) unstored: Option<Unstored>,
}

/// What became of sessions since the last commit.
#[derive(Debug, Default)]
pub(super) struct Unstored {
    /// Began, or changed in what [`StoredSession`](super::journal::entry::StoredSession) has.
    pub(super) changed: BTreeSet<SessionId>,
    /// Their events were handled, or something is new for their clients.
    pub(super) progressed: BTreeSet<SessionId>,
    /// They are over.
    pub(super) ended: BTreeMap<SessionId, Ended>,
}

/// A session that is over, while a kill would bring it back: whom that may be told is asked as before.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) player: PlayerId,
    pub(super) account: Option<String>,
    pub(super) tokens: Tokens,
}

impl<G: Game> Default for Sessions<G> {
    fn default() -> Self {
        Sessions {
            by_id: BTreeMap::new(),
            of_player: BTreeMap::new(),
            of_conn: BTreeMap::new(),
            holds: BTreeSet::new(),
            last: SessionId(0),
            ready: BTreeSet::new(),
            wrote: BTreeSet::new(),
            owing: BTreeSet::new(),
            unstored: None,
        }
    }
}

impl<G: Game> Sessions<G> {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&Session<G>> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session<G>> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &Session<G>)> + '_ {
        self.by_id.iter().map(|(id, session)| (*id, session))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Session<G>)> + '_ {
        self.by_id.iter_mut().map(|(id, session)| (*id, session))
    }

    /// The next session behind a number.
    pub(super) fn after(&self, id: Option<SessionId>) -> Option<(SessionId, &Session<G>)> {
        let behind = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_id.range((behind, Bound::Unbounded)).next().map(|(id, session)| (*id, session))
    }

    /// The highest number given.
    pub(super) fn last(&self) -> SessionId {
        self.last
    }

    /// The players who have sessions, held ones too, in order.
    pub(super) fn players(&self) -> impl Iterator<Item = PlayerId> + '_ {
        self.of_player.keys().copied()
    }

    /// Whether a player has a session that is not held.
    pub(super) fn is_connected(&self, player: PlayerId) -> bool {
        let mut sessions = self.of_player(player).iter().filter_map(|id| self.get(*id));
        sessions.any(|session| session.held.is_none())
    }

    pub(super) fn of_player(&self, player: PlayerId) -> &[SessionId] {
        self.of_player.get(&player).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_conn(&self, conn: ConnectionId) -> Option<SessionId> {
        self.of_conn.get(&conn).copied()
    }

    pub(super) fn insert(&mut self, session: Session<G>) -> SessionId {
        self.last.0 += 1;
        self.of_player.entry(session.player).or_default().push(self.last);
        self.of_conn.insert(session.conn, self.last);
        self.by_id.insert(self.last, session);
        self.changed(self.last);
        self.last
    }

    /// Puts back a session of an earlier run.
    pub(super) fn restore(&mut self, id: SessionId, session: Session<G>) {
        self.of_player.entry(session.player).or_default().push(id);
        self.of_conn.insert(session.conn, id);
        if let Some(until) = session.held {
            self.holds.insert((until, id));
        }
        self.by_id.insert(id, session);
        self.last = self.last.max(id);
    }

    /// The highest number given by earlier runs.
    pub(super) fn restore_last(&mut self, last: SessionId) {
        self.last = self.last.max(last);
    }

    /// Something of a session changed that a store must know.
    pub(super) fn changed(&mut self, id: SessionId) {
        if let Some(unstored) = &mut self.unstored {
            unstored.changed.insert(id);
        }
    }

    /// An event of a session was handled, or something is new for its client.
    pub(super) fn progressed(&mut self, id: SessionId) {
        if let Some(unstored) = &mut self.unstored {
            unstored.progressed.insert(id);
        }
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<Session<G>> {
        let gone = self.by_id.remove(&id)?;
        self.of_conn.remove(&gone.conn);
        if let Some(tick) = gone.held {
            self.holds.remove(&(tick, id));
        }
        if let Some(of_player) = self.of_player.get_mut(&gone.player) {
            of_player.retain(|other| *other != id);
            if of_player.is_empty() {
                self.of_player.remove(&gone.player);
            }
        }
        self.ready.remove(&id);
        self.owing.remove(&id);
        self.wrote.remove(&id);
        if let Some(unstored) = &mut self.unstored {
            unstored.changed.remove(&id);
            unstored.progressed.remove(&id);
            let (account, tokens) = (gone.account.clone(), gone.tokens.clone());
            unstored.ended.insert(id, Ended { player: gone.player, account, tokens });
        }
        Some(gone)
    }

    /// Its connection is gone: it is held up to a tick.
    pub(super) fn hold(&mut self, id: SessionId, until: Tick) {
        if let Some(session) = self.by_id.get_mut(&id) {
            session.held = Some(until);
            (session.hidden_since, session.quiet_since) = (None, None);
            self.holds.insert((until, id));
        }
        self.changed(id);
    }

    /// It has a new connection.
    pub(super) fn connect(&mut self, id: SessionId, conn: ConnectionId) -> Option<&mut Session<G>> {
        self.changed(id);
        let session = self.by_id.get_mut(&id)?;
        if let Some(tick) = session.held.take() {
            self.holds.remove(&(tick, id));
        }
        self.of_conn.remove(&session.conn);
        self.of_conn.insert(conn, id);
        session.conn = conn;
        session.epoch += 1;
        (session.hidden_since, session.quiet_since) = (None, None);
        session.written = 0;
        session.leaving = false;
        Some(session)
    }

    /// The next session whose hold ended before this tick.
    pub(super) fn expired(&self, now: Tick) -> Option<SessionId> {
        self.holds.first().filter(|(until, _)| *until < now).map(|(_, id)| *id)
    }
}

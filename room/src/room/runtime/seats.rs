//! Who sits where: joins, resumes, drops and the end of sessions.

use super::durable::Durable;
use super::{Account, Join, Runtime, Sessions};
use crate::entity::{PlayerId, SessionId};
use crate::faults::{self, Fault};
use crate::limits;
use crate::room::game::{Dropped, Game, LeaveReason, Peer};
use crate::room::log::Log;
use crate::room::sessions::{Ended, Session};
use crate::room::{Connection, ConnectionId};
use crate::session::tokens::{Known, Tokens};
use crate::session::{Claim, Refusal, Resume, close_reason, code};
use crate::tick::Tick;
use crate::wire::PROTOCOL_VERSION;
use crate::wire::message::{RoomMessage, Welcome};

/// The session that a client may continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resuming {
    /// The session.
    pub session: SessionId,
    /// Its player.
    pub player: PlayerId,
    /// The account that authentication must return again.
    pub account: Option<String>,
}

/// What a client that asks to come in gets.
enum Plan {
    /// A session of its own.
    New,
    /// A session that it names, or that its account has.
    Continue(SessionId),
}

/// How a client found the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// By its name.
    Name,
    /// By its code, which lets new players into private rooms.
    Code,
    /// As any room of this kind that has a seat.
    Kind(String),
}

/// Whom a room has nothing for.
pub(super) enum Turned {
    /// She is refused.
    Away(Refusal),
    /// She looks for any room; this is not the one.
    Back,
}

/// How the client of a connection comes to it.
enum Seating {
    Joined,
    /// With a good token: what it holds is heard.
    Resumed,
    /// As the same account over another device, which holds nothing.
    Moved,
}

impl<G: Game> Runtime<G> {
    /// Checks the session and the token of a hello. To be asked before authentication, which must return the
    /// session's account; [`handle_open`](Runtime::handle_open) asks again. A session whose end the store does not
    /// know yet counts as there: that it ends is told to nobody before authentication.
    pub fn check_resume(&self, resume: &Resume) -> Result<Resuming, Refusal> {
        let unknown = || Refusal::new(code::NO_SESSION, "the session is unknown or has ended");
        let id = resume.session;
        let lives = self.room.sessions.get(id).map(|it| (it.player, &it.account, &it.tokens));
        let known = lives.or_else(|| self.ending(id).map(|it| (it.player, &it.account, &it.tokens)));
        let (player, account, tokens) = known.ok_or_else(unknown)?;
        match tokens.check(&resume.token) {
            Known::Good => Ok(Resuming { session: id, player, account: account.clone() }),
            Known::Displaced => {
                Err(Refusal::new(code::REPLACED, "the session goes on over another connection"))
            }
            Known::No => Err(unknown()),
        }
    }

    /// A session that is over, where the store does not know it yet.
    fn ending(&self, id: SessionId) -> Option<&Ended> {
        let unstored = self.room.sessions.unstored.as_ref().and_then(|unstored| unstored.ended.get(&id));
        unstored.or_else(|| self.durable.as_ref()?.ending.get(&id))
    }

    fn plan(&self, join: &Join) -> Result<Plan, Refusal> {
        if let Some(resume) = &join.hello.resume {
            let resuming = self.check_resume(resume)?;
            return if resuming.account != join.identity.account {
                Err(Refusal::new(code::NOT_ALLOWED, "the session is of another account"))
            } else if self.room.sessions.get(resume.session).is_none() {
                // Were the room killed now, it would be there again: she asks once more when it is known.
                Err(Refusal::new(code::BUSY, "the session is just ending"))
            } else {
                Ok(Plan::Continue(resuming.session))
            };
        }
        let player = join.identity.account.as_ref().and_then(|account| self.accounts.get(account));
        let session = player.and_then(|known| self.room.sessions.of_player(known.player).last());
        let held = session.and_then(|id| self.room.sessions.get(*id)).is_some_and(|s| s.held.is_some());
        match (session, self.settings.sessions) {
            (Some(session), Sessions::Continue) => Ok(Plan::Continue(*session)),
            // Nobody plays over a held one: she comes back without her token.
            (Some(session), Sessions::Refuse) if held => Ok(Plan::Continue(*session)),
            (Some(_), Sessions::Refuse) => {
                Err(Refusal::new(code::NOT_ALLOWED, "this account plays here already"))
            }
            (Some(_), Sessions::Several) | (None, _) => Ok(Plan::New),
        }
    }

    /// What a client that asks to come in gets, where there is a seat for it.
    fn admit(&self, join: &Join, joining: usize) -> Result<Plan, Refusal> {
        let plan = self.plan(join)?;
        let (taken, seats) = (self.room.sessions.len() + joining, self.room.max_players());
        if matches!(plan, Plan::New) && taken >= seats {
            return Err(Refusal::new(code::FULL, format!(r#"{{"players":{taken},"max":{seats}}}"#)));
        }
        Ok(plan)
    }

    /// Whether a client that asks to come in needs a seat; what to do where it gets nothing. A session goes on
    /// whichever way its client came.
    pub(super) fn needs_seat(&self, way: &Way, join: &Join) -> Result<bool, Turned> {
        let full = match self.admit(join, self.inbox.joining()) {
            Ok(Plan::Continue(_)) => return Ok(false),
            Ok(Plan::New) => None,
            Err(refusal) if refusal.code == code::FULL => Some(refusal),
            Err(refusal) => return Err(Turned::Away(refusal)),
        };
        let label = self.room.label();
        match way {
            Way::Name if label.private => Err(Turned::Away(Refusal::new(code::NOT_ALLOWED, PRIVATE))),
            Way::Kind(kind) if full.is_some() || !label.is_open() || label.kind != *kind => Err(Turned::Back),
            Way::Name | Way::Code | Way::Kind(_) => full.map_or(Ok(true), |full| Err(Turned::Away(full))),
        }
    }

    pub(super) fn join(&mut self, conn: ConnectionId, join: Join) {
        if !self.inbox.wants(conn, join.hello.resume.is_some()) {
            // It went again before it had a seat.
            return;
        }
        match self.admit(&join, 0) {
            Ok(Plan::New) => self.begin(conn, join),
            Ok(Plan::Continue(session)) => self.go_on(conn, session, join),
            Err(refusal) => {
                self.out.close(conn, refusal.code, refusal.reason);
                self.inbox.forget(conn);
            }
        }
    }

    /// A session begins.
    fn begin(&mut self, conn: ConnectionId, join: Join) {
        let known = join.identity.account.as_ref().and_then(|account| self.accounts.get(account));
        let known = known.map(|known| known.player);
        let player = known.unwrap_or(PlayerId(self.next_player));
        if known.is_none() {
            self.next_player += 1;
        }
        let before = self.room.world.born().len();
        self.room.world.ensure_private(player);
        let who = (join.hello.name.clone(), join.identity.account.clone());
        let credit = self.full_credit();
        let session = Session::new(player, who, Tokens::new(&join.token), conn, credit);
        let session = self.room.sessions.insert(session);
        self.seat(conn, session, None, G::Scratch::default());
        self.room.present(player);
        let peer = Peer { player, conn };
        let refused = match self.caught("on_join", |game, room| game.on_join(room, peer)) {
            Some(Ok(())) => {
                if let Some(account) = join.identity.account.clone() {
                    self.note_account(account, Account { player, left: None });
                }
                self.logs.push_back(Log::Join { player, name: join.hello.name.clone() });
                return self.welcome(conn, session, &join, Seating::Joined);
            }
            Some(Err(refused)) => refused.reason().to_owned(),
            None => String::from("the room failed to let you in"),
        };
        self.unseat(conn);
        self.room.sessions.remove(session);
        self.room.world.undo_births(before);
        self.room.present(player);
        self.out.close(conn, code::JOIN_REFUSED, close_reason(refused));
        self.inbox.forget(conn);
    }

    /// A session goes on over another connection, with what its client claims to hold.
    fn go_on(&mut self, conn: ConnectionId, id: SessionId, join: Join) {
        let Some(session) = self.room.sessions.get_mut(id) else { return };
        let (older, was_held) = (session.conn, session.held.is_some());
        let resume = join.hello.resume.as_ref();
        match resume {
            Some(resume) => session.tokens.rotate(&resume.token, &join.token),
            None => {
                session.tokens.displace(&join.token);
                // The event of that number is not this client's, and does not come again.
                let tried = self.durable.as_ref().map_or(0, |durable| durable.caution.last_tried(id));
                session.received = session.received.max(tried);
            }
        }
        // What was told or sent over the older connection may not have come.
        session.told = 0;
        session.outbox.rewind(resume.map_or(0, |resume| resume.received));
        session.name.clone_from(&join.hello.name);
        let mut scratch = session.scratch.take();
        let kept = faults::is(Fault::OldView).then(|| self.room.by_id.get(&older).copied()).flatten();
        if !was_held {
            self.out.close(older, code::REPLACED, String::from("replaced by a newer connection"));
            self.inbox.forget(older);
            scratch = if kept.is_some() { self.take_seat(older) } else { self.unseat(older) };
        }
        self.room.sessions.connect(id, conn);
        let claim = resume.map(|resume| &resume.claim);
        let scratch = scratch.unwrap_or_default();
        match kept {
            Some(viewer) => self.sit(conn, id, viewer, scratch),
            None => self.seat(conn, id, claim, scratch),
        }
        let Some(peer) = self.room.sessions.get(id).map(Session::peer) else { return };
        self.room.present(peer.player);
        if was_held {
            self.caught("on_resume", |game, room| game.on_resume(room, peer));
        }
        let seating = if resume.is_some() { Seating::Resumed } else { Seating::Moved };
        self.logs.push_back(Log::Resumed { player: peer.player, held: was_held });
        self.welcome(conn, id, &join, seating);
    }

    /// Gives a connection a view and a place among the connections.
    fn seat(&mut self, conn: ConnectionId, id: SessionId, claim: Option<&Claim>, scratch: G::Scratch) {
        let Some(session) = self.room.sessions.get(id) else { return };
        let claim = claim.map(|claim| (claim, self.known_tick(claim)));
        let views = self.room.views.as_mut().expect("the views are there between two seals");
        let viewer = views.add(session.player, claim, session.pace, &self.room.world);
        self.sit(conn, id, viewer, scratch);
    }

    /// The tick up to which a client has what it claims to hold, as far as that means anything here: of another
    /// generation nothing is as it was, and of another run nothing is known beyond what it committed.
    fn known_tick(&self, claim: &Claim) -> Option<Tick> {
        if claim.generation != self.generation {
            return None;
        }
        let run = |durable: &Durable| {
            let this = claim.incarnation == durable.epoch || faults::is(Fault::RunForgotten);
            if this {
                Some(claim.complete)
            } else {
                durable.runs.get(&claim.incarnation).map(|last| claim.complete.min(*last))
            }
        };
        self.durable.as_ref().map_or(Some(claim.complete), run)
    }

    /// Takes note of an account.
    fn note_account(&mut self, name: String, account: Account) {
        if let Some(durable) = &mut self.durable {
            durable.accounts.insert(name.clone());
        }
        self.accounts.insert(name, account);
    }

    /// Forgets accounts whose players have been away for so long that nothing is kept for them.
    pub(super) fn forget_accounts(&mut self) {
        let Some(hours) = self.settings.retention_hours else { return };
        let (now, seconds) = (self.unix, hours.saturating_mul(3600));
        if now == 0 {
            return;
        }
        // Who left while nobody knew the time counts as leaving now.
        for (name, account) in self.accounts.iter_mut().filter(|(_, account)| account.left == Some(0)) {
            account.left = Some(now);
            if let Some(durable) = &mut self.durable {
                durable.accounts.insert(name.clone());
            }
        }
        let over = |account: &Account| account.left.is_some_and(|left| left.saturating_add(seconds) <= now);
        let forgotten: Vec<String> =
            self.accounts.iter().filter(|(_, account)| over(account)).map(|(name, _)| name.clone()).collect();
        for name in forgotten {
            if let Some(gone) = self.accounts.remove(&name) {
                self.room.world.remove_private(gone.player);
            }
            if let Some(durable) = &mut self.durable {
                durable.accounts.insert(name);
            }
        }
    }

    fn sit(&mut self, conn: ConnectionId, id: SessionId, viewer: u32, scratch: G::Scratch) {
        let Some(session) = self.room.sessions.get(id) else { return };
        let connection = Connection {
            id: conn,
            session: id,
            player: session.player,
            name: session.name.clone(),
            account: session.account.clone(),
            scratch,
        };
        if self.room.connections.len() <= viewer as usize {
            self.room.connections.push(None);
        }
        self.room.connections[viewer as usize] = Some(connection);
        self.room.by_id.insert(conn, viewer);
    }

    /// Takes a connection out of the room; returns its scratch data.
    fn unseat(&mut self, conn: ConnectionId) -> Option<G::Scratch> {
        let viewer = self.room.by_id.get(&conn).copied()?;
        let now = self.room.tick;
        let pace = self.room.views_mut().remove(viewer, now);
        if let Some(session) = self.room.sessions.of_conn(conn).and_then(|id| self.room.sessions.get_mut(id))
        {
            session.pace = pace;
        }
        self.take_seat(conn)
    }

    fn take_seat(&mut self, conn: ConnectionId) -> Option<G::Scratch> {
        let viewer = self.room.by_id.remove(&conn)?;
        self.room.connections[viewer as usize].take().map(|gone| gone.scratch)
    }

    fn welcome(&mut self, conn: ConnectionId, id: SessionId, join: &Join, seating: Seating) {
        let Some(session) = self.room.sessions.get(id) else { return };
        let received = session.last_received();
        let player = session.player;
        let build = (!self.settings.build.is_empty()).then_some(self.settings.build.as_str());
        let welcome = RoomMessage::Welcome(Welcome {
            protocol: PROTOCOL_VERSION,
            build,
            room: self.room.name(),
            session: id,
            epoch: session.epoch,
            token: join.token,
            player,
            generation: self.generation,
            incarnation: self.durable.as_ref().map_or(ONLY_RUN, |durable| durable.epoch),
            tick: self.room.tick,
            tick_rate: self.settings.tick_rate,
            send_every: self.settings.send_every,
            payload_max: limits::CLIENT_PAYLOAD as u32,
            events_max: self.settings.events_most as u32,
            retain: self.room.interest.retain as u32,
            resumed: matches!(seating, Seating::Resumed),
            received,
            sent: session.outbox.sent(),
        });
        self.out.message(conn, |out| welcome.encode(out));
        self.inbox.seated(conn, id, received);
        self.room.sessions.ready.insert(id);
        if let (Some(room), Some(client)) = (build, &join.hello.build)
            && room != client
        {
            let (room, client) = (room.to_owned(), client.clone());
            self.logs.push_back(Log::BuildMismatch { player, room, client });
        }
    }

    /// A connection ended: its session is held, if it has a hold.
    pub(super) fn drop_connection(&mut self, conn: ConnectionId, how: Dropped) {
        let Some(id) = self.room.connection(conn).map(Connection::session) else { return };
        let scratch = self.unseat(conn);
        let Some(session) = self.room.sessions.get_mut(id) else { return };
        session.scratch = scratch;
        let player = session.player;
        let hidden = session.hidden_since.map_or(0, |since| self.room.tick.0 - since.0);
        let seconds = self.hold_seconds(how, hidden);
        if seconds == 0 {
            return self.end(id, LeaveReason::Dropped);
        }
        let ticks = u64::from(seconds) * u64::from(self.settings.tick_rate);
        self.room.sessions.hold(id, Tick(self.room.tick.0 + ticks));
        if !self.room.sessions.is_connected(player) {
            self.steps.rest(player, self.room.tick);
        }
        self.room.present(player);
        self.logs.push_back(Log::Dropped { player, how, hold_seconds: seconds });
        self.caught("on_drop", |game, room| game.on_drop(room, player, id, how));
    }

    pub(super) fn hold_seconds(&self, how: Dropped, hidden: u64) -> u32 {
        if let Some(seconds) = self.settings.hold_seconds {
            return seconds;
        }
        let least = u64::from(limits::HIDDEN_SECONDS) * u64::from(self.settings.tick_rate);
        match how {
            _ if hidden >= least => limits::HOLD_HIDDEN_SECONDS,
            Dropped::Closed | Dropped::Misbehaved => limits::HOLD_CLOSED_SECONDS,
            Dropped::Broken | Dropped::Silent | Dropped::FellBehind => limits::HOLD_BROKEN_SECONDS,
        }
    }

    /// Ends the sessions whose hold has run out.
    pub(super) fn expire(&mut self) {
        while let Some(id) = self.room.sessions.expired(self.room.tick) {
            self.end(id, LeaveReason::Dropped);
        }
    }

    /// A session ends, and with a player's last one her stay.
    pub(super) fn end(&mut self, id: SessionId, why: LeaveReason) {
        let Some(gone) = self.room.sessions.remove(id) else { return };
        if let Some(durable) = &mut self.durable {
            durable.caution.ended(id);
        }
        self.unseat(gone.conn);
        let player = gone.player;
        if !self.room.sessions.of_player(player).is_empty() {
            return self.room.present(player);
        }
        self.steps.forget(player);
        self.caught("on_leave", |game, room| game.on_leave(room, player, why));
        self.room.present(player);
        // A player with an account keeps number and private state for a while; a guest is forgotten.
        match gone.account {
            Some(account) => self.note_account(account, Account { player, left: Some(self.unix) }),
            None => self.room.world.remove_private(player),
        }
        self.logs.push_back(Log::Leave { player, why });
    }

    /// The player leaves for good, once everything that she sent is handled, as fast as any player's.
    pub(super) fn leave(&mut self, conn: ConnectionId) {
        let id = self.room.connection(conn).map(Connection::session);
        match id.and_then(|id| Some((id, self.room.sessions.get_mut(id)?))) {
            Some((id, session)) => {
                session.leaving = true;
                self.handle_waiting(id);
            }
            None => self.out.close(conn, code::LEFT, String::new()),
        }
    }

    /// Lets a player go who leaves, where everything that she sent is handled.
    pub(super) fn left(&mut self, id: SessionId) {
        let Some(session) = self.room.sessions.get(id) else { return };
        if !session.leaving || !session.waiting.is_empty() {
            return;
        }
        if session.held.is_none() {
            self.out.close(session.conn, code::LEFT, String::new());
        }
        self.end(id, LeaveReason::Left);
    }

    pub(super) fn kick(&mut self) {
        for (player, message) in std::mem::take(&mut self.room.kicks) {
            for id in self.room.sessions.of_player(player).to_vec() {
                let Some(session) = self.room.sessions.get(id) else { continue };
                let (conn, connected) = (session.conn, session.held.is_none());
                self.end(id, LeaveReason::Kicked);
                if connected {
                    self.inbox.forget(conn);
                    self.out.close(conn, code::KICKED, close_reason(message.clone()));
                }
            }
        }
    }
}

/// What somebody hears who knows a private room's name alone.
pub(crate) const PRIVATE: &str = "the room is private: its code lets new players in";

/// A room without a store has one run.
const ONLY_RUN: u64 = 1;

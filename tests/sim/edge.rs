//! The server's end of every link, as an edge would be it: hello, token, authentication, then the room.

use std::io::BufRead;
use std::time::Duration;

use room::runtime::{Closed, Identity, Join};
use room::session::{self, Resume, Token, code};
use room::wire::message::ClientMessage;
use room::{ConnectionId, Game, SessionId, limits};

use super::book::{Book, Flow, Life};
use super::game::{MARK, World};
use super::net::{FAST, Item, Pipe};
use super::rogue::Rogue;
use super::run::Sim;

/// Whose end the other one is.
#[derive(Debug)]
pub(crate) enum Owner {
    Page,
    Rogue(Box<Rogue>),
}

/// How far a socket is at the server.
#[derive(Debug)]
pub(crate) enum Stage {
    Hello,
    /// Authentication runs.
    Auth {
        until: u64,
        hello: Box<session::Hello>,
        account: Option<String>,
    },
    In,
    Over,
}

/// A socket; its number is the connection's.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) owner: Owner,
    pub(crate) up: Pipe,
    pub(crate) down: Pipe,
    pub(crate) stage: Stage,
    pub(crate) client_open: bool,
    /// Nothing comes through any more; each end hears of it now, later or never.
    pub(crate) cut: bool,
    pub(crate) client_learns: Option<u64>,
    pub(crate) server_learns: Option<u64>,
    /// Close frames do not come through.
    pub(crate) loses_close: bool,
    /// The link breaks when its welcome is sent.
    pub(crate) loses_welcome: bool,
    heard: u64,
    pub(crate) account: Option<String>,
    /// The token with which it came, and the last message that it said it has.
    pub(crate) presented: Option<(Token, u64)>,
    /// The one that it is given.
    pub(crate) fresh: Token,
    /// The session that it names was not known to be over when it came in.
    finds: bool,
    /// Its client left: the room hears nothing that comes behind that.
    left: bool,
    pub(crate) flow: Flow,
}

impl Sim {
    pub(crate) fn connect(&mut self, owner: Owner) -> u64 {
        self.sockets_made += 1;
        let id = self.sockets_made;
        let (latency, rate) = (self.rng.between(0, 120), if self.rng.one_in(4) { 50 } else { FAST });
        let lost = self.plan.lost_welcomes;
        let loses_welcome = !self.calm && lost > 0 && self.rng.one_in(lost);
        let socket = Socket {
            owner,
            up: Pipe::new(latency, rate),
            down: Pipe::new(latency, rate),
            stage: Stage::Hello,
            client_open: true,
            cut: false,
            client_learns: None,
            server_learns: None,
            loses_close: !self.calm && self.plan.weather > 0 && self.rng.one_in(8),
            loses_welcome,
            heard: self.now,
            account: None,
            presented: None,
            fresh: Token(self.rng.bytes()),
            finds: false,
            left: false,
            flow: Flow::default(),
        };
        self.sockets.insert(id, socket);
        id
    }

    pub(crate) fn clock(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    /// The link breaks; each end hears of it after so long, or by its silence.
    pub(crate) fn cut(&mut self, id: u64, client: Option<u64>, server: Option<u64>) {
        let now = self.now;
        let Some(socket) = self.sockets.get_mut(&id).filter(|socket| !socket.cut) else { return };
        socket.up.lose();
        socket.down.lose();
        socket.cut = true;
        socket.client_learns = client.map(|after| now + after);
        socket.server_learns = server.map(|after| now + after);
        let whose = &self.sockets[&id].owner;
        self.trace(|| {
            format!("socket {id} of {whose:?} is cut; the client learns {client:?}, the server {server:?}")
        });
    }

    /// As [`cut`](Self::cut), by chance at once or by silence.
    pub(crate) fn cut_somehow(&mut self, id: u64) {
        let learn = |rng: &mut super::rng::Rng| rng.one_in(2).then(|| rng.below(500));
        let (client, server) = (learn(&mut self.rng), learn(&mut self.rng));
        self.cut(id, client, server);
    }

    /// What the server's ends of the links do in a step.
    pub(crate) fn serve(&mut self) {
        let ids: Vec<u64> = self.sockets.keys().copied().collect();
        for id in ids {
            let now = self.now;
            let Some(socket) = self.sockets.get_mut(&id) else { continue };
            if socket.up.step(now) | socket.down.step(now) {
                self.count("cuts");
                self.cut_somehow(id);
            }
            if self.fate.is_up() {
                self.hear(id);
            }
            self.watch(id);
            let over = |it: &Socket| !it.client_open && matches!(it.stage, Stage::Over);
            // It may still be welcomed, once that is kept.
            let awaited = self.plan.keep.is_some() && self.resumes.contains_key(&id);
            if !awaited && self.sockets.get(&id).is_some_and(over) {
                self.sockets.remove(&id);
            }
        }
    }

    /// What has come to the server.
    fn hear(&mut self, id: u64) {
        let now = self.now;
        while let Some(item) = self.sockets.get_mut(&id).and_then(|socket| socket.up.arrive(now)) {
            let Some(socket) = self.sockets.get_mut(&id) else { return };
            socket.heard = now;
            match item {
                _ if matches!(socket.stage, Stage::Over) => {}
                Item::Message(bytes) => self.take(id, &bytes),
                Item::Close { .. } => self.server_loses(id, Closed::WithFrame),
            }
        }
    }

    /// Timers of the server's end.
    fn watch(&mut self, id: u64) {
        let now = self.now;
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        if !socket.cut && !socket.up.is_stalled(now) && !socket.down.is_stalled(now) {
            // Its pings are answered without the client's code.
            socket.heard = now;
        }
        let silent = now - socket.heard >= limits::SILENCE_SECONDS * 1000;
        let learns = socket.server_learns.is_some_and(|at| at <= now);
        let backlog = socket.down.backlog() > limits::SOCKET_BACKLOG;
        match &socket.stage {
            Stage::Over => {}
            _ if learns => self.server_loses(id, Closed::Broken),
            _ if backlog => {
                self.cut_somehow(id);
                self.server_loses(id, Closed::FellBehind);
            }
            _ if silent => {
                self.cut_somehow(id);
                self.server_loses(id, Closed::Silent);
            }
            Stage::Auth { until, .. } if *until <= now && self.fate.is_up() => self.open(id),
            _ => {}
        }
    }

    /// The server's end is over without a word of the room's.
    pub(crate) fn server_loses(&mut self, id: u64, how: Closed) {
        let now = self.clock();
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let stage = std::mem::replace(&mut socket.stage, Stage::Over);
        self.trace(|| format!("the server's end of socket {id} is over: {how:?}"));
        if matches!(stage, Stage::In) {
            let tick = self.runtime.now().0;
            if let Some(book) = self.book_of(id).filter(|book| book.conn == Some(id)) {
                book.closing = Some(tick);
            }
            if self.fate.is_up() {
                self.runtime.handle_close(ConnectionId(id), now, how);
                self.drain();
            }
        }
    }

    /// A message of a client's.
    fn take(&mut self, id: u64, bytes: &[u8]) {
        self.hash.add(id, bytes);
        let tick = self.runtime.now().0;
        let socket = self.sockets.get_mut(&id).expect("it was heard");
        match socket.stage {
            Stage::Hello => self.take_hello(id, bytes),
            Stage::In if socket.left => self.pass_on(id, bytes),
            Stage::In => {
                if let Ok(ClientMessage::Ack(ack)) = ClientMessage::decode(bytes) {
                    socket.flow.acknowledge(ack);
                    // Another connection may have taken over, and not have been told so.
                    let seated = self.runtime.room().connection(ConnectionId(id)).is_some();
                    if let Some(book) = self.book_of(id).filter(|book| seated && book.conn == Some(id)) {
                        book.confirm(ack.events);
                    }
                } else if let Ok(ClientMessage::Leave) = ClientMessage::decode(bytes) {
                    socket.left = true;
                    self.trace(|| format!("socket {id} leaves"));
                    if let Some(book) = self.book_of(id).filter(|book| book.conn == Some(id)) {
                        book.leaving = true;
                    }
                } else if let Ok(ClientMessage::Hidden(hidden)) = ClientMessage::decode(bytes) {
                    socket.flow.hidden = hidden.then_some(tick);
                    self.trace(|| format!("socket {id} says that its page is hidden: {hidden}"));
                    if let Some(book) = self.book_of(id).filter(|_| hidden) {
                        book.hidden = true;
                    }
                }
                self.pass_on(id, bytes);
            }
            // Pings may come before the room has answered.
            Stage::Auth { .. } | Stage::Over => {}
        }
    }

    fn pass_on(&mut self, id: u64, bytes: &[u8]) {
        self.runtime.handle_message(ConnectionId(id), self.clock(), bytes);
        self.drain();
    }

    fn take_hello(&mut self, id: u64, bytes: &[u8]) {
        let hello = match session::admit(bytes, &World::schema()) {
            Ok(hello) => hello,
            Err(refusal) => return self.refuse(id, refusal.code, refusal.reason),
        };
        let account =
            (!hello.auth.is_empty()).then(|| String::from_utf8_lossy(&hello.auth[1..]).into_owned());
        if let Some(resume) = &hello.resume {
            let expected = self.expected(resume);
            let said = self.runtime.check_resume(resume).map(|_| ()).map_err(|refusal| refusal.code);
            self.trace(|| format!("socket {id} would resume session {}: {said:?}", resume.session));
            assert!(
                expected.contains(&said),
                "a resume of session {} got {said:?} and not {expected:?}",
                resume.session
            );
            if let Err(code) = said {
                return self.refuse(id, code, String::from("no"));
            }
        }
        let until = self.now + self.rng.below(300);
        let socket = self.sockets.get_mut(&id).expect("it says hello");
        socket.account.clone_from(&account);
        socket.stage = Stage::Auth { until, hello: Box::new(hello), account };
    }

    /// What a resume may get: nothing, or a close code.
    pub(crate) fn expected(&self, resume: &Resume) -> Vec<Result<(), u16>> {
        let Some(book) = self.books.get(&resume.session) else { return vec![Err(code::NO_SESSION)] };
        if book.is_doubtful(&resume.token) || self.is_unsettled(resume.session) {
            return vec![Ok(()), Err(code::REPLACED), Err(code::NO_SESSION)];
        }
        let token = match () {
            () if book.is_good(&resume.token) => Ok(()),
            () if book.is_displaced(&resume.token) => Err(code::REPLACED),
            () => Err(code::NO_SESSION),
        };
        // A run begins in a tick that it does not step.
        let now = self.runtime.now().0;
        match book.life(now.saturating_sub(u64::from(now == self.fate.begun))) {
            Life::Yes => vec![token],
            Life::No if book.dead || self.plan.keep.is_none() => vec![Err(code::NO_SESSION)],
            // Its end may not be kept.
            Life::No | Life::Maybe => vec![token, Err(code::NO_SESSION)],
        }
    }

    /// Whether a socket may be told that the session it names is just ending: only who has a right to it is, and
    /// not once that is kept.
    pub(crate) fn may_hear_of_end(&self, id: u64, resume: &Resume) -> bool {
        let (Some(socket), Some(book)) = (self.sockets.get(&id), self.books.get(&resume.session)) else {
            return false;
        };
        let good = book.is_good(&resume.token) || book.is_doubtful(&resume.token);
        let seated = self.runtime.room().sessions_of(book.player).any(|session| session == resume.session);
        self.plan.keep.is_some() && socket.account == book.account && good && socket.finds && !seated
    }

    /// Whether the room may have done something with a session that was not heard of yet.
    fn is_unsettled(&self, session: SessionId) -> bool {
        let book = &self.books[&session];
        let same = |conn: &u64| {
            self.sockets.get(conn).is_some_and(|it| it.account.is_some() && it.account == book.account)
        };
        let names = |(conn, resume): (&u64, &Option<Resume>)| match resume {
            Some(resume) => resume.session == session,
            None => same(conn),
        };
        self.plan.keep.is_some() && (self.fate.hides(session) || self.resumes.iter().any(names))
    }

    /// The edge refuses by itself.
    fn refuse(&mut self, id: u64, code: u16, reason: String) {
        self.trace(|| format!("socket {id} is refused with {code}"));
        self.close_frame(id, code, reason);
    }

    pub(crate) fn close_frame(&mut self, id: u64, code: u16, reason: String) {
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        socket.stage = Stage::Over;
        if socket.cut {
            return;
        }
        if socket.loses_close {
            self.count("close frames lost");
            return self.cut_somehow(id);
        }
        socket.down.push(Item::Close { code, reason });
    }

    /// Authentication has an answer.
    fn open(&mut self, id: u64) {
        let now = self.clock();
        let socket = self.sockets.get_mut(&id).expect("it waits for its answer");
        let Stage::Auth { hello, account, .. } = std::mem::replace(&mut socket.stage, Stage::In) else {
            return;
        };
        socket.presented = hello.resume.as_ref().map(|resume| (resume.token, resume.received));
        let named = hello.resume.as_ref().and_then(|resume| self.books.get(&resume.session));
        socket.finds = named.is_some_and(|book| !book.dead);
        let identity = account.map_or_else(Identity::guest, Identity::account);
        let join = Join { hello: *hello, identity, token: socket.fresh };
        self.resumes.insert(id, join.hello.resume.clone());
        self.runtime.handle_open(ConnectionId(id), now, join);
        self.drain();
    }

    /// One tick of the room.
    pub(crate) fn tick(&mut self) {
        let awaits = self.runtime.awaits_commit();
        if !self.fate.is_up() || !self.guarded_tick() {
            return;
        }
        self.ticks += 1;
        let sends = self.runtime.now().0.is_multiple_of(u64::from(self.plan.settings.send_every));
        self.speak(sends && !awaits);
        self.keep();
        if !self.fate.is_up() {
            return;
        }
        if sends {
            self.check_liars();
        }
        if self.plan.keep.is_none() {
            self.expire(self.runtime.now().0, true);
        }
        self.check_bounds();
    }

    /// Holds that ran out by a tick are over, in the room too where it is there.
    pub(crate) fn expire(&mut self, tick: u64, room: bool) {
        let at_once = self.plan.settings.hold_seconds == Some(0);
        let over = |book: &Book| {
            // Who leaves stays until what she sent before is handled.
            (at_once && !book.leaving && book.closing.is_some_and(|since| since < tick))
                || book.life(tick.saturating_sub(1)) == Life::No
        };
        let over: Vec<SessionId> =
            self.books.iter().filter(|(_, book)| !book.dead && over(book)).map(|(id, _)| *id).collect();
        for id in over {
            if self.is_unsettled(id) {
                continue;
            }
            let book = self.books.get_mut(&id).expect("it was listed");
            let held = self.runtime.room().sessions_of(book.player).any(|session| session == id);
            assert!(!held || !room || book.closing.is_some(), "session {id} has a seat past its hold");
            book.end();
        }
    }

    /// What the room keeps has its bounds.
    fn check_bounds(&self) {
        for book in self.books.values() {
            if let Some(conn) = book.conn {
                let bytes = self.runtime.room().unacknowledged_bytes(ConnectionId(conn));
                let most = self.plan.settings.window.max(limits::WINDOW_LEAST) + 2 * limits::PART;
                assert!(bytes <= most, "{bytes} bytes of updates are kept for connection {conn}");
            }
        }
        let unheard = self.fate.joins() + self.unborn.len();
        let living = self.books.values().filter(|book| !book.dead).count() + unheard;
        let sessions = self.runtime.room().sessions();
        assert!(sessions <= living, "{sessions} sessions have seats, {living} live");
    }
}

/// Looks for secrets of others.
pub(crate) fn no_secret_but(own: &[u32], bytes: &[u8]) {
    let mark = MARK.as_bytes();
    let mut rest = bytes;
    // Up to the next first byte of a mark.
    while rest.skip_until(mark[0]).is_ok_and(|passed| passed > 0) {
        let Some(rest) = rest.strip_prefix(&mark[1..]) else { continue };
        let whose = rest.get(..8).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
        // The mark alone is noise.
        assert!(whose.is_none_or(|player| own.contains(&player)), "a secret of player {whose:?} was sent");
    }
}

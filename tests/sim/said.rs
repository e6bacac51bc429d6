//! What the room says: every message is read, counted and put on its link.

use room::runtime::Outgoing;
use room::session::code;
use room::wire::message::{RoomMessage, Welcome};
use room::{ConnectionId, SessionId, Tick};

use super::book::{Book, Booms};
use super::edge::{Owner, Stage, no_secret_but};
use super::game::News;
use super::net::Item;
use super::run::Sim;

enum Sent {
    Message(Vec<u8>),
    Close(u16, String),
    Abort,
}

impl Sim {
    /// Takes all that the runtime has to say between two ticks.
    pub(crate) fn drain(&mut self) {
        self.speak(false);
    }

    /// Takes all that the runtime has to say; `sealed` where the last tick ended with a seal.
    pub(crate) fn speak(&mut self, sealed: bool) {
        let tick = self.runtime.now().0;
        for news in std::mem::take(&mut self.runtime.parts_mut().0.news) {
            self.happened(&news);
            self.fate.pending.push((tick, news));
        }
        let taken = self.take_commit();
        if !self.fate.has_server() {
            // It was killed just then.
            return;
        }
        let news = match &mut self.fate.flight {
            Some(flight) if taken && Sim::leaks() => std::mem::take(&mut flight.news),
            _ if self.plan.keep.is_none() || (sealed && !taken) => std::mem::take(&mut self.fate.pending),
            _ => return self.release(Vec::new(), tick, usize::MAX),
        };
        self.release(news, tick, usize::MAX);
        if self.plan.keep.is_some() {
            self.expire(tick, true);
        }
    }

    /// What the room said of some ticks is on its way, or the first of it.
    pub(crate) fn release(&mut self, news: Vec<(u64, News)>, made: u64, most: usize) {
        self.made = Tick(made);
        let mut sent = Vec::new();
        while let Some(transmit) = self.runtime.poll_transmit() {
            let what = match transmit.outgoing {
                Outgoing::Message(bytes) => Sent::Message(bytes.to_vec()),
                Outgoing::Close { code, reason } => Sent::Close(code, reason.to_owned()),
                Outgoing::Abort => Sent::Abort,
            };
            sent.push((transmit.conn.0, what));
        }
        while let Some(log) = self.runtime.poll_log() {
            self.trace(|| format!("log: {log}"));
        }
        self.fate.heard = news.clone();
        type Told = Vec<(u64, News)>;
        let (later, news): (Told, Told) = news.into_iter().partition(|(_, news)| match news {
            News::Left { .. } => true,
            News::Acted { conn, .. } | News::Flicked { conn, .. } | News::Asked { conn, .. } => {
                !self.conns.contains_key(&conn.0)
            }
            _ => false,
        });
        let mut news = news.into_iter().peekable();
        let durable = self.plan.keep.is_some();
        // Of a room without a store all is of one tick, and what the hooks were told comes first.
        while let Some((tick, news)) = news.next_if(|_| !durable) {
            self.hear_news(tick, news);
        }
        for (id, sent) in sent.into_iter().take(most) {
            let welcome = |bytes: &[u8]| match RoomMessage::decode(bytes) {
                Ok(RoomMessage::Welcome(welcome)) => Some(welcome.tick.0),
                _ => None,
            };
            if let Sent::Message(bytes) = &sent
                && let Some(of) = welcome(bytes)
            {
                while let Some((tick, news)) = news.next_if(|(tick, _)| *tick <= of) {
                    self.hear_news(tick, news);
                }
            }
            match sent {
                Sent::Message(bytes) => self.sent(id, bytes),
                Sent::Close(code, reason) => self.closed(id, code, reason),
                Sent::Abort => self.aborted(id),
            }
        }
        // Who came and spoke or left in one tick was welcomed first.
        for (tick, news) in news.chain(later) {
            self.hear_news(tick, news);
        }
        self.fate.heard.clear();
        self.send_out();
    }

    /// What a run that is over had kept, and could not say any more.
    pub(crate) fn inherit(&mut self, news: Vec<(u64, News)>, made: u64) {
        for (tick, news) in news {
            self.hear_news(tick, news);
        }
        self.expire(made, false);
    }

    fn hear_news(&mut self, tick: u64, news: News) {
        self.trace(|| format!("of tick {tick}: {news:?}"));
        match news {
            News::Joined { session, own, all } => {
                self.unborn.insert(session, (own, all));
            }
            News::Dropped { session, how } => match self.books.get_mut(&session) {
                Some(book) => book.dropped(tick, how, &self.plan.settings),
                None => assert!(self.unborn.contains_key(&session), "a session is held that was welcomed"),
            },
            News::Resumed { conn } => {
                assert!(self.sockets.contains_key(&conn.0) || self.plan.keep.is_some(), "a socket resumes")
            }
            News::Left { sessions } => {
                for id in sessions {
                    self.unborn.remove(&id);
                    if let Some(book) = self.books.get_mut(&id) {
                        book.end();
                    }
                }
            }
            News::Acted { conn, session, mark } => {
                let (book, given_up) = self.news_of(conn, session);
                book.act(mark, given_up);
            }
            News::Flicked { conn, session, mark } => self.news_of(conn, session).0.flick(mark),
            News::Asked { conn, session, ask } => {
                let (book, given_up) = self.news_of(conn, session);
                book.ask(ask, given_up);
            }
            News::Gone { key, value } => self.seen.is_gone(key, value),
            News::Sent(what) => self.errands.ask(what),
            News::Drew(_) => {}
        }
    }

    /// The session of who spoke, and the events that were given up.
    fn news_of(&mut self, conn: ConnectionId, session: Option<SessionId>) -> (&mut Book, &Booms) {
        static NONE: Booms = Booms::new();
        let session = session.or_else(|| self.conns.get(&conn.0).copied()).expect("who speaks has a session");
        let given_up = if self.plan.settings.deployed { &NONE } else { &self.given_up };
        (self.books.get_mut(&session).expect("and it was welcomed"), given_up)
    }

    /// The session of a socket.
    pub(crate) fn book_of(&mut self, id: u64) -> Option<&mut Book> {
        self.books.get_mut(self.conns.get(&id)?)
    }

    /// The room sent a message.
    fn sent(&mut self, id: u64, bytes: Vec<u8>) {
        self.hash.add(id, &bytes);
        let message = RoomMessage::decode(&bytes).expect("the room's messages decode");
        let tick = self.made;
        if let RoomMessage::Welcome(welcome) = &message {
            self.welcome(id, welcome);
        }
        let Some(session) = self.conns.get(&id).copied() else {
            assert!(matches!(message, RoomMessage::Pong { .. }), "{message:?} came before a welcome");
            return;
        };
        let (Some(socket), Some(book)) = (self.sockets.get_mut(&id), self.books.get_mut(&session)) else {
            return;
        };
        no_secret_but(&[book.player.0], &bytes);
        match &message {
            RoomMessage::Update(part) => {
                socket.flow.part(part, bytes.len(), self.plan.settings.window, tick);
                if let Owner::Rogue(rogue) = &mut socket.owner {
                    rogue.part(part, book.player);
                }
            }
            RoomMessage::Event(_) | RoomMessage::Result { .. } | RoomMessage::Failed(_) => {
                let number = socket.flow.event(bytes.len(), tick);
                book.say(number, &message, tick, matches!(socket.owner, Owner::Rogue(_)));
            }
            RoomMessage::Transient(_) => {
                assert!(socket.flow.sees(tick), "a hidden page is sent a transient");
            }
            RoomMessage::Ack(handled) => book.tell(*handled),
            _ => {}
        }
        if !socket.cut && !matches!(socket.stage, Stage::Over) {
            socket.down.push(Item::Message(bytes));
        }
    }

    fn welcome(&mut self, id: u64, welcome: &Welcome<'_>) {
        let SessionId(number) = welcome.session;
        self.trace(|| format!("socket {id} is welcomed to session {number}: {welcome:?}"));
        self.resumes.remove(&id);
        let before = self.unborn.remove(&welcome.session);
        // A socket that is over can still be welcomed: the room does not know yet.
        let Some(socket) = self.sockets.get_mut(&id) else { panic!("socket {id} was never opened") };
        assert_eq!(welcome.token, socket.fresh, "the socket's own token");
        socket.flow.welcome(welcome.session, welcome.sent);
        let presented = socket.presented;
        let (account, lost) = (socket.account.clone(), socket.loses_welcome);
        let lies = matches!(socket.owner, Owner::Rogue(_));
        let over = matches!(socket.stage, Stage::Over);
        let durable = self.plan.keep.is_some();
        self.conns.insert(id, welcome.session);
        if let Some(book) = self.books.get_mut(&welcome.session) {
            assert_eq!(book.account, account, "the session's account");
            book.go_on(welcome, id, presented, lies, durable);
            let acknowledged = book.acknowledged;
            self.trace(|| format!("session {number} has acknowledged {acknowledged}"));
        } else {
            let before = before.expect("a session begins with a join");
            self.books.insert(welcome.session, Book::new(welcome, id, account, before, durable));
        }
        if over && let Some(book) = self.books.get_mut(&welcome.session) {
            book.closing = Some(self.made.0);
        }
        if lost {
            self.count("welcomes lost");
            self.cut_somehow(id);
        }
    }

    /// The room closed a connection.
    fn closed(&mut self, id: u64, code: u16, reason: String) {
        self.hash.add(id, &code.to_le_bytes());
        self.trace(|| format!("the room closes socket {id} with {code} {reason}"));
        let resume = self.resumes.remove(&id).flatten();
        match code {
            code::NO_SESSION => {
                let resume = resume.expect("who names no session is not refused for it");
                let expected = self.expected(&resume);
                assert!(expected.contains(&Err(code)), "session {} is there", resume.session);
            }
            code::BUSY => {
                let resume = resume.expect("who names no session hears of no end");
                assert!(self.may_hear_of_end(id, &resume), "session {} is not ending", resume.session);
            }
            code::BAD_MESSAGE | code::SECOND_HELLO if !self.is_rogue(id) => {
                panic!("a client was closed with {code}: {reason}")
            }
            _ => {}
        }
        let made = self.made.0;
        if let Some(book) = self.book_of(id).filter(|book| book.conn == Some(id)) {
            match code {
                code::LEFT | code::KICKED => book.end(),
                code::REPLACED => book.conn = None,
                // Held from the next tick on.
                _ => book.closing = Some(made),
            }
        }
        self.close_frame(id, code, reason);
    }

    fn aborted(&mut self, id: u64) {
        self.trace(|| format!("the room ends socket {id}"));
        let made = self.made.0;
        if let Some(book) = self.book_of(id).filter(|book| book.conn == Some(id)) {
            book.closing = Some(made);
        }
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.stage = Stage::Over;
        }
        self.cut_somehow(id);
    }

    pub(crate) fn is_rogue(&self, id: u64) -> bool {
        self.sockets.get(&id).is_none_or(|socket| matches!(socket.owner, Owner::Rogue(_)))
    }
}

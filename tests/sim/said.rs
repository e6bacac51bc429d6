//! What the room says: every message is read, counted and put on its link.

use room::runtime::Outgoing;
use room::session::code;
use room::wire::message::{RoomMessage, Welcome};
use room::{ConnectionId, SessionId};

use super::book::Book;
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
    /// Takes all that the runtime has to say.
    pub(crate) fn drain(&mut self) {
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
        let news = std::mem::take(&mut self.runtime.parts_mut().0.news);
        let (later, news): (Vec<News>, Vec<News>) = news.into_iter().partition(|news| match news {
            News::Left { .. } => true,
            News::Acted { conn, .. } | News::Flicked { conn, .. } | News::Asked { conn, .. } => {
                !self.conns.contains_key(&conn.0)
            }
            _ => false,
        });
        for news in news {
            self.hear_news(news);
        }
        for (id, sent) in sent {
            match sent {
                Sent::Message(bytes) => self.sent(id, bytes),
                Sent::Close(code, reason) => self.closed(id, code, reason),
                Sent::Abort => self.aborted(id),
            }
        }
        // Who came and spoke or left in one tick was welcomed first.
        for news in later {
            self.hear_news(news);
        }
    }

    fn hear_news(&mut self, news: News) {
        self.trace(|| format!("{news:?}"));
        self.stirred = self.now;
        let tick = self.runtime.now().0;
        match news {
            News::Joined { conn, own, all } => {
                self.joined.insert(conn.0, (own, all));
            }
            News::Dropped { session, how } => {
                let book = self.books.get_mut(&session).expect("a session is held that was welcomed");
                book.dropped(tick, how, &self.plan.settings);
            }
            News::Resumed { conn } => assert!(self.sockets.contains_key(&conn.0), "a socket resumes"),
            News::Left { player } => {
                let living: Vec<SessionId> = self.runtime.room().sessions_of(player).collect();
                for (id, book) in self.books.iter_mut().filter(|(_, book)| book.player == player) {
                    if !living.contains(id) {
                        book.end();
                    }
                }
            }
            News::Acted { conn, mark } => self.news_of(conn).act(mark),
            News::Flicked { conn, mark } => self.news_of(conn).flick(mark),
            News::Asked { conn, ask } => self.news_of(conn).ask(ask),
        }
    }

    fn news_of(&mut self, conn: ConnectionId) -> &mut Book {
        let session = self.conns.get(&conn.0).expect("who speaks has a session");
        self.books.get_mut(session).expect("and it was welcomed")
    }

    /// The session of a socket.
    pub(crate) fn book_of(&mut self, id: u64) -> Option<&mut Book> {
        self.books.get_mut(self.conns.get(&id)?)
    }

    /// The room sent a message.
    fn sent(&mut self, id: u64, bytes: Vec<u8>) {
        self.hash.add(id, &bytes);
        let message = RoomMessage::decode(&bytes).expect("the room's messages decode");
        let tick = self.runtime.now();
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
                socket.flow.part(part, bytes.len(), self.plan.settings.window);
                if let Owner::Rogue(rogue) = &mut socket.owner {
                    rogue.part(part, book.player);
                }
            }
            RoomMessage::Event(_) | RoomMessage::Result { .. } | RoomMessage::Failed(_) => {
                let number = socket.flow.event(bytes.len(), tick);
                book.say(number, &message, tick, matches!(socket.owner, Owner::Rogue(_)));
            }
            RoomMessage::Transient(_) => assert!(!socket.flow.hidden, "a hidden page is sent a transient"),
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
        let before = self.joined.remove(&id);
        // A socket that is over can still be welcomed: the room does not know yet.
        let Some(socket) = self.sockets.get_mut(&id) else { panic!("socket {id} was never opened") };
        assert_eq!(welcome.token, socket.fresh, "the socket's own token");
        socket.flow.welcome(welcome.session, welcome.sent);
        let presented = socket.presented;
        let (account, lost) = (socket.account.clone(), socket.loses_welcome);
        let lies = matches!(socket.owner, Owner::Rogue(_));
        self.conns.insert(id, welcome.session);
        if let Some(book) = self.books.get_mut(&welcome.session) {
            assert_eq!(book.account, account, "the session's account");
            book.go_on(welcome, id, presented, lies);
        } else {
            let before = before.expect("a session begins with a join");
            self.books.insert(welcome.session, Book::new(welcome, id, account, before));
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
            code::BAD_MESSAGE | code::SECOND_HELLO if !self.is_rogue(id) => {
                panic!("a client was closed with {code}: {reason}")
            }
            _ => {}
        }
        if let Some(book) = self.book_of(id).filter(|book| book.conn == Some(id)) {
            match code {
                code::LEFT | code::KICKED => book.end(),
                code::REPLACED => book.conn = None,
                // Held from the next tick on.
                _ => book.closing = true,
            }
        }
        self.close_frame(id, code, reason);
    }

    fn aborted(&mut self, id: u64) {
        self.trace(|| format!("the room ends socket {id}"));
        if let Some(book) = self.book_of(id).filter(|book| book.conn == Some(id)) {
            book.closing = true;
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

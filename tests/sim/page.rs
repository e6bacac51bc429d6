//! The client's end of every link: a page with its machine, as a game would drive it, and what it was told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use room::session::code;
use room::wire::message::{ClientMessage, RoomMessage};
use room::{Game, SessionId};
use room_client::machine::{Machine, Options, Outgoing};
use room_client::{CallId, Checkpoint, Event, Status};

use super::book::{Book, Said};
use super::edge::{Owner, no_secret_but};
use super::game::{Ask, Avatar, Key, Kind, Mark, Word, World};
use super::net::Item;
use super::rogue::auth;
use super::run::Sim;

/// The wall clock when a run begins.
pub(crate) const UNIX_MS: u64 = 1_700_000_000_000;

/// What a page knows of the session it reads, and would know again after a reload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) session: Option<SessionId>,
    /// The number of the last message that its game took.
    pub(crate) cursor: u64,
    /// What the last welcome skips: another page took it.
    jump: u64,
    /// What is in a checkpoint that a hidden page made, and so counts as taken.
    pub(crate) captured: u64,
    /// The last transient.
    flash: u64,
    /// Events of this page and of those that it is a copy of, up to which the room must have all.
    pub(crate) owed: BTreeMap<(u32, u32), u64>,
    /// Calls without a result.
    pub(crate) calls: BTreeMap<CallId, Ask>,
}

/// A checkpoint, and what goes with it.
#[derive(Clone)]
pub(crate) struct Saved {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) reading: Reading,
    pub(crate) players: BTreeSet<u32>,
}

pub(crate) struct Page {
    pub(crate) id: u32,
    pub(crate) person: usize,
    pub(crate) account: Option<String>,
    pub(crate) machine: Machine,
    pub(crate) socket: Option<u64>,
    /// When a dial has an answer.
    pub(crate) dial: Option<u64>,
    pub(crate) offline_until: u64,
    /// Milliseconds from one update to the next.
    pub(crate) frame: u64,
    pub(crate) next: u64,
    /// Events are read once in so many updates.
    pub(crate) lazy: u64,
    /// Sessions lost so far.
    pub(crate) life: u32,
    /// Events, calls and transients of this life.
    pub(crate) said: u64,
    pub(crate) asked: u64,
    pub(crate) flicked: u64,
    pub(crate) reading: Reading,
    /// Sessions begun that the game has not read of.
    begun: VecDeque<(SessionId, u64)>,
    /// Lives that ended, with their last event, which the game has not read of.
    lost: VecDeque<(u32, u64)>,
    is_lost: bool,
    /// Players that it was.
    pub(crate) players: BTreeSet<u32>,
    /// The numbers that only grow, as it showed them last.
    pub(crate) shown: BTreeMap<Key, u64>,
    scanned: usize,
    pub(crate) saved: Vec<Saved>,
    pub(crate) hidden: bool,
    pub(crate) left: bool,
    /// It will not come back.
    pub(crate) done: bool,
}

impl Sim {
    pub(crate) fn options(&self, person: usize) -> Options {
        Options {
            name: format!("person {person}"),
            rejoin: self.plan.rejoin && person.is_multiple_of(2),
            room: String::from("sim"),
            ..Options::default()
        }
    }

    /// A page opens: anew, or from what another one saved.
    pub(crate) fn open_page(&mut self, person: usize, account: Option<String>, from: Option<Saved>) -> u32 {
        self.pages_made += 1;
        let id = self.pages_made;
        let (schema, options, seed) = (World::schema(), self.options(person), self.rng.next());
        let (mut reading, mut players, copied) = (Reading::default(), BTreeSet::new(), from.is_some());
        let mut machine = match from {
            None => Machine::new(schema, options, seed),
            Some(saved) => {
                (reading, players) = (saved.reading, saved.players);
                let stored = serde_json::to_string(&saved.checkpoint).expect("JSON holds a checkpoint");
                let checkpoint = serde_json::from_str(&stored).expect("it is as it was");
                Machine::restore(schema, options, checkpoint, UNIX_MS + self.now, seed)
                    .expect("the checkpoint is of this room")
            }
        };
        machine.record();
        let page = Page {
            id,
            person,
            account,
            machine,
            socket: None,
            dial: None,
            offline_until: 0,
            frame: *self.rng.pick(&[20, 20, 50, 50, 200, 1000]),
            next: self.now,
            lazy: *self.rng.pick(&[1, 1, 1, 5, 20]),
            life: 0,
            said: 0,
            asked: 0,
            flicked: 0,
            reading,
            begun: VecDeque::new(),
            lost: VecDeque::new(),
            is_lost: false,
            players,
            shown: BTreeMap::new(),
            scanned: 0,
            saved: Vec::new(),
            hidden: false,
            left: false,
            done: false,
        };
        self.trace(|| format!("page {id} of person {person} opens; a copy: {copied}"));
        self.pages.insert(id, page);
        id
    }

    /// What a page's end does in a step.
    pub(crate) fn run_page(&mut self, id: u32) {
        self.dial(id);
        self.receive(id);
        let now = self.now;
        let Some(page) = self.pages.get_mut(&id) else { return };
        if page.done || page.next > now {
            return;
        }
        page.next = now + page.frame;
        let clock = self.clock();
        let page = self.pages.get_mut(&id).expect("it runs");
        page.machine.update(clock);
        let waiting = page.machine.unacknowledged();
        assert!(waiting <= room::limits::EVENTS, "page {id} keeps {waiting} events");
        self.look(id);
        self.observe(id);
        let reads = self.rng.one_in(self.pages[&id].lazy);
        if reads {
            self.read(id);
        }
        if !self.calm {
            self.act(id);
        }
        self.transmit(id);
    }

    fn dial(&mut self, id: u32) {
        let (now, clock) = (self.now, self.clock());
        let page = self.pages.get_mut(&id).expect("it runs");
        if page.done {
            return;
        }
        if page.dial.is_none() && page.machine.poll_dial(clock) {
            assert!(page.socket.is_none(), "a page dials that has a socket");
            page.dial = Some(now + self.rng.below(200));
        }
        if page.dial.is_none_or(|at| at > now) {
            return;
        }
        page.dial = None;
        if page.offline_until > now || !self.fate.has_server() {
            page.machine.handle_dial_failed(clock, "no network");
            self.observe(id);
            return self.transmit(id);
        }
        let auth = auth(page.account.as_deref());
        page.machine.handle_open(clock, auth);
        if page.machine.status().is_closed() {
            return;
        }
        let socket = self.connect(Owner::Page);
        self.pages.get_mut(&id).expect("it runs").socket = Some(socket);
        self.transmit(id);
    }

    /// Takes what came to a page.
    fn receive(&mut self, id: u32) {
        let (now, clock) = (self.now, self.clock());
        while let Some(socket) = self.pages.get(&id).and_then(|page| page.socket) {
            let link = self.sockets.get_mut(&socket).expect("an open end keeps its socket");
            if link.client_learns.is_some_and(|at| at <= now) {
                self.page_loses(id, None, "the link broke");
                break;
            }
            match link.down.arrive(now) {
                None => break,
                Some(Item::Message(bytes)) => {
                    let page = self.pages.get_mut(&id).expect("it runs");
                    if let Ok(RoomMessage::Welcome(welcome)) = RoomMessage::decode(&bytes) {
                        self.generation = (welcome.generation, welcome.incarnation);
                        // What it does not have and will not get, another page took.
                        let has = link.presented.map_or(0, |(_, received)| received);
                        let skipped = if has < welcome.sent { welcome.sent } else { 0 };
                        page.welcomed(welcome.session, skipped, welcome.player.0);
                    }
                    page.machine.handle_message(clock, bytes);
                    self.observe(id);
                    self.transmit(id);
                }
                Some(Item::Close { code, reason }) => self.page_loses(id, Some(code), &reason),
            }
        }
    }

    /// A page's socket is over.
    fn page_loses(&mut self, id: u32, code: Option<u16>, reason: &str) {
        let clock = self.clock();
        self.trace(|| format!("page {id} loses its socket: {code:?} {reason}"));
        self.hang_up(id);
        let page = self.pages.get_mut(&id).expect("it runs");
        page.machine.handle_close(clock, code, reason);
        self.observe(id);
        self.transmit(id);
    }

    /// A page's end of its socket is gone.
    fn hang_up(&mut self, id: u32) {
        let page = self.pages.get_mut(&id).expect("it runs");
        if let Some(socket) = page.socket.take().and_then(|socket| self.sockets.get_mut(&socket)) {
            socket.client_open = false;
        }
    }

    /// Sends what a page's machine has to say.
    pub(crate) fn transmit(&mut self, id: u32) {
        while let Some(out) = self.pages.get_mut(&id).and_then(|page| page.machine.poll_transmit()) {
            let page = &self.pages[&id];
            let Some(number) = page.socket else { continue };
            let socket = self.sockets.get_mut(&number).expect("an open end keeps its socket");
            match out {
                Outgoing::Message(bytes) => {
                    if let Ok(ClientMessage::Ack(ack)) = ClientMessage::decode(&bytes)
                        && page.reading.session == socket.flow.session
                    {
                        let book = page.reading.session.and_then(|session| self.books.get(&session));
                        let taken = page.reading.taken(book).max(page.reading.captured);
                        assert!(
                            ack.events <= taken,
                            "page {id} acknowledges {} and took {taken}",
                            ack.events
                        );
                    }
                    if !socket.cut {
                        socket.up.push(Item::Message(bytes));
                    }
                }
                Outgoing::Close { code, reason } => {
                    if socket.loses_close && !socket.cut {
                        self.count("close frames lost");
                        self.cut(number, None, None);
                    } else if !socket.cut {
                        socket.up.push(Item::Close { code, reason });
                    }
                    self.hang_up(id);
                }
                Outgoing::Abort => {
                    self.cut_somehow(number);
                    self.hang_up(id);
                }
            }
        }
    }

    /// What became of a page's machine.
    pub(crate) fn observe(&mut self, id: u32) {
        // It may just have been reloaded.
        let Some(page) = self.pages.get_mut(&id) else { return };
        match page.machine.status() {
            Status::Lost | Status::Rejoining if !page.is_lost => {
                page.is_lost = true;
                page.lost.push_back((page.life, page.said));
                page.life += 1;
                (page.said, page.asked, page.flicked) = (0, 0, 0);
                page.saved.clear();
                self.trace(|| format!("page {id} has lost its session"));
            }
            Status::Joined => page.is_lost = false,
            Status::Closed { code, reason } if !page.done => {
                let fine = match code {
                    Some(code::LEFT) => page.left,
                    Some(
                        code::NOT_ALLOWED | code::FULL | code::REPLACED | code::KICKED | code::JOIN_REFUSED,
                    ) => true,
                    Some(code::GOING_AWAY | code::FAILED) => page.left,
                    // Given up without a socket.
                    None => page.left || page.offline_until > 0 || self.plan.keep.is_some(),
                    Some(_) => false,
                };
                assert!(fine, "page {id} closed with {code:?}: {reason}");
                page.done = true;
                let why = format!("page {id} is closed: {code:?} {reason}");
                self.trace(|| why);
                self.read(id);
                self.scan(id);
            }
            _ => {}
        }
    }

    /// The page's game takes what it was told.
    pub(crate) fn read(&mut self, id: u32) {
        let events: Vec<Event> = self.pages.get_mut(&id).expect("it runs").machine.events().collect();
        for event in events {
            match event {
                Event::Message(message) => {
                    let word: Word = message.decode().expect("words decode");
                    self.told(id, &Said::Word(word));
                }
                Event::Transient(message) => {
                    let word: Word = message.decode().expect("words decode");
                    let page = self.pages.get_mut(&id).expect("it runs");
                    assert_eq!(word.kind, Kind::Flash, "only a transient comes as one");
                    assert!(
                        word.n > page.reading.flash,
                        "transient {} came after {}",
                        word.n,
                        page.reading.flash
                    );
                    page.reading.flash = word.n;
                }
                Event::Result { call, outcome, .. } => {
                    let outcome = outcome.map(|message| message.decode::<Ask>().expect("results decode"));
                    self.answered(id, call, outcome);
                }
                Event::Failed(_) => self.told(id, &Said::Failed(0)),
                Event::SessionLost { undelivered } => self.session_lost(id, &undelivered),
                Event::Resumed { .. } | Event::BuildMismatch { .. } => {}
                other => panic!("page {id} was told {other:?}"),
            }
        }
    }

    /// A call has its result.
    fn answered(&mut self, id: u32, call: CallId, outcome: Result<Ask, String>) {
        let page = self.pages.get_mut(&id).expect("it runs");
        let ask = page.reading.calls.remove(&call);
        if outcome == Err(String::from("lost")) {
            assert!(
                ask.is_some() && !page.lost.is_empty(),
                "page {id} loses call {call:?} without its session"
            );
            return;
        }
        let ask =
            ask.unwrap_or_else(|| panic!("page {id} is told of call {call:?}, which waits for no result"));
        if let Ok(answer) = &outcome {
            assert_eq!(*answer, ask, "a call's own result");
        }
        self.told(id, &Said::Result { call: 0, outcome });
    }

    /// The next numbered message of the session came to a page's game.
    fn told(&mut self, id: u32, said: &Said) {
        let Sim { pages, books, sockets, runtime, .. } = self;
        let page = pages.get_mut(&id).expect("it runs");
        let session =
            page.reading.session.unwrap_or_else(|| panic!("page {id} is told {said:?} without a session"));
        let book = &books[&session];
        let from = page.reading.cursor;
        let starts = [from, page.reading.jump.max(from)];
        let number = starts.into_iter().find_map(|from| {
            let last = page.reading.passes(book, from);
            (from + 1..=last + 1)
                .find(|n| book.said.get(*n as usize - 1).is_some_and(|(it, _)| same(it, said)))
        });
        let Some(number) = number else {
            let due = book.said.get(page.reading.cursor as usize);
            panic!(
                "page {id} is told {said:?}; after {} of session {session}, which skips {}, comes {due:?}",
                page.reading.cursor, page.reading.jump
            );
        };
        page.reading.cursor = number;
        let Some(socket) = page.socket.and_then(|socket| sockets.get(&socket)) else { return };
        let (Said::Word(word), true) = (said, page.machine.is_joined()) else { return };
        if socket.flow.session == Some(session)
            && socket.flow.behind.contains(&number)
            && word.kind == Kind::Own
        {
            let own = page.machine.replica().all::<Avatar>().find(|(_, it)| it.owner == book.player);
            let shown = own.map(|(_, avatar)| avatar.value);
            let tick = runtime.now();
            assert!(
                shown.is_some_and(|shown| shown >= word.value),
                "page {id} is told of {} and shows {shown:?} in tick {tick}",
                word.value
            );
        }
    }

    /// A page's session is over, and these events were not delivered for all it knows.
    fn session_lost(&mut self, id: u32, undelivered: &[room_client::Undelivered]) {
        let page = self.pages.get_mut(&id).expect("it runs");
        let (life, said) = page.lost.pop_front().expect("a session was lost before its loss is reported");
        let reading = std::mem::take(&mut page.reading);
        page.reading.flash = reading.flash;
        // What it asked since belongs to the next one.
        let since = |ask: &Ask| ask.mark.page == id && ask.mark.life > life;
        page.reading.calls.extend(reading.calls.iter().filter(|(_, ask)| since(ask)));
        if let Some((session, jump)) = page.begun.pop_front() {
            (page.reading.session, page.reading.jump) = (Some(session), jump);
        }
        let book = reading.session.and_then(|session| self.books.get(&session));
        let handled = book.and_then(|book| book.acted.get(&(id, life)).copied()).unwrap_or(0);
        let given = |mark: Mark| undelivered.iter().any(|it| super::acts::mark_of(it) == Some(mark));
        for n in handled + 1..=said {
            let mark = Mark { page: id, life, n };
            assert!(given(mark), "page {id} is not told that event {n} was lost");
        }
    }

    /// No secret of another player came to a page.
    pub(crate) fn scan(&mut self, id: u32) {
        let page = self.pages.get_mut(&id).expect("it runs");
        let own: Vec<u32> = page.players.iter().copied().collect();
        // What came as it is was looked at where it was sent.
        let (_, plain) = page.machine.received();
        // A mark may lie across the end of the last look.
        no_secret_but(&own, &plain[page.scanned.saturating_sub(16)..]);
        page.scanned = plain.len();
    }
}

impl Reading {
    /// The number up to which there is nothing that this page must be told: results of other pages' calls are none
    /// of its business.
    fn passes(&self, book: &Book, from: u64) -> u64 {
        let others = book.said[from as usize..].iter().take_while(|(said, _)| match said {
            Said::Word(_) => false,
            Said::Result { outcome: Ok(ask), .. } => !self.calls.values().any(|mine| mine == ask),
            Said::Result { .. } | Said::Failed(_) => true,
        });
        from + others.count() as u64
    }

    /// The number up to which the page's game has taken everything.
    pub(crate) fn taken(&self, book: Option<&Book>) -> u64 {
        let from = self.cursor.max(self.jump);
        book.map_or(from, |book| self.passes(book, from))
    }
}

impl Page {
    /// Whether its session is gone, and its game has not read so.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    fn welcomed(&mut self, session: SessionId, skipped: u64, player: u32) {
        self.players.insert(player);
        // Each session that is lost was one that had begun.
        if self.begun.len() < self.lost.len() {
            return self.begun.push_back((session, skipped));
        }
        let (known, jump) = match self.begun.back_mut() {
            Some((known, jump)) => (known, jump),
            None => (self.reading.session.get_or_insert(session), &mut self.reading.jump),
        };
        assert_eq!(*known, session, "page {} goes on in another session", self.id);
        *jump = skipped.max(*jump);
    }
}

/// As equal as what the client tells lets one see.
fn same(book: &Said, told: &Said) -> bool {
    match (book, told) {
        (Said::Word(a), Said::Word(b)) => a == b,
        (Said::Result { outcome: a, .. }, Said::Result { outcome: b, .. }) => a == b,
        (Said::Failed(_), Said::Failed(_)) => true,
        _ => false,
    }
}

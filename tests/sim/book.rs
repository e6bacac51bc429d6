//! What is known of each session from outside: from the bytes that went over its links, and from what the game's
//! hooks were told. The run compares the room and the clients with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use room::runtime::Settings;
use room::session::Token;
use room::wire::message::{Ack, Outcome, RoomMessage, Welcome};
use room::wire::payload;
use room::{Dropped, PlayerId, SessionId, Tick, limits};

use super::game::{Ask, Kind, Mark, Word};

/// A numbered message of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Word(Word),
    Result { call: u64, outcome: Result<Ask, String> },
    Failed(u64),
}

impl Said {
    fn read(message: &RoomMessage<'_>) -> Option<Said> {
        match message {
            RoomMessage::Event(bytes) => Some(Said::Word(payload::decode(bytes).expect("words decode"))),
            RoomMessage::Failed(event) => Some(Said::Failed(*event)),
            RoomMessage::Result { call, outcome: Outcome::Accepted(bytes), .. } => Some(Said::Result {
                call: *call,
                outcome: Ok(payload::decode(bytes).expect("results decode")),
            }),
            RoomMessage::Result { call, outcome: Outcome::Refused(reason), .. } => {
                Some(Said::Result { call: *call, outcome: Err((*reason).to_owned()) })
            }
            _ => None,
        }
    }
}

/// Whether a session lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Yes,
    No,
    Maybe,
}

/// Events that make their hook panic: page, life and number.
pub(crate) type Booms = BTreeSet<(u32, u32, u64)>;

/// One session.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) player: PlayerId,
    pub(crate) account: Option<String>,
    pub(crate) conn: Option<u64>,
    /// The ticks up to which it is held at least and at most.
    held: Option<(u64, u64)>,
    pub(crate) dead: bool,
    /// Its page was hidden on this connection.
    pub(crate) hidden: bool,
    /// The tick behind which its socket ended, where the room has not ticked since.
    pub(crate) closing: Option<u64>,
    /// Its player leaves.
    pub(crate) leaving: bool,
    /// Up to which event its client was told that the room handled them.
    pub(crate) told: u64,
    /// The token that was confirmed last; and such a one of which the woken room may not know.
    confirmed: Option<Token>,
    doubtful: Option<Token>,
    /// The tokens, or none, of connections that the room let in and was killed before it could say so.
    pub(crate) blurred: Vec<Option<Token>>,
    fresh: Token,
    presented: Option<Token>,
    displaced: VecDeque<Token>,
    /// Every token it ever had.
    pub(crate) tokens: Vec<Token>,
    epoch: u32,
    received: u64,
    /// What it was told; the first has number 1.
    pub(crate) said: Vec<(Said, Tick)>,
    /// The last that a client acknowledged.
    pub(crate) acknowledged: u64,
    /// The last words of both kinds, those before the join included.
    pub(crate) own: u64,
    pub(crate) all: u64,
    /// The last number handled of each life of each page.
    pub(crate) acted: BTreeMap<(u32, u32), u64>,
    flicked: BTreeMap<(u32, u32), u64>,
    asked: BTreeMap<(u32, u32), u64>,
    results: BTreeSet<u64>,
}

impl Book {
    /// A session begins; `before` are the words of both kinds that it has no part in.
    pub(crate) fn new(
        welcome: &Welcome<'_>,
        conn: u64,
        account: Option<String>,
        before: (u64, u64),
        durable: bool,
    ) -> Book {
        assert_eq!((welcome.sent, welcome.received), (0, 0), "a session begins at the beginning");
        // An earlier welcome may have been lost with a run.
        assert!(welcome.epoch == 1 || durable, "a session begins at the beginning");
        assert!(!welcome.resumed, "nothing was there to be resumed");
        Book {
            player: welcome.player,
            account,
            conn: Some(conn),
            held: None,
            dead: false,
            hidden: false,
            closing: None,
            leaving: false,
            told: 0,
            confirmed: None,
            doubtful: None,
            blurred: Vec::new(),
            fresh: welcome.token,
            presented: None,
            displaced: VecDeque::new(),
            tokens: vec![welcome.token],
            epoch: welcome.epoch,
            received: 0,
            said: Vec::new(),
            acknowledged: 0,
            own: before.0,
            all: before.1,
            acted: BTreeMap::new(),
            flicked: BTreeMap::new(),
            asked: BTreeMap::new(),
            results: BTreeSet::new(),
        }
    }

    /// The session goes on over another connection.
    pub(crate) fn go_on(
        &mut self,
        welcome: &Welcome<'_>,
        conn: u64,
        presented: Option<(Token, u64)>,
        lies: bool,
        durable: bool,
    ) {
        assert!(self.conn.is_none(), "the older connection {:?} was not closed", self.conn);
        assert!(!self.dead, "a session that has ended went on");
        assert_eq!(welcome.player, self.player, "the session's player");
        assert!(welcome.epoch > self.epoch, "epoch {} follows {}", welcome.epoch, self.epoch);
        assert_eq!(welcome.resumed, presented.is_some(), "only a token resumes");
        assert!(!self.tokens.contains(&welcome.token), "a fresh token");
        assert!(welcome.received >= self.received || planted(), "the room forgot that it has events");
        let last = self.said.len() as u64;
        assert!(welcome.sent <= last || lies, "the room skips {} of {last}", welcome.sent);
        if presented.is_none() {
            // Of what was acknowledged to a run that ended, or over a connection that had ended, it knows less.
            assert!(
                welcome.sent == self.acknowledged || (durable && welcome.sent < self.acknowledged),
                "who holds nothing gets all that was not acknowledged"
            );
            self.acknowledged = welcome.sent;
            self.displaced.extend(self.presented.take());
            self.displaced.push_back(self.fresh);
            while self.displaced.len() > limits::DISPLACED {
                self.displaced.pop_front();
            }
        } else {
            self.doubtful = None;
        }
        (self.confirmed, self.leaving) = (None, false);
        self.blurred.clear();
        // Where it skips something, that is what it knows to be acknowledged.
        if presented.is_some_and(|(_, received)| received < welcome.sent) {
            self.acknowledged = welcome.sent;
        }
        self.presented = presented.map(|(token, _)| token);
        self.fresh = welcome.token;
        self.tokens.push(welcome.token);
        self.epoch = welcome.epoch;
        self.received = welcome.received;
        (self.conn, self.held, self.hidden, self.closing) = (Some(conn), None, false, None);
    }

    /// The connection is gone and the session held.
    pub(crate) fn dropped(&mut self, tick: u64, how: Dropped, settings: &Settings) {
        let rate = u64::from(settings.tick_rate);
        let usual = match how {
            Dropped::Closed | Dropped::Misbehaved => limits::HOLD_CLOSED_SECONDS,
            _ => limits::HOLD_BROKEN_SECONDS,
        };
        let (least, most) = match settings.hold_seconds {
            Some(seconds) => (seconds, seconds),
            None if self.hidden => (usual, limits::HOLD_HIDDEN_SECONDS),
            None => (usual, usual),
        };
        self.held = Some((tick + u64::from(least) * rate, tick + u64::from(most) * rate));
        (self.conn, self.closing) = (None, None);
    }

    pub(crate) fn end(&mut self) {
        (self.dead, self.conn, self.closing) = (true, None, None);
    }

    /// The room's run is over.
    pub(crate) fn orphaned(&mut self) {
        self.received = self.told;
        if let Some(confirmed) = self.confirmed.take() {
            self.doubtful = Some(confirmed);
        }
    }

    /// The room told its client up to which event it has handled them.
    pub(crate) fn tell(&mut self, handled: u64) {
        assert!(handled >= self.told || planted(), "the room takes an acknowledgement back");
        self.told = handled;
    }

    /// Whether a token may be worth more or less than is known.
    pub(crate) fn is_doubtful(&self, token: &Token) -> bool {
        let blurred = !self.blurred.iter().all(|it| it.as_ref() == Some(token));
        blurred || self.doubtful.as_ref() == Some(token)
    }

    /// Whether it lives after this tick.
    pub(crate) fn life(&self, tick: u64) -> Life {
        match (self.conn, self.held) {
            _ if self.dead => Life::No,
            (Some(_), _) if self.closing.is_some() => Life::Maybe,
            (Some(_), _) => Life::Yes,
            (None, Some((least, _))) if tick < least => Life::Yes,
            (None, Some((_, most))) if tick > most => Life::No,
            _ => Life::Maybe,
        }
    }

    pub(crate) fn is_good(&self, token: &Token) -> bool {
        *token == self.fresh || self.presented.as_ref() == Some(token)
    }

    pub(crate) fn is_displaced(&self, token: &Token) -> bool {
        self.displaced.contains(token)
    }

    /// A token that continues it.
    pub(crate) fn good_token(&self) -> Token {
        self.fresh
    }

    /// The client of the newest connection acknowledged.
    pub(crate) fn confirm(&mut self, events: u64) {
        self.confirmed = self.presented.take().or(self.confirmed);
        self.acknowledged = self.acknowledged.max(events);
    }

    /// A numbered message went out. A client that lies about what it has may skip some.
    pub(crate) fn say(&mut self, number: u64, message: &RoomMessage<'_>, tick: Tick, lies: bool) {
        let said = Said::read(message).expect("only numbered messages are asked about");
        let next = self.said.len() as u64 + 1;
        if number > next && lies {
            return;
        }
        if number < next {
            let known = &self.said[number as usize - 1].0;
            assert_eq!(*known, said, "message {number} of the session became another");
            return;
        }
        assert_eq!(number, next, "a number of the session's was left out");
        match &said {
            Said::Word(Word { kind: Kind::Own, n, .. }) => {
                assert_eq!(*n, self.own + 1, "words of the player's own come in order, each once");
                self.own = *n;
            }
            Said::Word(Word { kind: Kind::All, n, .. }) => {
                assert_eq!(*n, self.all + 1, "words for everyone come in order, each once");
                self.all = *n;
            }
            Said::Word(Word { kind: Kind::Flash, .. }) => panic!("a transient has a number"),
            Said::Result { call, .. } => assert!(self.results.insert(*call), "call {call} has two results"),
            Said::Failed(_) => {}
        }
        self.said.push((said, tick));
    }

    /// The game handled an event. Those given up before it are in `given_up`.
    pub(crate) fn act(&mut self, mark: Mark, given_up: &Booms) {
        let handled = self.handled(mark.page, mark.life, given_up);
        let last = self.acted.entry((mark.page, mark.life)).or_default();
        let between = (*last + 1..mark.n).all(|n| given_up.contains(&(mark.page, mark.life, n)));
        assert!(
            mark.n > *last && between,
            "event {} of page {} came after {handled}: they come in order, each once",
            mark.n,
            mark.page
        );
        *last = mark.n;
    }

    /// The last event of a page that was handled or given up.
    pub(crate) fn handled(&self, page: u32, life: u32, given_up: &Booms) -> u64 {
        let last = self.acted.get(&(page, life)).copied().unwrap_or(0);
        let over = (last + 1..).take_while(|n| given_up.contains(&(page, life, *n)));
        last + over.count() as u64
    }

    /// How often it was told that an event failed.
    pub(crate) fn failures(&self) -> usize {
        self.said.iter().filter(|(said, _)| matches!(said, Said::Failed(_))).count()
    }

    /// The game handled a transient.
    pub(crate) fn flick(&mut self, mark: Mark) {
        let last = self.flicked.entry((mark.page, mark.life)).or_default();
        assert!(mark.n > *last, "transient {} of page {} came after {last}", mark.n, mark.page);
        *last = mark.n;
    }

    /// The game handled a call.
    pub(crate) fn ask(&mut self, ask: Ask, given_up: &Booms) {
        let Mark { page, life, n } = ask.mark;
        let last = self.asked.entry((page, life)).or_default();
        assert!(n > *last, "call {n} of page {page} came after {last}");
        *last = n;
        let acted = self.acted.get(&(page, life)).copied().unwrap_or(0);
        let stands = (acted..=self.handled(page, life, given_up)).contains(&ask.after);
        assert!(stands, "call {n} of page {page} stands in line behind {}, not {acted}", ask.after);
    }
}

/// Where a fault is planted, what it breaks should be found where players would.
fn planted() -> bool {
    use room::faults::{Fault, is};
    is(Fault::NoDedupe) || is(Fault::AckBeforeHook)
}

/// A connection's numbers and what is on its wire.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) session: Option<SessionId>,
    /// The number of the next event.
    next: u64,
    /// Heads of the open update, and of the last whole one.
    open: Option<(Tick, Tick)>,
    whole: Option<(Tick, Tick)>,
    /// Parts on the wire: the update's tick, which part, and its bytes.
    updates: VecDeque<(Tick, u32, usize)>,
    events: VecDeque<(u64, usize)>,
    /// The tick behind which the room heard that the page is hidden.
    pub(crate) hidden: Option<u64>,
    /// Events before which an update of their send went out, with nothing held back.
    pub(crate) behind: BTreeSet<u64>,
}

impl Flow {
    pub(crate) fn welcome(&mut self, session: SessionId, sent: u64) {
        assert_eq!(self.session, None, "one welcome a connection");
        self.session = Some(session);
        self.next = sent + 1;
    }

    /// Whether its page is sent what is made in a tick besides events.
    pub(crate) fn sees(&self, made: Tick) -> bool {
        self.hidden.is_none_or(|heard| made.0 <= heard)
    }

    /// The tick of the last whole update.
    pub(crate) fn updated(&self) -> Option<Tick> {
        self.whole.map(|(tick, _)| tick)
    }

    /// A part of an update went out.
    pub(crate) fn part(&mut self, bytes: &[u8], len: usize, window: usize, made: Tick) {
        assert!(self.sees(made), "a hidden page is sent an update");
        let part = room::wire::update::Part::decode(bytes).expect("the room's parts decode");
        if let Some(head) = part.head {
            assert_eq!(self.open, None, "an update begins where another has ended");
            self.open = Some((head.tick, head.complete));
        }
        let (tick, complete) = self.open.expect("a part belongs to an update");
        if part.last {
            (self.open, self.whole) = (None, Some((tick, complete)));
        }
        let number =
            self.updates.iter().filter(|(of, ..)| *of == tick).map(|(_, number, _)| number + 1).next_back();
        self.updates.push_back((tick, number.unwrap_or(0), len));
        let sum: usize = self.updates.iter().map(|(.., len)| len).sum();
        // One entity and the leaves are never cut.
        assert!(sum <= window + 2 * limits::PART, "{sum} bytes of updates are on the wire");
    }

    /// An event went out; returns its number.
    pub(crate) fn event(&mut self, len: usize, tick: Tick) -> u64 {
        let number = self.next;
        self.next += 1;
        self.events.push_back((number, len));
        let sum: usize = self.events.iter().map(|(_, len)| len).sum();
        assert!(sum <= limits::EVENTS_WINDOW + limits::ROOM_MESSAGE, "{sum} bytes of events are on the wire");
        if self.whole == Some((tick, tick)) {
            self.behind.insert(number);
        }
        number
    }

    pub(crate) fn acknowledge(&mut self, ack: Ack) {
        let Ack { tick, parts, events } = ack;
        self.updates.retain(|(of, ..)| *of > tick);
        let open = self.updates.front().map(|(of, ..)| *of);
        self.updates.retain(|(of, number, _)| Some(*of) != open || *number >= parts);
        while self.events.front().is_some_and(|(number, _)| *number <= events) {
            self.events.pop_front();
        }
    }
}

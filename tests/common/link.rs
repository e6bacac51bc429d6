//! A room and its clients in one process, without sockets: every byte goes through the real encoders and
//! decoders of both directions.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use room::room::log::Log;
use room::runtime::{Closed, Identity, Join, Outgoing, Runtime, Settings};
use room::session::{self, Claim, Hello, Resume, Token};
use room::wire::message::{Ack, Call, ClientMessage, Outcome, RoomMessage, Welcome};
use room::wire::{PROTOCOL_VERSION, payload};
use room::{ConnectionId, EntityId, Game, PlayerId, Room, Tick};
use room_client::replica::{Applied, Replica};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How a client's end of the link treats what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Everything is applied and acknowledged at once.
    Prompt,
    /// Everything is applied at once and acknowledged so many ticks later.
    Late(u64),
    /// Everything is applied, nothing acknowledged.
    Silent,
    /// Nothing arrives: it waits on the link.
    Stalled,
}

/// An event as a client took it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// The tick that the replica showed then.
    pub(crate) at: Tick,
    payload: Vec<u8>,
}

impl Event {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> T {
        payload::decode(&self.payload).expect("the room's events decode")
    }
}

/// One end of a link.
pub(crate) struct Client {
    pub(crate) replica: Replica,
    pub(crate) pace: Pace,
    /// As whom it came.
    identity: Identity,
    /// From its welcome.
    pub(crate) player: Option<PlayerId>,
    /// Its welcome's session, epoch, token and numbers.
    pub(crate) welcome: Option<Welcome<'static>>,
    /// Numbered messages that came, events among them; the last one's number.
    pub(crate) received: u64,
    /// The number of the last event that the room has handled.
    pub(crate) handled: u64,
    /// Results and failures, as they came.
    pub(crate) answers: Vec<Answer>,
    pub(crate) transients: Vec<Event>,
    /// The clocks of pongs.
    pub(crate) pongs: Vec<u64>,
    /// Whether events are acknowledged as they come.
    pub(crate) takes_events: bool,
    pub(crate) events: Vec<Event>,
    /// Code and reason of the close that the room sent; 1006 where there was none.
    pub(crate) closed: Option<(u16, String)>,
    /// Its socket broke: what the room still has for it goes nowhere.
    broken: bool,
    /// Every byte that the room sent, as sent.
    pub(crate) raw: Vec<u8>,
    /// Whether raw and inflated bytes are kept.
    pub(crate) keep: bool,
    /// Updates applied.
    pub(crate) applied: Vec<Applied>,
    /// Messages and their bytes.
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
    /// Update parts among the messages.
    pub(crate) parts: usize,
    waiting: VecDeque<Vec<u8>>,
    /// Ticks to acknowledge, and when.
    owed: VecDeque<(u64, Tick)>,
    confirm: bool,
    // The number up to which events were acknowledged.
    told: u64,
}

/// What a client's call or event came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted(u64, Vec<u8>),
    Refused(u64, String),
    Failed(u64),
}

impl Client {
    fn new<G: Game>(keep: bool, identity: Identity) -> Client {
        let mut replica = Replica::new(&G::schema());
        if keep {
            replica.record();
        }
        Client {
            replica,
            pace: Pace::Prompt,
            identity,
            player: None,
            welcome: None,
            received: 0,
            handled: 0,
            answers: Vec::new(),
            transients: Vec::new(),
            pongs: Vec::new(),
            takes_events: true,
            events: Vec::new(),
            closed: None,
            broken: false,
            raw: Vec::new(),
            keep,
            applied: Vec::new(),
            messages: 0,
            bytes: 0,
            parts: 0,
            waiting: VecDeque::new(),
            owed: VecDeque::new(),
            confirm: false,
            told: 0,
        }
    }

    /// Whether it was welcomed and not closed.
    pub(crate) fn is_joined(&self) -> bool {
        self.player.is_some() && self.closed.is_none()
    }

    /// The code with which it was closed.
    pub(crate) fn code(&self) -> Option<u16> {
        self.closed.as_ref().map(|(code, _)| *code)
    }

    /// The events that came since the last call.
    pub(crate) fn take_events<T: DeserializeOwned>(&mut self) -> Vec<T> {
        self.events.drain(..).map(|event| event.read()).collect()
    }

    fn take(&mut self, bytes: &[u8], now: u64) {
        match RoomMessage::decode(bytes).expect("the room's messages decode") {
            RoomMessage::Welcome(welcome) => {
                assert_eq!(self.welcome, None, "one welcome");
                assert_eq!(welcome.protocol, PROTOCOL_VERSION);
                self.player = Some(welcome.player);
                self.received = welcome.sent;
                self.confirm = true;
                if welcome.resumed {
                    self.replica.rebase();
                } else {
                    self.replica.clear();
                }
                self.replica.retain(welcome.retain as usize);
                self.welcome = Some(Welcome { build: None, room: "", ..welcome });
            }
            RoomMessage::Update(part) => {
                self.parts += 1;
                let applied = self.replica.handle_part(part).expect("the room's updates apply");
                if let Some(applied) = applied {
                    assert!(applied.complete <= applied.tick);
                    self.applied.push(applied);
                    self.owed.push_back((now, applied.tick));
                }
            }
            RoomMessage::Event(payload) => {
                self.received += 1;
                self.events.push(Event { at: self.replica.tick(), payload: payload.to_vec() });
            }
            RoomMessage::Transient(payload) => {
                self.transients.push(Event { at: self.replica.tick(), payload: payload.to_vec() });
            }
            RoomMessage::Result { call, outcome, .. } => {
                self.received += 1;
                self.answers.push(match outcome {
                    Outcome::Accepted(payload) => Answer::Accepted(call, payload.to_vec()),
                    Outcome::Refused(reason) => Answer::Refused(call, reason.to_owned()),
                });
            }
            RoomMessage::Failed(number) => {
                self.received += 1;
                self.answers.push(Answer::Failed(number));
            }
            RoomMessage::Ack(number) => {
                assert!(number > self.handled, "acknowledgements grow");
                self.handled = number;
            }
            RoomMessage::Stepped { .. } => {}
            RoomMessage::Pong { clock, .. } => self.pongs.push(clock),
            RoomMessage::Closing(_) => panic!("a room that lets a client in sends it no closing"),
        }
    }

    /// What to acknowledge now.
    fn due(&mut self, now: u64) -> Option<Ack> {
        let after = match self.pace {
            Pace::Prompt => 0,
            Pace::Late(ticks) => ticks,
            Pace::Silent | Pace::Stalled => return None,
        };
        let mut newest = None;
        while self.owed.front().is_some_and(|(came, _)| came + after <= now) {
            newest = self.owed.pop_front().map(|(_, tick)| tick);
        }
        let events = if self.takes_events { self.received } else { 0 };
        let confirm = std::mem::take(&mut self.confirm);
        if newest.is_none() && !confirm && events <= self.told {
            return None;
        }
        self.told = events;
        Some(Ack { tick: newest.unwrap_or_default(), parts: 0, events })
    }
}

/// A room and its clients.
pub(crate) struct Link<G: Game> {
    pub(crate) room: Runtime<G>,
    pub(crate) clients: BTreeMap<ConnectionId, Client>,
    pub(crate) log: Vec<Log>,
    /// Whether new clients keep every byte.
    pub(crate) keep: bool,
    next: u64,
    now: u64,
}

impl<G: Game> Link<G> {
    pub(crate) fn new(game: G, settings: Settings) -> Link<G> {
        let room = Runtime::new(game, settings, [7; 32]).expect("the room starts");
        let mut link = Link { room, clients: BTreeMap::new(), log: Vec::new(), keep: false, next: 1, now: 0 };
        link.deliver();
        link
    }

    fn clock(&self) -> Duration {
        Duration::from_millis(self.now * 50)
    }

    /// The tick of the room.
    pub(crate) fn tick_number(&self) -> u64 {
        self.room.now().0
    }

    /// Opens a connection with a hello of its own; it is seated at the next tick.
    pub(crate) fn open(&mut self, identity: Identity) -> ConnectionId {
        self.open_as("Ada", None, identity)
    }

    /// As [`open`](Self::open), with a name and a build.
    pub(crate) fn open_as(&mut self, name: &str, build: Option<&str>, identity: Identity) -> ConnectionId {
        self.open_with(&hello::<G>(name, build), identity)
    }

    /// As [`open`](Self::open), with any hello, of a client that holds nothing.
    pub(crate) fn open_with(&mut self, hello: &Hello, identity: Identity) -> ConnectionId {
        let conn = ConnectionId(self.next);
        self.next += 1;
        self.clients.insert(conn, Client::new::<G>(self.keep, identity));
        self.admit(conn, hello);
        conn
    }

    /// A hello that goes on with a client's token, whatever it claims.
    pub(crate) fn hello_again(&self, conn: ConnectionId, complete: Tick, ids: Vec<EntityId>) -> Hello {
        let welcome = self.client(conn).welcome.expect("it was welcomed");
        let Welcome { session, token, generation, incarnation, .. } = welcome;
        let claim = Claim { generation, incarnation, complete, ids };
        let resume = Resume { session, token, received: self.client(conn).received, claim };
        Hello { resume: Some(resume), ..hello::<G>("Ada", None) }
    }

    fn admit(&mut self, conn: ConnectionId, hello: &Hello) {
        let mut first = Vec::new();
        hello.encode(&mut first);
        let hello = session::admit(&first, &G::schema()).expect("the hello is right");
        let now = self.clock();
        let mut token = [0; 16];
        token[..8].copy_from_slice(&(0xfeed_0000 + conn.0).to_le_bytes());
        let identity = self.client(conn).identity.clone();
        self.room.handle_open(conn, now, Join { hello, identity, token: Token(token) });
        self.deliver();
    }

    /// A new connection that continues the session of a client, which has its replica from now on. It is seated at
    /// the next tick.
    pub(crate) fn resume(&mut self, earlier: ConnectionId) -> ConnectionId {
        self.resume_as(earlier, None, |_| {})
    }

    /// As [`resume`](Self::resume), as another and with lies.
    pub(crate) fn resume_as(
        &mut self,
        earlier: ConnectionId,
        identity: Option<Identity>,
        lie: impl FnOnce(&mut Resume),
    ) -> ConnectionId {
        let before = self.client_mut(earlier);
        let identity = identity.unwrap_or_else(|| before.identity.clone());
        let welcome = before.welcome.expect("the client was welcomed");
        let (complete, ids) = before.replica.claim();
        let Welcome { session, token, generation, incarnation, .. } = welcome;
        let claim = Claim { generation, incarnation, complete, ids };
        let mut resume = Resume { session, token, received: before.received, claim };
        lie(&mut resume);
        let mut client = Client::new::<G>(self.keep, identity);
        let before = self.client_mut(earlier);
        std::mem::swap(&mut client.replica, &mut before.replica);
        // What was on its way is lost with the earlier connection.
        before.waiting.clear();
        let conn = ConnectionId(self.next);
        self.next += 1;
        self.clients.insert(conn, client);
        self.admit(conn, &Hello { resume: Some(resume), ..hello::<G>("Ada", None) });
        conn
    }

    /// What a connection that came to nothing holds goes back to the client it came from.
    pub(crate) fn take_back(&mut self, to: ConnectionId, from: ConnectionId) {
        let empty = Replica::new(&G::schema());
        self.client_mut(to).replica = std::mem::replace(&mut self.client_mut(from).replica, empty);
    }

    /// Opens a connection again, and one tick.
    pub(crate) fn rejoin(&mut self, earlier: ConnectionId) -> ConnectionId {
        let conn = self.resume(earlier);
        self.tick();
        conn
    }

    /// Joins as a guest: one tick.
    pub(crate) fn join(&mut self) -> ConnectionId {
        let conn = self.open(Identity::guest());
        self.tick();
        conn
    }

    pub(crate) fn client(&self, conn: ConnectionId) -> &Client {
        &self.clients[&conn]
    }

    pub(crate) fn client_mut(&mut self, conn: ConnectionId) -> &mut Client {
        self.clients.get_mut(&conn).expect("the client was opened")
    }

    pub(crate) fn replica(&self, conn: ConnectionId) -> &Replica {
        &self.client(conn).replica
    }

    pub(crate) fn player(&self, conn: ConnectionId) -> PlayerId {
        self.client(conn).player.expect("the client was welcomed")
    }

    /// Changes the room between two ticks.
    pub(crate) fn edit<R>(&mut self, change: impl FnOnce(&mut Room<G>) -> R) -> R {
        change(self.room.parts_mut().1)
    }

    /// One tick, and all that follows from it on every link.
    pub(crate) fn tick(&mut self) {
        self.now += 1;
        let now = self.clock();
        self.room.tick(now);
        self.deliver();
    }

    pub(crate) fn ticks(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    /// A message from a client, as bytes.
    pub(crate) fn send_bytes(&mut self, conn: ConnectionId, bytes: &[u8]) {
        let now = self.clock();
        self.room.handle_message(conn, now, bytes);
        self.deliver();
    }

    /// A message from a client.
    pub(crate) fn say(&mut self, conn: ConnectionId, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.send_bytes(conn, &bytes);
    }

    /// An event from a client.
    pub(crate) fn send<E: Serialize>(&mut self, conn: ConnectionId, event: &E) {
        self.say(conn, &ClientMessage::Event { gap: 1, payload: &encoded(event) });
    }

    /// A call from a client.
    pub(crate) fn call<E: Serialize>(&mut self, conn: ConnectionId, name: &str, value: &E) {
        let payload = &encoded(value);
        self.say(
            conn,
            &ClientMessage::Call(Call { gap: 1, name, through: None, deadline: Tick::ZERO, payload }),
        );
    }

    /// The client leaves for good.
    pub(crate) fn leave(&mut self, conn: ConnectionId) {
        self.say(conn, &ClientMessage::Leave);
    }

    /// The client's socket breaks.
    pub(crate) fn drop_link(&mut self, conn: ConnectionId) {
        self.close(conn, Closed::Broken);
    }

    /// The client's socket ends.
    pub(crate) fn close(&mut self, conn: ConnectionId, how: Closed) {
        let now = self.clock();
        self.room.handle_close(conn, now, how);
        let client = self.client_mut(conn);
        client.broken = true;
        client.closed.get_or_insert_with(|| (1006, String::from("the link broke")));
        self.deliver();
    }

    /// Takes all that the room has for its sockets, and answers.
    pub(crate) fn deliver(&mut self) {
        loop {
            while let Some(transmit) = self.room.poll_transmit() {
                let client = self.clients.get_mut(&transmit.conn).expect("the connection was opened");
                if client.broken {
                    continue;
                }
                assert!(client.closed.is_none(), "nothing follows a close");
                match transmit.outgoing {
                    Outgoing::Message(bytes) => {
                        client.messages += 1;
                        client.bytes += bytes.len();
                        if client.keep {
                            client.raw.extend_from_slice(bytes);
                        }
                        client.waiting.push_back(bytes.to_vec());
                    }
                    Outgoing::Abort => client.closed = Some((1006, String::new())),
                    Outgoing::Close { code, reason } => {
                        assert!(reason.len() <= room::limits::CLOSE_REASON);
                        client.closed = Some((code, reason.to_owned()));
                    }
                }
            }
            self.log.extend(std::iter::from_fn(|| self.room.poll_log()));
            if !self.answer() {
                return;
            }
        }
    }

    /// Lets clients take what came and acknowledge; returns whether one said something.
    fn answer(&mut self) -> bool {
        let now = self.clock();
        let mut said = false;
        for (conn, client) in &mut self.clients {
            if client.pace == Pace::Stalled {
                continue;
            }
            while let Some(bytes) = client.waiting.pop_front() {
                client.take(&bytes, self.now);
            }
            if client.welcome.is_some()
                && client.closed.is_none()
                && let Some(ack) = client.due(self.now)
            {
                let mut message = Vec::new();
                ClientMessage::Ack(ack).encode(&mut message);
                self.room.handle_message(*conn, now, &message);
                said = true;
            }
        }
        said
    }
}

/// A client's value as it travels.
pub(crate) fn encoded<E: Serialize>(value: &E) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload::encode(value, room::limits::CLIENT_PAYLOAD, &mut bytes).expect("the value fits");
    bytes
}

/// The hello of a client of this game.
pub(crate) fn hello<G: Game>(name: &str, build: Option<&str>) -> Hello {
    Hello {
        protocol: PROTOCOL_VERSION,
        schema_hash: G::schema().hash(),
        build: build.map(str::to_owned),
        name: name.to_owned(),
        auth: Vec::new(),
        resume: None,
    }
}

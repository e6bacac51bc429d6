//! A room and its clients in one process, for a game's tests: no sockets, no clock, no waiting. Every byte goes
//! through the real encoders and decoders of both sides.
//!
//! ```
//! use room::prelude::*;
//! use room_client::testing::{TestRoom, assert_never_received};
//!
//! #[derive(Entity, Clone, Debug, PartialEq)]
//! struct Door {
//!     open: bool,
//! }
//! #[derive(Entity, Clone, Debug)]
//! #[entity(hidden)]
//! struct Key {
//!     word: String,
//! }
//!
//! struct House;
//! impl Game for House {
//!     type Event = String; // what she says at the door
//!     type Scratch = ();
//!     fn schema() -> Schema {
//!         Schema::new().entity::<Door>().entity::<Key>()
//!     }
//!     fn on_create(&mut self, room: &mut Room<Self>) {
//!         room.create_with_id(7, Door { open: false }).expect("it is free");
//!         room.create(Key { word: "xyzzy-plugh".into() }).expect("it is short");
//!     }
//!     fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, said: String) {
//!         if room.all::<Key>().any(|(_, key)| key.word == said) {
//!             let door = room.all::<Door>().next().expect("there is one").0;
//!             room.get_mut(door).expect("it lives").set_open(true);
//!             room.send(peer.conn, "it opens").expect("it is short");
//!         }
//!     }
//! }
//!
//! let mut room = TestRoom::new(House);
//! let (ada, bo) = (room.join("ada"), room.join("bo"));
//! room.drop_link(&ada);
//! ada.send(&"xyzzy-plugh").unwrap(); // waits until she is back
//! room.resume(&ada);
//! room.advance(1);
//! assert_eq!(ada.messages::<String>(), ["it opens"]);
//! assert!(bo.view::<Door>()[0].1.open);
//! assert_eq!(room.stored::<Key>().len(), 1);
//! assert_never_received(&bo, b"xyzzy-plugh");
//! ```

mod client;
mod durable;
mod outside;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use room::prelude::*;
use room::room::log::Log;
use room::runtime::{Closed, Identity, Join, Outgoing, Runtime, Settings, Way};
use room::session::{self, Refusal, Token};

use crate::event::Status;
use crate::machine::{self, Checkpoint, Machine, Options};
pub use client::TestClient;

/// A room, its clock and the links to its clients.
///
/// Links are fast and lose nothing, until [`drop_link`](TestRoom::drop_link) says otherwise. The clock stands still
/// between two calls of [`advance`](TestRoom::advance).
pub struct TestRoom<G: Game> {
    runtime: Runtime<G>,
    schema: Schema,
    clients: Vec<Link>,
    now: Duration,
    last_conn: u64,
    logs: Vec<Log>,
    /// The time of the world outside, in seconds since 1970.
    unix: u64,
    /// What wakes the room again, where it has a store.
    store: Option<durable::Kept<G>>,
    asked: outside::Asked,
}

/// The room's end of a client.
struct Link {
    client: TestClient,
    account: Option<String>,
    conn: Option<ConnectionId>,
    /// Whether its machine may open a socket.
    online: bool,
}

impl<G: Game> TestRoom<G> {
    /// A room with the default settings.
    ///
    /// # Panics
    /// As [`with`](TestRoom::with).
    #[must_use]
    pub fn new(game: G) -> TestRoom<G> {
        TestRoom::with(game, Settings::default())
    }

    /// A room with settings of the test's own.
    ///
    /// # Panics
    /// If the schema has a fault or a setting is outside its range.
    #[must_use]
    pub fn with(game: G, settings: Settings) -> TestRoom<G> {
        let runtime = Runtime::new(game, settings, [7; 32]).unwrap_or_else(|error| panic!("{error}"));
        TestRoom::around(runtime, None)
    }

    fn around(runtime: Runtime<G>, store: Option<durable::Kept<G>>) -> TestRoom<G> {
        let mut room = TestRoom {
            runtime,
            schema: G::schema(),
            clients: Vec::new(),
            now: Duration::ZERO,
            last_conn: 0,
            logs: Vec::new(),
            unix: durable::UNIX,
            store,
            asked: outside::Asked::default(),
        };
        room.runtime.handle_time(room.unix);
        room.deliver();
        room
    }

    /// A guest joins; one tick passes, or as many as it takes to the next send of a room with a store.
    ///
    /// # Panics
    /// If the room lets her not in.
    pub fn join(&mut self, name: &str) -> TestClient {
        self.join_as(name, None)
    }

    /// A player with an account joins; one tick passes.
    ///
    /// # Panics
    /// If the room lets her not in.
    pub fn join_account(&mut self, name: &str, account: &str) -> TestClient {
        self.join_as(name, Some(account.to_owned()))
    }

    fn join_as(&mut self, name: &str, account: Option<String>) -> TestClient {
        let client = self.open(name, account);
        // A room with a store lets her in at a send.
        let most = if self.store.is_some() { self.runtime.settings().send_every } else { 1 };
        for _ in 0..most {
            self.advance(1);
            if client.status() != Status::Connecting {
                break;
            }
        }
        assert_eq!(client.status(), Status::Joined, "{name} is not let in");
        client
    }

    /// A client that has not been let in yet: it joins at the next tick, or is refused.
    pub fn open(&mut self, name: &str, account: Option<String>) -> TestClient {
        let machine = Machine::new(G::schema(), options(name), self.clients.len() as u64);
        self.add(machine, account)
    }

    /// A client's process ends without a word, and another one goes on from a checkpoint. One tick passes.
    ///
    /// # Panics
    /// If the client is none of this room's.
    pub fn restart(&mut self, client: &TestClient, checkpoint: Checkpoint) -> TestClient {
        self.drop_link(client);
        let account = self.link(client).account.clone();
        let seed = self.clients.len() as u64;
        let name = client.machine.borrow().name().to_owned();
        // Each life of a client begins later than the one before.
        let unix_ms = BEGAN_MS + self.now.as_millis() as u64 + seed;
        let machine = Machine::restore(G::schema(), options(&name), checkpoint, unix_ms, seed);
        let again = self.add(machine.expect("it is a checkpoint of a client of this room"), account);
        self.advance(1);
        again
    }

    fn add(&mut self, mut machine: Machine, account: Option<String>) -> TestClient {
        machine.record();
        let client = TestClient { machine: Rc::new(RefCell::new(machine)) };
        self.clients.push(Link { client: client.clone(), account, conn: None, online: true });
        self.deliver();
        client
    }

    /// Lets so many ticks pass. Clients take what comes at once; what they see afterwards as entered, changed and
    /// left is that of the last tick.
    pub fn advance(&mut self, ticks: u64) {
        let tick = Duration::from_secs(1) / self.runtime.settings().tick_rate;
        for _ in 0..ticks {
            self.deliver();
            self.work();
            self.now += tick;
            self.runtime.tick(self.now);
            self.deliver();
            for link in &self.clients {
                link.client.machine.borrow_mut().update(self.now);
            }
            self.deliver();
        }
    }

    /// Lets hours pass in the world outside, and no tick: for what is kept so long, such as private state.
    pub fn pass_hours(&mut self, hours: u64) {
        self.unix += 3600 * hours;
        self.runtime.handle_time(self.unix);
    }

    /// Breaks a client's link, without a close frame, between two messages. The room learns of it at the next tick.
    /// The client stays away until [`resume`](TestRoom::resume).
    pub fn drop_link(&mut self, client: &TestClient) {
        self.end(client, Closed::Broken, None);
    }

    /// Closes a client's link with a close frame, as a reload of a page does.
    pub fn close_link(&mut self, client: &TestClient) {
        self.end(client, Closed::WithFrame, Some(session::code::GOING_AWAY));
    }

    fn end(&mut self, client: &TestClient, how: Closed, code: Option<u16>) {
        self.deliver();
        let now = self.now;
        let link = self.link(client);
        link.online = false;
        let conn = link.conn.take();
        client.machine.borrow_mut().handle_close(now, code, "the test ended it");
        if let Some(conn) = conn {
            self.runtime.handle_close(conn, now, how);
        }
        self.deliver();
    }

    /// Lets a client come back, and as much time pass as that takes. What became of it says
    /// [`status`](TestClient::status).
    pub fn resume(&mut self, client: &TestClient) {
        self.link(client).online = true;
        client.machine.borrow_mut().handle_online(self.now);
        for _ in 0..RESUME_TICKS {
            self.advance(1);
            if client.status() != Status::Reconnecting {
                return;
            }
        }
    }

    /// Lets a client whose session is lost make a new one, or one that gave up try again. One tick passes.
    pub fn rejoin(&mut self, client: &TestClient) {
        self.link(client).online = true;
        client.machine.borrow_mut().rejoin(self.now);
        self.advance(1);
    }

    /// A client leaves for good; one tick passes.
    pub fn leave(&mut self, client: &TestClient) {
        client.machine.borrow_mut().leave(self.now);
        self.advance(1);
    }

    /// A client's page is hidden, or shown again.
    pub fn set_hidden(&mut self, client: &TestClient, hidden: bool) {
        client.machine.borrow_mut().handle_hidden(self.now, hidden);
        self.deliver();
    }

    /// The game and its room, to change between two ticks.
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut G, &mut Room<G>) -> R) -> R {
        let (game, room) = self.runtime.parts_mut();
        change(game, room)
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Room<G> {
        self.runtime.room()
    }

    /// The game.
    #[must_use]
    pub fn game(&self) -> &G {
        self.runtime.game()
    }

    /// All entities of a kind in ID order, hidden kinds too: what the room has, whoever sees it.
    #[must_use]
    pub fn stored<K: Entity + Clone>(&self) -> Vec<(Id<K>, K)> {
        self.room().all::<K>().map(|(id, entity)| (id, entity.clone())).collect()
    }

    /// What the room had to log since the last call.
    pub fn logs(&mut self) -> Vec<Log> {
        std::mem::take(&mut self.logs)
    }

    fn link(&mut self, client: &TestClient) -> &mut Link {
        let link = self.clients.iter_mut().find(|link| Rc::ptr_eq(&link.client.machine, &client.machine));
        link.expect("the client is one of this room's")
    }

    /// Carries everything both ways until nobody has anything to say.
    fn deliver(&mut self) {
        loop {
            let up = self.carry_up();
            let down = self.carry_down();
            if !up && !down {
                return;
            }
        }
    }

    fn carry_up(&mut self) -> bool {
        let mut said = false;
        for index in 0..self.clients.len() {
            let machine = self.clients[index].client.machine.clone();
            let mut machine = machine.borrow_mut();
            if self.clients[index].online && machine.poll_dial(self.now) {
                machine.handle_open(self.now, Vec::new());
            }
            while let Some(outgoing) = machine.poll_transmit() {
                said = true;
                match (outgoing, self.clients[index].conn) {
                    (machine::Outgoing::Message(bytes), Some(conn)) => {
                        self.runtime.handle_message(conn, self.now, &bytes);
                    }
                    (machine::Outgoing::Message(bytes), None) => {
                        if let Err(refusal) = self.admit(index, &bytes) {
                            machine.handle_close(self.now, Some(refusal.code), &refusal.reason);
                        }
                    }
                    (_, Some(conn)) => {
                        self.clients[index].conn = None;
                        self.runtime.handle_close(conn, self.now, Closed::WithFrame);
                    }
                    (_, None) => {}
                }
            }
        }
        said
    }

    /// What a server does with a first message.
    fn admit(&mut self, index: usize, bytes: &[u8]) -> Result<(), Refusal> {
        let hello = session::admit(bytes, &self.schema)?;
        if let Some(resume) = &hello.resume {
            self.runtime.check_resume(resume)?;
        }
        self.last_conn += 1;
        let mut token = [0; 16];
        token[..8].copy_from_slice(&self.last_conn.to_le_bytes());
        let conn = ConnectionId(self.last_conn);
        self.clients[index].conn = Some(conn);
        let identity = Identity { account: self.clients[index].account.clone() };
        let join = Join { hello, identity, token: Token(token) };
        // A test's clients know the code, should the game make its room private.
        let back = self.runtime.handle_open_by(conn, self.now, &Way::Code, join);
        debug_assert!(back.is_none(), "she asks for this room alone");
        Ok(())
    }

    fn carry_down(&mut self) -> bool {
        let mut said = self.commit();
        while let Some(transmit) = self.runtime.poll_transmit() {
            said = true;
            let link = self.clients.iter_mut().find(|link| link.conn == Some(transmit.conn));
            let Some(link) = link else { continue };
            let mut machine = link.client.machine.borrow_mut();
            match transmit.outgoing {
                Outgoing::Message(bytes) => machine.handle_message(self.now, bytes),
                Outgoing::Close { code, reason } => {
                    link.conn = None;
                    machine.handle_close(self.now, Some(code), reason);
                }
                Outgoing::Abort => {
                    link.conn = None;
                    machine.handle_close(self.now, None, "the room ended it");
                }
            }
        }
        self.collect();
        self.logs.extend(std::iter::from_fn(|| self.runtime.poll_log()));
        said
    }
}

fn options(name: &str) -> Options {
    Options { name: name.to_owned(), ..Options::default() }
}

/// When a room's clock begins, in milliseconds since 1970.
const BEGAN_MS: u64 = 1_800_000_000_000;

/// Ticks that a client has to come back.
const RESUME_TICKS: u64 = 20;

impl<G: Game> fmt::Debug for TestRoom<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestRoom").field("tick", &self.runtime.now()).finish_non_exhaustive()
    }
}

/// Fails where a client was ever sent a secret, in a message as it came or in what it inflates to.
///
/// # Panics
/// If the secret was sent, or has fewer than 8 bytes: fewer turn up by chance.
pub fn assert_never_received(client: &TestClient, secret: &[u8]) {
    assert!(secret.len() >= 8, "a secret of {} bytes turns up by chance; use 8 or more", secret.len());
    let (raw, plain) = client.received();
    for (bytes, how) in [(raw, "as it came"), (plain, "in an update")] {
        let found = bytes.windows(secret.len()).position(|window| window == secret);
        assert!(found.is_none(), "{client:?} was sent the secret {how}, at byte {found:?}");
    }
}

//! Clients that read nothing cost a room their window and their view, and the others nothing.

#[path = "common/circles.rs"]
mod circles;
#[path = "../room/tests/decode/counting.rs"]
mod counting;
#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use circles::{Circles, ENTITIES, PERIOD, RANGE, RELEASE, Walker};
use room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::Token;
use room::wire::message::{Ack, ClientMessage, RoomMessage};
use room::{ConnectionId, Game as _, limits};
use room_client::replica::Replica;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Clients that keep up, and behind them those that will be stuck.
const PROMPT: u64 = 30;
const STUCK: u64 = 20;
/// Some of those, whose replicas are kept.
const WATCHED: [u64; 3] = [31, 40, 50];
/// Ticks until buffers have grown.
const WARM: u64 = 20 * PERIOD;
/// Ticks for which nothing is read: 45 seconds.
const SILENT: u64 = 900;

/// What a tick came to.
#[derive(Debug, Default, PartialEq)]
struct Turn {
    /// Bytes that the room asked for.
    allocated: usize,
    /// Records that it encoded.
    encoded: u64,
    /// A hash of every message to the clients that keep up.
    others: u64,
    /// Bytes to those that do not.
    stuck: usize,
}

/// A room and the sockets of its clients.
struct Crowd {
    room: Runtime<Circles>,
    clients: u64,
    /// Whether those behind the first thirty read.
    reads: bool,
    /// What came and was not read.
    unread: Vec<(ConnectionId, Vec<u8>)>,
    /// What some of those hold who will be stuck.
    replicas: BTreeMap<ConnectionId, Replica>,
    spent: Vec<Duration>,
    ack: Vec<u8>,
}

impl Crowd {
    fn new(clients: u64, warm: u64) -> Crowd {
        let mut room =
            Runtime::new(Circles::default(), Settings { seats: 64, ..Settings::default() }, [1; 32])
                .expect("the room starts");
        for conn in 1..=clients {
            let hello = link::hello::<Circles>("Ada", None);
            let join = Join { hello, identity: Identity::guest(), token: Token::default() };
            room.handle_open(ConnectionId(conn), Duration::ZERO, join);
        }
        let mut crowd = Crowd {
            room,
            clients,
            reads: true,
            unread: Vec::new(),
            replicas: WATCHED.map(|conn| (ConnectionId(conn), Replica::new(&Circles::schema()))).into(),
            spent: Vec::new(),
            ack: Vec::new(),
        };
        (0..warm).for_each(|_| {
            crowd.turn();
        });
        crowd.spent = Vec::with_capacity(SILENT as usize);
        crowd
    }

    /// A tick, what follows from it on the sockets, and what the clients say to it.
    fn turn(&mut self) -> Turn {
        let now = Duration::from_millis(self.room.now().0 * 50);
        let encoded = self.room.room().stats().encoded;
        let mut turn = Turn::default();
        let began = Instant::now();
        turn.allocated = counting::allocated(|| self.room.tick(now));
        self.spent.push(began.elapsed());
        turn.encoded = self.room.room().stats().encoded - encoded;
        while let Some(transmit) = self.room.poll_transmit() {
            let Outgoing::Message(bytes) = transmit.outgoing else {
                assert!(transmit.outgoing == Outgoing::Abort && transmit.conn.0 > PROMPT, "{transmit:?}");
                continue;
            };
            if transmit.conn.0 <= PROMPT {
                turn.others = bytes.iter().fold(turn.others ^ transmit.conn.0, |hash, byte| {
                    (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
                });
            } else if !self.reads {
                turn.stuck += bytes.len();
                self.unread.push((transmit.conn, bytes.to_vec()));
            } else {
                read(&mut self.replicas, transmit.conn, bytes);
            }
        }
        while self.room.poll_log().is_some() {}
        self.acknowledge();
        turn
    }

    /// Acknowledges for all who read.
    fn acknowledge(&mut self) {
        let (tick, now) = (self.room.now(), Duration::from_millis(self.room.now().0 * 50));
        self.ack.clear();
        ClientMessage::Ack(Ack { tick, ..Ack::default() }).encode(&mut self.ack);
        let last = if self.reads { self.clients } else { PROMPT };
        for conn in 1..=last {
            self.room.handle_message(ConnectionId(conn), now, &self.ack);
        }
    }

    /// The middle of what the ticks took.
    fn p50(&mut self) -> Duration {
        self.spent.sort_unstable();
        self.spent[self.spent.len() / 2]
    }
}

#[test]
fn a_stuck_connection_costs_its_window_and_its_view_and_the_others_nothing() {
    let (mut with, mut without) = (Crowd::new(PROMPT + STUCK, WARM), Crowd::new(PROMPT, WARM));
    with.reads = false;
    let stuck = || (PROMPT + 1..=PROMPT + STUCK).map(ConnectionId);
    let (mut bytes, mut noted) = (0, 0);
    let mut held = Vec::with_capacity(SILENT as usize);
    for tick in 0..SILENT {
        if tick % 20 == 0 {
            let now = Duration::from_millis(with.room.now().0 * 50);
            let mut ping = Vec::new();
            ClientMessage::Ping(tick).encode(&mut ping);
            stuck().for_each(|conn| with.room.handle_message(conn, now, &ping));
            held.push(counting::held() - unread(&with));
        }
        let (mut ours, theirs) = (with.turn(), without.turn());
        let stuck = std::mem::take(&mut ours.stuck);
        bytes += stuck;
        if stuck > 0 {
            // Until the windows are full, what is on the wire is noted.
            noted += std::mem::take(&mut ours.allocated);
        }
        assert_eq!(ours, theirs, "tick {tick}");
        assert_eq!((ours.encoded, ours.allocated), (ENTITIES as u64, 0));
    }
    assert!(noted <= STUCK as usize * 16 * 1024, "{noted} bytes to note what is on the wire");
    for conn in stuck() {
        let bytes = with.room.room().unacknowledged_bytes(conn);
        assert!((1..=limits::WINDOW).contains(&bytes), "{bytes} bytes are on the wire");
    }
    // Pongs are not read either.
    let pongs = (SILENT / 20) as usize * 16;
    assert!(bytes <= STUCK as usize * (limits::WINDOW + pongs), "{bytes} bytes for those who read nothing");
    let (early, late) = (held[20], held[held.len() - 1]);
    assert!(late <= early, "{} bytes more are held than after 20 seconds", late - early);
    println!("tick p50: {:?} with {STUCK} stuck clients, {:?} without", with.p50(), without.p50());

    // They read again: what came before, and then one update.
    with.reads = true;
    for (conn, bytes) in std::mem::take(&mut with.unread) {
        read(&mut with.replicas, conn, &bytes);
    }
    with.acknowledge();
    let before = with.room.room().stats();
    with.turn();
    assert_eq!(with.room.room().stats().merged - before.merged, STUCK, "one merged update each");
    for (conn, replica) in &with.replicas {
        assert!(with.room.room().is_drained(*conn));
        matches(&with, *conn, replica);
    }
    // And it goes on as if nothing had been.
    with.turn();
    assert_eq!(with.room.room().stats().merged - before.merged, STUCK);
    with.replicas.iter().for_each(|(conn, replica)| matches(&with, *conn, replica));
}

#[test]
fn one_that_never_reads_again_is_ended_after_its_bound_and_costs_nothing_more() {
    let mut crowd = Crowd::new(PROMPT + 1, 2);
    crowd.reads = false;
    let (ticks, now) = (limits::FELL_BEHIND_SECONDS * 20, crowd.room.now().0);
    let conn = ConnectionId(PROMPT + 1);
    while crowd.room.room().connection(conn).is_some() {
        assert!(crowd.room.now().0 - now <= ticks + 41, "it should have been ended");
        crowd.turn();
    }
    assert!(crowd.room.now().0 - now >= ticks);
    assert_eq!(crowd.room.sessions(), PROMPT as usize + 1, "it is held");
    assert_eq!(crowd.turn().stuck, 0);
}

fn read(replicas: &mut BTreeMap<ConnectionId, Replica>, conn: ConnectionId, bytes: &[u8]) {
    let message = RoomMessage::decode(bytes).expect("the room's messages decode");
    if let (Some(replica), RoomMessage::Update(part)) = (replicas.get_mut(&conn), message) {
        replica.handle_part(part).expect("the room's updates apply");
    }
}

/// Whether a client holds what a naive filter shows it, as the room has it.
fn matches(crowd: &Crowd, conn: ConnectionId, replica: &Replica) {
    let room = crowd.room.room();
    let [x, z] = room.connection(conn).expect("it has joined").scratch.map(f64::from);
    for (id, ours) in room.all::<Walker>() {
        let far = (f64::from(ours.x) - x).hypot(f64::from(ours.z) - z);
        let theirs = replica.get(id);
        assert!(theirs.is_some() || far > RANGE, "{far} away and not held");
        assert!(theirs.is_none() || far <= RELEASE, "{far} away and held");
        let same = |theirs: &Walker| (theirs.x, theirs.z, theirs.steps) == (ours.x, ours.z, ours.steps);
        assert!(theirs.is_none_or(same), "{theirs:?} is not {ours:?}");
    }
    assert!(replica.len() > 10 && replica.all::<Walker>().all(|(id, _)| room.contains(id)));
}

/// Bytes of what the test itself keeps.
fn unread(crowd: &Crowd) -> isize {
    let own = crowd.unread.capacity() * size_of::<(ConnectionId, Vec<u8>)>();
    (own + crowd.unread.iter().map(|(_, bytes)| bytes.capacity()).sum::<usize>()) as isize
}

//! A steady tick allocates nothing: its buffers are used again.

#[path = "../room/tests/decode/counting.rs"]
mod counting;
#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

use std::time::Duration;

use room::prelude::*;
use room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::Token;
use room::wire::message::{Ack, ClientMessage};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const ENTITIES: usize = 500;
const CONNECTIONS: u64 = 20;
/// Everything is where it was after so many ticks.
const PERIOD: u64 = 60;

#[derive(Entity, Clone, Debug)]
struct Walker {
    x: f32,
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    z: f32,
    steps: u32,
}

/// Walkers on circles, and connections that walk along.
#[derive(Default)]
struct Circles {
    walkers: Vec<Id<Walker>>,
}

/// Where the nth walker is in a tick: each circle has its own middle, size and start.
fn place(n: usize, tick: u64) -> [f32; 2] {
    let (middle, size) =
        ([(n * 37 % 400) as f32 - 200.0, (n * 91 % 400) as f32 - 200.0], (n % 7) as f32 * 4.0);
    let angle = ((tick + n as u64) % PERIOD) as f32 / PERIOD as f32 * std::f32::consts::TAU;
    [middle[0] + size * angle.cos(), middle[1] + size * angle.sin()]
}

impl Game for Circles {
    type Event = ();
    type Scratch = [f32; 2];

    fn schema() -> Schema {
        Schema::new().entity::<Walker>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid(32.0)
            .dims(Xz)
            .kind::<Walker, _>(|walker| [walker.x, 0.0, walker.z])
            .around(|_, conn: &Connection<Self>| [conn.scratch[0], 0.0, conn.scratch[1]])
            .range(80.0)
            .release(85.0)
            .into()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for n in 0..ENTITIES {
            let [x, z] = place(n, 0);
            self.walkers.push(room.create(Walker { x, z, steps: 0 }).expect("it is created"));
        }
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        let tick = room.tick().0;
        for (n, id) in self.walkers.iter().enumerate() {
            let [x, z] = place(n, tick);
            let mut walker = room.get_mut(*id).expect("it lives");
            walker.set_x(x);
            walker.set_z(z);
            walker.set_steps((tick % PERIOD) as u32);
        }
        for conn in 1..=CONNECTIONS {
            if let Some(connection) = room.connection_mut(ConnectionId(conn)) {
                connection.scratch = place(conn as usize * 20, tick);
            }
        }
    }
}

/// A tick, all its messages to the sockets, and an acknowledgement from each client. Returns the bytes sent.
fn turn(room: &mut Runtime<Circles>, ack: &mut Vec<u8>) -> usize {
    let now = Duration::from_millis(room.now().0 * 50);
    room.tick(now);
    let mut sent = 0;
    while let Some(transmit) = room.poll_transmit() {
        let Outgoing::Message(bytes) = transmit.outgoing else { panic!("nobody is closed") };
        sent += bytes.len();
    }
    while room.poll_log().is_some() {}
    ack.clear();
    ClientMessage::Ack(Ack { tick: room.now(), ..Ack::default() }).encode(ack);
    (1..=CONNECTIONS).for_each(|conn| room.handle_message(ConnectionId(conn), now, ack));
    sent
}

#[test]
fn a_steady_tick_allocates_nothing() {
    let mut room = Runtime::new(Circles::default(), Settings::default(), [1; 32]).expect("the room starts");
    for conn in 1..=CONNECTIONS {
        let hello = link::hello::<Circles>("Ada", None);
        let join = Join { hello, identity: Identity::guest(), token: Token::default() };
        room.handle_open(ConnectionId(conn), Duration::ZERO, join);
    }
    let mut ack = Vec::new();
    // Cells of the grid come and go and take turns with each other's buffers: it takes a few rounds until all
    // of these have grown.
    (0..10 * PERIOD).for_each(|_| {
        turn(&mut room, &mut ack);
    });
    let (mut sent, mut allocated) = (0, Vec::new());
    let before = room.room().stats();
    for _ in 0..PERIOD {
        allocated.push(counting::allocated(|| sent += turn(&mut room, &mut ack)));
    }
    let after = room.room().stats();
    assert!(sent > 100_000 && after.enters > before.enters + 100 && after.leaves > before.leaves + 100);
    assert_eq!(allocated, vec![0; PERIOD as usize], "bytes asked for in each tick");
}

#[test]
fn the_count_sees_what_is_allocated() {
    assert!(counting::allocated(|| drop(std::hint::black_box(vec![1_u8; 1000]))) >= 1000);
}

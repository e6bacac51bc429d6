//! A steady tick allocates nothing: its buffers are used again.

#[path = "common/circles.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod circles;
#[path = "../room/tests/decode/counting.rs"]
mod counting;
#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

use std::time::Duration;

use circles::{Circles, PERIOD};
use room::ConnectionId;
use room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::Token;
use room::wire::message::{Ack, ClientMessage};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const CONNECTIONS: u64 = 20;
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
    (0..30 * PERIOD).for_each(|_| {
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

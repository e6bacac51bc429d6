//! Joins over slow links, on a virtual clock: what is near comes first, events flow meanwhile, and what has come
//! is not sent again when the link breaks.

#[path = "rules/lab.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod lab;
#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

use std::collections::VecDeque;
use std::time::Duration;

use lab::{Crate, Lab, noise};
use room::prelude::*;
use room::runtime::{Closed, Identity, Join, Runtime, Settings};
use room::session::{self, Token};
use room_client::machine::{Machine, Options, Outgoing};
use room_client::{Event, Status};

/// Crates that fill 3 MB, each as large as a voxel chunk that does not compress.
const CRATES: u64 = 150;
const SIZE: usize = 20_000;
/// A step of the clock.
const STEP: Duration = Duration::from_millis(10);

/// A room, one client and the slow way between them.
struct Slow {
    room: Runtime<Lab>,
    machine: Machine,
    now: Duration,
    /// Bytes a second from the room.
    rate: usize,
    conn: Option<ConnectionId>,
    next: u64,
    /// What is on the way, and how much of the first has come.
    wire: VecDeque<Vec<u8>>,
    came: usize,
    /// Bytes that the room sent.
    sent: usize,
    /// Crates in the order in which they came.
    entered: Vec<f64>,
    events: Vec<(Duration, u64)>,
}

impl Slow {
    fn new(rate: usize) -> Slow {
        let interest = || {
            let crates = grid::<Lab>(200.0).dims(Xy).kind(|it: &Crate| [it.x, 0.0]);
            crates.around(|_, _| [0.0, 0.0]).range(2000.0).into()
        };
        let lab = Lab::seeing(interest);
        let mut room = Runtime::new(lab, Settings::default(), [3; 32]).expect("the room starts");
        for n in 0..CRATES {
            // The nearest were not created first.
            let x = (n * 37 % CRATES) as f64 * 10.0;
            let it = Crate { x, data: noise(SIZE, n).into(), ..Crate::default() };
            room.parts_mut().1.create(it).expect("it is within its limits");
        }
        Slow {
            room,
            machine: Machine::new(Lab::schema(), Options::default(), 1),
            now: Duration::ZERO,
            rate,
            conn: None,
            next: 1,
            wire: VecDeque::new(),
            came: 0,
            sent: 0,
            entered: Vec::new(),
            events: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        if self.machine.poll_dial(self.now) {
            self.machine.handle_open(self.now, Vec::new());
        }
        let mut budget = self.rate / 100;
        if !self.wire.is_empty() {
            self.machine.handle_bytes(self.now);
        }
        while let Some(first) = self.wire.front() {
            let left = first.len() - self.came;
            if left > budget {
                self.came += budget;
                break;
            }
            budget -= left;
            self.came = 0;
            let message = self.wire.pop_front().expect("it is there");
            self.machine.handle_message(self.now, message);
        }
        self.machine.update(self.now);
        let entered = self.machine.replica().entered::<Crate>().map(|(_, it)| it.x);
        self.entered.extend(entered);
        for event in self.machine.events() {
            if let Event::Message(message) = event {
                self.events.push((self.now, message.decode().expect("it is a number")));
            }
        }
        self.up();
        if self.now.as_millis().is_multiple_of(50) {
            if self.now.as_millis().is_multiple_of(1000) {
                let second = self.now.as_secs();
                self.room.parts_mut().1.broadcast(&second).expect("it is short");
            }
            self.room.tick(self.now);
            self.down();
        }
    }

    /// What the client says; this way is fast.
    fn up(&mut self) {
        while let Some(outgoing) = self.machine.poll_transmit() {
            let Outgoing::Message(bytes) = outgoing else { panic!("the client gives nothing up") };
            match self.conn {
                Some(conn) => self.room.handle_message(conn, self.now, &bytes),
                None => {
                    let hello = session::admit(&bytes, &Lab::schema()).expect("the hello is right");
                    let conn = ConnectionId(self.next);
                    let token = Token([self.next as u8; 16]);
                    self.next += 1;
                    self.conn = Some(conn);
                    self.room.handle_open(conn, self.now, Join { hello, identity: Identity::guest(), token });
                }
            }
        }
        self.down();
    }

    fn down(&mut self) {
        while let Some(transmit) = self.room.poll_transmit() {
            let room::runtime::Outgoing::Message(bytes) = transmit.outgoing else {
                panic!("the room closes nobody: {transmit:?}")
            };
            if Some(transmit.conn) == self.conn {
                self.sent += bytes.len();
                self.wire.push_back(bytes.to_vec());
            }
        }
        while self.room.poll_log().is_some() {}
    }

    fn cut(&mut self) {
        if let Some(conn) = self.conn.take() {
            self.room.handle_close(conn, self.now, Closed::Broken);
        }
        self.wire.clear();
        self.came = 0;
        self.machine.handle_close(self.now, None, "cut");
    }

    fn has_all(&self) -> bool {
        self.machine.replica().all::<Crate>().count() as u64 == CRATES
    }
}

/// Each crate came once, and of two that came in different updates the nearer came first.
fn nearest_first(entered: &[f64]) {
    assert_eq!(entered.len() as u64, CRATES, "each enters once");
    // An update has room for a few of them.
    for (n, pair) in entered.windows(14).enumerate() {
        assert!(pair[13] > pair[0], "{} came {} before {}", n, pair[0], pair[13]);
    }
}

#[test]
fn a_join_of_3_mb_at_50_kb_a_second() {
    let mut slow = Slow::new(50_000);
    while !slow.has_all() {
        assert!(slow.now < Duration::from_secs(90), "{} of {CRATES}", slow.entered.len());
        slow.step();
        assert!(matches!(slow.machine.status(), Status::Connecting | Status::Joined));
    }
    nearest_first(&slow.entered);
    let whole = CRATES as usize * SIZE;
    println!("50 KB/s: {} s, {} bytes for {whole}", slow.now.as_secs(), slow.sent);
    assert!(slow.sent < whole + whole / 50, "{} bytes", slow.sent);
    assert!(slow.events.len() as u64 + 4 > slow.now.as_secs(), "{} events", slow.events.len());
    let late = slow.events.iter().map(|(at, sent)| at.as_secs() - sent).max();
    assert!(late <= Some(3), "an event took {late:?} s");
}

#[test]
fn a_join_of_3_mb_at_4_kb_a_second_over_a_link_that_breaks_every_30_seconds() {
    let mut slow = Slow::new(4_000);
    let (mut cuts, mut next) = (0, Duration::from_secs(30));
    while !slow.has_all() {
        assert!(slow.now < Duration::from_secs(3600), "{} of {CRATES}", slow.entered.len());
        if slow.now >= next {
            slow.cut();
            cuts += 1;
            next = slow.now + Duration::from_secs(30);
        }
        slow.step();
    }
    nearest_first(&slow.entered);
    assert_eq!(slow.room.room().sessions(), 1, "it is one session");
    let whole = CRATES as usize * SIZE;
    // A cut costs the update that it breaks off, and that is small on a link that was slow.
    assert!(slow.sent < whole + whole / 50 + cuts * 25_000, "{} bytes", slow.sent);
    println!("4 KB/s: {} s, {cuts} cuts, {} bytes for {whole}", slow.now.as_secs(), slow.sent);
    // Every second's event once and in order, whatever the cuts.
    let numbers: Vec<u64> = slow.events.iter().map(|(_, number)| *number).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    assert!(numbers.len() as u64 + 40 > slow.now.as_secs());
}

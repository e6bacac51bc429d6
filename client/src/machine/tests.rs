//! Each rule of the machine, with messages made by hand.

mod attacks;
mod codes;
mod events;
mod pages;
mod play;
mod resume;
mod stream;
mod timers;

use std::time::Duration;

use room::prelude::*;
use room::wire::message::{Ack, ClientMessage, Hello, Outcome, Report, RoomMessage, Token, Welcome};
use room::wire::update::{self, Part, UpdateHead};
use room::wire::{PROTOCOL_VERSION, payload, varint};
use room::{Schema, limits};

use super::*;
use crate::event::{CallOptions, Message};

#[derive(Entity, Clone, Debug)]
struct Dot {
    x: u32,
}

/// What a machine sent, as the tests look at it.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Hello(Hello),
    /// With the gap.
    Event(u64, String),
    Call(u64, String, Tick),
    Status(u64, String),
    Transient(String),
    /// The first tick, and how many.
    Inputs(Tick, usize),
    /// The number, and how many entities.
    Writes(u64, usize),
    Hidden(bool),
    Ack(Ack),
    Ping(u64),
    Leave,
    Close(u16, String),
    Abort,
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn text(bytes: &[u8]) -> String {
    payload::decode(bytes).unwrap()
}

fn packed(value: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload::encode(value, limits::CLIENT_PAYLOAD, &mut bytes).unwrap();
    bytes
}

/// All that a machine says now.
fn said(machine: &mut Machine) -> Vec<Said> {
    std::iter::from_fn(|| machine.poll_transmit())
        .map(|outgoing| match outgoing {
            Outgoing::Abort => Said::Abort,
            Outgoing::Close { code, reason } => Said::Close(code, reason),
            Outgoing::Message(bytes) => match ClientMessage::decode(&bytes).unwrap() {
                ClientMessage::Hello(hello) => Said::Hello(hello),
                ClientMessage::Event { gap, payload } => Said::Event(gap, text(payload)),
                ClientMessage::Call(call) => Said::Call(call.gap, call.name.to_owned(), call.deadline),
                ClientMessage::Status { gap, text } => Said::Status(gap, text.to_owned()),
                ClientMessage::Transient(payload) => Said::Transient(text(payload)),
                ClientMessage::Inputs { first, inputs } => Said::Inputs(first, inputs.len()),
                ClientMessage::Writes { number, entries } => Said::Writes(number, entries.len()),
                ClientMessage::Hidden(hidden) => Said::Hidden(hidden),
                ClientMessage::Ack(ack) => Said::Ack(ack),
                ClientMessage::Ping(clock) => Said::Ping(clock),
                ClientMessage::Leave => Said::Leave,
            },
        })
        .collect()
}

/// The events, calls and statuses among it, with their gaps.
fn sent(machine: &mut Machine) -> Vec<(u64, String)> {
    said(machine)
        .into_iter()
        .filter_map(|said| match said {
            Said::Event(gap, text) | Said::Call(gap, text, _) | Said::Status(gap, text) => Some((gap, text)),
            _ => None,
        })
        .collect()
}

fn bytes(message: RoomMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

/// The answer to a ping of a client that sends no inputs.
fn pong(clock: u64, time: u64) -> RoomMessage<'static> {
    RoomMessage::Pong { clock, time, inputs: Report::default() }
}

/// A room's message comes.
fn hear(machine: &mut Machine, now: Duration, message: RoomMessage<'_>) {
    machine.handle_message(now, bytes(message));
}

fn event(machine: &mut Machine, now: Duration, text: &str) {
    hear(machine, now, RoomMessage::Event(&packed(text)));
}

/// A welcome of the first connection.
fn first() -> Welcome<'static> {
    Welcome {
        protocol: PROTOCOL_VERSION,
        build: None,
        room: "a",
        session: SessionId(5),
        epoch: 1,
        token: Token([1; 16]),
        player: PlayerId(7),
        generation: 3,
        incarnation: 1,
        tick: Tick(100),
        tick_rate: 20,
        send_every: 1,
        payload_max: limits::CLIENT_PAYLOAD as u32,
        events_max: limits::EVENTS as u32,
        retain: 0,
        resumed: false,
        received: 0,
        sent: 0,
    }
}

/// A welcome that continues.
fn again() -> Welcome<'static> {
    Welcome { epoch: 2, token: Token([2; 16]), resumed: true, ..first() }
}

fn schema() -> Schema {
    Schema::new().entity::<Dot>()
}

fn options() -> Options {
    Options { name: "Ada".into(), room: "ws://here/rooms/a".into(), ..Options::default() }
}

fn machine() -> Machine {
    Machine::new(schema(), options(), 1)
}

/// Opens the socket that is due; returns the hello.
fn open(machine: &mut Machine, now: Duration) -> Hello {
    assert!(machine.poll_dial(now), "no dial is due: {machine:?}");
    machine.handle_open(now, vec![0xc0]);
    match said(machine).as_slice() {
        [Said::Hello(hello)] => hello.clone(),
        other => panic!("{other:?}"),
    }
}

/// Opens the socket and is let in.
fn join(machine: &mut Machine, now: Duration, welcome: Welcome<'_>) -> Hello {
    let hello = open(machine, now);
    hear(machine, now, RoomMessage::Welcome(welcome));
    assert!(machine.is_joined(), "{:?}", machine.status());
    hello
}

/// Joined at 0, with everything said and heard.
fn joined() -> Machine {
    joined_with(options())
}

fn joined_with(options: Options) -> Machine {
    let mut machine = Machine::new(schema(), options, 1);
    join(&mut machine, ms(0), first());
    machine.update(ms(0));
    said(&mut machine);
    machine
}

/// When the next dial is due; it is made.
fn next_dial(machine: &mut Machine, mut now: Duration) -> Duration {
    for _ in 0..100_000 {
        if machine.poll_dial(now) {
            return now;
        }
        now += ms(1);
    }
    panic!("no dial: {machine:?}");
}

/// Breaks the link and comes back at once.
fn resume(machine: &mut Machine, now: Duration, welcome: Welcome<'_>) -> Hello {
    machine.handle_close(now, None, "the link broke");
    machine.handle_online(now);
    join(machine, now, welcome)
}

fn closed(machine: &Machine) -> (Option<u16>, &str) {
    match machine.status() {
        Status::Closed { code, reason } => (*code, reason),
        other => panic!("{other:?}"),
    }
}

/// The events that came, as texts.
fn texts(machine: &mut Machine) -> Vec<String> {
    machine
        .events()
        .map(|event| match event {
            Event::Message(message) => message.decode().unwrap(),
            Event::Transient(message) => format!("~{}", message.decode::<String>().unwrap()),
            other => format!("{other:?}"),
        })
        .collect()
}

fn id(id: u64) -> EntityId {
    EntityId::from_wire(id).unwrap()
}

fn dot(at: u64) -> Id<Dot> {
    Id::assume(id(at))
}

/// An update in one part.
struct Update {
    tick: u64,
    complete: u64,
    content: Vec<u8>,
}

fn update(tick: u64) -> Update {
    Update { tick, complete: tick, content: Vec::new() }
}

impl Update {
    fn complete(mut self, tick: u64) -> Update {
        self.complete = tick;
        self
    }

    fn enter(mut self, at: u64, x: u32) -> Update {
        update::put_enter_head(0, id(at), &mut self.content);
        self.content.extend(x.to_le_bytes());
        self
    }

    fn leave(mut self, at: u64) -> Update {
        self.content.push(update::LEAVES);
        varint::put(&mut self.content, at);
        self.content.push(0);
        self
    }

    fn part(&self, first: bool, last: bool) -> Vec<u8> {
        let head = UpdateHead { tick: Tick(self.tick), complete: Tick(self.complete), hash: None };
        let mut bytes = Vec::new();
        Part { head: first.then_some(head), last, deflated: None, plain: &self.content }.encode(&mut bytes);
        bytes
    }

    fn to(&self, machine: &mut Machine, now: Duration) {
        machine.handle_message(now, self.part(true, true));
    }
}

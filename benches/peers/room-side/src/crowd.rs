//! Entities that move.

use std::time::{Duration, Instant};

use room::prelude::*;
use room::room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::{Hello, Token};
use room::wire::message::{Ack, ClientMessage, tag};
use room_client::Replica;
use world::{Options, Sees, Sent, Views, World, sample};

/// A kind that moves.
pub trait Mover: Visible {
    /// One at a place.
    fn at(place: [f32; 2], rotation: f32) -> Self;
    /// Where it is.
    fn place(&self) -> [f32; 2];
    /// x, y and rotation.
    fn state(&self) -> [f32; 3];
    /// Moves it.
    fn go(writer: &mut Self::Writer<'_>, place: [f32; 2], rotation: f32);
}

/// Two coordinates.
#[derive(Entity, Clone, Debug)]
pub struct Plain {
    /// Along x.
    pub x: f32,
    /// Along y.
    pub y: f32,
}

/// Two coordinates in steps.
#[derive(Entity, Clone, Debug)]
pub struct Small {
    /// Along x.
    #[field(quantize(step = 0.01, min = 0.0, max = 1500.0))]
    pub x: f32,
    /// Along y.
    #[field(quantize(step = 0.01, min = 0.0, max = 1500.0))]
    pub y: f32,
}

/// Two coordinates and a rotation.
#[derive(Entity, Clone, Debug)]
pub struct PlainTurning {
    /// Along x.
    pub x: f32,
    /// Along y.
    pub y: f32,
    /// In radians.
    pub rotation: f32,
}

/// Two coordinates and a rotation in steps.
#[derive(Entity, Clone, Debug)]
pub struct SmallTurning {
    /// Along x.
    #[field(quantize(step = 0.01, min = 0.0, max = 1500.0))]
    pub x: f32,
    /// Along y.
    #[field(quantize(step = 0.01, min = 0.0, max = 1500.0))]
    pub y: f32,
    /// In radians.
    #[field(quantize(step = 0.01, min = 0.0, max = 6.3))]
    pub rotation: f32,
}

macro_rules! movers {
    ($($writer:ident of $kind:ident),*) => { $(
        impl Mover for $kind {
            fn at([x, y]: [f32; 2], _: f32) -> Self {
                $kind { x, y }
            }
            fn place(&self) -> [f32; 2] {
                [self.x, self.y]
            }
            fn state(&self) -> [f32; 3] {
                [self.x, self.y, 0.0]
            }
            fn go(writer: &mut $writer<'_>, [x, y]: [f32; 2], _: f32) {
                writer.set_x(x);
                writer.set_y(y);
            }
        }
    )* };
}

macro_rules! turning_movers {
    ($($writer:ident of $kind:ident),*) => { $(
        impl Mover for $kind {
            fn at([x, y]: [f32; 2], rotation: f32) -> Self {
                $kind { x, y, rotation }
            }
            fn place(&self) -> [f32; 2] {
                [self.x, self.y]
            }
            fn state(&self) -> [f32; 3] {
                [self.x, self.y, self.rotation]
            }
            fn go(writer: &mut $writer<'_>, [x, y]: [f32; 2], rotation: f32) {
                writer.set_x(x);
                writer.set_y(y);
                writer.set_rotation(rotation);
            }
        }
    )* };
}

movers!(PlainMut of Plain, SmallMut of Small);
turning_movers!(PlainTurningMut of PlainTurning, SmallTurningMut of SmallTurning);

/// The peer for a world.
pub fn make(world: &World, options: &Options) -> Box<dyn world::Peer> {
    match (world.spec.rotation, options.small) {
        (false, false) => Box::new(RoomPeer::<Plain>::new(world)),
        (false, true) => Box::new(RoomPeer::<Small>::new(world)),
        (true, false) => Box::new(RoomPeer::<PlainTurning>::new(world)),
        (true, true) => Box::new(RoomPeer::<SmallTurning>::new(world)),
    }
}

/// Every connection stands where its entity is, and sees a circle.
struct Crowd<K> {
    ids: Vec<Id<K>>,
    range: f64,
    /// Everyone sees all: a game needs no interest then.
    all: bool,
}

/// The size of a cell, the same in all worlds: some 36 entities are in one.
const CELL: f64 = 60.0;

impl<K: Mover> Game for Crowd<K> {
    type Event = ();
    type Scratch = Option<Id<K>>;

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<K>()
    }

    fn interest(&self) -> Visibility<Self> {
        if self.all {
            return Visibility::everything();
        }
        grid::<Self>(CELL)
            .dims(Xy)
            .kind(|mover: &K| mover.place())
            .around(|room, conn| Some(room.get(conn.scratch?)?.place()))
            .range(self.range)
            .into()
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let own = self.ids[peer.conn.0 as usize];
        if let Some(conn) = room.connection_mut(peer.conn) {
            conn.scratch = Some(own);
        }
        Ok(())
    }
}

struct RoomPeer<K: Mover> {
    runtime: Runtime<Crowd<K>>,
    ids: Vec<Id<K>>,
    now: Duration,
    // What putting the last acknowledgements into the room's inbox took.
    receive: Duration,
    connections: usize,
    // One for each connection; those outside the sample only acknowledge.
    replicas: Vec<Option<Replica>>,
    // What came for connections of the sample: whose, and how long.
    inbox: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

impl<K: Mover> RoomPeer<K> {
    fn new(world: &World) -> Self {
        let connections = world.connections();
        let settings = Settings { seats: connections, ..Settings::default() };
        let game = Crowd { ids: Vec::new(), range: world.range, all: matches!(world.spec.sees, Sees::All) };
        let mut runtime = Runtime::new(game, settings, [1; 32]).expect("the settings are in range");
        let (game, room) = runtime.parts_mut();
        game.ids = (0..world.len() as u32)
            .map(|entity| {
                let mover = K::at(world.place(entity), world.rotation(entity));
                room.create(mover).expect("an ID is free")
            })
            .collect();
        let ids = game.ids.clone();
        join(&mut runtime, connections);
        let mut replicas: Vec<Option<Replica>> = (0..connections).map(|_| None).collect();
        for connection in sample(connections) {
            replicas[connection] = Some(Replica::new(&Crowd::<K>::schema()));
        }
        let (inbox, bytes) = (Vec::new(), Vec::new());
        let (now, receive) = (Duration::ZERO, Duration::ZERO);
        RoomPeer { runtime, ids, now, receive, connections, replicas, inbox, bytes }
    }
}

impl<K: Mover> world::Peer for RoomPeer<K> {
    fn write(&mut self, world: &World) {
        let (_, room) = self.runtime.parts_mut();
        for &mover in world.movers() {
            let mut writer = room.get_mut(self.ids[mover as usize]).expect("nobody deletes it");
            K::go(&mut writer, world.place(mover), world.rotation(mover));
        }
    }

    fn tick(&mut self, _: &World, _: &Views) -> Sent {
        self.now += Duration::from_millis(50);
        self.inbox.clear();
        self.bytes.clear();
        let start = Instant::now();
        self.runtime.tick(self.now);
        let mut bytes = 0;
        // The slices are what a transport gets. Copying a few of them for the sample is counted, and is little.
        while let Some(transmit) = self.runtime.poll_transmit() {
            if let Outgoing::Message(message) = transmit.outgoing {
                bytes += message.len() as u64;
                let connection = transmit.conn.0 as usize;
                if self.replicas[connection].is_some() {
                    self.inbox.push((connection, message.len()));
                    self.bytes.extend_from_slice(message);
                }
            }
        }
        let time = start.elapsed();
        while self.runtime.poll_log().is_some() {}
        Sent { time, receive: Some(self.receive), bytes }
    }

    fn deliver(&mut self) {
        let mut rest = &self.bytes[..];
        for (connection, len) in &self.inbox {
            let (message, others) = rest.split_at(*len);
            rest = others;
            if message[0] == tag::UPDATE
                && let Some(replica) = &mut self.replicas[*connection]
            {
                replica.handle_part(&message[1..]).expect("the room's updates apply");
                replica.forget_report();
            }
        }
        let start = Instant::now();
        acknowledge(&mut self.runtime, self.connections, self.now);
        self.receive = start.elapsed();
    }

    fn held(&mut self, _: &World, connection: usize) -> Vec<[f32; 3]> {
        let replica = self.replicas[connection].as_ref().expect("it is in the sample");
        replica.all::<K>().map(|(_, mover)| mover.state()).collect()
    }
}

/// Seats connections at the next tick.
pub fn join<G: Game>(runtime: &mut Runtime<G>, connections: usize) {
    for conn in 0..connections as u64 {
        let hello = Hello { schema_hash: G::schema().hash(), ..Hello::default() };
        let join = Join { hello, identity: Identity::guest(), token: Token::default() };
        runtime.handle_open(ConnectionId(conn), Duration::ZERO, join);
    }
}

/// Every connection has everything up to now.
pub fn acknowledge<G: Game>(runtime: &mut Runtime<G>, connections: usize, now: Duration) {
    let mut ack = Vec::new();
    ClientMessage::Ack(Ack { tick: runtime.now(), ..Ack::default() }).encode(&mut ack);
    for conn in 0..connections as u64 {
        runtime.handle_message(ConnectionId(conn), now, &ack);
    }
}

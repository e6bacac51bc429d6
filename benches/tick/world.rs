//! The worlds of the benchmark.

use std::collections::BTreeMap;
use std::io::Read;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use room::prelude::*;
use room::room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::Hello;
use room::session::Token;
use room::wire::message::{Ack, ClientMessage};
use room::wire::varint;

/// A small generator, so that every run moves alike.
pub struct Rng(pub u64);

impl Rng {
    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// A kind with two coordinates.
pub trait Mover: Visible {
    /// One at a place.
    fn at(x: f32, y: f32) -> Self;
    /// Where it is.
    fn place(&self) -> [f32; 2];
    /// Moves it.
    fn go(writer: &mut Self::Writer<'_>, x: f32, y: f32);
}

macro_rules! movers {
    ($($writer:ident of $kind:ident),*) => { $(
        impl Mover for $kind {
            fn at(x: f32, y: f32) -> Self {
                $kind { x, y }
            }
            fn place(&self) -> [f32; 2] {
                [self.x, self.y]
            }
            fn go(writer: &mut $writer<'_>, x: f32, y: f32) {
                writer.set_x(x);
                writer.set_y(y);
            }
        }
    )* };
}

#[derive(Entity, Clone, Debug)]
pub struct Plain {
    pub x: f32,
    pub y: f32,
}

#[derive(Entity, Clone, Debug)]
pub struct Quantized {
    #[field(quantize(step = 0.01, min = 0.0, max = 1500.0))]
    pub x: f32,
    #[field(quantize(step = 0.01, min = 0.0, max = 1500.0))]
    pub y: f32,
}

#[derive(Entity, Clone, Debug)]
pub struct Static {
    pub x: f32,
    pub y: f32,
}

movers!(PlainMut of Plain, QuantizedMut of Quantized, StaticMut of Static);

/// Three quarters of the range: few cells to look at, each with members for about half a word.
const CELL: f64 = 60.0;

/// What narrows the crowd's views besides the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Nothing.
    Grid,
    /// A closure for each pair that always says yes.
    Sees,
    /// A limit that nothing passes, with a priority for each pair that is always the same.
    Limit,
    /// The same, with a limit of half of what is visible.
    Half(usize),
}

/// The game of the crowd.
pub struct CrowdGame<K>(Vec<Id<K>>, Rule);

impl<K: Mover> Game for CrowdGame<K> {
    type Event = ();
    type Scratch = Option<Id<K>>;

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<K>()
    }

    fn interest(&self) -> Visibility<Self> {
        let grid = grid::<Self>(CELL)
            .dims(Xy)
            .kind(|mover: &K| mover.place())
            .around(|room, conn| Some(room.get(conn.scratch?)?.place()))
            .range(80.0);
        match self.1 {
            Rule::Grid => grid.into(),
            Rule::Sees => grid.sees(|_, _, _| true).into(),
            Rule::Limit => grid.limit(16_000, |_, _, _| 0.0),
            Rule::Half(most) => grid.limit(most, |_, _, entity| entity.id().get() as f64),
        }
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let own = self.0[peer.conn.0 as usize];
        if let Some(conn) = room.connection_mut(peer.conn) {
            conn.scratch = Some(own);
        }
        Ok(())
    }
}

/// A crowd and its connections.
pub struct Crowd<K: Mover> {
    pub runtime: Runtime<CrowdGame<K>>,
    ids: Vec<Id<K>>,
    connections: usize,
    tick: u64,
    kind: PhantomData<K>,
}

impl<K: Mover> Crowd<K> {
    pub fn new(entities: usize, connections: usize, side: f64) -> Self {
        Crowd::with(entities, connections, side, Rule::Grid)
    }

    pub fn with(entities: usize, connections: usize, side: f64, rule: Rule) -> Self {
        let settings = Settings { seats: connections, ..Settings::default() };
        let mut runtime =
            Runtime::new(CrowdGame(Vec::new(), rule), settings, [1; 32]).expect("the settings are in range");
        let mut rng = Rng(1);
        let (game, room) = runtime.parts_mut();
        game.0 = (0..entities)
            .map(|_| {
                room.create(K::at((rng.unit() * side) as f32, (rng.unit() * side) as f32))
                    .expect("an ID is free")
            })
            .collect();
        let ids = game.0.clone();
        join_all(&mut runtime, connections);
        Crowd { runtime, ids, connections, tick: 0, kind: PhantomData }
    }

    pub fn move_all(&mut self, rng: &mut Rng, most: f64, side: f64) {
        let (_, room) = self.runtime.parts_mut();
        for id in &self.ids {
            let mut writer = room.get_mut(*id).expect("nobody deletes it");
            let [x, y] = writer.place();
            let mut step = |v: f32| (f64::from(v) + (rng.unit() * 2.0 - 1.0) * most).clamp(0.0, side) as f32;
            let (x, y) = (step(x), step(y));
            K::go(&mut writer, x, y);
        }
    }

    pub fn tick(&mut self) {
        self.runtime.tick(Duration::ZERO);
        self.drain();
        self.acknowledge();
    }

    /// Takes every message; returns their bytes.
    pub fn drain(&mut self) -> usize {
        self.tick = self.runtime.now().0;
        Client::drain(&mut self.runtime).values().sum()
    }

    pub fn acknowledge(&mut self) {
        acknowledge_all(&mut self.runtime, self.connections, Tick(self.tick));
    }

    /// The time that the seal of a second, equal world takes to encode what moved here.
    pub fn encode_alone(&mut self) -> Duration {
        let schema = CrowdGame::<K>::schema();
        let mut world = room::sync::world::World::new(schema, [0; 32]);
        let mut records = room::store::records::Records::default();
        let mut ids = Vec::new();
        for (_, mover) in self.runtime.room().all::<K>() {
            ids.push(world.create(mover.clone()).expect("an ID is free"));
        }
        world.seal(Tick(1), &mut records);
        world.end_seal();
        for id in ids {
            let mut writer = world.get_mut::<K>(id.entity()).expect("nobody deletes it");
            let [x, y] = writer.place();
            K::go(&mut writer, x + 0.25, y + 0.25);
        }
        let start = Instant::now();
        world.seal(Tick(2), &mut records);
        start.elapsed()
    }
}

/// The floor: records and who gets them, known beforehand.
#[derive(Default)]
pub struct Floor {
    records: Vec<u8>,
    table: Vec<(u32, u32)>,
    lists: Vec<Vec<u32>>,
    out: Vec<u8>,
}

impl Floor {
    /// Works out, the slow way, who sees whom; returns how many pairs there are.
    pub fn learn<K: Mover>(&mut self, world: &Crowd<K>) -> usize {
        let room = world.runtime.room();
        let places: Vec<[f32; 2]> = world.ids.iter().filter_map(|id| Some(room.get(*id)?.place())).collect();
        self.records.clear();
        self.table.clear();
        let quantized = size_of::<K>() == 8 && K::KIND.name == "quantized";
        for (i, id) in world.ids.iter().enumerate() {
            let start = self.records.len();
            varint::put(&mut self.records, id.get());
            if quantized {
                self.records.extend([i as u8, 7]);
            } else {
                self.records.extend([0; 8]);
            }
            self.table.push((start as u32, self.records.len() as u32));
        }
        self.lists.resize_with(world.connections, Vec::new);
        for (list, here) in self.lists.iter_mut().zip(&places) {
            list.clear();
            let near = |at: &[f32; 2]| {
                let d = [f64::from(at[0]) - f64::from(here[0]), f64::from(at[1]) - f64::from(here[1])];
                d[0] * d[0] + d[1] * d[1] <= 6400.0
            };
            list.extend(places.iter().enumerate().filter(|(_, at)| near(at)).map(|(i, _)| i as u32));
        }
        self.lists.iter().map(Vec::len).sum()
    }

    pub fn copy_one_by_one(&mut self) -> Duration {
        let start = Instant::now();
        self.out.clear();
        for list in &self.lists {
            for i in list {
                let (from, to) = self.table[*i as usize];
                self.out.extend_from_slice(&self.records[from as usize..to as usize]);
            }
        }
        start.elapsed()
    }

    pub fn copy_whole(&mut self) -> Duration {
        let from = self.out.clone();
        let start = Instant::now();
        self.out.clear();
        self.out.extend_from_slice(&from);
        start.elapsed()
    }
}

/// What connections do.
pub struct Client;

impl Client {
    /// Takes every message; returns the bytes of updates for each connection.
    pub fn drain<G: Game>(runtime: &mut Runtime<G>) -> BTreeMap<u64, usize> {
        let mut bytes = BTreeMap::new();
        while let Some(transmit) = runtime.poll_transmit() {
            if let Outgoing::Message(message) = transmit.outgoing
                && message[0] == room::wire::message::tag::UPDATE
            {
                *bytes.entry(transmit.conn.0).or_default() += message.len();
            }
        }
        while runtime.poll_log().is_some() {}
        bytes
    }
}

fn join_all<G: Game>(runtime: &mut Runtime<G>, connections: usize) {
    for conn in 0..connections as u64 {
        let hello = Hello { schema_hash: G::schema().hash(), ..Hello::default() };
        runtime.handle_open(
            ConnectionId(conn),
            Duration::ZERO,
            Join { hello, identity: Identity::guest(), token: Token::default() },
        );
    }
}

fn acknowledge_all<G: Game>(runtime: &mut Runtime<G>, connections: usize, tick: Tick) {
    let mut ack = Vec::new();
    ClientMessage::Ack(Ack { tick, ..Ack::default() }).encode(&mut ack);
    for conn in 0..connections as u64 {
        runtime.handle_message(ConnectionId(conn), Duration::ZERO, &ack);
    }
}

#[derive(Entity, Clone, Debug)]
pub struct Chunk {
    pub cx: i16,
    pub cy: i16,
    pub cz: i16,
    pub blocks: Bytes,
}

/// 125 chunks of real terrain, seen by nobody until the room says so.
pub struct Terrain {
    open: bool,
}

impl Game for Terrain {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Chunk>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid::<Self>(16.0)
            .kind(|chunk: &Chunk| {
                [f64::from(chunk.cx), f64::from(chunk.cy), f64::from(chunk.cz)].map(|c| c * 16.0)
            })
            .around(|room, _| room.game.open.then_some([0.0; 3]))
            .radius(2)
            .into()
    }
}

impl Terrain {
    /// A room with its connections joined and the 125 chunks around the middle.
    pub fn runtime(connections: usize) -> (Runtime<Terrain>, usize) {
        let cap = 1 << 20;
        let settings = Settings { seats: connections, update_cap: cap, window: cap, ..Settings::default() };
        let mut runtime =
            Runtime::new(Terrain { open: false }, settings, [1; 32]).expect("the settings are in range");
        let chunks = Terrain::chunks();
        for (at, blocks) in &chunks {
            let chunk = Chunk { cx: at[0], cy: at[1], cz: at[2], blocks: Bytes::from(&blocks[..]) };
            runtime.parts_mut().1.create(chunk).expect("an ID is free");
        }
        join_all(&mut runtime, connections);
        (runtime, chunks.len())
    }

    /// The 125 chunks around the middle: where each is, and its blocks.
    pub fn chunks() -> Vec<([i16; 3], Vec<u8>)> {
        let packed: &[u8] = include_bytes!("../../examples/voxel/terrain/chunks.bin.gz");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("the terrain is whole");
        let place = |record: &[u8], at: usize| {
            i32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes")) as i16
        };
        let chunks = bytes.chunks_exact(12 + 4096);
        let chunks = chunks.map(|record| ([0, 4, 8].map(|at| place(record, at)), record[12..].to_vec()));
        chunks.filter(|(at, _)| at.iter().all(|c| c.abs() <= 2)).collect()
    }

    /// From the next tick on everyone sees the chunks.
    pub fn let_in(runtime: &mut Runtime<Terrain>) {
        runtime.parts_mut().0.open = true;
    }
}

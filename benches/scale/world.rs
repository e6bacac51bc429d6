//! The crowd whose ticks are counted.

use std::f64::consts::PI;
use std::time::Duration;

use room::prelude::*;
use room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::{Hello, Token};
use room::wire::message::{Ack, ClientMessage};

use crate::Shape;

/// Units of ground an entity.
const GROUND: f64 = 100.0;

#[derive(Entity, Clone, Debug)]
struct Dot {
    #[field(quantize(step = 0.01, min = 0.0, max = 5000.0))]
    x: f32,
    #[field(quantize(step = 0.01, min = 0.0, max = 5000.0))]
    y: f32,
}

/// What an interest may have beside its range. Limits and budgets are such that they bite; rates hold back what is
/// in the outer half of the circle's ground.
pub const RULES: &[&str] = &[
    "`range` alone",
    "`release`",
    "`sees`",
    "`limit`",
    "`limit`, `on_change`",
    "`retain`",
    "`rates`",
    "`budget`",
];

struct Crowd {
    range: f64,
    rule: usize,
    // Entities that a connection sees, and bytes that they cost a second, about.
    view: usize,
    dots: Vec<Id<Dot>>,
}

impl Game for Crowd {
    type Event = ();
    type Scratch = Option<Id<Dot>>;

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Dot>()
    }

    fn interest(&self) -> Visibility<Self> {
        let grid = grid::<Self>(self.range * 0.4)
            .dims(Xy)
            .kind(|dot: &Dot| [dot.x, dot.y])
            .around(|room, conn| room.get(conn.scratch?).map(|dot| [dot.x, dot.y]))
            .range(self.range);
        let most = (self.view * 4 / 5).max(1);
        let priority = |_: RoomRef<'_, Self>, _: &Connection<Self>, entity: EntityRef<'_>| {
            entity.get::<Dot>().map_or(0.0, |dot| f64::from(dot.x))
        };
        match self.rule {
            1 => grid.release(self.range * 1.1).into(),
            2 => grid.sees(|_, _, entity| entity.is::<Dot>()).into(),
            3 => grid.limit(most, priority),
            4 => grid.limit(most, priority).on_change(),
            5 => grid.retain(2 * self.view),
            6 => grid.rates([(self.range * 0.7, 1), (self.range, 4)]).into(),
            // Two bytes of ID and two of fields, 20 times a second, of which four fifths are given.
            7 => grid.budget(4 * 20 * most),
            _ => grid.into(),
        }
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        // Apart from each other, so that they do not all stand in the same cells.
        let own = self.dots[(peer.conn.0 as usize * 7919) % self.dots.len()];
        if let Some(conn) = room.connection_mut(peer.conn) {
            conn.scratch = Some(own);
        }
        Ok(())
    }
}

/// A room, its connections, and what moves it.
pub struct World {
    runtime: Runtime<Crowd>,
    shape: Shape,
    side: f64,
    seed: u64,
}

impl World {
    pub fn new(shape: Shape) -> World {
        let side = (GROUND * shape.entities as f64).sqrt();
        let range = (GROUND * shape.view as f64 / PI).sqrt();
        let settings = Settings { seats: shape.connections, ..Settings::default() };
        let Shape { rule, view, .. } = shape;
        let crowd = Crowd { range, rule, view, dots: Vec::new() };
        let runtime = Runtime::new(crowd, settings, [1; 32]).expect("the settings are in range");
        let mut world = World { runtime, shape, side, seed: 1 };
        for _ in 0..shape.entities {
            let [x, y] = [0; 2].map(|_| (world.unit() * side) as f32);
            let (game, room) = world.runtime.parts_mut();
            game.dots.push(room.create(Dot { x, y }).expect("it is small"));
        }
        for conn in 0..shape.connections as u64 {
            let hello = Hello { schema_hash: Crowd::schema().hash(), ..Hello::default() };
            let join = Join { hello, identity: Identity::guest(), token: Token::default() };
            world.runtime.handle_open(ConnectionId(conn), Duration::ZERO, join);
        }
        world
    }

    /// Moves what moves, makes a tick, and does what clients and driver do behind it.
    pub fn step(&mut self, tick: fn(&mut World)) {
        self.go();
        tick(self);
        while let Some(transmit) = self.runtime.poll_transmit() {
            assert!(!matches!(transmit.outgoing, Outgoing::Close { .. }), "everyone stays");
        }
        while self.runtime.poll_log().is_some() {}
        let mut ack = Vec::new();
        ClientMessage::Ack(Ack { tick: self.runtime.now(), ..Ack::default() }).encode(&mut ack);
        for conn in 0..self.shape.connections as u64 {
            self.runtime.handle_message(ConnectionId(conn), Duration::ZERO, &ack);
        }
    }

    pub fn tick(&mut self) {
        self.runtime.tick(Duration::ZERO);
    }

    fn go(&mut self) {
        let Shape { entities, moving, .. } = self.shape;
        for n in (0..entities).filter(|n| n % 8 < moving) {
            let [dx, dy] = [0; 2].map(|_| self.unit() - 0.5);
            let (game, room) = self.runtime.parts_mut();
            let mut dot = room.get_mut(game.dots[n]).expect("nobody deletes it");
            let to = |from: f32, by: f64| (f64::from(from) + by).clamp(0.0, self.side) as f32;
            let (x, y) = (to(dot.x, dx), to(dot.y, dy));
            dot.set_x(x);
            dot.set_y(y);
        }
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as f64 / (1u64 << 31) as f64
    }
}

//! Bytes that a moving crowd costs: 20,000 entities in a square of 1,414 units, each of which sees about 200.

#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

use link::Link;
use room::prelude::*;
use room::runtime::{Identity, Settings};

const ENTITIES: usize = 20_000;
const SIDE: f64 = 1414.0;
const RANGE: f64 = 80.0;
const CELL: f64 = 32.0;
/// The most that an entity moves in a tick that walks, and one that flies.
const WALK: f64 = 0.5;
const FLY: f64 = 2.0;
/// The benchmark's crowd has 1,000; the average is the same.
const CONNECTIONS: usize = 50;
const TICKS: usize = 10;

/// How an entity says where it is.
trait Walker: Visible {
    fn at(x: f64, z: f64) -> Self;
    fn place(&self) -> [f64; 2];
    fn walk(room: &mut Room<Crowd<Self>>, id: Id<Self>, x: f64, z: f64);
}

#[derive(Entity, Clone, Debug)]
struct Plain {
    x: f32,
    z: f32,
}

impl Walker for Plain {
    fn at(x: f64, z: f64) -> Self {
        Plain { x: x as f32, z: z as f32 }
    }

    fn place(&self) -> [f64; 2] {
        [self.x.into(), self.z.into()]
    }

    fn walk(room: &mut Room<Crowd<Self>>, id: Id<Self>, x: f64, z: f64) {
        let mut it = room.get_mut(id).expect("it lives");
        it.set_x(x as f32);
        it.set_z(z as f32);
    }
}

#[derive(Entity, Clone, Debug)]
struct Stepped {
    #[field(quantize(step = 0.01, min = 0.0, max = 1414.0))]
    x: f32,
    #[field(quantize(step = 0.01, min = 0.0, max = 1414.0))]
    z: f32,
}

impl Walker for Stepped {
    fn at(x: f64, z: f64) -> Self {
        Stepped { x: x as f32, z: z as f32 }
    }

    fn place(&self) -> [f64; 2] {
        [self.x.into(), self.z.into()]
    }

    fn walk(room: &mut Room<Crowd<Self>>, id: Id<Self>, x: f64, z: f64) {
        let mut it = room.get_mut(id).expect("it lives");
        it.set_x(x as f32);
        it.set_z(z as f32);
    }
}

/// The crowd. Connections walk with the first entities.
struct Crowd<K> {
    ids: Vec<Id<K>>,
    /// The most that an entity moves in a tick.
    most: f64,
    still: bool,
    state: u64,
}

impl<K: Walker> Crowd<K> {
    fn new(most: f64) -> Self {
        Crowd { ids: Vec::new(), most, still: false, state: 5 }
    }

    /// From 0 to 1.
    fn draw(&mut self) -> f64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl<K: Walker> Game for Crowd<K> {
    type Event = ();
    type Scratch = Option<[f64; 2]>;

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<K>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid(CELL)
            .dims(Xz)
            .kind::<K, _>(|it| it.place())
            .around(|_, conn: &Connection<Self>| conn.scratch)
            .range(RANGE)
            .into()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for _ in 0..ENTITIES {
            let (x, z) = (self.draw() * SIDE, self.draw() * SIDE);
            self.ids.push(room.create(K::at(x, z)).expect("it is created"));
        }
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        for n in 0..if self.still { 0 } else { ENTITIES } {
            let (angle, far) = (self.draw() * std::f64::consts::TAU, self.most * (0.2 + 0.8 * self.draw()));
            let id = self.ids[n];
            let [x, z] = room.get(id).expect("it lives").place();
            let [x, z] = [x + angle.cos() * far, z + angle.sin() * far].map(|axis| axis.clamp(0.0, SIDE));
            K::walk(room, id, x, z);
        }
        let conns: Vec<ConnectionId> = room.connections().map(Connection::id).collect();
        for conn in conns {
            let at = room.get(self.ids[conn.0 as usize * 7]).map(K::place);
            room.connection_mut(conn).expect("it joined").scratch = at;
        }
    }
}

/// Bytes for each entity that a client sees, in each tick, and how many that are.
fn cost<K: Walker>(most: f64) -> (f64, f64) {
    let settings = Settings { seats: CONNECTIONS, ..Settings::default() };
    let mut link: Link<Crowd<K>> = Link::new(Crowd::new(most), settings);
    let conns: Vec<ConnectionId> = (0..CONNECTIONS).map(|_| link.open(Identity::guest())).collect();
    link.ticks(3);
    let bytes = |link: &Link<Crowd<K>>| conns.iter().map(|conn| link.client(*conn).bytes).sum::<usize>();
    let (before, mut visible) = (bytes(&link), 0);
    for _ in 0..TICKS {
        link.tick();
        // All of them moved.
        visible += conns.iter().map(|conn| link.replica(*conn).len()).sum::<usize>();
    }
    let sent = bytes(&link) - before;
    let conn = link.room.room().connection(conns[0]).expect("it joined");
    let [x, z] = conn.scratch.expect("it has a place");
    let near = link.room.room().all::<K>().filter(|(_, it)| {
        let [dx, dz] = [it.place()[0] - x, it.place()[1] - z];
        dx * dx + dz * dz <= RANGE * RANGE
    });
    assert_eq!(link.replica(conns[0]).len(), near.count(), "the client sees all that is near");

    link.room.parts_mut().0.still = true;
    link.ticks(1);
    let messages =
        |link: &Link<Crowd<K>>| conns.iter().map(|conn| link.client(*conn).messages).sum::<usize>();
    let at_rest = messages(&link);
    assert!(conns.iter().all(|conn| !link.client(*conn).applied.last().expect("one came").changed));
    link.ticks(20);
    assert_eq!(messages(&link), at_rest, "an idle room sends nothing after the one empty update");
    (sent as f64 / visible as f64, visible as f64 / (TICKS * CONNECTIONS) as f64)
}

#[test]
fn a_visible_move_of_two_floats_costs_at_most_11_bytes() {
    let (bytes, seen) = cost::<Plain>(WALK);
    assert!((150.0..250.0).contains(&seen), "each sees {seen}");
    assert!(bytes <= 11.0, "{bytes} bytes");
}

#[test]
fn a_visible_move_of_two_quantized_coordinates_costs_at_most_5_bytes() {
    let (bytes, seen) = cost::<Stepped>(WALK);
    assert!((150.0..250.0).contains(&seen), "each sees {seen}");
    assert!(bytes <= 5.0, "{bytes} bytes");
}

#[test]
fn a_visible_step_of_more_than_a_byte_is_packed() {
    // 5.4 as varints. What enters is whole.
    let (bytes, _) = cost::<Stepped>(FLY);
    assert!(bytes <= 4.8, "{bytes:.2} bytes a visible move");
}

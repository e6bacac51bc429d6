//! Five hundred walkers on circles, and connections that walk along.

use room::prelude::*;

pub(crate) const ENTITIES: usize = 500;
/// Everything is where it was after so many ticks.
pub(crate) const PERIOD: u64 = 60;
/// How far a connection sees, and up to where it keeps what it saw.
pub(crate) const RANGE: f64 = 80.0;
pub(crate) const RELEASE: f64 = 85.0;

#[derive(Entity, Clone, Debug)]
pub(crate) struct Walker {
    pub(crate) x: f32,
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    pub(crate) z: f32,
    pub(crate) steps: u32,
}

/// The game.
#[derive(Default)]
pub(crate) struct Circles {
    walkers: Vec<Id<Walker>>,
}

/// Where the nth walker is in a tick: each circle has its own middle, size and start.
pub(crate) fn place(n: usize, tick: u64) -> [f32; 2] {
    let (middle, size) =
        ([(n * 37 % 400) as f32 - 200.0, (n * 91 % 400) as f32 - 200.0], (n % 7) as f32 * 4.0);
    let angle = ((tick + n as u64) % PERIOD) as f32 / PERIOD as f32 * std::f32::consts::TAU;
    [middle[0] + size * angle.cos(), middle[1] + size * angle.sin()]
}

impl Game for Circles {
    type Event = ();
    type Scratch = [f32; 2];

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Walker>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid(32.0)
            .dims(Xz)
            .kind::<Walker, _>(|walker| [walker.x, 0.0, walker.z])
            .around(|_, conn: &Connection<Self>| [conn.scratch[0], 0.0, conn.scratch[1]])
            .range(RANGE)
            .release(RELEASE)
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
        for conn in 1..=64 {
            if let Some(connection) = room.connection_mut(ConnectionId(conn)) {
                connection.scratch = place(conn as usize * 20, tick);
            }
        }
    }
}

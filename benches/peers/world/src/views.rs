//! Who must see what: everything in a circle around a connection's place.

use crate::motion::World;
use crate::spec::Sees;

/// What changed in a connection's view.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// Entities that it sees now.
    pub entered: Vec<u32>,
    /// Entities that it no longer sees.
    pub left: Vec<u32>,
}

/// The views of all connections, worked out with a grid: what a game would do for a library that does not know
/// where entities are.
#[derive(Clone, Debug, Default)]
pub struct Views {
    members: Vec<Vec<u32>>,
    deltas: Vec<Delta>,
    cells: Vec<Vec<u32>>,
}

impl Views {
    /// Views that see nothing yet.
    pub fn new(world: &World) -> Views {
        let empty = vec![Vec::new(); world.connections()];
        Views { members: empty, deltas: vec![Delta::default(); world.connections()], cells: Vec::new() }
    }

    /// What each connection sees, in rising order.
    pub fn members(&self) -> &[Vec<u32>] {
        &self.members
    }

    /// What the last update changed.
    pub fn deltas(&self) -> &[Delta] {
        &self.deltas
    }

    /// Entities that entered or left in the last update.
    pub fn crossings(&self) -> usize {
        self.deltas.iter().map(|delta| delta.entered.len() + delta.left.len()).sum()
    }

    /// Pairs of a connection and an entity that it sees.
    pub fn pairs(&self) -> usize {
        self.members.iter().map(Vec::len).sum()
    }

    /// Works the views out anew.
    pub fn update(&mut self, world: &World) {
        let size = (world.range / 2.0).max(1.0);
        let columns = (world.side / size) as usize + 1;
        self.cells.iter_mut().for_each(Vec::clear);
        self.cells.resize(columns * columns, Vec::new());
        let column = |v: f32| ((f64::from(v) / size) as usize).min(columns - 1);
        for entity in 0..world.len() as u32 {
            let [x, y] = world.place(entity);
            self.cells[column(y) * columns + column(x)].push(entity);
        }
        for (connection, (members, delta)) in self.members.iter_mut().zip(&mut self.deltas).enumerate() {
            let [x, y] = world.place(connection as u32);
            let reach = |v: f32| {
                let low = (f64::from(v) - world.range).max(0.0) as f32;
                column(low)..=column((f64::from(v) + world.range) as f32)
            };
            let mut now = Vec::with_capacity(members.len() + 16);
            for row in reach(y) {
                for cell in reach(x) {
                    let near = self.cells[row * columns + cell].iter();
                    now.extend(near.copied().filter(|entity| sees(world, connection, *entity)));
                }
            }
            now.sort_unstable();
            compare(members, &now, delta);
            *members = now;
        }
    }
}

fn compare(before: &[u32], now: &[u32], delta: &mut Delta) {
    delta.entered.clear();
    delta.left.clear();
    delta.entered.extend(now.iter().filter(|entity| before.binary_search(entity).is_err()));
    delta.left.extend(before.iter().filter(|entity| now.binary_search(entity).is_err()));
}

/// Whether a connection must see an entity.
pub fn sees(world: &World, connection: usize, entity: u32) -> bool {
    if world.spec.sees == Sees::All {
        return true;
    }
    let [a, b] = [world.place(connection as u32), world.place(entity)];
    let [dx, dy] = [0, 1].map(|axis| f64::from(a[axis]) - f64::from(b[axis]));
    dx * dx + dy * dy <= world.range * world.range
}

/// What a connection must hold, found without a grid.
pub fn naive(world: &World, connection: usize) -> Vec<u32> {
    (0..world.len() as u32).filter(|entity| sees(world, connection, *entity)).collect()
}

/// The range at which connections see so many entities on average, those at the walls included.
pub fn range_for(world: &World, count: f64) -> f64 {
    let (mut low, mut high) = (0.0, world.side);
    let mut probe = world.clone();
    for _ in 0..24 {
        probe.range = (low + high) / 2.0;
        let mut views = Views::new(&probe);
        views.update(&probe);
        let mean = views.pairs() as f64 / probe.connections() as f64;
        if mean < count { low = probe.range } else { high = probe.range }
    }
    // Two digits are enough, and easy to read.
    (high * 100.0).round() / 100.0
}

//! A workload written down, for peers that are not written in Rust.

use std::io::{self, Write};

use crate::motion::World;
use crate::run::sample;
use crate::spec::Spec;
use crate::views::{Views, naive};

/// Writes a workload's first state, its moves and views tick by tick, and what sampled connections must hold at
/// the end, as little-endian 32-bit words:
///
/// - entities, connections, ticks, 1 where they turn;
/// - x, y, rotation of each entity in hundredths; for each connection how many entities it sees, and which;
/// - for each tick: how many movers, of each its number, x, y, rotation; for each connection how many entered,
///   which, how many left, which;
/// - how many are sampled, and of each its number, how many it must hold, and which.
pub fn write_script(spec: &Spec, ticks: usize, out: &mut impl Write) -> io::Result<()> {
    let mut world = World::new(spec);
    let mut views = Views::new(&world);
    let head = [world.len() as u32, world.connections() as u32, ticks as u32, u32::from(spec.rotation)];
    words(out, &head)?;
    for entity in 0..world.len() as u32 {
        state(out, &world, entity)?;
    }
    views.update(&world);
    for members in views.members() {
        list(out, members)?;
    }
    for _ in 0..ticks {
        world.step();
        views.update(&world);
        words(out, &[world.movers().len() as u32])?;
        for &mover in world.movers() {
            words(out, &[mover])?;
            state(out, &world, mover)?;
        }
        for delta in views.deltas() {
            list(out, &delta.entered)?;
            list(out, &delta.left)?;
        }
    }
    let sample = sample(world.connections());
    words(out, &[sample.len() as u32])?;
    for connection in sample {
        words(out, &[connection as u32])?;
        list(out, &naive(&world, connection))?;
    }
    out.flush()
}

fn state(out: &mut impl Write, world: &World, entity: u32) -> io::Result<()> {
    let [x, y] = world.hundredths(entity);
    words(out, &[x as u32, y as u32, world.turn(entity) as u32])
}

fn list(out: &mut impl Write, entities: &[u32]) -> io::Result<()> {
    words(out, &[entities.len() as u32])?;
    words(out, entities)
}

fn words(out: &mut impl Write, words: &[u32]) -> io::Result<()> {
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

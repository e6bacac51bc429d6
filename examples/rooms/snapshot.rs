//! What a snapshot costs the room that it is of: one large room, driven by hand at its pace, and its ticks with a
//! slice of a snapshot in their commit beside those without.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use room::prelude::*;
use room::room::runtime::{Origin, Runtime, Settings, Site};
use room::storage::Store;
use serde::Serialize;

use crate::figures::{Ms, rounded};
use crate::keep::Keep;
use crate::load::Failure;

const ROOM: &str = "wood";
/// A tick at 20 a second.
const TICK: Duration = Duration::from_millis(50);
/// The first commit has everything, and what it leaves behind goes by.
const WARM_UP: u64 = 20;

/// How large the room is, and how much of it changes.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub entities: u32,
    /// Entities that change in each tick.
    pub changes: u32,
    pub seconds: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Report {
    example: &'static str,
    entities: u32,
    changes: u32,
    /// Bytes that an entity takes in the log.
    entity_bytes: f64,
    ticks: usize,
    snapshots: u64,
    slices: usize,
    /// Ticks with a slice, and ticks without, by the clock on the wall, which sees what else runs on the machine.
    with: Ms,
    without: Ms,
    longer: Ms,
    /// The same by the processor time of the room's thread.
    cpu_with: Ms,
    cpu_without: Ms,
    pub cpu_longer: Ms,
    /// What the store took for commits with a slice, and for those without.
    commit_with: Ms,
    commit_without: Ms,
}

/// A tree of some 60 bytes.
#[derive(Entity, Clone, Debug)]
struct Tree {
    name: String,
    x: f64,
    y: f64,
    rings: u32,
    grown: u64,
}

/// A wood in which some trees grow in each tick, one after the other.
struct Wood {
    run: Run,
    trees: Vec<Id<Tree>>,
    next: usize,
}

impl Game for Wood {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().entity::<Tree>()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for number in 0..self.run.entities {
            let (x, y) = (f64::from(number % 317) * 1.3, f64::from(number / 317) * 1.7);
            let name = format!("a tree in row {:>6}, planted", number / 317);
            let tree = Tree { name, x, y, rings: number % 400, grown: 1 << 40 };
            self.trees.push(room.create(tree).expect("IDs do not run out"));
        }
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        let now = room.tick().0;
        for _ in 0..self.run.changes {
            self.next = (self.next + 1) % self.trees.len();
            if let Some(mut tree) = room.get_mut(self.trees[self.next]) {
                let rings = tree.rings + 1;
                tree.set_rings(rings);
                tree.set_grown((1 << 40) + now);
            }
        }
    }
}

/// Times of ticks of one sort.
#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
    commit: Vec<Duration>,
}

/// Runs the room for its time.
pub fn run(run: Run, keep: &Keep) -> Result<Report, Failure> {
    let store = keep.store().ok_or("a snapshot needs a store: leave `--no-store` out")?.clone();
    let site = Site { name: ROOM.to_owned(), ..Site::default() };
    let origin = Origin { site, taken: store.take(ROOM)?, unix: 1_800_000_000 };
    let wood = Wood { run, trees: Vec::new(), next: 0 };
    let mut runtime = Runtime::open(wood, Settings::default(), [5; 32], origin)?;
    let (mut with, mut without) = (Times::default(), Times::default());
    let (mut whole, mut forget, mut snapshots) = (0, 0, 0);
    let began = Instant::now();
    for tick in 0..WARM_UP + run.seconds * 20 {
        let due = TICK * tick as u32;
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        let (wall, cpu) = (Instant::now(), thread_time());
        runtime.tick(due);
        let commit = runtime.poll_commit().ok_or("a tick had nothing to commit")?;
        let (wall, cpu) = (wall.elapsed(), thread_time().saturating_sub(cpu));
        if tick == 0 {
            whole = commit.rows.iter().map(Vec::len).sum();
        }
        if commit.forget > forget {
            (forget, snapshots) = (commit.forget, snapshots + 1);
        }
        // A slice stands in rows of its own.
        let slice = commit.rows.len() > 1;
        let (done, kept) = channel();
        let given = Instant::now();
        store.commit(commit, Box::new(move |result| drop(done.send(result))));
        kept.recv()??;
        let took = given.elapsed();
        runtime.handle_committed();
        while runtime.poll_log().is_some() {}
        if tick >= WARM_UP {
            let times = if slice { &mut with } else { &mut without };
            times.wall.push(wall);
            times.cpu.push(cpu);
            times.commit.push(took);
        }
    }
    Ok(report(run, whole, snapshots, &with, &without))
}

fn report(run: Run, whole: usize, snapshots: u64, with: &Times, without: &Times) -> Report {
    let (wall, cpu) = (Ms::of(&with.wall), Ms::of(&with.cpu));
    let (plain_wall, plain_cpu) = (Ms::of(&without.wall), Ms::of(&without.cpu));
    Report {
        example: "rooms --snapshot",
        entities: run.entities,
        changes: run.changes,
        entity_bytes: rounded(whole as f64 / f64::from(run.entities)),
        ticks: with.wall.len() + without.wall.len(),
        snapshots,
        slices: with.wall.len(),
        with: wall,
        without: plain_wall,
        longer: wall.above(&plain_wall),
        cpu_with: cpu,
        cpu_without: plain_cpu,
        cpu_longer: cpu.above(&plain_cpu),
        commit_with: Ms::of(&with.commit),
        commit_without: Ms::of(&without.commit),
    }
}

/// Processor time of this thread; of nothing where the system does not tell.
fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_taken_beside_what_changes() {
        let run = Run { entities: 20_000, changes: 1000, seconds: 3 };
        let report = super::run(run, &Keep::temporary().unwrap()).unwrap();
        assert!(report.snapshots > 0 && report.slices >= 4 && report.slices < report.ticks, "{report:?}");
        assert!((60.0..100.0).contains(&report.entity_bytes), "{report:?}");
    }
}

//! How a peer is measured.

use std::time::Duration;

use crate::motion::World;
use crate::report::{Report, peak_rss_mb, stop_with};
use crate::spec::Spec;
use crate::views::{Views, sees};

/// Client ends that decode everything and are checked.
const SAMPLE: usize = 16;

/// The most ticks in which views must be filled, and in which what was written last must arrive.
const PATIENCE: usize = 300;

/// What one tick of the server was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// From the end of the game's writes to bytes for the transport.
    pub time: Duration,
    /// Reading what clients sent, where that can be told apart.
    pub receive: Option<Duration>,
    /// All bytes handed to the transport.
    pub bytes: u64,
}

/// One library at work.
pub trait Peer {
    /// The game writes where the movers are. Not timed.
    fn write(&mut self, world: &World);

    /// The server's tick, timed: views change as said, what changed is encoded, bytes are ready.
    fn tick(&mut self, world: &World, views: &Views) -> Sent;

    /// Client ends take what came, and answer. Not timed.
    fn deliver(&mut self);

    /// What a client end of the sample holds: x, y and rotation of each entity.
    fn held(&mut self, world: &World, connection: usize) -> Vec<[f32; 3]>;

    /// Whether a connection must see an entity: a circle, for all that can have one.
    fn sees(&self, world: &World, connection: usize, entity: u32) -> bool {
        sees(world, connection, entity)
    }

    /// How many entities a connection sees on average, where it is no circle.
    fn visible(&self, _: &World) -> Option<f64> {
        None
    }
}

/// What a peer's process is asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// The workload's name.
    pub workload: String,
    /// Ticks to measure.
    pub ticks: usize,
    /// Ticks before them.
    pub warmup: usize,
    /// The setting with the fewest bytes.
    pub small: bool,
}

impl Options {
    /// From the command line.
    pub fn parse() -> Options {
        let mut options = Options { workload: "W3".into(), ticks: 60, warmup: 10, small: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--workload" => options.workload = value(),
                "--ticks" => options.ticks = value().parse().expect("--ticks is a number"),
                "--warmup" => options.warmup = value().parse().expect("--warmup is a number"),
                "--small" => options.small = true,
                other => panic!("{other} is no flag of a peer"),
            }
        }
        options
    }
}

/// The connections whose client ends decode, spread over all of them.
pub fn sample(connections: usize) -> Vec<usize> {
    let many = SAMPLE.min(connections);
    (0..many).map(|i| i * connections / many).collect()
}

/// Measures a peer on a workload of moving entities.
pub fn measure(options: &Options, settings: &str, make: impl FnOnce(&World) -> Box<dyn Peer>) -> Report {
    let Some(spec) = Spec::named(&options.workload) else {
        stop_with(&format!("{} is no workload of this peer", options.workload));
    };
    let mut world = World::new(spec);
    let mut views = Views::new(&world);
    let mut peer = make(&world);
    let sample = sample(world.connections());

    eprintln!("  {}: {} connections join", spec.name, world.connections());
    let mut join = Sent::default();
    views.update(&world);
    let filled = (0..PATIENCE).find(|_| {
        let sent = peer.tick(&world, &views);
        join.time += sent.time;
        join.bytes += sent.bytes;
        peer.deliver();
        views.update(&world);
        wrong(&world, peer.as_mut(), &sample).is_none()
    });
    if filled.is_none() {
        let why = wrong(&world, peer.as_mut(), &sample).unwrap_or_default();
        stop_with(&format!("views were not filled in {PATIENCE} ticks: {why}"));
    }

    eprintln!("  {}: {} ticks", spec.name, options.warmup + options.ticks);
    let (mut times, mut receives) = (Vec::new(), Vec::new());
    let (mut bytes, mut crossings, mut pairs) = (0, 0, 0);
    for tick in 0..options.warmup + options.ticks {
        world.step();
        views.update(&world);
        peer.write(&world);
        let sent = peer.tick(&world, &views);
        peer.deliver();
        if tick >= options.warmup {
            times.push(sent.time);
            receives.extend(sent.receive);
            bytes += sent.bytes;
            crossings += views.crossings();
            pairs += views.pairs();
        }
    }

    // What was written last may still be on its way: nothing moves until it has come.
    for _ in 0..PATIENCE {
        if wrong(&world, peer.as_mut(), &sample).is_none() {
            break;
        }
        views.update(&world);
        peer.tick(&world, &views);
        peer.deliver();
    }
    if let Some(why) = wrong(&world, peer.as_mut(), &sample) {
        stop_with(&format!("a client end does not hold what it should: {why}"));
    }

    let per = |total: f64| total / (times.len() * world.connections()) as f64;
    Report {
        bytes_per_client: tenths(per(bytes as f64)),
        rss_mb: peak_rss_mb(),
        checked: sample.len(),
        join_us: Some(tenths(join.time.as_secs_f64() * 1e6)),
        join_bytes_per_client: Some(tenths(join.bytes as f64 / world.connections() as f64)),
        visible: tenths(peer.visible(&world).unwrap_or(per(pairs as f64))),
        crossings: (per(crossings as f64) * 1000.0).round() / 1000.0,
        ticks: times.len(),
        settings: settings.to_owned(),
        tick_us: percentile(&mut times, 0.5),
        tick_p99_us: percentile(&mut times, 0.99),
        receive_us: (!receives.is_empty()).then(|| percentile(&mut receives, 0.5)),
    }
}

/// Runs a peer's process: measures and prints one line.
pub fn main(settings: impl Fn(&Options) -> String, make: impl Fn(&World, &Options) -> Box<dyn Peer>) {
    let options = Options::parse();
    let report = measure(&options, &settings(&options), |world| make(world, &options));
    println!("{}", serde_json::to_string(&report).expect("a report is JSON"));
}

/// Why a client end does not hold what it should.
fn wrong(world: &World, peer: &mut dyn Peer, sample: &[usize]) -> Option<String> {
    sample.iter().find_map(|&connection| {
        let should: Vec<[i32; 3]> = {
            let mut all: Vec<_> = (0..world.len() as u32)
                .filter(|entity| peer.sees(world, connection, *entity))
                .map(|entity| {
                    let [x, y] = world.hundredths(entity);
                    [x, y, world.turn(entity)]
                })
                .collect();
            all.sort_unstable();
            all
        };
        let mut holds: Vec<[i32; 3]> = peer
            .held(world, connection)
            .into_iter()
            .map(|held| held.map(|v| (f64::from(v) * 100.0).round() as i32))
            .collect();
        holds.sort_unstable();
        (should != holds).then(|| {
            let same = should.iter().filter(|one| holds.binary_search(one).is_ok()).count();
            format!(
                "connection {connection} should hold {} entities and holds {}, of which {same} are right",
                should.len(),
                holds.len()
            )
        })
    })
}

/// In microseconds.
fn percentile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let index = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
    times.get(index).map_or(0.0, |time| tenths(time.as_secs_f64() * 1e6))
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

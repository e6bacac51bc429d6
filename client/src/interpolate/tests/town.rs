//! A town of walkers whose ways are known, and a client that draws them.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use room::prelude::*;
use room::runtime::Settings;

use super::link::{Link, Weather};
use crate::Smooth;

#[derive(Entity, Clone, Debug, PartialEq)]
pub(super) struct Walker {
    /// How far it is, which is how often it is sent: 10 for each send between.
    pub(super) far: f64,
    pub(super) x: f64,
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    pub(super) y: f32,
    #[field(quantize(step = 0.001, min = 0.0, max = 6.3))]
    pub(super) heading: f32,
    pub(super) level: i32,
    pub(super) at: [f32; 2],
    pub(super) name: String,
}

/// Noise, which fills the link.
#[derive(Entity, Clone, Debug)]
pub(super) struct Ballast {
    noise: Bytes,
}

#[derive(Default)]
pub(super) struct Town;

impl Game for Town {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Walker>().entity::<Ballast>()
    }

    fn interest(&self) -> Visibility<Self> {
        grid::<Self>(100.0)
            .dims(Xy)
            .kind(|walker: &Walker| [walker.far, 0.0])
            .kind(|_: &Ballast| [0.0, 0.0])
            .around(|_, _| [0.0, 0.0])
            .range(1000.0)
            .rates((1..=8).map(|sends| (10.0 * f64::from(sends), sends)))
            .into()
    }
}

/// A walker of a period, at 0.
pub(super) fn walker(period: u32) -> Walker {
    Walker {
        far: f64::from(period) * 10.0 - 5.0,
        x: 0.0,
        y: 0.0,
        heading: 0.0,
        level: 0,
        at: [0.0; 2],
        name: "Ada".into(),
    }
}

/// The town, its link and its client; and what each walker was at each tick.
pub(super) struct Scene {
    pub(super) link: Link<Town>,
    pub(super) truth: BTreeMap<(Id<Walker>, u64), Walker>,
    ballast: Option<Id<Ballast>>,
}

/// Farther than that in one step is no walk.
pub(super) const SNAP: f64 = 20.0;

impl Scene {
    pub(super) fn new(send_every: u32, weather: Weather) -> Scene {
        let settings = Settings { send_every, ..Settings::default() };
        let mut link = Link::new(Town, settings, weather);
        let place = (Walker::X, Walker::Y, Walker::AT).snap(SNAP);
        link.machine.interpolate::<Walker>((place, Walker::HEADING.angle(TAU), Walker::LEVEL));
        Scene { link, truth: BTreeMap::new(), ballast: None }
    }

    /// Fills the link with so many bytes a tick.
    pub(super) fn load(&mut self, bytes: usize) {
        let noise = Bytes::from(vec![0; bytes]);
        self.ballast = Some(self.link.edit(|room| room.create(Ballast { noise }).unwrap()));
    }

    pub(super) fn add(&mut self, walker: Walker) -> Id<Walker> {
        self.link.edit(|room| room.create(walker).unwrap())
    }

    /// So many milliseconds pass, with a frame every 16. `walk` moves the walkers before each tick, which has that number;
    /// `look` sees each frame.
    pub(super) fn run(
        &mut self,
        ms: u64,
        mut walk: impl FnMut(&mut Room<Town>, u64),
        mut look: impl FnMut(&Scene),
    ) {
        for _ in 0..ms {
            self.step(&mut walk);
            if self.link.now().as_millis().is_multiple_of(16) {
                self.link.draw();
                look(self);
            }
        }
    }

    fn step(&mut self, walk: &mut impl FnMut(&mut Room<Town>, u64)) {
        // What a tick finds is what was written since the one before.
        let next = self.link.room.now().0 + 1;
        let ballast = self.ballast;
        self.link.before_tick(|room| {
            walk(room, next);
            if let Some(id) = ballast {
                let len = room.get(id).unwrap().noise.len();
                let noise = (0..len as u64)
                    .map(|n| (n * next).wrapping_mul(0x9E37_79B9_7F4A_7C15) as u8 ^ (n >> 3) as u8);
                let noise = Bytes::from(noise.collect::<Vec<u8>>());
                room.get_mut(id).unwrap().set_noise(noise).unwrap();
            }
        });
        if self.link.pass() {
            let now = self.link.room.now().0;
            let all: Vec<_> = self.link.room.room().all::<Walker>().map(|(id, w)| (id, w.clone())).collect();
            self.truth.extend(all.into_iter().map(|(id, walker)| ((id, now), walker)));
        }
    }

    /// The last state up to a time and the first one from it on, among those of some ticks, and how far it lies
    /// between them.
    pub(super) fn around(&self, id: Id<Walker>, time: f64, knots: &[u64]) -> (&Walker, &Walker, f64) {
        let after = knots.partition_point(|knot| *knot as f64 <= time);
        let from = knots[after.saturating_sub(1)];
        let to = *knots.get(after).unwrap_or(&from);
        let part = if to == from { 0.0 } else { (time - from as f64) / (to - from) as f64 };
        (&self.truth[&(id, from)], &self.truth[&(id, to)], part.max(0.0))
    }
}

/// How far what is drawn is from what lies between two states.
pub(super) fn error(drawn: &Walker, (a, b, part): (&Walker, &Walker, f64)) -> f64 {
    let between = |a: f64, b: f64| a + (b - a) * part;
    let gap = (b.x - a.x).hypot(f64::from(b.y - a.y)).hypot(f64::from(b.at[0] - a.at[0]));
    let gap = gap.hypot(f64::from(b.at[1] - a.at[1]));
    let b = if gap > SNAP { &Walker { heading: b.heading, level: b.level, ..a.clone() } } else { b };
    let turn = f64::from(b.heading - a.heading);
    let turn = turn - (turn / TAU).round() * TAU;
    let heading = f64::from(a.heading) + turn * part;
    let off = f64::from(drawn.heading) - heading;
    let level = between(a.level.into(), b.level.into());
    // Whole numbers are the nearest.
    let level_off = ((f64::from(drawn.level) - level).abs() - 0.5).max(0.0);
    [
        drawn.x - between(a.x, b.x),
        f64::from(drawn.y) - between(a.y.into(), b.y.into()),
        f64::from(drawn.at[0]) - between(a.at[0].into(), b.at[0].into()),
        f64::from(drawn.at[1]) - between(a.at[1].into(), b.at[1].into()),
        off - (off / TAU).round() * TAU,
        level_off,
    ]
    .into_iter()
    .map(f64::abs)
    .fold(0.0, f64::max)
}

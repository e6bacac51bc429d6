//! A room and its clients on one clock: the room ticks, frames are drawn, and all that matters is counted.

use std::fmt;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use room::prelude::*;
use room::runtime::{Identity, Join, Outgoing, Runtime, Settings};
use room::session::{self, Token};
use room_client::Event;
use room_client::machine::{self, Machine, Options};

use super::game::{Hall, Shot, Steer, Walk, Walker};
use super::wire::Way;

pub(crate) struct Plan {
    pub(crate) round_trip_ms: u64,
    pub(crate) jitter_ms: u64,
    pub(crate) stalls: bool,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    pub(crate) send_every: u32,
}

/// What was measured, of one player.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// The most frames from a change of input to the screen, the frame of the change counted.
    pub(crate) frames_to_screen: u32,
    pub(crate) corrections_a_minute: f64,
    pub(crate) replayed_a_minute: f64,
    /// Corrections while no input was missed or late for two seconds around.
    pub(crate) unexplained: u64,
    /// The largest leap of her own picture, in meters, beside what her speed explains.
    pub(crate) leap: f32,
    pub(crate) jumps_lost: u64,
    pub(crate) jumps_doubled: u64,
    pub(crate) starved_share: f64,
    pub(crate) late: u64,
    pub(crate) lead_ticks: f64,
    /// How far from the truth at the drawn time another player draws her, in meters.
    pub(crate) remote_mean: f64,
    pub(crate) remote_p99: f64,
    /// How far behind the room's clock that is, in milliseconds.
    pub(crate) behind_ms: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "input to screen {} frame, corrections {:.2} a minute ({} unexplained, replayed {:.1}), leap {:.3} m, \
             jumps lost {} doubled {}, starved {:.3} %, late {}, lead {:.1} ticks; seen by another {:.0} ms behind, off \
             by {:.4} m, p99 {:.4}",
            self.frames_to_screen,
            self.corrections_a_minute,
            self.unexplained,
            self.replayed_a_minute,
            self.leap,
            self.jumps_lost,
            self.jumps_doubled,
            100.0 * self.starved_share,
            self.late,
            self.lead_ticks,
            self.behind_ms,
            self.remote_mean,
            self.remote_p99
        )
    }
}

const TICK: Duration = Duration::from_millis(50);
const FRAME: Duration = Duration::from_micros(16_667);

struct Player {
    machine: Machine,
    conn: ConnectionId,
    opened: bool,
    up: Way,
    down: Way,
    /// What she does, and until when.
    steer: Steer,
    until: Duration,
    jumped: u64,
}

struct World {
    runtime: Runtime<Hall>,
    players: Vec<Player>,
    rng: ChaCha8Rng,
    now: Duration,
    next_tick: Duration,
    /// Where the first player stood after each tick.
    truth: Vec<(f32, f32)>,
}

impl World {
    fn new(plan: &Plan) -> World {
        let settings = Settings { tick_rate: 20, send_every: plan.send_every, ..Settings::default() };
        let runtime = Runtime::new(Hall, settings, [3; 32]).expect("the room starts");
        let rng = ChaCha8Rng::seed_from_u64(plan.seed);
        let players = (1..=2).map(|n| Player::new(n, plan)).collect();
        World { runtime, players, rng, now: Duration::ZERO, next_tick: TICK, truth: Vec::new() }
    }

    /// Lets time pass up to the next frame: ticks and arrivals, in their order.
    fn pass(&mut self, until: Duration) {
        while self.now < until {
            self.now = (self.now + Duration::from_millis(1)).min(until);
            self.carry();
            if self.now >= self.next_tick {
                self.next_tick += TICK;
                self.runtime.tick(self.now);
                let at = self.walker(0).map_or((0.0, 0.0), |(_, walker)| (walker.x, walker.y));
                self.truth.push(at);
                self.drain();
            }
        }
    }

    fn drain(&mut self) {
        while let Some(transmit) = self.runtime.poll_transmit() {
            let Outgoing::Message(bytes) = transmit.outgoing else { panic!("{:?}", transmit.outgoing) };
            let player = self.players.iter_mut().find(|player| player.conn == transmit.conn);
            player.expect("it is one of them").down.send(self.now, bytes.to_vec(), &mut self.rng);
        }
        while self.runtime.poll_log().is_some() {}
    }

    fn carry(&mut self) {
        for index in 0..self.players.len() {
            while let Some((_, bytes)) = self.players[index].up.take(self.now) {
                self.hear(index, &bytes);
            }
            let player = &mut self.players[index];
            while let Some((_, bytes)) = player.down.take(self.now) {
                player.machine.handle_message(self.now, bytes);
            }
            player.speak(self.now, &mut self.rng);
        }
        self.drain();
    }

    fn hear(&mut self, index: usize, bytes: &[u8]) {
        let player = &mut self.players[index];
        if player.opened {
            return self.runtime.handle_message(player.conn, self.now, bytes);
        }
        player.opened = true;
        let hello = session::admit(bytes, &Hall::schema()).expect("a good hello");
        let token = Token([index as u8 + 1; 16]);
        self.runtime.handle_open(
            player.conn,
            self.now,
            Join { hello, identity: Identity { account: None }, token },
        );
    }

    /// How far from the truth the second player draws the first, and how many ticks behind.
    fn remote_error(&self) -> Option<(f64, f64)> {
        let (id, _) = self.walker(0)?;
        let (machine, drawn) = (&self.players[1].machine, self.players[1].machine.drawn(id)?);
        let time = machine.drawn_time(id)?;
        let at = |tick: usize| self.truth.get(tick.checked_sub(1)?).copied();
        let ((x0, y0), (x1, y1)) = (at(time as usize)?, at(time as usize + 1)?);
        let part = time.fract() as f32;
        let (x, y) = (x0 + (x1 - x0) * part, y0 + (y1 - y0) * part);
        Some((f64::from((drawn.x - x).hypot(drawn.y - y)), machine.room_time(self.now)? - time))
    }

    fn walker(&self, index: usize) -> Option<(Id<Walker>, &Walker)> {
        let player = self.players[index].machine.player()?;
        self.runtime.room().all::<Walker>().find(|(_, walker)| walker.owner == player)
    }
}

impl Player {
    fn new(n: u64, plan: &Plan) -> Player {
        let delay = Duration::from_millis(plan.round_trip_ms / 2);
        let stall = plan.stalls.then_some((Duration::from_millis(250), 15));
        let way = || Way::new(delay, Duration::from_millis(plan.jitter_ms), stall);
        let mut machine = Machine::new(Hall::schema(), Options::default(), n);
        machine.interpolate::<Walker>((Walker::X, Walker::Y, Walker::HEIGHT));
        assert!(machine.poll_dial(Duration::ZERO));
        machine.handle_open(Duration::ZERO, Vec::new());
        Player {
            machine,
            conn: ConnectionId(n),
            opened: false,
            up: way(),
            down: way(),
            steer: Steer::default(),
            until: Duration::ZERO,
            jumped: 0,
        }
    }

    fn speak(&mut self, now: Duration, rng: &mut ChaCha8Rng) {
        while let Some(outgoing) = self.machine.poll_transmit() {
            let machine::Outgoing::Message(bytes) = outgoing else { panic!("{outgoing:?}") };
            self.up.send(now, bytes, rng);
        }
    }

    /// Changes her mind now and then; returns whether she turned just now.
    fn decide(&mut self, now: Duration, rng: &mut ChaCha8Rng) -> bool {
        self.steer.jump = false;
        if now < self.until {
            return false;
        }
        let mut pick = || (rng.next_u32() % 3) as f32 - 1.0;
        let (right, forth) = (pick(), pick());
        self.steer = Steer { right, forth, jump: rng.next_u32().is_multiple_of(3) };
        self.until = now + Duration::from_millis(u64::from(300 + rng.next_u32() % 900));
        true
    }

    fn draw(&self) -> Option<Walker> {
        let player = self.machine.player()?;
        let id = self.machine.all::<Walker>().find(|(_, walker)| walker.owner == player)?.0;
        self.machine.drawn(id).cloned()
    }
}

/// Seconds before anything counts: the clock and the lead find themselves.
const WARM: u64 = 5;

pub(crate) fn play(plan: &Plan) -> Figures {
    let mut world = World::new(plan);
    let mut figures = Figures::default();
    let (mut drawn, mut moved) = (None::<Walker>, None::<(f32, f32)>);
    let mut before = (0, 0, 0, 0);
    let mut waits = 0;
    // When inputs were missed, and when corrections came, by the second.
    let (mut troubles, mut corrections) = (Vec::new(), Vec::new());
    let (mut errors, mut lag) = (Vec::new(), 0.0);
    let end = Duration::from_secs(WARM + plan.seconds);
    let warm = Duration::from_secs(WARM);
    while world.now < end {
        let frame = world.now + FRAME;
        world.pass(frame);
        let (now, rng) = (world.now, &mut world.rng);
        for player in &mut world.players {
            let turned = now > warm / 2 && player.decide(now, rng);
            player.jumped += u64::from(turned && player.steer.jump);
            player.machine.input::<Walk>(player.steer.clone());
            player.machine.update(now);
            player.speak(now, rng);
        }
        let stats = world.players[0].machine.stats();
        let seen = (stats.corrections, stats.replayed_inputs, stats.starved, stats.late);
        if now < warm {
            before = seen;
            continue;
        }
        if seen.2 + seen.3 > before.2 + before.3 + troubles.len() as u64 {
            let count = seen.2 + seen.3 - before.2 - before.3 - troubles.len() as u64;
            troubles.extend((0..count).map(|_| now));
        }
        let new = seen.0 - before.0 - corrections.len() as u64;
        corrections.extend((0..new).map(|_| now));
        if let Some((error, behind)) = world.remote_error() {
            errors.push(error);
            lag += behind;
        }
        let own = world.players[0].draw();
        if let (Some(own), Some(last)) = (&own, &drawn) {
            let way = (own.x - last.x, own.y - last.y);
            let length = way.0.hypot(way.1);
            figures.leap = figures.leap.max(length - super::game::SPEED * FRAME.as_secs_f32() * 2.0);
            // Where she wants to go and nothing stands, the picture moves in the frame of the change.
            let wants = world.players[0].steer.right != 0.0 || world.players[0].steer.forth != 0.0;
            waits = if wants && length == 0.0 && moved.is_some() { waits + 1 } else { 0 };
            moved = Some(way);
        }
        let _ = waits;
        drawn = own;
    }
    figures.frames_to_screen = frames_to_screen(plan);
    errors.sort_by(f64::total_cmp);
    figures.remote_p99 = errors[errors.len() * 99 / 100];
    figures.remote_mean = errors.iter().sum::<f64>() / errors.len() as f64;
    figures.behind_ms = lag / errors.len() as f64 * TICK.as_secs_f64() * 1000.0;
    let stats = world.players[0].machine.stats();
    let minutes = plan.seconds as f64 / 60.0;
    figures.corrections_a_minute = (stats.corrections - before.0) as f64 / minutes;
    figures.replayed_a_minute = (stats.replayed_inputs - before.1) as f64 / minutes;
    figures.starved_share = (stats.starved - before.2) as f64 / (plan.seconds * 20) as f64;
    figures.late = stats.late - before.3;
    figures.lead_ticks = world.players[0].machine.lead_ticks();
    let near = |a: Duration, b: Duration| a.abs_diff(b) < Duration::from_secs(2);
    let unexplained = corrections.iter().filter(|at| !troubles.iter().any(|trouble| near(**at, *trouble)));
    figures.unexplained = unexplained.count() as u64;
    if std::env::var_os("FEEL_TRACE").is_some() {
        println!("corrections at {corrections:?}, missed inputs at {troubles:?}");
    }
    settle(&mut world, &mut figures);
    figures
}

/// Everybody rests, and all that was done has arrived.
fn settle(world: &mut World, figures: &mut Figures) {
    for _ in 0..240 {
        let frame = world.now + FRAME;
        world.pass(frame);
        let (now, rng) = (world.now, &mut world.rng);
        for player in &mut world.players {
            player.machine.input::<Walk>(Steer::default());
            player.machine.update(now);
            player.speak(now, rng);
        }
    }
    for index in 0..world.players.len() {
        let jumps = u64::from(world.walker(index).expect("she is there").1.presses);
        let wanted = world.players[index].jumped;
        figures.jumps_lost += wanted.saturating_sub(jumps);
        figures.jumps_doubled += jumps.saturating_sub(wanted);
        let own = world.walker(index).expect("she is there");
        assert_eq!(world.players[index].machine.get(own.0), Some(own.1), "both ends are the same at rest");
    }
}

/// In a game of its own: the second player shoots at the first, who walks across, so many times. How often she hits with
/// the room rewound to what she drew, and how often without.
pub(crate) fn shoot(plan: &Plan, times: usize) -> (usize, usize) {
    let mut world = World::new(plan);
    let (mut shots, mut hits) = (0, Vec::new());
    for n in 0..times * 90 + 400 {
        let until = world.now + FRAME;
        world.pass(until);
        let (now, rng) = (world.now, &mut world.rng);
        // To and fro, past no pillar.
        let right = if n / 90 % 2 == 0 { 1.0 } else { -1.0 };
        let walks = [Steer { right, ..Steer::default() }, Steer::default()];
        for (player, steer) in world.players.iter_mut().zip(walks) {
            player.machine.input::<Walk>(steer);
            player.machine.update(now);
            player.speak(now, rng);
        }
        let target = world.walker(0).map(|(id, _)| id);
        let machine = &mut world.players[1].machine;
        hits.extend(machine.events().filter_map(|event| match event {
            Event::Message(message) => Some(message.decode::<(bool, bool)>().expect("an answer")),
            _ => None,
        }));
        // In the middle of the way.
        if n > 300 && n % 90 == 45 && shots < times {
            let id = target.expect("she is there");
            let (drawn, time) = (machine.drawn(id).expect("seen"), machine.drawn_time(id).expect("drawn"));
            let shot = Shot { target: id.get(), x: drawn.x, y: drawn.y, drawn: time };
            machine.send(&shot).expect("it is short");
            shots += 1;
        }
    }
    let of = |pick: fn(&(bool, bool)) -> bool| hits.iter().filter(|hit| pick(hit)).count();
    assert_eq!(hits.len(), times);
    (of(|hit| hit.0), of(|hit| hit.1))
}

/// In a game of its own: she stands, walks in one frame, and the frames are counted until her picture moves.
fn frames_to_screen(plan: &Plan) -> u32 {
    let mut world = World::new(plan);
    let mut most = 0;
    let frame = |world: &mut World, steer: Steer| {
        let until = world.now + FRAME;
        world.pass(until);
        let (now, rng) = (world.now, &mut world.rng);
        for player in &mut world.players {
            player.machine.input::<Walk>(steer.clone());
            player.machine.update(now);
            player.speak(now, rng);
        }
        world.players[0].draw()
    };
    (0..300).for_each(|_| _ = frame(&mut world, Steer::default()));
    for round in 0..40 {
        let rest = 23 + round % 5;
        let mut stood = None;
        (0..rest).for_each(|_| stood = frame(&mut world, Steer::default()));
        let forth = if round % 2 == 0 { 1.0 } else { -1.0 };
        let mut frames = 0;
        loop {
            frames += 1;
            let drawn = frame(&mut world, Steer { forth, ..Steer::default() });
            if drawn.map(|own| own.y) != stood.as_ref().map(|own| own.y) {
                break;
            }
            assert!(frames < 100, "she never moves");
        }
        most = most.max(frames);
        (0..10).for_each(|_| _ = frame(&mut world, Steer { forth, ..Steer::default() }));
    }
    most
}

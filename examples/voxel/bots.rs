//! Bots over real WebSockets, and the report at their end.

use std::error::Error;
use std::time::{Duration, Instant};

use room::prelude::*;
use room::server::ServerHandle;
use room_client::{Client, Status};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::blocks::Palette;
use crate::brain::Brain;
use crate::cpu::{self, Usage};
use crate::game::Voxel;
use crate::host::Host;
use crate::oracle::{Copy, Mismatch, mismatches};
use crate::shared::{self, Avatar, Chunk, ROOM, World};

/// How often a bot looks and acts.
const TURN: Duration = Duration::from_millis(50);
/// How long the bots may take to be drained.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing may come for the bots to count as drained.
const QUIET: Duration = Duration::from_secs(1);
/// Mismatches named on stderr.
const NAMED: usize = 20;

/// Whatever ends a run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What to drive the world with.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// How many bots.
    pub bots: u32,
    /// How long they play.
    pub seconds: u32,
    /// Where they go.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Report {
    example: &'static str,
    bots: u32,
    seconds: u32,
    ticks: u64,
    chunks: usize,
    entities: usize,
    enters: u64,
    changes: u64,
    leaves: u64,
    bytes_sent: u64,
    bytes_plain: u64,
    /// Plain bytes over compressed bytes of the chunks that entered views.
    chunk_ratio: f64,
    tick_ms: TickMs,
    dropped_ticks: u64,
    /// Blocks that all bots took away in a second, and those that they placed.
    digs_per_second: f64,
    builds_per_second: f64,
    /// Whether the room is kept in a store.
    pub store: bool,
    /// What its commits took.
    pub commit_ms_p50: f64,
    pub commit_ms_p99: f64,
    /// Processor time of the process, bots and all, for each tick while the bots played; null where the system does not
    /// tell.
    pub cpu_ms_per_tick: Option<f64>,
    /// And that of the server's threads alone.
    pub cpu_ms_per_tick_server: Option<f64>,
    /// Entities and fields in which a bot's copy differs from the oracle once drained.
    pub mismatches: usize,
}

#[derive(Debug, Serialize)]
struct TickMs {
    p50: f64,
    p99: f64,
    max: f64,
}

/// Plays for the time of the run, waits until every bot has everything, and compares.
pub async fn drive(server: &ServerHandle<Voxel>, run: &Run) -> Result<Report, Failure> {
    let url = server.url(ROOM);
    let mut bots = join_all(&url, run).await?;
    let before = Mark::now(server).await?;
    bots = play(bots, server, run).await?;
    let played = Mark::now(server).await?.since(&before);
    let room = drain(&mut bots, server).await?;
    let found = compare(&room, &bots);
    report(server, run, &room, &played, found).await
}

/// Figures that only grow.
struct Mark {
    at: Instant,
    ticks: u64,
    dug: u32,
    placed: u32,
    process_ms: Option<f64>,
    server: Option<Usage>,
}

/// What was done between two marks.
struct Played {
    digs_per_second: f64,
    builds_per_second: f64,
    cpu_ms_per_tick: Option<f64>,
    cpu_ms_per_tick_server: Option<f64>,
}

impl Mark {
    async fn now(server: &ServerHandle<Voxel>) -> Result<Mark, Failure> {
        let look = server.inspect(ROOM, |_, room| {
            let count = |of: fn(&Avatar) -> u32| room.all::<Avatar>().map(|(_, avatar)| of(avatar)).sum();
            (room.tick().0, count(|avatar| avatar.dug), count(|avatar| avatar.placed))
        });
        let (ticks, dug, placed) = look.await.ok_or("the room has ended")?;
        let (process_ms, server) = (cpu::process_ms(), Host::usage());
        Ok(Mark { at: Instant::now(), ticks, dug, placed, process_ms, server })
    }

    fn since(&self, before: &Mark) -> Played {
        let seconds = (self.at - before.at).as_secs_f64();
        let ticks = (self.ticks - before.ticks).max(1) as f64;
        let process = self.process_ms.zip(before.process_ms).map(|(now, then)| now - then);
        let server = self.server.as_ref().zip(before.server.as_ref()).map(|(now, then)| now.ms_since(then));
        Played {
            digs_per_second: rounded(f64::from(self.dug - before.dug) / seconds),
            builds_per_second: rounded(f64::from(self.placed - before.placed) / seconds),
            cpu_ms_per_tick: process.map(|ms| rounded(ms / ticks)),
            cpu_ms_per_tick_server: server.map(|ms| rounded(ms / ticks)),
        }
    }
}

/// To three digits behind the point.
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

struct Bot {
    number: u32,
    client: Client,
}

impl Bot {
    fn name(number: u32) -> String {
        format!("bot {number}")
    }

    /// Takes what has come; an error where the room ended the connection.
    fn update(&mut self) -> Result<(), Failure> {
        self.client.update(Instant::now());
        match self.client.status() {
            Status::Closed { code, reason } => Err(format!(
                "{}: the room closed its connection: {reason} ({code:?})",
                Bot::name(self.number)
            )
            .into()),
            _ => Ok(()),
        }
    }
}

/// Connects all bots, and waits until each has been let in.
async fn join_all(url: &str, run: &Run) -> Result<Vec<Bot>, Failure> {
    let mut joining = JoinSet::new();
    for number in 1..=run.bots {
        let url = url.to_owned();
        joining.spawn(async move {
            let client = room_client::connect(&url, shared::schema()).name(Bot::name(number)).await?;
            Ok::<_, Failure>(Bot { number, client })
        });
    }
    let mut bots = Vec::new();
    while let Some(bot) = joining.join_next().await {
        bots.push(bot??);
    }
    bots.sort_by_key(|bot| bot.number);
    Ok(bots)
}

/// Lets every bot play on a task of its own; one line of progress a second.
async fn play(bots: Vec<Bot>, server: &ServerHandle<Voxel>, run: &Run) -> Result<Vec<Bot>, Failure> {
    let (stop, stopped) = watch::channel(false);
    let mut playing = JoinSet::new();
    for bot in bots {
        playing.spawn(play_one(bot, run.seed, stopped.clone()));
    }
    for second in 1..=run.seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let stats = server.stats(ROOM).await.unwrap_or_default();
        eprintln!(
            "{second:>4} s: {} bots, tick {}, {:.1} MB sent, {:.2} ms a tick (median), {} dropped",
            run.bots,
            stats.ticks,
            stats.bytes_sent as f64 / 1e6,
            stats.tick_ms(0.5),
            stats.dropped_ticks
        );
    }
    stop.send_replace(true);
    let mut ended = Vec::new();
    while let Some(bot) = playing.join_next().await {
        ended.push(bot??);
    }
    ended.sort_by_key(|bot| bot.number);
    Ok(ended)
}

async fn play_one(mut bot: Bot, seed: u64, stopped: watch::Receiver<bool>) -> Result<Bot, Failure> {
    let mut brain = Brain::new(seed, u64::from(bot.number));
    let mut palette = None;
    let mut turns = tokio::time::interval(TURN);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut last = Instant::now();
    while !*stopped.borrow() {
        turns.tick().await;
        bot.update()?;
        let seconds = last.elapsed().as_secs_f32().min(0.1);
        last = Instant::now();
        if palette.is_none() {
            palette = bot.client.state::<World>().and_then(|world| Palette::new(world.palette.to_vec()));
        }
        let (Some(me), Some(palette)) = (avatar_of(&bot.client), &palette) else { continue };
        if let Some(action) = brain.think(&bot.client, palette, me.feet(), seconds) {
            bot.client.send(&action)?;
        }
    }
    Ok(bot)
}

fn avatar_of(client: &Client) -> Option<&Avatar> {
    let player = client.player()?;
    client.all::<Avatar>().map(|(_, avatar)| avatar).find(|avatar| avatar.owner == player)
}

/// Waits until nothing has come to any bot for a while and nothing is held back, then copies the room.
async fn drain(bots: &mut [Bot], server: &ServerHandle<Voxel>) -> Result<Copy, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut quiet_since = Instant::now();
    let mut seen: Vec<Tick> = Vec::new();
    while quiet_since.elapsed() < QUIET {
        if Instant::now() > deadline {
            return Err(format!("the bots are not drained after {PATIENCE:?}").into());
        }
        tokio::time::sleep(TURN).await;
        for bot in bots.iter_mut() {
            bot.update()?;
        }
        let ticks: Vec<Tick> = bots.iter().map(|bot| bot.client.tick()).collect();
        let held = bots.iter().any(|bot| bot.client.complete() < bot.client.tick());
        if held || ticks != seen {
            quiet_since = Instant::now();
            seen = ticks;
        }
    }
    let copy = server.inspect(ROOM, |_, room| Copy {
        world: room.state::<World>().clone(),
        chunks: room.all::<Chunk>().map(|(id, chunk)| (id, chunk.clone())).collect(),
        avatars: room.all::<Avatar>().map(|(id, avatar)| (id, avatar.clone())).collect(),
        present: room.presences().map(|presence| (presence.player, presence.clone())).collect(),
    });
    copy.await.ok_or_else(|| "the room has ended".into())
}

/// The number of mismatches of all bots; the first ones are named on stderr.
fn compare(room: &Copy, bots: &[Bot]) -> usize {
    let mut count = 0;
    for bot in bots {
        let client = &bot.client;
        let copy = Copy {
            world: client.state::<World>().cloned().unwrap_or_default(),
            chunks: client.all::<Chunk>().map(|(id, chunk)| (id, chunk.clone())).collect(),
            avatars: client.all::<Avatar>().map(|(id, avatar)| (id, avatar.clone())).collect(),
            present: client.presences().into_iter().map(|it| (it.player, it.clone())).collect(),
        };
        let found = match client.player() {
            Some(player) => mismatches(room, player, &copy),
            None => vec![Mismatch::NoAvatar],
        };
        for mismatch in found.iter().take(NAMED.saturating_sub(count)) {
            eprintln!("{}: {mismatch}", Bot::name(bot.number));
        }
        count += found.len();
    }
    count
}

async fn report(
    server: &ServerHandle<Voxel>,
    run: &Run,
    room: &Copy,
    played: &Played,
    mismatches: usize,
) -> Result<Report, Failure> {
    let gone = || Failure::from("the room has ended");
    let loop_stats = server.stats(ROOM).await.ok_or_else(gone)?;
    let sync = server.inspect(ROOM, |_, room| room.stats()).await.ok_or_else(gone)?;
    let ms = |share: f64| rounded(loop_stats.tick_ms(share));
    let ratio = sync.piece_plain as f64 / sync.piece_packed.max(1) as f64;
    Ok(Report {
        example: "voxel",
        bots: run.bots,
        seconds: run.seconds,
        ticks: loop_stats.ticks,
        chunks: room.chunks.len(),
        entities: room.chunks.len() + room.avatars.len(),
        enters: sync.enters,
        changes: sync.changes,
        leaves: sync.leaves,
        bytes_sent: sync.bytes_sent,
        bytes_plain: sync.bytes_plain,
        chunk_ratio: (ratio * 100.0).round() / 100.0,
        tick_ms: TickMs { p50: ms(0.5), p99: ms(0.99), max: ms(1.0) },
        dropped_ticks: loop_stats.dropped_ticks,
        digs_per_second: played.digs_per_second,
        builds_per_second: played.builds_per_second,
        store: !loop_stats.commit_times.is_empty(),
        commit_ms_p50: rounded(loop_stats.commit_ms(0.5)),
        commit_ms_p99: rounded(loop_stats.commit_ms(0.99)),
        cpu_ms_per_tick: played.cpu_ms_per_tick,
        cpu_ms_per_tick_server: played.cpu_ms_per_tick_server,
        mismatches,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::host::Site;
    use crate::keep::Keep;
    use crate::terrain::Terrain;

    #[test]
    fn what_bots_see_of_the_real_terrain_is_what_the_oracle_says() {
        let run = Run { bots: 6, seconds: 3, seed: 1 };
        let terrain = Arc::new(Terrain::built_in().unwrap());
        let site = Site { host: "127.0.0.1".to_owned(), port: 0, terrain, bots: run.bots };
        let host = Host::start(site, Keep::temporary().unwrap()).unwrap();
        let threads = tokio::runtime::Runtime::new().unwrap();
        let report = threads.block_on(drive(&host.handle, &run)).unwrap();
        host.stop();
        assert_eq!(report.mismatches, 0);
        assert_eq!((report.chunks, report.entities), (1536, 1542));
        assert!(report.enters > 6 * 100 && report.leaves > 0 && report.changes > 0, "{report:?}");
        assert!(report.store && report.commit_ms_p99 > 0.0 && report.digs_per_second > 0.0, "{report:?}");
        if cfg!(target_os = "linux") {
            let (all, server) = (report.cpu_ms_per_tick.unwrap(), report.cpu_ms_per_tick_server.unwrap());
            assert!(0.0 < server && server < all, "the bots' time is not the server's: {report:?}");
        }
    }
}

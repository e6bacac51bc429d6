//! The server with its rooms, the players beside it, and what came of both.

use std::process::Stdio;
use std::time::{Duration, Instant};

use room::server::{RoomStats, Server, ServerHandle};
use room::storage::Store;
use serde::Serialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::figures::{Ms, rounded};
use crate::game::Walk;
use crate::keep::Keep;
use crate::load::{Failure, Order, State, name};
use crate::{cpu, heap, system};

/// How long the players may take to come in.
const PATIENCE: Duration = Duration::from_secs(120);
/// What the joins have left behind goes by before anything is measured.
const WARM_UP: Duration = Duration::from_secs(3);
/// How long after its time a room may still be awake.
const GRACE: Duration = Duration::from_secs(10);
/// Ticks and commits whose times a room remembers.
const REMEMBERED: usize = 4096;

/// How many rooms there are, and for how long they are played in.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub rooms: usize,
    pub bots: usize,
    pub seconds: u64,
    /// Seconds after which a room sleeps that nobody is in.
    pub sleep: u64,
    /// How often all come, play and leave. From the second time on, rooms are woken.
    pub rounds: usize,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Report {
    example: &'static str,
    rooms: usize,
    bots: usize,
    seconds: u64,
    rounds: usize,
    store: bool,
    /// From here to the share of the processor: of the last round. Of all rooms together.
    ticks: u64,
    tick_ms: Ms,
    commits: usize,
    commit_ms: Ms,
    /// Since the rooms were made, the joins included.
    pub dropped_ticks: u64,
    /// Processor time of the server's process for each second.
    cpu_share: Option<f64>,
    /// Bytes of the heap that a room takes while it is played in.
    heap_per_room: f64,
    /// Rooms that slept in time, after the last player had left, and how long it took until all did.
    pub asleep: usize,
    asleep_seconds: f64,
    /// Bytes of the heap: before the rooms were made, and after each round when they were played in, and when all slept.
    heap_start: usize,
    heap_played: Vec<usize>,
    heap_asleep: Vec<usize>,
    /// The last of these over the start; how much of what was taken is not given back; and that for each room, which is
    /// what a server knows of rooms that sleep.
    heap_back: f64,
    heap_left: f64,
    heap_per_sleeping_room: f64,
    /// What the process has in memory, at the same times, where the system tells; with what SQLite has, and what was
    /// freed and is kept for later.
    rss: [Option<u64>; 3],
    pub failed: u64,
}

impl Report {
    /// Whether all players held, and all rooms sleep.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.asleep == self.rooms
    }
}

/// Starts the server, and the load in a process of its own.
pub async fn with_process(run: Run, keep: &Keep) -> Result<Report, Failure> {
    system::allow_sockets(run.rooms * run.bots)?;
    let start = |url: String| {
        let mut child = tokio::process::Command::new(std::env::current_exe()?)
            .args(["--load", &url, "--rooms", &run.rooms.to_string(), "--bots", &run.bots.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Ok((BufReader::new(from), to, child))
    };
    drive(run, keep, start).await
}

/// The load as the server has it.
struct Load<W> {
    orders: W,
    heard: watch::Receiver<State>,
}

/// Why there is no more to hear.
const ENDED: &str = "the load ended too early";

impl<W: AsyncWrite + Unpin> Load<W> {
    async fn order(&mut self, order: Order) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(&order)?;
        line.push(b'\n');
        self.orders.write_all(&line).await?;
        Ok(self.orders.flush().await?)
    }

    async fn until(&mut self, what: &str, is: impl Fn(&State) -> bool) -> Result<State, Failure> {
        let waited = timeout(PATIENCE, self.heard.wait_for(|state| is(state))).await;
        let state = waited.map_err(|_| format!("after {PATIENCE:?} the players have not all {what}"))?;
        Ok(*state.map_err(|_| ENDED)?)
    }
}

/// Drives rooms with the load that `start` starts: its words, the way to it, and what keeps it alive.
pub async fn drive<R, W, K>(
    run: Run,
    keep: &Keep,
    start: impl FnOnce(String) -> Result<(R, W, K), Failure>,
) -> Result<Report, Failure>
where
    R: AsyncBufRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin,
{
    let players = (run.rooms * run.bots) as u32;
    let server = keep.attach(Server::new(|_: &str| Walk::default()));
    let server = server
        .port(0)
        .max_players(run.bots)
        .max_rooms(run.rooms + 1)
        .sleep_seconds(run.sleep)
        // They all come from one address.
        .rooms_per_minute(run.rooms as u32 + 1)
        .sockets_per_second(2 * players + 200)
        .start()
        .await?;
    let (words, orders, _alive) = start(server.url(""))?;
    let (tell, heard) = watch::channel(State::default());
    let listener = tokio::spawn(listen(words, tell));
    let mut load = Load { orders, heard };
    let report = measure(run, keep, &server, &mut load).await;
    listener.abort();
    server.shutdown().await;
    report
}

async fn listen<R: AsyncBufRead + Unpin>(words: R, tell: watch::Sender<State>) {
    let mut lines = words.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(state) => _ = tell.send_replace(state),
            Err(error) => eprintln!("rooms: the load says what means nothing: {error}"),
        }
    }
}

async fn measure<W: AsyncWrite + Unpin>(
    run: Run,
    keep: &Keep,
    server: &ServerHandle<Walk>,
    load: &mut Load<W>,
) -> Result<Report, Failure> {
    // What the first room of a server needs stays with it.
    load.order(Order::Join { first: 0, rooms: 1, bots: run.bots }).await?;
    load.until("joined", |state| state.open + state.failed >= run.bots as u64).await?;
    sleep(WARM_UP).await;
    leave(server, load, run.sleep).await?;
    let (heap_start, rss_start) = (heap::held(), system::rss());
    let (mut heap_played, mut heap_asleep) = (Vec::new(), Vec::new());
    let (mut played, mut asleep, mut asleep_seconds) = (Played::default(), run.rooms, 0.0_f64);
    let (mut rss_played, mut rss_asleep) = (None, None);
    for _ in 0..run.rounds {
        let failed = load.heard.borrow().failed;
        let players = (run.rooms * run.bots) as u64;
        load.order(Order::Join { first: 1, rooms: run.rooms, bots: run.bots }).await?;
        load.until("joined", |state| state.open + state.failed - failed >= players).await?;
        sleep(WARM_UP).await;
        played = play(run, server).await?;
        heap_played.push(heap::held());
        rss_played = system::rss();
        asleep_seconds = asleep_seconds.max(leave(server, load, run.sleep).await?);
        asleep = asleep.min(run.rooms - server.rooms().len().min(run.rooms));
        heap_asleep.push(heap::held());
        rss_asleep = system::rss();
    }
    if let Some(store) = keep.store() {
        let awake = store.rooms()?.iter().filter(|room| room.awake).count();
        if awake != server.rooms().len() {
            return Err(format!("{awake} rooms are stored as awake, and {} are", server.rooms().len()).into());
        }
    }
    let (taken, left) = (above(&heap_played, heap_start), above(&heap_asleep, heap_start));
    let Played { ticks, tick_ms, commits, commit_ms, dropped_ticks, cpu_share } = played;
    Ok(Report {
        example: "rooms",
        rooms: run.rooms,
        bots: run.bots,
        seconds: run.seconds,
        rounds: run.rounds,
        store: keep.is_durable(),
        ticks,
        tick_ms,
        commits,
        commit_ms,
        dropped_ticks,
        cpu_share,
        heap_per_room: rounded(taken / run.rooms as f64),
        asleep,
        asleep_seconds: rounded(asleep_seconds),
        heap_start,
        heap_back: rounded(1.0 + left / heap_start as f64),
        heap_left: rounded(left / taken),
        heap_per_sleeping_room: rounded(left / run.rooms as f64),
        heap_played,
        heap_asleep,
        rss: [rss_start, rss_played, rss_asleep],
        failed: load.heard.borrow().failed,
    })
}

/// How far the last figure is above the start.
fn above(figures: &[usize], start: usize) -> f64 {
    figures.last().map_or(0.0, |last| *last as f64 - start as f64)
}

/// Lets all players leave, and waits until all rooms sleep, or until they should have. Returns the seconds.
async fn leave<W: AsyncWrite + Unpin>(
    server: &ServerHandle<Walk>,
    load: &mut Load<W>,
    seconds: u64,
) -> Result<f64, Failure> {
    load.order(Order::Leave).await?;
    load.until("left", |state| state.open == 0).await?;
    let since = Instant::now();
    let most = Duration::from_secs(seconds) + GRACE;
    while !server.rooms().is_empty() && since.elapsed() < most {
        sleep(Duration::from_millis(100)).await;
    }
    let slept = since.elapsed().as_secs_f64();
    // The last task of a room, and the sockets', come to their end.
    sleep(Duration::from_secs(1)).await;
    Ok(slept)
}

/// What rooms did while they were played in.
#[derive(Default)]
struct Played {
    ticks: u64,
    tick_ms: Ms,
    commits: usize,
    commit_ms: Ms,
    dropped_ticks: u64,
    cpu_share: Option<f64>,
}

async fn play(run: Run, server: &ServerHandle<Walk>) -> Result<Played, Failure> {
    let first = look(run, server).await?;
    let (began, cpu) = (Instant::now(), cpu::process_ms());
    for second in 1..=run.seconds {
        sleep(Duration::from_secs(1)).await;
        let one = server.stats(&name(1)).await.ok_or("a room has ended")?;
        eprintln!(
            "{second:>4} s: {} rooms; of one p50 {:.2} ms a tick, {:.2} ms a commit, {} ticks dropped",
            server.rooms().len(),
            one.tick_ms(0.5),
            one.commit_ms(0.5),
            one.dropped_ticks
        );
    }
    let used = cpu::process_ms().zip(cpu).map(|(now, then)| (now - then) / 1e3);
    let seconds = began.elapsed().as_secs_f64();
    let last = look(run, server).await?;
    let (mut tick_times, mut commit_times) = (Vec::new(), Vec::new());
    for (before, after) in first.iter().zip(&last) {
        let fresh = ((after.ticks - before.ticks) as usize).min(REMEMBERED);
        tick_times.extend(after.tick_times.iter().rev().take(fresh));
        // How many are new is not said once there are more than are remembered.
        let known = if after.commit_times.len() < REMEMBERED { before.commit_times.len() } else { 0 };
        commit_times.extend(after.commit_times.iter().skip(known));
    }
    Ok(Played {
        ticks: first.iter().zip(&last).map(|(before, after)| after.ticks - before.ticks).sum(),
        tick_ms: Ms::of(&tick_times),
        commits: commit_times.len(),
        commit_ms: Ms::of(&commit_times),
        dropped_ticks: last.iter().map(|stats| stats.dropped_ticks).sum(),
        cpu_share: used.map(|used| rounded(used / seconds)),
    })
}

/// The figures of all rooms, in order.
async fn look(run: Run, server: &ServerHandle<Walk>) -> Result<Vec<RoomStats>, Failure> {
    let mut all = Vec::new();
    for number in 1..=run.rooms {
        all.push(server.stats(&name(number)).await.ok_or("a room has ended")?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::load;

    #[tokio::test(flavor = "multi_thread")]
    async fn many_rooms_are_played_in_and_sleep_once_all_have_left() {
        let run = Run { rooms: 6, bots: 2, seconds: 2, sleep: 1, rounds: 2 };
        let start = |url| {
            let (near_in, far_in) = duplex(1 << 16);
            let (near_out, far_out) = duplex(1 << 16);
            let task = tokio::spawn(load::run(url, BufReader::new(far_in), far_out));
            Ok((BufReader::new(near_out), near_in, task))
        };
        let keep = Keep::temporary().unwrap();
        let report = drive(run, &keep, start).await.unwrap();
        assert!(report.is_good(), "{report:?}");
        assert!(report.commits > 6 && report.ticks > 6 * 20 && report.commit_ms.p50 > 0.0, "{report:?}");
        let rooms = keep.store().unwrap().rooms().unwrap_err();
        assert_eq!(rooms.to_string(), room::storage::StoreError::Closed.to_string());
    }
}

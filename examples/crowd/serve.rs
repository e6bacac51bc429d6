//! The server, the load beside it, and what came of both.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use room::server::{RoomStats, Server, ServerHandle};
use serde::Serialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::watch;
use tokio::time::{interval, sleep, timeout};

use crate::check;
use crate::game::{Crowd, World};
use crate::load::{Failure, State, Word};
use crate::system;

const ROOM: &str = "square";
/// How long the connections may take to come in, and the copies to be drained at the end.
const PATIENCE: Duration = Duration::from_secs(120);
const SECOND: Duration = Duration::from_secs(1);
/// What the joins have left behind goes by before anything is measured.
const WARM_UP: Duration = Duration::from_secs(2);

/// How large the crowd is, and for how long it moves.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub connections: usize,
    pub entities: usize,
    pub sample: usize,
    pub seconds: u64,
    pub threads: usize,
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    connections: usize,
    entities: usize,
    seconds: u64,
    threads: usize,
    /// Dots that a player sees on average.
    visible: f64,
    ticks: u64,
    tick_ms: TickMs,
    /// Processor time of the server's process for each second, and of the load's.
    cpu_share: f64,
    load_cpu_share: f64,
    bytes_per_connection_per_second: f64,
    /// Updates that cover more than one tick, because a connection had not acknowledged enough.
    merged_updates: u64,
    /// Since the room was made, the joins included.
    dropped_ticks: u64,
    /// Copies that were compared.
    pub compared: u64,
    pub mismatches: u64,
    pub failed_connections: u64,
}

#[derive(Debug, Default, Serialize)]
struct TickMs {
    p50: f64,
    p99: f64,
    max: f64,
}

impl Report {
    /// Whether every connection held, and every copy was right.
    pub fn is_good(&self) -> bool {
        self.mismatches == 0 && self.failed_connections == 0 && self.compared > 0
    }
}

/// What the load has said.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    state: State,
    compared: u64,
    mismatches: u64,
    done: bool,
}

/// Starts the server, and the load in a process of its own.
pub async fn with_process(run: Run) -> Result<Report, Failure> {
    system::allow_sockets(run.connections)?;
    let start = |url: String| {
        let mut child = tokio::process::Command::new(std::env::current_exe()?)
            .args(["--load", &url, "--connections", &run.connections.to_string()])
            .args(["--sample", &run.sample.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Ok((BufReader::new(from), to, child))
    };
    drive(run, start).await
}

/// Drives a crowd with the load that `start` starts: its words, the way to it, and what keeps it alive.
pub async fn drive<R, W, K>(
    run: Run,
    start: impl FnOnce(String) -> Result<(R, W, K), Failure>,
) -> Result<Report, Failure>
where
    R: AsyncBufRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin,
{
    let world = Arc::new(World::default());
    let shared = world.clone();
    let server = Server::new(move |_: &str| Crowd::new(shared.clone(), run.entities))
        .port(0)
        .max_players(run.connections)
        .threads(run.threads)
        // They all come from one address, which may open half of them.
        .sockets_per_second(2 * run.connections as u32 + 200)
        .start()
        .await?;
    let (words, mut input, _alive) = start(server.url(ROOM))?;
    let (tell, mut heard) = watch::channel(Heard::default());
    let listener = tokio::spawn(listen(words, world.clone(), tell));
    join(run, &mut heard).await?;
    sleep(WARM_UP).await;
    let mut report = measure(run, &server, &heard).await?;
    world.paused.store(true, Ordering::Relaxed);
    input.write_all(b"rest\n").await?;
    input.flush().await?;
    let last = timeout(PATIENCE, heard.wait_for(|heard| heard.done)).await;
    let last = *last.map_err(|_| "the load does not come to its end")?.map_err(|_| ENDED)?;
    listener.abort();
    report.compared = last.compared;
    report.mismatches = last.mismatches;
    report.failed_connections = last.state.failed;
    report.visible = rounded(world.at(u64::MAX, check::visible).unwrap_or_default());
    drop(input);
    server.shutdown().await;
    Ok(report)
}

/// Why there is no more to hear.
const ENDED: &str = "the load ended too early";

/// Hears the load, and holds its copies against the world.
async fn listen<R: AsyncBufRead + Unpin>(words: R, world: Arc<World>, tell: watch::Sender<Heard>) {
    let mut lines = words.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(Word::State(state)) => tell.send_modify(|heard| heard.state = state),
            Ok(Word::View(view)) => {
                // One that comes very late cannot be compared any more, and is not counted.
                let Some(wrong) = world.at(view.tick, |then| check::mismatches(then, &view)) else {
                    continue;
                };
                if wrong > 0 {
                    eprintln!("crowd: player {} has {wrong} dots wrong in tick {}", view.player, view.tick);
                }
                tell.send_modify(|heard| {
                    heard.compared += 1;
                    heard.mismatches += wrong as u64;
                });
            }
            Ok(Word::Done) => tell.send_modify(|heard| heard.done = true),
            Err(error) => eprintln!("crowd: the load says what means nothing: {error}"),
        }
    }
}

/// Waits until all connections were let in, but for those that failed.
async fn join(run: Run, heard: &mut watch::Receiver<Heard>) -> Result<(), Failure> {
    let all = run.connections as u64;
    let began = Instant::now();
    loop {
        let State { open, failed, .. } = heard.borrow_and_update().state;
        eprintln!("{open} of {all} connections open, {failed} failed");
        if open + failed >= all {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("after {PATIENCE:?} {open} of {all} connections are open").into());
        }
        let _ = timeout(SECOND, heard.wait_for(|heard| heard.state.open + heard.state.failed >= all)).await;
        if heard.has_changed().is_err() {
            return Err(ENDED.into());
        }
    }
}

/// Figures that only grow.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    at: f64,
    cpu: f64,
    load_cpu: f64,
    bytes: u64,
    ticks: u64,
    merged: u64,
}

/// Looks at the crowd while it moves; a line of progress a second.
async fn measure(
    run: Run,
    server: &ServerHandle<Crowd>,
    heard: &watch::Receiver<Heard>,
) -> Result<Report, Failure> {
    let began = Instant::now();
    let mut times: Vec<f64> = Vec::new();
    let (first, mut stats) = look(server, heard, began).await?;
    let mut seen = stats.ticks;
    let mut seconds = interval(SECOND);
    seconds.tick().await;
    for second in 1..=run.seconds {
        seconds.tick().await;
        if heard.has_changed().is_err() {
            return Err(ENDED.into());
        }
        stats = server.stats(ROOM).await.ok_or("the room has ended")?;
        let fresh = (stats.ticks - seen) as usize;
        seen = stats.ticks;
        let recent = stats.tick_times.iter().rev().take(fresh).map(|time| time.as_secs_f64() * 1e3);
        let from = times.len();
        times.extend(recent);
        let ms = TickMs::of(&times[from..]);
        eprintln!(
            "{second:>4} s: {fresh} ticks, p50 {:.2} ms, max {:.2} ms, {} dropped; {} copies compared",
            ms.p50,
            ms.max,
            stats.dropped_ticks,
            heard.borrow().compared
        );
    }
    let (last, stats) = look(server, heard, began).await?;
    let span = last.at - first.at;
    let bytes = (last.bytes - first.bytes) as f64;
    Ok(Report {
        connections: run.connections,
        entities: run.entities,
        seconds: run.seconds,
        threads: run.threads,
        ticks: last.ticks - first.ticks,
        tick_ms: TickMs::of(&times),
        cpu_share: rounded((last.cpu - first.cpu) / span),
        load_cpu_share: rounded((last.load_cpu - first.load_cpu) / span),
        bytes_per_connection_per_second: rounded(bytes / run.connections as f64 / span),
        merged_updates: last.merged - first.merged,
        dropped_ticks: stats.dropped_ticks,
        ..Report::default()
    })
}

async fn look(
    server: &ServerHandle<Crowd>,
    heard: &watch::Receiver<Heard>,
    began: Instant,
) -> Result<(Marks, RoomStats), Failure> {
    let stats = server.stats(ROOM).await.ok_or("the room has ended")?;
    let merged = server.inspect(ROOM, |_, room| room.stats().merged).await.ok_or("the room has ended")?;
    let marks = Marks {
        at: began.elapsed().as_secs_f64(),
        cpu: system::cpu_seconds(),
        load_cpu: heard.borrow().state.cpu_seconds,
        bytes: stats.bytes_sent,
        ticks: stats.ticks,
        merged,
    };
    Ok((marks, stats))
}

impl TickMs {
    fn of(times: &[f64]) -> TickMs {
        let mut times = times.to_vec();
        times.sort_unstable_by(f64::total_cmp);
        let rank = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().map_or(0.0, rounded)
        };
        TickMs { p50: rank(0.5), p99: rank(0.99), max: rank(1.0) }
    }
}

/// To three digits behind the point.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::load::{self, Load};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_small_crowd_over_real_sockets_is_right_in_every_copy() {
        let run = Run { connections: 24, entities: 600, sample: 8, seconds: 2, threads: 2 };
        let start = |url| {
            let (near_in, far_in) = duplex(1 << 16);
            let (near_out, far_out) = duplex(1 << 16);
            let load = Load { url, connections: run.connections, sample: run.sample };
            let task = tokio::spawn(load::run(load, BufReader::new(far_in), far_out));
            Ok((BufReader::new(near_out), near_in, task))
        };
        let report = drive(run, start).await.unwrap();
        assert!(report.is_good(), "{report:?}");
        assert!(report.compared >= 8 && report.ticks > 20 && report.visible > 20.0, "{report:?}");
        assert!(report.bytes_per_connection_per_second > 100.0, "{report:?}");
    }

    #[test]
    fn ranks_of_times() {
        let times: Vec<f64> = (1..=400).rev().map(f64::from).collect();
        let TickMs { p50, p99, max } = TickMs::of(&times);
        assert_eq!((p50, p99, max), (200.0, 396.0, 400.0));
        assert_eq!(TickMs::of(&[]).max, 0.0);
    }
}

//! The load: many players over real sockets, in a process of their own. What it has to tell goes to its output, a
//! line of JSON each; a line on its input says that the world has come to rest, and the end of the input ends it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use room::Game;
use room_client::{Client, Status};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::check::View;
use crate::game::{Crowd, Dot, Spot};
use crate::socket::Socket;

pub type Failure = Box<dyn Error + Send + Sync>;

/// How often the load says how it stands.
const TELL: Duration = Duration::from_millis(200);
/// Sockets that are being opened at a time.
const OPENING: usize = 32;
/// How often the copies take what has come: several times a tick, so that they see every tick by itself.
const LOOK: Duration = Duration::from_millis(10);
/// Each copy is compared in one of so many ticks, no two in a row of the same.
const TURNS: u64 = 20;
/// How long nothing may come for the copies to count as drained, and how long that may take.
const QUIET: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);
/// Reasons of failed connections that are told.
const NAMED: u64 = 5;

/// What the load is.
#[derive(Clone, Debug)]
pub struct Load {
    pub url: String,
    pub connections: usize,
    /// How many of them keep a copy of what they see.
    pub sample: usize,
}

/// A line of the output.
#[derive(Debug, Serialize, Deserialize)]
pub enum Word {
    /// How the load stands.
    State(State),
    /// What a copy holds.
    View(View),
    /// What every copy holds at rest has been told.
    Done,
}

/// The load's own figures.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Connections that were let in.
    pub open: u64,
    /// Connections that were not, or that ended too early.
    pub failed: u64,
    /// Updates that came to clients without a copy.
    pub updates: u64,
    /// Seconds of processor time, where the system tells.
    pub cpu_seconds: f64,
}

struct Shared {
    url: String,
    // Of sockets that are being opened.
    turns: Semaphore,
    open: AtomicU64,
    failed: AtomicU64,
    updates: AtomicU64,
}

impl Shared {
    fn fail(&self, what: &dyn std::fmt::Display) {
        if self.failed.fetch_add(1, Ordering::Relaxed) < NAMED {
            eprintln!("crowd: a connection failed: {what}");
        }
    }
}

/// Connects, and lives until the input ends.
pub async fn run<R, W>(load: Load, input: R, mut output: W) -> Result<(), Failure>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let shared = Arc::new(Shared {
        url: load.url,
        turns: Semaphore::new(OPENING),
        open: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        updates: AtomicU64::new(0),
    });
    let copies = load.sample.min(load.connections);
    let mut tasks = JoinSet::new();
    let (words, mut waiting) = mpsc::unbounded_channel();
    let (rest, at_rest) = tokio::sync::watch::channel(false);
    for number in 0..copies {
        tasks.spawn(copy(shared.clone(), number as u64, words.clone(), at_rest.clone()));
    }
    for _ in copies..load.connections {
        tasks.spawn(plain(shared.clone()));
    }
    drop(words);
    let mut input = input.lines();
    let mut drained = 0;
    let mut tell = interval(TELL);
    loop {
        let word = tokio::select! {
            line = input.next_line() => match line? {
                Some(_) => {
                    rest.send_replace(true);
                    continue;
                }
                None => break,
            },
            Some((view, last)) = waiting.recv() => {
                drained += usize::from(last);
                if let Some(view) = view {
                    say(&mut output, &Word::View(view)).await?;
                }
                if !last || drained < copies {
                    continue;
                }
                say(&mut output, &Word::State(state(&shared))).await?;
                Word::Done
            }
            _ = tell.tick() => Word::State(state(&shared)),
        };
        say(&mut output, &word).await?;
    }
    tasks.abort_all();
    Ok(())
}

async fn say<W: AsyncWrite + Unpin>(output: &mut W, word: &Word) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    output.write_all(&line).await?;
    Ok(output.flush().await?)
}

fn state(shared: &Shared) -> State {
    State {
        open: shared.open.load(Ordering::Relaxed),
        failed: shared.failed.load(Ordering::Relaxed),
        updates: shared.updates.load(Ordering::Relaxed),
        cpu_seconds: crate::system::cpu_seconds(),
    }
}

/// A client without a copy.
async fn plain(shared: Arc<Shared>) {
    let turn = shared.turns.acquire().await;
    match Socket::join(&shared.url).await {
        Ok(socket) => {
            drop(turn);
            shared.open.fetch_add(1, Ordering::Relaxed);
            let why = socket.run(&shared.updates).await;
            shared.fail(&why);
        }
        Err(error) => shared.fail(&error),
    }
}

/// A client with a copy of what it sees, which it hands out once in a while, and for the last time at rest.
async fn copy(
    shared: Arc<Shared>,
    number: u64,
    words: mpsc::UnboundedSender<(Option<View>, bool)>,
    rest: tokio::sync::watch::Receiver<bool>,
) {
    let turn = shared.turns.acquire().await;
    let connected = room_client::connect(&shared.url, Crowd::schema()).name(format!("copy {number}")).await;
    drop(turn);
    let mut client = match connected {
        Ok(client) => client,
        Err(error) => {
            shared.fail(&error);
            let _ = words.send((None, true));
            return;
        }
    };
    shared.open.fetch_add(1, Ordering::Relaxed);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut tick, mut changed, mut resting) = (client.tick(), Instant::now(), None);
    loop {
        looks.tick().await;
        client.update(Instant::now());
        if client.status() != &Status::Joined {
            shared.fail(&format!("{:?}", client.status()));
            let _ = words.send((None, true));
            return;
        }
        if client.tick() != tick {
            (tick, changed) = (client.tick(), Instant::now());
            if tick.0 % TURNS == number % TURNS && client.complete() == tick {
                let _ = words.send((view(&client), false));
            }
        }
        if *rest.borrow() {
            let since = *resting.get_or_insert_with(Instant::now);
            let drained = changed.elapsed() > QUIET && since.elapsed() > QUIET && client.complete() == tick;
            if drained || since.elapsed() > PATIENCE {
                let _ = words.send((view(&client), true));
                break;
            }
        }
    }
    // Stays until all are ended.
    loop {
        sleep(QUIET).await;
        client.update(Instant::now());
    }
}

fn view(client: &Client) -> Option<View> {
    let spots = client.all::<Dot>().map(|(id, dot)| Spot::of(id, dot)).collect();
    Some(View { tick: client.tick().0, player: client.player()?.0, spots })
}

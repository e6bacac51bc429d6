//! The players: clients over real sockets, in a process of their own. Orders come on its input and what it has to tell
//! goes to its output, a line of JSON each; the end of the input ends it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use room::Game;
use room_client::{Client, Status};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::game::{Ask, Square, Walk};

pub type Failure = Box<dyn Error + Send + Sync>;

/// How often the load says how it stands.
const TELL: Duration = Duration::from_millis(200);
/// How often a player takes what has come.
const LOOK: Duration = Duration::from_millis(100);
/// A player turns once in so many looks.
const TURN: u32 = 10;
/// Sockets that are being opened at a time.
const OPENING: usize = 32;
/// Failures that are told.
const NAMED: u64 = 5;

/// A line of the input.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Order {
    /// So many players come into each of the rooms with these numbers.
    Join { first: usize, rooms: usize, bots: usize },
    /// All leave for good.
    Leave,
}

/// A line of the output: how the load stands.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Players who were let in and have not left.
    pub open: u64,
    /// Players who were not, or whose session ended too early, or who never saw the room.
    pub failed: u64,
}

/// The name of a room.
pub fn name(number: usize) -> String {
    format!("room-{number}")
}

struct Shared {
    /// Of the server, up to the name of a room.
    url: String,
    turns: Semaphore,
    open: AtomicU64,
    failed: AtomicU64,
}

/// Does as it is ordered until the input ends.
pub async fn run<R, W>(url: String, input: R, mut output: W) -> Result<(), Failure>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let shared = Arc::new(Shared { url, turns: Semaphore::new(OPENING), open: 0.into(), failed: 0.into() });
    let (mut leave, mut left) = watch::channel(false);
    let mut players = JoinSet::new();
    let mut input = input.lines();
    let mut tell = interval(TELL);
    loop {
        tokio::select! {
            line = input.next_line() => {
                let Some(line) = line? else { break };
                match serde_json::from_str(&line)? {
                    Order::Join { first, rooms, bots } => {
                        for seed in first * bots..(first + rooms) * bots {
                            players.spawn(player(shared.clone(), seed / bots, seed as u64, left.clone()));
                        }
                    }
                    Order::Leave => {
                        leave.send_replace(true);
                        (leave, left) = watch::channel(false);
                    }
                }
            }
            Some(_) = players.join_next() => {}
            _ = tell.tick() => {
                let (open, failed) =
                    (shared.open.load(Ordering::Relaxed), shared.failed.load(Ordering::Relaxed));
                let mut line = serde_json::to_vec(&State { open, failed })?;
                line.push(b'\n');
                // Nobody listens any more where the server has come to its end.
                if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
                    break;
                }
            }
        }
    }
    players.abort_all();
    Ok(())
}

/// A player, from her coming until she is to leave.
async fn player(shared: Arc<Shared>, room: usize, seed: u64, mut left: watch::Receiver<bool>) {
    let fail = |what: &dyn std::fmt::Display| {
        if shared.failed.fetch_add(1, Ordering::Relaxed) < NAMED {
            eprintln!("rooms: a player failed: {what}");
        }
    };
    let url = format!("{}{}", shared.url, name(room));
    let turn = shared.turns.acquire().await;
    let connected = room_client::connect(&url, Walk::schema()).name(format!("walker {seed}")).await;
    drop(turn);
    let mut client = match connected {
        Ok(client) => client,
        Err(error) => return fail(&error),
    };
    shared.open.fetch_add(1, Ordering::Relaxed);
    let played = play(&mut client, seed, &mut left).await;
    if let Err(why) = played {
        fail(&why);
    } else if client.state::<Square>().is_none() {
        fail(&"she never saw the room");
    }
    client.leave().await;
    shared.open.fetch_sub(1, Ordering::Relaxed);
}

async fn play(client: &mut Client, seed: u64, left: &mut watch::Receiver<bool>) -> Result<(), Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Not all at once.
    let mut until_turn = rng.next_u32() % TURN;
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            _ = left.changed() => return Ok(()),
        }
        client.update(Instant::now());
        if client.status() != &Status::Joined {
            return Err(format!("{:?}", client.status()).into());
        }
        client.events().for_each(drop);
        if until_turn == 0 {
            until_turn = TURN;
            client.send(&Ask::Turn((rng.next_u32() % 628) as f32 / 100.0))?;
        }
        until_turn -= 1;
    }
}

//! What the page says of itself: a line for players, and all of it for tests.

use room_client::{Client, Status};
use serde::Serialize;

use crate::game::{Flower, Square};

/// What tests look at.
#[derive(Serialize)]
pub(crate) struct Look {
    status: String,
    notice: Option<String>,
    player: Option<u32>,
    epoch: u32,
    frames: u64,
    /// The room's events that this page has taken.
    news: u64,
    updates: u64,
    corrections: u64,
    resumes: u64,
    drops: u64,
    unacknowledged: usize,
    squares: Vec<Seen>,
    flowers: usize,
    names: Vec<String>,
    /// How many updates each frame applied that stood where the room has all, without a glide.
    jumped: Vec<u64>,
}

#[derive(Serialize)]
struct Seen {
    owner: u32,
    x: f32,
    y: f32,
    jumps: u32,
    planted: u32,
}

pub(crate) fn look(client: &Client, frames: u64, news: u64, jumped: &[u64]) -> Look {
    let stats = client.stats();
    let squares = client.all::<Square>().map(|(_, square)| Seen {
        owner: square.owner.0,
        x: square.x,
        y: square.y,
        jumps: square.jumps,
        planted: square.planted,
    });
    Look {
        status: name(client.status()).to_owned(),
        notice: client.notice().map(|notice| notice.text),
        player: client.player().map(|player| player.0),
        epoch: client.epoch(),
        frames,
        news,
        updates: stats.updates,
        corrections: stats.corrections,
        resumes: stats.resumes,
        drops: stats.drops,
        unacknowledged: client.unacknowledged(),
        squares: squares.collect(),
        flowers: client.all::<Flower>().count(),
        names: client.presences().iter().map(|presence| presence.name.clone()).collect(),
        jumped: jumped.to_vec(),
    }
}

fn name(status: &Status) -> &'static str {
    match status {
        Status::Connecting => "connecting",
        Status::Joined => "joined",
        Status::Reconnecting => "reconnecting",
        Status::Lost => "lost",
        Status::Rejoining => "rejoining",
        _ => "closed",
    }
}

/// Counts bytes a second.
#[derive(Default)]
pub(crate) struct Meter {
    since: f64,
    bytes: u64,
    rate: u64,
}

impl Meter {
    fn rate(&mut self, now: f64, bytes: u64) -> u64 {
        if now - self.since >= 1000.0 {
            let seconds = (now - self.since) / 1000.0;
            self.rate = (bytes.saturating_sub(self.bytes) as f64 / seconds) as u64;
            (self.since, self.bytes) = (now, bytes);
        }
        self.rate
    }

    /// A line for the player.
    pub(crate) fn line(&mut self, client: &Client, now: f64) -> String {
        let stats = client.stats();
        let rate = self.rate(now, stats.bytes_received + stats.bytes_sent);
        let trip = client.round_trip().map_or("?".to_owned(), |trip| trip.as_millis().to_string());
        format!("round trip {trip} ms · {rate} bytes/s · {} corrections", stats.corrections)
    }
}

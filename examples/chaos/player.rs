//! One player behind the bad network: she talks, asks, and checks what she hears.

use std::sync::Arc;
use std::time::{Duration, Instant};

use room::prelude::*;
use room_client::{CallOptions, Client, ConnectError, Event, Status};
use tokio::sync::watch;

use crate::game::{Forest, TREES, Tree, Word};

/// How often a player looks.
const TURN: Duration = Duration::from_millis(50);
/// Turns from one word to the next, and from one call to the next.
const WORD: u64 = 5;
const CALL: u64 = 23;
/// Calls that wait for their result at the most; the bound of the library is 64.
const WAITING: u64 = 60;

/// What a player has to tell in the end.
#[derive(Clone, Debug, Default)]
pub struct Tale {
    /// The lives that ended with a lost session, and the one that goes on: the last.
    pub lives: Vec<Life>,
    pub drops: u64,
    pub resumes: u64,
    /// Bytes of each way back in, both directions, and of the first way in.
    pub resume_bytes: Vec<u64>,
    pub join_bytes: Option<u64>,
}

/// What was said and heard in one session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Life {
    pub number: u64,
    pub words: u64,
    pub calls: u64,
    /// Words and calls that the client gave back as not delivered.
    pub undelivered_words: u64,
    pub undelivered_calls: u64,
    pub answers: u64,
    pub results: u64,
    pub twice: u64,
    pub out_of_order: u64,
    pub refused: u64,
}

/// A player at work.
pub struct Player {
    pub client: Client,
    pub tale: Tale,
    number: u64,
    life: Life,
    was_joined: bool,
    /// Whether she saw the whole forest when the last connection ended.
    saw_all: bool,
    /// Bytes that had gone when the last connection ended.
    before: u64,
}

impl Player {
    pub fn start(url: &str, number: u64) -> Result<Player, ConnectError> {
        let client = room_client::connect(url, Forest::schema())
            .name(format!("player {number}"))
            .rejoin(true)
            .give_up(Duration::from_secs(120))
            .start()?;
        let life = Life { number: number << 32, ..Life::default() };
        let tale = Tale::default();
        Ok(Player { client, tale, number, life, was_joined: false, saw_all: false, before: 0 })
    }

    /// Plays until told to stop, and then listens until everything has come, or `patience` has run out.
    pub async fn play(mut self, mut stop: watch::Receiver<bool>, patience: Duration) -> Player {
        let mut turn = self.number;
        let mut deadline = None;
        loop {
            let stopping = *stop.borrow_and_update();
            self.look();
            if stopping {
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
                if self.is_settled() || Instant::now() > deadline {
                    return self;
                }
            } else {
                self.talk(turn);
            }
            turn += 1;
            tokio::time::sleep(TURN).await;
        }
    }

    /// Whether all that was said has been heard and answered.
    fn is_settled(&self) -> bool {
        self.client.status() == &Status::Joined
            && self.client.unacknowledged() == 0
            && self.life.answers == self.life.words
            && self.life.results == self.life.calls
    }

    fn bytes(&self) -> u64 {
        let stats = self.client.stats();
        stats.bytes_received + stats.bytes_sent
    }

    fn sees_all(&self) -> bool {
        self.client.all::<Tree>().count() == TREES as usize
    }

    fn look(&mut self) {
        self.client.update(Instant::now());
        let joined = self.client.status() == &Status::Joined;
        if self.was_joined && !joined {
            self.tale.drops += 1;
            self.before = self.bytes();
            self.saw_all = self.sees_all();
        }
        self.was_joined = joined;
        if self.tale.join_bytes.is_none() && joined && self.sees_all() {
            // Of a first way in that was not broken off.
            self.tale.join_bytes = Some(if self.tale.drops == 0 { self.bytes() } else { 0 });
        }
        for event in self.client.events() {
            match event {
                Event::Message(message) => {
                    let Ok(answer) = message.decode::<Word>() else { continue };
                    if answer.life == self.life.number {
                        self.life.twice += u64::from(answer.n == self.life.answers);
                        self.life.out_of_order += u64::from(answer.n > self.life.answers + 1);
                        self.life.answers += 1;
                    }
                }
                Event::Result { outcome, .. } => {
                    self.life.results += 1;
                    self.life.refused += u64::from(outcome.is_err());
                }
                Event::Resumed { .. } => {
                    self.tale.resumes += 1;
                    let bytes = self.bytes() - self.before;
                    // Of one who was not through the first way in, the rest of it would count, too.
                    if std::mem::take(&mut self.saw_all) {
                        self.tale.resume_bytes.push(bytes);
                    }
                }
                Event::SessionLost { undelivered } => {
                    let calls = undelivered.iter().filter(|it| it.call.is_some()).count() as u64;
                    self.life.undelivered_calls = calls;
                    self.life.undelivered_words = undelivered.len() as u64 - calls;
                    let number = self.life.number + 1;
                    self.tale
                        .lives
                        .push(std::mem::replace(&mut self.life, Life { number, ..Life::default() }));
                }
                _ => {}
            }
        }
    }

    /// Says and asks something now and then, connected or not.
    fn talk(&mut self, turn: u64) {
        let life = &mut self.life;
        if turn.is_multiple_of(WORD)
            && self.client.send(&Word { life: life.number, n: life.words + 1 }).is_ok()
        {
            life.words += 1;
        }
        if turn.is_multiple_of(CALL)
            && life.calls - life.results < WAITING
            && self
                .client
                .call("count", &Word { life: life.number, n: life.calls + 1 }, CallOptions::default())
                .is_ok()
        {
            life.calls += 1;
        }
    }

    /// How many trees differ from the forest's.
    pub fn mismatches(&self, forest: &Arc<Vec<(Id<Tree>, Tree)>>) -> usize {
        let held = self.client.all::<Tree>().count().abs_diff(forest.len());
        held + forest.iter().filter(|(id, tree)| self.client.get(*id) != Some(tree)).count()
    }

    /// The tale with the life that goes on.
    pub fn told(&mut self) -> Tale {
        self.tale.lives.push(self.life);
        std::mem::take(&mut self.tale)
    }
}

//! One player: she talks, asks, and checks what she hears and sees.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use room::prelude::*;
use room_client::{CallId, CallOptions, Client, ConnectError, Event, LastDrop, Status};

use crate::deeds::{self, Account, Deed, Word};
use crate::game::{Ask, CHUNKS, PLOTS, Told};
use crate::kinds::{Chunk, Plot, Sign, Stone, schema};
use crate::luck::Luck;
use crate::memory::{Figures, Memory};
use crate::sight::{self, Claim, Digest};

/// Milliseconds from one word to the next, from one call to the next, and from one transient to the next.
const WORD: (u64, u64) = (80, 240);
const CALL: (u64, u64) = (500, 1200);
const NUDGE: (u64, u64) = (200, 600);
/// Calls that wait for their result at the most; the bound of the library is 64.
const WAITING: usize = 40;
/// Entities in one question to the room.
const CLAIMS: usize = 600;
/// How long a client tries to reach the room.
const GIVE_UP: Duration = Duration::from_secs(300);

/// What was said and heard in one session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Life {
    pub number: u64,
    pub words: u64,
    pub hash: u64,
    pub calls: u64,
    pub answers: u64,
    pub results: u64,
    pub bells: u64,
    /// Of what the room says: heard again, and missing before what came.
    pub twice: u64,
    pub missed: u64,
    /// Calls with another result than theirs, and answers and results that she no longer waits for.
    pub wrong_results: u64,
    pub owed: u64,
    pub last_bell: u64,
}

/// What a call is for.
enum Asked {
    /// For the nth time.
    Earn(u64),
    Digest,
    Claims,
    Ledgers,
}

/// What became of a comparison.
#[derive(Debug, Default)]
pub struct Check {
    /// What differed at the last comparison; none before the first.
    pub differences: Option<Vec<String>>,
    /// Answers about claims that have not come.
    pub claims: usize,
}

/// A player at work.
pub struct Player {
    pub client: Client,
    pub number: u64,
    pub account: Option<String>,
    pub life: Life,
    /// Lives that ended with their sessions.
    pub ended: Vec<Life>,
    pub memory: Memory,
    pub check: Check,
    /// Ledgers that the room told her of.
    pub ledgers: Vec<Option<Account>>,
    pub resumes: u64,
    /// Sessions that were alive at kills, of which it is not known yet whether they go on.
    pub killed: Vec<SessionId>,
    /// Bytes of each way back in: sent, received.
    pub resume_bytes: Vec<(u64, u64)>,
    pub figures: Figures,
    calls: HashMap<CallId, Asked>,
    luck: Luck,
    next: [Instant; 3],
    was_joined: bool,
    before: (u64, u64),
}

impl Player {
    pub fn start(
        url: &str,
        number: u64,
        account: Option<String>,
        luck: Luck,
    ) -> Result<Player, ConnectError> {
        let name = format!("player {number}");
        let client = room_client::connect(url, schema()).name(name).auth(&account).rejoin(true);
        let client = client.give_up(GIVE_UP).start()?;
        Ok(Player {
            client,
            number,
            account,
            life: Life { number: number << 16, ..Life::default() },
            ended: Vec::new(),
            memory: Memory::default(),
            check: Check::default(),
            ledgers: Vec::new(),
            resumes: 0,
            killed: Vec::new(),
            resume_bytes: Vec::new(),
            figures: Figures::default(),
            calls: HashMap::new(),
            luck,
            next: [Instant::now(); 3],
            was_joined: false,
            before: (0, 0),
        })
    }

    /// Whether all that was said was heard and answered.
    pub fn is_settled(&self) -> bool {
        self.client.status() == &Status::Joined
            && self.client.unacknowledged() == 0
            && self.calls.is_empty()
            && self.life.answers + self.life.owed >= self.life.words
    }

    /// Does not wait any longer for what has not come by now.
    pub fn give_up(&mut self) {
        self.life.owed = self.life.words.saturating_sub(self.life.answers);
        self.life.wrong_results += self.calls.len() as u64;
        self.calls.clear();
    }

    /// Takes what has come.
    pub fn look(&mut self, now: Instant) {
        self.client.update(now);
        let joined = self.client.status() == &Status::Joined;
        if self.was_joined && !joined {
            self.before = self.bytes();
        }
        // By the update and not by the socket: a killed server's last words may be read after the next one has started.
        self.memory.joined(self.client.machine().incarnation());
        self.was_joined = joined;
        let events: Vec<Event> = self.client.events().collect();
        for event in &events {
            match event {
                Event::Resumed { .. } => self.resumed(),
                Event::SessionLost { .. } => self.lost(),
                _ => {}
            }
        }
        self.memory.look(&self.client);
        events.into_iter().for_each(|event| self.heard(event));
    }

    fn bytes(&self) -> (u64, u64) {
        let stats = self.client.stats();
        (stats.bytes_sent, stats.bytes_received)
    }

    fn resumed(&mut self) {
        self.resumes += 1;
        let (sent, received) = self.bytes();
        self.resume_bytes.push((sent - self.before.0, received - self.before.1));
    }

    /// The session is gone: another life begins.
    fn lost(&mut self) {
        let number = self.life.number + 1;
        self.ended.push(std::mem::replace(&mut self.life, Life { number, ..Life::default() }));
        self.forget();
        self.calls.clear();
        self.killed.clear();
        self.check = Check::default();
    }

    /// What was seen in this session is over.
    fn forget(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        self.figures.rolled_back += memory.figures.rolled_back;
        self.figures.coarse_back += memory.figures.coarse_back;
        self.figures.again += memory.figures.again;
        self.memory.lines = memory.lines;
    }

    /// What all her sessions saw.
    pub fn all_figures(&mut self) -> Figures {
        self.forget();
        self.figures
    }

    fn heard(&mut self, event: Event) {
        match event {
            Event::Message(message) => match message.decode::<Told>() {
                Ok(Told::Answer { life, n }) if life == self.life.number => {
                    let expected = self.life.answers + 1;
                    self.life.twice += u64::from(n < expected);
                    self.life.missed += n.saturating_sub(expected);
                    self.life.answers = n.max(self.life.answers);
                }
                Ok(Told::Bell(n)) => {
                    let last = self.life.last_bell;
                    self.life.twice += u64::from(n <= last);
                    self.life.missed += if last > 0 { n.saturating_sub(last + 1) } else { 0 };
                    self.life.last_bell = n.max(last);
                    self.life.bells += 1;
                }
                _ => self.life.missed += 1,
            },
            Event::Result { call, outcome, .. } => self.result(call, outcome.ok()),
            Event::Failed(_) => self.life.wrong_results += 1,
            _ => {}
        }
    }

    fn result(&mut self, call: CallId, message: Option<room_client::Message>) {
        let Some(asked) = self.calls.remove(&call) else {
            // Every call has one.
            self.life.twice += 1;
            return;
        };
        self.life.results += 1;
        let is_good = match (asked, message) {
            (Asked::Earn(n), Some(message)) => message.decode::<u64>().is_ok_and(|result| result == n),
            (Asked::Digest, Some(message)) => message.decode::<Digest>().is_ok_and(|digest| {
                self.check.differences = Some(sight::differences(&self.client, &digest));
                true
            }),
            (Asked::Claims, Some(message)) => message.decode::<Vec<Claim>>().is_ok_and(|refuted| {
                refuted.iter().for_each(|claim| self.memory.refuted(claim));
                self.check.claims -= 1;
                true
            }),
            (Asked::Ledgers, Some(message)) => {
                message.decode::<Vec<Option<Account>>>().is_ok_and(|ledgers| {
                    self.ledgers.extend(ledgers);
                    true
                })
            }
            (_, None) => false,
        };
        self.life.wrong_results += u64::from(!is_good);
    }

    /// Says and asks something now and then, connected or not. In a calm field only what may be lost.
    pub fn talk(&mut self, now: Instant, calm: bool) {
        let mut due = |at: usize, (least, most): (u64, u64), luck: &mut Luck| {
            let due = now >= self.next[at];
            if due {
                self.next[at] = now + Duration::from_millis(luck.between(least, most));
            }
            due
        };
        let word = due(0, WORD, &mut self.luck);
        let call = due(1, CALL, &mut self.luck);
        let nudge = due(2, NUDGE, &mut self.luck);
        if word && !calm {
            let deed = self.deed();
            self.say(deed);
        }
        if call && !calm {
            self.earn();
        }
        if nudge {
            let way = [0; 2].map(|_| self.luck.between(0, 20) as f32 - 10.0);
            // Where she is not connected it is lost.
            let _ = self.client.transient(&Ask::Nudge(way[0], way[1]));
        }
    }

    /// Says a word.
    pub fn say(&mut self, deed: Deed) {
        let (life, n, code) = (self.life.number, self.life.words + 1, self.luck.draw());
        if self.client.send(&Ask::Word(Word { life, n, code, deed })).is_ok() {
            self.life.words = n;
            self.life.hash = deeds::hash(self.life.hash, n, code);
        }
    }

    fn earn(&mut self) {
        let n = self.life.calls + 1;
        if self.ask("earn", &self.life.number.clone(), Asked::Earn(n)) {
            self.life.calls = n;
        }
    }

    fn ask<T: serde::Serialize + ?Sized>(&mut self, name: &str, value: &T, asked: Asked) -> bool {
        if self.calls.len() >= WAITING {
            return false;
        }
        let Ok(call) = self.client.call(name, value, CallOptions::default()) else { return false };
        self.calls.insert(call, asked);
        true
    }

    /// Asks what she should see.
    pub fn compare(&mut self) {
        self.check.differences = None;
        self.ask("digest", &(), Asked::Digest);
    }

    /// Asks the room for all that she has seen.
    pub fn claim(&mut self) {
        for claims in self.memory.claims().chunks(CLAIMS) {
            self.check.claims += usize::from(self.ask("claims", claims, Asked::Claims));
        }
    }

    /// Asks what the room heard of some lives.
    pub fn audit(&mut self, lives: &[u64]) -> bool {
        self.ask("ledgers", lives, Asked::Ledgers)
    }

    /// Why she is not in the room.
    pub fn trouble(&self) -> String {
        let drop = self.client.last_drop().map(|LastDrop { code, reason }| format!("{code:?} {reason}"));
        let waits = (self.client.unacknowledged(), self.calls.len());
        format!(
            "player {}: {:?}, {} of {} answers, {waits:?} events and calls wait, last drop: {drop:?}",
            self.number,
            self.client.status(),
            self.life.answers,
            self.life.words
        )
    }

    /// What she would like to have done.
    fn deed(&mut self) -> Deed {
        let byte = self.luck.draw() as u8;
        match self.luck.below(24) {
            0..=3 => Deed::Step,
            4 => Deed::Mint,
            5 => Deed::Build,
            6..=8 => self.seen::<Stone>().map_or(Deed::Step, Deed::Hit),
            9 => self.seen::<Stone>().map_or(Deed::Build, Deed::Break),
            10..=12 => {
                let (at, len) = (self.luck.draw() as u32, self.luck.between(1, 600) as u16);
                self.seen::<Chunk>().map_or(Deed::Mint, |chunk| Deed::Dig(chunk, at, len, byte))
            }
            13 if byte < 64 => Deed::Carve(CHUNKS + u64::from(byte), byte),
            13..=15 => {
                let line = format!("{} was here for the {}th time", self.number, self.life.words);
                self.seen::<Sign>().map_or(Deed::Mint, |sign| Deed::Write(sign, line))
            }
            16 => self.seen::<Sign>().map_or(Deed::Mint, Deed::Move),
            17 => Deed::Sow(PLOTS + u64::from(byte % 60)),
            18..=19 => self.seen::<Plot>().map_or(Deed::Sow(PLOTS), Deed::Tend),
            20 => self.seen::<Plot>().map_or(Deed::Sow(PLOTS), Deed::Reap),
            _ => Deed::Pay,
        }
    }

    /// Something of a kind that she sees.
    fn seen<K: Visible>(&mut self) -> Option<u64> {
        let ids: Vec<u64> = self.client.all::<K>().map(|(id, _)| id.get()).collect();
        let at = self.luck.below(ids.len().max(1) as u64) as usize;
        ids.get(at).copied()
    }
}

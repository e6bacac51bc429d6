//! What players ask for, each word once, and the ledger in which the room keeps what it heard.

use room::prelude::*;
use serde::{Deserialize, Serialize};

use crate::effects::Pay;
use crate::game::{Field, STONES_MOST, TEAMS, Told, find};
use crate::kinds::{Chunk, Ledger, Mode, Plot, Purse, Sign, Stone, Sum, Tally, Walker};

/// Lines on a sign.
const LINES: usize = 12;

/// The nth word of a life.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Word {
    pub life: u64,
    pub n: u64,
    /// Goes into the hash over all words.
    pub code: u64,
    pub deed: Deed,
}

/// What a word asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Deed {
    Step,
    Mint,
    Build,
    Hit(u64),
    Break(u64),
    /// Patches a chunk at a place, with so many times that byte.
    Dig(u64, u32, u16, u8),
    /// Writes a chunk anew.
    Carve(u64, u8),
    Write(u64, String),
    /// Gives a sign to another team.
    Move(u64),
    Sow(u64),
    Tend(u64),
    Reap(u64),
    /// Asks for something outside.
    Pay,
    Mode(Mode),
}

/// The hash over words behind one more.
pub fn hash(before: u64, n: u64, code: u64) -> u64 {
    Sum::new(before).word(n).word(code).end()
}

/// What a ledger says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub life: u64,
    pub words: u64,
    pub last: u64,
    pub hash: u64,
    pub twice: u64,
    pub early: u64,
    pub calls: u64,
    pub pays: u64,
    pub said: u64,
}

impl Account {
    pub fn of(ledger: &Ledger) -> Account {
        let Ledger { life, words, last, hash, twice, early, calls, pays, said, .. } = *ledger;
        Account { life, words, last, hash, twice, early, calls, pays, said }
    }
}

/// Hears a word: writes it down, does what it asks for, and answers.
pub fn hear(field: &mut Field, room: &mut Room<Field>, peer: Peer, word: Word) {
    let Word { life, n, code, deed } = word;
    let id = ledger(field, room, peer, life);
    let Some(mut ledger) = room.get_mut(id) else { return };
    let (twice, early) =
        (ledger.twice + u64::from(n <= ledger.last), ledger.early + u64::from(n > ledger.last + 1));
    let (words, last, hash) = (ledger.words + 1, n.max(ledger.last), hash(ledger.hash, n, code));
    let said = ledger.said + 1;
    ledger.set_twice(twice);
    ledger.set_early(early);
    ledger.set_words(words);
    ledger.set_last(last);
    ledger.set_hash(hash);
    ledger.set_said(said);
    let deeds = room.state::<Tally>().deeds + 1;
    room.state_mut::<Tally>().set_deeds(deeds);
    if let Some(mut purse) = room.private_mut::<Purse>(peer.player) {
        let heard = purse.heard + 1;
        purse.set_heard(heard);
    }
    obey(field, room, peer, id, deed);
    // Its session may have ended.
    let _ = room.send(peer.conn, &Told::Answer { life, n: said });
}

/// The ledger of a life.
fn ledger(field: &mut Field, room: &mut Room<Field>, peer: Peer, life: u64) -> Id<Ledger> {
    *field.ledgers.entry(life).or_insert_with(|| {
        room.create(Ledger { life, player: peer.player, ..Ledger::default() }).expect("it is small")
    })
}

/// A call: says how many of this life were made.
pub fn earn(field: &mut Field, room: &mut Room<Field>, peer: Peer, life: u64) -> Option<u64> {
    let id = ledger(field, room, peer, life);
    let mut ledger = room.get_mut(id)?;
    let calls = ledger.calls + 1;
    ledger.set_calls(calls);
    mint(room, peer.player);
    Some(calls)
}

fn mint(room: &mut Room<Field>, player: PlayerId) {
    if let Some(mut purse) = room.private_mut::<Purse>(player) {
        let coins = purse.coins + 1;
        purse.set_coins(coins);
    }
}

/// Does what a word asks for, where it can be done.
fn obey(field: &mut Field, room: &mut Room<Field>, peer: Peer, ledger: Id<Ledger>, deed: Deed) {
    match deed {
        Deed::Step => {
            if let Some(mut walker) =
                field.walkers.get(&peer.player).and_then(|id| room.get_mut::<Walker>(*id))
            {
                let steps = walker.steps + 1;
                walker.set_steps(steps);
            }
        }
        Deed::Mint => mint(room, peer.player),
        Deed::Build if room.count::<Stone>() < STONES_MOST => field.build(room),
        Deed::Build => {}
        Deed::Hit(id) => {
            if let Some(mut stone) = find::<Stone>(room, id).and_then(|id| room.get_mut(id)) {
                let hits = stone.hits + 1;
                stone.set_hits(hits);
            }
        }
        Deed::Break(id) => {
            if let Some(stone) = find::<Stone>(room, id) {
                field.bury(room, stone);
            }
        }
        Deed::Dig(id, at, len, byte) => dig(room, id, at, &vec![byte; usize::from(len)]),
        Deed::Carve(id, byte) => carve(room, id, byte),
        Deed::Write(id, line) => write(room, id, line),
        Deed::Move(id) => {
            if let Some(mut sign) = find::<Sign>(room, id).and_then(|id| room.get_mut(id)) {
                let team = (sign.team + 1) % TEAMS;
                sign.set_team(team);
            }
        }
        Deed::Sow(id) => field.sow(room, id),
        Deed::Tend(id) => tend(room, id),
        Deed::Reap(id) => field.reap(room, id),
        Deed::Pay => {
            let Some(mut ledger) = room.get_mut(ledger) else { return };
            let (life, n) = (ledger.life, ledger.pays + 1);
            ledger.set_pays(n);
            room.after_commit(&Pay { life, n }).expect("it is short");
        }
        Deed::Mode(mode) => room.state_mut::<Tally>().set_mode(mode),
    }
}

/// Patches a chunk.
pub fn dig(room: &mut Room<Field>, id: u64, at: u32, bytes: &[u8]) {
    let Some(mut chunk) = find::<Chunk>(room, id).and_then(|id| room.get_mut(id)) else { return };
    let (at, version) = (at as usize % chunk.data.len(), chunk.version + 1);
    let fits = bytes.len().min(chunk.data.len() - at);
    chunk.patch_data(at, &bytes[..fits]).expect("it does not grow");
    chunk.set_version(version);
}

/// Writes a chunk anew, in the length that it has.
fn carve(room: &mut Room<Field>, id: u64, byte: u8) {
    let Some(mut chunk) = find::<Chunk>(room, id).and_then(|id| room.get_mut(id)) else { return };
    let (len, version) = (chunk.data.len(), chunk.version + 1);
    let data: Vec<u8> = (0..len).map(|at| byte ^ (at / 64) as u8).collect();
    chunk.set_data(data.into()).expect("it does not grow");
    chunk.set_version(version);
}

fn write(room: &mut Room<Field>, id: u64, line: String) {
    let Some(mut sign) = find::<Sign>(room, id).and_then(|id| room.get_mut(id)) else { return };
    let written = sign.update_page(|page| {
        page.edits += 1;
        page.lines.push(line);
        let over = page.lines.len().saturating_sub(LINES);
        page.lines.drain(..over);
    });
    written.expect("a few short lines");
}

/// Lets a plot grow.
pub fn tend(room: &mut Room<Field>, id: u64) {
    if let Some(mut plot) = find::<Plot>(room, id).and_then(|id| room.get_mut(id)) {
        let grown = plot.grown + 1;
        plot.set_grown(grown);
    }
}

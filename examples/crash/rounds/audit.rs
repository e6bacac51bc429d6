//! What clients hold and were told, against what the room has.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Doing, Gone, REST, Rounds, SHOWN};
use crate::Failure;
use crate::deeds::Account;
use crate::effects::Effects;
use crate::kinds::Mode;
use crate::player::{Life, Player};

/// From one comparison that failed to the next: what is under way may still come.
const AGAIN: Duration = Duration::from_millis(250);
/// Lives in one question to the room.
const LIVES: usize = 500;

impl Rounds {
    /// Compares, in a field at rest.
    pub(super) async fn compare(&mut self) -> Result<(), Failure> {
        self.players.iter_mut().for_each(Player::compare);
        let until = Instant::now() + REST;
        loop {
            let answered = |player: &Player| player.check.differences.is_some();
            self.wait("what they should see", |rounds| rounds.all(answered)).await?;
            let differs =
                |player: &Player| player.check.differences.as_ref().is_some_and(|lines| !lines.is_empty());
            if Instant::now() > until || !self.players.iter().any(differs) {
                break;
            }
            self.pass(Doing::Nothing, AGAIN.as_millis() as u64).await?;
            self.players.iter_mut().filter(|player| differs(player)).for_each(Player::compare);
        }
        self.players.iter_mut().for_each(Player::claim);
        self.wait("answers about what they saw", |rounds| rounds.all(|player| player.check.claims == 0))
            .await?;
        for player in &mut self.players {
            let lines = player.check.differences.take().unwrap_or_default();
            for line in lines.iter().take(SHOWN) {
                eprintln!("crash: player {}, in run {}: {line}", player.number, self.runs);
            }
            self.report.compared += 1;
            self.report.mismatches += lines.len() as u64;
            player.memory.settled(&player.client);
            let session = player.client.session();
            let went_on = player.killed.drain(..).filter(|killed| Some(*killed) == session).count() as u64;
            self.report.went_on(went_on);
            let figures = player.memory.figures;
            self.wrong += lines.len() as u64 + figures.rolled_back + figures.again;
        }
        Ok(())
    }

    /// The last wake, and the last comparison; then all ledgers and effects.
    pub(super) async fn last_round(&mut self) -> Result<(), Failure> {
        self.start()?;
        self.settle().await?;
        self.wait("who leaves", |rounds| rounds.leaving.is_empty()).await?;
        self.answered().await?;
        self.order(Mode::Rest).await?;
        let ledgers = self.ledgers().await?;
        self.count_effects(&ledgers).await?;
        for Gone { number, lives, confirmed } in std::mem::take(&mut self.gone) {
            self.add_lives(number, &lives, confirmed, &ledgers);
        }
        for mut player in std::mem::take(&mut self.players) {
            self.take_figures(&mut player);
            self.report.add_life(&player.life, ledgers.get(&player.life.number), true, true);
            self.add_lives(player.number, &player.ended, false, &ledgers);
        }
        match self.running.take() {
            Some(running) => running.stop().await,
            None => Ok(()),
        }
    }

    fn add_lives(&mut self, number: u64, lives: &[Life], confirmed: bool, ledgers: &BTreeMap<u64, Account>) {
        for (at, life) in lives.iter().enumerate() {
            // What a room that let her go had heard is all.
            let said = confirmed && at + 1 == lives.len();
            if !said && at + 1 < lives.len() {
                eprintln!("crash: player {number} lost a session");
            }
            self.report.add_life(life, ledgers.get(&life.number), said, false);
        }
    }

    /// All ledgers that any life may have.
    async fn ledgers(&mut self) -> Result<BTreeMap<u64, Account>, Failure> {
        let gone = self.gone.iter().flat_map(|gone| &gone.lives);
        let here = self.players.iter().flat_map(|player| player.ended.iter().chain([&player.life]));
        let lives: Vec<u64> = gone.chain(here).map(|life| life.number).collect();
        for lives in lives.chunks(LIVES) {
            if !self.players[0].audit(lives) {
                return Err("too many lives to ask for".into());
            }
        }
        self.wait("the ledgers", |rounds| rounds.players[0].ledgers.len() == lives.len()).await?;
        let ledgers = std::mem::take(&mut self.players[0].ledgers);
        Ok(ledgers.into_iter().flatten().map(|account| (account.life, account)).collect())
    }

    /// Waits until every effect was performed, and counts them.
    async fn count_effects(&mut self, ledgers: &BTreeMap<u64, Account>) -> Result<(), Failure> {
        let asked: BTreeMap<u64, u64> = ledgers.iter().map(|(life, account)| (*life, account.pays)).collect();
        let until = Instant::now() + REST;
        loop {
            let lines = std::fs::read_to_string(&self.run.side).unwrap_or_default();
            let effects = Effects::count(&lines, &asked);
            if effects.lost == 0 || Instant::now() > until {
                self.report.add_effects(&effects);
                return Ok(());
            }
            self.pass(Doing::Nothing, 100).await?;
        }
    }
}

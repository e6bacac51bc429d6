//! What came of it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::deeds::Account;
use crate::effects::Effects;
use crate::memory::Figures;
use crate::player::Life;

/// The figures.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub rounds: u64,
    pub clients: usize,
    pub seed: u64,
    pub seconds: f64,
    pub kills: u64,
    pub kills_early: u64,
    pub kills_calm: u64,
    pub kills_in_snapshot: u64,
    /// Both ways: words and the answers to them, and bells.
    pub events_sent: u64,
    pub events_lost: u64,
    pub events_twice: u64,
    pub events_out_of_order: u64,
    pub calls: u64,
    pub calls_lost: u64,
    pub calls_twice: u64,
    /// Durable values, and entities, that a client had seen and a woken room did not have.
    pub rolled_back: u64,
    /// Coarse values that went back, as they may.
    pub coarse_back: u64,
    /// IDs of what was ephemeral, and random numbers, that came again.
    pub drawn_again: u64,
    /// Views of clients that were compared with the room's at rest, and what differed in them.
    pub compared: u64,
    pub mismatches: u64,
    /// Sessions at kills, and the share of them that went on.
    pub sessions: u64,
    pub resumed: f64,
    /// From the start of a process until the first client was resumed.
    pub wake_ms: Ranks,
    /// Bytes of messages, both ways, from a lost connection to the first update behind it.
    pub resume_bytes: f64,
    pub resume_bytes_sent: f64,
    pub resume_bytes_received: f64,
    pub effects: u64,
    pub effects_lost: u64,
    /// Performed again by a later process, under the same key.
    pub effects_repeated: u64,
    /// Performed again by the same process, under another key, or for nothing that was kept.
    pub effects_wrong: u64,
    #[serde(skip)]
    went_on: u64,
    #[serde(skip)]
    wakes: Vec<f64>,
    #[serde(skip)]
    resumes: Vec<(u64, u64)>,
}

/// Of many figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ranks {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

impl Ranks {
    fn of(values: &[f64]) -> Ranks {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        let rank = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied().map_or(0.0, rounded)
        };
        Ranks { p50: rank(0.5), p99: rank(0.99), max: rank(1.0) }
    }
}

impl Report {
    pub fn new(rounds: u64, clients: usize, seed: u64) -> Report {
        Report { rounds, clients, seed, ..Report::default() }
    }

    /// Whether nothing was that must not be.
    pub fn is_good(&self) -> bool {
        let events = self.events_lost + self.events_twice + self.events_out_of_order;
        let calls = self.calls_lost + self.calls_twice;
        let state = self.rolled_back + self.drawn_again + self.mismatches;
        let effects = self.effects_lost + self.effects_wrong;
        events + calls + state + effects == 0 && self.went_on == self.sessions && self.compared > 0
    }

    /// A client was resumed, first after the start of a process.
    pub fn woken(&mut self, after: Duration) {
        self.wakes.push(after.as_secs_f64() * 1e3);
    }

    /// So many sessions that were alive at kills go on.
    pub fn went_on(&mut self, sessions: u64) {
        self.went_on += sessions;
    }

    pub fn add_resumes(&mut self, bytes: &[(u64, u64)]) {
        self.resumes.extend(bytes);
    }

    pub fn add_figures(&mut self, figures: Figures) {
        self.rolled_back += figures.rolled_back;
        self.coarse_back += figures.coarse_back;
        self.drawn_again += figures.again;
    }

    /// Holds what was said in a life against what the room heard. `whole` where everything had time to arrive, both
    /// ways; `said` where at least all that was said had.
    pub fn add_life(&mut self, life: &Life, account: Option<&Account>, said: bool, whole: bool) {
        let heard = account.copied().unwrap_or_default();
        self.events_sent += life.words + life.answers + life.bells;
        self.calls += life.calls;
        self.events_twice += life.twice + heard.twice + heard.words.saturating_sub(life.words);
        self.events_lost += life.missed;
        self.events_out_of_order += heard.early;
        self.calls_twice += heard.calls.saturating_sub(life.calls);
        self.calls_lost += life.wrong_results;
        if said {
            self.events_lost += life.words.saturating_sub(heard.words);
            self.events_out_of_order += u64::from(life.words == heard.words && life.hash != heard.hash);
            self.calls_lost += life.calls.saturating_sub(heard.calls);
        }
        if whole {
            self.events_lost += heard.said.saturating_sub(life.answers);
        }
    }

    pub fn add_effects(&mut self, effects: &Effects) {
        self.effects = effects.asked;
        self.effects_lost = effects.lost;
        self.effects_repeated = effects.repeated;
        self.effects_wrong = effects.wrong;
    }

    /// Works out what is made of many figures.
    pub fn finish(&mut self) {
        self.resumed = if self.sessions == 0 { 1.0 } else { self.went_on as f64 / self.sessions as f64 };
        self.wake_ms = Ranks::of(&self.wakes);
        let mean = |sum: u64| {
            if self.resumes.is_empty() { 0.0 } else { rounded(sum as f64 / self.resumes.len() as f64) }
        };
        let sent = self.resumes.iter().map(|(sent, _)| sent).sum();
        let received = self.resumes.iter().map(|(_, received)| received).sum();
        (self.resume_bytes_sent, self.resume_bytes_received) = (mean(sent), mean(received));
        self.resume_bytes = mean(sent + received);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clients, {} kills in {:.0} s (seed {})",
            self.clients, self.kills, self.seconds, self.seed
        )?;
        writeln!(
            f,
            "  of these {} right after a start, {} while only coarse and ephemeral things changed, {} in a snapshot",
            self.kills_early, self.kills_calm, self.kills_in_snapshot
        )?;
        writeln!(
            f,
            "events   {} sent; {} lost, {} twice, {} out of order",
            self.events_sent, self.events_lost, self.events_twice, self.events_out_of_order
        )?;
        writeln!(f, "calls    {} made; {} lost, {} twice", self.calls, self.calls_lost, self.calls_twice)?;
        writeln!(
            f,
            "effects  {} asked for; {} lost, {} wrong, {} repeated under their keys",
            self.effects, self.effects_lost, self.effects_wrong, self.effects_repeated
        )?;
        writeln!(
            f,
            "state    {} durable values rolled back, {} IDs and numbers drawn again, {} coarse values went back",
            self.rolled_back, self.drawn_again, self.coarse_back
        )?;
        writeln!(f, "views    {} compared with the room's; {} differences", self.compared, self.mismatches)?;
        writeln!(f, "sessions {} at kills; {:.4} of them went on", self.sessions, self.resumed)?;
        writeln!(
            f,
            "         the first back after {} ms (p50), {} ms (p99), by {} bytes sent and {} received on average",
            self.wake_ms.p50, self.wake_ms.p99, self.resume_bytes_sent, self.resume_bytes_received
        )?;
        write!(f, "{}", if self.is_good() { "all is well" } else { "THIS MUST NOT BE" })
    }
}

/// To one digit behind the point.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Report {
        Report { compared: 1, ..Report::default() }
    }

    #[test]
    fn a_life_is_held_against_its_ledger() {
        let life = Life { words: 5, hash: 7, calls: 2, answers: 5, results: 2, ..Life::default() };
        let account = Account { words: 5, hash: 7, calls: 2, said: 5, ..Account::default() };
        let report = |account: &Account, said, whole| {
            let mut report = good();
            report.add_life(&life, Some(account), said, whole);
            report
        };
        assert!(report(&account, true, true).is_good());
        let short = Account { words: 4, hash: 6, ..account };
        assert_eq!(report(&short, true, true).events_lost, 1);
        assert!(report(&short, false, false).is_good(), "it had no time to arrive");
        assert_eq!(report(&Account { words: 6, ..account }, true, true).events_twice, 1);
        assert_eq!(report(&Account { hash: 8, ..account }, true, true).events_out_of_order, 1);
        assert_eq!(report(&Account { calls: 3, ..account }, true, true).calls_twice, 1);
        assert_eq!(report(&Account { said: 6, ..account }, true, true).events_lost, 1);
        let mut lost = good();
        lost.add_life(&life, None, true, true);
        assert_eq!((lost.events_lost, lost.calls_lost), (5, 2));
    }

    #[test]
    fn every_session_must_go_on() {
        let mut report = good();
        report.sessions = 3;
        report.went_on(2);
        report.finish();
        assert!(!report.is_good() && report.resumed < 1.0);
        report.went_on(1);
        report.finish();
        assert!(report.is_good() && report.resumed == 1.0);
    }
}

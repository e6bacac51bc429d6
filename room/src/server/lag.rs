//! Whether a room keeps up with its clock, and where its time goes if not.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::limits;
use crate::runtime::Stopwatch;

/// Watches the turns of a room's loop.
#[derive(Debug, Default)]
pub(super) struct Lag {
    hooks: Hooks,
    since: Option<Since>,
}

/// Since when a room is behind.
#[derive(Debug)]
struct Since {
    at: Duration,
    // Steps that had been dropped by then.
    dropped: u64,
    told: bool,
}

/// What a room's loop found at the start of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// When the first of its steps was due.
    pub(super) due: Duration,
    pub(super) now: Duration,
    /// Whether it has as many steps to make as a turn can, or more.
    pub(super) full: bool,
    /// Steps dropped before it, and with it.
    pub(super) dropped: (u64, u64),
}

/// Something for the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    Behind { seconds: u64, dropped: u64, slowest: String },
    CaughtUp { seconds: u64, dropped: u64 },
}

impl Lag {
    /// What measures the room's hooks.
    pub(super) fn stopwatch(&self) -> Box<dyn Stopwatch> {
        Box::new(Watch { hooks: self.hooks.clone(), started: None })
    }

    /// A turn begins.
    pub(super) fn turn(&mut self, turn: Turn) -> Option<Word> {
        if !turn.full {
            self.hooks.lock().clear();
            let since = self.since.take().filter(|since| since.told)?;
            let (seconds, dropped) = since.until(turn);
            return Some(Word::CaughtUp { seconds, dropped });
        }
        // What made it late was measured in the turn before.
        let fresh = Since { at: turn.due, dropped: turn.dropped.0, told: false };
        let since = self.since.get_or_insert(fresh);
        let (seconds, dropped) = since.until(turn);
        if since.told || seconds < limits::BEHIND_SECONDS {
            return None;
        }
        since.told = true;
        Some(Word::Behind { seconds, dropped, slowest: self.hooks.slowest() })
    }
}

impl Since {
    /// The whole seconds, and the steps dropped in them.
    fn until(&self, turn: Turn) -> (u64, u64) {
        (turn.now.saturating_sub(self.at).as_secs(), turn.dropped.1 - self.dropped)
    }
}

/// What each hook has taken since the room last kept up.
#[derive(Clone, Debug, Default)]
struct Hooks(Arc<Mutex<BTreeMap<&'static str, Duration>>>);

impl Hooks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The three that took most, and how long.
    fn slowest(&self) -> String {
        let mut hooks: Vec<_> = self.lock().iter().map(|(hook, took)| (*took, *hook)).collect();
        hooks.sort_unstable_by(|a, b| b.cmp(a));
        let mut text = String::new();
        for (took, hook) in hooks.into_iter().take(3) {
            let between = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{between}{hook} {} ms", took.as_millis());
        }
        text
    }
}

/// The clock that a room is lent.
struct Watch {
    hooks: Hooks,
    started: Option<Instant>,
}

impl Stopwatch for Watch {
    fn start(&mut self, _what: &'static str) {
        self.started = Some(Instant::now());
    }

    fn stop(&mut self, what: &'static str) {
        let Some(started) = self.started.take() else { return };
        *self.hooks.lock().entry(what).or_default() += started.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::Server;
    use super::super::pace::Pace;
    use super::*;
    use crate::room::{Game, Room};
    use crate::runtime::Way;
    use crate::schema::Schema;

    /// Turns of a room whose steps take so long, until that time; what the log says, and when.
    fn run(pace: &mut Pace, lag: &mut Lag, now: &mut Duration, step: u64, until: u64) -> Vec<(u64, Word)> {
        let mut said = Vec::new();
        while *now < Duration::from_millis(until) {
            *now = (*now).max(pace.next());
            let (due, before) = (pace.next(), pace.dropped());
            let steps = pace.due(*now);
            let turn = Turn { due, now: *now, full: pace.is_full(), dropped: (before, pace.dropped()) };
            said.extend(lag.turn(turn).map(|word| (now.as_millis() as u64, word)));
            *lag.hooks.lock().entry("on_tick").or_default() += Duration::from_millis(step) * steps;
            *now += Duration::from_millis(step) * steps;
        }
        said
    }

    #[test]
    fn a_room_that_is_behind_for_five_seconds_says_so_once_and_says_when_it_is_not() {
        let (mut pace, mut lag, mut now) = (Pace::new(20, Duration::ZERO), Lag::default(), Duration::ZERO);
        assert_eq!(run(&mut pace, &mut lag, &mut now, 40, 10_000), [], "it keeps up");
        let said = run(&mut pace, &mut lag, &mut now, 100, 20_000);
        let [(at, Word::Behind { seconds: 5, dropped, slowest })] = &said[..] else { panic!("{said:?}") };
        assert!((15_000..17_500).contains(at) && (30..60).contains(dropped), "{said:?}");
        assert!(slowest.starts_with("on_tick 5") || slowest.starts_with("on_tick 6"), "{slowest}");
        let said = run(&mut pace, &mut lag, &mut now, 1, 30_000);
        assert!(
            matches!(said[..], [(at, Word::CaughtUp { seconds: 9..=11, dropped: 80..120 })] if at < 21_500),
            "{said:?}"
        );
    }

    #[test]
    fn a_room_that_barely_does_not_keep_up_is_behind_too() {
        let (mut pace, mut lag, mut now) = (Pace::new(20, Duration::ZERO), Lag::default(), Duration::ZERO);
        let said = run(&mut pace, &mut lag, &mut now, 55, 30_000);
        assert!(matches!(said[..], [(_, Word::Behind { .. })]), "{said:?}");
    }

    #[test]
    fn a_short_stall_is_none_and_a_long_one_is_told() {
        for (stall, expected) in [(4000, 0), (7000, 2)] {
            let (mut pace, mut lag, mut now) =
                (Pace::new(20, Duration::ZERO), Lag::default(), Duration::ZERO);
            run(&mut pace, &mut lag, &mut now, 1, 1000);
            now += Duration::from_millis(stall);
            let said = run(&mut pace, &mut lag, &mut now, 1, 20_000);
            assert_eq!(said.len(), expected, "{said:?}");
        }
    }

    /// A game whose ticks take long until it is told to hurry.
    struct Slow(Arc<AtomicBool>);

    impl Game for Slow {
        type Event = ();
        type Scratch = ();
        fn schema() -> Schema {
            Schema::new()
        }
        fn on_tick(&mut self, _room: &mut Room<Self>) {
            if !self.0.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn the_log_names_the_hook_that_a_room_is_behind_for() {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || writer.clone());
        let _guard = tracing::subscriber::set_default(log.finish());
        let hurry = Arc::new(AtomicBool::new(false));
        let told = hurry.clone();
        let server = Server::new(move |_| Slow(told.clone())).port(0).start().await.expect("a server");
        let (_stop, stopped) = tokio::sync::watch::channel(false);
        let registry = &server.shared.registry;
        let _way = registry.enter("slow", &Way::Name, [127, 0, 0, 1].into(), &stopped).await.expect("a room");
        let line = |kind: &str| {
            let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            text.lines().find(|line| line.contains(&format!("\"kind\":\"{kind}\""))).map(str::to_owned)
        };
        let began = Instant::now();
        while line("behind").is_none() {
            assert!(began.elapsed() < Duration::from_secs(20), "no word");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(began.elapsed() >= Duration::from_secs(limits::BEHIND_SECONDS));
        hurry.store(true, Ordering::Relaxed);
        while line("caught_up").is_none() {
            assert!(began.elapsed() < Duration::from_secs(30), "no word");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let behind = line("behind").unwrap();
        for part in ["\"room\":\"slow\"", "\"seconds\":", "\"dropped\":", "\"slowest\":\"on_tick "] {
            assert!(behind.contains(part), "{part} in {behind}");
        }
    }
}

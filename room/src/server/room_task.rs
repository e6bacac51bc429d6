//! One task a room: sole owner of its runtime and of its clock.

mod away;
mod begin;
mod errands;
mod keeper;
mod post;
mod rest;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::frames::Message;
use super::lag::{Lag, Turn, Word};
use super::outbox::Outbox;
use super::pace::Pace;
use super::registry::{Make, Place, Ticket};
use super::shutdown::stopped;
use super::stats::{RoomStats, Times};
use crate::limits;
use crate::room::{Game, Label};
use crate::runtime::{Closed, ConnectionId, Join, Payload, Resuming, Runtime, Site, Way};
use crate::session::{Refusal, code};
use crate::storage::State;
use crate::wire::message::Resume;
use away::{refuse, turn_away};
use errands::{Done, Errands};
use keeper::{Keeper, Kept};
use rest::Outcome;

/// What reaches a room from outside, in order of arrival.
pub(super) enum Command<G: Game> {
    /// Somebody at the door says that it comes back.
    Check(Box<Check>),
    /// A client was let in.
    Open(Box<Open>),
    /// A whole message.
    Message { conn: ConnectionId, bytes: Message },
    /// A socket ended.
    Close { conn: ConnectionId, how: Closed },
    /// Another room sends a message.
    Mail { from: String, message: Payload },
    /// A look at the room between two ticks.
    Inspect(Look<G>),
    /// The loop's figures.
    Stats(oneshot::Sender<RoomStats>),
}

/// A question to a room, with its types erased.
pub(super) type Look<G> = Box<dyn FnOnce(&Runtime<G>) + Send>;

/// A session's name and token, and who waits to hear whether they are good.
pub(super) struct Check {
    pub(super) resume: Resume,
    pub(super) reply: oneshot::Sender<Result<Resuming, Refusal>>,
    /// Given back once it is checked: as few wait for the room as may.
    pub(super) turn: OwnedSemaphorePermit,
}

/// A client on its way in.
pub(super) struct Open {
    pub(super) conn: ConnectionId,
    pub(super) way: Way,
    pub(super) join: Join,
    pub(super) outbox: Arc<Outbox>,
    /// Permits for bytes that the read task may hand over before the next tick.
    pub(super) inbox: Arc<Semaphore>,
    /// Keeps the room awake until it has taken this.
    pub(super) ticket: Ticket,
    /// Hears whether the room keeps her, or gives her back so that she can ask elsewhere; there for who does that.
    pub(super) answer: Option<oneshot::Sender<Option<Box<Open>>>>,
}

/// The room's end of a socket.
struct Link {
    outbox: Arc<Outbox>,
    inbox: Arc<Semaphore>,
    // Permits taken since the last tick.
    taken: usize,
}

struct RoomTask<G: Game> {
    desk: Desk<G>,
    runtime: Runtime<G>,
    // None for a room without a store.
    keeper: Option<Keeper>,
    errands: Errands,
    // Looked up for each message, by numbers that the server itself gives.
    links: HashMap<ConnectionId, Link, ahash::RandomState>,
    // Connections that have taken permits since the last tick.
    heard: Vec<ConnectionId>,
    // Connections that did not drain; told to the runtime once it has been drained.
    overflowed: Vec<ConnectionId>,
    opened: Instant,
    pace: Pace,
    lag: Lag,
    empty_since: Option<Duration>,
    // When the room was last told the time of the world outside.
    told_time: Duration,
    stats: RoomStats,
    ticks: Times,
}

/// Something that the loop waits for.
enum Step<G: Game> {
    Turn,
    Command(Command<G>),
    Kept(Kept),
    Errand(Done),
    Improve,
}

/// What a message costs in its connection's inbox.
pub(super) fn cost(message: &[u8]) -> usize {
    message.len() + limits::MESSAGE_COST
}

/// Creates the room, or wakes it, and runs it until it is stopped, unwanted or failed. One with a store is woken again
/// after a failure; who comes meanwhile waits.
pub(super) async fn run<G: Game>(
    place: Place<G>,
    mut site: Site,
    make: Make<G>,
    commands: mpsc::Receiver<Command<G>>,
) {
    let mut desk = Desk { place, commands };
    let mut gap = WAKE_GAP;
    loop {
        let begun = Instant::now();
        match begin::begin(&mut desk, site.clone(), make.clone()).await {
            Ok(begun) => {
                let mut task = RoomTask::new(desk, begun);
                let outcome = task.run().await;
                let Some((again, label)) = task.end(outcome).await else { return };
                // What was not kept of it is gone with the rest of the tick.
                site.label = label.unwrap_or(site.label);
                desk = again;
            }
            Err(begin::Failed::ForNow(message)) => {
                tracing::error!(kind = "failed", room = desk.place.name, "the room did not begin: {message}");
                // Who waits comes back by herself.
                while let Ok(command) = desk.commands.try_recv() {
                    turn_away(command, code::FAILED, SAVED);
                }
            }
            Err(begin::Failed::ForGood(code, message)) => {
                tracing::error!(kind = "failed", room = desk.place.name, "the room cannot begin: {message}");
                desk.place.leave();
                let reason = if code == code::FAILED { NOT_SAVED } else { NOT_LOADED };
                return refuse(&mut desk.commands, code, reason).await;
            }
        }
        if begun.elapsed() > Duration::from_secs(60) {
            gap = WAKE_GAP;
        }
        let mut stop = desk.place.stop.clone();
        tokio::select! {
            biased;
            () = stopped(&mut stop) => return refuse(&mut desk.commands, code::GOING_AWAY, GOING_AWAY).await,
            () = tokio::time::sleep(gap) => gap = (2 * gap).min(WAKE_GAP_MOST),
        }
    }
}

/// What outlives one run of a room.
struct Desk<G: Game> {
    place: Place<G>,
    commands: mpsc::Receiver<Command<G>>,
}

/// Until a room that failed is woken.
const WAKE_GAP: Duration = Duration::from_millis(limits::WAKE_GAP_MS);
/// The longest time until then.
const WAKE_GAP_MOST: Duration = Duration::from_millis(limits::WAKE_GAP_MOST_MS);

/// The reason of a failure of a room that lives in memory alone.
const NOT_SAVED: &str = r#"{"saved":false}"#;
/// The reason of a failure of a room with a store: all that was said is kept.
const SAVED: &str = r#"{"saved":true}"#;
/// The reason where what is stored cannot be loaded.
const NOT_LOADED: &str = "the room could not be loaded";

impl<G: Game> RoomTask<G> {
    fn new(desk: Desk<G>, runtime: Runtime<G>) -> RoomTask<G> {
        let registry = &desk.place.registry;
        RoomTask {
            pace: Pace::new(registry.settings.tick_rate, Duration::ZERO),
            keeper: registry.store.clone().map(Keeper::new),
            errands: Errands::new(),
            desk,
            runtime,
            links: HashMap::with_hasher(ahash::RandomState::with_seeds(9, 10, 11, 12)),
            heard: Vec::new(),
            overflowed: Vec::new(),
            opened: Instant::now(),
            lag: Lag::default(),
            empty_since: None,
            told_time: Duration::ZERO,
            stats: RoomStats::default(),
            ticks: Times::default(),
        }
    }

    async fn run(&mut self) -> Outcome {
        let mut stop = self.desk.place.stop.clone();
        let deadline = |task: &Self| (task.opened + task.pace.next()).into();
        let (stopped, due) = (stopped(&mut stop), tokio::time::sleep_until(deadline(self)));
        tokio::pin!(stopped, due);
        self.runtime.set_stopwatch(self.lag.stopwatch());
        self.drain();
        self.publish();
        loop {
            let kept = async {
                match &mut self.keeper {
                    Some(keeper) => keeper.next().await,
                    None => std::future::pending().await,
                }
            };
            let step = tokio::select! {
                biased;
                () = &mut stopped => return Outcome::Stopped,
                // Before the turn, which is always due where the room does not keep up. Each is of something that a
                // tick asked for, so they do not keep it from its turn.
                kept = kept => Step::Kept(kept),
                done = self.errands.next::<G>() => Step::Errand(done),
                () = &mut due => Step::Turn,
                Some(command) = self.desk.commands.recv() => Step::Command(command),
                () = std::future::ready(()), if self.runtime.is_hasty() => Step::Improve,
            };
            let is_turn = matches!(step, Step::Turn);
            if let Step::Kept(kept) = step {
                if let Err(outcome) = self.settle(kept) {
                    return outcome;
                }
            } else if let Err(message) = self.guarded(|task| task.step(step)) {
                return Outcome::Failed(message);
            }
            if is_turn {
                due.as_mut().reset(deadline(self));
            }
            if self.is_empty() {
                match self.rest(self.ending()).await {
                    Ok(()) if self.desk.place.leave_if_unwanted() => return Outcome::Unwanted,
                    // Somebody is on the way in.
                    Ok(()) => {}
                    Err(outcome) => return outcome,
                }
            }
            // A room that is behind is always due; sockets of the same thread must come to their turn.
            tokio::task::yield_now().await;
        }
    }

    fn step(&mut self, step: Step<G>) {
        match step {
            Step::Turn => self.turn(),
            Step::Command(command) => self.take(command),
            Step::Improve => {
                self.runtime.improve();
            }
            Step::Errand(Done::Performed(number)) => self.runtime.handle_performed(number),
            Step::Errand(Done::Answer(name, answer)) => self.runtime.handle_answer(name, answer),
            Step::Kept(_) | Step::Errand(Done::Nothing) => {}
        }
    }

    /// What became of a commit.
    fn settle(&mut self, kept: Kept) -> Result<(), Outcome> {
        let room = &self.desk.place.name;
        match kept {
            Kept::Yes => {
                self.publish();
                self.runtime.handle_committed();
                self.drain();
            }
            Kept::NotYet(error, true) => {
                tracing::error!(kind = "store_failed", room, "a commit is tried again: {error}");
            }
            Kept::NotYet(..) => {}
            Kept::No(error) => return Err(Outcome::refused(error)),
        }
        Ok(())
    }

    /// Runs what may call the game; a panic fails this room and no other.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| work(self))).map_err(|panic| panic_message(&*panic))
    }

    /// A command, and what waits behind it.
    fn take(&mut self, first: Command<G>) {
        // Reading the clock for each costs more than handling most of them.
        let now = self.now();
        self.handle(first, now);
        for _ in 0..limits::ROOM_QUEUE {
            let Ok(command) = self.desk.commands.try_recv() else { break };
            self.handle(command, now);
        }
    }

    /// What has arrived, then the steps that the elapsed time calls for.
    fn turn(&mut self) {
        if let Ok(command) = self.desk.commands.try_recv() {
            self.take(command);
        }
        let now = self.now();
        if now.saturating_sub(self.told_time) >= MINUTE {
            self.told_time = now;
            self.runtime.handle_time(begin::unix_seconds());
        }
        for _ in 0..self.due() {
            let begun = Instant::now();
            self.runtime.tick(self.now());
            self.drain();
            self.stats.ticks += 1;
            self.ticks.push(begun.elapsed());
            self.stats.dropped_ticks = self.pace.dropped();
            self.release();
        }
        self.publish();
    }

    /// How many steps to make in a turn that begins now.
    fn due(&mut self) -> u32 {
        let (due, now, before) = (self.pace.next(), self.now(), self.pace.dropped());
        let steps = self.pace.due(now);
        let turn = Turn { due, now, full: self.pace.is_full(), dropped: (before, self.pace.dropped()) };
        let room = &self.desk.place.name;
        match self.lag.turn(turn) {
            Some(Word::Behind { seconds, dropped, slowest }) => {
                tracing::warn!(kind = "behind", room, seconds, dropped, slowest, "the room does not keep up");
            }
            Some(Word::CaughtUp { seconds, dropped }) => {
                tracing::info!(kind = "caught_up", room, seconds, dropped, "the room keeps up again");
            }
            None => {}
        }
        steps
    }

    fn handle(&mut self, command: Command<G>, now: Duration) {
        match command {
            Command::Check(check) => {
                let Check { resume, reply, turn } = *check;
                // Who asked may have gone.
                let _ = reply.send(self.runtime.check_resume(&resume));
                drop(turn);
            }
            Command::Open(open) => self.open(*open, now),
            Command::Message { conn, bytes } => {
                let Some(link) = self.links.get_mut(&conn) else { return };
                if link.taken == 0 {
                    self.heard.push(conn);
                }
                link.taken += cost(&bytes);
                self.runtime.handle_message(conn, now, &bytes);
            }
            Command::Close { conn, how } => {
                if self.links.remove(&conn).is_none() {
                    return;
                }
                self.runtime.handle_close(conn, now, how);
            }
            Command::Mail { from, message } => self.runtime.handle_mail(from, message),
            Command::Inspect(look) => {
                // Its panic is the asker's, who hears nothing; the room has not changed.
                let _ = catch_unwind(AssertUnwindSafe(|| look(&self.runtime)));
            }
            Command::Stats(reply) => {
                let (connections, sessions) = (self.links.len(), self.runtime.sessions());
                let tick_times = self.ticks.all();
                let commit_times = self.keeper.as_ref().map(|keeper| keeper.waits.all()).unwrap_or_default();
                let stats = self.stats.clone();
                let _ = reply.send(RoomStats { connections, sessions, tick_times, commit_times, ..stats });
            }
        }
        self.drain();
    }

    /// Somebody is handed over. She has her seat from here on, if she gets one.
    fn open(&mut self, open: Open, now: Duration) {
        let Open { conn, way, join, outbox, inbox, ticket, answer } = open;
        if let Some(join) = self.runtime.handle_open_by(conn, now, &way, join) {
            let back = Open { conn, way, join, outbox, inbox, ticket, answer: None };
            // Whoever does not wait for it is gone.
            return drop(answer.map(|answer| answer.send(Some(Box::new(back)))));
        }
        self.links.insert(conn, Link { outbox, inbox, taken: 0 });
        if answer.is_some_and(|answer| answer.send(None).is_err()) {
            self.links.remove(&conn);
            self.runtime.handle_close(conn, now, Closed::Broken);
        }
        // Before the ticket is given up: she is counted as on her way or as seated.
        self.publish();
        drop(ticket);
    }

    /// Tells the server how the room stands, so that it is listed and found as it is.
    fn publish(&mut self) {
        let label = match &mut self.keeper {
            // As everything that is said of it: once it is kept.
            Some(keeper) => keeper.news.take(),
            None => self.runtime.label_if_changed().cloned(),
        };
        self.desk.place.publish(self.runtime.sessions(), label.as_ref());
    }

    /// The tick has handled what arrived; connections may hand over more.
    fn release(&mut self) {
        for conn in self.heard.drain(..) {
            if let Some(link) = self.links.get_mut(&conn) {
                link.inbox.add_permits(std::mem::take(&mut link.taken));
            }
        }
    }

    /// Whether nobody has been here for long enough.
    fn is_empty(&mut self) -> bool {
        // A session that is held keeps its room, and so does what is not done yet. The runtime is asked only where it matters.
        let runtime = &self.runtime;
        let busy = || runtime.has_arrivals() || runtime.has_outside() || self.errands.is_busy();
        if !self.links.is_empty() || runtime.sessions() > 0 || busy() {
            self.empty_since = None;
            return false;
        }
        let now = self.now();
        let since = *self.empty_since.get_or_insert(now);
        now.saturating_sub(since) >= self.desk.place.registry.sleep
    }

    /// Ends the run. A room that is to be woken leaves its place, and the label that its store has.
    async fn end(mut self, outcome: Outcome) -> Option<(Desk<G>, Option<Label>)> {
        let room = self.desk.place.name.clone();
        let saved = if self.keeper.is_some() { SAVED } else { NOT_SAVED };
        let (code, reason) = match &outcome {
            Outcome::Stopped => {
                let rested = self.rest(State::Awake).await;
                if let Err(Outcome::Failed(error) | Outcome::NotKept(error) | Outcome::Lost(error)) = rested {
                    tracing::error!(kind = "failed", room, "what was not kept yet is lost: {error}");
                }
                tracing::info!(kind = "stopped", room, "room stopped with its server");
                (code::GOING_AWAY, GOING_AWAY)
            }
            Outcome::Unwanted => {
                tracing::info!(kind = "stopped", room, "room stopped; nobody was in it");
                (code::BUSY, "try again")
            }
            Outcome::Failed(message) => {
                tracing::error!(kind = "failed", room, "room failed: {message}");
                self.note_failure().await;
                (code::FAILED, saved)
            }
            Outcome::Lost(message) => {
                tracing::warn!(kind = "stopped", room, "room stopped, for another owner has it: {message}");
                (code::BUSY, "another server has the room; try again")
            }
            Outcome::NotKept(message) => {
                tracing::error!(kind = "failed", room, "room failed, for its store does: {message}");
                (code::FAILED, saved)
            }
        };
        for link in self.links.values() {
            link.outbox.close(code, reason);
        }
        let again = matches!(outcome, Outcome::Failed(_) | Outcome::NotKept(_)) && self.keeper.is_some();
        if again {
            return Some((self.desk, self.keeper.and_then(|keeper| keeper.label)));
        }
        self.desk.place.leave();
        refuse(&mut self.desk.commands, code, reason).await;
        None
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }
}

/// The reason that goes with 1001.
pub(super) const GOING_AWAY: &str = "the server is going away";

/// Between two times that a room is told the time.
const MINUTE: Duration = Duration::from_secs(60);

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

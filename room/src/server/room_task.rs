//! One task a room: sole owner of its runtime and of its clock.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::frames::Message;
use super::lag::{Lag, Turn, Word};
use super::outbox::{End, Outbox};
use super::pace::Pace;
use super::registry::{Make, Place, Ticket};
use super::shutdown::stopped;
use super::stats::RoomStats;
use crate::limits;
use crate::room::Game;
use crate::runtime::{Closed, ConnectionId, Join, Outgoing, Resuming, Runtime, Site, Transmit, Way};
use crate::session::{Refusal, code};
use crate::wire::message::Resume;

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
    place: Place<G>,
    runtime: Runtime<G>,
    commands: mpsc::Receiver<Command<G>>,
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
    stats: RoomStats,
}

/// Why a room's loop ended.
enum Outcome {
    Stopped,
    Unwanted,
    Failed(String),
}

/// What a message costs in its connection's inbox.
pub(super) fn cost(message: &[u8]) -> usize {
    message.len() + limits::MESSAGE_COST
}

/// Creates the room and runs it until it is stopped, unwanted or failed.
pub(super) async fn run<G: Game>(
    place: Place<G>,
    site: Site,
    make: Make<G>,
    mut commands: mpsc::Receiver<Command<G>>,
    mut stop: watch::Receiver<bool>,
) {
    let runtime = match create(&place, site, make).await {
        Ok(runtime) => runtime,
        Err(message) => {
            tracing::error!(kind = "failed", room = place.name, "the room could not be created: {message}");
            place.leave();
            return refuse(&mut commands, code::FAILED, NOT_SAVED).await;
        }
    };
    let mut task = RoomTask {
        pace: Pace::new(place.registry.settings.tick_rate, Duration::ZERO),
        place,
        runtime,
        commands,
        links: HashMap::with_hasher(ahash::RandomState::with_seeds(9, 10, 11, 12)),
        heard: Vec::new(),
        overflowed: Vec::new(),
        opened: Instant::now(),
        lag: Lag::default(),
        empty_since: None,
        stats: RoomStats::default(),
    };
    task.runtime.set_stopwatch(task.lag.stopwatch());
    task.drain();
    task.publish();
    tracing::info!(kind = "created", room = task.place.name, "room created");
    let outcome = task.run(&mut stop).await;
    task.end(outcome).await;
}

/// Makes the game and its runtime on a thread where taking long disturbs nobody.
async fn create<G: Game>(place: &Place<G>, site: Site, make: Make<G>) -> Result<Runtime<G>, String> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| format!("no random seed: {error}"))?;
    let settings = place.registry.settings.clone();
    let threads = place.registry.threads.clone();
    let made = tokio::task::spawn_blocking(move || {
        let game = make(&site.name);
        let mut runtime = Runtime::at(site, game, settings, seed)?;
        if let Some(threads) = threads {
            runtime.set_workers(Box::new(threads));
        }
        Ok::<_, crate::runtime::StartError>(runtime)
    });
    match made.await {
        Ok(Ok(runtime)) => Ok(runtime),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => panic_message(&*panic),
            Err(error) => error.to_string(),
        }),
    }
}

/// The reason of a failure: rooms live in memory alone.
const NOT_SAVED: &str = r#"{"saved":false}"#;

impl<G: Game> RoomTask<G> {
    async fn run(&mut self, stop: &mut watch::Receiver<bool>) -> Outcome {
        let deadline = |task: &Self| (task.opened + task.pace.next()).into();
        let (stopped, due) = (stopped(stop), tokio::time::sleep_until(deadline(self)));
        tokio::pin!(stopped, due);
        loop {
            let step = tokio::select! {
                biased;
                () = &mut stopped => return Outcome::Stopped,
                () = &mut due => {
                    let step = self.guarded(Self::turn);
                    due.as_mut().reset(deadline(self));
                    step
                }
                Some(command) = self.commands.recv() => self.guarded(|task| task.take(command)),
                () = std::future::ready(()), if self.runtime.is_hasty() => self.guarded(|task| {
                    task.runtime.improve();
                }),
            };
            if let Err(message) = step {
                return Outcome::Failed(message);
            }
            if self.is_unwanted() {
                return Outcome::Unwanted;
            }
            // A room that is behind is always due; sockets of the same thread must come to their turn.
            tokio::task::yield_now().await;
        }
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
            let Ok(command) = self.commands.try_recv() else { break };
            self.handle(command, now);
        }
    }

    /// What has arrived, then the steps that the elapsed time calls for.
    fn turn(&mut self) {
        if let Ok(command) = self.commands.try_recv() {
            self.take(command);
        }
        for _ in 0..self.due() {
            let begun = Instant::now();
            self.runtime.tick(self.now());
            self.drain();
            self.stats.ticked(begun.elapsed());
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
        let room = &self.place.name;
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
            Command::Inspect(look) => {
                // Its panic is the asker's, who hears nothing; the room has not changed.
                let _ = catch_unwind(AssertUnwindSafe(|| look(&self.runtime)));
            }
            Command::Stats(reply) => {
                let (connections, sessions) = (self.links.len(), self.runtime.sessions());
                let _ = reply.send(RoomStats { connections, sessions, ..self.stats.clone() });
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
        let (taken, most) = (self.runtime.sessions(), self.runtime.room().max_players());
        let label = self.runtime.label_if_changed();
        self.place.publish(taken, most, label);
    }

    /// Takes everything that the runtime has to say.
    fn drain(&mut self) {
        loop {
            self.transmit();
            while let Some(log) = self.runtime.poll_log() {
                tracing::info!(kind = log.kind(), room = self.place.name, "{log}");
            }
            if self.overflowed.is_empty() {
                return;
            }
            let now = self.now();
            for conn in std::mem::take(&mut self.overflowed) {
                tracing::info!(
                    kind = "fell_behind",
                    room = self.place.name,
                    conn = conn.0,
                    "a socket does not drain"
                );
                self.runtime.handle_close(conn, now, Closed::FellBehind);
            }
        }
    }

    fn transmit(&mut self) {
        let mut last: Option<(ConnectionId, &Arc<Outbox>)> = None;
        let mut closed = Vec::new();
        while let Some(Transmit { conn, outgoing }) = self.runtime.poll_transmit() {
            let outbox = match last {
                Some((before, outbox)) if before == conn => outbox,
                _ => {
                    if let Some((_, outbox)) = last.take() {
                        outbox.flush();
                    }
                    let Some(link) = self.links.get(&conn) else { continue };
                    last.insert((conn, &link.outbox)).1
                }
            };
            match outgoing {
                Outgoing::Message(bytes) => {
                    self.stats.bytes_sent += bytes.len() as u64;
                    if outbox.message(bytes).is_err() {
                        self.overflowed.push(conn);
                    }
                }
                Outgoing::Close { code, reason } => {
                    outbox.close(code, reason);
                    closed.push(conn);
                }
                Outgoing::Abort => {
                    outbox.abandon(End::FellBehind);
                    closed.push(conn);
                }
            }
        }
        if let Some((_, outbox)) = last {
            outbox.flush();
        }
        for conn in closed {
            self.links.remove(&conn);
        }
        for conn in &self.overflowed {
            self.links.remove(conn);
        }
    }

    /// The tick has handled what arrived; connections may hand over more.
    fn release(&mut self) {
        for conn in self.heard.drain(..) {
            if let Some(link) = self.links.get_mut(&conn) {
                link.inbox.add_permits(std::mem::take(&mut link.taken));
            }
        }
    }

    /// Whether nobody has been here for long enough, and nobody is on the way in.
    fn is_unwanted(&mut self) -> bool {
        // A session that is held keeps its room. The runtime is asked only where it matters.
        if !self.links.is_empty() || self.runtime.sessions() > 0 {
            self.empty_since = None;
            return false;
        }
        let now = self.now();
        let since = *self.empty_since.get_or_insert(now);
        now.saturating_sub(since) >= self.place.registry.sleep && self.place.leave_if_unwanted()
    }

    async fn end(mut self, outcome: Outcome) {
        let room = &self.place.name;
        let (code, reason) = match &outcome {
            Outcome::Stopped => {
                tracing::info!(kind = "stopped", room, "room stopped with its server");
                (code::GOING_AWAY, GOING_AWAY)
            }
            Outcome::Unwanted => {
                tracing::info!(kind = "stopped", room, "room stopped; nobody was in it");
                (code::BUSY, "try again")
            }
            Outcome::Failed(message) => {
                tracing::error!(kind = "failed", room, "room failed: {message}");
                (code::FAILED, NOT_SAVED)
            }
        };
        self.place.leave();
        for link in self.links.values() {
            link.outbox.close(code, reason);
        }
        refuse(&mut self.commands, code, reason).await;
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }
}

/// The reason that goes with 1001.
pub(super) const GOING_AWAY: &str = "the server is going away";

/// Takes no more commands, and closes the sockets of those who were on their way in.
async fn refuse<G: Game>(commands: &mut mpsc::Receiver<Command<G>>, code: u16, reason: &str) {
    commands.close();
    // Waits for who is being handed over just now, who would hear from nobody else.
    while let Some(command) = commands.recv().await {
        if let Command::Open(open) = command {
            open.outbox.close(code, reason);
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

//! One socket: a read task, which this is, and a write task.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::Shared;
use super::auth::AuthRequest;
use super::door::Pass;
use super::frames::Frames;
use super::goal::{self, Aim, ENTER_TRIES, Goal, Newcomer};
use super::outbox::{End, Outbox};
use super::pulse::{Ear, Heard, Lost, Pulse};
use super::registry::WayIn;
use super::room_task::{Check, Command, GOING_AWAY, cost};
use super::shutdown::stopped;
use crate::limits;
use crate::room::Game;
use crate::runtime::{Closed, ConnectionId, Identity, Join, Resuming};
use crate::session::{self, Hello, Resume, Token, code};

/// Who opened a socket.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) address: IpAddr,
    pub(super) place: Place,
    /// A file of the game's page is on its way there.
    pub(super) fetches: Arc<AtomicBool>,
    pub(super) stop: watch::Receiver<bool>,
}

/// Where a socket that has not joined stands.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// At the door.
    Door(Arc<Pass>),
    /// There are too many new ones. It is only told so, which it holds leave for.
    Refused { _leave: Arc<OwnedSemaphorePermit> },
}

impl Place {
    /// Waits until it has to go.
    pub(super) async fn evicted(&self) {
        match self {
            Place::Door(pass) => pass.evicted().await,
            Place::Refused { .. } => std::future::pending().await,
        }
    }
}

/// Who stands at the door.
struct Guest {
    address: IpAddr,
    pass: Arc<Pass>,
    stop: watch::Receiver<bool>,
}

/// Why the read task stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// This side closes, with a code and a reason.
    Close(u16, Cow<'static, str>),
    /// The other side sent a close frame with this code.
    Left(u16),
    /// The link broke.
    Broken,
    /// Nothing comes, or nothing is taken.
    Lost(Lost),
    /// The room or the write task has ended it already.
    Ended,
}

impl Stop {
    pub(super) fn close(code: u16, reason: impl Into<Cow<'static, str>>) -> Stop {
        Stop::Close(code, reason.into())
    }
}

/// Serves an upgraded socket until it ends. `came` was read with the request.
pub(super) async fn serve<G, R, W>(
    shared: Arc<Shared<G>>,
    goal: Goal,
    visitor: Visitor,
    (came, read): (Bytes, R),
    write: W,
) where
    G: Game,
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    // Held until the socket has ended: a server that stops waits for the last close frame to be written.
    let Visitor { address, place, stop: running, .. } = visitor;
    let outbox = Arc::new(Outbox::default());
    let heard = Heard::new();
    let mut read = Ear::new(read, heard.clone());
    // Goes with this task, however it ends: a socket whose reader is gone is closed.
    let writer = Abort(tokio::spawn(outbox.clone().write(write)));
    let (stop, _leave) = match place {
        Place::Door(pass) => {
            let mut frames = Frames::new(&mut read, &came);
            drop(came);
            let guest = Guest { address, pass, stop: running.clone() };
            let Err(stop) = converse(&shared, &goal, guest, &mut frames, &outbox, heard).await;
            (stop, None)
        }
        Place::Refused { _leave } => (Stop::close(code::BUSY, "too many new sockets"), Some(_leave)),
    };
    match stop {
        Stop::Close(code, reason) => {
            tracing::debug!(kind = "refused", room = %goal, code, reason = &*reason, "a socket was closed");
            outbox.close(code, &reason);
        }
        Stop::Left(code) => outbox.close(code, ""),
        Stop::Broken | Stop::Lost(Lost::Silent) => outbox.abandon(End::Broken),
        Stop::Lost(Lost::Stuck) => outbox.abandon(End::FellBehind),
        Stop::Ended => {}
    }
    finish(&outbox, writer, read).await;
    drop(running);
}

/// Everything that is said on a socket; never returns but to stop.
async fn converse<G: Game, S: AsyncRead + Unpin>(
    shared: &Arc<Shared<G>>,
    goal: &Goal,
    guest: Guest,
    frames: &mut Frames<S>,
    outbox: &Arc<Outbox>,
    heard: Arc<Heard>,
) -> Result<Infallible, Stop> {
    let Guest { address, pass, mut stop } = guest;
    let running = stop.clone();
    let (aim, join) = tokio::select! {
        biased;
        () = stopped(&mut stop) => return Err(Stop::close(code::GOING_AWAY, GOING_AWAY)),
        known = come_in(shared, goal, (address, &pass, &running), frames, outbox) => known?,
    };
    let conn = ConnectionId(shared.next_connection());
    let inbox = Arc::new(Semaphore::new(limits::HANDED_OVER));
    let newcomer = Newcomer { conn, address, join, outbox: outbox.clone(), inbox: inbox.clone() };
    let link = goal::enter(shared, aim, newcomer, &stop).await?;
    // In the room, it is the seats that are limited.
    drop(pass);
    let mut pulse = Pulse::new(shared.rhythm, heard);
    let Err(stop) = listen(conn, &link, frames, outbox, &inbox, &mut pulse).await;
    // A room that is gone, or has closed the socket itself, has no need to hear.
    let _ = link.send(Command::Close { conn, how: how_closed(&stop, outbox.end()) }).await;
    Err(stop)
}

/// How a socket ended, as its room has to hear it.
fn how_closed(stop: &Stop, end: Option<End>) -> Closed {
    match (stop, end) {
        (Stop::Lost(Lost::Silent), _) => Closed::Silent,
        (Stop::Lost(Lost::Stuck), _) | (_, Some(End::FellBehind)) => Closed::FellBehind,
        (Stop::Broken, _) | (_, Some(End::Broken)) => Closed::Broken,
        (Stop::Close(..) | Stop::Left(_) | Stop::Ended, Some(End::Closing) | None) => Closed::WithFrame,
    }
}

/// The way to the room: the first message, the session that it names, and whom the game says it is from. The
/// socket stands at the door all the while.
async fn come_in<G: Game, S: AsyncRead + Unpin>(
    shared: &Arc<Shared<G>>,
    goal: &Goal,
    (address, pass, running): (IpAddr, &Pass, &watch::Receiver<bool>),
    frames: &mut Frames<S>,
    outbox: &Arc<Outbox>,
) -> Result<(Aim, Join), Stop> {
    let (aim, hello, resuming) = tokio::select! {
        biased;
        () = pass.evicted() => return Err(Stop::close(code::BUSY, "too many sockets that have not joined")),
        _ = outbox.ended() => return Err(Stop::Ended),
        known = introduce(shared, goal, (address, running), frames, outbox) => known?,
    };
    if !pass.authenticating() {
        return Err(Stop::close(code::BUSY, "too many sockets that have not joined"));
    }
    let identity = authenticate(shared, &aim, address, &hello, resuming).await?;
    Ok((aim, Join { hello, identity, token: token()? }))
}

/// A fresh secret.
fn token() -> Result<Token, Stop> {
    let mut token = Token::default();
    getrandom::fill(&mut token.0).map_err(|error| {
        tracing::error!(kind = "failed", "no random token: {error}");
        Stop::close(code::SERVER_FAILED, "the server failed to make a token")
    })?;
    Ok(token)
}

/// The first message, the room that is meant, and the session that goes on.
async fn introduce<G: Game, S: AsyncRead + Unpin>(
    shared: &Arc<Shared<G>>,
    goal: &Goal,
    (address, stop): (IpAddr, &watch::Receiver<bool>),
    frames: &mut Frames<S>,
    outbox: &Arc<Outbox>,
) -> Result<(Aim, Hello, Option<Resuming>), Stop> {
    let first = timeout(shared.hello, frames.next(outbox)).await;
    let first = first.map_err(|_| Stop::close(code::NO_HELLO, "no hello in time"))??;
    let hello = session::admit(&first, &shared.schema).map_err(|refusal| {
        if let Some(message) = refusal.closing {
            // It is the first thing in the outbox, so it fits.
            let _ = outbox.message(&message);
        }
        Stop::close(refusal.code, refusal.reason)
    })?;
    drop(first);
    let aim = goal.aim(shared, address).await?;
    let Some(resume) = &hello.resume else { return Ok((aim, hello, None)) };
    let limit = Duration::from_secs(limits::AUTHENTICATE_SECONDS);
    match timeout(limit, check_session(shared, &aim.room, resume, stop)).await {
        Ok(resuming) => resuming.map(|resuming| (aim, hello, Some(resuming))),
        Err(_) => Err(Stop::close(code::BUSY, "the room does not answer")),
    }
}

/// Asks the room for the session. Wrong tokens cost it next to nothing: few are with it at a time, and one for a
/// room that does not run makes none.
async fn check_session<G: Game>(
    shared: &Shared<G>,
    room: &str,
    resume: &Resume,
    stop: &watch::Receiver<bool>,
) -> Result<Resuming, Stop> {
    let ended = || Stop::close(code::BUSY, "the room ended while this client came back; try again");
    // A room may end between being found and being asked, and be there again.
    for _ in 0..ENTER_TRIES {
        // Without the ticket: who is not known yet keeps no room awake.
        let WayIn { link, checks, .. } = goal::come_back(shared, room, stop).await?;
        let turn = checks.acquire_owned().await.map_err(|_| ended())?;
        let (reply, answer) = oneshot::channel();
        // What it claims to hold is of no matter here.
        let resume = Resume { session: resume.session, token: resume.token, ..Resume::default() };
        let command = Command::Check(Box::new(Check { resume, reply, turn }));
        if link.send(command).await.is_ok() {
            let answer = answer.await.map_err(|_| ended())?;
            return answer.map_err(|refusal| Stop::close(refusal.code, refusal.reason));
        }
    }
    Err(ended())
}

/// The room that had the session is gone.
pub(super) fn no_session() -> Stop {
    Stop::close(code::NO_SESSION, "the session is unknown or expired")
}

/// Asks the game who this is.
async fn authenticate<G: Game>(
    shared: &Shared<G>,
    aim: &Aim,
    address: IpAddr,
    hello: &Hello,
    resuming: Option<Resuming>,
) -> Result<Identity, Stop> {
    let Some(hook) = &shared.authenticate else { return Ok(Identity::guest()) };
    let resuming = resuming.map(|resuming| (resuming.session, resuming.player));
    let room = &*aim.room;
    let request = AuthRequest::new(aim, hello, address, resuming);
    // A task of its own, so that a panic costs this socket and nothing else.
    let mut task = Abort(tokio::spawn(hook.ask(request)));
    match timeout(Duration::from_secs(limits::AUTHENTICATE_SECONDS), &mut task.0).await {
        Ok(Ok(Ok(identity))) => Ok(identity),
        Ok(Ok(Err(denied))) => {
            tracing::info!(kind = "denied", room, reason = denied.reason(), "a client was not let in");
            Err(Stop::close(code::NOT_ALLOWED, denied.close_reason().to_owned()))
        }
        Ok(Err(_)) => {
            tracing::error!(
                kind = "hook_panicked",
                room,
                hook = "authenticate",
                "the authenticate hook panicked"
            );
            Err(Stop::close(code::SERVER_FAILED, "the server failed to authenticate this client"))
        }
        Err(_) => {
            tracing::warn!(kind = "denied", room, "the authenticate hook took too long");
            Err(Stop::close(code::BUSY, "authentication took too long"))
        }
    }
}

/// Ends a task that nobody waits for any more.
struct Abort<T>(JoinHandle<T>);

impl<T> Drop for Abort<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Carries messages to the room until the socket ends.
async fn listen<G: Game, S: AsyncRead + Unpin>(
    conn: ConnectionId,
    room: &mpsc::Sender<Command<G>>,
    frames: &mut Frames<S>,
    outbox: &Outbox,
    inbox: &Semaphore,
    pulse: &mut Pulse,
) -> Result<Infallible, Stop> {
    let ended = outbox.ended();
    tokio::pin!(ended);
    loop {
        let bytes = tokio::select! {
            biased;
            _ = &mut ended => return Err(Stop::Ended),
            message = frames.next(outbox) => message?,
            lost = pulse.lost(outbox) => return Err(Stop::Lost(lost)),
        };
        let cost = cost(&bytes) as u32;
        let mut command = Command::Message { conn, bytes };
        if let Ok(permit) = inbox.try_acquire_many(cost) {
            permit.forget();
            match room.try_send(command) {
                Ok(()) => continue,
                Err(TrySendError::Closed(_)) => return Err(Stop::Ended),
                Err(TrySendError::Full(back)) => {
                    inbox.add_permits(cost as usize);
                    command = back;
                }
            }
        }
        // A connection that says too much waits for the next tick, and holds up nobody else.
        let hand_over = async {
            let permit = inbox.acquire_many(cost).await.map_err(|_| Stop::Ended)?;
            permit.forget();
            room.send(command).await.map_err(|_| Stop::Ended)
        };
        tokio::select! {
            biased;
            _ = &mut ended => return Err(Stop::Ended),
            handed = hand_over => handed?,
        }
    }
}

/// Ends a socket. After a close frame its input is read and dropped for a moment: a socket closed with input
/// unread is reset, and the code would be lost with it.
async fn finish<R: AsyncRead + Unpin>(outbox: &Outbox, mut writer: Abort<()>, mut read: R) {
    if outbox.end() == Some(End::Closing) {
        let deadline = Instant::now() + Duration::from_secs(limits::CLOSE_SECONDS);
        let _ = timeout_at(deadline, discard(&mut read)).await;
        let _ = timeout_at(deadline, &mut writer.0).await;
    }
}

async fn discard<R: AsyncRead + Unpin>(read: &mut R) {
    let mut buffer = [0; 4096];
    let mut left = limits::CLOSE_DISCARD;
    while let Ok(n) = read.read(&mut buffer).await {
        if n == 0 || n > left {
            return;
        }
        left -= n;
    }
}

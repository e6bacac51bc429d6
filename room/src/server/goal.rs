//! Which room a socket comes to: by name, by code, or any of a kind.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;

use super::Shared;
use super::outbox::Outbox;
use super::registry::{NoPlace, Rank, Ticket, WayIn};
use super::room_task::{Command, GOING_AWAY, Open};
use super::socket::{Stop, no_session};
use crate::limits;
use crate::room::Game;
use crate::runtime::{ConnectionId, Join, PRIVATE, Way};
use crate::session::code;

/// What a socket's path asks for: a name, a code or a kind, in the form of a room's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Name(String),
    Code(String),
    Kind(String),
}

/// The room that is meant, once its code is known.
#[derive(Clone, Debug)]
pub(super) struct Aim {
    /// Empty for any room of a kind.
    pub(super) room: String,
    pub(super) way: Way,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::Name(name) => f.write_str(name),
            // A code lets people in: it appears in no log.
            Goal::Code(_) => f.write_str("by code"),
            Goal::Kind(kind) => write!(f, "any {kind}"),
        }
    }
}

impl Goal {
    /// The room that is meant. What has no room counts against the address.
    pub(super) async fn aim<G: Game>(&self, shared: &Shared<G>, address: IpAddr) -> Result<Aim, Stop> {
        match self {
            Goal::Name(name) => Ok(Aim { room: name.clone(), way: Way::Name }),
            Goal::Kind(kind) => Ok(Aim { room: String::new(), way: Way::Kind(kind.clone()) }),
            Goal::Code(code) => match shared.registry.by_code(code, address).await.map_err(no_place)? {
                Some(Some(room)) => Ok(Aim { room, way: Way::Code }),
                Some(None) => Err(Stop::close(
                    code::NOT_ALLOWED,
                    format!("no room has the code {code}; ask for it again"),
                )),
                None => Err(Stop::close(code::BUSY, "too many wrong codes; try again in a minute")),
            },
        }
    }
}

/// A client that was let in, on its way to a room.
pub(super) struct Newcomer {
    pub(super) conn: ConnectionId,
    pub(super) address: IpAddr,
    pub(super) join: Join,
    pub(super) outbox: Arc<Outbox>,
    pub(super) inbox: Arc<Semaphore>,
}

/// Hands the client to its room.
pub(super) async fn enter<G: Game>(
    shared: &Arc<Shared<G>>,
    aim: Aim,
    newcomer: Newcomer,
    stop: &watch::Receiver<bool>,
) -> Result<mpsc::Sender<Command<G>>, Stop> {
    match &aim.way {
        Way::Kind(_) if newcomer.join.hello.resume.is_some() => Err(no_session()),
        Way::Kind(kind) => enter_any(shared, kind, newcomer, stop).await,
        Way::Name | Way::Code => enter_room(shared, aim, newcomer, stop).await,
    }
}

/// Hands the client to the one room that is meant, which closes it where it has nothing for it.
async fn enter_room<G: Game>(
    shared: &Arc<Shared<G>>,
    aim: Aim,
    newcomer: Newcomer,
    stop: &watch::Receiver<bool>,
) -> Result<mpsc::Sender<Command<G>>, Stop> {
    let (resumes, address) = (newcomer.join.hello.resume.is_some(), newcomer.address);
    let WayIn { mut link, ticket, .. } = way_in(shared, &aim, address, stop, resumes).await?;
    let Newcomer { conn, join, outbox, inbox, .. } = newcomer;
    let open = Open { conn, way: aim.way.clone(), join, outbox, inbox, ticket, answer: None };
    let mut command = Command::Open(Box::new(open));
    // A room may end between being found and being told; then another takes its place.
    for _ in 0..ENTER_TRIES {
        let Err(mpsc::error::SendError(back)) = link.send(command).await else { return Ok(link) };
        command = back;
        if *stop.borrow() {
            return Err(Stop::close(code::GOING_AWAY, GOING_AWAY));
        }
        let other = way_in(shared, &aim, address, stop, resumes).await?;
        link = other.link;
        if let Command::Open(open) = &mut command {
            open.ticket = other.ticket;
        }
    }
    Err(Stop::close(code::BUSY, "the room ended while this client came in"))
}

/// How often a client is handed over to a room that ends just then.
pub(super) const ENTER_TRIES: usize = 4;

/// The room, which is created for whom it holds no session.
async fn way_in<G: Game>(
    shared: &Arc<Shared<G>>,
    aim: &Aim,
    address: IpAddr,
    stop: &watch::Receiver<bool>,
    resumes: bool,
) -> Result<WayIn<G>, Stop> {
    if resumes {
        return come_back(shared, &aim.room, stop).await;
    }
    shared.registry.enter(&aim.room, &aim.way, address, stop).await.map_err(no_place)
}

/// The room that may hold a client's session.
pub(super) async fn come_back<G: Game>(
    shared: &Shared<G>,
    room: &str,
    stop: &watch::Receiver<bool>,
) -> Result<WayIn<G>, Stop> {
    let way = shared.registry.reenter(room, stop).await.map_err(no_place)?;
    way.ok_or_else(|| if *stop.borrow() { Stop::close(code::GOING_AWAY, GOING_AWAY) } else { no_session() })
}

fn no_place(why: NoPlace) -> Stop {
    match why {
        NoPlace::Full => Stop::close(code::BUSY, "the server has as many rooms as it may have"),
        NoPlace::TooOften => {
            Stop::close(code::BUSY, "this address made too many rooms; try again in a minute")
        }
        NoPlace::Private => Stop::close(code::NOT_ALLOWED, PRIVATE),
        NoPlace::NoAnswer => Stop::close(code::BUSY, "the server cannot look up its rooms; try again"),
        NoPlace::NoLetters => Stop::close(code::SERVER_FAILED, "the server failed to make a room"),
    }
}

/// Asks the open rooms of a kind for a seat, one after the other in order of creation, and then new ones. Only a
/// room itself knows whether it has a seat, and whom it gives one has it.
async fn enter_any<G: Game>(
    shared: &Arc<Shared<G>>,
    kind: &str,
    mut newcomer: Newcomer,
    stop: &watch::Receiver<bool>,
) -> Result<mpsc::Sender<Command<G>>, Stop> {
    let (mut after, mut crowded) = (None::<Rank>, None::<NoPlace>);
    // Ends: each room that is asked was made after the one before, but for those that are asked once more.
    loop {
        if *stop.borrow() {
            return Err(Stop::close(code::GOING_AWAY, GOING_AWAY));
        }
        let address = newcomer.address;
        let way = match shared.registry.any(kind, after, crowded.is_some(), address, stop).await {
            Ok(Some(way)) => way,
            Ok(None) => return Err(no_place(crowded.unwrap_or(NoPlace::Full))),
            // Somebody who is on the way into a room may never arrive there.
            Err(why) => {
                (after, crowded) = (None, Some(why));
                continue;
            }
        };
        after = Some(way.rank);
        match ask(kind, newcomer, &way.link, way.ticket).await? {
            None => return Ok(way.link),
            Some(back) => newcomer = Newcomer { address, ..back },
        }
    }
}

/// Asks one room for a seat; hands the client back where that is not her room.
async fn ask<G: Game>(
    kind: &str,
    newcomer: Newcomer,
    link: &mpsc::Sender<Command<G>>,
    ticket: Ticket,
) -> Result<Option<Newcomer>, Stop> {
    let (reply, mut answer) = oneshot::channel();
    let Newcomer { conn, address, join, outbox, inbox } = newcomer;
    let way = Way::Kind(kind.to_owned());
    let open = Open { conn, way, join, outbox, inbox, ticket, answer: Some(reply) };
    let back = match link.send(Command::Open(Box::new(open))).await {
        Ok(()) => {
            let limit = Duration::from_secs(limits::SEATING_SECONDS);
            match timeout(limit, &mut answer).await {
                Ok(Ok(back)) => back,
                // The room is gone, and has closed the socket.
                Ok(Err(_)) => return Err(Stop::Ended),
                Err(_) => {
                    // From here on the room hears that nobody waits; it may have answered just before.
                    answer.close();
                    answer.try_recv().map_err(|_| Stop::close(code::BUSY, "the room does not answer"))?
                }
            }
        }
        // It has ended meanwhile.
        Err(mpsc::error::SendError(Command::Open(open))) => Some(open),
        Err(_) => return Err(Stop::Ended),
    };
    Ok(back.map(|open| {
        let Open { conn, join, outbox, inbox, .. } = *open;
        Newcomer { conn, address, join, outbox, inbox }
    }))
}

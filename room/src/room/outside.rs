//! What a game has done outside its room: messages to other rooms, effects, work that waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Game, Room, SendError};
use crate::limits;
use crate::sync::workers::Shared;
use crate::wire::{DecodeError, payload};

/// A value that a game gave away and gets back, or gets from another room.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Arc<[u8]>);

impl Payload {
    pub(crate) fn new(bytes: impl Into<Arc<[u8]>>) -> Payload {
        Payload(bytes.into())
    }

    /// A value as another room sends it, for who hands it over.
    ///
    /// # Errors
    /// Fails for a value of more than 60 KiB.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Payload, SendError> {
        let mut bytes = Vec::new();
        payload::encode(value, limits::ROOM_PAYLOAD, &mut bytes)?;
        Ok(Payload::new(bytes))
    }

    /// The value.
    ///
    /// # Errors
    /// Fails where it was given as another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        payload::decode(&self.0)
    }

    /// The value as it is kept: MessagePack.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Arc<[u8]>> for Payload {
    /// A value as it was kept.
    fn from(bytes: Arc<[u8]>) -> Payload {
        Payload(bytes)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// Something to be done outside the room, until it is known to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// A key that no other effect of any room has. An effect may be asked for again after it was done, by a room that
    /// did not live to hear of it: by the key the other side knows the repetition.
    pub key: Arc<str>,
    /// What the game gave to [`Room::after_commit`].
    pub payload: Payload,
}

/// Work that waits for something, and its answer.
pub type Work = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// What came of work.
pub type Answer = Result<Payload, WorkFailed>;

/// Work that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work failed: {0}")]
pub struct WorkFailed(pub String);

/// Something that a room asks its driver for, once the tick that asked is committed.
#[non_exhaustive]
pub enum Outside {
    /// A message for another room.
    Mail {
        /// The other room's name.
        to: String,
        /// The message.
        message: Payload,
    },
    /// Something to be done until it succeeds; then
    /// [`handle_performed`](crate::runtime::Runtime::handle_performed) is called with the number.
    Effect {
        /// Its number.
        number: u64,
        /// Its key.
        key: Arc<str>,
        /// The value.
        payload: Arc<[u8]>,
    },
    /// Work, whose answer [`handle_answer`](crate::runtime::Runtime::handle_answer) takes.
    Work {
        /// What the game calls it.
        name: String,
        /// The work. It is behind a lock, since a room is shared between threads and a future need not be.
        work: Shared<Work>,
    },
}

/// What a game said of the outside since it was last asked.
#[derive(Default)]
pub(super) struct Said {
    pub(super) said: Vec<Outside>,
    pub(super) next_effect: u64,
    /// What the keys of effects begin with.
    pub(super) origin: u64,
    scratch: Vec<u8>,
}

impl Said {
    fn encode<T: Serialize + ?Sized>(&mut self, value: &T, most: usize) -> Result<Arc<[u8]>, SendError> {
        self.scratch.clear();
        payload::encode(value, most, &mut self.scratch)?;
        Ok(self.scratch.as_slice().into())
    }
}

impl<G: Game> Room<G> {
    /// Asks for something outside the room: [`Game::perform`] is called with the value until it succeeds, after this
    /// tick is committed and not before, also by later runs of the room.
    ///
    /// # Errors
    /// Fails for a value of more than 60 KiB; then nothing is asked for.
    pub fn after_commit<T: Serialize + ?Sized>(&mut self, effect: &T) -> Result<(), SendError> {
        let payload = self.outside.encode(effect, limits::ROOM_PAYLOAD)?;
        let number = self.outside.next_effect;
        self.outside.next_effect += 1;
        let key = format!("{:016x}-{number}", self.outside.origin).into();
        self.outside.said.push(Outside::Effect { number, key, payload });
        Ok(())
    }

    /// Sends a message to another room of this server, which gets it as [`Game::on_message`]: once this tick is
    /// committed, in order, and at most once. A room that sleeps is woken for it; one that there is not gets nothing.
    ///
    /// # Errors
    /// Fails for a message of more than 60 KiB; then nothing is sent.
    pub fn send_to<T: Serialize + ?Sized>(&mut self, room: &str, message: &T) -> Result<(), SendError> {
        let message = Payload(self.outside.encode(message, limits::ROOM_PAYLOAD)?);
        self.outside.said.push(Outside::Mail { to: room.to_owned(), message });
        Ok(())
    }

    /// Lets work run that waits for something, such as a database: its answer comes in a later tick, as
    /// [`Game::on_answer`] with this name. It is lost where the server ends before: what must happen belongs to
    /// [`after_commit`](Self::after_commit).
    pub fn spawn<T: Serialize>(
        &mut self,
        name: impl Into<String>,
        work: impl Future<Output = T> + Send + 'static,
    ) {
        let work = async move {
            let answer = work.await;
            let mut bytes = Vec::new();
            match payload::encode(&answer, limits::ANSWER, &mut bytes) {
                Ok(()) => Ok(Payload::new(bytes)),
                Err(error) => Err(WorkFailed(error.to_string())),
            }
        };
        let work: Work = Box::pin(work);
        self.outside.said.push(Outside::Work { name: name.into(), work: Shared::new(work) });
    }
}

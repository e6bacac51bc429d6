//! A client without a socket.

use std::cell::{Ref, RefCell};
use std::fmt;
use std::rc::Rc;

use room::Owned;
use room::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::event::{CallId, CallOptions, ClientStats, Event, EventId, SendError, Status};
use crate::interpolate::Smooth;
use crate::machine::{Checkpoint, Machine, Notice, WriteRefused};
use crate::predict::Predicted;
use crate::replica::Replica;

/// A client of a [`TestRoom`](super::TestRoom). A copy of it is the same client.
#[derive(Clone)]
pub struct TestClient {
    pub(super) machine: Rc<RefCell<Machine>>,
}

impl TestClient {
    /// What it sees of a kind, in ID order.
    #[must_use]
    pub fn view<K: Visible + Clone>(&self) -> Vec<(Id<K>, K)> {
        self.replica().all::<K>().map(|(id, entity)| (id, entity.clone())).collect()
    }

    /// Draws some numbers of a kind smoothly from now on: see [`Machine::interpolate`].
    ///
    /// # Panics
    /// As [`Machine::interpolate`].
    pub fn interpolate<K: Visible>(&self, fields: impl Smooth<K>) {
        self.machine.borrow_mut().interpolate(fields);
    }

    /// An entity as it is to be drawn after the last tick.
    #[must_use]
    pub fn drawn<K: Visible>(&self, id: Id<K>) -> Option<K> {
        self.replica().drawn(id).cloned()
    }

    /// What it sees of a kind, in ID order, as it is to be drawn after the last tick.
    #[must_use]
    pub fn drawn_all<K: Visible>(&self) -> Vec<(Id<K>, K)> {
        self.replica().drawn_all::<K>().map(|(id, entity)| (id, entity.clone())).collect()
    }

    /// The room's state, once it has come.
    #[must_use]
    pub fn state<K: Visible + Clone>(&self) -> Option<K> {
        self.replica().state::<K>().cloned()
    }

    /// The player's own private state, once it has come.
    #[must_use]
    pub fn private<K: Visible + Clone>(&self) -> Option<K> {
        self.replica().private::<K>().cloned()
    }

    /// A player's presence, where it sees it.
    #[must_use]
    pub fn presence(&self, player: PlayerId) -> Option<Presence> {
        self.replica().presence(player).cloned()
    }

    /// Everyone whose presence it sees, in the order of their numbers.
    #[must_use]
    pub fn presences(&self) -> Vec<Presence> {
        self.replica().presences().into_iter().cloned().collect()
    }

    /// Everything it holds, and what the last tick changed of it.
    #[must_use]
    pub fn replica(&self) -> Ref<'_, Replica> {
        Ref::map(self.machine.borrow(), Machine::replica)
    }

    /// What happened since the last call; the game has taken it then.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.machine.borrow_mut().events().collect()
    }

    /// The game's events among [`events`](TestClient::events); all else that happened is passed over.
    ///
    /// # Panics
    /// If one is no `T`.
    #[must_use]
    pub fn messages<T: DeserializeOwned>(&self) -> Vec<T> {
        let messages = self.events().into_iter().filter_map(|event| match event {
            Event::Message(message) => Some(message),
            _ => None,
        });
        messages.map(|message| message.decode().expect("the event is of the type asked for")).collect()
    }

    /// Sends an event, which the game gets at the next tick; while the link is down it waits.
    ///
    /// # Errors
    /// As [`Machine::send`].
    pub fn send<T: Serialize + ?Sized>(&self, event: &T) -> Result<EventId, SendError> {
        self.machine.borrow_mut().send(event)
    }

    /// Sends a transient.
    ///
    /// # Errors
    /// As [`Machine::transient`].
    pub fn transient<T: Serialize + ?Sized>(&self, event: &T) -> Result<(), SendError> {
        self.machine.borrow_mut().transient(event)
    }

    /// Sets what the player's presence says of her, at the next tick; while the link is down it waits.
    ///
    /// # Errors
    /// As [`Machine::set_status`].
    pub fn set_status(&self, status: &str) -> Result<EventId, SendError> {
        self.machine.borrow_mut().set_status(status)
    }

    /// Makes a call, whose result comes as an event.
    ///
    /// # Errors
    /// As [`Machine::call`].
    pub fn call<T: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &T,
        options: CallOptions,
    ) -> Result<CallId, SendError> {
        self.machine.borrow_mut().call(name, value, options)
    }

    /// What its player does from now on; see [`Machine::input`]. Her steps are made at the next tick.
    pub fn input<S: Stepper>(&self, input: S::Input) {
        self.machine.borrow_mut().input::<S>(input);
    }

    /// Writes an entity that its player owns; see [`Machine::write`].
    ///
    /// # Errors
    /// As [`Machine::write`].
    pub fn write<K: Owned, R>(
        &self,
        id: Id<K>,
        write: impl FnOnce(&mut K::Owned<'_>) -> R,
    ) -> Result<R, WriteRefused> {
        self.machine.borrow_mut().write(id).map(|mut entity| write(&mut entity))
    }

    /// Figures of the client.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        self.machine.borrow().stats()
    }

    /// Makes a call, and shows at once what it is expected to do; see [`Machine::call_predicted`].
    ///
    /// # Errors
    /// As [`Machine::call`].
    pub fn call_predicted<T: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &T,
        options: CallOptions,
        effect: impl Fn(&mut Predicted<'_>) + Send + Sync + 'static,
    ) -> Result<CallId, SendError> {
        self.machine.borrow_mut().call_predicted(name, value, options, effect)
    }

    /// Where its connection stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.machine.borrow().status().clone()
    }

    /// Who it is in the room; `None` where it has no session.
    #[must_use]
    pub fn player(&self) -> Option<PlayerId> {
        self.machine.borrow().player()
    }

    /// What its player is told of the connection; nothing while it is joined.
    #[must_use]
    pub fn notice(&self) -> Option<Notice> {
        self.machine.borrow().notice()
    }

    /// Events and calls that the room has not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.machine.borrow().unacknowledged()
    }

    /// What continues its session in [`TestRoom::restart`](super::TestRoom::restart); `None` where there is none to continue.
    #[must_use]
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        self.machine.borrow_mut().checkpoint()
    }

    /// Every byte it was ever sent: as it came, and as the updates' plain content.
    #[must_use]
    pub fn received(&self) -> (Vec<u8>, Vec<u8>) {
        let machine = self.machine.borrow();
        let (raw, plain) = machine.received();
        (raw.to_vec(), plain.to_vec())
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestClient").field(&self.machine.borrow()).finish()
    }
}

//! What a room in a test has done outside: effects, messages to other rooms, work that waits.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use room::Game;
use room::runtime::{Answer, Effect, Outside, Payload, Work};
use serde::Serialize;

use super::TestRoom;

/// What the room has asked for, and the test has not looked at.
#[derive(Default)]
pub(super) struct Asked {
    /// By the numbers that the room knows them by.
    effects: Vec<(u64, Effect)>,
    mail: Vec<(String, Payload)>,
    /// Invariant: none of these is done.
    work: Vec<(String, Work)>,
}

impl Asked {
    /// Looks at all work once, and returns what has come to its end.
    fn answers(&mut self) -> Vec<(String, Answer)> {
        let mut context = Context::from_waker(Waker::noop());
        let (mut done, mut left) = (Vec::new(), Vec::new());
        for (name, mut work) in self.work.drain(..) {
            match Pin::new(&mut work).poll(&mut context) {
                Poll::Ready(answer) => done.push((name, answer)),
                Poll::Pending => left.push((name, work)),
            }
        }
        self.work = left;
        done
    }
}

impl<G: Game> TestRoom<G> {
    /// The effects that the room has asked for with [`after_commit`](room::Room::after_commit) since the last call; of a
    /// room with a store, those of what is committed. [`Game::perform`] is not called, so that a test reaches nothing
    /// outside: to have been returned counts as performed. What was not is asked for again, under the same key, by
    /// the run of the room that follows [`kill_and_wake`](TestRoom::kill_and_wake).
    pub fn effects(&mut self) -> Vec<Effect> {
        let asked = std::mem::take(&mut self.asked.effects);
        let performed = asked.into_iter().map(|(number, effect)| {
            self.runtime.handle_performed(number);
            effect
        });
        performed.collect()
    }

    /// The messages that the room has sent to others with [`send_to`](room::Room::send_to) since the last call, in
    /// order, each with the name of the other room; of a room with a store, those of what is committed.
    pub fn mail(&mut self) -> Vec<(String, Payload)> {
        std::mem::take(&mut self.asked.mail)
    }

    /// Another room of that name sends a message, which is handled in the next tick.
    ///
    /// # Panics
    /// If the message cannot be sent: it has more than 60 KiB.
    pub fn send_from<T: Serialize + ?Sized>(&mut self, room: &str, message: &T) {
        let message = Payload::of(message).unwrap_or_else(|error| panic!("{error}"));
        self.runtime.handle_mail(room.to_owned(), message);
    }

    /// Takes what the room asks for.
    pub(super) fn collect(&mut self) {
        while let Some(outside) = self.runtime.poll_outside() {
            match outside {
                Outside::Mail { to, message } => self.asked.mail.push((to, message)),
                Outside::Effect { number, key, payload } => {
                    self.asked.effects.push((number, Effect { key, payload: Payload::from(payload) }));
                }
                Outside::Work { name, work } => self.asked.work.push((name, work.into_inner())),
                _ => {}
            }
        }
    }

    /// Runs the work that waits as far as it comes. Its answers are handled in the next tick.
    pub(super) fn work(&mut self) {
        for (name, answer) in self.asked.answers() {
            self.runtime.handle_answer(name, answer);
        }
    }
}

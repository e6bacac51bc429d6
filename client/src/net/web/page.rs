//! A client that its page's events and its game share.

use std::cell::{Cell, RefCell, RefMut};
use std::fmt;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use room::session::code;
use wasm_bindgen::JsCast;
use web_sys::{Document, PageTransitionEvent, VisibilityState, Window};

use super::super::client::Client;
use super::events::{Interval, Listener};
use super::memory::Memory;
use super::sockets::{Auth, Sockets};
use super::{Now, now};
use crate::event::Status;
use crate::machine::Machine;

/// How often the client looks after its connection by itself, in milliseconds.
const LOOK_MS: i32 = 250;

/// A client in a page; clones are of the same one. The game calls [`update`](Page::update) once a frame, and works with
/// the [`Client`] that it gives. Between frames the client has the page's events: it is told by itself that the page is
/// hidden or shown, that the network is back, and that the page goes, and it lives on while there are no frames.
///
/// Dropping the last clone closes the connection; [`leave`](Page::leave) also gives the seat back at once.
#[derive(Clone)]
pub struct Page(Rc<Core>);

/// What page and game share.
pub(super) struct Core {
    client: RefCell<Client>,
    document: Option<Document>,
    // What the page told while the game had the client.
    told: RefCell<Vec<Told>>,
    memory: Option<Memory>,
    // It was found in the page's memory, and the room has not been heard yet.
    found: Cell<bool>,
    // The page is on its way out: that it is hidden then says nothing.
    going: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
    // For as long as it lives.
    _listeners: Vec<Listener>,
    _interval: Interval,
}

/// What the page told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// It was hidden or shown.
    Visible,
    /// It may be gone, or stand still, in a moment.
    Going,
    /// It goes on.
    Back,
    /// The network is back.
    Online,
}

impl Page {
    pub(super) fn new(
        window: &Window,
        machine: Machine,
        auth: Auth,
        memory: Option<Memory>,
        found: bool,
    ) -> Page {
        let page = Page(Rc::new_cyclic(|core: &Weak<Core>| Core {
            client: RefCell::new(Client::new(machine, Sockets::new(auth, core.clone()))),
            document: window.document(),
            told: RefCell::new(vec![Told::Visible]),
            memory,
            found: Cell::new(found),
            going: Cell::new(false),
            wakers: RefCell::default(),
            _listeners: listeners(window, core),
            _interval: Interval::new(window, LOOK_MS, {
                let core = core.clone();
                move || tell(&core, None)
            }),
        }));
        page.0.turn();
        page
    }

    /// Applies everything that has come and sends what waits, as [`Client::update`] does, and gives the client until
    /// what is returned is let go. `now` is what `requestAnimationFrame` says, or `performance.now()`.
    ///
    /// # Panics
    /// Where what an earlier call returned is still held.
    pub fn update(&self, now: f64) -> RefMut<'_, Client> {
        let mut client = self.client();
        let last_chance = self.0.attend(&mut client);
        client.update(now);
        self.0.after(&mut client, last_chance);
        client
    }

    /// The client between two frames: for a click that sends something.
    ///
    /// # Panics
    /// Where what an earlier call returned is still held.
    pub fn client(&self) -> RefMut<'_, Client> {
        self.0.client.try_borrow_mut().expect("let go of the client before you ask the page for it again")
    }

    /// Leaves for good, once the room has what was sent before. Says whether the room has released the player; stops
    /// waiting after a second, and then keeps what continues the session.
    pub async fn leave(&self) -> bool {
        {
            let mut client = self.client();
            let at = client.since(now());
            client.machine.leave(at);
            client.flush();
        }
        poll_fn(|context| match self.client().status() {
            Status::Closed { code, .. } => Poll::Ready(*code == Some(code::LEFT)),
            _ => {
                self.wake_later(context);
                Poll::Pending
            }
        })
        .await
    }

    /// Asks again once something has happened.
    pub(super) fn wake_later(&self, context: &Context<'_>) {
        self.0.wakers.borrow_mut().push(context.waker().clone());
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Page").field(&self.0.client).finish()
    }
}

impl Core {
    /// Looks after the connection. Where the game has the client, its next frame does.
    pub(super) fn turn(&self) {
        let Ok(mut client) = self.client.try_borrow_mut() else { return };
        let last_chance = self.attend(&mut client);
        let now = now();
        if client.is_hidden() {
            // The game gets no frames: the room's events are taken for it.
            client.absorb(now);
        } else {
            client.pump(now);
        }
        self.after(&mut client, last_chance);
    }

    /// Hands on what the page told. Returns whether the page may be gone in a moment.
    fn attend(&self, client: &mut Client) -> bool {
        let mut last_chance = false;
        for told in self.told.take() {
            last_chance |= told == Told::Going;
            match told {
                Told::Visible if self.going.get() => {}
                Told::Visible => {
                    let hidden = self.is_hidden();
                    let shown = client.is_hidden() && !hidden;
                    client.set_hidden(hidden);
                    last_chance |= hidden;
                    if shown {
                        client.handle_foreground();
                    }
                }
                Told::Going => {}
                Told::Back => {
                    client.set_hidden(self.is_hidden());
                    client.handle_foreground();
                }
                Told::Online => client.handle_online(),
            }
        }
        last_chance
    }

    /// After anything may have changed.
    fn after(&self, client: &mut Client, last_chance: bool) {
        if *client.status() == Status::Lost && self.found.get() {
            client.rejoin();
        }
        // What becomes of a session that this page has played is the game's affair.
        self.found.set(self.found.get() && client.epoch() == 0 && client.session().is_some());
        if let Some(memory) = &self.memory {
            memory.keep(client, now(), last_chance);
            // What is stored now can be acknowledged.
            client.flush();
        }
        self.wakers.take().into_iter().for_each(Waker::wake);
    }

    fn is_hidden(&self) -> bool {
        let state = self.document.as_ref().map(Document::visibility_state);
        state == Some(VisibilityState::Hidden)
    }
}

impl Client {
    /// All that [`update`](Self::update) does, while the game does not look.
    fn absorb(&mut self, now: Now) {
        self.receive(now);
        let at = self.since(now);
        self.machine.absorb(at);
        self.flush();
        self.dial(now);
    }
}

/// The page tells something.
fn tell(core: &Weak<Core>, told: Option<Told>) {
    let Some(core) = core.upgrade() else { return };
    match told {
        Some(Told::Going) => core.going.set(true),
        Some(Told::Back) => core.going.set(false),
        _ => {}
    }
    core.told.borrow_mut().extend(told);
    core.turn();
}

/// What is heard of the page.
fn listeners(window: &Window, core: &Weak<Core>) -> Vec<Listener> {
    let on_window = |name, told| {
        let core = core.clone();
        Listener::new(window, name, move |_| tell(&core, Some(told)))
    };
    let mut listeners = vec![on_window("pagehide", Told::Going), on_window("online", Told::Online)];
    let back = core.clone();
    listeners.push(Listener::new(window, "pageshow", move |event| {
        // The first one says that the page was loaded.
        if event.dyn_into::<PageTransitionEvent>().is_ok_and(|event| event.persisted()) {
            tell(&back, Some(Told::Back));
        }
    }));
    if let Some(document) = window.document() {
        for (name, told) in
            [("visibilitychange", Told::Visible), ("freeze", Told::Going), ("resume", Told::Back)]
        {
            let core = core.clone();
            listeners.push(Listener::new(&document, name, move |_| tell(&core, Some(told))));
        }
    }
    listeners
}

//! The browser's WebSocket.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::time::Duration;

use room::limits;
use room::session::code;
use room::wire::SUBPROTOCOL;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{BinaryType, CloseEvent, Event, MessageEvent, Url, WebSocket};

use super::super::connect::ConnectError;
use super::events::Listener;
use super::page::Core;
use super::{Now, now, since};
use crate::machine::Outgoing;

/// An auth value, or why there is none.
type Authorized = Result<Vec<u8>, ConnectError>;

/// Asks for the auth value of a try.
pub(in super::super) type Auth = Rc<dyn Fn() -> Pin<Box<dyn Future<Output = Authorized>>>>;

/// How a socket closed: the code, unless it broke, and the reason.
type Closed = (Option<u16>, String);

/// An auth value that is the same at each try.
pub(in super::super) fn ready(bytes: Vec<u8>) -> Auth {
    Rc::new(move || Box::pin(std::future::ready(Ok(bytes.clone()))))
}

/// Whether a URL is one of a room.
pub(in super::super) fn check_url(url: &str) -> Result<(), ConnectError> {
    let bad = |reason| ConnectError::BadUrl { url: url.to_owned(), reason };
    let parsed = Url::new(url).map_err(|_| bad("it does not parse; write wss://host/rooms/name"))?;
    match parsed.protocol().as_str() {
        "ws:" | "wss:" => {}
        _ => return Err(bad("it must begin with ws:// or wss://")),
    }
    match parsed.pathname().as_str() {
        "" | "/" => Err(bad("it names no room; write wss://host/rooms/name")),
        _ if !parsed.hash().is_empty() => Err(bad("it has a #fragment, which sockets have not")),
        _ => Ok(()),
    }
}

/// Bytes that are handed to the browser ahead; the rest waits in the machine.
const AHEAD: u32 = 64 * 1024;

/// The socket of a client, and the one that is being opened.
pub(in super::super) struct Sockets {
    auth: Auth,
    page: Weak<Core>,
    socket: Option<Socket>,
    dialing: Option<Dialing>,
}

/// A socket that is being opened: first the auth value, then the socket itself.
struct Dialing {
    url: String,
    auth: Rc<RefCell<Option<Authorized>>>,
    opening: Option<(Socket, Vec<u8>)>,
    began: Now,
}

impl Sockets {
    /// Tells the page whenever there is something to take.
    pub(super) fn new(auth: Auth, page: Weak<Core>) -> Sockets {
        Sockets { auth, page, socket: None, dialing: None }
    }

    pub(in super::super) fn since(&self, now: Now) -> Duration {
        since(now)
    }

    /// A browser tells of whole messages alone.
    pub(in super::super) fn heard(&self) -> bool {
        false
    }

    /// The messages that have come since the last time, and how the socket closed.
    pub(in super::super) fn take(&mut self) -> (Vec<(Duration, Vec<u8>)>, Option<Closed>) {
        let Some(socket) = &self.socket else { return (Vec::new(), None) };
        let (messages, closed) = (socket.heard.messages.take(), socket.heard.closed.take());
        if closed.is_some() {
            self.socket = None;
        }
        (messages, closed)
    }

    /// What became of the socket that was being opened, once that is known: the auth value that goes with it.
    pub(in super::super) fn opened(&mut self) -> Option<Authorized> {
        let dialing = self.dialing.as_mut()?;
        let opened = dialing.poll(&self.page)?;
        self.dialing = None;
        Some(opened.map(|(socket, auth)| {
            self.socket = Some(socket);
            auth
        }))
    }

    /// Begins to open a socket.
    pub(in super::super) fn dial(&mut self, url: &str) {
        let auth = Rc::default();
        self.dialing =
            Some(Dialing { url: url.to_owned(), auth: Rc::clone(&auth), opening: None, began: now() });
        let (value, page) = ((self.auth)(), self.page.clone());
        spawn_local(async move {
            let value = value.await;
            *auth.borrow_mut() = Some(value);
            wake(&page);
        });
    }

    /// Whether there is a socket that wants more.
    pub(in super::super) fn has_room(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.socket.buffered_amount() < AHEAD)
    }

    /// Hands something to the socket, if there is one.
    pub(in super::super) fn send(&mut self, outgoing: Outgoing) {
        let Some(socket) = &self.socket else { return };
        match outgoing {
            // Where it fails, the socket is closing, and will say so.
            Outgoing::Message(bytes) => drop(socket.socket.send_with_u8_array(&bytes)),
            Outgoing::Close { code, reason } => {
                // A page may close with 1000 and with codes of its own. Dropping it closes it without one.
                let _ = socket.socket.close_with_code_and_reason(code, &reason);
                self.socket = None;
            }
            Outgoing::Abort => self.socket = None,
        }
    }
}

impl Dialing {
    fn poll(&mut self, page: &Weak<Core>) -> Option<Result<(Socket, Vec<u8>), ConnectError>> {
        let fail = |url: &str, why: &str| {
            let error = std::io::Error::other(why.to_owned());
            Some(Err(ConnectError::Dial { address: url.to_owned(), error }))
        };
        if let Some(auth) = self.auth.borrow_mut().take() {
            let auth = match auth {
                Ok(auth) => auth,
                Err(error) => return Some(Err(error)),
            };
            self.began = now();
            match Socket::open(&self.url, page.clone()) {
                Some(socket) => self.opening = Some((socket, auth)),
                None => return fail(&self.url, "the browser lets this page open no socket there"),
            }
        }
        let (socket, _) = self.opening.as_ref()?;
        if socket.heard.closed.borrow().is_some() {
            return fail(&self.url, "no socket opened, and a browser does not say why");
        }
        if socket.heard.open.get() {
            return self.opening.take().map(Ok);
        }
        let late = now() - self.began >= 1000.0 * limits::CONNECT_SECONDS as f64;
        if late { fail(&self.url, "it does not answer") } else { None }
    }
}

/// Dropping it closes it.
struct Socket {
    socket: WebSocket,
    heard: Rc<Heard>,
    _listeners: [Listener; 3],
}

/// What the browser said of a socket.
#[derive(Default)]
struct Heard {
    open: Cell<bool>,
    messages: RefCell<Vec<(Duration, Vec<u8>)>>,
    closed: RefCell<Option<Closed>>,
}

impl Socket {
    fn open(url: &str, page: Weak<Core>) -> Option<Socket> {
        let socket = WebSocket::new_with_str(url, SUBPROTOCOL).ok()?;
        socket.set_binary_type(BinaryType::Arraybuffer);
        let heard = Rc::<Heard>::default();
        let on = |name, hear: fn(&Heard, Event)| {
            let (heard, page) = (heard.clone(), page.clone());
            Listener::new(&socket, name, move |event| {
                hear(&heard, event);
                wake(&page);
            })
        };
        let listeners = [
            on("open", |heard, _| heard.open.set(true)),
            on("message", Heard::message),
            on("close", Heard::close),
        ];
        Some(Socket { socket, heard, _listeners: listeners })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // One that is closed already stays so.
        let _ = self.socket.close();
    }
}

impl Heard {
    fn message(&self, event: Event) {
        let Ok(event) = event.dyn_into::<MessageEvent>() else { return };
        // A text is no message; the machine is given an empty one, which is none either.
        let bytes = event.data().dyn_into::<js_sys::ArrayBuffer>();
        let bytes = bytes.map(|bytes| js_sys::Uint8Array::new(&bytes).to_vec()).unwrap_or_default();
        self.messages.borrow_mut().push((since(now()), bytes));
    }

    fn close(&self, event: Event) {
        /// No close frame came.
        const BROKEN: u16 = 1006;
        /// One came, and said nothing.
        const NO_CODE: u16 = 1005;
        let closed = match event.dyn_into::<CloseEvent>().map(|event| (event.code(), event.reason())) {
            Ok((NO_CODE, reason)) => (Some(code::LEFT), reason),
            Ok((code, reason)) if code != BROKEN => (Some(code), reason),
            _ => (None, "the link broke".to_owned()),
        };
        *self.closed.borrow_mut() = Some(closed);
    }
}

fn wake(page: &Weak<Core>) {
    if let Some(page) = page.upgrade() {
        page.turn();
    }
}

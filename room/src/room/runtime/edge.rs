//! What a driver gives to a room and takes from it.

use super::ConnectionId;
use crate::session::{Hello, Token};

/// Who authentication says a client is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The account; none for a guest, who is forgotten when she leaves.
    pub account: Option<String>,
}

impl Identity {
    /// Somebody without an account.
    #[must_use]
    pub fn guest() -> Identity {
        Identity::default()
    }

    /// The owner of an account.
    pub fn account(name: impl Into<String>) -> Identity {
        Identity { account: Some(name.into()) }
    }
}

/// A client that may come in.
#[derive(Clone, Debug)]
pub struct Join {
    /// Its first message, as [`session::admit`](crate::session::admit) let it pass.
    pub hello: Hello,
    /// Who it is.
    pub identity: Identity,
    /// A fresh secret from the operating system, with which its session can be continued. It is not logged.
    pub token: Token,
}

/// How a socket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// With a close frame.
    WithFrame,
    /// Without one.
    Broken,
    /// Nothing was heard of it for too long.
    Silent,
    /// It did not take what waited for it.
    FellBehind,
}

/// Something for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing<'a> {
    /// A binary message.
    Message(&'a [u8]),
    /// A close frame; nothing follows for that connection.
    Close {
        /// The code.
        code: u16,
        /// The reason, at most 123 bytes.
        reason: &'a str,
    },
    /// The socket is to be ended without a close frame; nothing follows for that connection.
    Abort,
}

/// Something for one connection's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// The connection.
    pub conn: ConnectionId,
    /// What its socket should do.
    pub outgoing: Outgoing<'a>,
}

/// A clock of the driver's, which is told when hooks begin and end, and with `send` what follows them. The room
/// never reads it, so it changes nothing.
pub trait Stopwatch: Send {
    /// Something begins. Nothing begins within another thing.
    fn start(&mut self, what: &'static str);
    /// It has ended. Where it panicked, and the room with it, this is not called.
    fn stop(&mut self, what: &'static str);
}

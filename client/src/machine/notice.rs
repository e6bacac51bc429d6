//! Lines that a player can read.

use room::session::code;

use crate::event::Status;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// The first connection is being made.
    Connecting,
    /// The connection dropped and is being made again.
    Reconnecting,
    /// A new session is being made.
    Rejoining,
    /// The room cannot be reached, or does not let this client in.
    Failed,
    /// The session is over.
    Ended,
}

/// What to tell the player about the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// A line for the player.
    pub text: String,
}

/// The close code of a server that closed a room because nobody played.
const NOBODY_PLAYED: u16 = 4010;

/// The library's words for where a client stands.
pub(super) fn notice(status: &Status) -> Option<Notice> {
    let (kind, text) = match status {
        Status::Joined => return None,
        Status::Connecting => (NoticeKind::Connecting, "Connecting…"),
        Status::Reconnecting => (NoticeKind::Reconnecting, "Connection lost. Reconnecting…"),
        Status::Rejoining => (NoticeKind::Rejoining, "Joining again…"),
        Status::Lost => (NoticeKind::Ended, "Your place in the game is gone. Join again to play on."),
        Status::Closed { code, reason } => closed(*code, reason),
    };
    Some(Notice { kind, text: text.to_owned() })
}

fn closed(code: Option<u16>, reason: &str) -> (NoticeKind, &str) {
    let or = |sentence: &'static str| if reason.is_empty() { sentence } else { reason };
    match code {
        Some(code::LEFT) => (NoticeKind::Ended, "You left the room."),
        Some(code::REPLACED) => (NoticeKind::Ended, "You are playing somewhere else now."),
        Some(code::KICKED) => (NoticeKind::Ended, or("You were removed from the room.")),
        Some(NOBODY_PLAYED) => (NoticeKind::Ended, "The room closed because nobody played."),
        Some(code::NOT_ALLOWED) => (NoticeKind::Failed, "You are not allowed into this room."),
        Some(code::FULL) => (NoticeKind::Failed, "The room is full."),
        Some(code::VERSION) => {
            (NoticeKind::Failed, "This version of the game does not fit the server's. Update or reload.")
        }
        Some(code::JOIN_REFUSED) => (NoticeKind::Failed, or("The room did not let you in.")),
        Some(_) => (NoticeKind::Failed, "The connection failed."),
        None => (NoticeKind::Failed, "The server cannot be reached."),
    }
}

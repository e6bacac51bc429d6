//! What a room is called, and what is shown of it to those who are not in it.

use super::runtime::StartError;
use super::{Game, Room};
use crate::limits;
use crate::wire::message::is_room_name;
use crate::wire::{DecodeError, Reader, varint};

/// What a room is, as others see it: in a list of rooms, at the door, and while it sleeps.
///
/// The server makes it; the game changes it through [`Room`]. It encodes to at most [`limits::LABEL`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The code by which the room is joined: 6 letters, or none.
    pub code: String,
    /// What is played in it: as a room's name, 1 to 64 letters, digits, `.`, `_`, `~` and `-`.
    pub kind: String,
    /// When the room was made, in seconds of Unix time; 0 where nobody knows.
    pub created: u64,
    /// The seats that the game has set; none where the setting holds.
    pub max_players: Option<u32>,
    /// Whether it is left out of the list.
    pub hidden: bool,
    /// Whether new players come in by the code alone. It is not listed either.
    pub private: bool,
    /// Whether play has begun. Who looks for any room is not seated in it.
    pub started: bool,
    /// Whether it is deleted, and not put to sleep, when nobody is in it.
    pub discard: bool,
}

impl Default for Label {
    fn default() -> Label {
        Label {
            code: String::new(),
            kind: String::from("room"),
            created: 0,
            max_players: None,
            hidden: false,
            private: false,
            started: false,
            discard: false,
        }
    }
}

/// Where a room stands among others: what it is told before `on_create`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Its label: a fresh one, or the one that it had when it went to sleep.
    pub label: Label,
}

impl Default for Site {
    /// A room by itself, of the name `room`.
    fn default() -> Site {
        Site { name: String::from("room"), label: Label::default() }
    }
}

impl Site {
    /// Says what of it a room cannot have.
    pub(super) fn validate(&self) -> Result<(), StartError> {
        let wrong = |setting, value: &str, allowed| {
            Err(StartError::Setting { setting, value: format!("{value:?}"), allowed })
        };
        let (code, kind) = (&self.label.code, &self.label.kind);
        if !is_room_name(&self.name) {
            wrong("name", &self.name, "1 to 64 letters, digits, `.`, `_`, `~` and `-`, but not `.` or `..`")
        } else if !is_room_name(kind) {
            wrong("kind", kind, "1 to 64 letters, digits, `.`, `_`, `~` and `-`, but not `.` or `..`")
        } else if !(code.is_empty() || is_code(code)) {
            wrong("code", code, "6 capital letters, or none")
        } else {
            Ok(())
        }
    }
}

/// A kind that no room can be of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a room's kind is 1 to 64 letters, digits, `.`, `_`, `~` and `-`, but not `.` or `..`; this is {kind:?}"
)]
pub struct BadKind {
    kind: String,
}

impl Label {
    /// Whether the room is in the list.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        !self.hidden && !self.private
    }

    /// Whether somebody who looks for any room of its kind may be seated in it, if it has a seat.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.private && !self.started
    }

    /// Appends the label.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.code.is_empty() || is_code(&self.code));
        out.push(LAYOUT);
        for text in [&self.code, &self.kind] {
            varint::put(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        varint::put(out, self.created);
        varint::put(out, self.max_players.unwrap_or(0).into());
        let flags = [self.hidden, self.private, self.started, self.discard];
        out.push(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
    }

    /// Reads a label; no bytes are that of a room which nothing is known of.
    pub fn decode(bytes: &[u8]) -> Result<Label, DecodeError> {
        if bytes.is_empty() {
            return Ok(Label::default());
        }
        let mut r = Reader::new(bytes);
        if r.u8()? != LAYOUT {
            return Err(DecodeError::Value);
        }
        let (code, kind) = (r.text(limits::CODE)?, r.text(limits::ROOM_NAME)?);
        if !(code.is_empty() || is_code(code)) || !is_room_name(kind) {
            return Err(DecodeError::Value);
        }
        let (created, seats) = (r.varint()?, r.varint()?);
        let seats = u32::try_from(seats).map_err(|_| DecodeError::Value)?;
        let flags = r.u8()?;
        if flags >= 1 << 4 {
            return Err(DecodeError::Value);
        }
        r.end()?;
        let flag = |bit: u8| flags >> bit & 1 == 1;
        Ok(Label {
            code: code.to_owned(),
            kind: kind.to_owned(),
            created,
            max_players: (seats > 0).then_some(seats),
            hidden: flag(0),
            private: flag(1),
            started: flag(2),
            discard: flag(3),
        })
    }
}

/// How the rest of a label's bytes is laid out.
const LAYOUT: u8 = 1;

/// Whether `code` has the form of a room's code.
#[must_use]
pub fn is_code(code: &str) -> bool {
    code.len() == limits::CODE && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A room's own copy of where it stands.
#[derive(Debug)]
pub(super) struct Standing {
    site: Site,
    // Seats where the game has set none.
    seats: usize,
    // Invariant: another one for each change of the label; never 0.
    version: u64,
}

impl Standing {
    pub(super) fn new(site: Site, seats: usize) -> Standing {
        Standing { site, seats, version: 1 }
    }

    pub(super) fn label(&self) -> &Label {
        &self.site.label
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    fn change(&mut self, change: impl FnOnce(&mut Label)) {
        let before = self.site.label.clone();
        change(&mut self.site.label);
        self.version += u64::from(self.site.label != before);
    }
}

impl<G: Game> Room<G> {
    /// The room's name, by which clients and other rooms find it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.standing.site.name
    }

    /// What is shown of the room to those who are not in it.
    #[must_use]
    pub fn label(&self) -> &Label {
        self.standing.label()
    }

    /// The six letters by which the room can be joined, for a player to read to another; empty where no server
    /// runs it.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.label().code
    }

    /// When the room was made, in seconds of Unix time; 0 where no server runs it.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.label().created
    }

    /// What is played in it. `room` for one that was joined by a name of its own, until the game says otherwise;
    /// for one that was made for somebody who asked for any room of a kind, that kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.label().kind
    }

    /// Says what is played in it.
    ///
    /// # Errors
    /// Fails, and changes nothing, where that is not a kind's name.
    pub fn set_kind(&mut self, kind: &str) -> Result<(), BadKind> {
        if !is_room_name(kind) {
            return Err(BadKind { kind: kind.to_owned() });
        }
        self.standing.change(|label| kind.clone_into(&mut label.kind));
        Ok(())
    }

    /// Leaves the room out of the list, or not. It is still joined by name, by code and by who looks for any room.
    pub fn set_hidden(&mut self, hidden: bool) {
        self.standing.change(|label| label.hidden = hidden);
    }

    /// Lets new players in by the code alone, or not. Such a room is not listed. Who has a session in it comes back
    /// as ever.
    pub fn set_private(&mut self, private: bool) {
        self.standing.change(|label| label.private = private);
    }

    /// Says whether play has begun. Who looks for any room is not seated in one that has started; by name and by
    /// code players still come in, unless `on_join` refuses them.
    pub fn set_started(&mut self, started: bool) {
        self.standing.change(|label| label.started = started);
    }

    /// The room's seats: sessions that it has at the most.
    #[must_use]
    pub fn max_players(&self) -> usize {
        self.label().max_players.map_or(self.standing.seats, |most| most as usize)
    }

    /// Sets the room's seats, 1 to 1,048,576; a number outside counts as the nearest. Nobody loses a seat where
    /// there are fewer than are taken.
    pub fn set_max_players(&mut self, seats: usize) {
        let seats = seats.clamp(1, limits::SEATS_MOST) as u32;
        self.standing.change(|label| label.max_players = Some(seats));
    }

    /// Deletes the room when nobody is in it any more, with all that is stored of it, or puts it to sleep: for
    /// rooms of one match.
    pub fn discard_when_empty(&mut self, discard: bool) {
        self.standing.change(|label| label.discard = discard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> Label {
        Label {
            code: "KWMTRX".into(),
            kind: "duel".into(),
            created: 1_800_000_000,
            max_players: Some(2),
            hidden: true,
            private: false,
            started: true,
            discard: true,
        }
    }

    fn encoded(label: &Label) -> Vec<u8> {
        let mut out = Vec::new();
        label.encode(&mut out);
        out
    }

    #[test]
    fn a_label_reads_as_it_was_written() {
        for label in [label(), Label::default(), Label { private: true, ..Label::default() }] {
            assert_eq!(Label::decode(&encoded(&label)), Ok(label));
        }
        assert_eq!(Label::decode(&[]), Ok(Label::default()), "nothing is known of it");
    }

    #[test]
    fn the_longest_label_fits() {
        let (kind, created) = ("k".repeat(limits::ROOM_NAME), u64::MAX);
        let longest = Label { kind, created, max_players: Some(u32::MAX), ..label() };
        assert!(encoded(&longest).len() <= limits::LABEL);
        assert_eq!(Label::decode(&encoded(&longest)), Ok(longest));
    }

    #[test]
    fn bytes_that_are_no_label_are_refused() {
        let good = encoded(&label());
        for end in 1..good.len() {
            assert!(Label::decode(&good[..end]).is_err(), "{end} bytes");
        }
        for at in 0..good.len() {
            for byte in 0..=255 {
                let mut bytes = good.clone();
                bytes[at] = byte;
                // Some of these are other labels; one that decodes is one that could be written.
                if let Ok(other) = Label::decode(&bytes) {
                    assert_eq!(encoded(&other), bytes);
                }
            }
        }
        assert_eq!(Label::decode(&[&good[..], &[0]].concat()), Err(DecodeError::Trailing));
    }
}

//! A room's settings, and why a room cannot start.

use crate::limits;
use crate::schema::SchemaError;

/// Settings of a room.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Ticks a second, 1 to 128; 20 if not said.
    pub tick_rate: u32,
    /// Sends every so many ticks; 1 if not said.
    pub send_every: u32,
    /// How many can play at once; 20 if not said.
    pub seats: usize,
    /// The most plain bytes of one update; 256 KiB if not said. At least one part (60 KiB).
    pub update_cap: usize,
    /// The highest window of a connection, in bytes: an update starts only where it and what is not acknowledged fit
    /// the window. It starts at 64 KiB and follows what a second acknowledges; 256 KiB if not said.
    pub window: usize,
    /// Seconds that a session is held, 0 to 300; if not said 15 where the connection ended with a close frame, 30
    /// where it broke and 120 where the page had been hidden.
    pub hold_seconds: Option<u32>,
    /// What an account's second connection means.
    pub sessions: Sessions,
    /// Events for one session that wait for acknowledgement; past it for 30 seconds the connection is ended. 4,096
    /// if not said, at most 16,384. Clients are told, and keep no more of their own.
    pub events_most: usize,
    /// Bytes of such events; 1 MiB if not said, at most 4 MiB.
    pub events_bytes: usize,
    /// Messages a second that a client may send on average; acknowledgements, hidden and leave do not count. 60 if
    /// not said.
    pub messages_per_second: u32,
    /// How many of them at once; 120 if not said.
    pub messages_burst: u32,
    /// Hours that an account's private state is kept after its player has left; none for ever. 24 if not said.
    pub retention_hours: Option<u64>,
    /// How far back [`Room::rewind`](crate::Room::rewind) goes at the most, in milliseconds, 0 to 10,000; 1,000 if not
    /// said.
    pub rewind_ms: u32,
    /// Strangers reach it: a panic in a hook costs that call and not the room.
    pub deployed: bool,
    /// The DEFLATE level at which large entities are compressed, once a version: 1 to 9, 9 if not said. At a send, where
    /// somebody waits, at most level 5; better in the time until the next tick.
    pub piece_level: u32,
    /// Whether each update carries a hash of the view, for tests and for finding divergence.
    pub view_hash: bool,
    /// The build's name: 1 to 64 letters, digits, `.`, `_`, `-`; empty for none.
    pub build: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tick_rate: limits::TICK_RATE,
            send_every: 1,
            seats: limits::SEATS,
            update_cap: limits::UPDATE,
            window: limits::WINDOW,
            hold_seconds: None,
            sessions: Sessions::default(),
            events_most: limits::EVENTS,
            events_bytes: limits::EVENTS_BYTES,
            messages_per_second: limits::MESSAGES_PER_SECOND,
            messages_burst: limits::MESSAGES_BURST,
            retention_hours: Some(limits::RETENTION_HOURS),
            rewind_ms: limits::REWIND_MS,
            deployed: false,
            piece_level: limits::PIECE_LEVEL,
            view_hash: false,
            build: String::new(),
        }
    }
}

/// What it means that an account connects while it plays already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// Its session goes on over the newer connection; the older one is closed with 4005.
    #[default]
    Continue,
    /// It gets a session of its own, of the same player.
    Several,
    /// The newer one is refused with 4003, unless the session is only held.
    Refuse,
}

/// A room that cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The schema is not one.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A setting is outside its range.
    #[error("{setting} is {value}; allowed is {allowed}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
}

impl Settings {
    /// Says which setting is outside its range, if one is.
    pub fn validate(&self) -> Result<(), StartError> {
        let check = |ok: bool, setting, value: String, allowed| {
            if ok { Ok(()) } else { Err(StartError::Setting { setting, value, allowed }) }
        };
        check(
            (1..=limits::TICK_RATE_MOST).contains(&self.tick_rate),
            "tick_rate",
            self.tick_rate.to_string(),
            "1 to 128",
        )?;
        check(self.send_every >= 1, "send_every", self.send_every.to_string(), "1 and more")?;
        check(self.seats >= 1, "seats", self.seats.to_string(), "1 and more")?;
        check(
            (limits::PART..=limits::UPDATE_MOST).contains(&self.update_cap),
            "update_cap",
            self.update_cap.to_string(),
            "61440 to 8388608",
        )?;
        check(self.window >= limits::PART, "window", self.window.to_string(), "61440 and more")?;
        let hold = self.hold_seconds.unwrap_or_default();
        check(hold <= limits::HOLD_MOST_SECONDS, "hold_seconds", hold.to_string(), "0 to 300")?;
        let most = limits::EVENTS_MOST;
        check(
            (1..=most).contains(&self.events_most),
            "events_most",
            self.events_most.to_string(),
            "1 to 16384",
        )?;
        let bytes = limits::ROOM_MESSAGE..=limits::EVENTS_BYTES_MOST;
        let value = self.events_bytes.to_string();
        check(bytes.contains(&self.events_bytes), "events_bytes", value, "65536 to 4194304")?;
        for (setting, value) in
            [("messages_per_second", self.messages_per_second), ("messages_burst", self.messages_burst)]
        {
            check(value >= 1, setting, value.to_string(), "1 and more")?;
        }
        check(self.rewind_ms <= 10_000, "rewind_ms", self.rewind_ms.to_string(), "0 to 10000")?;
        check((1..=9).contains(&self.piece_level), "piece_level", self.piece_level.to_string(), "1 to 9")?;
        let build = self.build.is_empty() || crate::wire::message::is_build(&self.build);
        check(build, "build", format!("{:?}", self.build), "1 to 64 letters, digits, '.', '_', '-'")
    }
}

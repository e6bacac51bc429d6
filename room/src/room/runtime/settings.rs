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
    /// The most unacknowledged bytes of a connection past which no update starts; 256 KiB if not said.
    pub window: usize,
    /// The DEFLATE level at which large entities are compressed, once a version: 1 to 9, 6 if not said.
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
            piece_level: 6,
            view_hash: false,
            build: String::new(),
        }
    }
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
        check((1..=9).contains(&self.piece_level), "piece_level", self.piece_level.to_string(), "1 to 9")?;
        let build = self.build.is_empty() || crate::wire::message::is_build(&self.build);
        check(build, "build", format!("{:?}", self.build), "1 to 64 letters, digits, '.', '_', '-'")
    }
}

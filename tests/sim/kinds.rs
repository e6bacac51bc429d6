//! What the game of the simulated rooms has and says.

use room::prelude::*;
use serde::{Deserialize, Serialize};

/// The room's state.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Board {
    /// Only grows.
    pub(crate) round: u64,
    /// Words for everyone so far.
    pub(crate) words: u64,
    pub(crate) text: String,
}

/// Private state.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Purse {
    pub(crate) secret: String,
    /// Words of the player's own so far.
    pub(crate) coins: u64,
    /// It is there after its player has left.
    pub(crate) stays: bool,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
pub(crate) struct Avatar {
    pub(crate) owner: PlayerId,
    #[field(coarse)]
    pub(crate) x: f64,
    #[field(coarse)]
    pub(crate) y: f64,
    /// Only grows.
    pub(crate) value: u64,
    /// No other entity has the same.
    pub(crate) birth: u64,
}

/// Large.
#[derive(Entity, Clone, Debug)]
pub(crate) struct Rock {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) serial: u64,
    pub(crate) mass: Bytes,
}

/// Small.
#[derive(Entity, Clone, Debug)]
pub(crate) struct Coin {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) serial: u64,
}

/// Not stored. Under automatic IDs, as avatars.
#[derive(Entity, Clone, Debug)]
#[entity(ephemeral)]
pub(crate) struct Spark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) heat: u64,
    /// No other entity has the same.
    pub(crate) birth: u64,
}

/// Seen by nobody.
#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
pub(crate) struct Vault {
    pub(crate) secret: String,
}

/// Automatic IDs lie below; above it are sparks that each run lights anew under the same IDs.
pub(crate) const LAMPS: u64 = 1 << 40;

/// What every secret begins with; whose it is follows in eight digits.
pub(crate) const MARK: &str = "§§";

pub(crate) fn secret_of(player: u32) -> String {
    format!("{MARK}{player:08}")
}

/// One thing that a page said. `life` counts the sessions of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) page: u32,
    pub(crate) life: u32,
    pub(crate) n: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum What {
    Say,
    Walk {
        dx: f64,
        dy: f64,
    },
    /// Makes the hook panic.
    Boom,
    KickMe,
}

/// A client's event, or transient.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Act {
    pub(crate) mark: Mark,
    pub(crate) what: What,
    pub(crate) pad: String,
}

/// A client's call. `after` is the number of the page's last event before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) mark: Mark,
    pub(crate) after: u64,
    pub(crate) refuse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// For one player.
    Own,
    /// For everyone.
    All,
    /// A transient for everyone.
    Flash,
}

/// What the room says: numbered within its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Word {
    pub(crate) kind: Kind,
    pub(crate) n: u64,
    /// The avatar's value when it was said; 0 for what is for everyone.
    pub(crate) value: u64,
    pub(crate) pad: String,
}

/// Something durable of which clients see a number that only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A coin or a rock, by its ID: the next one under the same ID has a higher serial number.
    Thing(u64),
    Avatar(PlayerId),
    Purse(PlayerId),
    Round,
    Words,
}

/// What the hooks were told and did, in order.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Joined {
        session: SessionId,
        own: u64,
        all: u64,
    },
    Dropped {
        session: SessionId,
        how: Dropped,
    },
    Resumed {
        conn: ConnectionId,
    },
    Left {
        sessions: Vec<SessionId>,
    },
    /// What a client said comes with its session where that is connected.
    Acted {
        conn: ConnectionId,
        session: Option<SessionId>,
        mark: Mark,
    },
    Flicked {
        conn: ConnectionId,
        session: Option<SessionId>,
        mark: Mark,
    },
    Asked {
        conn: ConnectionId,
        session: Option<SessionId>,
        ask: Ask,
    },
    /// Something was deleted when its number stood so.
    Gone {
        key: Key,
        value: u64,
    },
    /// Something is asked of the world outside.
    Sent(u64),
    /// A random number was drawn.
    Drew(u64),
}

impl News {
    /// Whether it says something of a session.
    pub(crate) fn concerns(&self, session: SessionId) -> bool {
        match self {
            News::Joined { session: it, .. } | News::Dropped { session: it, .. } => *it == session,
            News::Left { sessions } => sessions.contains(&session),
            _ => false,
        }
    }
}

//! What a room has to say to those who run it.

use std::collections::BTreeMap;

use super::game::{Dropped, LeaveReason};
use crate::entity::{EntityId, PlayerId};
use crate::tick::Tick;

/// One entry of a room's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Log {
    /// A player joined.
    #[error("player {player} joined as {name:?}")]
    Join {
        /// The player.
        player: PlayerId,
        /// The display name.
        name: String,
    },
    /// A player left.
    #[error("player {player} left: {why:?}")]
    Leave {
        /// The player.
        player: PlayerId,
        /// How.
        why: LeaveReason,
    },
    /// A connection ended, and its session is held.
    #[error("player {player} dropped ({how:?}); her session is held for {hold_seconds} seconds")]
    Dropped {
        /// The player.
        player: PlayerId,
        /// How the connection ended.
        how: Dropped,
        /// How long the session is held.
        hold_seconds: u32,
    },
    /// A session goes on over another connection.
    #[error("player {player} {}", if *held { "came back" } else { "goes on over a newer connection" })]
    Resumed {
        /// The player.
        player: PlayerId,
        /// Whether the session had been held.
        held: bool,
    },
    /// A client said more than it may.
    #[error("player {player} sends too much: {count} messages were dropped")]
    Flooded {
        /// The player.
        player: PlayerId,
        /// How many messages were dropped since the last entry.
        count: u64,
    },
    /// A client wrote what its player may not write, or what the game did not let her.
    #[error("player {player} wrote what she may not: {count} writes were refused")]
    RefusedWrites {
        /// The player.
        player: PlayerId,
        /// How many writes were refused since the last entry.
        count: u64,
    },
    /// A connection was closed for what it sent.
    #[error("player {player} was closed with {code} for what she sent: {reason}; events are of type {event}")]
    BadMessage {
        /// The player.
        player: PlayerId,
        /// The close code.
        code: u16,
        /// What was wrong.
        reason: String,
        /// The type that the game takes events of.
        event: &'static str,
    },
    /// A client is of another build than the room.
    #[error("player {player} plays build {client}, the room is build {room}")]
    BuildMismatch {
        /// The player.
        player: PlayerId,
        /// The room's build.
        room: String,
        /// The client's build.
        client: String,
    },
    /// An event failed the room again and again; it is not tried any more.
    #[error(
        "event {number} of player {player} failed the room each time it was handled; it counts as failed"
    )]
    GaveUp {
        /// The player.
        player: PlayerId,
        /// The event's number in her session.
        number: u64,
    },
    /// A game's hook panicked.
    #[error("{hook} panicked in tick {tick}: {message}")]
    HookPanicked {
        /// The hook.
        hook: &'static str,
        /// The tick.
        tick: u64,
        /// The panic's message.
        message: String,
    },
    /// The game's interest panicked; nothing became visible for it.
    #[error("the interest panicked {count} times; each time nothing became visible")]
    InterestPanicked {
        /// How often since the last entry.
        count: u64,
    },
    /// A connection would subscribe to more keys than it may.
    #[error("player {player} subscribes to too many keys; the rest is left out, the nearest cells are kept")]
    SubscriptionCap {
        /// The player.
        player: PlayerId,
    },
    /// An entity has more keys than it may.
    #[error("{kind} {id} has too many keys; the rest is left out")]
    KeyCap {
        /// The entity.
        id: EntityId,
        /// Its kind.
        kind: &'static str,
    },
    /// A connection would see more entities than it may.
    #[error("player {player} would see too many entities; the rest is left out")]
    ViewCap {
        /// The player.
        player: PlayerId,
    },
    /// An entity's position is not finite; it is placed nowhere.
    #[error("the position of {kind} {id} is not finite; it is placed nowhere")]
    BadPosition {
        /// The entity.
        id: EntityId,
        /// Its kind.
        kind: &'static str,
    },
    /// A connection's place is not finite; it counts as none.
    #[error("the place of player {player} is not finite; it counts as none")]
    BadAround {
        /// The player.
        player: PlayerId,
    },
    /// Values were clamped by quantization.
    #[error("{count} values were clamped, the first in {kind}.{field} of {id}")]
    Clamped {
        /// How many since the last entry.
        count: u64,
        /// The first one's entity.
        id: EntityId,
        /// Its kind.
        kind: &'static str,
        /// Its field.
        field: &'static str,
    },
    /// No part of the interest can show a kind.
    #[error(
        "no part of the interest places {kind}: it is visible to nobody; place it in a grid, give it keys, or make it hidden"
    )]
    UnseenKind {
        /// The kind.
        kind: &'static str,
    },
}

impl Log {
    /// The entry's kind, as log lines name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Log::Join { .. } => "join",
            Log::Leave { .. } => "leave",
            Log::Dropped { how: Dropped::Silent, .. } => "silent",
            Log::Dropped { how: Dropped::FellBehind, .. } => "fell_behind",
            Log::Dropped { .. } => "dropped",
            Log::Resumed { .. } => "resumed",
            Log::Flooded { .. } => "flooded",
            Log::RefusedWrites { .. } => "refused_writes",
            Log::BadMessage { .. } => "bad_message",
            Log::BuildMismatch { .. } => "build_mismatch",
            Log::GaveUp { .. } => "gave_up",
            Log::HookPanicked { .. } | Log::InterestPanicked { .. } => "hook_panicked",
            Log::SubscriptionCap { .. } | Log::KeyCap { .. } => "key_cap",
            Log::ViewCap { .. } => "view_cap",
            Log::BadPosition { .. } | Log::BadAround { .. } => "bad_position",
            Log::Clamped { .. } => "clamped",
            Log::UnseenKind { .. } => "unseen_kind",
        }
    }
}

/// Lets one line a subject and minute through of what would else repeat every send.
#[derive(Debug, Default)]
pub(crate) struct LogGate {
    last: BTreeMap<(&'static str, u64), Tick>,
}

/// Subjects that the gate remembers; past them it forgets all and starts anew.
const GATE: usize = 4096;

impl LogGate {
    pub(crate) fn admits(&mut self, log: &Log, now: Tick, tick_rate: u32) -> bool {
        let subject = match log {
            Log::SubscriptionCap { player } | Log::ViewCap { player } | Log::BadAround { player } => {
                u64::from(player.0)
            }
            Log::KeyCap { id, .. } | Log::BadPosition { id, .. } => id.get(),
            _ => 0,
        };
        self.admits_every(u64::from(tick_rate) * 60, log.kind(), subject, now)
    }

    /// Whether the last line of this kind and subject is at least so many ticks ago.
    pub(crate) fn admits_every(&mut self, ticks: u64, kind: &'static str, subject: u64, now: Tick) -> bool {
        let key = (kind, subject);
        if self.last.get(&key).is_some_and(|last| now.0 < last.0 + ticks) {
            return false;
        }
        if self.last.len() >= GATE {
            self.last.clear();
        }
        self.last.insert(key, now);
        true
    }
}

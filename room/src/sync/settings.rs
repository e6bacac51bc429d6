//! What a room's driver sets.

use crate::limits;

/// Settings of the sync core.
#[derive(Clone, Copy, Debug)]
pub struct SyncSettings {
    /// The most plain bytes of an update.
    pub update_cap: usize,
    /// The highest window of a connection.
    pub window: usize,
    /// Ticks a second.
    pub tick_rate: u32,
    /// Sends every so many ticks.
    pub send_every: u32,
    /// The DEFLATE level of shared pieces, 1 to 9.
    pub piece_level: u32,
    /// Whether updates carry a hash of the view.
    pub view_hash: bool,
    /// How many entities each client keeps after they left its view.
    pub retain: usize,
}

impl Default for SyncSettings {
    fn default() -> Self {
        SyncSettings {
            update_cap: limits::UPDATE,
            window: limits::WINDOW,
            tick_rate: limits::TICK_RATE,
            send_every: 1,
            piece_level: limits::PIECE_LEVEL,
            view_hash: false,
            retain: 0,
        }
    }
}

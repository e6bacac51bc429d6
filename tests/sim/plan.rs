//! What a seed decides before the run: the room, the players, the weather.

use room::runtime::{Sessions, Settings};

use super::rng::Rng;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) clients: usize,
    /// Seconds of faults between two checks, and how often.
    pub(crate) seconds: u64,
    pub(crate) rounds: u64,
    /// Large entities, so that things are held back.
    pub(crate) rocks: u64,
    pub(crate) rock_bytes: usize,
    /// Ticks from one storm of large changes to the next; 0 for none.
    pub(crate) storm: u64,
    pub(crate) coins: u64,
    pub(crate) limit: Option<usize>,
    /// How much clients keep of what left their view.
    pub(crate) retain: usize,
    /// How far a view reaches, and how far what is in it may go.
    pub(crate) range: f64,
    pub(crate) release: f64,
    /// Faults of links in a million steps of each.
    pub(crate) weather: u64,
    /// What players do besides playing, in a million steps of each.
    pub(crate) mischief: u64,
    /// Strangers that bring hellos of their own, in a million steps.
    pub(crate) rogues: u64,
    /// One in so many welcomes is lost with its link; 0 for none.
    pub(crate) lost_welcomes: u64,
    /// Some events carry this many bytes more.
    pub(crate) pad: usize,
    /// Clients whose machine comes back by itself as a new player.
    pub(crate) rejoin: bool,
}

impl Plan {
    pub(crate) fn new(rng: &mut Rng) -> Plan {
        let crowd = rng.one_in(40);
        let clients = if crowd { rng.between(20, 64) } else { *rng.pick(&[1, 2, 3, 3, 4, 5, 6, 8, 12]) };
        let heavy = !crowd && rng.one_in(2);
        let hold = match rng.below(5) {
            0 => None,
            1 => Some(0),
            2 => Some(2),
            _ => Some(rng.between(3, 12) as u32),
        };
        let seats = if rng.one_in(4) { (clients as usize).max(2) } else { 4 * clients as usize + 20 };
        let settings = Settings {
            send_every: *rng.pick(&[1, 1, 1, 2, 3]),
            seats,
            update_cap: if rng.one_in(2) { 61_440 } else { 256 * 1024 },
            window: *rng.pick(&[61_440, 100_000, 256 * 1024]),
            hold_seconds: hold,
            sessions: *rng.pick(&[
                Sessions::Continue,
                Sessions::Continue,
                Sessions::Continue,
                Sessions::Several,
                Sessions::Refuse,
            ]),
            messages_per_second: *rng.pick(&[20, 60, 60, 200]),
            messages_burst: *rng.pick(&[30, 120, 120]),
            piece_level: 1,
            view_hash: rng.one_in(3),
            deployed: true,
            ..Settings::default()
        };
        let range = *rng.pick(if heavy { &[10.0, 25.0, 60.0] } else { &[6.0, 10.0, 20.0] });
        let mut plan = Plan {
            settings,
            clients: clients as usize,
            seconds: if crowd { 8 } else { rng.between(6, 20) },
            rounds: if crowd { 1 } else { rng.between(2, 4) },
            rocks: if heavy { rng.between(12, 25) } else { 3 },
            rock_bytes: if heavy { *rng.pick(&[2000, 6000, 12_000]) } else { 700 },
            storm: if heavy { rng.between(60, 200) } else { 0 },
            coins: rng.between(5, 50),
            retain: 0,
            limit: rng.one_in(4).then(|| rng.between(3, 15) as usize),
            range,
            release: range + *rng.pick(&[0.0, 1.0, 4.0]),
            weather: *rng.pick(&[0, 500, 2000, 5000]),
            mischief: *rng.pick(&[0, 500, 2000]),
            rogues: *rng.pick(&[0, 1000, 4000]),
            lost_welcomes: *rng.pick(&[0, 2, 5, 10]),
            pad: *rng.pick(&[0, 0, 2000, 12_000]),
            rejoin: rng.one_in(2),
        };
        // Not drawn, so that a known seed's other numbers stay what they are.
        plan.retain = [0, 3, 40][plan.coins as usize % 3];
        plan
    }
}

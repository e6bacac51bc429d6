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
    /// How the room is kept, and what befalls it; none for a room without a store.
    pub(crate) keep: Option<Keep>,
}

/// A store, and the lives of its room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// Milliseconds that a commit takes at the most.
    pub(crate) slow: u64,
    /// Commits that are refused, or whose answer is wrong, in a thousand.
    pub(crate) refused: u64,
    /// Spells in which the store takes nothing, in a million steps.
    pub(crate) outages: u64,
    /// What ends is the machine, and not the process alone.
    pub(crate) power: bool,
    /// Ends without a word, in a million steps.
    pub(crate) kills: u64,
    /// Ends with a last seal, in a million steps.
    pub(crate) restarts: u64,
    /// Panics of hooks, in a million steps. Where there are some, each fails the room.
    pub(crate) panics: u64,
    /// Milliseconds without anybody after which the room sleeps.
    pub(crate) sleep: u64,
}

impl Keep {
    /// What a seed says: some rooms have no store. `rng` is one of its own, so that the seeds of those are what they
    /// were.
    fn new(seed: u64, rng: &mut Rng) -> Option<Keep> {
        (!matches!(seed % 5, 2 | 3)).then(|| Keep {
            slow: *rng.pick(&[0, 10, 60, 300, 300, 900]),
            refused: *rng.pick(&[0, 0, 10, 100]),
            outages: *rng.pick(&[0, 0, 0, 500]),
            power: rng.one_in(3),
            kills: *rng.pick(&[0, 1000, 3000, 3000, 10_000]),
            restarts: *rng.pick(&[0, 0, 500]),
            panics: *rng.pick(&[0, 0, 0, 300]),
            sleep: rng.between(500, 4000),
        })
    }
}

impl Plan {
    pub(crate) fn new(seed: u64, rng: &mut Rng) -> Plan {
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
            keep: Keep::new(seed, &mut Rng::new(!seed)),
        };
        plan.settings.deployed = plan.keep.is_none_or(|keep| keep.panics == 0);
        // Not drawn, so that a known seed's other numbers stay what they are.
        plan.retain = [0, 3, 40][plan.coins as usize % 3];
        plan
    }
}

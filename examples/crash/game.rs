//! The field: what is in it, who sees what, and what players and time do to it.

use std::collections::{HashMap, HashSet};

use rand_chacha::rand_core::RngCore;
use room::prelude::*;
use serde::{Deserialize, Serialize};

use crate::deeds::{self, Word};
use crate::effects::{self, Pay};
use crate::kinds::{Bed, Chunk, Grave, Ledger, Mill, Mode, Page, Plot, Sign, Spark, Stone, Tally, Walker};
use crate::sight::{self, Claim, Digest};

/// The side of the square in which everything is.
pub const SIDE: f32 = 1000.0;
/// How far a player sees, and up to where what she sees stays in view.
pub const RANGE: f64 = 170.0;
pub const RELEASE: f64 = 215.0;
/// Signs belong to one of these teams, and so do players.
pub const TEAMS: u8 = 3;
/// Explicit IDs, of which the nth of a kind has the nth from here.
pub const CHUNKS: u64 = 1 << 33;
pub const PLOTS: u64 = 1 << 34;
const BEDS: u64 = 1 << 35;
const CHUNK_COUNT: u64 = 81;
const PLOT_COUNT: u64 = 60;
const STONE_COUNT: usize = 300;
pub const STONES_MOST: usize = 500;
const SIGN_COUNT: u64 = 30;
const MILL_COUNT: usize = 25;
/// Sparks that come in a tick, and the ticks that they live.
const SPARKS: usize = 2;
const HEAT: u32 = 25;

/// What a client says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    Word(Word),
    /// A transient: goes that way.
    Nudge(f32, f32),
}

/// What the room says to one client, or to everyone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Told {
    /// The nth answer to a life's words.
    Answer { life: u64, n: u64 },
    /// The nth bell.
    Bell(u64),
}

/// The game. Its fields are only what is faster to find so: nothing is lost with them.
#[derive(Default)]
pub struct Field {
    pub walkers: HashMap<PlayerId, Id<Walker>>,
    pub ledgers: HashMap<u64, Id<Ledger>>,
    pub graves: HashSet<u64>,
}

impl Game for Field {
    type Event = Ask;
    type Scratch = ();

    fn schema() -> Schema {
        crate::kinds::schema()
    }

    fn interest(&self) -> Visibility<Self> {
        let near = grid::<Self>(100.0)
            .dims(Xy)
            .kind(|walker: &Walker| [walker.x, walker.y])
            .kind(|stone: &Stone| [stone.x, stone.y])
            .kind(|chunk: &Chunk| [chunk.x, chunk.y])
            .kind(|plot: &Plot| [plot.x, plot.y])
            .kind(|mill: &Mill| [mill.x, mill.y])
            .kind(|spark: &Spark| [spark.x, spark.y])
            .around(|room, conn| room.game.place(&room, conn.player()))
            .range(RANGE)
            .release(RELEASE);
        combine((near, custom(Teams)))
    }

    fn calls() -> Calls<Self> {
        let calls = Calls::new().on("earn", |field: &mut Field, room, peer, life: u64| {
            deeds::earn(field, room, peer, life).ok_or_else(|| Refused::new("nothing is known of this life"))
        });
        let calls = calls.on("digest", |field: &mut Field, room, peer, (): ()| {
            Ok::<Digest, _>(sight::digest(field, room, peer.player))
        });
        let calls = calls.on("claims", |field: &mut Field, room, _, claims: Vec<Claim>| {
            Ok(claims.into_iter().filter(|claim| !sight::holds(field, room, claim)).collect::<Vec<_>>())
        });
        calls.on("ledgers", |field: &mut Field, room, _, lives: Vec<u64>| {
            let ledgers = lives.iter().map(|life| room.get(*field.ledgers.get(life)?));
            Ok(ledgers.map(|ledger| ledger.map(deeds::Account::of)).collect::<Vec<_>>())
        })
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for n in 0..CHUNK_COUNT {
            let [x, y] = anywhere(room);
            let mut data = vec![0; 8 * 1024 + (room.rng().next_u32() % (22 * 1024)) as usize];
            room.rng().fill_bytes(&mut data);
            // So that it can be compressed, as terrain can.
            data.iter_mut().for_each(|byte| *byte &= 7);
            let chunk = Chunk { x, y, version: 0, data: data.into() };
            room.create_with_id(CHUNKS + n, chunk).expect("it fits, and its ID is free");
        }
        for n in 0..PLOT_COUNT {
            let bed = Bed { plot: PLOTS + n, lives: 0 };
            room.create_with_id(BEDS + n, bed).expect("its ID is free");
            self.sow(room, PLOTS + n);
        }
        for _ in 0..STONE_COUNT {
            self.build(room);
        }
        for n in 0..SIGN_COUNT {
            let page = Page { lines: vec![format!("sign {n}")], edits: 0 };
            room.create(Sign { team: n as u8 % TEAMS, page: Json::new(page) }).expect("it is short");
        }
        for _ in 0..MILL_COUNT {
            let [x, y] = anywhere(room);
            room.create(Mill { x, y, turns: 0 }).expect("it is small");
        }
    }

    fn on_wake(&mut self, room: &mut Room<Self>) {
        self.walkers = room.all::<Walker>().map(|(id, walker)| (walker.owner, id)).collect();
        self.ledgers = room.all::<Ledger>().map(|(id, ledger)| (ledger.life, id)).collect();
        self.graves = room.all::<Grave>().map(|(_, grave)| grave.of).collect();
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let [x, y] = anywhere(room);
        let walker = Walker { owner: peer.player, x, y, name: peer.player.to_string(), ..Walker::default() };
        let walker = room.create(walker).map_err(|error| Refused::new(error.to_string()))?;
        self.walkers.insert(peer.player, walker);
        Ok(())
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, ask: Ask) {
        match ask {
            Ask::Word(word) => deeds::hear(self, room, peer, word),
            Ask::Nudge(x, y) => {
                let walker = self.walkers.get(&peer.player).and_then(|id| room.get_mut(*id));
                // A field at rest stays as it is.
                if let Some(mut walker) = walker {
                    let (x, y) = (wrapped(walker.x + x), wrapped(walker.y + y));
                    walker.set_x(x);
                    walker.set_y(y);
                }
            }
        }
    }

    fn on_transient(&mut self, room: &mut Room<Self>, peer: Peer, ask: Ask) {
        if room.state::<Tally>().mode != Mode::Rest {
            self.on_event(room, peer, ask);
        }
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        let mode = room.state::<Tally>().mode;
        if mode != Mode::Rest {
            self.drift(room);
        }
        if mode == Mode::Busy {
            self.work(room);
        }
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        if let Some(walker) = self.walkers.remove(&player) {
            self.bury(room, walker);
        }
    }

    async fn perform(effect: Effect) -> Result<(), String> {
        let pay: Pay = effect.payload.read().map_err(|error| error.to_string())?;
        effects::perform(&effect.key, pay).await
    }
}

/// Teams see their signs.
struct Teams;

impl Interest<Field> for Teams {
    fn keys(&self, _: RoomRef<'_, Field>, entity: EntityRef<'_>, keys: &mut Keys) {
        if let Some(sign) = entity.get::<Sign>() {
            keys.add(u64::from(sign.team));
        }
    }

    fn subscriptions(&self, _: RoomRef<'_, Field>, conn: &Connection<Field>, keys: &mut Keys) {
        keys.add(u64::from(team_of(conn.player())));
    }
}

/// The team of a player.
pub fn team_of(player: PlayerId) -> u8 {
    (player.0 % u32::from(TEAMS)) as u8
}

/// A random place.
pub fn anywhere(room: &mut Room<Field>) -> [f32; 2] {
    [0; 2].map(|_| room.rng().next_u32() as f32 / u32::MAX as f32 * SIDE)
}

/// Who leaves the square on one side comes in on the other.
fn wrapped(coordinate: f32) -> f32 {
    coordinate.rem_euclid(SIDE)
}

/// An entity by its number.
pub fn find<K: Entity>(room: &Room<Field>, id: u64) -> Option<Id<K>> {
    room.id(EntityId::explicit(id)?)
}

impl Field {
    /// Where a player stands.
    pub fn place(&self, room: &Room<Field>, player: PlayerId) -> Option<[f32; 2]> {
        room.get(*self.walkers.get(&player)?).map(|walker| [walker.x, walker.y])
    }

    /// Deletes an entity with an automatic ID.
    pub fn bury(&mut self, room: &mut Room<Self>, id: impl Into<EntityId>) {
        let id = id.into();
        if room.delete(id) {
            room.create(Grave { of: id.get() }).expect("it is small");
            self.graves.insert(id.get());
            count_death(room);
        }
    }

    pub fn build(&mut self, room: &mut Room<Self>) {
        let [x, y] = anywhere(room);
        let label = format!("{:08x}", room.rng().next_u32());
        room.create(Stone { x, y, hits: 0, label }).expect("it is small");
    }

    /// Makes a plot where there is none.
    pub fn sow(&mut self, room: &mut Room<Self>, plot: u64) {
        let Some(bed) = plot.checked_sub(PLOTS).and_then(|n| find::<Bed>(room, BEDS + n)) else { return };
        if find::<Plot>(room, plot).is_some() {
            return;
        }
        let [x, y] = anywhere(room);
        let lives = room.get(bed).map_or(0, |bed| bed.lives) + 1;
        if let Some(mut bed) = room.get_mut(bed) {
            bed.set_lives(lives);
        }
        room.create_with_id(plot, Plot { x, y, life: lives, grown: 0 }).expect("its ID is free");
    }

    /// Deletes a plot.
    pub fn reap(&mut self, room: &mut Room<Self>, plot: u64) {
        if find::<Plot>(room, plot).is_some_and(|plot| room.delete(plot)) {
            count_death(room);
        }
    }

    /// How often a plot was made.
    pub fn lives(&self, room: &Room<Self>, plot: u64) -> u32 {
        let bed = plot.checked_sub(PLOTS).and_then(|n| find::<Bed>(room, BEDS + n));
        bed.and_then(|bed| room.get(bed)).map_or(0, |bed| bed.lives)
    }

    /// What is coarse or ephemeral changes.
    fn drift(&mut self, room: &mut Room<Self>) {
        for id in all::<Walker>(room) {
            let Some(mut walker) = room.get_mut(id) else { continue };
            let paces = walker.paces + 1;
            let (sin, cos) = (id.get() as f32 + paces as f32 / 50.0).sin_cos();
            let (x, y) = (wrapped(walker.x + 2.0 * cos), wrapped(walker.y + 2.0 * sin));
            walker.set_x(x);
            walker.set_y(y);
            walker.set_paces(paces);
        }
        for id in all::<Mill>(room) {
            let Some(mut mill) = room.get_mut(id) else { continue };
            let turns = mill.turns + 1;
            mill.set_turns(turns);
        }
        for id in all::<Spark>(room) {
            let Some(mut spark) = room.get_mut(id) else { continue };
            match spark.heat {
                0 => {
                    room.delete(id);
                }
                heat => spark.set_heat(heat - 1),
            }
        }
        for _ in 0..SPARKS {
            let [x, y] = anywhere(room);
            let mark = room.rng().next_u64();
            room.create(Spark { x, y, mark, heat: HEAT }).expect("it is small");
        }
    }

    /// What is durable changes, whoever plays.
    fn work(&mut self, room: &mut Room<Self>) {
        for _ in 0..2 {
            let (chunk, at) = (room.rng().next_u64() % CHUNK_COUNT, room.rng().next_u32());
            deeds::dig(room, CHUNKS + chunk, at, &[1; 24]);
        }
        let plot = PLOTS + room.rng().next_u64() % PLOT_COUNT;
        match room.tick().0 % 12 {
            0 => self.reap(room, plot),
            // In the same tick: deleted, and another under its ID.
            4 => {
                self.reap(room, plot);
                self.sow(room, plot);
            }
            8 => self.sow(room, plot),
            _ => deeds::tend(room, plot),
        }
        if room.tick().0.is_multiple_of(8) {
            let bells = room.state::<Tally>().bells + 1;
            room.state_mut::<Tally>().set_bells(bells);
            room.broadcast(&Told::Bell(bells)).expect("it is short");
        }
    }
}

fn all<K: Entity>(room: &Room<Field>) -> Vec<Id<K>> {
    room.all::<K>().map(|(id, _)| id).collect()
}

fn count_death(room: &mut Room<Field>) {
    let deaths = room.state::<Tally>().deaths + 1;
    room.state_mut::<Tally>().set_deaths(deaths);
}

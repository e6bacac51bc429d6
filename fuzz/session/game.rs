//! A game with a kind of every sort, whose events and calls do what a careless one may do.

use std::collections::BTreeMap;

use room::prelude::*;
use room::{Key, Keys};
use serde::{Deserialize, Serialize};

/// Entities at the most, and how many of them may be large.
pub(crate) const ENTITIES: usize = 120;
pub(crate) const CHESTS: usize = 24;

#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub(crate) struct Board {
    pub(crate) round: u32,
    pub(crate) text: String,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub(crate) struct Hand {
    pub(crate) card: u64,
    pub(crate) deck: Bytes,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(owner = owner)]
pub(crate) struct Unit {
    pub(crate) owner: PlayerId,
    pub(crate) x: f64,
    #[field(writable)]
    pub(crate) hp: u32,
    #[field(writable, quantize(step = 0.5, min = -10.0, max = 10.0))]
    pub(crate) aim: f32,
}

/// What a player does in a tick.
#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Push {
    pub(crate) by: f64,
    #[input(once)]
    pub(crate) draw: u8,
}

struct Shove;

impl Stepper for Shove {
    type Input = Push;

    fn step(world: &mut impl StepWorld, input: &Push, _: f32) {
        let others = world.all::<Hand>().count();
        if let Some(mut hand) = world.private_mut::<Hand>().filter(|_| input.draw > 0) {
            let card = hand.card.wrapping_add(others as u64);
            hand.set_card(card);
        }
        let Some(mut unit) = world.own::<Unit>().and_then(|id| world.get_mut(id)) else { return };
        assert!(others <= 1 && input.by.is_finite(), "a step gets {others} hands and {input:?}");
        let x = (unit.x + input.by.clamp(-1.0, 1.0)).clamp(0.0, 40.0);
        unit.set_x(x);
    }
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub(crate) struct Chest {
    pub(crate) x: f64,
    pub(crate) data: Bytes,
    pub(crate) list: Json<Vec<i64>>,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(ids = "random")]
pub(crate) struct Spark {
    pub(crate) x: f64,
    pub(crate) heat: i16,
}

#[derive(Entity, Clone, Debug, Default)]
#[entity(hidden)]
pub(crate) struct Vault {
    pub(crate) secret: u64,
}

/// What a client says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Say {
    /// The next number of an honest client.
    Count(u64),
    Text(String),
    Stand(f64),
    Make(u8),
    Delete(u64),
    Echo(u16),
    Panic,
}

/// What the room says: the next number for the honest client, or 0, and more.
pub(crate) type Tale = (u64, String);

/// Who sees what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eyes {
    Everything,
    /// In a range, and a little longer.
    Near,
    /// The strongest few.
    Few,
    /// In a range, or by the words that one listens to.
    Words,
}

/// What the interests are made with.
pub(crate) const RANGE: f64 = 10.0;
pub(crate) const RELEASE: f64 = 20.0;
/// What clients keep of what left, where anything is kept.
pub(crate) const RETAIN: usize = 3;
pub(crate) const FEW: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) at: f64,
    /// Whose it is: 0 for nobody's.
    mark: u32,
}

/// Where a player's one session is between the hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stay {
    sessions: usize,
    held: usize,
}

pub(crate) struct Arena {
    pub(crate) eyes: Eyes,
    pub(crate) deployed: bool,
    /// The player of the honest client, and the last number that it sent in this session.
    pub(crate) honest: Option<(PlayerId, u64)>,
    stays: BTreeMap<PlayerId, Stay>,
    /// Writes that came before the game.
    pub(crate) written: usize,
    /// What should not have happened.
    pub(crate) wrong: Option<String>,
}

impl Arena {
    pub(crate) fn new(eyes: Eyes, deployed: bool) -> Arena {
        Arena { eyes, deployed, honest: None, stays: BTreeMap::new(), written: 0, wrong: None }
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.wrong.is_none() {
            self.wrong = Some(what());
        }
    }

    /// Fails, where a room survives it.
    fn fail(&self) {
        if self.deployed {
            // Without the panic hook, which would print, or end a fuzzer.
            std::panic::resume_unwind(Box::new("as asked"));
        }
    }

    fn make(&self, room: &mut Room<Self>, owner: PlayerId, what: u8) {
        if room.entities() < ENTITIES {
            let x = f64::from(what % 40);
            let _ = room.create(Unit { owner, x, hp: what.into(), aim: x as f32 });
        }
    }
}

/// Whether an entity listens to the word of even or odd numbers.
fn word(x: f64) -> Key {
    if x.rem_euclid(2.0) < 1.0 { Key::from("even") } else { Key::from("odd") }
}

struct ByWord;

impl Interest<Arena> for ByWord {
    fn keys(&self, _room: RoomRef<'_, Arena>, entity: EntityRef<'_>, keys: &mut Keys) {
        if let Some(chest) = entity.get::<Chest>() {
            keys.add(word(chest.x));
        }
    }

    fn subscriptions(&self, _room: RoomRef<'_, Arena>, conn: &Connection<Arena>, keys: &mut Keys) {
        keys.add(word(conn.scratch.at));
    }
}

fn near() -> room::Grid<Arena> {
    grid(8.0)
        .dims(Xy)
        .kind(|unit: &Unit| [unit.x, 0.0])
        .kind(|chest: &Chest| [chest.x, 0.0])
        .kind(|spark: &Spark| [spark.x, 0.0])
        .around(|_, conn: &Connection<Arena>| [conn.scratch.at, 0.0])
        .range(RANGE)
        .release(RELEASE)
}

impl Game for Arena {
    type Event = Say;
    type Scratch = Scratch;

    fn schema() -> Schema {
        let schema = Schema::new().state::<Board>().private::<Hand>();
        schema.entity::<Unit>().entity::<Chest>().entity::<Spark>().entity::<Vault>()
    }

    fn interest(&self) -> Visibility<Self> {
        match self.eyes {
            Eyes::Everything => Visibility::everything(),
            Eyes::Near => near().retain(RETAIN),
            Eyes::Few => {
                let strength =
                    |entity: EntityRef<'_>| entity.get::<Unit>().map_or(-1.0, |unit| unit.hp.into());
                Visibility::everything().limit(FEW, move |_, _, entity| strength(entity)).retain(RETAIN)
            }
            Eyes::Words => combine((near(), custom(ByWord))),
        }
    }

    fn steps() -> Steps<Self> {
        Steps::by::<Shove>()
    }

    fn on_write(&mut self, room: &mut Room<Self>, peer: Peer, written: &mut Written) -> Result<(), Refused> {
        self.written += 1;
        let here = room.id::<Unit>(written.id()).and_then(|id| room.get(id)).map(|unit| unit.owner);
        let writable = written.fields().without(Unit::KIND.writable()).is_empty();
        let Some(unit) = written.get_mut::<Unit>() else { return Err(Refused::new("nothing else is hers")) };
        let fine = here == Some(peer.player) && writable && (-10.0..=10.0).contains(&unit.aim);
        let shown = format!("{peer:?} writes {unit:?}");
        self.expect(fine, || shown);
        match unit.hp % 16 {
            0 => self.fail(),
            1 => return Err(Refused::new("odd")),
            // And is there no more when that is to be taken over.
            2 => _ = room.delete(written.id()),
            3 => (unit.hp, unit.aim, unit.x) = (7, f32::NAN, f64::NAN),
            _ => {}
        }
        Ok(())
    }

    fn calls() -> Calls<Self> {
        Calls::new()
            .on("double", |_: &mut Arena, _, _, n: i64| {
                n.checked_mul(2).ok_or_else(|| Refused::new("too large"))
            })
            .on("large", |_: &mut Arena, _, _, len: u16| Ok("x".repeat(len.into())))
            .on("fail", |arena: &mut Arena, _, _, (): ()| {
                arena.fail();
                Ok(())
            })
            .rate("fail", 1, 2)
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let conn = room.connection_mut(peer.conn).expect("it is seated");
        conn.scratch.mark = peer.player.0;
        let (name, guest) = (conn.name().to_owned(), conn.account().is_none());
        self.make(room, peer.player, 3);
        room.create_private::<Hand>(peer.player).set_card(peer.player.0.into());
        match name.as_str() {
            "refused" => return Err(Refused::new("not you")),
            "failing" => self.fail(),
            _ => {}
        }
        let stay = self.stays.entry(peer.player).or_default();
        let first = stay.sessions == 0;
        stay.sessions += 1;
        self.expect(first || !guest, || format!("guest {} joined twice", peer.player.0));
        if name == super::honest::NAME {
            self.honest = Some((peer.player, 0));
        }
        Ok(())
    }

    fn on_drop(&mut self, _room: &mut Room<Self>, player: PlayerId, _session: SessionId, how: Dropped) {
        let stay = self.stays.entry(player).or_default();
        stay.held += 1;
        let stay = *stay;
        self.expect(stay.held <= stay.sessions, || format!("player {} dropped twice: {how:?}", player.0));
    }

    fn on_resume(&mut self, room: &mut Room<Self>, peer: Peer) {
        let mark = room.connection(peer.conn).map(|conn| conn.scratch.mark);
        self.expect(mark == Some(peer.player.0), || format!("player {} lost her scratch", peer.player.0));
        let held = self.stays.get_mut(&peer.player).map(|stay| {
            let held = stay.held;
            stay.held = held.saturating_sub(1);
            held
        });
        self.expect(held > Some(0), || format!("player {} was not away", peer.player.0));
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _why: LeaveReason) {
        let stay = self.stays.remove(&player);
        self.expect(stay.is_some(), || format!("player {} left without a join", player.0));
        let own: Vec<Id<Unit>> =
            room.all::<Unit>().filter(|(_, unit)| unit.owner == player).map(|(id, _)| id).collect();
        own.into_iter().for_each(|id| {
            room.delete(id);
        });
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: Say) {
        match event {
            Say::Count(n) => {
                if let Some((player, last)) = self.honest.filter(|(player, _)| *player == peer.player) {
                    self.honest = Some((player, n));
                    self.expect(n == last + 1, || format!("event {n} came behind {last}"));
                }
            }
            Say::Text(text) => room.state_mut::<Board>().set_round(text.len() as u32),
            Say::Stand(at) => {
                if let Some(conn) = room.connection_mut(peer.conn) {
                    conn.scratch.at = at;
                }
            }
            Say::Make(what) => self.make(room, peer.player, what),
            Say::Delete(id) => {
                let id = room.all::<Unit>().nth(id as usize % ENTITIES).map(|(id, _)| id);
                id.map(|id| room.delete(id));
            }
            Say::Echo(len) => {
                let _ = room.send(peer.conn, &(0_u64, "e".repeat(len.into())));
            }
            Say::Panic => self.fail(),
        }
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        let tick = room.tick().0;
        let moving: Vec<Id<Unit>> = room.all::<Unit>().map(|(id, _)| id).take(8).collect();
        for id in moving {
            if let Some(mut unit) = room.get_mut(id) {
                unit.set_x((tick % 40) as f64);
            }
        }
    }
}

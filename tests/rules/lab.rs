//! A game for small tests: kinds of every sort, and hooks that each test gives.

use room::prelude::*;
use room::runtime::Settings;
use room::{Key, Keys};

use super::link::Link;

#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Board {
    pub(crate) round: u32,
    pub(crate) text: String,
}

#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Hand {
    pub(crate) card: u64,
    pub(crate) text: String,
}

#[derive(Entity, Clone, Debug, Default)]
#[entity(owner = owner)]
pub(crate) struct Dot {
    pub(crate) owner: PlayerId,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) z: f64,
    pub(crate) hp: u32,
    pub(crate) rank: f64,
    #[field(quantize(step = 0.25, min = -10.0, max = 10.0))]
    pub(crate) aim: f32,
}

#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Crate {
    pub(crate) x: f64,
    pub(crate) data: Bytes,
    pub(crate) label: String,
    pub(crate) list: Json<Vec<i64>>,
}

#[derive(Entity, Clone, Debug, Default)]
#[entity(ids = "random")]
pub(crate) struct Ghost {
    pub(crate) hp: u32,
}

#[derive(Entity, Clone, Debug, Default)]
#[entity(hidden)]
pub(crate) struct Deck {
    pub(crate) order: Json<Vec<u64>>,
}

type Hook<R> = Box<dyn FnMut(&mut Room<Lab>, Peer) -> R + Send + Sync>;
type TickHook = Box<dyn FnMut(&mut Room<Lab>) + Send + Sync>;

/// The game.
#[derive(Default)]
pub(crate) struct Lab {
    interest: Option<Box<dyn Fn() -> Visibility<Lab> + Send + Sync>>,
    pub(crate) on_join: Option<Hook<Result<(), Refused>>>,
    pub(crate) on_tick: Option<TickHook>,
    /// What the hooks were told, in order.
    pub(crate) heard: Vec<Heard>,
    /// For keys that depend on more than the entity.
    pub(crate) key: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Joined(PlayerId),
    Event(PlayerId, String),
    Dropped(PlayerId, Dropped),
    Resumed(PlayerId),
    Transient(PlayerId, String),
    Left(PlayerId, LeaveReason),
}

/// Where a connection stands, and what it subscribes to.
#[derive(Debug, Default)]
pub(crate) struct Stand {
    pub(crate) at: Option<[f64; 3]>,
    pub(crate) words: Vec<Key>,
}

impl Lab {
    /// A game with an interest.
    pub(crate) fn seeing(interest: impl Fn() -> Visibility<Lab> + Send + Sync + 'static) -> Lab {
        Lab { interest: Some(Box::new(interest)), ..Lab::default() }
    }
}

impl Game for Lab {
    type Event = String;
    type Scratch = Stand;

    fn schema() -> Schema {
        let schema = Schema::new().without_presence().state::<Board>().private::<Hand>();
        schema.entity::<Dot>().entity::<Crate>().entity::<Ghost>().entity::<Deck>()
    }

    fn interest(&self) -> Visibility<Self> {
        self.interest.as_ref().map_or_else(Visibility::everything, |interest| interest())
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        self.heard.push(Heard::Joined(peer.player));
        room.connection_mut(peer.conn).expect("it is seated").scratch.at = Some([0.0; 3]);
        self.on_join.as_mut().map_or(Ok(()), |hook| hook(room, peer))
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: String) {
        if event == "panic" {
            std::panic::resume_unwind(Box::new("as asked"));
        }
        if event == "echo" {
            room.send(peer.conn, "echo").expect("its session lives");
        }
        self.heard.push(Heard::Event(peer.player, event));
    }

    fn on_transient(&mut self, _room: &mut Room<Self>, peer: Peer, event: String) {
        self.heard.push(Heard::Transient(peer.player, event));
    }

    fn on_drop(&mut self, _room: &mut Room<Self>, player: PlayerId, _session: SessionId, how: Dropped) {
        self.heard.push(Heard::Dropped(player, how));
    }

    fn on_resume(&mut self, _room: &mut Room<Self>, peer: Peer) {
        self.heard.push(Heard::Resumed(peer.player));
    }

    fn calls() -> Calls<Self> {
        let calls = Calls::new().on("double", |lab: &mut Lab, room, peer, n: i64| {
            lab.heard.push(Heard::Event(peer.player, format!("double {n}")));
            room.send(peer.conn, "doubling").expect("it is short");
            n.checked_mul(2).ok_or_else(|| Refused::new("too large"))
        });
        calls.on("rare", |_: &mut Lab, _, _, (): ()| Ok(())).rate("rare", 1, 2)
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        if let Some(hook) = &mut self.on_tick {
            hook(room);
        }
    }

    fn on_leave(&mut self, _room: &mut Room<Self>, player: PlayerId, why: LeaveReason) {
        self.heard.push(Heard::Left(player, why));
    }
}

/// A room without an interest.
pub(crate) fn open() -> Link<Lab> {
    with(Settings::default())
}

pub(crate) fn with(settings: Settings) -> Link<Lab> {
    Link::new(Lab::default(), settings)
}

/// A room with an interest.
pub(crate) fn seen_by<V: Into<Visibility<Lab>>>(
    interest: impl Fn() -> V + Send + Sync + 'static,
) -> Link<Lab> {
    seen_with(Settings::default(), interest)
}

pub(crate) fn seen_with<V: Into<Visibility<Lab>>>(
    settings: Settings,
    interest: impl Fn() -> V + Send + Sync + 'static,
) -> Link<Lab> {
    Link::new(Lab::seeing(move || interest().into()), settings)
}

/// Dots in a grid, around where a connection stands.
pub(crate) fn dots(cell: f64) -> room::Grid<Lab> {
    grid(cell).kind::<Dot, _>(|dot| [dot.x, dot.y, dot.z]).around(|_, conn: &Connection<Lab>| conn.scratch.at)
}

/// Keys from each test's own functions.
pub(crate) struct ByKey(pub(crate) fn(RoomRef<'_, Lab>, EntityRef<'_>, &mut Keys));

impl Interest<Lab> for ByKey {
    fn keys(&self, room: RoomRef<'_, Lab>, entity: EntityRef<'_>, keys: &mut Keys) {
        (self.0)(room, entity, keys);
    }

    fn subscriptions(&self, _room: RoomRef<'_, Lab>, conn: &Connection<Lab>, keys: &mut Keys) {
        conn.scratch.words.iter().for_each(|key| keys.add(key.clone()));
    }
}

pub(crate) fn dot(x: f64) -> Dot {
    Dot { x, ..Dot::default() }
}

pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(next).collect()
}

impl Link<Lab> {
    pub(crate) fn add<K: Entity>(&mut self, entity: K) -> Id<K> {
        self.edit(|room| room.create(entity)).expect("the entity is created")
    }

    pub(crate) fn stand(&mut self, conn: ConnectionId, at: Option<[f64; 3]>) {
        self.edit(|room| room.connection_mut(conn).expect("it joined").scratch.at = at);
    }

    pub(crate) fn subscribe(&mut self, conn: ConnectionId, words: Vec<Key>) {
        self.edit(|room| room.connection_mut(conn).expect("it joined").scratch.words = words);
    }

    pub(crate) fn sees<K: Visible>(&self, conn: ConnectionId, id: Id<K>) -> bool {
        self.replica(conn).get(id).is_some()
    }

    /// The IDs of a kind that a client holds.
    pub(crate) fn held<K: Visible>(&self, conn: ConnectionId) -> Vec<u64> {
        self.replica(conn).all::<K>().map(|(id, _)| id.get()).collect()
    }

    pub(crate) fn heard(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.room.parts_mut().0.heard)
    }

    /// How many entries of a kind the log has; takes them all.
    pub(crate) fn logged(&mut self, kind: &str) -> usize {
        std::mem::take(&mut self.log).iter().filter(|log| log.kind() == kind).count()
    }
}

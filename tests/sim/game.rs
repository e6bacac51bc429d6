//! The game of the simulated rooms: everything in it is counted, so that what is lost, twice or late can be seen.

use std::collections::BTreeMap;

use room::prelude::*;
use room::{CreateError, Refused};
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::rng::Rng;

/// The room's state.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Board {
    pub(crate) round: u64,
    pub(crate) text: String,
}

/// Private state.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Purse {
    pub(crate) secret: String,
    pub(crate) coins: u64,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
pub(crate) struct Avatar {
    pub(crate) owner: PlayerId,
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Only grows.
    pub(crate) value: u64,
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

/// Seen by nobody.
#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
pub(crate) struct Vault {
    pub(crate) secret: String,
}

/// What every secret begins with; whose it is follows in eight digits.
pub(crate) const MARK: &str = "§§";

fn secret_of(player: u32) -> String {
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

/// What the hooks were told, in order.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Joined { conn: ConnectionId, own: u64, all: u64 },
    Dropped { session: SessionId, how: Dropped },
    Resumed { conn: ConnectionId },
    Left { player: PlayerId },
    Acted { conn: ConnectionId, mark: Mark },
    Flicked { conn: ConnectionId, mark: Mark },
    Asked { conn: ConnectionId, ask: Ask },
}

/// A player.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) avatar: Id<Avatar>,
    pub(crate) at: [f64; 2],
}

pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    /// Nothing changes.
    pub(crate) frozen: bool,
    /// Nobody is let in.
    pub(crate) refuse: bool,
    pub(crate) seats: BTreeMap<PlayerId, Seat>,
    /// Words of each player, and for everyone, so far.
    pub(crate) own: BTreeMap<PlayerId, u64>,
    pub(crate) all: u64,
    flashes: u64,
    serial: u64,
    pub(crate) news: Vec<News>,
}

impl World {
    pub(crate) fn new(plan: Plan, rng: Rng) -> World {
        World {
            plan,
            rng,
            frozen: false,
            refuse: false,
            seats: BTreeMap::new(),
            own: BTreeMap::new(),
            all: 0,
            flashes: 0,
            serial: 0,
            news: Vec::new(),
        }
    }

    fn place(&mut self) -> [f64; 2] {
        let mut axis = || self.rng.below(60) as f64 - 30.0;
        [axis(), axis()]
    }

    fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn mass(&mut self) -> Bytes {
        Bytes::from(self.rng.noise(self.plan.rock_bytes))
    }

    /// Makes a coin or a rock under an ID that is free.
    fn make(&mut self, room: &mut Room<Self>, id: u64) -> Result<(), CreateError> {
        let ([x, y], serial) = (self.place(), self.serial());
        if self.rng.below(self.plan.coins + self.plan.rocks) < self.plan.rocks {
            room.create_with_id(id, Rock { x, y, serial, mass: self.mass() }).map(|_| ())
        } else {
            room.create_with_id(id, Coin { x, y, serial }).map(|_| ())
        }
    }

    fn explicit(&mut self) -> u64 {
        2 + self.rng.below(self.plan.coins + self.plan.rocks)
    }

    fn stir(&mut self, room: &mut Room<Self>) {
        for _ in 0..self.rng.below(4) {
            let id = EntityId::explicit(self.explicit()).expect("the game's IDs are explicit ones");
            let ([x, y], serial) = (self.place(), self.serial());
            if let Some(mut coin) = room.id::<Coin>(id).and_then(|id| room.get_mut(id)) {
                coin.set_serial(serial);
                if self.rng.one_in(3) {
                    coin.set_x(x);
                    coin.set_y(y);
                }
            } else if let Some(mut rock) = room.id::<Rock>(id).and_then(|id| room.get_mut(id)) {
                rock.set_serial(serial);
                let at = self.rng.below(self.plan.rock_bytes as u64) as usize;
                rock.patch_mass(at.min(self.plan.rock_bytes - 8), &serial.to_le_bytes()).expect("it fits");
            }
        }
        if self.rng.one_in(4) {
            // Another one under the same ID: at once, or later.
            let id = self.explicit();
            room.delete(EntityId::explicit(id).expect("the game's IDs are explicit ones"));
            if !self.rng.one_in(4) {
                self.make(room, id).expect("the ID is free");
            }
        }
        if self.rng.one_in(10) {
            let id = self.explicit();
            if !room.contains(EntityId::explicit(id).expect("the game's IDs are explicit ones")) {
                self.make(room, id).expect("the ID is free");
            }
        }
        if self.rng.one_in(10) {
            let round = room.state::<Board>().round + 1;
            room.state_mut::<Board>().set_round(round);
        }
    }

    /// Large changes all over.
    pub(crate) fn storm(&mut self, room: &mut Room<Self>) {
        let rocks: Vec<Id<Rock>> = room.all::<Rock>().map(|(id, _)| id).collect();
        for id in rocks {
            if !self.rng.one_in(3) {
                let (mass, serial) = (self.mass(), self.serial());
                let mut rock = room.get_mut(id).expect("it was listed");
                rock.set_serial(serial);
                rock.set_mass(mass).expect("it fits");
            }
        }
    }

    fn speak(&mut self, room: &mut Room<Self>) {
        let pad = |rng: &mut Rng, most: usize| {
            let len = if most > 0 && rng.one_in(4) { rng.below(most as u64) as usize } else { 0 };
            "p".repeat(len)
        };
        for (player, seat) in self.seats.clone() {
            if !self.rng.one_in(8) {
                continue;
            }
            let n = self.own.get(&player).map_or(1, |n| n + 1);
            self.own.insert(player, n);
            let mut avatar = room.get_mut(seat.avatar).expect("a player's avatar lives");
            avatar.set_value(n);
            room.private_mut::<Purse>(player).expect("a player has private state").set_coins(n);
            let word = Word { kind: Kind::Own, n, value: n, pad: pad(&mut self.rng, self.plan.pad) };
            room.send_player(player, &word).expect("the word fits");
        }
        if self.rng.one_in(12) {
            self.all += 1;
            let word =
                Word { kind: Kind::All, n: self.all, value: 0, pad: pad(&mut self.rng, self.plan.pad) };
            room.broadcast(&word).expect("the word fits");
        }
        if self.rng.one_in(6) {
            self.flashes += 1;
            let word = Word { kind: Kind::Flash, n: self.flashes, value: 0, pad: String::new() };
            room.broadcast_transient(&word).expect("the word fits");
        }
    }

    fn asked(&mut self, peer: Peer, ask: Ask) -> Result<Ask, Refused> {
        self.news.push(News::Asked { conn: peer.conn, ask });
        if ask.refuse { Err(Refused::new("poor")) } else { Ok(ask) }
    }
}

/// Calls of this name have a rate.
pub(crate) const RARE: &str = "rare";

impl Game for World {
    type Event = Act;
    type Scratch = ();

    fn schema() -> Schema {
        let schema = Schema::new().state::<Board>().private::<Purse>();
        schema.entity::<Avatar>().entity::<Rock>().entity::<Coin>().entity::<Vault>()
    }

    fn interest(&self) -> Visibility<Self> {
        let near = grid(5.0)
            .dims(Xy)
            .kind::<Avatar, _>(|it| [it.x, it.y])
            .kind::<Rock, _>(|it| [it.x, it.y])
            .kind::<Coin, _>(|it| [it.x, it.y])
            .around(|room: RoomRef<'_, Self>, conn| room.game.seats.get(&conn.player()).map(|seat| seat.at))
            .range(self.plan.range)
            .release(self.plan.release)
            .retain(self.plan.retain);
        match self.plan.limit {
            None => near,
            Some(most) => near.limit(most, |_, _, entity| -(entity.id().get() as f64)),
        }
    }

    fn calls() -> Calls<Self> {
        Calls::new()
            .on("buy", |game: &mut Self, _: &mut Room<Self>, peer, ask: Ask| game.asked(peer, ask))
            .on(RARE, |game: &mut Self, _: &mut Room<Self>, peer, ask: Ask| game.asked(peer, ask))
            .rate(RARE, 1, 2)
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for id in 2..2 + self.plan.coins + self.plan.rocks {
            self.make(room, id).expect("the ID is free");
        }
        room.create(Vault { secret: secret_of(u32::MAX) }).expect("IDs do not run out");
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        if self.refuse {
            return Err(Refused::new("closed today"));
        }
        let Peer { player, conn } = peer;
        if !self.seats.contains_key(&player) {
            let at = self.place();
            let value = self.own.get(&player).copied().unwrap_or(0);
            let avatar = Avatar { owner: player, x: at[0], y: at[1], value };
            let avatar = room.create(avatar).expect("IDs do not run out");
            self.seats.insert(player, Seat { avatar, at });
            let mut purse = room.create_private::<Purse>(player);
            purse.set_secret(secret_of(player.0)).expect("it fits");
        }
        let own = self.own.get(&player).copied().unwrap_or(0);
        self.news.push(News::Joined { conn, own, all: self.all });
        Ok(())
    }

    fn on_drop(&mut self, _: &mut Room<Self>, _: PlayerId, session: SessionId, how: Dropped) {
        self.news.push(News::Dropped { session, how });
    }

    fn on_resume(&mut self, _: &mut Room<Self>, peer: Peer) {
        self.news.push(News::Resumed { conn: peer.conn });
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, act: Act) {
        self.news.push(News::Acted { conn: peer.conn, mark: act.mark });
        match act.what {
            What::Say => {}
            What::Walk { dx, dy } => {
                let seat = self.seats.get_mut(&peer.player).expect("who acts has a seat");
                seat.at = [(seat.at[0] + dx).clamp(-30.0, 30.0), (seat.at[1] + dy).clamp(-30.0, 30.0)];
                let mut avatar = room.get_mut(seat.avatar).expect("a player's avatar lives");
                avatar.set_x(seat.at[0]);
                avatar.set_y(seat.at[1]);
            }
            What::Boom => std::panic::panic_any(super::Boom),
            What::KickMe => room.kick(peer.player, "out"),
        }
    }

    fn on_transient(&mut self, _: &mut Room<Self>, peer: Peer, act: Act) {
        self.news.push(News::Flicked { conn: peer.conn, mark: act.mark });
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        if self.frozen {
            return;
        }
        self.stir(room);
        if self.plan.storm > 0 && room.tick().0.is_multiple_of(self.plan.storm) {
            self.storm(room);
        }
        self.speak(room);
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        let seat = self.seats.remove(&player).expect("who leaves had a seat");
        room.delete(seat.avatar);
        self.news.push(News::Left { player });
    }
}

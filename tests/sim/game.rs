//! The game of the simulated rooms: everything in it is counted, so that what is lost, twice or late can be seen.

use std::collections::BTreeMap;

use rand_chacha::rand_core::RngCore;
use room::prelude::*;
use room::{Connection, CreateError, Refused};

pub(crate) use super::kinds::*;
use super::plan::Plan;
use super::rng::Rng;

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
    /// The next tick, or the next event, panics.
    pub(crate) stumbles: bool,
    pub(crate) trips: bool,
    /// What is durable changes; in rooms with a store it does not all the time.
    busy: bool,
    pub(crate) seats: BTreeMap<PlayerId, Seat>,
    /// Words of each player, and for everyone, so far.
    pub(crate) own: BTreeMap<PlayerId, u64>,
    pub(crate) all: u64,
    sessions: BTreeMap<PlayerId, Vec<SessionId>>,
    flashes: u64,
    serial: u64,
    pub(crate) news: Vec<News>,
}

impl World {
    /// The game of a room's run; the first is number 0.
    pub(crate) fn new(plan: Plan, rng: Rng, run: u64) -> World {
        World {
            plan,
            rng,
            frozen: false,
            refuse: false,
            stumbles: false,
            trips: false,
            busy: true,
            sessions: BTreeMap::new(),
            seats: BTreeMap::new(),
            own: BTreeMap::new(),
            all: 0,
            // Above those of the runs before.
            flashes: run << 32,
            serial: run << 32,
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
            self.remove(room, id);
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

    fn remove(&mut self, room: &mut Room<Self>, id: u64) {
        let entity = EntityId::explicit(id).expect("the game's IDs are explicit ones");
        let coin = room.id::<Coin>(entity).and_then(|id| room.get(id)).map(|it| it.serial);
        let rock = room.id::<Rock>(entity).and_then(|id| room.get(id)).map(|it| it.serial);
        if let Some(value) = coin.or(rock) {
            self.news.push(News::Gone { key: Key::Thing(id), value });
            room.delete(entity);
        }
    }

    /// What is not stored changes, and what is stored now and then.
    fn flicker(&mut self, room: &mut Room<Self>) {
        let lamp = room.id::<Spark>(EntityId::explicit(LAMPS).expect("it is an explicit ID"));
        if let Some(mut lamp) = lamp.filter(|_| self.rng.one_in(4)).and_then(|id| room.get_mut(id)) {
            lamp.set_heat(self.rng.next());
        }
        let sparks = room.all::<Spark>().map(|(id, _)| id).filter(|id| id.get() < LAMPS);
        let sparks: Vec<Id<Spark>> = sparks.collect();
        if sparks.len() < 6 && self.rng.one_in(4) {
            let ([x, y], birth) = (self.place(), self.serial());
            let heat = room.rng().next_u64();
            self.news.push(News::Drew(heat));
            room.create(Spark { x, y, heat, birth }).expect("IDs do not run out");
        } else if !sparks.is_empty() && self.rng.one_in(4) {
            room.delete(*self.rng.pick(&sparks));
        } else if !sparks.is_empty() && self.rng.one_in(2) {
            let id = *self.rng.pick(&sparks);
            let heat = room.rng().next_u64();
            self.news.push(News::Drew(heat));
            room.get_mut(id).expect("it was listed").set_heat(heat);
        }
        if !self.seats.is_empty() && self.rng.one_in(3) {
            let players: Vec<PlayerId> = self.seats.keys().copied().collect();
            let player = *self.rng.pick(&players);
            let by = [self.rng.below(3) as f64 - 1.0, self.rng.below(3) as f64 - 1.0];
            self.walk(room, player, by);
        }
    }

    /// Sparks under IDs that the game gives, anew in each run.
    fn light_lamps(&mut self, room: &mut Room<Self>) {
        for id in LAMPS..LAMPS + 2 {
            let (x, y, birth) = (0.0, 0.0, self.serial());
            room.create_with_id(id, Spark { x, y, heat: self.rng.next(), birth }).expect("the ID is free");
        }
    }

    fn walk(&mut self, room: &mut Room<Self>, player: PlayerId, [dx, dy]: [f64; 2]) {
        let seat = self.seats.get_mut(&player).expect("who acts has a seat");
        seat.at = [(seat.at[0] + dx).clamp(-30.0, 30.0), (seat.at[1] + dy).clamp(-30.0, 30.0)];
        let mut avatar = room.get_mut(seat.avatar).expect("a player's avatar lives");
        avatar.set_x(seat.at[0]);
        avatar.set_y(seat.at[1]);
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
            room.state_mut::<Board>().set_words(self.all);
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

    fn asked(&mut self, room: &Room<Self>, peer: Peer, ask: Ask) -> Result<Ask, Refused> {
        self.news.push(News::Asked { conn: peer.conn, session: session(room, peer), ask });
        if ask.refuse { Err(Refused::new("poor")) } else { Ok(ask) }
    }
}

fn session(room: &Room<World>, peer: Peer) -> Option<SessionId> {
    room.connection(peer.conn).map(Connection::session)
}

/// Calls of this name have a rate.
pub(crate) const RARE: &str = "rare";

impl Game for World {
    type Event = Act;
    type Scratch = ();

    fn schema() -> Schema {
        let schema = Schema::new().state::<Board>().private::<Purse>();
        schema.entity::<Avatar>().entity::<Rock>().entity::<Coin>().entity::<Spark>().entity::<Vault>()
    }

    fn interest(&self) -> Visibility<Self> {
        let near = grid(5.0)
            .dims(Xy)
            .kind::<Avatar, _>(|it| [it.x, it.y])
            .kind::<Rock, _>(|it| [it.x, it.y])
            .kind::<Coin, _>(|it| [it.x, it.y])
            .kind::<Spark, _>(|it| [it.x, it.y])
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
            .on("buy", |game: &mut Self, room: &mut Room<Self>, peer, ask: Ask| game.asked(room, peer, ask))
            .on(RARE, |game: &mut Self, room: &mut Room<Self>, peer, ask: Ask| game.asked(room, peer, ask))
            .rate(RARE, 1, 2)
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for id in 2..2 + self.plan.coins + self.plan.rocks {
            self.make(room, id).expect("the ID is free");
        }
        room.create(Vault { secret: secret_of(u32::MAX) }).expect("IDs do not run out");
        if self.plan.keep.is_some() {
            self.light_lamps(room);
        }
    }

    fn on_wake(&mut self, room: &mut Room<Self>) {
        self.all = room.state::<Board>().words;
        let players: Vec<PlayerId> = room.private_players().collect();
        for player in players {
            let said = room.private::<Purse>(player).map_or(0, |purse| purse.coins);
            self.own.insert(player, said);
            let sessions: Vec<SessionId> = room.sessions_of(player).collect();
            if !sessions.is_empty() {
                self.sessions.insert(player, sessions);
            }
        }
        for (avatar, it) in room.all::<Avatar>() {
            self.seats.insert(it.owner, Seat { avatar, at: [it.x, it.y] });
        }
        self.light_lamps(room);
        if self.frozen || self.rng.one_in(2) {
            return;
        }
        let round = room.state::<Board>().round + 1;
        room.state_mut::<Board>().set_round(round);
        let id = self.explicit();
        self.remove(room, id);
        if self.rng.one_in(2) {
            self.make(room, id).expect("the ID is free");
        }
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        if self.refuse {
            return Err(Refused::new("closed today"));
        }
        let Peer { player, conn } = peer;
        if !self.seats.contains_key(&player) {
            let at = self.place();
            let value = self.own.get(&player).copied().unwrap_or(0);
            let birth = self.serial();
            let avatar = Avatar { owner: player, x: at[0], y: at[1], value, birth };
            let avatar = room.create(avatar).expect("IDs do not run out");
            self.seats.insert(player, Seat { avatar, at });
            let mut purse = room.create_private::<Purse>(player);
            purse.set_secret(secret_of(player.0)).expect("it fits");
        }
        let (session, stays) = room
            .connection(conn)
            .map(|it| (it.session(), it.account().is_some()))
            .expect("who joins is connected");
        room.private_mut::<Purse>(player).expect("a player has private state").set_stays(stays);
        self.sessions.entry(player).or_default().push(session);
        let own = self.own.get(&player).copied().unwrap_or(0);
        self.news.push(News::Joined { session, own, all: self.all });
        Ok(())
    }

    fn on_drop(&mut self, _: &mut Room<Self>, _: PlayerId, session: SessionId, how: Dropped) {
        self.news.push(News::Dropped { session, how });
    }

    fn on_resume(&mut self, _: &mut Room<Self>, peer: Peer) {
        self.news.push(News::Resumed { conn: peer.conn });
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, act: Act) {
        self.news.push(News::Acted { conn: peer.conn, session: session(room, peer), mark: act.mark });
        if std::mem::take(&mut self.trips) {
            std::panic::panic_any(super::Boom);
        }
        match act.what {
            What::Say => {}
            What::Walk { dx, dy } => self.walk(room, peer.player, [dx, dy]),
            What::Boom => std::panic::panic_any(super::Boom),
            What::KickMe => room.kick(peer.player, "out"),
        }
    }

    fn on_transient(&mut self, room: &mut Room<Self>, peer: Peer, act: Act) {
        self.news.push(News::Flicked { conn: peer.conn, session: session(room, peer), mark: act.mark });
    }

    fn on_tick(&mut self, room: &mut Room<Self>) {
        if std::mem::take(&mut self.stumbles) {
            std::panic::panic_any(super::Boom);
        }
        if self.frozen {
            return;
        }
        if self.plan.keep.is_some() {
            self.flicker(room);
            self.busy ^= self.rng.one_in(30);
        }
        if !self.busy {
            return;
        }
        self.stir(room);
        if self.plan.keep.is_some() && self.rng.one_in(20) {
            let what = self.serial();
            self.news.push(News::Sent(what));
            room.after_commit(&what).expect("it is small");
        }
        if self.plan.storm > 0 && room.tick().0.is_multiple_of(self.plan.storm) {
            self.storm(room);
        }
        self.speak(room);
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        let seat = self.seats.remove(&player).expect("who leaves had a seat");
        let value = self.own.get(&player).copied().unwrap_or(0);
        self.news.push(News::Gone { key: Key::Avatar(player), value });
        if room.private::<Purse>(player).is_none_or(|purse| !purse.stays) {
            self.news.push(News::Gone { key: Key::Purse(player), value });
        }
        room.delete(seat.avatar);
        self.news.push(News::Left { sessions: self.sessions.remove(&player).unwrap_or_default() });
    }
}

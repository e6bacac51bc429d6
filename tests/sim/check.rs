//! The comparison of a room at rest with its clients: a naive filter of the world, and what was counted.

use std::collections::BTreeMap;

use room::wire::record::StoredRecord;
use room::{ConnectionId, Entity, EntityId, PlayerId, Presence, Room, Visible};
use room_client::Status;
use room_client::replica::Replica;

use super::book::Booms;
use super::edge::{Owner, Socket};
use super::game::{Avatar, Board, Coin, Purse, Rock, Spark, World};
use super::run::Sim;

/// An entity of the room, as the oracle sees it.
pub(crate) struct Thing {
    at: [f64; 2],
    owner: Option<PlayerId>,
    pub(crate) record: StoredRecord,
}

/// Whether an entity is not stored.
pub(crate) fn is_spark(room: &Room<World>, id: u64) -> bool {
    EntityId::from_wire(id).is_some_and(|id| room.id::<Spark>(id).is_some())
}

/// All that lies about.
pub(crate) fn things(room: &Room<World>) -> BTreeMap<u64, Thing> {
    let mut all = BTreeMap::new();
    for (id, it) in room.all::<Avatar>() {
        all.insert(id.get(), Thing { at: [it.x, it.y], owner: Some(it.owner), record: StoredRecord::of(it) });
    }
    for (id, it) in room.all::<Rock>() {
        all.insert(id.get(), Thing { at: [it.x, it.y], owner: None, record: StoredRecord::of(it) });
    }
    for (id, it) in room.all::<Coin>() {
        all.insert(id.get(), Thing { at: [it.x, it.y], owner: None, record: StoredRecord::of(it) });
    }
    for (id, it) in room.all::<Spark>() {
        all.insert(id.get(), Thing { at: [it.x, it.y], owner: None, record: StoredRecord::of(it) });
    }
    all
}

fn collect<K: Visible + Entity>(replica: &Replica, held: &mut BTreeMap<u64, StoredRecord>) {
    for (id, entity) in replica.all::<K>() {
        assert!(held.insert(id.get(), StoredRecord::of(entity)).is_none(), "{id:?} is held twice");
    }
}

impl Sim {
    /// What a page that should be at rest still waits for.
    pub(crate) fn unsettled(&self, id: u32) -> Option<String> {
        let page = &self.pages[&id];
        match page.machine.status() {
            Status::Closed { .. } | Status::Lost => return None,
            Status::Joined => {}
            status => return Some(format!("is {status:?}")),
        }
        let Some((number, socket)) = page.socket.and_then(|id| Some((id, self.sockets.get(&id)?))) else {
            return Some(String::from("has no socket"));
        };
        let Some(session) = socket.flow.session else { return Some(String::from("has no welcome")) };
        let book = &self.books[&session];
        if book.conn != Some(number) {
            return Some(format!("is joined to session {session}, which is elsewhere: {:?}", book.conn));
        }
        if !self.runtime.room().is_drained(ConnectionId(number)) {
            return Some(String::from("is not drained"));
        }
        let said = book.said.len() as u64;
        if page.reading.session != Some(session) || page.reading.taken(Some(book)) < said {
            return Some(format!("has read {} of {said} messages", page.reading.cursor));
        }
        let waiting = page.machine.unacknowledged();
        if waiting > 0 {
            return Some(format!("waits for {waiting} acknowledgements"));
        }
        if self.runtime.room().unacknowledged_events(session).0 > 0 {
            return Some(String::from("has not acknowledged its events"));
        }
        None
    }

    /// Whatever it claims, a stranger was sent nothing that its player could not see.
    pub(crate) fn check_liars(&self) {
        // Where no update went out, the view is an older one.
        let now = self.runtime.now();
        let updated = |socket: &Socket| socket.flow.updated() == Some(now);
        let liars = self.sockets.iter().filter(|(_, it)| matches!(it.owner, Owner::Rogue(_)) && updated(it));
        for number in liars.map(|(number, _)| ConnectionId(*number)) {
            let (room, game) = (self.runtime.room(), self.runtime.game());
            let Some(player) = room.connection(number).map(room::Connection::player) else { continue };
            let sent = |id: &u64| room::EntityId::from_wire(*id).is_some_and(|id| room.was_sent(number, id));
            let [x, y] = game.seats[&player].at;
            for (id, thing) in things(room).iter().filter(|(id, _)| sent(id)) {
                let far = (thing.at[0] - x).hypot(thing.at[1] - y);
                assert!(far <= self.plan.release, "a stranger sees {id}, which is {far} away");
            }
        }
    }

    /// Compares everything at rest.
    pub(crate) fn check(&mut self) {
        let ids: Vec<u32> = self.pages.keys().copied().collect();
        let all = things(self.runtime.room());
        for id in ids {
            self.scan(id);
            // What it took over from a checkpoint it may not have read yet.
            self.read(id);
            if self.pages[&id].machine.is_joined() {
                self.check_view(id, &all);
                self.check_counts(id);
            }
        }
        for book in self.books.values().filter(|book| book.conn.is_some()) {
            let game = self.runtime.game();
            let own = game.own.get(&book.player).copied().unwrap_or(0);
            assert_eq!((book.own, book.all), (own, game.all), "words for player {} went out", book.player);
        }
        self.check_presence();
        self.check_kept();
        self.checks += 1;
    }

    /// Presence is what the sessions are.
    fn check_presence(&self) {
        let room = self.runtime.room();
        for presence in room.presences() {
            let held = || room.sessions_of(presence.player).map(|session| room.held_until(session));
            let connections = held().filter(Option::is_none).count();
            let until = held().max().flatten().filter(|_| connections == 0);
            assert_eq!((usize::from(presence.connections), presence.held()), (connections, until));
        }
        let players = self.runtime.game().seats.len();
        assert_eq!(room.presences().count(), players, "who has a seat is there");
    }

    fn check_counts(&self, id: u32) {
        let page = &self.pages[&id];
        let book = &self.books[&page.reading.session.expect("it is at rest")];
        let none = Booms::new();
        let given_up = if self.plan.settings.deployed { &none } else { &self.given_up };
        let handled = |page, life| book.handled(page, life, given_up);
        let own = handled(id, page.life);
        let failed = self.booms.range((id, page.life, 0)..=(id, page.life, u64::MAX)).count();
        assert!(book.failures() >= failed, "{failed} events of page {id} failed, which was not told so");
        assert_eq!(own, page.said, "the room handled what page {id} said in life {}", page.life);
        for ((older, life), said) in &page.reading.owed {
            let handled = handled(*older, *life);
            assert!(
                handled >= *said,
                "{handled} of {said} events of page {older}, which page {id} continues"
            );
        }
        let waits: Vec<_> = page.reading.calls.iter().filter(|(_, ask)| ask.mark.page == id).collect();
        assert!(waits.is_empty(), "page {id} still waits for the results of {waits:?}");
    }

    fn check_view(&self, id: u32, all: &BTreeMap<u64, Thing>) {
        let page = &self.pages[&id];
        let (room, game) = (self.runtime.room(), self.runtime.game());
        let number = page.socket.expect("it is joined");
        let player = room.connection(ConnectionId(number)).expect("it is joined").player();
        assert_eq!(page.machine.player(), Some(player), "page {id} knows who it is");
        let replica = page.machine.replica();
        let mut held = BTreeMap::new();
        collect::<Avatar>(replica, &mut held);
        collect::<Rock>(replica, &mut held);
        collect::<Coin>(replica, &mut held);
        collect::<Spark>(replica, &mut held);
        let present: Vec<&Presence> = room.presences().collect();
        assert_eq!(replica.presences(), present, "page {id} sees who is there");
        let besides = 2 + present.len();
        assert_eq!(replica.len(), held.len() + besides, "page {id} holds state and private state besides");
        assert_eq!(replica.complete(), replica.tick(), "nothing is held back from page {id}");
        let kept = room.retained(ConnectionId(number));
        assert!(kept.eq(replica.retained_ids()), "page {id} keeps what the room counts on");
        let same = |ours: Option<StoredRecord>, theirs: StoredRecord| ours == Some(theirs);
        let board = replica.state::<Board>();
        assert!(
            same(board.map(StoredRecord::of), StoredRecord::of(room.state::<Board>())),
            "page {id}: {board:?}"
        );
        let purse = replica.private::<Purse>();
        let theirs = room.private::<Purse>(player).expect("a player has private state");
        assert!(same(purse.map(StoredRecord::of), StoredRecord::of(theirs)), "page {id}: {purse:?}");

        let around = game.seats[&player].at;
        let distance = |thing: &Thing| {
            let [x, y] = [thing.at[0] - around[0], thing.at[1] - around[1]];
            (x * x + y * y).sqrt()
        };
        for (entity, thing) in all {
            let far = distance(thing);
            let own = thing.owner == Some(player);
            let must = own || (far <= self.plan.range && self.plan.limit.is_none());
            let may = own || far <= self.plan.release;
            let there = held.get(entity);
            let sent =
                room::EntityId::from_wire(*entity).is_some_and(|it| room.was_sent(ConnectionId(number), it));
            assert!(
                (there.is_some() || !must) && (there.is_none() || may) && there.is_some() == sent,
                "page {id} at {around:?}: {entity} at {:?} is {far} away; held {}, sent {sent}",
                thing.at,
                there.is_some()
            );
            if let Some(record) = there {
                assert!(*record == thing.record, "page {id} holds another {entity} than the room has");
            }
        }
        let strange: Vec<&u64> = held.keys().filter(|id| !all.contains_key(id)).collect();
        assert!(strange.is_empty(), "page {id} holds {strange:?}, which do not live");
        if let Some(most) = self.plan.limit {
            let others = held.keys().filter(|id| all[id].owner != Some(player)).count();
            assert!(others <= most + most.div_ceil(10), "page {id} holds {others}, past the limit of {most}");
        }
    }
}

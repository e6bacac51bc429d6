//! What clients saw of what is durable, and what a woken room has of it: nothing that was seen is taken back.

use std::collections::{BTreeMap, BTreeSet};

use room::{Entity, EntityId, Id, Visible};
use room_client::replica::Replica;

use super::book::Life;
use super::game::{Avatar, Board, Coin, Key, LAMPS, News, Purse, Rock, Spark};
use super::run::Sim;

/// What was seen in all the room's runs.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The highest that any client saw of each number.
    most: BTreeMap<Key, u64>,
    /// What the numbers were of what was deleted: as far as it is kept, and with what is not yet.
    gone: BTreeMap<Key, u64>,
    going: BTreeMap<Key, u64>,
    /// Which entity an automatic ID was seen to name.
    births: BTreeMap<u64, u64>,
    /// All random numbers.
    drawn: BTreeSet<u64>,
}

impl Seen {
    /// A deletion is kept.
    pub(crate) fn is_gone(&mut self, key: Key, value: u64) {
        let most = self.gone.entry(key).or_default();
        *most = value.max(*most);
    }
}

/// What came or changed in a client's last update.
fn fresh<K: Visible + Entity>(replica: &Replica) -> impl Iterator<Item = (Id<K>, &K)> {
    let changed = replica.changed::<K>().filter_map(|it| Some((it.id, replica.get(it.id)?)));
    replica.entered::<K>().chain(changed)
}

impl Sim {
    /// A hook was told or did something, which may still come to nothing.
    pub(crate) fn happened(&mut self, news: &News) {
        self.stirred = self.now;
        match news {
            News::Gone { key, value } => {
                self.seen.going.insert(*key, *value);
            }
            News::Drew(number) => {
                assert!(self.seen.drawn.insert(*number), "the random number {number} is drawn twice");
            }
            _ => {}
        }
    }

    /// What the last update shows a page.
    pub(crate) fn look(&mut self, id: u32) {
        let page = &self.pages[&id];
        let replica = page.machine.replica();
        let (mut saw, mut births) = (Vec::new(), Vec::new());
        for (id, coin) in fresh::<Coin>(replica) {
            saw.push((Key::Thing(id.get()), coin.serial));
        }
        for (id, rock) in fresh::<Rock>(replica) {
            saw.push((Key::Thing(id.get()), rock.serial));
        }
        for (id, avatar) in fresh::<Avatar>(replica) {
            saw.push((Key::Avatar(avatar.owner), avatar.value));
            births.push((id.get(), avatar.birth));
        }
        births.extend(fresh::<Spark>(replica).map(|(id, spark)| (id.get(), spark.birth)));
        if let Some(board) = replica.state::<Board>() {
            saw.extend([(Key::Round, board.round), (Key::Words, board.words)]);
        }
        if let (Some(player), Some(purse)) = (page.machine.player(), replica.private::<Purse>()) {
            saw.push((Key::Purse(player), purse.coins));
        }
        for (of, birth) in births.into_iter().filter(|(of, _)| *of < LAMPS) {
            let known = *self.seen.births.entry(of).or_insert(birth);
            assert_eq!(
                known, birth,
                "page {id} sees another entity under the automatic ID {of} than was seen"
            );
        }
        for (key, value) in saw {
            self.saw(id, key, value);
        }
    }

    fn saw(&mut self, id: u32, key: Key, value: u64) {
        let page = self.pages.get_mut(&id).expect("it looks");
        let before = page.shown.insert(key, value).unwrap_or(0);
        assert!(value >= before, "page {id} saw {key:?} at {before}, and then at {value}");
        if value == before {
            return;
        }
        let most = self.seen.most.entry(key).or_default();
        *most = value.max(*most);
        if self.fate.is_up() {
            let gone = self.seen.going.get(&key).max(self.seen.gone.get(&key)).copied();
            let has = self.number(key).max(gone);
            assert!(has >= Some(value), "page {id} saw {key:?} at {value}; the room has {has:?}");
        }
    }

    /// A number as the room has it.
    fn number(&self, key: Key) -> Option<u64> {
        let (room, game) = (self.runtime.room(), self.runtime.game());
        match key {
            Key::Thing(id) => {
                let id = EntityId::explicit(id)?;
                let coin = room.id::<Coin>(id).and_then(|id| room.get(id)).map(|it| it.serial);
                coin.or_else(|| room.id::<Rock>(id).and_then(|id| room.get(id)).map(|it| it.serial))
            }
            Key::Avatar(player) => room.get(game.seats.get(&player)?.avatar).map(|it| it.value),
            Key::Purse(player) => room.private::<Purse>(player).map(|it| it.coins),
            Key::Round => Some(room.state::<Board>().round),
            Key::Words => Some(room.state::<Board>().words),
        }
    }

    /// A run is over: what was not kept of it never was.
    pub(crate) fn forget_run(&mut self) {
        self.seen.going = self.seen.gone.clone();
        self.resumes.clear();
        self.drop_errands();
        self.books.values_mut().for_each(super::book::Book::orphaned);
    }

    /// Connections that the room let in, and could not tell so.
    pub(crate) fn blur(&mut self) {
        for (conn, resume) in &self.resumes {
            let account = self.sockets.get(conn).and_then(|socket| socket.account.as_ref());
            match resume {
                Some(resume) => {
                    if let Some(book) = self.books.get_mut(&resume.session) {
                        book.blurred.push(Some(resume.token));
                    }
                }
                None if account.is_some() => {
                    let theirs = self.books.values_mut().filter(|book| book.account.as_ref() == account);
                    theirs.for_each(|book| book.blurred.push(None));
                }
                None => {}
            }
        }
    }

    /// A woken room has all that any client saw, and every session that was not over.
    pub(crate) fn check_woken(&mut self) {
        self.check_kept();
        let tick = self.runtime.now().0;
        let room = self.runtime.room();
        for (id, book) in &mut self.books {
            let there = room.sessions_of(book.player).any(|session| session == *id);
            if book.dead {
                assert!(!there, "session {id} is over, and there again");
            } else if !there {
                let lives = book.life(tick) == Life::Yes && !book.leaving && book.blurred.is_empty();
                assert!(!lives, "session {id} is lost");
                book.end();
            }
        }
    }

    /// The room has all that any client saw.
    pub(crate) fn check_kept(&self) {
        for (key, seen) in &self.seen.most {
            // A woken game may delete at once.
            let gone = self.seen.going.get(key).max(self.seen.gone.get(key)).copied();
            let has = self.number(*key).max(gone);
            assert!(has >= Some(*seen), "{key:?} was seen at {seen}; the room has {has:?}");
        }
    }
}

//! What must hold after each step, and what the honest client must hold in the end.

use std::collections::BTreeMap;

use room::runtime::Closed;
use room::{ConnectionId, EntityId, PlayerId, limits};

use super::game::{Board, Chest, Eyes, FEW, Hand, RANGE, RELEASE, Spark, Unit};
use super::{EMPTY, MEMORY, Play, counting};

/// Ticks after which nothing may wait any more for a client that keeps up.
const PATIENCE: usize = 700;
/// Ticks that are worth waiting for the end of the holds.
const HOLDS: u64 = 130;

/// Whether a client should hold an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Yes,
    /// It depends on what was before.
    Maybe,
    No,
}

impl Play<'_> {
    pub(super) fn check(&self) {
        if let Some(wrong) = &self.room.game().wrong {
            panic!("{wrong}");
        }
        let (sessions, seats) = (self.room.sessions(), self.room.settings().seats);
        assert!(sessions <= seats, "{sessions} sessions on {seats} seats");
        let held = counting::held() - self.before;
        assert!(held <= MEMORY as isize, "{held} bytes are held; the bound is {MEMORY}");
    }

    /// Everybody does as they should: the honest client catches up, and the room is empty at last.
    pub(super) fn finish(mut self) {
        self.honest.silent = false;
        if self.catch_up() {
            self.compare();
            self.reached.compared += 1;
        }
        self.check();
        self.reached.written += self.room.game().written;
        for conn in std::mem::take(&mut self.rogues).into_keys() {
            self.room.handle_close(conn, self.now, Closed::WithFrame);
        }
        self.hang_up(Closed::WithFrame);
        self.drain();
        let settings = self.room.settings();
        let seconds = settings.hold_seconds.unwrap_or(limits::HOLD_HIDDEN_SECONDS);
        let ticks = u64::from(seconds + 2) * u64::from(settings.tick_rate);
        if ticks <= HOLDS {
            (0..ticks).for_each(|_| self.force_tick());
            assert_eq!(self.room.sessions(), 0, "nobody is held any more");
            self.reached.emptied += 1;
            assert_eq!(self.room.room().players(), 0);
            let held = counting::held() - self.before;
            assert!(held <= EMPTY as isize, "{held} bytes for nobody; the bound is {EMPTY}");
        }
        self.check();
    }

    /// Returns whether the honest client is in the room and has everything; it may have found no seat.
    fn catch_up(&mut self) -> bool {
        let mut dials = 0;
        for _ in 0..PATIENCE {
            if self.honest.conn.is_none() || self.honest.deaf {
                if dials == 8 {
                    return false;
                }
                dials += 1;
                self.hang_up(Closed::Broken);
                self.dial();
            }
            if self.honest.hidden {
                self.honest.hide(false);
            }
            self.drain();
            self.force_tick();
            self.check();
            let sent = self.room.now().0.is_multiple_of(self.room.settings().send_every.into());
            if let Some(conn) = self.honest.conn
                && sent
                && self.honest.is_settled()
                && self.room.room().is_drained(conn)
            {
                return true;
            }
        }
        assert!(self.honest.conn.is_none(), "the honest client never had everything");
        false
    }

    fn compare(&self) {
        let (Some(conn), Some(seat)) = (self.honest.conn, self.honest.seat) else { return };
        let room = self.room.room();
        let seen = self.seen(conn, seat.player);
        let replica = &self.honest.replica;
        macro_rules! same {
            ($kind:ty) => {
                let held: BTreeMap<EntityId, &$kind> = self.honest.all::<$kind>().collect();
                for (id, ours) in room.all::<$kind>() {
                    let id = id.entity();
                    let (seen, theirs) = (seen[&id], held.get(&id));
                    assert!(seen == Seen::Maybe || theirs.is_some() == (seen == Seen::Yes), "{id}: {seen:?}");
                    assert!(theirs.is_none_or(|theirs| *theirs == ours), "{id}: {theirs:?} is not {ours:?}");
                }
                assert!(held.keys().all(|id| seen.contains_key(id)), "what is held lives");
            };
        }
        same!(Unit);
        same!(Chest);
        same!(Spark);
        assert!(room.retained(conn).eq(replica.retained_ids()), "both ends retain the same");
        assert_eq!(replica.state::<Board>(), Some(room.state::<Board>()));
        assert_eq!(replica.private::<Hand>(), room.private::<Hand>(seat.player));
        assert_eq!(replica.all::<Hand>().count(), 1, "nobody else's");
    }

    /// A naive filter of the world.
    fn seen(&self, conn: ConnectionId, player: PlayerId) -> BTreeMap<EntityId, Seen> {
        let room = self.room.room();
        let at = room.connection(conn).map_or(0.0, |conn| conn.scratch.at);
        let units = room.all::<Unit>().map(|(id, unit)| (id.entity(), unit.x));
        let chests = room.all::<Chest>().map(|(id, chest)| (id.entity(), chest.x));
        let sparks = room.all::<Spark>().map(|(id, spark)| (id.entity(), spark.x));
        let near = |x: f64| match (x - at).abs() {
            d if d <= RANGE => Seen::Yes,
            d if d <= RELEASE => Seen::Maybe,
            _ => Seen::No,
        };
        let all =
            units.chain(sparks).map(|(id, x)| (id, x, false)).chain(chests.map(|(id, x)| (id, x, true)));
        match room_eyes(self) {
            Eyes::Everything => all.map(|(id, ..)| (id, Seen::Yes)).collect(),
            Eyes::Near => all.map(|(id, x, _)| (id, near(x))).collect(),
            Eyes::Words => {
                let even = |x: f64| x.rem_euclid(2.0) < 1.0;
                let seen = |x, chest| if chest && even(x) == even(at) { Seen::Yes } else { near(x) };
                all.map(|(id, x, chest)| (id, seen(x, chest))).collect()
            }
            Eyes::Few => {
                let own =
                    |id| room.id::<Unit>(id).and_then(|id| room.get(id)).is_some_and(|u| u.owner == player);
                let strength =
                    |id| room.id::<Unit>(id).and_then(|id| room.get(id)).map_or(-1, |u| i64::from(u.hp));
                let (owned, mut ranked): (Vec<EntityId>, Vec<EntityId>) =
                    all.map(|(id, ..)| id).partition(|id| own(*id));
                ranked.sort_by_key(|id| (-strength(*id), *id));
                let ranked = ranked.into_iter().enumerate().map(|(rank, id)| {
                    let slack = FEW + FEW.div_ceil(10);
                    (
                        id,
                        if rank < FEW {
                            Seen::Yes
                        } else if rank < slack {
                            Seen::Maybe
                        } else {
                            Seen::No
                        },
                    )
                });
                owned.into_iter().map(|id| (id, Seen::Yes)).chain(ranked).collect()
            }
        }
    }
}

fn room_eyes(play: &Play<'_>) -> Eyes {
    play.room.game().eyes
}

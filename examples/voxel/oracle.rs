//! The oracle: what each bot should see by plain arithmetic, compared with what it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use room::prelude::*;

use crate::blocks::{SIDE, block_at};
use crate::game::{AVATAR_RANGE, AVATAR_RELEASE, CHUNK_RADIUS};
use crate::shared::{Avatar, Chunk, World};

/// The world: all of it in the room, or what a bot has of it.
#[derive(Clone, Debug, Default)]
pub struct Copy {
    /// The room's state.
    pub world: World,
    /// Chunks by ID.
    pub chunks: BTreeMap<Id<Chunk>, Chunk>,
    /// Avatars by ID.
    pub avatars: BTreeMap<Id<Avatar>, Avatar>,
    /// Who is in the room.
    pub present: BTreeMap<PlayerId, Presence>,
}

/// One entity or field in which a bot differs from the room.
#[derive(Debug, PartialEq)]
pub enum Mismatch {
    /// It should see this entity and does not.
    Missing(EntityId),
    /// It should not see this entity and does.
    Surplus(EntityId),
    /// It has another value in this field.
    Field(EntityId, &'static str),
    /// It is told something else of this player.
    Presence(PlayerId),
    /// It has no avatar of its own.
    NoAvatar,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Missing(id) => write!(f, "entity {id} is missing"),
            Mismatch::Surplus(id) => write!(f, "entity {id} should be out of view"),
            Mismatch::Field(id, field) => write!(f, "entity {id} has another {field}"),
            Mismatch::Presence(player) => write!(f, "player {player} has another presence"),
            Mismatch::NoAvatar => f.write_str("the room has no avatar for it"),
        }
    }
}

/// Whether an entity belongs in a view.
#[derive(Clone, Copy, PartialEq)]
enum Due {
    Seen,
    Unseen,
    /// Between range and release: in view if it was in range since it came.
    Either,
}

/// Every difference between what `player` should have of `room` and `bot`.
pub fn mismatches(room: &Copy, player: PlayerId, bot: &Copy) -> Vec<Mismatch> {
    let Some(me) = room.avatars.values().find(|avatar| avatar.owner == player) else {
        return vec![Mismatch::NoAvatar];
    };
    let mut found = Vec::new();
    world_fields(&room.world, &bot.world, &mut found);
    compare(&room.chunks, &bot.chunks, |chunk| chunk_due(me, chunk), chunk_fields, &mut found);
    compare(&room.avatars, &bot.avatars, |avatar| avatar_due(me, avatar), avatar_fields, &mut found);
    // Everyone sees all of it.
    let players: BTreeSet<PlayerId> = room.present.keys().chain(bot.present.keys()).copied().collect();
    let differs = |player: &PlayerId| room.present.get(player) != bot.present.get(player);
    found.extend(players.into_iter().filter(differs).map(Mismatch::Presence));
    found
}

fn compare<K>(
    room: &BTreeMap<Id<K>, K>,
    bot: &BTreeMap<Id<K>, K>,
    due: impl Fn(&K) -> Due,
    fields: impl Fn(EntityId, &K, &K, &mut Vec<Mismatch>),
    found: &mut Vec<Mismatch>,
) {
    for (id, entity) in room {
        match (due(entity), bot.get(id)) {
            (Due::Seen, None) => found.push(Mismatch::Missing(id.entity())),
            (Due::Unseen, Some(_)) => found.push(Mismatch::Surplus(id.entity())),
            (_, Some(copy)) => fields(id.entity(), entity, copy, found),
            (_, None) => {}
        }
    }
    let gone = bot.keys().filter(|id| !room.contains_key(id));
    found.extend(gone.map(|id| Mismatch::Surplus(id.entity())));
}

fn chunk_due(me: &Avatar, chunk: &Chunk) -> Due {
    let mine = block_at(me.feet()).map(|c| c.div_euclid(SIDE));
    let near = (0..3)
        .all(|i| i32::from([chunk.cx, chunk.cy, chunk.cz][i]).abs_diff(mine[i]) <= u32::from(CHUNK_RADIUS));
    if near { Due::Seen } else { Due::Unseen }
}

fn avatar_due(me: &Avatar, other: &Avatar) -> Due {
    let (a, b) = (me.feet(), other.feet());
    let square: f64 = (0..3).map(|i| (f64::from(a[i]) - f64::from(b[i])).powi(2)).sum();
    if me.owner == other.owner || square <= AVATAR_RANGE * AVATAR_RANGE {
        Due::Seen
    } else if square > AVATAR_RELEASE * AVATAR_RELEASE {
        Due::Unseen
    } else {
        Due::Either
    }
}

/// Pushes a mismatch for each named field that differs; every field must be named.
macro_rules! fields {
    ($kind:ident, $name:ident, $($field:ident by $same:expr),*) => {
        fn $name(id: EntityId, room: &$kind, bot: &$kind, found: &mut Vec<Mismatch>) {
            let ($kind { $($field),* }, same) = (room, bot);
            $(if !$same($field, &same.$field) {
                found.push(Mismatch::Field(id, stringify!($field)));
            })*
        }
    };
}

fields!(Chunk, chunk_fields, cx by equal, cy by equal, cz by equal, blocks by equal);
fields!(Avatar, avatar_fields, owner by equal, name by equal, x by bits, y by bits, z by bits, yaw by bits,
    dug by equal, placed by equal);
fields!(World, state_fields, palette by equal, low by equal, high by equal);

fn world_fields(room: &World, bot: &World, found: &mut Vec<Mismatch>) {
    state_fields(EntityId::STATE, room, bot, found);
}

fn equal<T: PartialEq>(a: &T, b: &T) -> bool {
    a == b
}

fn bits(a: &f32, b: &f32) -> bool {
    a.to_bits() == b.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::chunk_id;

    fn avatar(player: u32, x: f32) -> Avatar {
        let name = format!("player {player}");
        Avatar { owner: PlayerId(player), name, x, y: 0.0, z: 0.0, yaw: 0.0, dug: 0, placed: 0 }
    }

    fn presence(player: u32) -> Presence {
        let name = format!("player {player}");
        Presence { player: PlayerId(player), name, status: String::new(), connections: 1, held_until: None }
    }

    fn id<K>(number: u64) -> Id<K> {
        Id::assume(EntityId::explicit(number).unwrap())
    }

    /// Players at 0, 80, 90 and 97, chunks from -4 to 4.
    fn room() -> Copy {
        let mut room = Copy::default();
        for (i, x) in [0.0, 80.0, 90.0, 97.0].into_iter().enumerate() {
            room.avatars.insert(id(10 + i as u64), avatar(i as u32, x));
            room.present.insert(PlayerId(i as u32), presence(i as u32));
        }
        for cx in -4..=4i16 {
            let chunk = Chunk { cx, cy: 0, cz: 0, blocks: Bytes::from(vec![1, 2]) };
            room.chunks.insert(Id::assume(chunk_id([cx.into(), 0, 0]).unwrap()), chunk);
        }
        room
    }

    /// What player 0 should have.
    fn bot() -> Copy {
        let mut bot = room();
        bot.avatars.remove(&id(13));
        bot.chunks.retain(|_, chunk| chunk.cx.abs() <= 3);
        bot
    }

    #[test]
    fn a_true_copy_has_no_mismatch_with_or_without_what_is_between_range_and_release() {
        assert_eq!(mismatches(&room(), PlayerId(0), &bot()), []);
        let mut bot = bot();
        bot.avatars.remove(&id(12));
        assert_eq!(mismatches(&room(), PlayerId(0), &bot), []);
    }

    #[test]
    fn everything_that_differs_counts() {
        let mut bot = bot();
        bot.avatars.remove(&id(11));
        bot.avatars.insert(id(13), avatar(3, 97.0));
        bot.avatars.insert(id(99), avatar(9, 1.0));
        let mine = bot.avatars.get_mut(&id(10)).unwrap();
        (mine.x, mine.dug) = (-0.0, 4);
        bot.chunks.pop_first();
        bot.chunks.first_entry().unwrap().get_mut().blocks = Bytes::from(vec![1, 3]);
        bot.world.low = [1, 0, 0];
        bot.present.remove(&PlayerId(2));
        bot.present.get_mut(&PlayerId(3)).unwrap().held_until = Some(70);
        let found = mismatches(&room(), PlayerId(0), &bot);
        let count = |wanted: fn(&Mismatch) -> bool| found.iter().filter(|m| wanted(m)).count();
        assert_eq!(count(|m| matches!(m, Mismatch::Missing(_))), 2);
        assert_eq!(count(|m| matches!(m, Mismatch::Surplus(_))), 2);
        assert_eq!(count(|m| matches!(m, Mismatch::Field(..))), 4);
        assert_eq!(count(|m| matches!(m, Mismatch::Presence(_))), 2);
        assert_eq!(found.len(), 10);
    }

    #[test]
    fn a_player_without_an_avatar_is_one() {
        assert_eq!(mismatches(&room(), PlayerId(7), &bot()), [Mismatch::NoAvatar]);
    }
}

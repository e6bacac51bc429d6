//! What a player should see, worked out the slow way, and what her client holds.

use std::collections::BTreeMap;

use room::prelude::*;
use room_client::Replica;
use serde::{Deserialize, Serialize};

use crate::game::{Field, RANGE, RELEASE, find, team_of};
use crate::kinds::{Chunk, Mill, Plot, Purse, Sign, Stone, Tally, Thing, Visitor, Walker, each_kind};

/// What a player should see while nothing changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// Hashes of the room's state, and of her own.
    pub tally: u64,
    pub purse: u64,
    /// Entities: which, a hash, and whether she must see it. Between range and release she may.
    pub ids: Vec<u64>,
    pub sums: Vec<u64>,
    pub sure: Vec<bool>,
}

/// An entity as a client once saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub id: u64,
    pub tag: u8,
    pub grown: [u64; 2],
}

/// What a player should see.
pub fn digest(field: &Field, room: &Room<Field>, player: PlayerId) -> Digest {
    let mut looking = Looking {
        room,
        from: field.place(room, player).map(|place| place.map(f64::from)),
        team: team_of(player),
        digest: Digest::default(),
    };
    each_kind(&mut looking);
    let mut digest = looking.digest;
    digest.tally = room.state::<Tally>().sum();
    digest.purse = room.private::<Purse>(player).map_or(0, Thing::sum);
    digest
}

struct Looking<'a> {
    room: &'a Room<Field>,
    from: Option<[f64; 2]>,
    team: u8,
    digest: Digest,
}

impl Visitor for Looking<'_> {
    fn visit<K: Thing>(&mut self) {
        for (id, thing) in self.room.all::<K>() {
            let seen = match (thing.place(), self.from) {
                (Some([x, y]), Some(from)) => {
                    let square = (f64::from(x) - from[0]).powi(2) + (f64::from(y) - from[1]).powi(2);
                    (square <= RELEASE * RELEASE).then_some(square <= RANGE * RANGE)
                }
                (Some(_), None) => None,
                (None, _) => {
                    let sign = find::<Sign>(self.room, id.get()).and_then(|id| self.room.get(id));
                    sign.filter(|sign| sign.team == self.team).map(|_| true)
                }
            };
            let Some(sure) = seen else { continue };
            self.digest.ids.push(id.get());
            self.digest.sums.push(thing.sum());
            self.digest.sure.push(sure);
        }
    }
}

/// Whether what a client once saw is still so, has grown, or is known to be gone.
pub fn holds(field: &Field, room: &Room<Field>, claim: &Claim) -> bool {
    let grown = match claim.tag {
        Walker::TAG => grown_of::<Walker>(room, claim.id),
        Stone::TAG => grown_of::<Stone>(room, claim.id),
        Chunk::TAG => grown_of::<Chunk>(room, claim.id),
        Sign::TAG => grown_of::<Sign>(room, claim.id),
        Plot::TAG => grown_of::<Plot>(room, claim.id),
        Mill::TAG => grown_of::<Mill>(room, claim.id),
        _ => return false,
    };
    match grown {
        Some(grown) => is_behind(&claim.grown, &grown),
        None if claim.tag == Plot::TAG => claim.grown[0] >> 32 <= u64::from(field.lives(room, claim.id)),
        None => field.graves.contains(&claim.id),
    }
}

fn grown_of<K: Thing>(room: &Room<Field>, id: u64) -> Option<[u64; 2]> {
    room.get(find::<K>(room, id)?).map(Thing::grown)
}

/// Whether no number of the one is higher than that of the other.
pub fn is_behind(one: &[u64; 2], other: &[u64; 2]) -> bool {
    one[0] <= other[0] && one[1] <= other[1]
}

/// What a client holds: hashes by ID.
fn held(replica: &Replica) -> BTreeMap<u64, (u8, u64)> {
    struct Holding<'a>(&'a Replica, BTreeMap<u64, (u8, u64)>);
    impl Visitor for Holding<'_> {
        fn visit<K: Thing>(&mut self) {
            self.1.extend(self.0.all::<K>().map(|(id, thing)| (id.get(), (K::TAG, thing.sum()))));
        }
    }
    let mut holding = Holding(replica, BTreeMap::new());
    each_kind(&mut holding);
    holding.1
}

/// What a client lacks, has too much, or has otherwise; a line for each.
pub fn differences(replica: &Replica, digest: &Digest) -> Vec<String> {
    let mut wrong = Vec::new();
    if replica.state::<Tally>().map_or(0, Thing::sum) != digest.tally {
        wrong.push("the room's state is another".to_owned());
    }
    if replica.private::<Purse>().map_or(0, Thing::sum) != digest.purse {
        wrong.push("the private state is another".to_owned());
    }
    let mut held = held(replica);
    for ((id, sum), sure) in digest.ids.iter().zip(&digest.sums).zip(&digest.sure) {
        match held.remove(id) {
            Some((_, held)) if held == *sum => {}
            Some((tag, _)) => wrong.push(format!("entity {id} of kind {tag} has other values")),
            None if *sure => wrong.push(format!("entity {id} is missing")),
            None => {}
        }
    }
    wrong.extend(held.iter().map(|(id, (tag, _))| format!("entity {id} of kind {tag} should not be there")));
    wrong
}

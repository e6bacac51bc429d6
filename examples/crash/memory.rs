//! What a client has seen of what only grows, and what it saw go back.

use std::collections::HashMap;

use room::prelude::*;
use room_client::Replica;

use crate::kinds::{Purse, Spark, Tally, Thing, Visitor, Walker, each_kind};
use crate::sight::{Claim, is_behind};

/// Stands for the private state, whose ID a client does not learn.
const OWN: u64 = 0;
/// Lines of what was wrong that are kept.
const LINES: usize = 20;

/// The newest that was seen of an entity.
#[derive(Clone, Copy, Debug)]
struct Seen {
    tag: u8,
    grown: [u64; 2],
    coarse: u64,
    /// In which run of the room.
    run: u64,
}

/// What one client has seen in one session.
#[derive(Debug, Default)]
pub struct Memory {
    run: u64,
    seen: HashMap<u64, Seen>,
    /// Sparks: in which run, and their marks.
    sparks: HashMap<u64, (u64, u64)>,
    marks: HashMap<u64, u64>,
    pub figures: Figures,
    /// What was wrong.
    pub lines: Vec<String>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Durable numbers that went back.
    pub rolled_back: u64,
    /// Coarse numbers that went back over a kill, as they may.
    pub coarse_back: u64,
    /// IDs of what was ephemeral, or random numbers, that a later run gave away again.
    pub again: u64,
}

impl Memory {
    /// What is seen from now on is of that run of the room.
    pub fn joined(&mut self, run: u64) {
        self.run = run;
    }

    /// Takes note of what entered and changed in the last update.
    pub fn look(&mut self, replica: &Replica) {
        if let Some(tally) = replica.state::<Tally>() {
            self.note(EntityId::STATE.get(), tally);
        }
        if let Some(purse) = replica.private::<Purse>() {
            self.note(OWN, purse);
        }
        each_kind(&mut Changes(replica, self));
    }

    fn note<K: Thing>(&mut self, id: u64, thing: &K) {
        let now = Seen { tag: K::TAG, grown: thing.grown(), coarse: thing.coarse(), run: self.run };
        let Some(before) = self.seen.insert(id, now) else { return };
        if before.tag == now.tag && !is_behind(&before.grown, &now.grown) {
            self.rolled_back(id, K::TAG, &format!("{:?} became {:?}", before.grown, now.grown));
        }
        if now.coarse < before.coarse {
            if before.run < now.run {
                self.figures.coarse_back += 1;
            } else {
                self.rolled_back(id, K::TAG, &format!("coarse {} became {}", before.coarse, now.coarse));
            }
        }
    }

    fn spark(&mut self, id: u64, mark: u64) {
        let before = *self.sparks.entry(id).or_insert((self.run, mark));
        let first = *self.marks.entry(mark).or_insert(id);
        if before != (before.0, mark) || first != id || (before.0 < self.run && before.1 == mark) {
            self.figures.again += 1;
            self.say(format!("spark {id} came again"));
        }
    }

    /// The room does not have what this client saw.
    pub fn refuted(&mut self, claim: &Claim) {
        self.rolled_back(claim.id, claim.tag, &format!("{:?} is gone", claim.grown));
    }

    fn rolled_back(&mut self, id: u64, tag: u8, how: &str) {
        self.figures.rolled_back += 1;
        self.say(format!("entity {id} of kind {tag}: {how}"));
    }

    fn say(&mut self, line: String) {
        if self.lines.len() < LINES {
            self.lines.push(line);
        }
    }

    /// What the room must have, be it seen just now or not.
    pub fn claims(&self) -> Vec<Claim> {
        let entities = self.seen.iter().filter(|(_, seen)| seen.tag >= Walker::TAG);
        entities.map(|(id, seen)| Claim { id: *id, tag: seen.tag, grown: seen.grown }).collect()
    }

    /// The room has answered for all claims: what is not in view is not asked for again.
    pub fn settled(&mut self, replica: &Replica) {
        struct Held<'a>(&'a Replica, HashMap<u64, ()>);
        impl Visitor for Held<'_> {
            fn visit<K: Thing>(&mut self) {
                self.1.extend(self.0.all::<K>().map(|(id, _)| (id.get(), ())));
            }
        }
        let mut held = Held(replica, HashMap::new());
        each_kind(&mut held);
        self.seen.retain(|id, seen| seen.tag < Walker::TAG || held.1.contains_key(id));
    }
}

/// What is new in a replica.
struct Changes<'a>(&'a Replica, &'a mut Memory);

impl Visitor for Changes<'_> {
    fn visit<K: Thing>(&mut self) {
        let Changes(replica, memory) = self;
        let entered = replica.entered::<K>();
        let changed = replica.changed::<K>().filter_map(|change| Some((change.id, replica.get(change.id)?)));
        if K::TAG != Spark::TAG {
            entered.chain(changed).for_each(|(id, thing)| memory.note(id.get(), thing));
        }
        if K::TAG == Spark::TAG {
            let sparks = replica.entered::<Spark>();
            sparks.for_each(|(id, spark)| memory.spark(id.get(), spark.mark));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Mill;

    #[test]
    fn what_goes_back_is_counted() {
        let mut memory = Memory::default();
        let stone = |hits| crate::kinds::Stone { hits, ..Default::default() };
        let mill = |turns| Mill { turns, ..Mill::default() };
        memory.note(7, &stone(3));
        memory.note(7, &stone(4));
        memory.note(8, &mill(10));
        memory.joined(2);
        memory.note(8, &mill(9));
        assert_eq!(memory.figures, Figures { coarse_back: 1, ..Figures::default() });
        memory.note(7, &stone(3));
        memory.note(8, &mill(8));
        assert_eq!(memory.figures, Figures { coarse_back: 1, rolled_back: 2, again: 0 });
        memory.spark(9, 1);
        memory.spark(10, 2);
        memory.spark(9, 1);
        assert_eq!(memory.figures.again, 0, "it left the view and came back");
        memory.joined(3);
        memory.spark(9, 3);
        memory.spark(11, 2);
        memory.spark(10, 2);
        assert_eq!(memory.figures.again, 3);
        assert_eq!(memory.lines.len(), 5);
    }
}

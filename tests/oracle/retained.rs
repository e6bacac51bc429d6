//! What a client keeps of what left its view, as the oracle reads the specification: a list and nothing else.

use std::collections::BTreeMap;

use room::wire::record::StoredRecord;
use room::{Id, Visible};
use room_client::replica::Replica;

use super::kinds::{Chest, Spark, Unit};
use super::model::{Model, entity};

type Held = BTreeMap<u64, StoredRecord>;

/// An entity as the client had it at a send.
#[derive(Clone)]
struct Last {
    serial: u64,
    value: StoredRecord,
    /// Whether it is retained if it leaves: not where it is younger than a claim.
    keeps: bool,
}

/// What is known of the list.
pub(crate) struct Kept {
    /// What the client held after the last send.
    last: BTreeMap<u64, Last>,
    /// IDs and values in the order of leaving; none once several updates may have come at a time.
    list: Option<Vec<(u64, StoredRecord)>>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { last: BTreeMap::new(), list: Some(Vec::new()) }
    }
}

impl Kept {
    /// Of a client that comes back with what it holds.
    pub(crate) fn resumed(replica: &Replica, held: Held, model: &Model) -> Kept {
        let complete = replica.complete().0;
        let last = held.into_iter().map(|(id, value)| {
            // One that does not live any more has no serial.
            let entry = model.things.get(&id);
            let keeps = entry.is_some_and(|entry| (1..=complete).contains(&entry.created));
            (id, Last { serial: entry.map_or(0, |entry| entry.serial), value, keeps })
        });
        Kept { last: last.collect(), ..Kept::default() }
    }

    /// From now on more than one update may come between two looks.
    pub(crate) fn lose_track(&mut self) {
        self.list = None;
    }

    pub(crate) fn is_known(&self) -> bool {
        self.list.is_some()
    }

    /// After a send: what the client held before and does not hold now has left, and is retained if it lives.
    pub(crate) fn follow(
        &mut self,
        replica: &Replica,
        held: Held,
        model: &Model,
        (updated, most): (bool, usize),
    ) {
        assert!(replica.retained_ids().count() <= most, "no more is retained than may be");
        let Some(list) = &mut self.list else { return };
        let lives = |id: &u64, last: &Last| model.things.get(id).is_some_and(|it| it.serial == last.serial);
        for (id, last) in &self.last {
            if !held.contains_key(id) && last.keeps && lives(id, last) {
                list.push((*id, last.value.clone()));
            }
        }
        list.retain(|(id, _)| !held.contains_key(id));
        list.drain(..list.len().saturating_sub(most));
        let theirs: Vec<_> =
            replica.retained_ids().map(|id| (id.get(), retained(replica, id.get()))).collect();
        assert_eq!(theirs, *list, "what is retained, in the order of leaving");
        if updated {
            // What it holds after an update lives, and is what lives now under its ID.
            let now = held
                .into_iter()
                .map(|(id, value)| (id, Last { serial: model.things[&id].serial, value, keeps: true }));
            self.last = now.collect();
        }
    }
}

fn retained(replica: &Replica, id: u64) -> StoredRecord {
    fn of<K: Visible>(replica: &Replica, id: u64) -> Option<StoredRecord> {
        replica.get_retained(Id::<K>::assume(entity(id))).map(StoredRecord::of)
    }
    let unit = of::<Unit>(replica, id).or_else(|| of::<Chest>(replica, id));
    unit.or_else(|| of::<Spark>(replica, id)).expect("what is retained has a copy")
}

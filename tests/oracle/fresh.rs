//! Rates by distance as the oracle reads the specification: how often each entity is sent, and how old what a client
//! shows may be.

use std::collections::{BTreeMap, VecDeque};

use room::wire::record::StoredRecord;

use super::interest::{Eyes, GridSpec, Look, Memory, Source, Spec};
use super::model::Model;

/// The longest period in a random interest.
pub(crate) const PERIOD_MOST: usize = 7;

impl GridSpec {
    fn period(&self, look: &Look<'_>, eyes: &Eyes) -> u32 {
        let Some((_, last)) = self.rates.last() else { return 1 };
        let (Some(around), Some(at)) = (eyes.around[self.eye], look.at) else { return 1 };
        let (Some(around), Some(at)) = (self.used(around), self.used(at)) else { return 1 };
        let [x, y, z] = [0, 1, 2].map(|axis| (at[axis] - around[axis]).powi(2));
        let within = |(distance, _): &&(f64, u32)| x + y + z <= distance * distance;
        self.rates.iter().find(within).map_or(*last, |(_, sends)| *sends)
    }
}

impl Spec {
    pub(crate) fn has_rates(&self) -> bool {
        let rated = |source: &Source| matches!(source, Source::Grid(grid) if !grid.rates.is_empty());
        self.parts.iter().flatten().any(|part| rated(&part.source))
    }

    /// How many sends lie between two records of an entity: the least of the parts that show it.
    pub(crate) fn period(&self, serial: u64, look: &Look<'_>, eyes: &Eyes, memory: &Memory) -> u32 {
        let parts = self.parts.iter().flatten().enumerate();
        let shows = parts.filter(|(part, _)| memory.shown[*part].contains(&serial));
        let periods = shows.map(|(_, part)| match &part.source {
            Source::Grid(grid) => grid.period(look, eyes),
            Source::Keys => 1,
        });
        periods.min().unwrap_or(1)
    }
}

/// What entities were like at the last sends, newest last, by serial.
#[derive(Default)]
pub(crate) struct History(BTreeMap<u64, VecDeque<StoredRecord>>);

impl History {
    /// A send of the model's world.
    pub(crate) fn push(&mut self, model: &Model) {
        self.0.retain(|serial, _| model.things.values().any(|entry| entry.serial == *serial));
        for entry in model.things.values() {
            let sends = self.0.entry(entry.serial).or_default();
            sends.push_back(entry.thing.stored());
            if sends.len() > PERIOD_MOST {
                sends.pop_front();
            }
        }
    }

    /// Whether a record is as it was at one of the last `sends` sends.
    pub(crate) fn had(&self, serial: u64, record: &StoredRecord, sends: u32) -> bool {
        self.0[&serial].iter().rev().take(sends as usize).any(|past| past == record)
    }
}

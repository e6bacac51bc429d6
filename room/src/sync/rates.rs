//! Rates by distance: an entity that is sent every so many sends has one record for all who see it at that rate.

use super::world::World;
use crate::store::bits::Bits;
use crate::store::records::{RecordRef, Records};
use crate::tick::Tick;

/// How often an entity is sent, as a number: 0 at every send, else the place of its period in [`Rates`], from 1.
pub type Pace = u8;

/// The periods that an interest has in use.
#[derive(Debug, Default)]
pub struct Rates {
    send_every: u64,
    /// Which send it is.
    send: u64,
    // Invariant: rising, each more than 1.
    periods: Vec<Period>,
}

/// One period: an entity is due where the send's number and its slot add up to a multiple of it.
#[derive(Debug)]
struct Period {
    sends: u32,
    /// Slots that changed since they were due last.
    pending: Bits,
    /// Slots that are due now and have a record.
    due: Bits,
    table: Vec<RecordRef>,
}

impl Rates {
    /// All periods of an interest's parts, and each part's bands: squared distances and paces.
    #[must_use]
    pub fn new(parts: &[Vec<(f64, u32)>], send_every: u32) -> (Rates, Vec<Vec<(f64, Pace)>>) {
        let mut periods: Vec<u32> = parts.iter().flatten().map(|(_, sends)| *sends).collect();
        periods.retain(|sends| *sends > 1);
        periods.sort_unstable();
        periods.dedup();
        let pace = |sends: &u32| periods.binary_search(sends).map_or(0, |at| at as Pace + 1);
        let band = |(distance, sends): &(f64, u32)| (distance * distance, pace(sends));
        let bands = parts.iter().map(|bands| bands.iter().map(band).collect()).collect();
        let of = |sends| Period { sends, pending: Bits::default(), due: Bits::default(), table: Vec::new() };
        let periods = periods.into_iter().map(of).collect();
        (Rates { send_every: send_every.max(1).into(), send: 0, periods }, bands)
    }

    /// Whether everything is sent at every send.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.periods.is_empty()
    }

    /// How many periods there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.periods.len()
    }

    /// How many sends lie between two records at a pace.
    #[must_use]
    pub fn period(&self, pace: Pace) -> u32 {
        pace.checked_sub(1).map_or(1, |at| self.periods[usize::from(at)].sends)
    }

    /// Encodes what is due at a seal, in whole values, behind the seal's own records.
    pub fn seal(&mut self, tick: Tick, world: &World, records: &mut Records) {
        self.send = tick.0 / self.send_every;
        for period in &mut self.periods {
            let Period { sends, pending, due, table } = period;
            for bits in [&mut *pending, &mut *due] {
                bits.grow(world.slot_count());
            }
            due.clear();
            for slot in world.dead() {
                pending.remove(*slot);
            }
            for slot in records.slots().iter().filter(|slot| has_rate(**slot, world)) {
                pending.insert(*slot);
            }
            table.resize(table.len().max(world.slot_count()), RecordRef::default());
            let now = self.send;
            let last = Tick(now.saturating_sub(u64::from(*sends)) * self.send_every);
            let is_due = |slot: &u32| (now + u64::from(*slot)).is_multiple_of(u64::from(*sends));
            for slot in pending.iter().filter(is_due) {
                if let Some(record) = encode(slot, last, world, records) {
                    table[slot as usize] = record;
                    due.insert(slot);
                }
            }
            for slot in due.iter() {
                pending.remove(slot);
            }
        }
        records.end();
    }

    /// The record of a slot that is due at this seal at a pace that is not 0.
    #[inline]
    #[must_use]
    pub fn record(&self, pace: Pace, slot: u32) -> Option<RecordRef> {
        let period = &self.periods[usize::from(pace) - 1];
        period.due.contains(slot).then(|| period.table[slot as usize])
    }

    /// A word of the slots that have a record at any pace but 0.
    #[inline]
    #[must_use]
    pub fn due(&self, word: u32) -> u64 {
        self.periods.iter().fold(0, |bits, period| bits | period.due.word(word))
    }

    /// A word of the slots that changed since they were due last.
    #[must_use]
    pub fn pending(&self, pace: Pace, word: u32) -> u64 {
        self.periods[usize::from(pace) - 1].pending.word(word)
    }

    /// The last tick, up to `at`, at which a slot was due at a pace.
    #[must_use]
    pub fn last_due(&self, pace: Pace, slot: u32, at: Tick) -> Tick {
        let send = at.0 / self.send_every;
        let past = (send + u64::from(slot)) % u64::from(self.period(pace));
        Tick(send.saturating_sub(past) * self.send_every)
    }

    /// The tick, after this seal, at which a slot is due next.
    #[must_use]
    pub fn next_due(&self, pace: Pace, slot: u32) -> Tick {
        let period = u64::from(self.period(pace));
        let past = (self.send + u64::from(slot)) % period;
        Tick((self.send + period - past) * self.send_every)
    }

    /// The last seal at which the record of one that is due now could have gone before.
    #[must_use]
    pub fn before(&self, pace: Pace) -> Tick {
        Tick(self.send.saturating_sub(u64::from(self.period(pace))) * self.send_every)
    }
}

/// Whether a slot can have a rate: what the library itself shows is sent at every send.
fn has_rate(slot: u32, world: &World) -> bool {
    !world.info(slot).is_own()
}

/// Encodes what changed of a slot after a tick.
fn encode(slot: u32, since: Tick, world: &World, records: &mut Records) -> Option<RecordRef> {
    let info = world.info(slot);
    let kind = world.wire_kind(slot)?;
    let since = since.max(info.created);
    let changed = world.changed_since(slot, since);
    let encoded = records.encode(info.id, kind, world.fields(slot), |out, sealed| {
        world.put_since(slot, changed, since, out);
        sealed.changed = changed;
    });
    encoded.map(|(record, _)| record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_due_once_a_period_and_the_last_one_is_found_again() {
        let (mut rates, bands) = Rates::new(&[vec![(5.0, 1), (9.0, 4)], vec![], vec![(7.0, 3)]], 2);
        assert_eq!(bands, [vec![(25.0, 0), (81.0, 2)], vec![], vec![(49.0, 1)]]);
        assert_eq!([0, 1, 2].map(|pace| rates.period(pace)), [1, 3, 4]);
        for slot in 0..9 {
            let due: Vec<u64> = (8..16).filter(|send| (send + u64::from(slot)) % 4 == 0).collect();
            assert_eq!(due.len(), 2);
            for send in due[0]..due[1] {
                rates.send = send;
                assert_eq!(rates.last_due(2, slot, Tick(send * 2)), Tick(due[0] * 2));
                assert_eq!(rates.next_due(2, slot), Tick(due[1] * 2));
            }
        }
    }
}

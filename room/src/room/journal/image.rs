//! A room as its log has it.

use std::collections::BTreeMap;

use super::entry::StoredSession;
use super::{Entry, RowError, entries};
use crate::entity::{EntityId, PlayerId, SessionId};
use crate::tick::Tick;

/// An entity of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::room) struct StoredEntity<'a> {
    pub(in crate::room) kind: u8,
    pub(in crate::room) created: Tick,
    /// When each field last changed. What is missing at the end changed with the creation.
    pub(in crate::room) changed: Vec<Tick>,
    pub(in crate::room) private_to: Option<PlayerId>,
    pub(in crate::room) record: &'a [u8],
}

/// What a log says of a room.
#[derive(Debug, Default)]
pub(in crate::room) struct Image<'a> {
    pub(in crate::room) generation: u64,
    pub(in crate::room) schema: &'a [u8],
    /// The last tick that was committed.
    pub(in crate::room) tick: Tick,
    /// The runs so far, each with the last tick that it committed.
    pub(in crate::room) runs: BTreeMap<u64, Tick>,
    pub(in crate::room) automatic: u64,
    pub(in crate::room) next_player: u32,
    pub(in crate::room) last_session: u64,
    pub(in crate::room) next_effect: u64,
    pub(in crate::room) generator: Option<([u8; 32], u128)>,
    pub(in crate::room) entities: BTreeMap<EntityId, StoredEntity<'a>>,
    pub(in crate::room) accounts: BTreeMap<&'a str, (PlayerId, Option<u64>)>,
    pub(in crate::room) sessions: BTreeMap<SessionId, StoredSession<'a>>,
    pub(in crate::room) messages: BTreeMap<SessionId, BTreeMap<u64, &'a [u8]>>,
    pub(in crate::room) effects: BTreeMap<u64, (&'a str, &'a [u8])>,
    /// Events that failed runs were about to handle, and in how many of them.
    pub(in crate::room) tried: BTreeMap<(SessionId, u64), u32>,
    /// The last tick in which a run failed: a later one that did not last is as careful as the first.
    pub(in crate::room) failed: Option<Tick>,
    /// What the running incarnation was about to handle; it counts once the run has failed.
    trying: Option<(SessionId, u64)>,
    incarnation: u64,
}

impl<'a> Image<'a> {
    /// Reads a log: rows from number `first` on, at least one.
    pub(in crate::room) fn read(room: &str, first: u64, rows: &'a [Vec<u8>]) -> Result<Self, RowError> {
        let mut image = Image::default();
        for (number, row) in (first..).zip(rows) {
            for (at, entry) in entries(room, number, row)?.enumerate() {
                let entry = entry?;
                if (at == 0) != matches!(entry, Entry::Tick(_)) {
                    return Err(RowError::Order(number, "a row begins with its tick, and has one"));
                }
                if number == first && at == 1 && !matches!(entry, Entry::Begin { .. }) {
                    return Err(RowError::Order(number, "a log begins with its schema"));
                }
                image.apply(number, entry)?;
            }
            image.end_row();
        }
        if image.schema.is_empty() {
            return Err(RowError::Order(first, "a log begins with its schema"));
        }
        image.end()
    }

    fn apply(&mut self, number: u64, entry: Entry<'a>) -> Result<(), RowError> {
        match entry {
            Entry::Tick(tick) => {
                if tick < self.tick {
                    return Err(RowError::Order(number, "its tick is below the last"));
                }
                self.tick = tick;
            }
            Entry::Begin { generation, schema } => {
                // Behind a snapshot under way there is another one, of the same schema.
                (self.generation, self.schema) = (generation, schema);
            }
            Entry::Run { incarnation, last } => {
                self.runs.insert(incarnation, last);
                if incarnation > self.incarnation {
                    self.incarnation = incarnation;
                    self.trying = None;
                }
            }
            Entry::Counters { automatic, next_player, last_session, next_effect } => {
                (self.automatic, self.next_player) = (automatic, next_player);
                (self.last_session, self.next_effect) = (last_session, next_effect);
            }
            Entry::Generator { seed, place } => self.generator = Some((seed, place)),
            Entry::Put { .. } | Entry::Delete(_) | Entry::Snap { .. } => self.apply_entity(entry),
            Entry::Account { name, player, left } => {
                self.accounts.insert(name, (player, left));
            }
            Entry::Forgotten(name) => {
                self.accounts.remove(name);
            }
            Entry::Session(session) => {
                self.sessions.insert(session.id, *session);
            }
            Entry::Progress { session, handled, acknowledged } => {
                // Of a session that the snapshot has not come to yet, its entry will know more.
                if let Some(session) = self.sessions.get_mut(&session) {
                    (session.handled, session.acknowledged) = (handled, acknowledged);
                }
            }
            Entry::Message { session, number, bytes } => {
                self.messages.entry(session).or_default().insert(number, bytes);
            }
            Entry::Same { session, number: own, other, theirs } => {
                let known = self.messages.get(&other).and_then(|messages| messages.get(&theirs)).copied();
                let bytes = known.ok_or(RowError::Order(number, "it repeats a message that is not there"))?;
                self.messages.entry(session).or_default().insert(own, bytes);
            }
            Entry::Ended(session) => {
                self.sessions.remove(&session);
                self.messages.remove(&session);
                self.tried.retain(|(of, _), _| *of != session);
            }
            Entry::Effect { number, key, payload } => {
                self.effects.insert(number, (key, payload));
            }
            Entry::Performed(number) => {
                self.effects.remove(&number);
            }
            Entry::Trying { session, number } => self.trying = Some((session, number)),
            Entry::Tried { session, number, times } => {
                self.tried.insert((session, number), times);
            }
            Entry::Failed => {
                self.failed = Some(self.tick);
                if let Some(tried) = self.trying.take() {
                    *self.tried.entry(tried).or_default() += 1;
                }
            }
            Entry::FailedAt(tick) => self.failed = Some(tick),
            Entry::Whole => {}
        }
        Ok(())
    }

    /// The run that a row is of has come to its tick. Which run that is may be said behind the tick.
    fn end_row(&mut self) {
        if let Some(last) = self.runs.get_mut(&self.incarnation) {
            *last = self.tick;
        }
    }

    fn apply_entity(&mut self, entry: Entry<'a>) {
        let now = self.tick;
        match entry {
            Entry::Put { id, kind, created: true, private_to, record, .. } => {
                let entity = StoredEntity { kind, created: now, changed: Vec::new(), private_to, record };
                self.entities.insert(id, entity);
            }
            // Without an entity to go on top of: the snapshot has not come to it yet, and it was deleted before.
            Entry::Put { id, mask, record, .. } => {
                let Some(entity) = self.entities.get_mut(&id) else { return };
                entity.record = record;
                for field in mask.iter() {
                    if entity.changed.len() <= field {
                        entity.changed.resize(field + 1, entity.created);
                    }
                    entity.changed[field] = now;
                }
            }
            Entry::Delete(id) => {
                self.entities.remove(&id);
            }
            Entry::Snap { id, kind, created, changed, private_to, record } => {
                self.entities.insert(id, StoredEntity { kind, created, changed, private_to, record });
            }
            _ => {}
        }
    }

    /// Drops what was acknowledged, and checks that nothing else is missing.
    fn end(mut self) -> Result<Self, RowError> {
        let sessions = &self.sessions;
        self.messages.retain(|id, _| sessions.contains_key(id));
        for (id, messages) in &mut self.messages {
            let acknowledged = self.sessions[id].acknowledged;
            *messages = messages.split_off(&(acknowledged + 1));
            let whole = messages.keys().copied().eq(acknowledged + 1..=acknowledged + messages.len() as u64);
            if !whole {
                return Err(RowError::Order(0, "a session lacks messages"));
            }
        }
        let handled = |id: &SessionId| self.sessions.get(id).map_or(u64::MAX, |session| session.handled);
        self.tried.retain(|(id, number), _| *number > handled(id));
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    fn log(rows: &[&[Entry<'_>]]) -> Vec<Vec<u8>> {
        let sealed = rows.iter().zip(1..).map(|(entries, number)| {
            let mut row = Row::new();
            entries.iter().for_each(|entry| row.push(entry));
            row.seal("a", number)
        });
        sealed.collect()
    }

    #[test]
    fn a_run_comes_to_the_last_tick_of_its_own_rows_and_a_failure_outlives_the_run_after_it() {
        let rows = log(&[
            &[
                Entry::Tick(Tick(1)),
                Entry::Begin { generation: 7, schema: b"s" },
                Entry::Run { incarnation: 1, last: Tick(1) },
            ],
            &[Entry::Tick(Tick(5)), Entry::Failed],
            &[Entry::Tick(Tick(6)), Entry::Run { incarnation: 2, last: Tick(6) }],
            &[Entry::Tick(Tick(9)), Entry::Performed(0)],
        ]);
        let image = Image::read("a", 1, &rows).unwrap();
        assert_eq!(image.runs, BTreeMap::from([(1, Tick(5)), (2, Tick(9))]));
        assert_eq!(image.failed, Some(Tick(5)));
    }
}

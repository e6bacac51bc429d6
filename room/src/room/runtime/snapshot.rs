//! Snapshots: the whole room in slices, each in an ordinary commit, so that no tick waits for them.
//!
//! Slices stand in the log between what the room commits meanwhile. Read in their order, each entry on top of those
//! before it, they give the room as it is: an entity's slice is its state at that tick, and what changes later
//! comes later. Once the last slice is kept, the rows before the first one go.

use std::ops::Bound;

use super::Runtime;
use super::durable::{Durable, Known, progress, stored};
use super::rows::Rows;
use crate::entity::SessionId;
use crate::limits;
use crate::room::game::Game;
use crate::room::journal::Entry;
use crate::tick::Tick;

/// When snapshots are due, and how far one is.
pub(super) struct Snapshot {
    /// Rows before this number are not needed.
    pub(super) forget: u64,
    /// Bytes of the log since the last snapshot began.
    log: usize,
    /// Bytes of the last snapshot.
    state: usize,
    /// The first commit since the last snapshot began.
    since: Option<Tick>,
    last: Tick,
    under_way: Option<Slices>,
}

/// A snapshot under way.
struct Slices {
    first: u64,
    at: At,
    bytes: usize,
}

/// How far it is: what it has is up to here.
enum At {
    Numbers,
    Accounts(Option<String>),
    Sessions(Option<SessionId>),
    /// Behind this message of a session.
    Messages(SessionId, u64),
    Effects(u64),
    Slots(u32),
    End,
}

impl Snapshot {
    /// Snapshots of a state of so many bytes that a log begins with, or has.
    pub(super) fn new(state: usize, log: usize, last: Tick) -> Snapshot {
        Snapshot { forget: 0, log, state, since: None, last, under_way: None }
    }

    /// The tick of the last commit.
    pub(super) fn last_tick(&self) -> Tick {
        self.last
    }

    pub(super) fn committed(&mut self, tick: Tick) {
        self.last = tick;
    }

    /// Whether one should begin, now that so many bytes more are committed.
    fn is_due(&mut self, bytes: usize, tick: Tick, tick_rate: u32) -> bool {
        self.log += bytes;
        if bytes > 0 {
            self.since.get_or_insert(tick);
        }
        let grown = self.log > self.state.max(limits::SLICE);
        let seconds = self.since.map_or(0, |since| (tick.0 - since.0) / u64::from(tick_rate));
        self.under_way.is_none() && (grown || seconds >= limits::SNAPSHOT_SECONDS)
    }
}

impl<G: Game> Runtime<G> {
    /// Begins a snapshot where one is due, and adds a slice of the one that is under way; all of it, where the log has
    /// to be written anew.
    pub(super) fn put_snapshot(&mut self, whole: bool, rows: &mut Rows) {
        let (tick, tick_rate) = (self.room.tick, self.room.tick_rate);
        let Some(durable) = &mut self.durable else { return };
        if durable.known == Known::Nothing {
            // What a log begins with is as good as a snapshot.
            durable.snapshot.state = rows.bytes();
            return;
        }
        if durable.snapshot.is_due(rows.bytes(), tick, tick_rate) || whole {
            (durable.snapshot.log, durable.snapshot.since) = (0, None);
            durable.snapshot.under_way = Some(Slices { first: 0, at: At::Numbers, bytes: 0 });
        }
        let Some(mut slices) = durable.snapshot.under_way.take() else { return };
        rows.cut();
        let begun = rows.bytes();
        if slices.first == 0 {
            slices.first = rows.next();
            rows.forget_head();
        }
        let most = if whole { usize::MAX } else { begun + limits::SLICE };
        while !matches!(slices.at, At::End) && rows.bytes() < most.saturating_sub(limits::ROOM_MESSAGE + 1024)
        {
            slices.at = self.put_next(slices.at, most, rows);
        }
        slices.bytes += rows.bytes() - begun;
        let Some(durable) = &mut self.durable else { return };
        if matches!(slices.at, At::End) {
            rows.push(&Entry::Whole);
            (durable.snapshot.forget, durable.snapshot.state) = (slices.first, slices.bytes);
        } else {
            durable.snapshot.under_way = Some(slices);
        }
    }

    /// Adds the next piece; says up to where it came.
    fn put_next(&mut self, at: At, most: usize, rows: &mut Rows) -> At {
        let Some(durable) = &mut self.durable else { return At::End };
        match at {
            At::Numbers => {
                durable.put_begin(self.room.tick, rows);
                durable.all_numbers(&self.room).iter().for_each(|entry| rows.push(entry));
                durable.caution.put_all(self.room.tick, rows);
                At::Accounts(None)
            }
            At::Accounts(after) => {
                let behind = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                match self.accounts.range::<str, _>((behind, Bound::Unbounded)).next() {
                    Some((name, account)) => {
                        rows.push(&account.entry(name));
                        At::Accounts(Some(name.clone()))
                    }
                    None => At::Sessions(None),
                }
            }
            At::Sessions(after) => match self.room.sessions.after(after) {
                Some((id, session)) => {
                    rows.push(&Entry::Session(Box::new(stored(id, session))));
                    At::Messages(id, session.outbox.acknowledged())
                }
                None => At::Effects(0),
            },
            At::Messages(id, after) => self.put_messages(id, after, most, rows),
            At::Effects(after) => match durable.effects.range(after..).next() {
                Some((number, (key, payload))) => {
                    rows.push(&Entry::Effect { number: *number, key, payload });
                    At::Effects(number + 1)
                }
                None => At::Slots(0),
            },
            At::Slots(slot) => self.put_slot(slot, rows),
            At::End => At::End,
        }
    }

    /// Adds what a session keeps for its client behind a number. What the client has meanwhile is said first, for
    /// the messages up to it are gone.
    fn put_messages(&mut self, id: SessionId, after: u64, most: usize, rows: &mut Rows) -> At {
        let Some(session) = self.room.sessions.get(id) else { return At::Sessions(Some(id)) };
        rows.push(&progress(id, session));
        for (number, message) in session.outbox.after(after) {
            if rows.bytes() > most.saturating_sub(limits::ROOM_MESSAGE + 1024) {
                return At::Messages(id, number - 1);
            }
            rows.push(&Entry::Message { session: id, number, bytes: message });
        }
        At::Sessions(Some(id))
    }

    fn put_slot(&mut self, slot: u32, rows: &mut Rows) -> At {
        let world = &self.room.world;
        if slot as usize >= world.slot_count() {
            return At::End;
        }
        if world.is_live(slot) && world.is_stored(slot) && world.info(slot).created != Tick::ZERO {
            let info = *world.info(slot);
            rows.put_record(
                |record| world.put_stored(slot, record),
                |record| Entry::Snap {
                    id: info.id,
                    kind: info.kind,
                    created: info.created,
                    changed: world.change_ticks(slot).to_vec(),
                    private_to: info.private_to,
                    record,
                },
            );
        }
        At::Slots(slot + 1)
    }
}

impl Durable {
    /// What a log begins with: its schema, and the runs so far.
    fn put_begin(&self, tick: Tick, rows: &mut Rows) {
        rows.push(&self.begin());
        for (incarnation, last) in &self.runs {
            rows.push(&Entry::Run { incarnation: *incarnation, last: *last });
        }
        rows.push(&Entry::Run { incarnation: self.epoch, last: tick });
    }
}

//! What a durable room commits: at each seal one transaction of all that changed, before anything of it is sent.
//!
//! What a tick has for sockets is held until its commit is kept; meanwhile the room takes messages and steps, and
//! does not seal.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::caution::Caution;
use super::rows::Rows;
use super::snapshot::Snapshot;
use super::{Account, Runtime};
use crate::entity::{EntityId, FieldMask, SessionId};
use crate::faults::{self, Fault};
use crate::limits;
use crate::room::Room;
use crate::room::game::Game;
use crate::room::journal::Entry;
use crate::room::journal::entry::StoredSession;
use crate::room::outside::Outside;
use crate::room::sessions::{Ended, Session};
use crate::storage::{Commit, State, StoredLabel};
use crate::store::bits::Bits;
use crate::tick::Tick;

/// A room's end of its store.
pub(super) struct Durable {
    pub(super) room: Arc<str>,
    pub(super) epoch: u64,
    /// The number of the next row.
    pub(super) next: u64,
    /// The schema as it is stored.
    pub(super) schema: Vec<u8>,
    pub(super) generation: u64,
    /// Former runs, each with the last tick that it committed.
    pub(super) runs: BTreeMap<u64, Tick>,
    /// Whether the log knows of this run; and whether it has anything at all.
    pub(super) known: Known,
    pub(super) numbers: Numbers,
    /// Slots with coarse fields that changed and were not stored.
    pub(super) coarse: Bits,
    /// When they were last stored, or would have been.
    pub(super) coarse_at: Tick,
    /// Accounts that changed.
    pub(super) accounts: BTreeSet<String>,
    /// What is to be done outside, and is not known to be done: keys and payloads by number.
    pub(super) effects: BTreeMap<u64, (Arc<str>, Arc<[u8]>)>,
    /// Effects that were done since the last commit.
    pub(super) performed: Vec<u64>,
    pub(super) caution: Caution,
    pub(super) snapshot: Snapshot,
    /// What the store was last told that the room is.
    pub(super) state: State,
    /// Sessions of whose end the commit on its way tells.
    pub(super) ending: BTreeMap<SessionId, Ended>,
    /// The version of the label that the store has; 0 for none.
    pub(super) label: u64,
    /// The commit on its way, and whether the driver has it.
    pub(super) pending: Option<(Arc<Commit>, bool)>,
}

/// What a log has of the run that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The log is empty.
    Nothing,
    /// It has former runs.
    Others,
    /// It has former runs, and has to be written anew as a whole, for its records are of another schema or what
    /// clients hold is of another generation.
    Foreign,
    /// It has this run.
    This,
}

/// Numbers that are stored with whatever changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Automatic IDs are reserved up to here.
    pub(super) automatic: u64,
    pub(super) next_player: u32,
    pub(super) last_session: u64,
    pub(super) next_effect: u64,
    /// Place in the stream of the game's random numbers.
    pub(super) place: u128,
}

impl Numbers {
    fn entry(&self) -> Entry<'static> {
        let Numbers { automatic, next_player, last_session, next_effect, .. } = *self;
        Entry::Counters { automatic, next_player, last_session, next_effect }
    }
}

impl<G: Game> Runtime<G> {
    /// The next commit for the room's store: one at a time. Nothing that the room said since the last one leaves
    /// before [`handle_committed`](Self::handle_committed).
    pub fn poll_commit(&mut self) -> Option<Arc<Commit>> {
        let (commit, handed) = self.durable.as_mut()?.pending.as_mut()?;
        (!std::mem::replace(handed, true)).then(|| commit.clone())
    }

    /// Whether a commit is on its way. Until it is kept the room steps and does not send.
    #[must_use]
    pub fn awaits_commit(&self) -> bool {
        self.durable.as_ref().is_some_and(|durable| durable.pending.is_some())
    }

    /// The store keeps the commit that was polled: what waited for it may leave.
    pub fn handle_committed(&mut self) {
        if let Some(durable) = &mut self.durable
            && durable.pending.take().is_some()
        {
            durable.caution.committed();
            durable.ending.clear();
            self.release();
        }
    }

    /// A last seal, for a room that stops (and stays [`State::Awake`], to be woken by the next process), sleeps or is
    /// to go. To be called while no commit is on its way; it may have made one when it returns.
    pub fn rest(&mut self, state: State) {
        debug_assert!(!self.awaits_commit(), "the last commit is kept before the room rests");
        self.room.tick = self.room.tick.next();
        self.hold_output();
        self.send(Some(state));
        self.out.hold(false);
    }

    /// What a run commits that ends with a panic: so the next one knows, and is careful. None for a room without a
    /// store, or while a commit is on its way.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<Commit>> {
        let durable = self.durable.as_ref().filter(|durable| durable.pending.is_none())?;
        let mut rows = durable.rows(durable.snapshot.last_tick());
        durable.caution.put_failure(&mut rows);
        (durable.known == Known::This).then(|| Arc::new(durable.commit(rows, State::Awake)))
    }

    /// Everything that changed since the last commit goes into one, and what waits for sockets behind it.
    /// `rest` is what the room is to be from now on, where this is its last seal.
    pub(super) fn collect(&mut self, rest: Option<State>) {
        self.settle_outside();
        let Some(durable) = &mut self.durable else { return };
        let tick = self.room.tick;
        let mut rows = durable.rows(tick);
        let whole = matches!(durable.known, Known::Foreign);
        durable.put_entities(&self.room, rest.is_some(), &mut rows);
        durable.put_sessions(&mut self.room, &mut rows);
        durable.put_accounts(&self.accounts, &mut rows);
        durable.put_effects(&self.leaving, &mut rows);
        durable.caution.put(&mut rows);
        durable.put_numbers(&self.room, self.next_player, &mut rows);
        self.put_snapshot(whole, &mut rows);
        let Some(durable) = &mut self.durable else { return };
        let state = rest.unwrap_or(State::Awake);
        self.out.bar();
        let label = self.room.standing.version();
        if rows.is_empty() && state == durable.state && label == durable.label {
            return self.release();
        }
        let mut commit = durable.commit(rows, state);
        if std::mem::replace(&mut durable.label, label) != label {
            let (label, mut bytes) = (self.room.label(), Vec::new());
            label.encode(&mut bytes);
            commit.label = Some(StoredLabel { code: label.code.clone(), bytes });
        }
        durable.kept(&commit, tick);
        durable.pending = Some((Arc::new(commit), false));
        if faults::is(Fault::SendBeforeCommit) {
            self.out.release();
        }
    }

    /// What waited for the last commit may leave.
    fn release(&mut self) {
        self.out.release();
        self.outside.extend(self.leaving.drain(..));
    }

    /// From now on what the room says waits for a commit, where it has a store.
    pub(super) fn hold_output(&mut self) {
        self.out.hold(self.durable.is_some());
    }

    /// What the game has for outside goes with this tick's commit, or at once where there is no store.
    pub(super) fn settle_outside(&mut self) {
        let said = std::mem::take(&mut self.room.outside.said);
        if self.durable.is_some() { self.leaving.extend(said) } else { self.outside.extend(said) }
    }

    /// Whether something is to be done outside that is not known to be done: a room that ends before loses it, or
    /// leaves it for when it is woken.
    #[must_use]
    pub fn has_outside(&self) -> bool {
        let effects = self.durable.as_ref().is_some_and(|durable| !durable.effects.is_empty());
        effects || !(self.room.outside.said.is_empty() && self.leaving.is_empty() && self.outside.is_empty())
    }

    /// An effect was done: it is not asked for again.
    pub fn handle_performed(&mut self, number: u64) {
        if let Some(durable) = &mut self.durable
            && durable.effects.remove(&number).is_some()
        {
            durable.performed.push(number);
        }
    }
}

impl Durable {
    /// Rows behind those that the log has. The first one says which run they are of.
    pub(super) fn rows(&self, tick: Tick) -> Rows {
        let mut rows = Rows::new(self.room.clone(), self.next, tick);
        if self.known == Known::Nothing {
            rows.head(&self.begin());
        }
        if matches!(self.known, Known::Nothing | Known::Others) {
            rows.head(&Entry::Run { incarnation: self.epoch, last: tick });
        }
        rows
    }

    pub(super) fn begin(&self) -> Entry<'_> {
        Entry::Begin { generation: self.generation, schema: &self.schema }
    }

    fn commit(&self, rows: Rows, state: State) -> Commit {
        Commit {
            room: self.room.clone(),
            epoch: self.epoch,
            first: self.next,
            rows: rows.finish(),
            forget: self.snapshot.forget,
            state,
            label: None,
        }
    }

    fn kept(&mut self, commit: &Commit, tick: Tick) {
        self.state = commit.state;
        if commit.state == State::Gone {
            // The store deletes the log, these rows with it. Should somebody come after all, it begins anew.
            self.known = Known::Foreign;
        } else if !commit.rows.is_empty() {
            self.next += commit.rows.len() as u64;
            self.known = Known::This;
            self.snapshot.committed(tick);
        }
    }

    /// What became of entities. Deletions come first: an ID may be used again at once.
    fn put_entities<G: Game>(&mut self, room: &Room<G>, last: bool, rows: &mut Rows) {
        let (world, tick) = (&room.world, room.tick);
        self.coarse.grow(world.slot_count());
        for slot in world.dead().iter().filter(|slot| world.is_stored(**slot)) {
            self.coarse.remove(*slot);
            let info = world.info(*slot);
            if info.created != Tick::ZERO && info.created < tick {
                rows.push(&Entry::Delete(info.id));
            }
        }
        for slot in world.born().iter().filter(|slot| world.is_live(**slot) && world.is_stored(**slot)) {
            if world.info(*slot).created == tick {
                put_entity(room, *slot, None, rows);
            }
        }
        for (slot, mask) in world.changes() {
            let coarse = world.coarse(*slot);
            if mask.iter().all(|field| coarse.has(field)) {
                self.coarse.insert(*slot);
            } else {
                let mut mask = *mask;
                // Its other values go along.
                if self.coarse.remove(*slot) {
                    mask.union(coarse);
                }
                put_entity(room, *slot, Some(mask), rows);
            }
        }
        let second = limits::COARSE_SECONDS * u64::from(room.tick_rate);
        // Counted from the last time, for a commit on its way may keep any tick from being sealed.
        if tick.0 >= self.coarse_at.0 + second || last {
            self.coarse_at = tick;
            for slot in self.coarse.iter().filter(|slot| world.is_live(*slot)) {
                put_entity(room, slot, Some(world.coarse(slot)), rows);
            }
            self.coarse.clear();
        }
    }

    /// What became of sessions.
    fn put_sessions<G: Game>(&mut self, room: &mut Room<G>, rows: &mut Rows) {
        let Some(unstored) = &mut room.sessions.unstored else { return };
        let (changed, progressed) =
            (std::mem::take(&mut unstored.changed), std::mem::take(&mut unstored.progressed));
        for (id, ended) in std::mem::take(&mut unstored.ended) {
            rows.push(&Entry::Ended(id));
            self.ending.insert(id, ended);
        }
        for id in &changed {
            if let Some(session) = room.sessions.get(*id) {
                rows.push(&Entry::Session(Box::new(stored(*id, session))));
            }
        }
        // One message for many is one here too.
        let mut shared = BTreeMap::new();
        for id in progressed.union(&changed) {
            let Some(session) = room.sessions.get_mut(*id) else { continue };
            if !changed.contains(id) {
                rows.push(&progress(*id, session));
            }
            for (number, message) in session.outbox.take_unstored() {
                match shared.entry(message.as_ptr()) {
                    MapEntry::Vacant(first) => {
                        first.insert((*id, number));
                        rows.push(&Entry::Message { session: *id, number, bytes: message });
                    }
                    MapEntry::Occupied(first) => {
                        let (other, theirs) = *first.get();
                        rows.push(&Entry::Same { session: *id, number, other, theirs });
                    }
                }
            }
        }
    }

    fn put_accounts(&mut self, accounts: &BTreeMap<String, Account>, rows: &mut Rows) {
        for name in std::mem::take(&mut self.accounts) {
            match accounts.get(&name) {
                Some(account) => rows.push(&account.entry(&name)),
                None => rows.push(&Entry::Forgotten(&name)),
            }
        }
    }

    fn put_effects(&mut self, leaving: &[Outside], rows: &mut Rows) {
        for number in self.performed.drain(..) {
            rows.push(&Entry::Performed(number));
        }
        for effect in leaving {
            if let Outside::Effect { number, key, payload } = effect
                && !self.effects.contains_key(number)
            {
                rows.push(&Entry::Effect { number: *number, key, payload });
                self.effects.insert(*number, (key.clone(), payload.clone()));
            }
        }
    }

    /// Counters where they changed, and the generator's place with whatever else did.
    fn put_numbers<G: Game>(&mut self, room: &Room<G>, next_player: u32, rows: &mut Rows) {
        let mut now = Numbers {
            automatic: self.numbers.automatic,
            next_player,
            last_session: room.sessions.last().0,
            next_effect: room.outside.next_effect,
            place: self.numbers.place,
        };
        if room.world.next_automatic() > now.automatic {
            let next = room.world.next_automatic();
            now.automatic = (next + limits::ID_BLOCK).min(limits::ID_AUTOMATIC_END);
        }
        if now != self.numbers {
            rows.push(&now.entry());
        }
        let place = room.rng.get_word_pos();
        if !rows.is_empty() && place != now.place {
            rows.push(&Entry::Generator { seed: room.rng.get_seed(), place });
            now.place = place;
        }
        self.numbers = now;
    }

    /// All numbers, for a snapshot.
    pub(super) fn all_numbers<G: Game>(&self, room: &Room<G>) -> [Entry<'static>; 2] {
        let (seed, place) = (room.rng.get_seed(), room.rng.get_word_pos());
        [self.numbers.entry(), Entry::Generator { seed, place }]
    }
}

impl Account {
    pub(super) fn entry<'a>(&self, name: &'a str) -> Entry<'a> {
        Entry::Account { name, player: self.player, left: self.left }
    }
}

/// An entity in whole values; `mask` says what changed, none that it is new.
fn put_entity<G: Game>(room: &Room<G>, slot: u32, mask: Option<FieldMask>, rows: &mut Rows) {
    let info = room.world.info(slot);
    let (id, kind, private_to): (EntityId, u8, _) = (info.id, info.kind, info.private_to);
    rows.put_record(
        |record| room.world.put_stored(slot, record),
        |record| Entry::Put {
            id,
            kind,
            created: mask.is_none(),
            mask: mask.unwrap_or(FieldMask::NONE),
            private_to,
            record,
        },
    );
}

/// How far a session is.
pub(super) fn progress<G: Game>(id: SessionId, session: &Session<G>) -> Entry<'static> {
    let (handled, acknowledged) = (session.handled, session.outbox.acknowledged());
    Entry::Progress { session: id, handled, acknowledged }
}

/// A session as it is stored.
pub(super) fn stored<G: Game>(id: SessionId, session: &Session<G>) -> StoredSession<'_> {
    let (fresh, presented, displaced) = session.tokens.hashes();
    StoredSession {
        id,
        player: session.player,
        name: &session.name,
        account: session.account.as_deref(),
        epoch: session.epoch,
        fresh,
        presented,
        displaced,
        held: session.held,
        hidden_since: session.hidden_since,
        handled: session.handled,
        acknowledged: session.outbox.acknowledged(),
    }
}

//! Runs a case: the room, its clients, the model beside them, and the comparison after every send.

use std::collections::{BTreeMap, BTreeSet};

use room::runtime::{Identity, Settings};
use room::sync::workers::Workers;
use room::wire::record::StoredRecord;
use room::{ConnectionId, FieldMask, PlayerId, Visible};
use room_client::replica::Replica;

use super::fresh::History;
use super::game::World;
use super::interest::{Eyes, Look, Memory, View, Viewer};
use super::kinds::{Board, Chest, Hand, MARK, Spark, Unit, VAULT_NOTE, hand_note};
use super::link::{Link, Pace};
use super::model::{Model, Thing, entity};
use super::retained::Kept;
use super::script::{Case, Step};
use super::workers::Shuffled;

/// Sends after which nothing may be held back any more.
const DRAINED_AFTER: usize = 300;
/// The same where a budget makes all wait.
const PAID_AFTER: usize = 5000;

/// What is known of a client beside what it holds.
#[derive(Default)]
struct Watch {
    memory: Memory,
    kept: Kept,
    /// A send may have been withheld, so that the memory is not known.
    vague: bool,
    /// What it held when it was last drained: serial and values of each entity.
    last: BTreeMap<u64, (u64, StoredRecord)>,
}

struct Run {
    case: Case,
    link: Link<World>,
    model: Model,
    watches: BTreeMap<ConnectionId, Watch>,
    history: History,
    joined: Vec<ConnectionId>,
    /// Whose client opened a connection to resume, also where the room refused it.
    resumed: BTreeMap<ConnectionId, PlayerId>,
}

/// Runs a case with as many jobs as it says.
pub(crate) fn run(case: Case) {
    let jobs = case.jobs;
    let workers = jobs.map(|(jobs, seed)| Box::new(Shuffled::new(jobs, seed)) as Box<dyn Workers>);
    run_with(case, workers);
}

/// Runs a case with these threads; returns every byte that each connection was sent.
pub(crate) fn run_with(case: Case, workers: Option<Box<dyn Workers>>) -> BTreeMap<ConnectionId, Vec<u8>> {
    let world =
        World { spec: case.spec.clone(), alias: [0, 1, 2, 3], keeps: case.keeps, news: vec![], own: vec![] };
    let settings = Settings {
        send_every: case.send_every,
        seats: 64,
        update_cap: if case.small_cap { 61_440 } else { 256 * 1024 },
        window: if case.small_window { 61_440 } else { 2 << 20 },
        view_hash: case.view_hash,
        hold_seconds: Some(0),
        ..Settings::default()
    };
    let mut link = Link::new(world, settings);
    link.keep = true;
    if let Some(workers) = workers {
        link.room.set_workers(workers);
    }
    let model = Model::new([0, 1, 2, 3]);
    let steps = case.steps.clone();
    let mut run = Run {
        case,
        link,
        model,
        watches: BTreeMap::new(),
        history: History::default(),
        joined: Vec::new(),
        resumed: BTreeMap::new(),
    };
    for (kind, at, raw) in run.case.crowd.clone() {
        run.step(&Step::Create { kind, explicit: None, at, raw });
    }
    run.step(&Step::Join { account: None });
    run.step(&Step::Join { account: Some(0) });
    for step in &steps {
        run.step(step);
    }
    run.finish()
}

impl Run {
    fn client(&self, client: u8) -> Option<ConnectionId> {
        let joined = &self.joined;
        (!joined.is_empty()).then(|| joined[client as usize % joined.len()])
    }

    fn player(&self, client: u8) -> Option<PlayerId> {
        self.link.room.room().connection(self.client(client)?).map(room::Connection::player)
    }

    fn step(&mut self, step: &Step) {
        // Some rooms have time between ticks, whatever was written by then.
        if self.case.jobs.is_some_and(|(_, seed)| seed % 2 == 0) {
            self.link.room.improve();
        }
        let Run { model, link, .. } = self;
        let room = link.room.parts_mut().1;
        match step {
            Step::Create { kind, explicit, at, raw } => {
                model.create(room, *explicit, Thing::new(*kind, *at, *raw))
            }
            Step::Delete { pick } => {
                if let Some(id) = model.pick(*pick) {
                    model.delete(room, id);
                }
            }
            Step::Reuse { pick, kind, at, raw } => {
                // Random IDs lie above what a game may give.
                if let Some(id) = model.pick(*pick).filter(|id| *id <= 1 << 52) {
                    model.delete(room, id);
                    model.create(room, Some(id), Thing::new(*kind, *at, *raw));
                }
            }
            Step::Blink { kind, raw } => {
                model.create(room, None, Thing::new(*kind, Some([1.0, 1.0, 1.0]), *raw));
                let id = *model.things.iter().max_by_key(|(_, entry)| entry.serial).expect("one was made").0;
                model.delete(room, id);
            }
            Step::Write { pick, field, raw } | Step::SetBack { pick, field, raw } => {
                if let Some(id) = model.pick(*pick) {
                    model.write(room, id, *field, *raw, matches!(step, Step::SetBack { .. }));
                }
            }
            Step::Move { pick, at } => {
                if let Some(id) = model.pick(*pick) {
                    model.move_to(room, id, *at);
                }
            }
            Step::Blocks { pick, how } => {
                if let Some(id) = model.pick_chest(*pick) {
                    model.blocks(room, id, how);
                }
            }
            Step::Storm { chests, seed } => model.storm(room, *chests, *seed),
            Step::Board { field, raw } => model.write_board(room, *field, *raw),
            _ => self.step_of_client(step),
        }
    }

    fn step_of_client(&mut self, step: &Step) {
        match *step {
            Step::Hand { client, field, raw } => {
                if let Some(player) = self.player(client) {
                    self.model.write_hand(self.link.room.parts_mut().1, player, field, raw);
                }
            }
            Step::Alias { team, alias } => self.alias(team, alias),
            Step::Walk { client, eye, around } => {
                self.eyes(client, |eyes| eyes.around[usize::from(eye)] = around)
            }
            Step::Stroll { client, by } => self.eyes(client, |eyes| {
                for around in eyes.around.iter_mut().flatten() {
                    *around = [0, 1, 2].map(|axis| around[axis] + by[axis]);
                }
            }),
            Step::Rush { client, by, seed } => {
                for n in 0..12_u64 {
                    let raw = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(n << 32 | n);
                    if let Some(id) = self.model.pick((raw >> 13) as u16) {
                        self.model.write(self.link.room.parts_mut().1, id, (raw >> 40) as u8, raw, false);
                    }
                }
                self.tick();
                self.step_of_client(&Step::Stroll { client, by });
                self.tick();
            }
            Step::Words { client, ref words } => self.eyes(client, |eyes| eyes.words.clone_from(words)),
            Step::Mask { client, mask } => self.eyes(client, |eyes| eyes.mask = mask),
            Step::Pace { client, pace } => {
                let Some(conn) = self.client(client) else { return };
                self.link.client_mut(conn).pace = pace;
                let watch = self.watches.entry(conn).or_default();
                // A window starts small whatever the setting.
                watch.vague |= pace != Pace::Prompt;
                if pace == Pace::Stalled {
                    watch.kept.lose_track();
                }
            }
            Step::Join { account } => {
                let identity =
                    account.map_or_else(Identity::guest, |n| Identity::account(format!("account {n}")));
                let conn = self.link.open(identity);
                self.joined.push(conn);
                self.watches.insert(conn, Watch::default());
            }
            Step::Leave { client } => {
                let Some(conn) = self.client(client) else { return };
                self.link.leave(conn);
            }
            Step::Drop { client } => {
                let Some(conn) = self.client(client) else { return };
                self.link.drop_link(conn);
                self.joined.retain(|it| *it != conn);
            }
            Step::Resume { client } => {
                let Some(conn) = self.client(client) else { return };
                if !self.link.client(conn).is_joined() {
                    return;
                }
                let (again, player) = (self.link.resume(conn), self.link.player(conn));
                self.resumed.insert(again, player);
                self.joined.retain(|it| *it != conn);
                self.joined.push(again);
                // The room remembers nothing of the view; the client holds what it held.
                let last = self.watches.remove(&conn).unwrap_or_default().last;
                let replica = &self.link.client(again).replica;
                let kept = Kept::resumed(replica, held_by(replica), &self.model);
                self.watches.insert(again, Watch { last, kept, ..Watch::default() });
                // One that goes before it is seated would leave the older one without what it held.
                self.tick();
            }
            Step::Kick { client } => {
                let Some(player) = self.player(client) else { return };
                self.link.edit(|room| room.kick(player, "out"));
            }
            Step::Flood { ticks, seed } => {
                for tick in 0..u32::from(ticks) {
                    self.model.flood(self.link.room.parts_mut().1, seed ^ tick);
                    self.tick();
                }
            }
            Step::Tick => self.tick(),
            _ => unreachable!("the others are steps of the world"),
        }
    }

    /// Changes what keys depend on, and asks them again.
    fn alias(&mut self, team: u8, alias: u64) {
        self.model.alias[team as usize] = alias;
        let (game, room) = self.link.room.parts_mut();
        game.alias = self.model.alias;
        self.model.things.keys().for_each(|id| room.rekey(entity(*id)));
    }

    fn eyes(&mut self, client: u8, change: impl FnOnce(&mut Eyes)) {
        let Some(conn) = self.client(client) else { return };
        if let Some(connection) = self.link.room.parts_mut().1.connection_mut(conn) {
            change(&mut connection.scratch);
        }
    }

    fn tick(&mut self) {
        self.link.tick();
        for news in std::mem::take(&mut self.link.room.parts_mut().0.news) {
            self.model.follow(news);
        }
        let clients = &self.link.clients;
        self.joined.retain(|conn| clients[conn].closed.is_none());
        if self.link.tick_number().is_multiple_of(u64::from(self.case.send_every)) {
            self.check();
        }
    }

    fn check(&mut self) {
        self.model.seal(self.link.tick_number());
        self.model.check(self.link.room.room());
        if self.case.spec.has_rates() {
            self.history.push(&self.model);
        }
        for conn in self.joined.clone() {
            let Some(connection) = self.link.room.room().connection(conn) else { continue };
            let eyes = connection.scratch.clone();
            let viewer = Viewer { player: connection.player(), eyes: &eyes };
            let watch = self.watches.get_mut(&conn).expect("it was opened");
            let replica = &self.link.clients[&conn].replica;
            let updated = replica.tick().0 == self.link.tick_number();
            watch.kept.follow(replica, held_by(replica), &self.model, (updated, self.case.spec.retain));
            if self.link.room.room().is_drained(conn) || watch.kept.is_known() {
                let ours: Vec<_> = self.link.room.room().retained(conn).collect();
                assert!(replica.retained_ids().eq(ours), "client {}: both ends retain the same", conn.0);
            }
            let view = if watch.vague {
                self.case.spec.bounds(&self.model, &viewer)
            } else {
                let exact = self.case.spec.view(&self.model, &viewer, &mut watch.memory);
                View { least: exact.clone(), most: exact }
            };
            if self.case.spec.has_rates() && !self.watches[&conn].vague {
                self.check_rates(conn, &eyes);
            }
            if self.link.room.room().is_drained(conn) {
                self.compare(conn, viewer.player, &view);
            }
        }
    }

    /// Nothing is older than its rate allows, but for what has no room in an update; and the client knows the rate.
    fn check_rates(&self, conn: ConnectionId, eyes: &Eyes) {
        let (replica, watch) = (&self.link.client(conn).replica, &self.watches[&conn]);
        let room = self.link.room.room();
        let context = format!("client {} at tick {}", conn.0, self.link.tick_number());
        if replica.tick() != room.tick() && !room.is_drained(conn) {
            return;
        }
        let mut held = BTreeMap::new();
        collect::<Unit>(replica, &mut held);
        collect::<Chest>(replica, &mut held);
        collect::<Spark>(replica, &mut held);
        for (id, record) in held {
            let Some(entry) = self.model.things.get(&id) else { continue };
            let Some(look) = Look::of(id, &entry.thing) else { continue };
            let period = self.case.spec.period(entry.serial, &look, eyes, &watch.memory);
            assert_eq!(replica.period(entity(id)), period, "{context}: how often {id} is sent");
            if record == entry.thing.stored() {
                continue;
            }
            let answer = room.explain(self.link.room.game(), conn, entity(id)).expect("both are there");
            assert_eq!(answer.period, period);
            let why = answer.held.expect("what is not up to date is held back");
            let due = why.until.filter(|_| self.case.spec.budget.is_none());
            assert!(
                due.is_none() || self.history.had(entry.serial, &record, period),
                "{context}: {id} is old"
            );
        }
    }

    /// Compares a drained replica with the oracle, and its report with what it held before.
    fn compare(&mut self, conn: ConnectionId, player: PlayerId, view: &View) {
        let replica = &self.link.client(conn).replica;
        let context = format!("client {} at tick {}", conn.0, self.link.tick_number());
        assert_eq!(replica.complete(), replica.tick(), "{context}: nothing is held back");
        let held = held_by(replica);
        let seen: BTreeSet<u64> = held.keys().copied().collect();
        let missing: Vec<_> = view.least.iter().filter(|id| !seen.contains(id)).collect();
        let extra: Vec<_> = seen.iter().filter(|id| view.most.binary_search(id).is_err()).collect();
        assert!(missing.is_empty() && extra.is_empty(), "{context}: missing {missing:?}, too many {extra:?}");
        assert_eq!(replica.len(), seen.len() + 2, "{context}: and state and private state");
        let board = replica.state::<Board>().map(StoredRecord::of);
        assert_eq!(
            board,
            Some(StoredRecord::of(&self.model.board)),
            "{context}: {:?}",
            replica.state::<Board>()
        );
        let hand = replica.private::<Hand>().map(StoredRecord::of);
        assert_eq!(hand, self.model.hands.get(&player).map(StoredRecord::of), "{context}: private state");
        let mut now = BTreeMap::new();
        for (id, record) in held {
            let entry = &self.model.things[&id];
            assert_eq!(record, entry.thing.stored(), "{context}: {id} is not {:?}", entry.thing);
            assert!(self.link.room.room().was_sent(conn, entity(id)), "{context}: {id} was sent");
            now.insert(id, (entry.serial, record));
        }
        let before =
            std::mem::replace(&mut self.watches.get_mut(&conn).expect("it was opened").last, now.clone());
        let replica = &mut self.link.client_mut(conn).replica;
        let mut report = Report::default();
        report.collect::<Unit>(replica);
        report.collect::<Chest>(replica);
        report.collect::<Spark>(replica);
        report.check(&before, &now, &context);
        replica.forget_report();
    }

    fn finish(mut self) -> BTreeMap<ConnectionId, Vec<u8>> {
        self.link.clients.values_mut().for_each(|client| client.pace = Pace::Prompt);
        self.link.deliver();
        for tick in 0.. {
            self.tick();
            let room = self.link.room.room();
            let sent = self.link.tick_number().is_multiple_of(u64::from(self.case.send_every));
            if sent && self.joined.iter().all(|conn| room.is_drained(*conn)) {
                break;
            }
            let most = if self.case.spec.budget.is_some() { PAID_AFTER } else { DRAINED_AFTER };
            assert!(tick < most * self.case.send_every as usize, "somebody is never drained");
        }
        // One empty update may follow; then an idle room sends nothing.
        (0..self.case.send_every).for_each(|_| self.tick());
        let messages = |run: &Run| run.link.clients.values().map(|client| client.messages).sum::<usize>();
        let sent = messages(&self);
        (0..3 * self.case.send_every).for_each(|_| self.tick());
        assert_eq!(messages(&self), sent, "an idle room sends nothing");
        self.scan();
        self.link.clients.into_iter().map(|(conn, client)| (conn, client.raw)).collect()
    }

    /// Looks for hidden values and other players' private ones in every byte that was sent, raw and inflated.
    fn scan(&self) {
        for (conn, client) in &self.link.clients {
            let player = client.player.or_else(|| self.resumed.get(conn).copied());
            let own = player.map(|player| (player.0.to_le_bytes(), hand_note(player)));
            let is_own = |rest: &[u8]| {
                own.as_ref().is_some_and(|(number, note)| {
                    rest.starts_with(number) || rest.starts_with(&note.as_bytes()[MARK.len()..])
                })
            };
            for bytes in [&client.raw[..], client.replica.recorded()] {
                for (at, window) in bytes.windows(MARK.len()).enumerate() {
                    let rest = &bytes[at + MARK.len()..];
                    let fine = window != MARK.as_bytes() || !is_secret(rest) || is_own(rest);
                    assert!(
                        fine,
                        "client {} was sent a secret: {:?}",
                        conn.0,
                        &bytes[at..bytes.len().min(at + 20)]
                    );
                }
            }
        }
    }
}

/// Whether what follows the mark is of a secret, and the mark no chance in what is noise.
fn is_secret(rest: &[u8]) -> bool {
    let number = |bytes: &[u8]| *bytes == u32::MAX.to_le_bytes() || bytes[2..] == [0, 0];
    let vault = &VAULT_NOTE.as_bytes()[MARK.len()..];
    let note = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit) || vault.starts_with(bytes);
    rest.get(..4).is_some_and(|bytes| number(bytes) || note(bytes))
}

/// The values of all that a client holds but state and private state.
fn held_by(replica: &Replica) -> BTreeMap<u64, StoredRecord> {
    let mut held = BTreeMap::new();
    collect::<Unit>(replica, &mut held);
    collect::<Chest>(replica, &mut held);
    collect::<Spark>(replica, &mut held);
    held
}

fn collect<K: Visible>(replica: &Replica, held: &mut BTreeMap<u64, StoredRecord>) {
    for (id, entity) in replica.all::<K>() {
        assert!(held.insert(id.get(), StoredRecord::of(entity)).is_none(), "{id:?} is there twice");
    }
}

/// What a replica reports.
#[derive(Default)]
struct Report {
    entered: BTreeSet<u64>,
    changed: BTreeMap<u64, FieldMask>,
    left: BTreeSet<u64>,
}

impl Report {
    fn collect<K: Visible>(&mut self, replica: &Replica) {
        self.entered.extend(replica.entered::<K>().map(|(id, _)| id.get()));
        self.changed.extend(replica.changed::<K>().map(|change| (change.id.get(), change.fields)));
        self.left.extend(replica.left::<K>().map(|id| id.get()));
    }

    fn check(&self, before: &Held, now: &Held, context: &str) {
        assert!(self.entered.iter().all(|id| now.contains_key(id)), "{context}: who entered is here");
        assert!(self.left.iter().all(|id| before.contains_key(id)), "{context}: who left was here");
        for (id, (serial, record)) in now {
            let entered = self.entered.contains(id);
            match before.get(id) {
                None => assert!(entered, "{context}: {id} is new"),
                Some((old, _)) if old != serial => {
                    assert!(entered && self.left.contains(id), "{context}: {id} is another");
                }
                Some((_, old)) => {
                    let reported = entered || self.changed.contains_key(id);
                    assert!(reported || old == record, "{context}: {id} changed");
                }
            }
        }
        for id in before.keys().filter(|id| !now.contains_key(id)) {
            assert!(self.left.contains(id), "{context}: {id} is gone");
        }
        for id in self.changed.keys() {
            let both = before.contains_key(id) && now.contains_key(id);
            assert!(
                both && !self.entered.contains(id),
                "{context}: {id} changed and is neither new nor gone"
            );
        }
    }
}

type Held = BTreeMap<u64, (u64, StoredRecord)>;

//! A durable room begins: as a new one, or as its log has it.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::caution::Caution;
use super::durable::{Durable, Known, Numbers};
use super::snapshot::Snapshot;
use super::{Account, Runtime, Settings, StartError, other_seed};
use crate::entity::SessionId;
use crate::limits;
use crate::room::ConnectionId;
use crate::room::game::{Dropped, Game};
use crate::room::journal::entry::StoredSession;
use crate::room::journal::image::{Image, StoredEntity};
use crate::room::outside::Outside;
use crate::room::sessions::{Session, Unstored};
use crate::schema::Schema;
use crate::session::credit::Credit;
use crate::session::outbox::Outbox;
use crate::session::tokens::Tokens;
use crate::storage::{State, Taken};
use crate::store::bits::Bits;
use crate::sync::world::{Restored, World};
use crate::tick::Tick;

/// What a durable room begins with.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The room's name.
    pub room: Arc<str>,
    /// Its log, of which it is the owner now.
    pub taken: Taken,
    /// The time of the world outside, in seconds since 1970.
    pub unix: u64,
}

/// A durable room that cannot begin. Nothing of what is stored was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WakeError {
    /// A setting or the schema has a fault.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What is stored is damaged.
    #[error(
        "what is stored of room {room} is damaged: {what}; put the store back from a copy, or remove the room"
    )]
    Damaged {
        /// The room.
        room: Arc<str>,
        /// What was found.
        what: String,
    },
    /// What is stored is of another schema, and does not fit this one.
    #[error("room {room} was stored with another schema: {what}")]
    Schema {
        /// The room.
        room: Arc<str>,
        /// What does not fit, and what to do.
        what: String,
    },
}

impl<G: Game> Runtime<G> {
    /// Makes a room with a store: where its log is empty a new one, of which `on_create` runs, and else the one that the
    /// log has, of which `on_wake` runs and then `on_drop` for each session that was connected. The seed is fresh
    /// each time, so that nothing drawn after the last commit comes again.
    ///
    /// # Errors
    /// Fails where a setting or the schema has a fault, and where what is stored is damaged or does not fit.
    pub fn open(game: G, settings: Settings, seed: [u8; 32], origin: Origin) -> Result<Self, WakeError> {
        settings.validate()?;
        let schema = G::schema();
        schema.validate().map_err(StartError::from)?;
        let stored_schema = schema.text(false).into_bytes();
        let Origin { room, taken, unix } = origin;
        if taken.rows.is_empty() {
            let mut runtime = Runtime::of_world(game, settings, seed, World::new(schema, other_seed(seed)));
            runtime.unix = unix;
            runtime.attach(room, &taken, stored_schema, Known::Nothing);
            runtime.game.on_create(&mut runtime.room);
            return Ok(runtime);
        }
        let damaged = |what: String| WakeError::Damaged { room: room.clone(), what };
        let image =
            Image::read(&room, taken.first, &taken.rows).map_err(|error| damaged(error.to_string()))?;
        if image.schema != stored_schema {
            return Err(WakeError::Schema { room, what: String::from("it differs") });
        }
        let world = restore_world(schema, seed, &image).map_err(damaged)?;
        let mut runtime = Runtime::of_world(game, settings, wake_seed(seed, &image), world);
        runtime.unix = unix;
        let foreign = taken.restored;
        if !foreign {
            runtime.generation = image.generation;
        }
        runtime.attach(room, &taken, stored_schema, if foreign { Known::Foreign } else { Known::Others });
        runtime.restore(&image, &taken);
        runtime.game.on_wake(&mut runtime.room);
        runtime.hold_all();
        runtime.forget_accounts();
        Ok(runtime)
    }

    /// Connects the room with its log.
    fn attach(&mut self, room: Arc<str>, taken: &Taken, schema: Vec<u8>, known: Known) {
        self.room.world.keep_changes();
        self.room.sessions.unstored = Some(Unstored::default());
        self.room.outside.origin = self.generation;
        self.durable = Some(Durable {
            room,
            epoch: taken.epoch,
            next: taken.first + taken.rows.len() as u64,
            schema,
            generation: self.generation,
            runs: Default::default(),
            known,
            numbers: Numbers::default(),
            coarse: Bits::default(),
            accounts: Default::default(),
            effects: Default::default(),
            performed: Vec::new(),
            caution: Caution::default(),
            snapshot: Snapshot::new(0, 0, Tick::ZERO),
            state: State::Awake,
            pending: None,
        });
    }

    /// Puts back everything but entities.
    fn restore(&mut self, image: &Image<'_>, taken: &Taken) {
        // Beyond every tick that was stored, so that what is new now is newer than anything a client has.
        let begin = image.tick.next();
        self.room.tick = begin;
        self.room.views_mut().wake(begin);
        self.next_player = image.next_player.max(1);
        self.room.outside.next_effect = image.next_effect;
        for (name, (player, left)) in &image.accounts {
            self.accounts.insert((*name).to_owned(), Account { player: *player, left: *left });
        }
        self.room.sessions.restore_last(SessionId(image.last_session));
        for (id, stored) in &image.sessions {
            let session = self.restored(stored, image);
            self.room.sessions.restore(*id, session);
        }
        let careful = limits::CAUTIOUS_SECONDS * u64::from(self.settings.tick_rate);
        let Some(durable) = &mut self.durable else { return };
        durable.runs = image.runs.clone();
        while durable.runs.len() > limits::INCARNATIONS {
            durable.runs.pop_first();
        }
        let (automatic, next_player) = (image.automatic, image.next_player);
        let (last_session, next_effect) = (image.last_session, image.next_effect);
        // The generator's place is written with the first commit.
        durable.numbers = Numbers { automatic, next_player, last_session, next_effect, place: u128::MAX };
        for (number, (key, payload)) in &image.effects {
            let (key, payload): (Arc<str>, Arc<[u8]>) = ((*key).into(), (*payload).into());
            durable.effects.insert(*number, (key.clone(), payload.clone()));
            self.outside.push_back(Outside::Effect { number: *number, key, payload });
        }
        durable.caution = Caution::new(image.failed, careful, image.tried.clone());
        let log: usize = taken.rows.iter().map(Vec::len).sum();
        let state = image.entities.values().map(|entity| entity.record.len() + 32).sum();
        durable.snapshot = Snapshot::new(state, log.saturating_sub(state), image.tick);
    }

    fn restored(&self, stored: &StoredSession<'_>, image: &Image<'_>) -> Session<G> {
        let credit = Credit::full(self.rate(), self.room.tick);
        let tokens = Tokens::of_hashes(stored.fresh, stored.presented, stored.displaced.clone());
        let who = (stored.name.to_owned(), stored.account.map(str::to_owned));
        let mut session = Session::new(stored.player, who, tokens, former(stored.id), credit);
        let messages = image.messages.get(&stored.id).into_iter().flat_map(|messages| messages.values());
        session.outbox = Outbox::restore(stored.acknowledged, messages.map(|message| Arc::from(*message)));
        (session.epoch, session.held, session.hidden_since) =
            (stored.epoch, stored.held, stored.hidden_since);
        (session.received, session.handled) = (stored.handled, stored.handled);
        session
    }

    /// Whoever was connected when the last run ended has lost her connection.
    fn hold_all(&mut self) {
        let connected = self.room.sessions.iter().filter(|(_, session)| session.held.is_none());
        let connected: Vec<_> =
            connected.map(|(id, session)| (id, session.player, session.hidden_since)).collect();
        for (id, player, hidden_since) in connected {
            let hidden = hidden_since.map_or(0, |since| self.room.tick.0.saturating_sub(since.0));
            let seconds = self.hold_seconds(Dropped::Broken, hidden);
            let ticks = u64::from(seconds) * u64::from(self.settings.tick_rate);
            self.room.sessions.hold(id, Tick(self.room.tick.0 + ticks));
            self.caught("on_drop", |game, room| game.on_drop(room, player, id, Dropped::Broken));
        }
    }
}

/// The connection that a session of a former run had, for a number that none has now.
fn former(session: SessionId) -> ConnectionId {
    ConnectionId(u64::MAX - session.0)
}

/// A seed of which nobody who knows only one of both knows anything.
fn wake_seed(fresh: [u8; 32], image: &Image<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(fresh);
    if let Some((seed, place)) = image.generator {
        hash.update(seed);
        hash.update(place.to_le_bytes());
    }
    hash.finalize().into()
}

/// The world as it was stored. What is coarse counts as changed, for clients may have seen newer values.
fn restore_world(schema: Schema, seed: [u8; 32], image: &Image<'_>) -> Result<World, String> {
    let kinds: Vec<_> = schema.entries().iter().map(|entry| entry.kind).collect();
    let wake = image.tick.next();
    let mut ticks: Vec<Vec<Tick>> = Vec::new();
    for entity in image.entities.values() {
        let kind = kinds.get(usize::from(entity.kind)).ok_or("an entity is of no kind")?;
        if entity.changed.len() > kind.fields.len() || entity.created > image.tick {
            return Err(String::from("an entity has more fields than its kind"));
        }
        let mut changed = entity.changed.clone();
        changed.resize(kind.fields.len(), entity.created);
        kind.coarse().iter().for_each(|field| changed[field] = wake);
        ticks.push(changed);
    }
    let entities = image.entities.iter().zip(&ticks).map(|((id, entity), changed)| {
        let StoredEntity { kind, created, private_to, record, .. } = *entity;
        Restored { id: *id, kind, created, changed, private_to, record }
    });
    World::restore(schema, other_seed(seed), image.automatic, entities)
        .map_err(|(id, error)| format!("entity {id}: {error}"))
}

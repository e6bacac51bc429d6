//! A durable room begins: as a new one, or as its log has it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::caution::Caution;
use super::durable::{Durable, Known, Numbers};
use super::snapshot::Snapshot;
use super::{Account, Runtime, Settings, StartError, other_seed};
use crate::entity::{PlayerId, SessionId};
use crate::limits;
use crate::room::ConnectionId;
use crate::room::game::{Dropped, Game};
use crate::room::journal::entry::StoredSession;
use crate::room::journal::image::{Image, StoredEntity};
use crate::room::label::Site;
use crate::room::migrate::{Converter, MigrateError, StoredSchema};
use crate::room::outside::Outside;
use crate::room::sessions::{Session, Unstored};
use crate::schema::Schema;
use crate::session::outbox::Outbox;
use crate::session::tokens::Tokens;
use crate::storage::{State, Taken};
use crate::store::LoadError;
use crate::store::bits::Bits;
use crate::sync::world::{Restored, World};
use crate::tick::Tick;

/// What a durable room begins with.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Where it stands among others: its name, and its label.
    pub site: Site,
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
    #[error("room {room} was stored with another schema: {error}")]
    Schema {
        /// The room.
        room: Arc<str>,
        /// What does not fit, and what to do.
        error: Box<MigrateError>,
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
        let mut stored_schema = Vec::new();
        StoredSchema::of(&schema).encode(&mut stored_schema);
        let Origin { site, taken, unix } = origin;
        site.validate()?;
        let room: Arc<str> = site.name.as_str().into();
        if taken.rows.is_empty() {
            let mut runtime =
                Runtime::of_world(site, game, settings, seed, World::new(schema, other_seed(seed)));
            runtime.unix = unix;
            runtime.attach(room, &taken, stored_schema, Known::Nothing);
            runtime.game.on_create(&mut runtime.room);
            return Ok(runtime);
        }
        let damaged = |what: String| WakeError::Damaged { room: room.clone(), what };
        let image =
            Image::read(&room, taken.first, &taken.rows).map_err(|error| damaged(error.to_string()))?;
        let changed = image.schema != stored_schema;
        let converter = match StoredSchema::decode(image.schema) {
            Ok(stored) => changed.then(|| Converter::new(&stored, &schema)),
            Err(error) => return Err(damaged(format!("the description of its schema: {error}"))),
        };
        let world = restored_world::<G>(schema, seed, &image, converter).map_err(|error| match error {
            Unfit::Damaged(what) => damaged(what),
            Unfit::Schema(error) => WakeError::Schema { room: room.clone(), error: Box::new(error) },
        })?;
        let mut runtime = Runtime::of_world(site, game, settings, wake_seed(seed, &image), world);
        runtime.unix = unix;
        let foreign = taken.restored || changed;
        if !foreign {
            runtime.generation = image.generation;
        }
        runtime.attach(room, &taken, stored_schema, if foreign { Known::Foreign } else { Known::Others });
        runtime.restore(&image, &taken);
        let dropped = runtime.hold_all();
        // Where the schema has such a kind by now: a player who goes on has it as one who joins.
        let players: Vec<_> = runtime.room.sessions.iter().map(|(_, session)| session.player).collect();
        for player in players {
            runtime.room.world.ensure_private(player);
        }
        runtime.room.present_all();
        runtime.forget_accounts();
        runtime.game.on_wake(&mut runtime.room);
        for (id, player) in dropped {
            runtime.caught("on_drop", |game, room| game.on_drop(room, player, id, Dropped::Broken));
        }
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
            coarse_at: self.room.tick,
            accounts: Default::default(),
            effects: Default::default(),
            performed: Vec::new(),
            caution: Caution::default(),
            snapshot: Snapshot::new(0, 0, Tick::ZERO),
            state: State::Awake,
            ending: Default::default(),
            label: 0,
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
        let mut shared = BTreeMap::new();
        for (id, stored) in &image.sessions {
            let session = self.restored(stored, image, &mut shared);
            self.room.sessions.restore(*id, session);
        }
        let careful = limits::CAUTIOUS_SECONDS * u64::from(self.settings.tick_rate);
        let Some(durable) = &mut self.durable else { return };
        durable.coarse_at = begin;
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

    /// A session as it was stored. What is one message for many in the log is one in memory.
    fn restored(
        &self,
        stored: &StoredSession<'_>,
        image: &Image<'_>,
        shared: &mut BTreeMap<*const u8, Arc<[u8]>>,
    ) -> Session<G> {
        let credit = self.full_credit();
        let tokens = Tokens::of_hashes(stored.fresh, stored.presented, stored.displaced.clone());
        let who = (stored.name.to_owned(), stored.account.map(str::to_owned));
        let mut session = Session::new(stored.player, who, tokens, former(stored.id), credit);
        let messages = image.messages.get(&stored.id).into_iter().flat_map(|messages| messages.values());
        let messages = messages
            .map(|message| shared.entry(message.as_ptr()).or_insert_with(|| Arc::from(*message)).clone());
        session.outbox = Outbox::restore(stored.acknowledged, messages);
        (session.epoch, session.held, session.hidden_since) =
            (stored.epoch, stored.held, stored.hidden_since);
        (session.received, session.handled) = (stored.handled, stored.handled);
        session
    }

    /// Whoever was connected when the last run ended has lost her connection. Returns who did.
    fn hold_all(&mut self) -> Vec<(SessionId, PlayerId)> {
        let connected = self.room.sessions.iter().filter(|(_, session)| session.held.is_none());
        let connected: Vec<_> =
            connected.map(|(id, session)| (id, session.player, session.hidden_since)).collect();
        for (id, _, hidden_since) in &connected {
            let hidden = hidden_since.map_or(0, |since| self.room.tick.0.saturating_sub(since.0));
            let seconds = self.hold_seconds(Dropped::Broken, hidden);
            let ticks = u64::from(seconds) * u64::from(self.settings.tick_rate);
            self.room.sessions.hold(*id, Tick(self.room.tick.0 + ticks));
        }
        connected.into_iter().map(|(id, player, _)| (id, player)).collect()
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

/// Why entities do not make a world.
enum Unfit {
    Damaged(String),
    Schema(MigrateError),
}

/// The world as it was stored, in today's kinds. What is coarse counts as changed, for clients may have seen newer
/// values.
fn restored_world<G: Game>(
    schema: Schema,
    seed: [u8; 32],
    image: &Image<'_>,
    converter: Option<Converter>,
) -> Result<World, Unfit> {
    let kinds: Vec<_> = schema.entries().iter().map(|entry| entry.kind).collect();
    let wake = image.tick.next();
    let mut entities = Vec::with_capacity(image.entities.len());
    for (id, stored) in &image.entities {
        let StoredEntity { kind, created, private_to, record, .. } = *stored;
        let whole = |kind: usize, record| (kind, record, created, private_to);
        let (kind, record, created, private_to) = match &converter {
            None => whole(usize::from(kind), Cow::Borrowed(record)),
            Some(converter) => match converter.convert::<G>(*id, usize::from(kind), record) {
                Ok(Some((kind, record))) => whole(kind, Cow::Owned(record)),
                Ok(None) => continue,
                Err(error) => return Err(Unfit::Schema(counted(error, kind, image))),
            },
        };
        let fields = kinds.get(kind).map(|kind| (kind.fields.len(), kind.coarse()));
        let (fields, coarse) =
            fields.ok_or_else(|| Unfit::Damaged(format!("entity {id} is of no kind that there is")))?;
        if created > image.tick {
            return Err(Unfit::Damaged(format!("entity {id} was made in a tick that has not been")));
        }
        // Of another schema nothing that a client holds counts.
        let mut changed = if converter.is_some() { Vec::new() } else { stored.changed.clone() };
        changed.resize(fields, created);
        coarse.iter().for_each(|field| changed[field] = wake);
        entities.push((*id, kind as u8, created, changed, private_to, record));
    }
    let entities = entities.iter().map(|(id, kind, created, changed, private_to, record)| Restored {
        id: *id,
        kind: *kind,
        created: *created,
        changed,
        private_to: *private_to,
        record,
    });
    let unfit = |(id, error): (_, LoadError)| match error {
        LoadError::Decode { .. } => Unfit::Damaged(format!("entity {id}: {error}")),
        other => Unfit::Schema(other.into()),
    };
    World::restore(schema, other_seed(seed), image.automatic, entities).map_err(unfit)
}

/// An error that says how many entities it concerns.
fn counted(error: MigrateError, kind: u8, image: &Image<'_>) -> MigrateError {
    match error {
        MigrateError::KindGone { kind: name, .. } => {
            let entities = image.entities.values().filter(|entity| entity.kind == kind).count();
            MigrateError::KindGone { kind: name, entities }
        }
        other => other,
    }
}

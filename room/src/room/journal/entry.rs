//! One entry of a row.

use crate::entity::{EntityId, FieldMask, PlayerId, SessionId};
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// Puts several values.
macro_rules! put {
    ($out:expr; $($value:expr),*) => { $( $value.put($out); )* };
}

/// Something that a room commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::room) enum Entry<'a> {
    /// The tick of what follows.
    Tick(Tick),
    /// A log begins, or a snapshot: the state's generation and the schema of all records behind it.
    Begin { generation: u64, schema: &'a [u8] },
    /// A run of the room, and the last tick that it is known to have committed.
    Run { incarnation: u64, last: Tick },
    /// Up to where automatic IDs are given away, and the next numbers of players and effects, and the last session's.
    Counters { automatic: u64, next_player: u32, last_session: u64, next_effect: u64 },
    /// The game's random numbers: seed and place in their stream.
    Generator { seed: [u8; 32], place: u128 },
    /// An entity after a change, in whole values.
    Put {
        id: EntityId,
        kind: u8,
        created: bool,
        mask: FieldMask,
        private_to: Option<PlayerId>,
        record: &'a [u8],
    },
    /// An entity is gone.
    Delete(EntityId),
    /// An entity as a snapshot finds it: when it was made, and for each field how many ticks ago it changed.
    Snap {
        id: EntityId,
        kind: u8,
        created: Tick,
        changed: Vec<Tick>,
        private_to: Option<PlayerId>,
        record: &'a [u8],
    },
    /// An account's player, and when she left, in seconds since 1970; none while she plays.
    Account { name: &'a str, player: PlayerId, left: Option<u64> },
    /// An account is forgotten.
    Forgotten(&'a str),
    /// A session, but for what its client says and is told.
    Session(Box<StoredSession<'a>>),
    /// How far a session is: the last event handled, and the last one that the client is known to have.
    Progress { session: SessionId, handled: u64, acknowledged: u64 },
    /// A message for a session's client.
    Message { session: SessionId, number: u64, bytes: &'a [u8] },
    /// A message that another session has under a number, for a session's client too. That one is of the same commit.
    Same { session: SessionId, number: u64, other: SessionId, theirs: u64 },
    /// A session is over.
    Ended(SessionId),
    /// Something to be done outside, and the key by which the other side knows it again.
    Effect { number: u64, key: &'a str, payload: &'a [u8] },
    /// It is done.
    Performed(u64),
    /// After a failure: an event that is about to be handled.
    Trying { session: SessionId, number: u64 },
    /// An event that so many failed runs were about to handle.
    Tried { session: SessionId, number: u64, times: u32 },
    /// The run ended with a failure.
    Failed,
    /// In this tick a run ended so, the last one that did.
    FailedAt(Tick),
    /// The snapshot whose first row is the log's first row, or will be, is whole.
    Whole,
}

/// A session as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::room) struct StoredSession<'a> {
    pub(in crate::room) id: SessionId,
    pub(in crate::room) player: PlayerId,
    pub(in crate::room) name: &'a str,
    pub(in crate::room) account: Option<&'a str>,
    pub(in crate::room) epoch: u32,
    /// Hashes of tokens: fresh, presented, displaced ones.
    pub(in crate::room) fresh: [u8; 32],
    pub(in crate::room) presented: Option<[u8; 32]>,
    pub(in crate::room) displaced: Vec<[u8; 32]>,
    pub(in crate::room) held: Option<Tick>,
    pub(in crate::room) hidden_since: Option<Tick>,
    pub(in crate::room) handled: u64,
    pub(in crate::room) acknowledged: u64,
}

/// How values stand in an entry.
pub(in crate::room) trait Field<'a>: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError>;
}

impl Field<'_> for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, *self);
    }
    fn take(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
        r.varint()
    }
}

impl Field<'_> for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, u64::from(*self));
    }
    fn take(r: &mut Reader<'_>) -> Result<u32, DecodeError> {
        u32::try_from(r.varint()?).map_err(|_| DecodeError::Value)
    }
}

impl Field<'_> for Tick {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(r: &mut Reader<'_>) -> Result<Tick, DecodeError> {
        u64::take(r).map(Tick)
    }
}

impl Field<'_> for PlayerId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(r: &mut Reader<'_>) -> Result<PlayerId, DecodeError> {
        u32::take(r).map(PlayerId)
    }
}

impl Field<'_> for SessionId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(r: &mut Reader<'_>) -> Result<SessionId, DecodeError> {
        u64::take(r).map(SessionId)
    }
}

impl Field<'_> for EntityId {
    fn put(&self, out: &mut Vec<u8>) {
        self.get().put(out);
    }
    fn take(r: &mut Reader<'_>) -> Result<EntityId, DecodeError> {
        EntityId::from_wire(r.varint()?).ok_or(DecodeError::Value)
    }
}

impl Field<'_> for [u8; 32] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array()
    }
}

impl<'a> Field<'a> for &'a [u8] {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.len() as u64);
        out.extend_from_slice(self);
    }
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        r.blob(usize::MAX)
    }
}

impl<'a> Field<'a> for &'a str {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_bytes().put(out);
    }
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        r.text(usize::MAX)
    }
}

impl<'a, T: Field<'a>> Field<'a> for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match r.u8()? {
            0 => Ok(None),
            1 => T::take(r).map(Some),
            _ => Err(DecodeError::Value),
        }
    }
}

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.len() as u64);
        self.iter().for_each(|value| value.put(out));
    }
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = r.count(usize::MAX)?;
        (0..count).map(|_| T::take(r)).collect()
    }
}

impl<'a> Field<'a> for StoredSession<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        put!(out; self.id, self.player, self.name, self.account);
        put!(out; self.epoch, self.fresh, self.presented, self.displaced);
        put!(out; self.held, self.hidden_since, self.handled, self.acknowledged);
    }
    fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(StoredSession {
            id: Field::take(r)?,
            player: Field::take(r)?,
            name: Field::take(r)?,
            account: Field::take(r)?,
            epoch: Field::take(r)?,
            fresh: Field::take(r)?,
            presented: Field::take(r)?,
            displaced: Field::take(r)?,
            held: Field::take(r)?,
            hidden_since: Field::take(r)?,
            handled: Field::take(r)?,
            acknowledged: Field::take(r)?,
        })
    }
}

fn put_flag(flag: bool, out: &mut Vec<u8>) {
    out.push(u8::from(flag));
}

fn take_flag(r: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match r.u8()? {
        flag @ 0..=1 => Ok(flag == 1),
        _ => Err(DecodeError::Value),
    }
}

/// A set of fields: of some hundred kinds none is longer than its own.
fn put_mask(mask: FieldMask, out: &mut Vec<u8>) {
    mask.put(limits::FIELDS, out);
    let bytes = limits::FIELDS.div_ceil(8);
    let start = out.len() - bytes;
    let used = out[start..].iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    out.insert(start, used as u8);
    out.truncate(start + 1 + used);
}

fn take_mask(r: &mut Reader<'_>) -> Result<FieldMask, DecodeError> {
    let mut bytes = [0; limits::FIELDS.div_ceil(8)];
    let used = usize::from(r.u8()?);
    bytes.get_mut(..used).ok_or(DecodeError::TooLong)?.copy_from_slice(r.bytes(used)?);
    FieldMask::take(limits::FIELDS, &mut Reader::new(&bytes))
}

mod tag {
    pub(super) const TICK: u8 = 1;
    pub(super) const BEGIN: u8 = 2;
    pub(super) const RUN: u8 = 3;
    pub(super) const COUNTERS: u8 = 4;
    pub(super) const GENERATOR: u8 = 5;
    pub(super) const PUT: u8 = 6;
    pub(super) const DELETE: u8 = 7;
    pub(super) const SNAP: u8 = 8;
    pub(super) const ACCOUNT: u8 = 9;
    pub(super) const FORGOTTEN: u8 = 10;
    pub(super) const SESSION: u8 = 11;
    pub(super) const PROGRESS: u8 = 12;
    pub(super) const MESSAGE: u8 = 13;
    pub(super) const ENDED: u8 = 14;
    pub(super) const EFFECT: u8 = 15;
    pub(super) const PERFORMED: u8 = 16;
    pub(super) const TRYING: u8 = 17;
    pub(super) const FAILED: u8 = 18;
    pub(super) const WHOLE: u8 = 19;
    pub(super) const TRIED: u8 = 20;
    pub(super) const FAILED_AT: u8 = 21;
    pub(super) const SAME: u8 = 22;
}

impl<'a> Entry<'a> {
    pub(in crate::room) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Entry::Tick(tick) => {
                out.push(tag::TICK);
                tick.put(out);
            }
            Entry::Begin { generation, schema } => {
                out.push(tag::BEGIN);
                out.extend_from_slice(&generation.to_le_bytes());
                schema.put(out);
            }
            Entry::Run { incarnation, last } => {
                out.push(tag::RUN);
                put!(out; incarnation, last);
            }
            Entry::Counters { automatic, next_player, last_session, next_effect } => {
                out.push(tag::COUNTERS);
                put!(out; automatic, next_player, last_session, next_effect);
            }
            Entry::Generator { seed, place } => {
                out.push(tag::GENERATOR);
                seed.put(out);
                out.extend_from_slice(&place.to_le_bytes());
            }
            Entry::Put { id, kind, created, mask, private_to, record } => {
                out.push(tag::PUT);
                id.put(out);
                out.push(*kind);
                put_flag(*created, out);
                if !created {
                    put_mask(*mask, out);
                }
                put!(out; private_to, record);
            }
            Entry::Delete(id) => {
                out.push(tag::DELETE);
                id.put(out);
            }
            Entry::Snap { id, kind, created, changed, private_to, record } => {
                out.push(tag::SNAP);
                id.put(out);
                out.push(*kind);
                put!(out; created, changed, private_to, record);
            }
            Entry::Account { name, player, left } => {
                out.push(tag::ACCOUNT);
                put!(out; name, player, left);
            }
            Entry::Forgotten(name) => {
                out.push(tag::FORGOTTEN);
                name.put(out);
            }
            Entry::Session(session) => {
                out.push(tag::SESSION);
                session.put(out);
            }
            Entry::Progress { session, handled, acknowledged } => {
                out.push(tag::PROGRESS);
                put!(out; session, handled, acknowledged);
            }
            Entry::Message { session, number, bytes } => {
                out.push(tag::MESSAGE);
                put!(out; session, number, bytes);
            }
            Entry::Same { session, number, other, theirs } => {
                out.push(tag::SAME);
                put!(out; session, number, other, theirs);
            }
            Entry::Ended(session) => {
                out.push(tag::ENDED);
                session.put(out);
            }
            Entry::Effect { number, key, payload } => {
                out.push(tag::EFFECT);
                put!(out; number, key, payload);
            }
            Entry::Performed(number) => {
                out.push(tag::PERFORMED);
                number.put(out);
            }
            Entry::Trying { session, number } => {
                out.push(tag::TRYING);
                put!(out; session, number);
            }
            Entry::Tried { session, number, times } => {
                out.push(tag::TRIED);
                put!(out; session, number, times);
            }
            Entry::Failed => out.push(tag::FAILED),
            Entry::FailedAt(tick) => {
                out.push(tag::FAILED_AT);
                tick.put(out);
            }
            Entry::Whole => out.push(tag::WHOLE),
        }
    }

    pub(in crate::room) fn take(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match r.u8()? {
            tag::TICK => Entry::Tick(Field::take(r)?),
            tag::BEGIN => {
                Entry::Begin { generation: u64::from_le_bytes(r.array()?), schema: Field::take(r)? }
            }
            tag::RUN => Entry::Run { incarnation: Field::take(r)?, last: Field::take(r)? },
            tag::COUNTERS => Entry::Counters {
                automatic: Field::take(r)?,
                next_player: Field::take(r)?,
                last_session: Field::take(r)?,
                next_effect: Field::take(r)?,
            },
            tag::GENERATOR => Entry::Generator { seed: r.array()?, place: u128::from_le_bytes(r.array()?) },
            tag::PUT => {
                let (id, kind, created) = (Field::take(r)?, r.u8()?, take_flag(r)?);
                let mask = if created { FieldMask::NONE } else { take_mask(r)? };
                Entry::Put { id, kind, created, mask, private_to: Field::take(r)?, record: Field::take(r)? }
            }
            tag::DELETE => Entry::Delete(Field::take(r)?),
            tag::SNAP => Entry::Snap {
                id: Field::take(r)?,
                kind: r.u8()?,
                created: Field::take(r)?,
                changed: Field::take(r)?,
                private_to: Field::take(r)?,
                record: Field::take(r)?,
            },
            tag::ACCOUNT => {
                Entry::Account { name: Field::take(r)?, player: Field::take(r)?, left: Field::take(r)? }
            }
            tag::FORGOTTEN => Entry::Forgotten(Field::take(r)?),
            tag::SESSION => Entry::Session(Box::new(Field::take(r)?)),
            tag::PROGRESS => Entry::Progress {
                session: Field::take(r)?,
                handled: Field::take(r)?,
                acknowledged: Field::take(r)?,
            },
            tag::MESSAGE => {
                Entry::Message { session: Field::take(r)?, number: Field::take(r)?, bytes: Field::take(r)? }
            }
            tag::SAME => Entry::Same {
                session: Field::take(r)?,
                number: Field::take(r)?,
                other: Field::take(r)?,
                theirs: Field::take(r)?,
            },
            tag::ENDED => Entry::Ended(Field::take(r)?),
            tag::EFFECT => {
                Entry::Effect { number: Field::take(r)?, key: Field::take(r)?, payload: Field::take(r)? }
            }
            tag::PERFORMED => Entry::Performed(Field::take(r)?),
            tag::TRYING => Entry::Trying { session: Field::take(r)?, number: Field::take(r)? },
            tag::TRIED => {
                Entry::Tried { session: Field::take(r)?, number: Field::take(r)?, times: Field::take(r)? }
            }
            tag::FAILED => Entry::Failed,
            tag::FAILED_AT => Entry::FailedAt(Field::take(r)?),
            tag::WHOLE => Entry::Whole,
            _ => return Err(DecodeError::Unknown),
        })
    }
}

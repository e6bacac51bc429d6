//! Stored entities of an older schema.
//!
//! A room keeps a description of its schema beside what it stores ([`StoredSchema`]). When it wakes under another schema,
//! a [`Converter`] turns each stored record into one of today's kind: fields match by name, wider types take narrower
//! values, new fields get defaults. For the rest it asks [`Game::migrate`]. Nothing is guessed: what fits neither way
//! is an error, and the room stays as it is stored.

mod convert;
mod migrating;
mod stored;
mod value;

use std::ops::Range;

pub use migrating::Migrating;
pub use stored::{StoredField, StoredKind, StoredSchema, StoredType};
pub use value::{Misfit, Value};

use super::game::{Game, Refused};
use crate::entity::EntityId;
use crate::limits;
use crate::schema::{Role, Schema};
use crate::store::LoadError;
use crate::wire::{DecodeError, Reader};
use convert::Target;

/// The end of every message for somebody who has just deployed a build that does not wake her rooms.
const WAY_OUT: &str = "or go back to the older build: what is stored is kept as it is";

/// A stored entity that does not fit today's schema. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// A field's type does not hold what the old one did.
    #[error("{kind}.{field} was stored as {from} and is {to} now: convert it in `migrate`, {WAY_OUT}")]
    Type {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
        /// The type that it had.
        from: String,
        /// The type that it has.
        to: String,
    },
    /// An enum has lost a variant that is stored.
    #[error(
        "{kind}.{field} was stored as {from} and is {to} now, which has no {value}: replace it in `migrate`, {WAY_OUT}"
    )]
    Variant {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
        /// The type that it had.
        from: String,
        /// The type that it has.
        to: String,
        /// The variant.
        value: String,
    },
    /// A new `Json` field for which nothing is known that its Rust type reads.
    #[error(
        "{kind}.{field} is new, and its Rust type reads none of null, {{}}, [], 0, \"\" and false: set it in `migrate`, \
         or give the type defaults (#[serde(default)]), {WAY_OUT}"
    )]
    NoDefault {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
    },
    /// The schema has no such kind any more.
    #[error(
        "stored entities of kind {kind}: {entities}; the schema has no such kind: give them another kind or drop them \
         in `migrate`, {WAY_OUT}"
    )]
    KindGone {
        /// The kind.
        kind: String,
        /// How many there are. [`Converter::convert`] knows of one; who has them all may say how many.
        entities: usize,
    },
    /// State or private state that would be something else, or become it.
    #[error(
        "{kind} was stored as {from} and {now} is {to} now: give it another kind or drop it in `migrate`, {WAY_OUT}"
    )]
    Role {
        /// The kind that it had.
        kind: String,
        /// What that was for.
        from: Role,
        /// The kind that it has.
        now: String,
        /// What that is for.
        to: Role,
    },
    /// The hook named a kind that the schema does not have.
    #[error(
        "`migrate` makes {from} {id} a {kind}, but the schema has no such kind: name one that it has, {WAY_OUT}"
    )]
    UnknownKind {
        /// The kind that it had.
        from: String,
        /// The entity.
        id: EntityId,
        /// The kind that the hook named.
        kind: String,
    },
    /// The hook named a field that the kind does not have.
    #[error("`migrate` sets {kind}.{field}, but the kind has no such field: name one that it has, {WAY_OUT}")]
    UnknownField {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
    },
    /// The hook set a value that the field's type does not hold.
    #[error("`migrate` sets {kind}.{field}, which is {to}, to {value}: set one that it holds, {WAY_OUT}")]
    Value {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
        /// The beginning of the value.
        value: String,
        /// The field's type.
        to: String,
    },
    /// A field's value is too large.
    #[error("`migrate` sets {kind}.{field} to {size} bytes; the most is {limit}: set less, {WAY_OUT}")]
    FieldTooLarge {
        /// The kind.
        kind: String,
        /// The field.
        field: String,
        /// Bytes of the value.
        size: usize,
        /// The most bytes.
        limit: usize,
    },
    /// The entity with its wider fields is too large.
    #[error(
        "{kind} {id} would take {size} bytes; the most is {}: shorten it in `migrate`, {WAY_OUT}",
        limits::ENTITY
    )]
    EntityTooLarge {
        /// The kind.
        kind: String,
        /// The entity.
        id: EntityId,
        /// Its bytes.
        size: usize,
    },
    /// The hook refused.
    #[error("`migrate` refused {kind} {id}: {reason}; let it convert or drop the entity, {WAY_OUT}")]
    Refused {
        /// The kind.
        kind: String,
        /// The entity.
        id: EntityId,
        /// Why.
        reason: String,
    },
    /// The record is none of its kind.
    #[error("the stored {kind} {id} does not decode: {error}; put the room's storage back from a copy")]
    Damaged {
        /// The kind.
        kind: String,
        /// The entity.
        id: EntityId,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// The record is none of today's kind.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Turns stored records of one schema into records of another.
#[derive(Debug)]
pub struct Converter {
    stored: StoredSchema,
    targets: Vec<Target>,
    /// For each stored kind, the kind of which its records are as they are.
    same: Vec<Option<usize>>,
}

impl Converter {
    /// Compares what was stored with what is there.
    #[must_use]
    pub fn new(stored: &StoredSchema, schema: &Schema) -> Converter {
        let now = StoredSchema::of(schema);
        let same = stored.kinds.iter().map(|kind| now.kinds.iter().position(|other| other == kind)).collect();
        let targets = now.kinds.into_iter().zip(schema.entries());
        let targets = targets.map(|(kind, entry)| Target::new(kind, entry)).collect();
        Converter { stored: stored.clone(), targets, same }
    }

    /// Where the kind at this place of the stored schema is the same today: its place in today's schema. Its records
    /// can be used as they are.
    #[must_use]
    pub fn is_identity(&self, old_kind: usize) -> Option<usize> {
        self.same.get(old_kind).copied().flatten()
    }

    /// Turns the record of an entity into one of today's schema: the place of its kind there, and its bytes. `None`
    /// where it is left behind: the game dropped it, or its kind is ephemeral now.
    pub fn convert<G: Game>(
        &self,
        id: EntityId,
        old_kind: usize,
        record: &[u8],
    ) -> Result<Option<(usize, Vec<u8>)>, MigrateError> {
        self.convert_with(id, old_kind, record, G::migrate)
    }

    fn convert_with(
        &self,
        id: EntityId,
        old_kind: usize,
        record: &[u8],
        hook: fn(&mut Migrating) -> Result<(), Refused>,
    ) -> Result<Option<(usize, Vec<u8>)>, MigrateError> {
        if let Some(kind) = self.is_identity(old_kind) {
            return Ok(Some((kind, record.to_vec())));
        }
        let damaged = |kind: &str, error| MigrateError::Damaged { kind: kind.to_owned(), id, error };
        let Some(old) = self.stored.kinds.get(old_kind) else {
            return Err(damaged(&format!("kind number {old_kind}"), DecodeError::Unknown));
        };
        // The library's own goes with it, where the game's schema is without.
        if old.role == Role::Presence && !self.targets.iter().any(|target| target.kind.role == Role::Presence)
        {
            return Ok(None);
        }
        let values = split(old, record).map_err(|error| damaged(&old.name, error))?;
        let mut entity = Migrating::new(id, old, values);
        // A game has no say in the library's own.
        let hook = if old.role == Role::Presence { |_: &mut Migrating| Ok(()) } else { hook };
        hook(&mut entity).map_err(|refused| MigrateError::Refused {
            kind: old.name.clone(),
            id,
            reason: refused.reason().to_owned(),
        })?;
        if entity.is_dropped() {
            return Ok(None);
        }
        let place = self.place(old, &entity)?;
        let target = &self.targets[place];
        if target.kind.ephemeral {
            return Ok(None);
        }
        Ok(Some((place, target.record(old, &entity, record)?)))
    }

    /// The place of an entity's kind in today's schema.
    fn place(&self, old: &StoredKind, entity: &Migrating) -> Result<usize, MigrateError> {
        let from = old.name.clone();
        let Some(place) = self.targets.iter().position(|target| target.kind.name == entity.kind()) else {
            return Err(match entity.kind() {
                kind if kind == from => MigrateError::KindGone { kind: from, entities: 1 },
                kind => MigrateError::UnknownKind { from, id: entity.id(), kind: kind.to_owned() },
            });
        };
        let StoredKind { name, role, .. } = &self.targets[place].kind;
        if *role != old.role {
            return Err(MigrateError::Role { kind: from, from: old.role, now: name.clone(), to: *role });
        }
        Ok(place)
    }
}

/// The values of a record, and where each lies in it.
fn split(kind: &StoredKind, record: &[u8]) -> Result<Vec<(Value, Range<usize>)>, DecodeError> {
    let mut r = Reader::new(record);
    let mut values = Vec::with_capacity(kind.fields.len());
    for field in &kind.fields {
        let start = record.len() - r.remaining();
        let value = value::take(&field.ty, &mut r)?;
        values.push((value, start..record.len() - r.remaining()));
    }
    r.end()?;
    Ok(values)
}

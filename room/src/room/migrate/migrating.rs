//! A stored entity on its way to another schema, as a game's hook gets it.

use std::ops::Range;

use super::stored::StoredKind;
use super::value::Value;
use crate::entity::EntityId;

/// A stored entity that [`Game::migrate`](crate::Game::migrate) makes fit for today's schema.
///
/// It has the fields and the values that it had when it was stored. What the hook leaves alone is converted afterwards
/// as it is without a hook: by name, where the type is the same or a wider one. What the hook sets is taken as a setter
/// takes it: quantized numbers are rounded and clamped, and a value that is no option becomes one.
#[derive(Clone, Debug)]
pub struct Migrating {
    id: EntityId,
    kind: String,
    fields: Vec<Held>,
    dropped: bool,
}

/// A field that the entity has.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub name: String,
    pub value: Value,
    /// Which field it was, and its bytes in the record; `None` once the hook has set it.
    pub was: Option<(usize, Range<usize>)>,
    /// Whether the hook gave it this name, so that a kind without such a field is a mistake.
    pub named: bool,
}

impl Migrating {
    pub(super) fn new(id: EntityId, kind: &StoredKind, values: Vec<(Value, Range<usize>)>) -> Migrating {
        let held = |(index, (value, range)): (usize, (Value, Range<usize>))| {
            let name = kind.fields[index].name.clone();
            Held { name, value, was: Some((index, range)), named: false }
        };
        let fields = values.into_iter().enumerate().map(held).collect();
        Migrating { id, kind: kind.name.clone(), fields, dropped: false }
    }

    /// The entity's ID.
    #[must_use]
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// The name of its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Makes it an entity of another kind. State stays state, and private state stays private.
    pub fn set_kind(&mut self, kind: impl Into<String>) {
        self.kind = kind.into();
    }

    /// Its fields by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|held| (held.name.as_str(), &held.value))
    }

    /// The value of a field, where it has one of this name.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.fields().find(|(name, _)| *name == field).map(|(_, value)| value)
    }

    /// Gives a field a value. Today's kind must have a field of this name.
    pub fn set(&mut self, field: impl Into<String>, value: impl Into<Value>) {
        let held = Held { name: field.into(), value: value.into(), was: None, named: true };
        self.insert(held);
    }

    /// Takes a field's value out. If today's kind has a field of this name, it gets its default unless another value
    /// is set.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.remove(field).map(|held| held.value)
    }

    /// Gives a field another name, in place of a field that has it; returns whether there was one to rename. Its value
    /// is converted as if it had always been called so.
    pub fn rename(&mut self, from: &str, to: impl Into<String>) -> bool {
        let Some(held) = self.remove(from) else { return false };
        self.insert(Held { name: to.into(), named: true, ..held });
        true
    }

    /// Leaves the entity behind. State and private state begin anew from their defaults.
    pub fn drop_entity(&mut self) {
        self.dropped = true;
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped
    }

    pub(super) fn held(&self) -> &[Held] {
        &self.fields
    }

    fn remove(&mut self, field: &str) -> Option<Held> {
        let at = self.fields.iter().position(|held| held.name == field)?;
        Some(self.fields.remove(at))
    }

    fn insert(&mut self, held: Held) {
        self.remove(&held.name);
        self.fields.push(held);
    }
}

//! From the fields of a stored entity to a record of today's kind.

use std::sync::OnceLock;

use super::MigrateError;
use super::migrating::{Held, Migrating};
use super::stored::{StoredKind, StoredType};
use super::value::{Misfit, Value, put, put_blob};
use crate::entity::EntityId;
use crate::limits;
use crate::schema::KindEntry;
use crate::store::{AnyStore, LoadError};
use crate::wire::DecodeError;

/// A kind of today's schema.
#[derive(Debug)]
pub(super) struct Target {
    pub kind: StoredKind,
    store: Option<fn() -> Box<dyn AnyStore>>,
    /// A field each: the first text of [`TEXTS`] that a new `Json` field takes, once that was found out.
    texts: Vec<OnceLock<&'static str>>,
}

/// What a new `Json` field may hold. The schema does not say which of them its Rust type reads, so they are tried.
const TEXTS: [&str; 6] = ["null", "{}", "[]", "0", "\"\"", "false"];

impl Target {
    pub(super) fn new(kind: StoredKind, entry: &KindEntry) -> Target {
        let texts = kind.fields.iter().map(|_| OnceLock::new()).collect();
        Target { kind, store: entry.make.as_ref().map(|make| make.store), texts }
    }

    /// The whole record of an entity that was of kind `old`, and is of this one.
    pub(super) fn record(
        &self,
        old: &StoredKind,
        entity: &Migrating,
        record: &[u8],
    ) -> Result<Vec<u8>, MigrateError> {
        let unknown = |held: &&Held| held.named && self.kind.fields.iter().all(|f| f.name != held.name);
        if let Some(held) = entity.held().iter().find(unknown) {
            return Err(MigrateError::UnknownField {
                kind: self.kind.name.clone(),
                field: held.name.clone(),
            });
        }
        let mut out = Vec::with_capacity(record.len());
        for (index, field) in self.kind.fields.iter().enumerate() {
            match entity.held().iter().find(|held| held.name == field.name) {
                Some(held) => self.put_held(index, old, held, record, &mut out)?,
                None => self.put_default(index, &mut out)?,
            }
        }
        if out.len() > limits::ENTITY {
            let kind = self.kind.name.clone();
            return Err(MigrateError::EntityTooLarge { kind, id: entity.id(), size: out.len() });
        }
        Ok(out)
    }

    fn put_held(
        &self,
        index: usize,
        old: &StoredKind,
        held: &Held,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), MigrateError> {
        let ty = &self.kind.fields[index].ty;
        let was = held.was.as_ref().map(|(was, range)| (&old.fields[*was].ty, range.clone()));
        let fits = match &was {
            Some((was, range)) if *was == ty => {
                out.extend_from_slice(&record[range.clone()]);
                return Ok(());
            }
            Some((was, _)) => widens(was, ty),
            None => true,
        };
        let misfit = match fits {
            true => put(&held.value, ty, out).err(),
            false => Some(Misfit::Type),
        };
        let Some(misfit) = misfit else { return Ok(()) };
        let (kind, field) = (self.kind.name.clone(), held.name.clone());
        Err(match (misfit, was) {
            (Misfit::Size { size, limit }, _) => MigrateError::FieldTooLarge { kind, field, size, limit },
            // Of types that widen, only an enum has values that the other has not.
            (Misfit::Type, Some((was, _))) if fits => {
                let (value, to) = (held.value.name(), ty.to_string());
                MigrateError::Variant { kind, field, from: was.to_string(), to, value }
            }
            (Misfit::Type, Some((was, _))) => {
                MigrateError::Type { kind, field, from: was.to_string(), to: ty.to_string() }
            }
            (Misfit::Type, None) => {
                MigrateError::Value { kind, field, value: held.value.shown(), to: ty.to_string() }
            }
        })
    }

    /// Appends what a field holds that was not stored.
    fn put_default(&self, index: usize, out: &mut Vec<u8>) -> Result<(), MigrateError> {
        let field = &self.kind.fields[index];
        let none = || MigrateError::NoDefault { kind: self.kind.name.clone(), field: field.name.clone() };
        match default(&field.ty) {
            Some(value) => put(&value, &field.ty, out).map_err(|_| none()),
            None if field.ty == StoredType::Json => {
                let text = match self.texts[index].get() {
                    Some(text) => text,
                    None => {
                        let found = self.find_text(out)?.ok_or_else(none)?;
                        self.texts[index].get_or_init(|| found)
                    }
                };
                put_blob(text.as_bytes(), limits::JSON, out).map_err(|_| none())
            }
            None => Err(none()),
        }
    }

    /// The first text that the `Json` field behind the fields in `before` takes.
    fn find_text(&self, before: &[u8]) -> Result<Option<&'static str>, MigrateError> {
        let Some(store) = self.store else { return Ok(Some(TEXTS[0])) };
        let load = |record: &[u8]| store().load(EntityId::STATE, 0, record);
        let ends_inside = |result: &Result<u32, LoadError>| {
            matches!(result, Err(LoadError::Decode { error: DecodeError::Truncated, .. }))
        };
        // No field has an empty encoding, so what is missing is told as that alone, once all before it was read.
        match load(before) {
            result if ends_inside(&result) => {}
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let taken = |text: &&&str| {
            let mut record = before.to_vec();
            let put = put_blob(text.as_bytes(), limits::JSON, &mut record);
            let result = load(&record);
            put.is_ok() && (ends_inside(&result) || !matches!(result, Err(LoadError::Json { .. })))
        };
        Ok(TEXTS.iter().find(taken).copied())
    }
}

/// What a new field holds; of `Json` fields, and of an enum without variants, it is not known.
fn default(ty: &StoredType) -> Option<Value> {
    Some(match ty {
        StoredType::Bool => Value::Bool(false),
        StoredType::Unsigned(_) => Value::Unsigned(0),
        StoredType::Signed(_) => Value::Signed(0),
        // In a quantized range it is clamped to what is nearest.
        StoredType::Float(_) | StoredType::Quantized { .. } => Value::Float(0.0),
        StoredType::Array(of, count) => Value::List(vec![default(of)?; *count]),
        StoredType::Enum(variants) => Value::Variant(variants.first()?.0.clone()),
        StoredType::Option(_) => Value::None,
        StoredType::Player => Value::Player(Default::default()),
        StoredType::Text => Value::Text(String::new()),
        StoredType::Bytes => Value::Bytes(Vec::new()),
        StoredType::Json => return None,
    })
}

/// Whether `to` holds every value of `from`: exactly, or rounded to the steps of a quantized type. Of enums that shows
/// only value by value.
fn widens(from: &StoredType, to: &StoredType) -> bool {
    use StoredType::{Array, Enum, Float, Option, Quantized, Signed, Unsigned};
    match (from, to) {
        _ if from == to => true,
        (Option(from), Option(to)) => widens(from, to),
        (from, Option(to)) => widens(from, to),
        (Array(from, some), Array(to, others)) => some == others && widens(from, to),
        (Enum(_), Enum(_)) => true,
        (Unsigned(from), Unsigned(to)) | (Signed(from), Signed(to)) => from <= to,
        (Unsigned(from), Signed(to)) => from < to,
        // A float of four bytes holds whole numbers of three exactly, one of eight those of six.
        (Unsigned(from) | Signed(from), Float(to)) => from < to,
        (Float(from), Float(to)) => from <= to,
        (Quantized { float, .. }, Float(to)) => float <= to,
        (Quantized { min, max, .. }, Quantized { min: least, max: most, .. }) => least <= min && max <= most,
        _ => false,
    }
}

//! Field values by themselves, without the Rust type that they had or will have.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::stored::{StoredKind, StoredType};
use crate::entity::PlayerId;
use crate::field::quantize::Steps;
use crate::field::{Bytes, FieldEnum};
use crate::limits;
use crate::room::game::Refused;
use crate::wire::{DecodeError, Reader, varint};

/// The value of a field that was stored, or that is to be.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A `u8` to `u64`.
    Unsigned(u64),
    /// An `i8` to `i64`.
    Signed(i64),
    /// An `f32` or `f64`, quantized or not.
    Float(f64),
    /// A player's number.
    Player(PlayerId),
    /// A `String`.
    Text(String),
    /// A `Bytes`.
    Bytes(Vec<u8>),
    /// What a `Json` field holds.
    Json(serde_json::Value),
    /// An array.
    List(Vec<Value>),
    /// A variant of a fieldless enum, by name.
    Variant(String),
    /// An `Option` that has a value.
    Some(Box<Value>),
    /// An `Option` that has none.
    None,
}

impl Value {
    /// A variant of an enum, such as `Mood::Calm`.
    #[must_use]
    pub fn variant<E: FieldEnum>(variant: E) -> Value {
        let known = E::VARIANTS.iter().find(|(_, code)| *code == variant.code());
        Value::Variant(known.map_or_else(String::new, |(name, _)| (*name).to_owned()))
    }

    /// A value for a `Json` field. Refused where JSON cannot say it.
    pub fn json<T: Serialize>(value: &T) -> Result<Value, Refused> {
        serde_json::to_value(value).map(Value::Json).map_err(|error| Refused::new(error.to_string()))
    }

    /// Reads the value of a `Json` field as a type. Refused where it is none, and for other fields.
    pub fn from_json<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        match self {
            Value::Json(json) => T::deserialize(json).map_err(|error| Refused::new(error.to_string())),
            other => Err(Refused::new(format!("{} is no JSON", other.shown()))),
        }
    }

    /// The value of a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// The value of an integer that is not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_integer().and_then(|value| value.try_into().ok())
    }

    /// The value of an integer.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_integer().and_then(|value| value.try_into().ok())
    }

    /// The value of a float, or the nearest one to an integer.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            other => other.as_integer().map(|value| value as f64),
        }
    }

    /// The text, or the name of the variant.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Variant(text) => Some(text),
            _ => None,
        }
    }

    /// The values of an array.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(values) = self { Some(values) } else { None }
    }

    fn as_integer(&self) -> Option<i128> {
        match self {
            Value::Unsigned(value) => Some((*value).into()),
            Value::Signed(value) => Some((*value).into()),
            _ => None,
        }
    }

    /// The value of an enum for an error: the name of the variant.
    pub(super) fn name(&self) -> String {
        match self {
            Value::Variant(name) => name.clone(),
            Value::Some(value) => value.name(),
            other => other.shown(),
        }
    }

    /// The value for an error: the beginning of it.
    pub(super) fn shown(&self) -> String {
        const MOST: usize = 40;
        let text = format!("{self:?}");
        match text.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

macro_rules! from {
    ($($ty:ty: $value:ident => $made:expr;)*) => { $(
        impl From<$ty> for Value {
            fn from($value: $ty) -> Value {
                $made
            }
        }
    )* };
}

from! {
    bool: value => Value::Bool(value);
    u8: value => Value::Unsigned(value.into());
    u16: value => Value::Unsigned(value.into());
    u32: value => Value::Unsigned(value.into());
    u64: value => Value::Unsigned(value);
    i8: value => Value::Signed(value.into());
    i16: value => Value::Signed(value.into());
    i32: value => Value::Signed(value.into());
    i64: value => Value::Signed(value);
    f32: value => Value::Float(widened(value));
    f64: value => Value::Float(value);
    PlayerId: value => Value::Player(value);
    String: value => Value::Text(value);
    &str: value => Value::Text(value.to_owned());
    Vec<u8>: value => Value::Bytes(value);
    Bytes: value => Value::Bytes(value.into());
    serde_json::Value: value => Value::Json(value);
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::None, |value| Value::Some(Box::new(value.into())))
    }
}

/// A value that a type does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfit {
    /// It is of another type, or out of its range.
    Type,
    /// It is too large.
    Size {
        /// Its bytes.
        size: usize,
        /// The most bytes.
        limit: usize,
    },
}

impl StoredKind {
    /// Reads a record of this kind: a value a field, in order.
    pub fn read(&self, record: &[u8]) -> Result<Vec<Value>, DecodeError> {
        let mut r = Reader::new(record);
        let values = self.fields.iter().map(|field| take(&field.ty, &mut r)).collect::<Result<_, _>>()?;
        r.end()?;
        Ok(values)
    }

    /// Writes values, one a field and in order, as a record of this kind. The error has the index of the field whose
    /// value is missing or does not fit.
    pub fn write(&self, values: &[Value]) -> Result<Vec<u8>, (usize, Misfit)> {
        let mut out = Vec::new();
        for (index, field) in self.fields.iter().enumerate() {
            let value = values.get(index).ok_or((index, Misfit::Type))?;
            put(value, &field.ty, &mut out).map_err(|misfit| (index, misfit))?;
        }
        Ok(out)
    }
}

/// The same number, of a NaN the same bits: a cast would make a quiet one of it.
fn widened(value: f32) -> f64 {
    if !value.is_nan() {
        return value.into();
    }
    let bits = u64::from(value.to_bits());
    f64::from_bits(bits >> 31 << 63 | 0x7ff << 52 | (bits & 0x7f_ffff) << 29)
}

/// The nearest number, of a NaN as many bits as there are.
fn narrowed(value: f64) -> f32 {
    if !value.is_nan() {
        return value as f32;
    }
    let bits = value.to_bits();
    let payload = (bits >> 29) as u32 & 0x7f_ffff;
    // Without a payload it would be infinite.
    let payload = if payload == 0 { 0x40_0000 } else { payload };
    f32::from_bits(((bits >> 63) as u32) << 31 | 0x7f80_0000 | payload)
}

/// Reads a value of a type.
pub(super) fn take(ty: &StoredType, r: &mut Reader<'_>) -> Result<Value, DecodeError> {
    Ok(match ty {
        StoredType::Bool => Value::Bool(take_bool(r)?),
        StoredType::Unsigned(bytes) => Value::Unsigned(take_word(*bytes, r)?),
        StoredType::Signed(bytes) => {
            let unused = 64 - 8 * u32::from(*bytes);
            Value::Signed((take_word(*bytes, r)? << unused) as i64 >> unused)
        }
        StoredType::Float(4) => Value::Float(widened(f32::from_le_bytes(r.array()?))),
        StoredType::Float(_) => Value::Float(f64::from_le_bytes(r.array()?)),
        StoredType::Quantized { float, step, min, max } => {
            let value = Steps::new(*step, *min, *max).take(r)?;
            Value::Float(if *float == 4 { f64::from(value as f32) } else { value })
        }
        StoredType::Array(of, count) => {
            Value::List((0..*count).map(|_| take(of, r)).collect::<Result<_, _>>()?)
        }
        StoredType::Enum(variants) => {
            let code = r.u8()?;
            let known = variants.iter().find(|(_, other)| *other == code);
            Value::Variant(known.ok_or(DecodeError::Value)?.0.clone())
        }
        StoredType::Option(of) if take_bool(r)? => Value::Some(Box::new(take(of, r)?)),
        StoredType::Option(_) => Value::None,
        StoredType::Player => Value::Player(PlayerId(u32::from_le_bytes(r.array()?))),
        StoredType::Text => Value::Text(r.text(limits::TEXT)?.to_owned()),
        StoredType::Bytes => Value::Bytes(r.blob(limits::BLOB)?.to_vec()),
        StoredType::Json => {
            let text = r.text(limits::JSON)?;
            Value::Json(serde_json::from_str(text).map_err(|_| DecodeError::Json)?)
        }
    })
}

fn take_bool(r: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::Value),
    }
}

/// Reads an integer of so many bytes, at most 8.
fn take_word(bytes: u8, r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let bytes = r.bytes(bytes.into())?;
    Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

/// Appends a value as a field of a type, as a setter would take it: what is quantized is rounded and clamped, and what
/// is no option is the value of one. On an error, what was appended is to be cut off.
pub(super) fn put(value: &Value, ty: &StoredType, out: &mut Vec<u8>) -> Result<(), Misfit> {
    match (ty, value) {
        (StoredType::Bool, Value::Bool(value)) => out.push(u8::from(*value)),
        (StoredType::Unsigned(bytes), _) => {
            let value = value.as_u64().ok_or(Misfit::Type)?;
            put_word(value, *bytes, value >> (8 * u32::from(*bytes) - 1) > 1, out)?;
        }
        (StoredType::Signed(bytes), _) => {
            let value = value.as_i64().ok_or(Misfit::Type)?;
            let rest = value >> (8 * u32::from(*bytes) - 1);
            put_word(value as u64, *bytes, rest != 0 && rest != -1, out)?;
        }
        (StoredType::Float(bytes), _) => put_float(value, *bytes, out)?,
        (StoredType::Quantized { step, min, max, .. }, _) => {
            Steps::new(*step, *min, *max).put(value.as_f64().ok_or(Misfit::Type)?, out);
        }
        (StoredType::Array(of, count), Value::List(values)) if values.len() == *count => {
            values.iter().try_for_each(|value| put(value, of, out))?;
        }
        (StoredType::Enum(variants), Value::Variant(name) | Value::Text(name)) => {
            let known = variants.iter().find(|(other, _)| other == name);
            out.push(known.ok_or(Misfit::Type)?.1);
        }
        (StoredType::Option(_), Value::None) => out.push(0),
        (StoredType::Option(of), value) => {
            out.push(1);
            let value = if let Value::Some(value) = value { value } else { value };
            put(value, of, out)?;
        }
        (StoredType::Player, Value::Player(player)) => out.extend_from_slice(&player.0.to_le_bytes()),
        (StoredType::Text, Value::Text(text)) => put_blob(text.as_bytes(), limits::TEXT, out)?,
        (StoredType::Bytes, Value::Bytes(bytes)) => put_blob(bytes, limits::BLOB, out)?,
        (StoredType::Json, Value::Json(json)) => {
            let mut json = json.clone();
            json.sort_all_objects();
            put_blob(json.to_string().as_bytes(), limits::JSON, out)?;
        }
        _ => return Err(Misfit::Type),
    }
    Ok(())
}

/// Appends the low bytes of an integer, unless it has more.
fn put_word(value: u64, bytes: u8, over: bool, out: &mut Vec<u8>) -> Result<(), Misfit> {
    if over {
        return Err(Misfit::Type);
    }
    out.extend_from_slice(&value.to_le_bytes()[..bytes.into()]);
    Ok(())
}

/// Appends a float rounded to so many bytes, or an integer that is exact as one.
fn put_float(value: &Value, bytes: u8, out: &mut Vec<u8>) -> Result<(), Misfit> {
    let float = value.as_f64().ok_or(Misfit::Type)?;
    let held = if bytes == 4 { widened(narrowed(float)) } else { float };
    let exact = value.as_integer().is_none_or(|integer| held as i128 == integer);
    if !exact || (float.is_finite() && !held.is_finite()) {
        return Err(Misfit::Type);
    }
    match bytes {
        4 => out.extend_from_slice(&narrowed(float).to_le_bytes()),
        _ => out.extend_from_slice(&float.to_le_bytes()),
    }
    Ok(())
}

/// Appends counted bytes.
pub(super) fn put_blob(bytes: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Misfit> {
    if bytes.len() > limit {
        return Err(Misfit::Size { size: bytes.len(), limit });
    }
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    Ok(())
}

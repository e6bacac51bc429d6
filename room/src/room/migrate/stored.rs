//! What a schema said of its kinds, kept beside what was stored of them.

use std::fmt;

use crate::field::WireType;
use crate::limits;
use crate::schema::{Role, Schema};
use crate::wire::{DecodeError, Reader, varint};

/// The first byte of a description.
const VERSION: u8 = 1;
/// The only flag of a kind.
const EPHEMERAL: u8 = 1;
/// How deep types lie in one another: an option of an array of numbers.
const DEPTH: usize = 3;
/// The most steps that a field has, with some to spare: past it their arithmetic is not exact.
const STEPS: f64 = (1u64 << 52) as f64;

/// All kinds of a schema, hidden ones too, with as much as it takes to read what was stored of them.
///
/// Two that are equal describe the same records: nothing has to be converted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredSchema {
    /// The kinds in order.
    pub kinds: Vec<StoredKind>,
}

/// A kind of a [`StoredSchema`].
#[derive(Clone, Debug, PartialEq)]
pub struct StoredKind {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Whether its entities are never stored.
    pub ephemeral: bool,
    /// Its fields in order.
    pub fields: Vec<StoredField>,
}

/// A field of a [`StoredKind`].
#[derive(Clone, Debug, PartialEq)]
pub struct StoredField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: StoredType,
}

/// A [`WireType`] that owns what it is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StoredType {
    /// A boolean.
    Bool,
    /// An integer of so many bytes.
    Unsigned(u8),
    /// A signed integer of so many bytes.
    Signed(u8),
    /// A float of so many bytes.
    Float(u8),
    /// A float of so many bytes in memory, rounded to steps from `min` to `max`.
    Quantized {
        /// 4 or 8.
        float: u8,
        /// The distance between two values.
        step: f64,
        /// The lowest value.
        min: f64,
        /// The highest value.
        max: f64,
    },
    /// So many of one type.
    Array(Box<StoredType>, usize),
    /// A fieldless enum: names and numbers.
    Enum(Vec<(String, u8)>),
    /// Maybe one of a type.
    Option(Box<StoredType>),
    /// A player's number.
    Player,
    /// UTF-8.
    Text,
    /// Bytes.
    Bytes,
    /// JSON text.
    Json,
}

impl StoredSchema {
    /// Describes a schema.
    #[must_use]
    pub fn of(schema: &Schema) -> StoredSchema {
        let kinds = schema.entries().iter().map(|entry| StoredKind {
            name: entry.kind.name.to_owned(),
            role: entry.role,
            ephemeral: entry.kind.ephemeral,
            fields: entry
                .kind
                .fields
                .iter()
                .map(|f| StoredField { name: f.name.to_owned(), ty: (&f.wire).into() })
                .collect(),
        });
        StoredSchema { kinds: kinds.collect() }
    }

    /// Appends the description's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        varint::put(out, self.kinds.len() as u64);
        for kind in &self.kinds {
            out.push(match kind.role {
                Role::State => 0,
                Role::Private => 1,
                Role::Entity => 2,
                Role::Presence => 3,
            });
            out.push(if kind.ephemeral { EPHEMERAL } else { 0 });
            put_name(&kind.name, out);
            varint::put(out, kind.fields.len() as u64);
            for field in &kind.fields {
                put_name(&field.name, out);
                field.ty.encode(out);
            }
        }
    }

    /// Reads a description. The bytes are not trusted: what they spell out is within the bounds of a schema.
    pub fn decode(bytes: &[u8]) -> Result<StoredSchema, DecodeError> {
        let mut r = Reader::new(bytes);
        match r.u8()? {
            VERSION => {}
            other => return Err(DecodeError::Tag(other)),
        }
        let mut schema = StoredSchema::default();
        // Beside the game's kinds stand the library's own.
        for _ in 0..r.count(2 * limits::KINDS)? {
            schema.kinds.push(StoredKind::decode(&mut r)?);
        }
        r.end()?;
        Ok(schema)
    }
}

impl StoredKind {
    fn decode(r: &mut Reader<'_>) -> Result<StoredKind, DecodeError> {
        let role = match r.u8()? {
            0 => Role::State,
            1 => Role::Private,
            2 => Role::Entity,
            3 => Role::Presence,
            other => return Err(DecodeError::Tag(other)),
        };
        let ephemeral = match r.u8()? {
            0 => false,
            EPHEMERAL => true,
            _ => return Err(DecodeError::Value),
        };
        let mut kind =
            StoredKind { name: r.text(limits::NAME)?.to_owned(), role, ephemeral, fields: Vec::new() };
        for _ in 0..r.count(limits::FIELDS)? {
            let name = r.text(limits::NAME)?.to_owned();
            kind.fields.push(StoredField { name, ty: StoredType::decode(r, DEPTH)? });
        }
        Ok(kind)
    }
}

fn put_name(name: &str, out: &mut Vec<u8>) {
    varint::put(out, name.len() as u64);
    out.extend_from_slice(name.as_bytes());
}

impl StoredType {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            StoredType::Bool => out.push(0),
            StoredType::Unsigned(bytes) => out.extend([1, *bytes]),
            StoredType::Signed(bytes) => out.extend([2, *bytes]),
            StoredType::Float(bytes) => out.extend([3, *bytes]),
            StoredType::Quantized { float, step, min, max } => {
                out.extend([4, *float]);
                for part in [step, min, max] {
                    out.extend_from_slice(&part.to_le_bytes());
                }
            }
            StoredType::Array(of, count) => {
                out.extend([5, *count as u8]);
                of.encode(out);
            }
            StoredType::Enum(variants) => {
                out.push(6);
                varint::put(out, variants.len() as u64);
                for (name, code) in variants {
                    put_name(name, out);
                    out.push(*code);
                }
            }
            StoredType::Option(of) => {
                out.push(7);
                of.encode(out);
            }
            StoredType::Player => out.push(8),
            StoredType::Text => out.push(9),
            StoredType::Bytes => out.push(10),
            StoredType::Json => out.push(11),
        }
    }

    /// Reads a type in which at most `depth` lie in one another.
    fn decode(r: &mut Reader<'_>, depth: usize) -> Result<StoredType, DecodeError> {
        let inner = |r: &mut Reader<'_>| match depth {
            0 | 1 => Err(DecodeError::TooLong),
            _ => StoredType::decode(r, depth - 1).map(Box::new),
        };
        let one_of = |byte: u8, known: &[u8]| match known.contains(&byte) {
            true => Ok(byte),
            false => Err(DecodeError::Value),
        };
        Ok(match r.u8()? {
            0 => StoredType::Bool,
            1 => StoredType::Unsigned(one_of(r.u8()?, &[1, 2, 4, 8])?),
            2 => StoredType::Signed(one_of(r.u8()?, &[1, 2, 4, 8])?),
            3 => StoredType::Float(one_of(r.u8()?, &[4, 8])?),
            4 => StoredType::quantized(one_of(r.u8()?, &[4, 8])?, r)?,
            5 => {
                let count = usize::from(r.u8()?);
                if !(1..=limits::ARRAY).contains(&count) {
                    return Err(DecodeError::TooLong);
                }
                StoredType::Array(inner(r)?, count)
            }
            6 => {
                let mut variants = Vec::new();
                for _ in 0..r.count(256)? {
                    // The derive does not bound the length of a variant's name.
                    variants.push((r.text(r.remaining())?.to_owned(), r.u8()?));
                }
                StoredType::Enum(variants)
            }
            7 => StoredType::Option(inner(r)?),
            8 => StoredType::Player,
            9 => StoredType::Text,
            10 => StoredType::Bytes,
            11 => StoredType::Json,
            other => return Err(DecodeError::Tag(other)),
        })
    }

    fn quantized(float: u8, r: &mut Reader<'_>) -> Result<StoredType, DecodeError> {
        let mut part = || r.array().map(f64::from_le_bytes);
        let (step, min, max) = (part()?, part()?, part()?);
        let finite = step.is_finite() && min.is_finite() && max.is_finite();
        if finite && step > 0.0 && min < max && (max - min) / step < STEPS {
            Ok(StoredType::Quantized { float, step, min, max })
        } else {
            Err(DecodeError::Value)
        }
    }
}

impl From<&WireType> for StoredType {
    fn from(wire: &WireType) -> StoredType {
        match *wire {
            WireType::Bool => StoredType::Bool,
            WireType::Unsigned(bytes) => StoredType::Unsigned(bytes),
            WireType::Signed(bytes) => StoredType::Signed(bytes),
            WireType::Float(bytes) => StoredType::Float(bytes),
            WireType::Quantized { float, step, min, max } => StoredType::Quantized { float, step, min, max },
            WireType::Array(of, count) => StoredType::Array(Box::new(of.into()), count),
            WireType::Enum(variants) => {
                StoredType::Enum(variants.iter().map(|(name, code)| ((*name).to_owned(), *code)).collect())
            }
            WireType::Option(of) => StoredType::Option(Box::new(of.into())),
            WireType::Player => StoredType::Player,
            WireType::Text => StoredType::Text,
            WireType::Bytes => StoredType::Bytes,
            WireType::Json => StoredType::Json,
        }
    }
}

/// As [`WireType`] shows itself, but that a long list of variants is cut.
impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const VARIANTS: usize = 8;
        match self {
            StoredType::Bool => WireType::Bool.fmt(f),
            StoredType::Unsigned(bytes) => WireType::Unsigned(*bytes).fmt(f),
            StoredType::Signed(bytes) => WireType::Signed(*bytes).fmt(f),
            StoredType::Float(bytes) => WireType::Float(*bytes).fmt(f),
            StoredType::Quantized { float, step, min, max } => {
                WireType::Quantized { float: *float, step: *step, min: *min, max: *max }.fmt(f)
            }
            StoredType::Array(of, count) => write!(f, "[{of};{count}]"),
            StoredType::Enum(variants) => {
                let names: Vec<&str> =
                    variants.iter().take(VARIANTS).map(|(name, _)| name.as_str()).collect();
                let more = if variants.len() > VARIANTS { ",…" } else { "" };
                write!(f, "enum({}{more})", names.join(","))
            }
            StoredType::Option(of) => write!(f, "option({of})"),
            StoredType::Player => WireType::Player.fmt(f),
            StoredType::Text => WireType::Text.fmt(f),
            StoredType::Bytes => WireType::Bytes.fmt(f),
            StoredType::Json => WireType::Json.fmt(f),
        }
    }
}

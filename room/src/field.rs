//! Field types: how each is held, written, compared, and put on the wire.
//!
//! A field's type picks a [`Codec`] through [`Field`]; `#[field(quantize(…))]` picks [`Quantized`] instead.
//! A codec says how a value is encoded whole, how as a difference, and what has to be remembered of a write
//! until the next seal ([`Codec::Track`]).

pub mod blob;
pub mod json;
pub mod quantize;
pub mod scalar;
pub mod text;
pub mod write;

use std::fmt;

pub use blob::Bytes;
pub use json::Json;
pub use quantize::Quantize;
pub use quantize::Quantized;
pub use scalar::{Element, FieldEnum, OptionField, Plain, Scalar};

use crate::tick::Tick;
use crate::wire::{DecodeError, Reader};
use write::Outcome;

/// A type that a field of an entity can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of an entity",
    note = "fields are bool, integers, floats, arrays of at most 16 of those, `Option` of those, fieldless enums \
            with `#[derive(FieldEnum)]`, PlayerId, String, Bytes, and Json<T> for any other serde type"
)]
pub trait Field: Sized {
    /// How it travels.
    type Codec: Codec<Value = Self>;
}

/// A limit of a field that a value passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverLimit {
    /// The value's size in bytes; 0 where it could not be encoded at all.
    pub size: usize,
    /// The most bytes it may have.
    pub limit: usize,
}

/// How a field is encoded, compared and tracked. An implementation detail of the derive.
pub trait Codec: 'static {
    /// The Rust type of the field.
    type Value: Clone + fmt::Debug + Send + Sync + 'static;
    /// What is remembered of writes since the last seal (and, for bytes, of recent patches).
    type Track: Default + fmt::Debug + Send + Sync + 'static;
    /// What a setter returns: `()`, or a `Result` for types that a limit can refuse.
    type Outcome: Outcome;
    /// The type on the wire.
    const WIRE: WireType;

    /// Makes a value what both ends hold (quantized ones are rounded); returns whether it was clamped.
    fn normalize(_value: &mut Self::Value) -> bool {
        false
    }
    /// Refuses a value that is too large.
    fn check(_value: &Self::Value) -> Result<(), OverLimit> {
        Ok(())
    }
    /// Whether no float in it is infinite or NaN.
    fn is_finite(_value: &Self::Value) -> bool {
        true
    }
    /// Bytes of the whole encoding.
    fn size(value: &Self::Value) -> usize;
    /// Whether two values are the same, floats by their bits.
    fn same(a: &Self::Value, b: &Self::Value) -> bool;
    /// Puts a new value in place of `value`, remembering what the seal needs. `first` says that the field was
    /// not written since the last seal.
    fn replace(value: &mut Self::Value, new: Self::Value, track: &mut Self::Track, first: bool);
    /// Ends the writes since the last seal; returns whether the value differs from what it was then.
    fn seal(value: &Self::Value, track: &mut Self::Track, tick: Tick) -> bool;
    /// After [`seal`](Self::seal): appends the change as the fast path sends it; returns whether it is a
    /// difference from the last seal's value.
    fn put_sealed(value: &Self::Value, track: &mut Self::Track, tick: Tick, out: &mut Vec<u8>) -> bool {
        let _ = (track, tick);
        Self::put_change(value, out);
        false
    }
    /// The value comes from a store, which does not know how it came to be, and last changed in this tick.
    fn restored(_track: &mut Self::Track, _tick: Tick) {}
    /// Appends everything that changed after `since`, in whole values or ranges.
    fn put_since(value: &Self::Value, track: &Self::Track, since: Tick, out: &mut Vec<u8>) {
        let _ = (track, since);
        Self::put_change(value, out);
    }
    /// Appends the whole value in the form of a change.
    fn put_change(value: &Self::Value, out: &mut Vec<u8>) {
        Self::put(value, out);
    }
    /// Appends the whole value.
    fn put(value: &Self::Value, out: &mut Vec<u8>);
    /// Reads a whole value.
    fn take(r: &mut Reader<'_>) -> Result<Self::Value, DecodeError>;
    /// Applies a change in whole values or ranges.
    fn take_change(value: &mut Self::Value, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        *value = Self::take(r)?;
        Ok(())
    }
    /// Applies a difference; an error for types that have none.
    fn take_difference(_value: &mut Self::Value, _r: &mut Reader<'_>) -> Result<(), DecodeError> {
        Err(DecodeError::Value)
    }
    /// Writes down the numbers that a value is made of, as many as [`WireType::numbers`] says.
    fn numbers(_value: &Self::Value, _out: &mut [f64]) {}
    /// Makes a value of as many numbers, which may lie between two that could be sent.
    fn set_numbers(_value: &mut Self::Value, _numbers: &[f64]) {}
}

/// A field's type as both ends must agree on it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum WireType {
    /// One byte, 0 or 1.
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
    Array(&'static WireType, usize),
    /// A fieldless enum: names and numbers.
    Enum(&'static [(&'static str, u8)]),
    /// Maybe one of a type.
    Option(&'static WireType),
    /// A player's number.
    Player,
    /// UTF-8.
    Text,
    /// Bytes that change in ranges.
    Bytes,
    /// JSON text of any type.
    Json,
}

impl WireType {
    /// Whether a value is a float, rounded or not, or an array of them.
    #[must_use]
    pub const fn is_float(&self) -> bool {
        match self {
            WireType::Float(_) | WireType::Quantized { .. } => true,
            WireType::Array(of, _) => of.is_float(),
            _ => false,
        }
    }

    /// How many numbers a value is made of, where something lies between any two values: 0 for all that is no number
    /// and no array of them.
    #[must_use]
    pub const fn numbers(&self) -> usize {
        match self {
            WireType::Unsigned(_) | WireType::Signed(_) | WireType::Float(_) | WireType::Quantized { .. } => {
                1
            }
            WireType::Array(of, n) => of.numbers() * *n,
            _ => 0,
        }
    }
}

impl fmt::Display for WireType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireType::Bool => f.write_str("bool"),
            WireType::Unsigned(n) => write!(f, "u{}", u32::from(*n) * 8),
            WireType::Signed(n) => write!(f, "i{}", u32::from(*n) * 8),
            WireType::Float(n) => write!(f, "f{}", u32::from(*n) * 8),
            WireType::Quantized { float, step, min, max } => {
                write!(f, "f{}:{step}:{min}:{max}", u32::from(*float) * 8)
            }
            WireType::Array(of, n) => write!(f, "[{of};{n}]"),
            WireType::Enum(variants) => {
                f.write_str("enum(")?;
                for (i, (name, code)) in variants.iter().enumerate() {
                    write!(f, "{}{name}={code}", if i == 0 { "" } else { "," })?;
                }
                f.write_str(")")
            }
            WireType::Option(of) => write!(f, "option({of})"),
            WireType::Player => f.write_str("player"),
            WireType::Text => f.write_str("string"),
            WireType::Bytes => f.write_str("bytes"),
            WireType::Json => f.write_str("json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Cm = Quantized<[f32; 2], { 0.01f64.to_bits() }, { (-10.0f64).to_bits() }, { 10.0f64.to_bits() }>;

    /// A value's numbers, and what others make of it.
    fn through<C: Codec>(mut value: C::Value, numbers: &[f64]) -> (Vec<f64>, C::Value) {
        let mut was = vec![0.0; C::WIRE.numbers()];
        C::numbers(&value, &mut was);
        C::set_numbers(&mut value, numbers);
        (was, value)
    }

    #[test]
    fn numbers_take_what_lies_between_two_values() {
        assert_eq!(through::<Plain<f32>>(1.5, &[1.75]), (vec![1.5], 1.75));
        assert_eq!(through::<Plain<i16>>(-3, &[-3.6]), (vec![-3.0], -4));
        assert_eq!(through::<Plain<u8>>(7, &[300.0]), (vec![7.0], 255), "the nearest that there is");
        assert_eq!(through::<Plain<[i32; 2]>>([1, 2], &[0.4, 9.0]), (vec![1.0, 2.0], [0, 9]));
        assert_eq!(
            through::<Cm>([1.0, -1.0], &[0.125, 3.0]),
            (vec![1.0, -1.0], [0.125, 3.0]),
            "no step of it"
        );
    }

    #[test]
    fn between_all_else_lies_nothing() {
        let none = [
            <Plain<bool> as Codec>::WIRE,
            <Plain<Option<f32>> as Codec>::WIRE,
            <Plain<[bool; 3]> as Codec>::WIRE,
            <Plain<crate::entity::PlayerId> as Codec>::WIRE,
            <String as Field>::Codec::WIRE,
        ];
        assert!(none.iter().all(|wire| wire.numbers() == 0));
        assert_eq!(through::<Plain<Option<f32>>>(Some(1.0), &[]), (vec![], Some(1.0)));
    }

    #[cfg(feature = "glam")]
    #[test]
    fn vectors_are_numbers_too() {
        let (was, now) = through::<Plain<glam::Vec3>>(glam::Vec3::new(1.0, 2.0, 3.0), &[4.0, 5.0, 6.5]);
        assert_eq!((was, now), (vec![1.0, 2.0, 3.0], glam::Vec3::new(4.0, 5.0, 6.5)));
    }
}

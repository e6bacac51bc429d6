//! Fixed-size fields: booleans, numbers, arrays, options, enums, player IDs.

use std::fmt;
use std::marker::PhantomData;

use super::{Codec, Field, WireType};
use crate::entity::PlayerId;
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// A small `Copy` value with one encoding.
pub trait Scalar: Copy + fmt::Debug + Send + Sync + 'static {
    /// The type on the wire.
    const WIRE: WireType;
    /// Bytes of the encoding.
    fn size(self) -> usize;
    /// Whether two are the same; floats by their bits, so NaN is a value like any other.
    fn same(self, other: Self) -> bool;
    /// Appends the encoding.
    fn put(self, out: &mut Vec<u8>);
    /// Reads one.
    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// Whether no float in it is infinite or NaN.
    fn is_finite(self) -> bool {
        true
    }
    /// Appends the difference from `base`; returns false where the type has none between these two.
    fn put_difference(self, base: Self, out: &mut Vec<u8>) -> bool {
        let _ = (base, out);
        false
    }
    /// Reads a difference and adds it.
    fn take_difference(self, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let _ = r;
        Err(DecodeError::Value)
    }
    /// Writes down the numbers that it is made of, where it is made of numbers.
    fn numbers(self, _out: &mut [f64]) {}
    /// Takes other numbers; integers the nearest that they have.
    fn set_numbers(&mut self, _numbers: &[f64]) {}
}

/// A scalar that arrays can hold.
pub trait Element: Scalar {}

/// A fieldless enum whose variants have numbers from 0 to 255. Implemented by `#[derive(FieldEnum)]`.
pub trait FieldEnum: Copy + fmt::Debug + Send + Sync + 'static {
    /// Names and numbers in order.
    const VARIANTS: &'static [(&'static str, u8)];
    /// The number of this variant.
    fn code(self) -> u8;
    /// The variant of a number.
    fn from_code(code: u8) -> Option<Self>;
}

/// The codec of scalars: whole values, differences of integers where shorter.
pub struct Plain<T>(PhantomData<T>);

impl<T: Scalar> Codec for Plain<T> {
    type Value = T;
    type Track = Option<T>;
    type Outcome = ();
    const WIRE: WireType = T::WIRE;

    fn size(value: &T) -> usize {
        value.size()
    }
    fn is_finite(value: &T) -> bool {
        value.is_finite()
    }
    #[inline]
    fn same(a: &T, b: &T) -> bool {
        a.same(*b)
    }
    #[inline]
    fn replace(value: &mut T, new: T, track: &mut Option<T>, first: bool) {
        if first {
            *track = Some(*value);
        }
        *value = new;
    }
    #[inline]
    fn seal(value: &T, track: &mut Option<T>, _tick: Tick) -> bool {
        track.is_none_or(|base| !value.same(base))
    }
    #[inline]
    fn put_sealed(value: &T, track: &mut Option<T>, _tick: Tick, out: &mut Vec<u8>) -> bool {
        let base = track.take();
        if let Some(base) = base {
            let start = out.len();
            if value.put_difference(base, out) && out.len() - start < value.size() {
                return true;
            }
            out.truncate(start);
        }
        value.put(out);
        false
    }
    #[inline]
    fn put(value: &T, out: &mut Vec<u8>) {
        value.put(out);
    }
    #[inline]
    fn take(r: &mut Reader<'_>) -> Result<T, DecodeError> {
        T::take(r)
    }
    #[inline]
    fn take_difference(value: &mut T, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        *value = value.take_difference(r)?;
        Ok(())
    }
    #[inline]
    fn numbers(value: &T, out: &mut [f64]) {
        value.numbers(out);
    }
    #[inline]
    fn set_numbers(value: &mut T, numbers: &[f64]) {
        value.set_numbers(numbers);
    }
}

macro_rules! fields {
    ($($ty:ty),*) => { $(impl Field for $ty { type Codec = Plain<$ty>; })* };
}

macro_rules! integers {
    ($($ty:ty as $wire:ident $size:literal),*) => {
        $(
            impl Scalar for $ty {
                const WIRE: WireType = WireType::$wire($size);
                #[inline]
                fn size(self) -> usize { $size }
                #[inline]
                fn same(self, other: Self) -> bool { self == other }
                #[inline]
                fn put(self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_le_bytes()); }
                #[inline]
                fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    Ok(Self::from_le_bytes(r.array::<$size>()?))
                }
                #[inline]
                fn put_difference(self, base: Self, out: &mut Vec<u8>) -> bool {
                    varint::put(out, varint::zigzag((self as i64).wrapping_sub(base as i64)));
                    true
                }
                #[inline]
                fn take_difference(self, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    let difference = varint::unzigzag(r.varint()?);
                    let sum = (self as i64).wrapping_add(difference);
                    // What was written as an i64 comes back as one: only 64-bit types may wrap.
                    if size_of::<Self>() == 8 { Ok(sum as Self) } else { Self::try_from(sum).map_err(|_| DecodeError::Value) }
                }
                #[inline]
                fn numbers(self, out: &mut [f64]) { out[0] = self as f64; }
                // The cast saturates.
                #[inline]
                fn set_numbers(&mut self, numbers: &[f64]) { *self = numbers[0].round() as $ty; }
            }
            impl Element for $ty {}
        )*
        fields!($($ty),*);
    };
}

integers!(
    u8 as Unsigned 1, u16 as Unsigned 2, u32 as Unsigned 4, u64 as Unsigned 8,
    i8 as Signed 1, i16 as Signed 2, i32 as Signed 4, i64 as Signed 8
);

macro_rules! floats {
    ($($ty:ty as $size:literal),*) => {
        $(
            impl Scalar for $ty {
                const WIRE: WireType = WireType::Float($size);
                #[inline]
                fn size(self) -> usize { $size }
                #[inline]
                fn same(self, other: Self) -> bool { self.to_bits() == other.to_bits() }
                #[inline]
                fn put(self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_bits().to_le_bytes()); }
                #[inline]
                fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    Ok(<$ty>::from_le_bytes(r.array::<$size>()?))
                }
                fn is_finite(self) -> bool { <$ty>::is_finite(self) }
                #[inline]
                fn numbers(self, out: &mut [f64]) { out[0] = f64::from(self); }
                #[inline]
                fn set_numbers(&mut self, numbers: &[f64]) { *self = numbers[0] as $ty; }
            }
            impl Element for $ty {}
        )*
        fields!($($ty),*);
    };
}

floats!(f32 as 4, f64 as 8);

impl Scalar for bool {
    const WIRE: WireType = WireType::Bool;
    fn size(self) -> usize {
        1
    }
    fn same(self, other: Self) -> bool {
        self == other
    }
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match r.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Value),
        }
    }
}

impl Element for bool {}

impl Scalar for PlayerId {
    const WIRE: WireType = WireType::Player;
    fn size(self) -> usize {
        4
    }
    fn same(self, other: Self) -> bool {
        self == other
    }
    fn put(self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        u32::take(r).map(PlayerId)
    }
}

fields!(bool, PlayerId);

impl<T: Element, const N: usize> Scalar for [T; N] {
    const WIRE: WireType = {
        assert!(N >= 1 && N <= limits::ARRAY, "an array field holds 1 to 16 values");
        WireType::Array(&T::WIRE, N)
    };
    fn size(self) -> usize {
        self.iter().map(|v| v.size()).sum()
    }
    fn same(self, other: Self) -> bool {
        self.iter().zip(&other).all(|(a, b)| a.same(*b))
    }
    fn put(self, out: &mut Vec<u8>) {
        self.iter().for_each(|v| v.put(out));
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut all = [T::take(r)?; N];
        for value in &mut all[1..] {
            *value = T::take(r)?;
        }
        Ok(all)
    }
    fn is_finite(self) -> bool {
        self.iter().all(|v| v.is_finite())
    }
    fn put_difference(self, base: Self, out: &mut Vec<u8>) -> bool {
        self.iter().zip(base).all(|(v, base)| v.put_difference(base, out))
    }
    fn take_difference(mut self, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        for value in &mut self {
            *value = value.take_difference(r)?;
        }
        Ok(self)
    }
    fn numbers(self, out: &mut [f64]) {
        self.iter().zip(out.chunks_mut(1)).for_each(|(value, out)| value.numbers(out));
    }
    fn set_numbers(&mut self, numbers: &[f64]) {
        self.iter_mut().zip(numbers.chunks(1)).for_each(|(value, number)| value.set_numbers(number));
    }
}

impl<T: Element, const N: usize> Field for [T; N] {
    type Codec = Plain<Self>;
}

impl<T: Scalar> Scalar for Option<T> {
    const WIRE: WireType = WireType::Option(&T::WIRE);
    fn size(self) -> usize {
        1 + self.map_or(0, Scalar::size)
    }
    fn same(self, other: Self) -> bool {
        match (self, other) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        }
    }
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(if bool::take(r)? { Some(T::take(r)?) } else { None })
    }
    fn is_finite(self) -> bool {
        self.is_none_or(Scalar::is_finite)
    }
    fn put_difference(self, base: Self, out: &mut Vec<u8>) -> bool {
        matches!((self, base), (Some(value), Some(base)) if value.put_difference(base, out))
    }
    fn take_difference(self, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        self.ok_or(DecodeError::Value)?.take_difference(r).map(Some)
    }
}

impl<T: OptionField> Field for Option<T> {
    type Codec = Plain<Self>;
}

/// Types that an `Option` field can hold: scalars, but not options.
pub trait OptionField: Scalar {}

macro_rules! option_fields {
    ($($ty:ty),*) => { $(impl OptionField for $ty {})* };
}

option_fields!(bool, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, PlayerId);
impl<T: Element, const N: usize> OptionField for [T; N] {}

/// Implements [`Scalar`] and [`Field`] for a [`FieldEnum`]: a part of its derive's expansion, which cannot be a
/// blanket impl beside those of the numbers.
#[doc(hidden)]
#[macro_export]
macro_rules! __field_enum {
    ($ty:ty) => {
        impl $crate::field::Scalar for $ty {
            const WIRE: $crate::field::WireType =
                $crate::field::WireType::Enum(<$ty as $crate::field::FieldEnum>::VARIANTS);
            fn size(self) -> usize {
                1
            }
            fn same(self, other: Self) -> bool {
                $crate::field::FieldEnum::code(self) == $crate::field::FieldEnum::code(other)
            }
            fn put(self, out: &mut $crate::__private::Vec<u8>) {
                out.push($crate::field::FieldEnum::code(self));
            }
            fn take(
                r: &mut $crate::wire::Reader<'_>,
            ) -> $crate::__private::Result<Self, $crate::wire::DecodeError> {
                match <$ty as $crate::field::FieldEnum>::from_code(r.u8()?) {
                    $crate::__private::Some(value) => $crate::__private::Ok(value),
                    $crate::__private::None => $crate::__private::Err($crate::wire::DecodeError::Value),
                }
            }
        }
        impl $crate::field::OptionField for $ty {}
        impl $crate::field::Field for $ty {
            type Codec = $crate::field::Plain<$ty>;
        }
    };
}

#[cfg(feature = "glam")]
mod glam_fields {
    use super::*;

    macro_rules! glam {
        ($($ty:ty as $n:literal),*) => {
            $(
                impl Scalar for $ty {
                    const WIRE: WireType = <[f32; $n] as Scalar>::WIRE;
                    fn size(self) -> usize { 4 * $n }
                    fn same(self, other: Self) -> bool { self.to_array().same(other.to_array()) }
                    fn put(self, out: &mut Vec<u8>) { self.to_array().put(out); }
                    fn take(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                        <[f32; $n]>::take(r).map(<$ty>::from_array)
                    }
                    fn is_finite(self) -> bool { self.to_array().is_finite() }
                    fn numbers(self, out: &mut [f64]) { self.to_array().numbers(out); }
                    fn set_numbers(&mut self, numbers: &[f64]) {
                        let mut array = self.to_array();
                        array.set_numbers(numbers);
                        *self = <$ty>::from_array(array);
                    }
                }
                impl OptionField for $ty {}
            )*
            fields!($($ty),*);
        };
    }

    glam!(glam::Vec2 as 2, glam::Vec3 as 3, glam::Quat as 4);
}

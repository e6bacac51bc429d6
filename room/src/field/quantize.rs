//! Floats rounded to steps, in as few whole bytes as their range needs.

use std::fmt;
use std::marker::PhantomData;

use super::{Codec, Scalar, WireType};
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// The steps from `min` to `max`.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    step: f64,
    min: f64,
    max: f64,
    last: u64,
    bytes: usize,
    /// Steps a unit, where a rounded value's step can be found by this without a division.
    inverse: Option<f64>,
}

/// Added to a number of less than 2^51, it leaves the nearest whole one in the low bits: at its size a float's last bit is
/// worth 1.
pub(crate) const WHOLE: f64 = 6_755_399_441_055_744.0;

impl Steps {
    /// The steps of a range. The derive has checked it: finite, `min < max`, and no finer than the float holds.
    #[must_use]
    pub const fn new(step: f64, min: f64, max: f64) -> Steps {
        let last = ((max - min) / step + 0.5) as u64;
        let mut bytes = 1;
        while bytes < 8 && last >> (bytes * 8) != 0 {
            bytes += 1;
        }
        // A rounded value is within half of what its float holds of its step. Where that, and by how much the last step
        // is no whole one, stay well below half a step, a product finds the same step as a quotient.
        let largest = if max > -min { max } else { -min };
        let uneven = (max - min) / step - last as f64;
        let even = -0.125 < uneven && uneven < 0.125;
        let fine = largest / 2_097_152.0 <= step && last < 1 << 40;
        Steps { step, min, max, last, bytes, inverse: if even && fine { Some(1.0 / step) } else { None } }
    }

    /// The step of a rounded value, from a number that is the same for all.
    #[inline]
    fn step_of(&self, value: f64) -> i64 {
        match self.inverse {
            Some(inverse) => ((value - self.min) * inverse + WHOLE).to_bits() as i64,
            None => self.nearest(value) as i64,
        }
    }

    /// The nearest step: NaN and everything below the range is the first, everything above it the last.
    #[inline]
    fn nearest(&self, value: f64) -> u64 {
        // The cast saturates, and takes NaN to 0.
        (((value - self.min) / self.step + 0.5) as i64).clamp(0, self.last as i64) as u64
    }

    #[inline]
    fn value(&self, step: u64) -> f64 {
        // The last step is `max` itself where the range is not a whole number of steps.
        (self.min + step as f64 * self.step).min(self.max)
    }

    pub(crate) fn put(&self, value: f64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nearest(value).to_le_bytes()[..self.bytes]);
    }

    pub(crate) fn take(&self, r: &mut Reader<'_>) -> Result<f64, DecodeError> {
        let mut le = [0; 8];
        le[..self.bytes].copy_from_slice(r.bytes(self.bytes)?);
        self.checked(u64::from_le_bytes(le))
    }

    fn checked(&self, step: u64) -> Result<f64, DecodeError> {
        if step <= self.last { Ok(self.value(step)) } else { Err(DecodeError::Value) }
    }

    #[inline]
    fn put_difference(&self, value: f64, base: f64, out: &mut Vec<u8>) {
        let difference = self.step_of(value) - self.step_of(base);
        varint::put(out, varint::zigzag(difference));
    }

    fn take_difference(&self, base: f64, r: &mut Reader<'_>) -> Result<f64, DecodeError> {
        let step = (self.nearest(base) as i64).checked_add(varint::unzigzag(r.varint()?));
        self.checked(step.and_then(|s| u64::try_from(s).ok()).ok_or(DecodeError::Value)?)
    }
}

/// How the floats of a quantized field stand together.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One float.
    One,
    /// One or none.
    Maybe,
    /// So many.
    Many(usize),
}

/// A float, or an option or array of floats, that can be quantized.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be quantized",
    note = "quantize(…) goes with f32, f64, and options and arrays of them"
)]
pub trait Quantize: Copy + fmt::Debug + Send + Sync + 'static {
    /// Bytes of one float.
    const FLOAT: u8;
    /// How many floats.
    const SHAPE: Shape;
    /// Whether both are the same, bit by bit.
    fn same(self, other: Self) -> bool;
    /// Puts `f` of each float in its place.
    fn each(&mut self, f: &mut impl FnMut(f64) -> Result<f64, DecodeError>) -> Result<(), DecodeError>;
    /// Calls `f` with each pair of floats; returns false where only one of both has a float.
    fn pairs(self, base: Self, f: &mut impl FnMut(f64, f64)) -> bool;
    /// Appends whether there is a float, where that is a question.
    fn put_shape(self, _out: &mut Vec<u8>) {}
    /// Reads what [`put_shape`](Self::put_shape) wrote.
    fn take_shape(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

macro_rules! quantize {
    ($($ty:ty as $size:literal),*) => { $(
        impl Quantize for $ty {
            const FLOAT: u8 = $size;
            const SHAPE: Shape = Shape::One;
            #[inline]
            fn same(self, other: Self) -> bool { self.to_bits() == other.to_bits() }
            #[inline]
            fn each(&mut self, f: &mut impl FnMut(f64) -> Result<f64, DecodeError>) -> Result<(), DecodeError> {
                *self = f(f64::from(*self))? as $ty;
                Ok(())
            }
            #[inline]
            fn pairs(self, base: Self, f: &mut impl FnMut(f64, f64)) -> bool {
                f(f64::from(self), f64::from(base));
                true
            }
            fn take_shape(_: &mut Reader<'_>) -> Result<Self, DecodeError> { Ok(0.0) }
        }
        impl<const N: usize> Quantize for [$ty; N] {
            const FLOAT: u8 = $size;
            const SHAPE: Shape = {
                assert!(N >= 1 && N <= crate::limits::ARRAY, "an array field holds 1 to 16 values");
                Shape::Many(N)
            };
            fn same(self, other: Self) -> bool { self.iter().zip(other).all(|(a, b)| Quantize::same(*a, b)) }
            fn each(&mut self, f: &mut impl FnMut(f64) -> Result<f64, DecodeError>) -> Result<(), DecodeError> {
                self.iter_mut().try_for_each(|v| v.each(f))
            }
            fn pairs(self, base: Self, f: &mut impl FnMut(f64, f64)) -> bool {
                self.into_iter().zip(base).all(|(a, b)| a.pairs(b, f))
            }
            fn take_shape(_: &mut Reader<'_>) -> Result<Self, DecodeError> { Ok([0.0; N]) }
        }
        impl Quantize for Option<$ty> {
            const FLOAT: u8 = $size;
            const SHAPE: Shape = Shape::Maybe;
            fn same(self, other: Self) -> bool {
                match (self, other) {
                    (Some(a), Some(b)) => Quantize::same(a, b),
                    (a, b) => a.is_none() && b.is_none(),
                }
            }
            fn each(&mut self, f: &mut impl FnMut(f64) -> Result<f64, DecodeError>) -> Result<(), DecodeError> {
                self.as_mut().map_or(Ok(()), |v| v.each(f))
            }
            fn pairs(self, base: Self, f: &mut impl FnMut(f64, f64)) -> bool {
                matches!((self, base), (Some(a), Some(b)) if a.pairs(b, f))
            }
            fn put_shape(self, out: &mut Vec<u8>) { out.push(u8::from(self.is_some())); }
            fn take_shape(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(if bool::take(r)? { Some(0.0) } else { None })
            }
        }
    )* };
}

quantize!(f32 as 4, f64 as 8);

/// The codec of `#[field(quantize(…))]`. `STEP`, `MIN` and `MAX` are the bits of three `f64`.
pub struct Quantized<T, const STEP: u64, const MIN: u64, const MAX: u64>(PhantomData<T>);

impl<T: Quantize, const STEP: u64, const MIN: u64, const MAX: u64> Quantized<T, STEP, MIN, MAX> {
    const STEPS: Steps = Steps::new(f64::from_bits(STEP), f64::from_bits(MIN), f64::from_bits(MAX));
    const ONE: WireType = WireType::Quantized {
        float: T::FLOAT,
        step: f64::from_bits(STEP),
        min: f64::from_bits(MIN),
        max: f64::from_bits(MAX),
    };
}

impl<T: Quantize, const STEP: u64, const MIN: u64, const MAX: u64> Codec for Quantized<T, STEP, MIN, MAX> {
    type Value = T;
    type Track = Option<T>;
    type Outcome = ();
    const WIRE: WireType = match T::SHAPE {
        Shape::One => Self::ONE,
        Shape::Maybe => WireType::Option(&Self::ONE),
        Shape::Many(n) => WireType::Array(&Self::ONE, n),
    };

    #[inline]
    fn normalize(value: &mut T) -> bool {
        let steps = &Self::STEPS;
        let mut clamped = false;
        // The ends of the range as the float holds them: an f32 may round them outwards.
        let (min, max) = if T::FLOAT == 4 {
            (f64::from(steps.min as f32).min(steps.min), f64::from(steps.max as f32).max(steps.max))
        } else {
            (steps.min, steps.max)
        };
        let _ = value.each(&mut |v| {
            clamped |= !(v >= min && v <= max);
            Ok(steps.value(steps.nearest(v)))
        });
        clamped
    }
    fn size(value: &T) -> usize {
        match T::SHAPE {
            Shape::One => Self::STEPS.bytes,
            Shape::Many(n) => n * Self::STEPS.bytes,
            Shape::Maybe => 1 + if value.pairs(*value, &mut |_, _| ()) { Self::STEPS.bytes } else { 0 },
        }
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
        if let Some(base) = track.take() {
            let start = out.len();
            let paired = value.pairs(base, &mut |v, b| Self::STEPS.put_difference(v, b, out));
            if paired && out.len() - start < Self::size(value) {
                return true;
            }
            out.truncate(start);
        }
        Self::put(value, out);
        false
    }
    #[inline]
    fn put(value: &T, out: &mut Vec<u8>) {
        value.put_shape(out);
        value.pairs(*value, &mut |v, _| Self::STEPS.put(v, out));
    }
    fn take(r: &mut Reader<'_>) -> Result<T, DecodeError> {
        let mut value = T::take_shape(r)?;
        value.each(&mut |_| Self::STEPS.take(r))?;
        Ok(value)
    }
    fn take_difference(value: &mut T, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        let mut read = false;
        value.each(&mut |v| {
            read = true;
            Self::STEPS.take_difference(v, r)
        })?;
        if read { Ok(()) } else { Err(DecodeError::Value) }
    }
    fn numbers(value: &T, out: &mut [f64]) {
        let mut out = out.iter_mut();
        value.pairs(*value, &mut |number, _| {
            if let Some(out) = out.next() {
                *out = number;
            }
        });
    }
    fn set_numbers(value: &mut T, numbers: &[f64]) {
        let mut numbers = numbers.iter();
        let _ = value.each(&mut |before| Ok(*numbers.next().unwrap_or(&before)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn bits(v: f64) -> u64 {
        v.to_bits()
    }

    type Cm = Quantized<f32, { bits(0.01) }, { bits(-1000.0) }, { bits(1000.0) }>;
    type Fine = Quantized<f32, { bits(2000.0 / 16_777_216.0) }, { bits(-1000.0) }, { bits(1000.0) }>;
    type Odd = Quantized<f64, { bits(0.3) }, { bits(0.0) }, { bits(1.0) }>;

    fn rounded<C: Codec<Value = f32>>(mut v: f32) -> (f32, bool) {
        let clamped = C::normalize(&mut v);
        (v, clamped)
    }

    #[test]
    fn rounds_clamps_and_counts() {
        assert_eq!(rounded::<Cm>(1.234), (1.23, false));
        assert_eq!(rounded::<Cm>(f32::NAN), (-1000.0, true));
        assert_eq!(rounded::<Cm>(f32::INFINITY), (1000.0, true));
        assert_eq!(rounded::<Cm>(-2e9), (-1000.0, true));
        assert_eq!(Cm::size(&0.0), 3);
    }

    #[test]
    fn a_rounded_value_is_a_fixed_point_and_travels() {
        for i in 0..200_000 {
            let v = (i as f32).sin() * 1001.0;
            let (once, _) = rounded::<Fine>(v);
            assert_eq!(rounded::<Fine>(once), (once, false));
            let mut out = Vec::new();
            Fine::put(&once, &mut out);
            assert_eq!(Fine::take(&mut Reader::new(&out)), Ok(once));
        }
    }

    #[test]
    fn a_product_finds_the_step_that_a_quotient_finds() {
        let mut products = 0;
        for (step, min, max) in [
            (0.01, 0.0, 1500.0),
            (0.01, -1000.0, 1000.0),
            (0.3, 0.0, 1.0),
            (0.1, -7.7, 12.34),
            (0.001, -1e6, 1e6),
            (1e-9, 0.0, 1.0),
            (2000.0 / 16_777_216.0, -1000.0, 1000.0),
            (3.0, 1e9, 1e9 + 3e6),
            (0.025, -3.15, 3.15),
        ] {
            let steps = Steps::new(step, min, max);
            products += u32::from(steps.inverse.is_some());
            for i in 0..=100_000u64 {
                let n = steps.last * i / 100_000;
                for value in [steps.value(n), f64::from(steps.value(n) as f32).clamp(min, max)] {
                    let from = steps.step_of(steps.value(0));
                    let first = steps.nearest(steps.value(0)) as i64;
                    assert_eq!(
                        steps.step_of(value) - from,
                        steps.nearest(value) as i64 - first,
                        "{steps:?} {value}"
                    );
                }
            }
        }
        assert_eq!(products, 3, "the others are uneven, or finer than a single float holds well");
    }

    #[test]
    fn the_last_step_of_an_uneven_range_is_its_end() {
        let mut v = 1.0;
        assert!(!Odd::normalize(&mut v));
        assert!(v <= 1.0 && v > 0.85, "{v}");
        let before = v;
        Odd::normalize(&mut v);
        assert_eq!(v, before);
    }

    #[test]
    fn an_end_that_the_float_cannot_hold_is_not_clamped_when_written_again() {
        type Tenth = Quantized<f32, { bits(0.01) }, { bits(-0.1) }, { bits(0.1) }>;
        for end in [-7.0, 7.0] {
            let (once, clamped) = rounded::<Tenth>(end);
            assert!(clamped);
            assert_eq!(rounded::<Tenth>(once), (once, false));
        }
    }

    #[test]
    fn small_moves_are_one_byte() {
        let (mut a, mut b) = (12.34f32, 12.84f32);
        Cm::normalize(&mut a);
        Cm::normalize(&mut b);
        let mut value = a;
        let mut track = None;
        Cm::replace(&mut value, b, &mut track, true);
        assert!(Cm::seal(&value, &mut track, Tick(1)));
        let mut out = Vec::new();
        assert!(Cm::put_sealed(&value, &mut track, Tick(1), &mut out));
        assert_eq!(out.len(), 1);
        let mut copy = a;
        Cm::take_difference(&mut copy, &mut Reader::new(&out)).unwrap();
        assert_eq!(copy.to_bits(), b.to_bits());
    }
}

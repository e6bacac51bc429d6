//! Which types take the values of which.

use room::prelude::*;

use super::{WAY_OUT, read_as, said};

/// Stores a value as the only field of a kind, and reads it as another type's.
macro_rules! widen {
    ($(#[$from:meta])? $old:ty = $value:expr => $(#[$to:meta])? $new:ty) => {{
        #[derive(Entity, Clone, Debug)]
        #[entity(name = "thing")]
        struct Old {
            $(#[$from])?
            x: $old,
        }
        #[derive(Entity, Clone, Debug)]
        #[entity(name = "thing")]
        struct New {
            $(#[$to])?
            x: $new,
        }
        read_as::<Old, New>(&Old { x: $value }).map(|new| new.x)
    }};
}

/// Holds the smallest and the largest number of each narrow type against the wide one.
macro_rules! numbers {
    ($($old:ident => $($new:ident)*;)*) => { $($(
        for value in [$old::MIN, 0 as $old, $old::MAX] {
            assert_eq!(widen!($old = value => $new).unwrap(), value as $new);
            assert_eq!(widen!($old = value => Option<$new>).unwrap(), Some(value as $new));
            assert_eq!(widen!(Option<$old> = Some(value) => Option<$new>).unwrap(), Some(value as $new));
            assert_eq!(widen!([$old; 2] = [value, 1 as $old] => [$new; 2]).unwrap(), [value as $new, 1 as $new]);
        }
        assert_eq!(widen!(Option<$old> = None => Option<$new>).unwrap(), None);
    )*)* };
}

#[test]
fn numbers_widen() {
    numbers! {
        u8 => u16 u32 u64 i16 i32 i64 f32 f64;
        u16 => u32 u64 i32 i64 f32 f64;
        u32 => u64 i64 f64;
        i8 => i16 i32 i64 f32 f64;
        i16 => i32 i64 f32 f64;
        i32 => i64 f64;
        f32 => f64;
    }
    assert!(widen!(f32 = f32::NAN => f64).unwrap().is_nan());
}

/// Holds that no value of a type is taken for another, be it so small.
macro_rules! refused {
    ($($old:ident => $($new:ident)*;)*) => { $($(
        let told = said(widen!($old = <$old>::default() => $new));
        let rule = format!("{} and is {} now", stringify!($old), stringify!($new));
        assert_eq!(told, format!("thing.x was stored as {rule}: convert it in `migrate`, {WAY_OUT}"));
    )*)* };
}

#[test]
fn numbers_do_not_narrow() {
    refused! {
        u8 => i8 bool;
        u16 => u8 i8 i16;
        u32 => u8 u16 i32 f32;
        u64 => u32 i64 f32 f64;
        i8 => u8 u16 u64 bool;
        i16 => i8 u32;
        i32 => i16 u32 f32;
        i64 => i32 u64 f32 f64;
        f32 => u8 i64 bool;
        f64 => f32 u64;
        bool => u8 f32;
    }
}

#[test]
fn other_types_stay_what_they_are() {
    assert_eq!(widen!(String = "a".into() => String).unwrap(), "a");
    let refusals = [
        said(widen!(String = "a".into() => Bytes)),
        said(widen!(String = "a".into() => Json<String>)),
        said(widen!(PlayerId = PlayerId(3) => u32)),
        said(widen!(u32 = 3 => PlayerId)),
        said(widen!(Option<u8> = Some(3) => u8)),
        said(widen!([u8; 2] = [1, 2] => [u8; 3])),
        said(widen!([u8; 1] = [1] => u8)),
        said(widen!([u16; 2] = [1, 2] => [u8; 2])),
    ];
    let types = [
        "string and is bytes",
        "string and is json",
        "player and is u32",
        "u32 and is player",
        "option(u8) and is u8",
        "[u8;2] and is [u8;3]",
        "[u8;1] and is u8",
        "[u16;2] and is [u8;2]",
    ];
    for (told, types) in refusals.iter().zip(types) {
        assert!(told.starts_with(&format!("thing.x was stored as {types} now: ")), "{told}");
    }
}

#[test]
fn quantized_numbers_take_a_range_that_has_theirs() {
    let finer = widen!(#[field(quantize(step = 0.5, min = -2.0, max = 2.0))] f32 = 1.5
        => #[field(quantize(step = 0.25, min = -4.0, max = 2.0))] f64);
    assert_eq!(finer.unwrap(), 1.5);
    let coarser = widen!(#[field(quantize(step = 0.25, min = -2.0, max = 2.0))] f32 = 1.75
        => #[field(quantize(step = 1.0, min = -2.0, max = 2.0))] f32);
    assert_eq!(coarser.unwrap(), 2.0, "rounded");
    assert_eq!(widen!(#[field(quantize(step = 0.1, min = 0.0, max = 1.0))] f32 = 0.3 => f32).unwrap(), 0.3);
    let double = widen!(#[field(quantize(step = 0.1, min = 0.0, max = 1.0))] f32 = 0.3 => f64);
    assert_eq!(double.unwrap(), f64::from(0.3f32));
    let many = widen!(#[field(quantize(step = 0.5, min = 0.0, max = 1.0))] [f32; 2] = [0.5, 1.0]
        => #[field(quantize(step = 0.25, min = 0.0, max = 2.0))] [f32; 2]);
    assert_eq!(many.unwrap(), [0.5, 1.0]);

    let narrower = widen!(#[field(quantize(step = 0.5, min = -2.0, max = 2.0))] f32 = 0.0
        => #[field(quantize(step = 0.5, min = -2.0, max = 1.5))] f32);
    assert!(said(narrower).starts_with("thing.x was stored as f32:0.5:-2:2 and is f32:0.5:-2:1.5 now"));
    let any = widen!(f32 = 0.0 => #[field(quantize(step = 0.5, min = -2.0, max = 2.0))] f32);
    assert!(said(any).starts_with("thing.x was stored as f32 and is f32:0.5:-2:2 now"));
    let less = widen!(#[field(quantize(step = 0.5, min = -2.0, max = 2.0))] f64 = 0.0 => f32);
    assert!(said(less).starts_with("thing.x was stored as f64:0.5:-2:2 and is f32 now"));
}

mod before {
    #[derive(room::FieldEnum, Clone, Copy, Debug, PartialEq)]
    pub enum Mood {
        Calm,
        Angry,
        Sad,
    }
}

mod after {
    #[derive(room::FieldEnum, Clone, Copy, Debug, PartialEq)]
    pub enum Mood {
        Angry,
        Glad,
        Calm,
    }
}

#[test]
fn enums_match_by_the_names_of_their_variants() {
    assert_eq!(widen!(before::Mood = before::Mood::Calm => after::Mood).unwrap(), after::Mood::Calm);
    let maybe = widen!(Option<before::Mood> = Some(before::Mood::Angry) => Option<after::Mood>);
    assert_eq!(maybe.unwrap(), Some(after::Mood::Angry));
    assert_eq!(
        said(widen!(before::Mood = before::Mood::Sad => after::Mood)),
        format!(
            "thing.x was stored as enum(Calm,Angry,Sad) and is enum(Angry,Glad,Calm) now, which has no \
             Sad: replace it in `migrate`, {WAY_OUT}"
        )
    );
}

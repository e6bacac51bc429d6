//! The derives of the [`room`](https://docs.rs/room) crate, which re-exports and documents them.
//!
//! A derive reads its input into a tree of its own (`ast`, `attribute`), holds that against the rules
//! (`check`), and expands it (`expand`). Mistakes gather in a `context`, so that one build shows them
//! all; what is expanded beside them is complete enough that each of them stays one message.

mod ast;
mod attribute;
mod check;
mod context;
mod expand;
mod field_enum;
mod input;
#[cfg(test)]
mod snapshots;

use proc_macro::TokenStream;

/// Makes a struct with named fields an entity.
///
/// For a struct `Avatar` it implements `Entity` and, unless the kind is hidden, `Visible`. It makes the writer
/// `AvatarMut`, which reads through `Deref` and has `set_…` for each field, `patch_…` for `Bytes` and
/// `update_…` for `Json`; and it gives `Avatar` a constant a field, such as `Avatar::HP`. The struct must be
/// `Clone` and `Debug`.
///
/// On the struct, `#[entity(…)]` takes
/// - `name = "…"`: the kind's name; without it the struct's in snake_case,
/// - `hidden`: no connection ever sees it,
/// - `ephemeral`: it is never stored, so a room that was stopped or slept wakes without its entities,
/// - `owner = field`: the `PlayerId` field with the player who may write its writable fields,
/// - `history = "1s"`: for so long the room remembers what its entities were, for `Room::rewind`,
/// - `ids = "random"`: automatic IDs tell nothing of how many there are,
/// - `crate = "…"`: the path of the `room` crate, where it has another name.
///
/// On a field, `#[field(…)]` takes
/// - `name = "…"`: its name on the wire,
/// - `writable`: the owner may write it from a client,
/// - `coarse`: it is stored at most once a second, so a room that was stopped may wake with an older value,
/// - `quantize(step = …, min = …, max = …)`: floats travel rounded to steps, in as few bytes as those need.
#[proc_macro_derive(Entity, attributes(entity, field))]
pub fn entity(input: TokenStream) -> TokenStream {
    expand::derive(input.into()).into()
}

/// Makes a fieldless enum of at most 256 variants a type that entity fields can have, in one byte.
///
/// The enum must be `Copy` and `Debug`. Variants count from 0, or have the numbers that they are given.
/// `#[field_enum(crate = "…")]` gives the path of the `room` crate, where it has another name.
#[proc_macro_derive(FieldEnum, attributes(field_enum))]
pub fn field_enum(input: TokenStream) -> TokenStream {
    field_enum::derive(input.into()).into()
}

/// Makes a struct with named fields what a player does in one tick: the `Input` of a `Stepper`.
///
/// The struct must be `Clone`, `Debug`, `Default`, `Serialize` and `Deserialize`. Where the input of a tick has not come
/// in time, the room repeats the last one for a while, and then lets the player rest, which is the default. On a field,
/// `#[input(…)]` takes
/// - `once`: it is done once, as a jump, and not repeated; it runs even where its input comes a little late. The type
///   must be `PartialEq`: anything but its default is done,
/// - `keep`: it stays as it was while the player rests, as a heading.
///
/// On the struct, `#[input(crate = "…")]` gives the path of the `room` crate, where it has another name.
#[proc_macro_derive(Input, attributes(input))]
pub fn input(input: TokenStream) -> TokenStream {
    input::derive(input.into()).into()
}

//! Interest-managed state sync for multiplayer games.

// The derives write `::room::…`; inside this crate's own tests that is this crate.
#[allow(unused_extern_crates)]
extern crate self as room;

pub mod entity;
pub mod field;
pub mod limits;
pub mod schema;
pub mod tick;
pub mod wire;

pub use entity::{Entity, EntityId, FieldMask, Id, PlayerId, Visible, WriteError};
pub use field::{Bytes, FieldEnum, Json};
pub use room_derive::{Entity, FieldEnum};

pub use schema::{Schema, SchemaError};
pub use tick::Tick;

/// What a game's files start with: `use room::prelude::*;`.
pub mod prelude {
    pub use crate::{Bytes, Entity, EntityId, FieldEnum, Id, Json, PlayerId, Schema, Tick, Visible};
}

/// Names that the derives' expansions use, whatever stands in scope where they expand.
#[doc(hidden)]
pub mod __private {
    pub use std::clone::Clone;
    pub use std::convert::From;
    pub use std::default::Default;
    pub use std::fmt::{Debug, Formatter, Result as FmtResult};
    pub use std::ops::{Deref, FnOnce};
    pub use std::option::Option::{self, None, Some};
    pub use std::result::Result::{self, Err, Ok};
    pub use std::vec::Vec;
}

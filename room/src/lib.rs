//! Interest-managed state sync for multiplayer games.

pub mod entity;
#[doc(hidden)]
pub mod faults;
pub mod field;
pub mod limits;
pub mod presence;
pub mod room;
pub mod schema;
#[cfg(feature = "server")]
pub mod server;
pub mod session;
pub mod step;
pub mod storage;
pub mod store;
pub mod sync;
pub mod tick;
pub mod wire;

pub use crate::room::interest::{Axes, Grid, Part, combine, custom, grid};
pub use crate::room::migrate::Migrating;
pub use crate::room::outside::{Answer, Effect, Payload, WorkFailed};
pub use crate::room::{
    Calls, Connection, ConnectionId, CreateError, Dropped, EntityRef, Game, Interest, Key, Keys, LeaveReason,
    Peer, Refused, Room, RoomRef, SendError, StatusError, Steps, Visibility, Written, migrate, runtime,
};
pub use entity::{Entity, EntityId, FieldMask, Id, Owned, PlayerId, SessionId, Visible, WriteError};
pub use field::{Bytes, FieldEnum, Json};
pub use presence::Presence;
pub use room_derive::{Entity, FieldEnum, Input};

pub use schema::{Schema, SchemaError};
pub use step::{Input, StepWorld, Stepper};
pub use sync::budget::longest_wait;
pub use tick::Tick;

/// What a game's files start with: `use room::prelude::*;`.
pub mod prelude {
    pub use crate::Axes::{self, Xy, Xyz, Xz};
    pub use crate::{
        Answer, Bytes, Calls, Connection, ConnectionId, Dropped, Effect, Entity, EntityId, EntityRef,
        FieldEnum, Game, Id, Input, Interest, Json, Keys, LeaveReason, Migrating, Payload, Peer, PlayerId,
        Presence, Refused, Room, RoomRef, Schema, SessionId, StepWorld, Stepper, Steps, Tick, Visibility,
        Visible, Written, combine, custom, grid,
    };
}

/// Names that the derives' expansions use, whatever stands in scope where they expand.
#[doc(hidden)]
pub mod __private {
    pub use std::clone::Clone;
    pub use std::cmp::PartialEq;
    pub use std::convert::From;
    pub use std::default::Default;
    pub use std::fmt::{Debug, Formatter, Result as FmtResult};
    pub use std::marker::{Send, Sync};
    pub use std::ops::{Deref, FnOnce};
    pub use std::option::Option::{self, None, Some};
    pub use std::result::Result::{self, Err, Ok};
    pub use std::vec::Vec;
}

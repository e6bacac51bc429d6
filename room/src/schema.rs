//! Schema: which kinds a room and its clients speak of, in order, and the hashes by which both know that they
//! speak of the same ones.

use std::any::{Any, TypeId};
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use crate::entity::{Entity, Kind, Visible};
use crate::limits;
use crate::presence::Presence;
use crate::store::replica::AnyTable;
use crate::store::{AnyStore, Store};
use crate::wire::schema_text;

/// The kinds of a game, and last the built-in one, [`Presence`]. Room and client build the same one, usually with one
/// function that both call:
///
/// ```ignore
/// pub fn schema() -> Schema {
///     Schema::new().state::<Match>().private::<Hand>().entity::<Avatar>().entity::<Deck>()
/// }
/// ```
///
/// The order of entities counts: another order is another schema. State and private kinds come before them
/// wherever they are called.
#[derive(Clone, Debug)]
pub struct Schema {
    // Invariant: at its place by `Role`, else in the order of calls.
    kinds: Vec<KindEntry>,
    hashes: OnceLock<Hashes>,
}

/// What a kind is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// One entity that every connection sees.
    State,
    /// One entity a player, seen by that player alone.
    Private,
    /// Any number of entities, seen as the game's interest says.
    Entity,
    /// The library's own: one entity a player who is in the room.
    Presence,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::State => "state",
            Role::Private => "private",
            Role::Entity => "entity",
            Role::Presence => "presence",
        })
    }
}

/// A kind at its place in the schema.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct KindEntry {
    pub kind: &'static Kind,
    pub role: Role,
    pub type_id: TypeId,
    /// Its number on the wire: its place among the visible kinds. Hidden kinds have none.
    pub wire_index: Option<u8>,
    /// Invariant: there in every schema but hand-made ones in tests of its text.
    pub make: Option<Make>,
}

/// What a kind's tables and entities are made with.
#[doc(hidden)]
#[derive(Clone)]
pub struct Make {
    /// The room's table.
    pub store: fn() -> Box<dyn AnyStore>,
    /// A client's table; none for a hidden kind.
    pub table: Option<fn() -> Box<dyn AnyTable>>,
    /// A `fn() -> K`, for state and private kinds.
    pub default: Option<Arc<dyn Any + Send + Sync>>,
}

impl Make {
    fn of<K: Entity>() -> Make {
        Make { store: || Box::new(Store::<K>::new()), table: K::SENT.map(|sent| sent.table), default: None }
    }

    fn with_default<K: Entity + Default>() -> Make {
        let make: fn() -> K = K::default;
        Make { default: Some(Arc::new(make)), ..Make::of::<K>() }
    }
}

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

#[derive(Clone, Copy, Debug)]
struct Hashes {
    all: u64,
    visible: u64,
}

/// A schema that no room can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Two state kinds.
    #[error("the schema has two state kinds, {first} and {second}: put the fields of both into one")]
    StateTwice {
        /// The kind given first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Two private kinds.
    #[error("the schema has two private kinds, {first} and {second}: put the fields of both into one")]
    PrivateTwice {
        /// The kind given first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// One struct is listed twice.
    #[error("the schema lists kind {name} twice: take one of them out")]
    ListedTwice {
        /// The kind.
        name: &'static str,
    },
    /// Two structs have the same name.
    #[error("two kinds of the schema are called {name}: rename one with #[entity(name = \"…\")]")]
    SameName {
        /// The name.
        name: &'static str,
    },
    /// A name of the library's own.
    #[error("kind {name} has a name that begins with room_, which the library keeps for its own: rename it")]
    ReservedName {
        /// The name.
        name: &'static str,
    },
    /// A state or private kind that is ephemeral.
    #[error(
        "kind {name} is ephemeral, but the room's state and private states are always kept: take ephemeral off its \
         #[entity(…)], or list it with entity"
    )]
    Ephemeral {
        /// The kind.
        name: &'static str,
    },
    /// Too many kinds.
    #[error("the schema has {count} kinds; the most is {}: merge some", limits::KINDS)]
    TooManyKinds {
        /// How many.
        count: usize,
    },
}

impl Default for Schema {
    fn default() -> Self {
        let none = Schema { kinds: Vec::new(), hashes: OnceLock::new() };
        none.push(Presence::KIND, Role::Presence, TypeId::of::<Presence>(), Some(Make::of::<Presence>()))
    }
}

impl Schema {
    /// A schema without kinds but the built-in one.
    #[must_use]
    pub fn new() -> Self {
        Schema::default()
    }

    /// Takes the built-in kind out: nobody is told who is in the room. Room and client must both do it.
    #[must_use]
    pub fn without_presence(mut self) -> Self {
        self.kinds.retain(|entry| entry.role != Role::Presence);
        self.renumber();
        self
    }

    /// Whether rooms of this schema say who is in them.
    #[must_use]
    pub fn has_presence(&self) -> bool {
        self.kinds.last().is_some_and(|entry| entry.role == Role::Presence)
    }

    /// Adds the kind of the room's state: one entity that every connection sees.
    #[must_use]
    pub fn state<K: Visible + Default>(self) -> Self {
        self.push(K::KIND, Role::State, TypeId::of::<K>(), Some(Make::with_default::<K>()))
    }

    /// Adds the kind of private state: one entity a player, seen by that player alone.
    #[must_use]
    pub fn private<K: Visible + Default>(self) -> Self {
        self.push(K::KIND, Role::Private, TypeId::of::<K>(), Some(Make::with_default::<K>()))
    }

    /// Adds a kind of entities.
    #[must_use]
    pub fn entity<K: Entity>(self) -> Self {
        self.push(K::KIND, Role::Entity, TypeId::of::<K>(), Some(Make::of::<K>()))
    }

    /// Says what is wrong with the schema, if anything: two kinds of one name, a struct listed twice, a second
    /// state or private kind, one of these that is ephemeral, more than 255 kinds with the
    /// built-in one, a name that begins with `room_`.
    /// Rooms and clients check it when they are made.
    pub fn validate(&self) -> Result<(), SchemaError> {
        for pair in self.kinds.windows(2) {
            let (first, second) = (pair[0].kind.name, pair[1].kind.name);
            match (pair[0].role, pair[1].role) {
                (Role::State, Role::State) => return Err(SchemaError::StateTwice { first, second }),
                (Role::Private, Role::Private) => return Err(SchemaError::PrivateTwice { first, second }),
                _ => {}
            }
        }
        for (i, entry) in self.kinds.iter().enumerate() {
            let name = entry.kind.name;
            let (before, after) = (&self.kinds[..i], &self.kinds[i + 1..]);
            // Also where a game lists the built-in kind, which stands last.
            if after.iter().any(|other| other.type_id == entry.type_id) {
                return Err(SchemaError::ListedTwice { name });
            }
            if before.iter().any(|other| other.kind.name == name) {
                return Err(SchemaError::SameName { name });
            }
            if name.starts_with("room_") && entry.role != Role::Presence {
                return Err(SchemaError::ReservedName { name });
            }
            if entry.kind.ephemeral && entry.role != Role::Entity {
                return Err(SchemaError::Ephemeral { name });
            }
        }
        match self.kinds.len() {
            count if count > limits::KINDS => Err(SchemaError::TooManyKinds { count }),
            _ => Ok(()),
        }
    }

    /// The hash of all kinds. Two ends with different ones refuse each other.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hashes().all
    }

    /// The hash of the visible kinds, by which a client tells whether only hidden ones differ.
    #[must_use]
    pub fn visible_hash(&self) -> u64 {
        self.hashes().visible
    }

    /// The schema as text: a line a kind, and below it an indented line a field. The hashes are taken over it.
    #[must_use]
    pub fn text(&self, visible_only: bool) -> String {
        let mut text = String::new();
        for entry in self.kinds.iter().filter(|entry| !(visible_only && entry.kind.hidden)) {
            put_kind(entry, &mut text);
        }
        text
    }

    /// The visible kinds as text, cut where it would not fit a `closing` message.
    #[must_use]
    pub fn closing_text(&self) -> String {
        schema_text::cut(self.text(true))
    }

    /// In what this schema, the client's, differs from a room's, in lines for people. `room_text` is the room's
    /// visible kinds as its `closing` message has them. Of hidden kinds it says only that they differ. At most
    /// [`schema_text::LINES`] lines; none where the hashes are equal.
    #[must_use]
    pub fn differences(&self, room_text: &str, room_visible_hash: u64, room_hash: u64) -> Vec<String> {
        if room_hash == self.hash() {
            return Vec::new();
        }
        if room_visible_hash == self.visible_hash() {
            return vec!["hidden kinds differ".to_owned()];
        }
        let lines = schema_text::difference(room_text, &self.text(true));
        if lines.is_empty() {
            return vec!["the schemas differ, but the room's description does not say in what".to_owned()];
        }
        lines
    }

    #[doc(hidden)]
    #[must_use]
    pub fn entries(&self) -> &[KindEntry] {
        &self.kinds
    }

    fn push(mut self, kind: &'static Kind, role: Role, type_id: TypeId, make: Option<Make>) -> Self {
        let at = self.kinds.partition_point(|entry| entry.role <= role);
        self.kinds.insert(at, KindEntry { kind, role, type_id, wire_index: None, make });
        self.renumber();
        self
    }

    fn renumber(&mut self) {
        let mut visible = 0..=u8::MAX;
        for entry in &mut self.kinds {
            // A 257th kind finds no number left; `validate` refuses the schema before it is used.
            entry.wire_index = if entry.kind.hidden { None } else { visible.next() };
        }
        self.hashes = OnceLock::new();
    }

    fn hashes(&self) -> &Hashes {
        self.hashes.get_or_init(|| Hashes {
            all: fnv1a(self.text(false).as_bytes()),
            visible: fnv1a(self.text(true).as_bytes()),
        })
    }
}

fn put_kind(entry: &KindEntry, text: &mut String) {
    let kind = entry.kind;
    // Writing to a string does not fail.
    let _ = write!(text, "{} {}", entry.role, kind.name);
    if let Some(owner) = kind.owner {
        let _ = write!(text, " owner={}", kind.fields[owner].name);
    }
    if kind.random_ids {
        text.push_str(" ids=random");
    }
    if kind.hidden {
        text.push_str(" hidden");
    }
    text.push('\n');
    for field in kind.fields {
        let writable = if field.writable { " writable" } else { "" };
        let _ = writeln!(text, "  {} {}{writable}", field.name, field.wire);
    }
}

/// The 64-bit FNV-1a hash: the same on every platform, and simple enough to write in any language.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;

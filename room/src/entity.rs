//! Entities: what the derive implements, and the names by which games reach them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use crate::field::{Codec, WireType};
use crate::limits;
use crate::wire::Reader;

pub use crate::field::write::{Outcome, Write, WriteError};
#[doc(hidden)]
pub use crate::wire::record::Sent;

/// A struct whose fields are synced. Implemented by `#[derive(Entity)]`, never by hand.
///
/// The derive also makes a writer (`AvatarMut` for `Avatar`) with a setter a field, and a constant a field
/// (`Avatar::HP`) that names it in a client's list of changes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity",
    note = "put `#[derive(Entity)]` on the struct"
)]
pub trait Entity: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// What writes leave behind until the next seal, a part a field.
    #[doc(hidden)]
    type Track: Default + fmt::Debug + Send + Sync + 'static;
    /// The generated writer: reads through `Deref`, writes through setters.
    type Writer<'a>: std::ops::Deref<Target = Self>;
    /// Name, flags and fields.
    const KIND: &'static Kind;
    /// How a visible kind is encoded for clients; a hidden kind has none, and cannot be given one.
    #[doc(hidden)]
    const SENT: Option<Sent<Self>>;

    #[doc(hidden)]
    fn writer(write: Write<'_, Self>) -> Self::Writer<'_>;
    /// The player in the owner field, where the kind has one.
    #[doc(hidden)]
    fn owner(&self) -> Option<PlayerId>;
    #[doc(hidden)]
    fn visit<V: Visit>(&self, track: &Self::Track, visit: &mut V);
    #[doc(hidden)]
    fn visit_mut<V: VisitMut>(&mut self, track: &mut Self::Track, visit: &mut V) -> Result<(), V::Error>;
    #[doc(hidden)]
    fn build<S: Source>(source: &mut S) -> Result<Self, S::Error>;
}

/// An entity that clients may see: every kind but the hidden ones.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is hidden or no entity, so no client ever sees it",
    note = "take `hidden` off its `#[entity(…)]` to let clients see it"
)]
pub trait Visible: Entity {}

/// A kind whose owner writes some of its fields from a client: it has an owner and writable fields.
#[diagnostic::on_unimplemented(
    message = "no client writes `{Self}`",
    note = "a kind that players write has an owner and a writable field: `#[entity(owner = …)]` on the struct and \
            `#[field(writable)]` on the field"
)]
pub trait Owned: Visible {
    /// The generated writer of a client (`AvatarOwned` for `Avatar`): it has setters for the writable fields alone.
    type Owned<'a>: std::ops::Deref<Target = Self>;

    #[doc(hidden)]
    fn owned(write: Write<'_, Self>) -> Self::Owned<'_>;
}

/// Reads every field in order.
#[doc(hidden)]
pub trait Visit {
    fn field<C: Codec>(&mut self, index: usize, value: &C::Value, track: &C::Track);
}

/// Changes fields in order.
#[doc(hidden)]
pub trait VisitMut {
    type Error;
    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        track: &mut C::Track,
    ) -> Result<(), Self::Error>;
}

/// Makes every field in order.
#[doc(hidden)]
pub trait Source {
    type Error;
    fn field<C: Codec>(&mut self, index: usize) -> Result<C::Value, Self::Error>;
}

/// What a schema says of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// The name: the struct's in snake_case, or as given.
    pub name: &'static str,
    /// Whether no connection ever sees it.
    pub hidden: bool,
    /// Whether it is never stored. Clients need not know, so it is no part of the schema's text and hashes.
    pub ephemeral: bool,
    /// Whether its automatic IDs are drawn at random above 2^52.
    pub random_ids: bool,
    /// For how many milliseconds a room remembers what its entities were; 0 for none. Clients need not know, so it is no
    /// part of the schema's text and hashes.
    pub history_ms: u32,
    /// The field that names the player who owns an entity.
    pub owner: Option<usize>,
    /// The fields in order.
    pub fields: &'static [FieldInfo],
}

impl Kind {
    /// The fields that are stored only now and then.
    #[must_use]
    pub fn coarse(&self) -> FieldMask {
        self.fields_where(|field| field.coarse)
    }

    /// The fields that the owner may write from a client.
    #[must_use]
    pub fn writable(&self) -> FieldMask {
        self.fields_where(|field| field.writable)
    }

    fn fields_where(&self, wanted: impl Fn(&FieldInfo) -> bool) -> FieldMask {
        let mut mask = FieldMask::NONE;
        let wanted = self.fields.iter().enumerate().filter(|(_, field)| wanted(field));
        wanted.for_each(|(index, _)| mask.insert(index));
        mask
    }
}

/// What a schema says of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldInfo {
    /// The name on the wire.
    pub name: &'static str,
    /// The type on the wire.
    pub wire: WireType,
    /// Whether the owner may write it from a client.
    pub writable: bool,
    /// Whether it is stored at most once a second. Clients need not know, so it is no part of the schema's text and
    /// hashes.
    pub coarse: bool,
}

/// A field of a kind, such as `Avatar::HP`.
pub struct FieldRef<K> {
    index: usize,
    kind: PhantomData<fn() -> K>,
}

impl<K> FieldRef<K> {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(index: usize) -> Self {
        FieldRef { index, kind: PhantomData }
    }

    /// Its place among the kind's fields.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

impl<K> Clone for FieldRef<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for FieldRef<K> {}

impl<K: Entity> fmt::Debug for FieldRef<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", K::KIND.name, K::KIND.fields[self.index].name)
    }
}

/// A set of a kind's fields.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldMask([u64; 4]);

impl FieldMask {
    /// No field.
    pub const NONE: FieldMask = FieldMask([0; 4]);

    /// The first `n` fields.
    #[must_use]
    pub fn first(n: usize) -> FieldMask {
        let mut mask = FieldMask::NONE;
        for i in 0..n {
            mask.insert(i);
        }
        mask
    }

    /// The fields whose bits are set in these words.
    #[inline]
    pub(crate) fn of_words(words: &[u64]) -> FieldMask {
        let mut mask = FieldMask::NONE;
        mask.0[..words.len()].copy_from_slice(words);
        mask
    }

    /// Whether the field at `index` is in it.
    #[inline]
    #[must_use]
    pub fn has(&self, index: usize) -> bool {
        self.0[index >> 6] >> (index & 63) & 1 != 0
    }

    /// Whether `field` is in it.
    #[must_use]
    pub fn contains<K>(&self, field: FieldRef<K>) -> bool {
        self.has(field.index)
    }

    /// Adds the field at `index`.
    #[inline]
    pub fn insert(&mut self, index: usize) {
        self.0[index >> 6] |= 1 << (index & 63);
    }

    /// Takes the field at `index` out.
    #[inline]
    pub fn remove(&mut self, index: usize) {
        self.0[index >> 6] &= !(1 << (index & 63));
    }

    /// Adds every field of `other`.
    pub fn union(&mut self, other: FieldMask) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a |= b;
        }
    }

    /// Whether no field is in it.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// Whether both are the same, of a kind with `fields` fields.
    #[inline]
    pub(crate) fn is(&self, other: &FieldMask, fields: usize) -> bool {
        self.0[0] == other.0[0] && (fields <= 64 || self.0 == other.0)
    }

    /// Calls `f` with the indices in order, of a kind with `fields` fields.
    #[inline]
    pub(crate) fn each(&self, fields: usize, mut f: impl FnMut(usize)) {
        for word in 0..fields.div_ceil(64) {
            let mut rest = self.0[word];
            while rest != 0 {
                f(word * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// How many fields are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether every field of it is among the first `n`.
    #[must_use]
    pub fn within(&self, n: usize) -> bool {
        (0..4).all(|w| {
            let bits = n.saturating_sub(w * 64).min(64);
            bits == 64 || self.0[w] >> bits == 0
        })
    }

    /// The fields of it that are not in `other`.
    #[must_use]
    pub fn without(self, other: FieldMask) -> FieldMask {
        FieldMask(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The indices in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..4).flat_map(move |w| {
            let mut rest = self.0[w];
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let i = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    w * 64 + i
                })
            })
        })
    }

    /// Appends the bits of a kind with `fields` fields, lowest first, in as few bytes as they need.
    pub fn put(&self, fields: usize, out: &mut Vec<u8>) {
        for byte in 0..fields.div_ceil(8) {
            out.push((self.0[byte / 8] >> (byte % 8 * 8)) as u8);
        }
    }

    /// Reads what [`put`](Self::put) wrote; a bit past the last field is an error.
    pub fn take(fields: usize, r: &mut Reader<'_>) -> Result<FieldMask, crate::wire::DecodeError> {
        let mut mask = FieldMask::NONE;
        for (i, byte) in r.bytes(fields.div_ceil(8))?.iter().enumerate() {
            mask.0[i / 8] |= u64::from(*byte) << (i % 8 * 8);
        }
        if mask.within(fields) { Ok(mask) } else { Err(crate::wire::DecodeError::Unknown) }
    }
}

impl fmt::Debug for FieldMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The number of an entity: 1 for the room's state, 2 to 2^53 − 1 for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(u64);

impl EntityId {
    /// The room's state.
    pub const STATE: EntityId = EntityId(1);

    /// An ID that a game may give: 2 to 2^52.
    #[must_use]
    pub fn explicit(id: u64) -> Option<EntityId> {
        (limits::ID_LEAST..=limits::ID_EXPLICIT_MOST).contains(&id).then_some(EntityId(id))
    }

    /// Any ID that travels: 1 to 2^53 − 1.
    #[must_use]
    pub fn from_wire(id: u64) -> Option<EntityId> {
        (1..=limits::ID_MOST).contains(&id).then_some(EntityId(id))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An entity's ID that knows its kind, so that looking it up yields the struct.
pub struct Id<K> {
    id: EntityId,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    /// Claims that `id` is of kind `K`. A wrong claim is harmless: look-ups check and find nothing.
    #[must_use]
    pub fn assume(id: EntityId) -> Self {
        Id { id, kind: PhantomData }
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.id.0
    }

    /// The ID without its kind.
    #[must_use]
    pub fn entity(self) -> EntityId {
        self.id
    }
}

impl<K> From<Id<K>> for EntityId {
    fn from(id: Id<K>) -> EntityId {
        id.id
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Id<K> {}

impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<K> Eq for Id<K> {}

impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.id)
    }
}

/// The number that a room gives a player at the first join; never given twice in a room.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct PlayerId(pub u32);

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A session's number, unique in its room. It says nothing of the player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

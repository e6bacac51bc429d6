//! Writing: one path for every setter, so that no change is missed and no limit passed.

use std::marker::PhantomData;

use super::blob::Blob;
use super::json::{Json, JsonCodec, JsonValue};
use super::{Codec, OverLimit, WireType};
use crate::entity::{Entity, EntityId, FieldMask, Visit, VisitMut};
use crate::limits;
use crate::wire::{Reader, record};

/// A write or creation that was refused; nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The field's value is too large.
    #[error("{kind}.{field} would take {size} bytes; the most is {limit}: split it over several entities")]
    FieldTooLarge {
        /// The kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
        /// Bytes of the refused value.
        size: usize,
        /// The most bytes.
        limit: usize,
    },
    /// The field's value cannot be encoded.
    #[error(
        "{kind}.{field} cannot be written as JSON: map keys must be strings, numbers finite, \
         lists and maps at most 127 deep"
    )]
    NotJson {
        /// The kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The entity as a whole would be too large.
    #[error(
        "{kind} would take {size} bytes with this {field}; the most is {limit}: split it over several entities"
    )]
    EntityTooLarge {
        /// The kind.
        kind: &'static str,
        /// The field that was written; the largest one of an entity that was created.
        field: &'static str,
        /// Bytes of the refused entity.
        size: usize,
        /// The most bytes.
        limit: usize,
    },
}

/// What a setter returns: `()` for fields that nothing refuses.
pub trait Outcome {
    /// From the write's result. A field whose setter returns `()` has a fixed size, so its result is `Ok`.
    fn from_result(result: Result<(), WriteError>) -> Self;
}

impl Outcome for () {
    fn from_result(result: Result<(), WriteError>) {
        debug_assert!(result.is_ok(), "a write of a fixed size is never refused: {result:?}");
    }
}

impl Outcome for Result<(), WriteError> {
    fn from_result(result: Result<(), WriteError>) -> Self {
        result
    }
}

/// Values that were clamped when written, counted; the first of them by name.
#[derive(Clone, Debug, Default)]
pub struct Clamped {
    /// How many.
    pub count: u64,
    /// The first one's entity, kind and field.
    pub first: Option<(EntityId, &'static str, &'static str)>,
}

/// One entity, open for writing: what a generated writer holds.
#[derive(Debug)]
pub struct Write<'a, K: Entity> {
    pub(crate) id: EntityId,
    pub(crate) slot: u32,
    pub(crate) value: &'a mut K,
    pub(crate) track: &'a mut K::Track,
    /// Fields written since the last seal: their bits.
    pub(crate) pending: &'a mut [u64],
    /// Bytes of the entity with every field encoded.
    pub(crate) size: &'a mut u32,
    pub(crate) dirty: &'a mut Vec<u32>,
    pub(crate) clamped: &'a mut Clamped,
}

/// Where a field's value and track are in an entity and its track: a function of the derive's.
pub type Place<K, C> = for<'a> fn(
    &'a mut K,
    &'a mut <K as Entity>::Track,
) -> (&'a mut <C as Codec>::Value, &'a mut <C as Codec>::Track);

impl<K: Entity> Write<'_, K> {
    /// The entity's ID.
    #[must_use]
    pub fn id(&self) -> EntityId {
        self.id
    }

    /// The entity.
    #[must_use]
    pub fn value(&self) -> &K {
        self.value
    }

    /// Writes a field. Its current value records nothing.
    #[inline]
    pub fn set<C: Codec>(&mut self, field: usize, place: Place<K, C>, new: C::Value) -> C::Outcome {
        let (value, track) = place(self.value, self.track);
        let mut noted = Noted { pending: self.pending, size: self.size, clamped: self.clamped };
        let (id, slot, dirty) = (self.id, self.slot, &mut *self.dirty);
        C::Outcome::from_result(noted.replace::<K, C>(id, field, (value, track), new, || dirty.push(slot)))
    }

    /// Takes over the fields of a mask from another entity of the kind, as setters would. Where one makes the entity too
    /// large, those before it are written; where one is too large itself, none is.
    pub(crate) fn take_over(&mut self, mask: FieldMask, from: &K) -> Result<(), WriteError> {
        check_fields(mask, from)?;
        let mut bytes = Vec::new();
        record::put_fields(from, mask, &mut bytes);
        let noted = Noted { pending: self.pending, size: self.size, clamped: self.clamped };
        let (id, slot, dirty) = (self.id, self.slot, &mut *self.dirty);
        let mut take =
            TakeOver::<K> { id, mask, bytes: Reader::new(&bytes), noted, slot, dirty, kind: PhantomData };
        self.value.visit_mut(self.track, &mut take)
    }

    /// Writes `bytes` at `offset` of a `Bytes` field; past its end the field grows and a gap fills with zeros.
    pub fn patch(
        &mut self,
        field: usize,
        place: Place<K, Blob>,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let (value, track) = place(self.value, self.track);
        let end = offset.saturating_add(bytes.len());
        if bytes.is_empty() || value.get(offset..end) == Some(bytes) {
            return Ok(());
        }
        let len = value.len().max(end);
        if len > limits::BLOB {
            return Err(refused::<K>(field, OverLimit { size: len, limit: limits::BLOB }));
        }
        let size = Blob::size_of(len);
        *self.size = resized::<K>(field, *self.size, Blob::size(value), size)?;
        Blob::patch(value, offset, bytes, track, !is_in(self.pending, field));
        self.touch(field);
        Ok(())
    }

    /// Changes a `Json` field in a closure and compares the text before and after.
    pub fn update<T: JsonValue, R>(
        &mut self,
        field: usize,
        place: Place<K, JsonCodec<T>>,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R, WriteError> {
        let mut value = (**place(self.value, self.track).0).clone();
        let result = change(&mut value);
        self.set::<JsonCodec<T>>(field, place, Json::new(value))?;
        Ok(result)
    }

    #[inline]
    fn touch(&mut self, field: usize) {
        if self.pending.iter().all(|word| *word == 0) {
            self.dirty.push(self.slot);
        }
        self.pending[field >> 6] |= 1 << (field & 63);
    }
}

/// What is noted of writes to an entity.
struct Noted<'a> {
    pending: &'a mut [u64],
    size: &'a mut u32,
    clamped: &'a mut Clamped,
}

impl Noted<'_> {
    /// Puts a value in the place of another; `first` is told of the first write since the seal.
    #[inline]
    fn replace<K: Entity, C: Codec>(
        &mut self,
        id: EntityId,
        field: usize,
        (value, track): (&mut C::Value, &mut C::Track),
        mut new: C::Value,
        first: impl FnOnce(),
    ) -> Result<(), WriteError> {
        if C::normalize(&mut new) {
            self.clamped.add::<K>(id, field);
        }
        if C::same(value, &new) {
            return Ok(());
        }
        C::check(&new).map_err(|over| refused::<K>(field, over))?;
        *self.size = resized::<K>(field, *self.size, C::size(value), C::size(&new))?;
        C::replace(value, new, track, !is_in(self.pending, field));
        if self.pending.iter().all(|word| *word == 0) {
            first();
        }
        self.pending[field >> 6] |= 1 << (field & 63);
        Ok(())
    }
}

/// Writes fields whose values are read from bytes.
struct TakeOver<'a, 'b, K> {
    id: EntityId,
    mask: FieldMask,
    bytes: Reader<'b>,
    noted: Noted<'a>,
    slot: u32,
    dirty: &'a mut Vec<u32>,
    kind: PhantomData<K>,
}

impl<K: Entity> VisitMut for TakeOver<'_, '_, K> {
    type Error = WriteError;

    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        track: &mut C::Track,
    ) -> Result<(), WriteError> {
        if !self.mask.has(index) {
            return Ok(());
        }
        // What was encoded a moment ago decodes.
        let Ok(new) = C::take(&mut self.bytes) else { return Ok(()) };
        let Self { noted, dirty, slot, .. } = self;
        noted.replace::<K, C>(self.id, index, (value, track), new, || dirty.push(*slot))
    }
}

impl Clamped {
    pub(crate) fn add<K: Entity>(&mut self, id: EntityId, field: usize) {
        self.count += 1;
        self.first.get_or_insert((id, K::KIND.name, K::KIND.fields[field].name));
    }
}

fn refused<K: Entity>(field: usize, over: OverLimit) -> WriteError {
    let (kind, field) = (K::KIND.name, K::KIND.fields[field].name);
    match over {
        OverLimit { size: 0, .. } => WriteError::NotJson { kind, field },
        OverLimit { size, limit } => WriteError::FieldTooLarge { kind, field, size, limit },
    }
}

/// Checks the fields of a mask as setters would.
fn check_fields<K: Entity>(mask: FieldMask, entity: &K) -> Result<(), WriteError> {
    struct Check<K>(FieldMask, Result<(), WriteError>, PhantomData<K>);
    impl<K: Entity> Visit for Check<K> {
        fn field<C: Codec>(&mut self, index: usize, value: &C::Value, _: &C::Track) {
            if self.0.has(index) && self.1.is_ok() {
                self.1 = C::check(value).map_err(|over| refused::<K>(index, over));
            }
        }
    }
    let mut check = Check::<K>(mask, Ok(()), PhantomData);
    entity.visit(&K::Track::default(), &mut check);
    check.1
}

/// Whether a field's bit is set.
#[inline]
fn is_in(pending: &[u64], field: usize) -> bool {
    pending[field >> 6] >> (field & 63) & 1 != 0
}

/// The entity's size after a field went from `old` to `new` bytes. Fields of a fixed size never pass: the
/// derive's kinds of 255 of the largest fixed fields fit.
#[inline]
fn resized<K: Entity>(field: usize, size: u32, old: usize, new: usize) -> Result<u32, WriteError> {
    let size = size as usize - old + new;
    if size + change_overhead::<K>() <= limits::ENTITY || new <= old {
        return Ok(size as u32);
    }
    let (kind, field) = (K::KIND.name, K::KIND.fields[field].name);
    Err(WriteError::EntityTooLarge { kind, field, size, limit: limits::ENTITY })
}

/// Bytes that a part leaves free for changes of `Bytes` fields.
pub(crate) const CHANGE_SPARE: usize = 20;

/// A `Bytes` field is a byte longer in a change than in an enter. What a part leaves free beside an entity
/// covers that for the first few.
const fn change_overhead<K: Entity>() -> usize {
    let (mut i, mut blobs) = (0, 0usize);
    while i < K::KIND.fields.len() {
        blobs += matches!(K::KIND.fields[i].wire, WireType::Bytes) as usize;
        i += 1;
    }
    blobs.saturating_sub(CHANGE_SPARE)
}

/// Bytes of an entity with every field encoded.
pub(crate) fn size_of<K: Entity>(value: &K) -> u32 {
    struct Size(u32);
    impl Visit for Size {
        fn field<C: Codec>(&mut self, _: usize, value: &C::Value, _: &C::Track) {
            self.0 += C::size(value) as u32;
        }
    }
    let mut size = Size(0);
    value.visit(&K::Track::default(), &mut size);
    size.0
}

/// Readies a new entity: rounds its fields, checks every limit, and says its size.
pub(crate) struct Admit<'a> {
    id: EntityId,
    size: usize,
    largest: (usize, usize),
    clamped: &'a mut Clamped,
}

impl<'a> Admit<'a> {
    /// Checks `value` and rounds its quantized fields. Returns the size of the whole encoding.
    pub(crate) fn check<K: Entity>(
        id: EntityId,
        value: &mut K,
        track: &mut K::Track,
        clamped: &'a mut Clamped,
    ) -> Result<u32, WriteError> {
        struct Visitor<'a, K>(Admit<'a>, std::marker::PhantomData<K>);
        impl<K: Entity> VisitMut for Visitor<'_, K> {
            type Error = WriteError;
            fn field<C: Codec>(
                &mut self,
                index: usize,
                value: &mut C::Value,
                _: &mut C::Track,
            ) -> Result<(), WriteError> {
                C::check(value).map_err(|over| refused::<K>(index, over))?;
                if C::normalize(value) {
                    self.0.clamped.add::<K>(self.0.id, index);
                }
                let size = C::size(value);
                self.0.size += size;
                self.0.largest = self.0.largest.max((size, index));
                Ok(())
            }
        }
        let mut visitor =
            Visitor::<K>(Admit { id, size: 0, largest: (0, 0), clamped }, std::marker::PhantomData);
        value.visit_mut(track, &mut visitor)?;
        let Admit { size, largest, .. } = visitor.0;
        resized::<K>(largest.1, 0, 0, size)
    }
}

//! Records: an entity, or a change of one, as bytes.
//!
//! There are two types. A [`StoredRecord`] can be made of any kind: for stores, recordings and inspection. What
//! travels to clients is made by [`Sent`] alone, which exists only for a [`Visible`] kind: that a hidden kind
//! cannot be sent is a matter of types.

use crate::entity::{Entity, FieldMask, Source, Visible, Visit, VisitMut};
use crate::field::Codec;
use crate::store::replica::{AnyTable, Table};
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader};

/// Records for clients, one behind the other. Only [`Sent`] appends field values to it.
#[derive(Debug, Default)]
pub struct SentBytes(Vec<u8>);

impl SentBytes {
    /// The bytes.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// How many bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Empties it and keeps its memory.
    pub fn reset(&mut self) {
        self.0.clear();
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Appends finished records.
    pub(crate) fn append(&mut self, records: &[u8]) {
        self.0.extend_from_slice(records);
    }

    /// Appends what is not field values: tags, kinds, IDs, masks.
    pub(crate) fn head(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

/// Which fields a seal found changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sealed {
    /// Fields that differ from the last seal.
    pub changed: FieldMask,
    /// Those of them that were encoded as differences.
    pub differences: FieldMask,
}

impl Sealed {
    /// Whether both are the same, of a kind with so many fields.
    #[inline]
    pub(crate) fn is(&self, other: &Sealed, fields: usize) -> bool {
        self.changed.is(&other.changed, fields) && self.differences.is(&other.differences, fields)
    }
}

/// The encoders of a visible kind. [`Sent::new`] asks for [`Visible`], so a hidden kind has none.
pub struct Sent<K: Entity> {
    /// Ends the writes of the fields in the mask and appends those that changed.
    pub(crate) seal: fn(&mut K, &mut K::Track, &FieldMask, Tick, &mut SentBytes, &mut Sealed),
    /// Appends every field.
    pub(crate) whole: fn(&K, &K::Track, &mut SentBytes),
    /// Appends what changed in the fields of the mask after a tick, in whole values or ranges.
    pub(crate) since: fn(&K, &K::Track, FieldMask, Tick, &mut SentBytes),
    /// Makes the table in which clients hold the kind.
    pub(crate) table: fn() -> Box<dyn AnyTable>,
}

impl<K: Entity> Clone for Sent<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Entity> Copy for Sent<K> {}

impl<K: Visible> Sent<K> {
    /// The encoders.
    #[must_use]
    pub const fn new() -> Self {
        Sent {
            seal: |value, track, mask, tick, out, sealed| {
                let Ok(()) = value.visit_mut(track, &mut Seal { mask, tick, out: &mut out.0, sealed });
            },
            whole: |value, track, out| value.visit(track, &mut Whole(&mut out.0)),
            since: |value, track, mask, since, out| {
                value.visit(track, &mut Since { mask, since, out: &mut out.0 });
            },
            table: || Box::new(Table::<K>::new()),
        }
    }
}

impl<K: Visible> Default for Sent<K> {
    fn default() -> Self {
        Sent::new()
    }
}

/// Ends the writes of a kind that is never sent; returns the fields that changed.
pub(crate) fn seal_unsent<K: Entity>(
    value: &mut K,
    track: &mut K::Track,
    mask: FieldMask,
    tick: Tick,
) -> FieldMask {
    let mut visitor = SealUnsent { mask, tick, changed: FieldMask::NONE };
    let Ok(()) = value.visit_mut(track, &mut visitor);
    visitor.changed
}

/// Tells the fields of an entity that came from a store when each last changed.
pub(crate) fn restored<K: Entity>(value: &mut K, track: &mut K::Track, changed: &[Tick]) {
    let Ok(()) = value.visit_mut(track, &mut Restored(changed));
}

struct Restored<'a>(&'a [Tick]);

impl VisitMut for Restored<'_> {
    type Error = std::convert::Infallible;
    fn field<C: Codec>(
        &mut self,
        index: usize,
        _: &mut C::Value,
        track: &mut C::Track,
    ) -> Result<(), Self::Error> {
        C::restored(track, self.0[index]);
        Ok(())
    }
}

struct SealUnsent {
    mask: FieldMask,
    tick: Tick,
    changed: FieldMask,
}

impl VisitMut for SealUnsent {
    type Error = std::convert::Infallible;
    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        track: &mut C::Track,
    ) -> Result<(), Self::Error> {
        if self.mask.has(index) && C::seal(value, track, self.tick) {
            self.changed.insert(index);
        }
        Ok(())
    }
}

struct Seal<'a> {
    mask: &'a FieldMask,
    tick: Tick,
    out: &'a mut Vec<u8>,
    sealed: &'a mut Sealed,
}

impl VisitMut for Seal<'_> {
    type Error = std::convert::Infallible;
    #[inline(always)]
    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        track: &mut C::Track,
    ) -> Result<(), Self::Error> {
        if self.mask.has(index) && C::seal(value, track, self.tick) {
            self.sealed.changed.insert(index);
            if C::put_sealed(value, track, self.tick, self.out) {
                self.sealed.differences.insert(index);
            }
        }
        Ok(())
    }
}

struct Whole<'a>(&'a mut Vec<u8>);

impl Visit for Whole<'_> {
    #[inline]
    fn field<C: Codec>(&mut self, _: usize, value: &C::Value, _: &C::Track) {
        C::put(value, self.0);
    }
}

struct Since<'a> {
    mask: FieldMask,
    since: Tick,
    out: &'a mut Vec<u8>,
}

impl Visit for Since<'_> {
    #[inline]
    fn field<C: Codec>(&mut self, index: usize, value: &C::Value, track: &C::Track) {
        if self.mask.has(index) {
            C::put_since(value, track, self.since, self.out);
        }
    }
}

struct Build<'a, 'b>(&'a mut Reader<'b>);

impl Source for Build<'_, '_> {
    type Error = DecodeError;
    #[inline]
    fn field<C: Codec>(&mut self, _: usize) -> Result<C::Value, DecodeError> {
        C::take(self.0)
    }
}

struct Apply<'a, 'b> {
    mask: FieldMask,
    differences: FieldMask,
    r: &'a mut Reader<'b>,
}

impl VisitMut for Apply<'_, '_> {
    type Error = DecodeError;
    #[inline]
    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        _: &mut C::Track,
    ) -> Result<(), DecodeError> {
        if !self.mask.has(index) {
            Ok(())
        } else if self.differences.has(index) {
            C::take_difference(value, self.r)
        } else {
            C::take_change(value, self.r)
        }
    }
}

/// Appends the fields of a mask, each in a whole value: what [`take_fields`] reads.
pub(crate) fn put_fields<K: Entity>(entity: &K, mask: FieldMask, out: &mut Vec<u8>) {
    struct Fields<'a>(FieldMask, &'a mut Vec<u8>);
    impl Visit for Fields<'_> {
        fn field<C: Codec>(&mut self, index: usize, value: &C::Value, _: &C::Track) {
            if self.0.has(index) {
                C::put(value, self.1);
            }
        }
    }
    entity.visit(&K::Track::default(), &mut Fields(mask, out));
}

/// Reads the fields of a mask, each a whole value, which a player wrote, and rounds them. Says of each one that it had
/// to clamp. Returns whether all floats are finite. On an error the entity may be half changed.
pub(crate) fn take_fields<K: Entity>(
    entity: &mut K,
    mask: FieldMask,
    r: &mut Reader<'_>,
    clamped: impl FnMut(usize),
) -> Result<bool, DecodeError> {
    struct Fields<'a, 'b, F> {
        mask: FieldMask,
        finite: bool,
        r: &'a mut Reader<'b>,
        clamped: F,
    }
    impl<F: FnMut(usize)> VisitMut for Fields<'_, '_, F> {
        type Error = DecodeError;
        fn field<C: Codec>(
            &mut self,
            index: usize,
            value: &mut C::Value,
            _: &mut C::Track,
        ) -> Result<(), DecodeError> {
            if self.mask.has(index) {
                *value = C::take(self.r)?;
                if C::normalize(value) {
                    (self.clamped)(index);
                }
                self.finite &= C::is_finite(value);
            }
            Ok(())
        }
    }
    let mut fields = Fields { mask, finite: true, r, clamped };
    entity.visit_mut(&mut K::Track::default(), &mut fields)?;
    Ok(fields.finite)
}

/// Copies the fields of a mask from one entity to another.
pub(crate) fn copy_fields<K: Entity>(from: &K, mask: FieldMask, to: &mut K) {
    if mask.is_empty() {
        return;
    }
    let mut bytes = Vec::new();
    put_fields(from, mask, &mut bytes);
    // What was encoded a moment ago decodes.
    let _ = take_fields(to, mask, &mut Reader::new(&bytes), |_| ());
}

/// Whether the fields of a mask are the same in two entities, bit by bit.
pub(crate) fn same_fields<K: Entity>(a: &K, b: &K, mask: FieldMask) -> bool {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    put_fields(a, mask, &mut of_a);
    put_fields(b, mask, &mut of_b);
    of_a == of_b
}

/// Reads an entity with every field.
pub fn read_whole<K: Visible>(r: &mut Reader<'_>) -> Result<K, DecodeError> {
    K::build(&mut Build(r))
}

/// Applies a change to an entity. On an error the entity may be half changed: the caller drops it.
pub fn apply<K: Visible>(
    entity: &mut K,
    mask: FieldMask,
    differences: FieldMask,
    r: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    entity.visit_mut(&mut K::Track::default(), &mut Apply { mask, differences, r })
}

/// Appends an entity of any kind with every field in whole values, as [`StoredRecord`] has it: for stores. Allocates
/// nothing where `out` has room.
pub(crate) fn put_stored<K: Entity>(entity: &K, track: &K::Track, out: &mut Vec<u8>) {
    entity.visit(track, &mut Whole(out));
}

/// Reads an entity that [`put_stored`] wrote, and nothing behind it.
pub(crate) fn read_stored<K: Entity>(bytes: &[u8]) -> Result<K, DecodeError> {
    let mut r = Reader::new(bytes);
    let entity = K::build(&mut Build(&mut r))?;
    r.end()?;
    Ok(entity)
}

/// An entity of any kind, hidden ones too, with every field in whole values: for stores, recordings and
/// inspection. Nothing that builds an update accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord(Vec<u8>);

impl StoredRecord {
    /// Encodes an entity.
    #[must_use]
    pub fn of<K: Entity>(entity: &K) -> StoredRecord {
        let mut out = Vec::new();
        put_stored(entity, &K::Track::default(), &mut out);
        StoredRecord(out)
    }

    /// Decodes the entity.
    pub fn read<K: Entity>(&self) -> Result<K, DecodeError> {
        read_stored(&self.0)
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

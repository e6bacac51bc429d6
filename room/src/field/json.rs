//! `Json<T>` fields: any serde type, replaced whole.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Codec, Field, OverLimit, WireType};
use crate::entity::WriteError;
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// A value of any serde type, synced as JSON text of at most 16 KiB with the keys of maps sorted.
///
/// It reads through `Deref`. It cannot be changed in place: the entity's writer has `update_…`, which compares
/// the text before and after, so a change is never missed.
///
/// ```
/// use room::prelude::*;
/// let hand = Json::new(vec![3, 4]);
/// assert_eq!(hand.len(), 2);
/// ```
#[derive(Clone)]
pub struct Json<T> {
    value: T,
    // Invariant: the encoding of `value`, or empty where serde refused it; empty text is refused by `check`.
    text: String,
}

impl<T: Serialize> Json<T> {
    /// Wraps a value. A value that JSON cannot hold (a map whose keys are no strings, a refusing `Serialize`)
    /// or whose text is too long is refused when it is written to an entity.
    pub fn new(value: T) -> Self {
        let text = encode(&value);
        Json { value, text }
    }
}

impl<T> Json<T> {
    /// The value, unwrapped.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The JSON text that travels.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn encode<T: Serialize>(value: &T) -> String {
    let Ok(mut tree) = serde_json::to_value(value) else { return String::new() };
    tree.sort_all_objects();
    tree.to_string()
}

impl<T> Deref for Json<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize> From<T> for Json<T> {
    fn from(value: T) -> Self {
        Json::new(value)
    }
}

impl<T: Serialize + Default> Default for Json<T> {
    fn default() -> Self {
        Json::new(T::default())
    }
}

impl<T> PartialEq for Json<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T: fmt::Debug> fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Types that `Json` can hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be synced as JSON",
    note = "Json<T> needs T: Serialize + DeserializeOwned + Clone + Debug + Send + Sync"
)]
pub trait JsonValue: Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static {}
impl<T: Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static> JsonValue for T {}

/// The codec of [`Json`].
pub struct JsonCodec<T>(PhantomData<T>);

impl<T: JsonValue> Field for Json<T> {
    type Codec = JsonCodec<T>;
}

impl<T: JsonValue> Codec for JsonCodec<T> {
    type Value = Json<T>;
    type Track = Option<String>;
    type Outcome = Result<(), WriteError>;
    const WIRE: WireType = WireType::Json;

    fn check(value: &Json<T>) -> Result<(), OverLimit> {
        let (size, limit) = (value.text.len(), limits::JSON);
        if size > limit {
            return Err(OverLimit { size, limit });
        }
        // What a client could not read back would end its connection: a number that is not finite is written
        // as null, and deep trees are refused by the parser alone.
        let reads = serde_json::from_str::<T>(&value.text).is_ok();
        if reads { Ok(()) } else { Err(OverLimit { size: 0, limit }) }
    }
    fn size(value: &Json<T>) -> usize {
        varint::len(value.text.len() as u64) + value.text.len()
    }
    fn same(a: &Json<T>, b: &Json<T>) -> bool {
        a.text == b.text
    }
    fn replace(value: &mut Json<T>, new: Json<T>, track: &mut Option<String>, first: bool) {
        let old = std::mem::replace(value, new);
        if first {
            *track = Some(old.text);
        }
    }
    fn seal(value: &Json<T>, track: &mut Option<String>, _tick: Tick) -> bool {
        track.take().is_none_or(|base| base != value.text)
    }
    fn put(value: &Json<T>, out: &mut Vec<u8>) {
        varint::put(out, value.text.len() as u64);
        out.extend_from_slice(value.text.as_bytes());
    }
    fn take(r: &mut Reader<'_>) -> Result<Json<T>, DecodeError> {
        let text = r.text(limits::JSON)?;
        // serde_json refuses trees deeper than 128 and builds nothing that the text does not spell out.
        let value = serde_json::from_str(text).map_err(|_| DecodeError::Json)?;
        Ok(Json { value, text: text.to_owned() })
    }
}

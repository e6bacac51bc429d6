//! Calls: requests of clients that each get one result.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Game, Peer, Refused, Room};
use crate::limits;
use crate::wire::{DecodeError, payload};

/// A decoded call, ready to run; its result is MessagePack.
pub(super) type Run<G> = Box<dyn FnOnce(&mut G, &mut Room<G>, Peer) -> Result<Vec<u8>, Refused> + Send>;
type Decode<G> = Arc<dyn Fn(&[u8]) -> Result<Run<G>, DecodeError> + Send + Sync>;

/// The calls that a game answers.
///
/// ```
/// # use room::prelude::*;
/// # struct Shop;
/// # impl Shop { fn sell(&mut self, what: &str) -> Option<u32> { Some(3) } }
/// # impl Game for Shop {
/// # type Event = (); type Scratch = (); fn schema() -> Schema { Schema::new() }
/// fn calls() -> Calls<Self> {
///     Calls::new().on("buy", |shop: &mut Shop, _room, _peer, what: String| {
///         shop.sell(&what).ok_or_else(|| Refused::new("sold out"))
///     })
/// }
/// # }
/// ```
pub struct Calls<G: Game> {
    by_name: BTreeMap<&'static str, Kind<G>>,
}

struct Kind<G: Game> {
    decode: Decode<G>,
    rate: Option<(u32, u32)>,
}

impl<G: Game> Default for Calls<G> {
    fn default() -> Self {
        Calls { by_name: BTreeMap::new() }
    }
}

impl<G: Game> Calls<G> {
    /// No calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers calls of a name (1 to 64 bytes) with what `answer` returns: a value of at most 60 KiB, or a refusal
    /// of which the client gets the first 256 bytes. A client that calls with another type than `T` is closed with
    /// 4000.
    ///
    /// # Panics
    /// If the name is too long or empty, or given twice.
    #[must_use]
    pub fn on<T, R, F>(mut self, name: &'static str, answer: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(&mut G, &mut Room<G>, Peer, T) -> Result<R, Refused> + Send + Sync + 'static,
    {
        assert!((1..=limits::NAME).contains(&name.len()), "a call's name has 1 to 64 bytes: {name:?}");
        let answer = Arc::new(answer);
        let decode = move |bytes: &[u8]| {
            let value: T = payload::decode(bytes)?;
            let answer = answer.clone();
            let run = move |game: &mut G, room: &mut Room<G>, peer: Peer| {
                let reply = answer(game, room, peer, value)?;
                let mut bytes = Vec::new();
                payload::encode(&reply, limits::ROOM_PAYLOAD, &mut bytes)
                    .map_err(|error| Refused::new(error.to_string()))?;
                Ok(bytes)
            };
            Ok(Box::new(run) as Run<G>)
        };
        let before = self.by_name.insert(name, Kind { decode: Arc::new(decode), rate: None });
        assert!(before.is_none(), "two calls of the name {name:?}");
        self
    }

    /// Lets each session make a call only so often: so many a second on average, `burst` at once. One past it is
    /// refused with `too_many`.
    ///
    /// # Panics
    /// If there is no call of that name yet, or a number is 0.
    #[must_use]
    pub fn rate(mut self, name: &'static str, per_second: u32, burst: u32) -> Self {
        assert!(per_second > 0 && burst > 0, "a call that may never be made: {name:?}");
        let kind = self.by_name.get_mut(name).expect("the call is added before its rate");
        kind.rate = Some((per_second, burst));
        self
    }

    /// The call's own name and what runs it; `None` where there is no such call.
    pub(super) fn decode(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<Option<(&'static str, Run<G>)>, DecodeError> {
        let Some((name, kind)) = self.by_name.get_key_value(name) else { return Ok(None) };
        Ok(Some((*name, (kind.decode)(bytes)?)))
    }

    /// How often a second, and how often at once.
    pub(super) fn rate_of(&self, name: &str) -> Option<(u32, u32)> {
        self.by_name.get(name)?.rate
    }
}

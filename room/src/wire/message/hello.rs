//! A client's first message: who it is, and what it holds where it comes back.

use std::fmt;

use super::{put_blob, put_build, tag, take_build, take_u32};
use crate::entity::{EntityId, SessionId};
use crate::limits;
use crate::tick::Tick;
use crate::wire::{DecodeError, Reader, varint};

/// A client's first message.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// The version of the messages that it speaks.
    pub protocol: u32,
    /// The hash of its schema, hidden kinds and all.
    pub schema_hash: u64,
    /// Its build: 1 to 64 letters, digits, `.`, `_`, `-`.
    pub build: Option<String>,
    /// The player's display name, at most 256 bytes.
    pub name: String,
    /// MessagePack for the room's authentication, at most 4 KiB; empty where it gives none.
    pub auth: Vec<u8>,
    /// The session that it continues, where it does.
    pub resume: Option<Resume>,
}

/// The secret that lets a client continue a session: 128 bits from the operating system.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Token(pub [u8; 16]);

/// How a client continues its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The session.
    pub session: SessionId,
    /// The token of the last welcome.
    pub token: Token,
    /// The number of the last event that it has from the room, taken by the game or not.
    pub received: u64,
    /// What it holds.
    pub claim: Claim,
}

/// What a client holds of a room's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The generation of the state, from its last welcome.
    pub generation: u64,
    /// The incarnation of the room, from its last welcome.
    pub incarnation: u64,
    /// The tick up to which it has everything of what it holds.
    pub complete: Tick,
    /// The entities it holds, in order, each once.
    pub ids: Vec<EntityId>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without `auth`, which appears in no log.
        f.debug_struct("Hello")
            .field("protocol", &self.protocol)
            .field("build", &self.build)
            .field("name", &self.name)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

impl Hello {
    /// Appends the message. Longer fields than the struct's limits are a bug of the caller.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.name.len() <= limits::DISPLAY_NAME && self.auth.len() <= limits::AUTH);
        out.push(tag::HELLO);
        varint::put(out, self.protocol.into());
        out.extend_from_slice(&self.schema_hash.to_le_bytes());
        put_build(out, self.build.as_deref());
        put_blob(out, self.name.as_bytes());
        put_blob(out, &self.auth);
        if let Some(resume) = &self.resume {
            out.push(1);
            resume.put(out);
        } else {
            out.push(0);
        }
    }

    pub(super) fn take(r: &mut Reader<'_>) -> Result<Hello, DecodeError> {
        Ok(Hello {
            protocol: take_u32(r)?,
            schema_hash: u64::from_le_bytes(r.array()?),
            build: take_build(r)?.map(str::to_owned),
            name: r.text(limits::DISPLAY_NAME)?.to_owned(),
            auth: r.blob(limits::AUTH)?.to_vec(),
            resume: match r.u8()? {
                0 => None,
                1 => Some(Resume::take(r)?),
                _ => return Err(DecodeError::Value),
            },
        })
    }
}

impl Resume {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.session.0);
        out.extend_from_slice(&self.token.0);
        varint::put(out, self.received);
        out.extend_from_slice(&self.claim.generation.to_le_bytes());
        varint::put(out, self.claim.incarnation);
        varint::put(out, self.claim.complete.0);
        let mut ids = Vec::new();
        let mut before = 0;
        for id in &self.claim.ids {
            varint::put(&mut ids, id.get() - before);
            before = id.get();
        }
        debug_assert!(ids.len() <= limits::CLAIM, "the client forgets what does not fit");
        put_blob(out, &ids);
    }

    fn take(r: &mut Reader<'_>) -> Result<Resume, DecodeError> {
        Ok(Resume {
            session: SessionId(r.varint()?),
            token: Token(r.array()?),
            received: r.varint()?,
            claim: Claim {
                generation: u64::from_le_bytes(r.array()?),
                incarnation: r.varint()?,
                complete: Tick(r.varint()?),
                ids: take_ids(r.blob(limits::CLAIM)?)?,
            },
        })
    }
}

/// IDs as gaps: the first is its own, and each further one is what must be added to the one before.
fn take_ids(bytes: &[u8]) -> Result<Vec<EntityId>, DecodeError> {
    let mut r = Reader::new(bytes);
    let mut ids: Vec<EntityId> = Vec::new();
    while !r.is_empty() {
        let before = ids.last().map_or(0, |id| id.get());
        let id = r.varint()?.checked_add(before).filter(|id| *id > before);
        ids.push(id.and_then(EntityId::from_wire).ok_or(DecodeError::Value)?);
    }
    Ok(ids)
}

/// How many of these IDs, which are in order, a claim has room for.
#[must_use]
pub fn claim_fits(ids: impl IntoIterator<Item = EntityId>) -> usize {
    let (mut used, mut before, mut count) = (0, 0, 0);
    for id in ids {
        used += varint::len(id.get() - before);
        if used > limits::CLAIM {
            break;
        }
        (before, count) = (id.get(), count + 1);
    }
    count
}

/// The version that a hello names, or `None` for one that ends before it names any. It is read by itself and
/// first, because the rest may be laid out as another version has it.
///
/// Another message of a client's is [`DecodeError::Order`]; bytes that are none are that decoding's error.
pub fn hello_protocol(bytes: &[u8]) -> Result<Option<u32>, DecodeError> {
    if bytes.first() == Some(&tag::HELLO) {
        return super::protocol(&bytes[1..]);
    }
    super::ClientMessage::decode(bytes)?;
    Err(DecodeError::Order)
}

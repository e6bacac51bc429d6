//! The game's say in who comes in.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::goal::Aim;
use crate::entity::{PlayerId, SessionId};
use crate::runtime::{Identity, Way};
use crate::session::Hello;
use crate::wire::DecodeError;
use crate::wire::payload;

/// What a client says of itself before it is let in.
#[non_exhaustive]
pub struct AuthRequest {
    /// The room it asks for, by name or by code; empty where it asks for any room of a kind.
    pub room: String,
    /// The kind, where it asks for any room of one.
    pub kind: Option<String>,
    /// The display name it would like; at most 256 bytes, and nobody has checked that it is hers.
    pub name: String,
    /// Where it calls from.
    pub address: IpAddr,
    resuming: Option<(SessionId, PlayerId)>,
    // Kept from `Debug`: it appears in no log.
    auth: Vec<u8>,
}

impl AuthRequest {
    pub(super) fn new(
        aim: &Aim,
        hello: &Hello,
        address: IpAddr,
        resuming: Option<(SessionId, PlayerId)>,
    ) -> AuthRequest {
        let kind = match &aim.way {
            Way::Kind(kind) => Some(kind.clone()),
            Way::Name | Way::Code => None,
        };
        let (room, name) = (aim.room.clone(), hello.name.clone());
        AuthRequest { room, kind, name, address, resuming, auth: hello.auth.clone() }
    }

    /// The session that the client continues, and its player, where it has shown a good token. The identity must
    /// have the account that the session began with; any other is refused with 4003.
    #[must_use]
    pub fn resuming(&self) -> Option<(SessionId, PlayerId)> {
        self.resuming
    }

    /// What the client gave as `auth`, or `None` where it gave nothing.
    ///
    /// # Errors
    /// Fails where it is not a `T`, or nests deeper or holds more values than a payload may.
    pub fn auth<T: DeserializeOwned>(&self) -> Result<Option<T>, DecodeError> {
        if self.auth.is_empty() { Ok(None) } else { payload::decode(&self.auth).map(Some) }
    }
}

impl fmt::Debug for AuthRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthRequest")
            .field("room", &self.room)
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("address", &self.address)
            .field("resuming", &self.resuming)
            .finish_non_exhaustive()
    }
}

/// A client that is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    reason: String,
    retry: bool,
}

impl Denied {
    /// A refusal for good, with a reason that the client shows (at most 123 bytes of it).
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Denied {
        Denied { reason: reason.into(), retry: false }
    }

    /// A refusal that may end differently at another try, such as an account service that does not answer. The
    /// reason goes to the log; the client hears that it may try again.
    #[must_use]
    pub fn retry(reason: impl Into<String>) -> Denied {
        Denied { reason: reason.into(), retry: true }
    }

    /// The reason as given.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether the client may try again.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        self.retry
    }

    /// What the close frame says.
    pub(super) fn close_reason(&self) -> &str {
        if self.retry { r#"{"retry":true}"# } else { &self.reason }
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Identity, Denied>> + Send>>;

/// The hook, with its types erased.
#[derive(Clone)]
pub(super) struct Hook(Arc<dyn Fn(AuthRequest) -> Answer + Send + Sync>);

impl Hook {
    pub(super) fn new<F, A>(hook: F) -> Hook
    where
        F: Fn(AuthRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Identity, Denied>> + Send + 'static,
    {
        let hook = Arc::new(hook);
        Hook(Arc::new(move |request| {
            let hook = hook.clone();
            // Called within the future, so that it panics, where it does, in the task made for that.
            Box::pin(async move { hook(request).await })
        }))
    }

    pub(super) fn ask(&self, request: AuthRequest) -> Answer {
        (self.0)(request)
    }
}

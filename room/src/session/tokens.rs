//! The secrets with which a session can be continued.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::faults::{self, Fault};
use crate::limits;
use crate::wire::message::Token;

/// A token as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hashed([u8; 32]);

impl Hashed {
    fn of(token: &Token) -> Hashed {
        Hashed(Sha256::digest(token.0).into())
    }

    fn is(&self, other: &Hashed) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// What a session knows of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It continues the session.
    Good,
    /// Another device has continued the session without it.
    Displaced,
    /// It is no token of this session, or was used.
    No,
}

/// The tokens of one session.
///
/// A welcome may be lost. So the token with which a client came stays good until the client confirms the next
/// one, and what no client has confirmed dies with the next welcome.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The one of the last welcome.
    fresh: Hashed,
    /// The one with which that client came, until it confirms.
    presented: Option<Hashed>,
    /// Invariant: at most [`limits::DISPLACED`].
    displaced: Vec<Hashed>,
}

impl Tokens {
    /// The tokens of a new session.
    #[must_use]
    pub fn new(fresh: &Token) -> Tokens {
        Tokens { fresh: Hashed::of(fresh), presented: None, displaced: Vec::new() }
    }

    /// The hashes: of the fresh one, of the presented one, of displaced ones.
    #[must_use]
    pub fn hashes(&self) -> ([u8; 32], Option<[u8; 32]>, Vec<[u8; 32]>) {
        let displaced = self.displaced.iter().map(|hashed| hashed.0).collect();
        (self.fresh.0, self.presented.map(|hashed| hashed.0), displaced)
    }

    /// The tokens that have these hashes.
    #[must_use]
    pub fn of_hashes(fresh: [u8; 32], presented: Option<[u8; 32]>, displaced: Vec<[u8; 32]>) -> Tokens {
        let mut displaced: Vec<Hashed> = displaced.into_iter().map(Hashed).collect();
        displaced.truncate(limits::DISPLACED);
        Tokens { fresh: Hashed(fresh), presented: presented.map(Hashed), displaced }
    }

    /// What a token is worth here.
    #[must_use]
    pub fn check(&self, token: &Token) -> Known {
        let token = Hashed::of(token);
        // Each is compared, whichever is the right one.
        let good = self.fresh.is(&token) | self.presented.is_some_and(|known| known.is(&token));
        let displaced = self.displaced.iter().fold(false, |any, known| any | known.is(&token));
        match (good, displaced) {
            (true, _) => Known::Good,
            (false, true) => Known::Displaced,
            (false, false) => Known::No,
        }
    }

    /// A client came with a good token and is given a fresh one.
    pub fn rotate(&mut self, presented: &Token, fresh: &Token) {
        self.presented = (!faults::is(Fault::TokenDropped)).then(|| Hashed::of(presented));
        self.fresh = Hashed::of(fresh);
    }

    /// The session goes on for a client that came without a token.
    pub fn displace(&mut self, fresh: &Token) {
        self.displaced.extend(self.presented.take());
        self.displaced.push(self.fresh);
        let over = self.displaced.len().saturating_sub(limits::DISPLACED);
        self.displaced.drain(..over);
        self.fresh = Hashed::of(fresh);
    }

    /// The client has the fresh one. Returns whether that is news.
    pub fn confirm(&mut self) -> bool {
        self.presented.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(n: u8) -> Token {
        Token([n; 16])
    }

    #[test]
    fn a_lost_welcome_loses_nobody_and_an_unconfirmed_token_dies() {
        let mut tokens = Tokens::new(&token(1));
        tokens.rotate(&token(1), &token(2));
        assert_eq!(tokens.check(&token(1)), Known::Good, "its welcome may be lost");
        assert_eq!(tokens.check(&token(2)), Known::Good);
        tokens.rotate(&token(1), &token(3));
        assert_eq!(tokens.check(&token(2)), Known::No, "nobody confirmed it");
        tokens.confirm();
        assert_eq!([1, 2, 3].map(|n| tokens.check(&token(n))), [Known::No, Known::No, Known::Good]);
    }

    #[test]
    fn a_device_that_was_displaced_is_told_so() {
        let mut tokens = Tokens::new(&token(1));
        tokens.rotate(&token(1), &token(2));
        tokens.displace(&token(3));
        assert_eq!([1, 2].map(|n| tokens.check(&token(n))), [Known::Displaced; 2]);
        for n in 4..40 {
            tokens.displace(&token(n));
        }
        assert_eq!(tokens.displaced.len(), limits::DISPLACED);
        assert_eq!(tokens.check(&token(38)), Known::Displaced);
        assert_eq!(tokens.check(&token(1)), Known::No, "that is long ago");
    }
}

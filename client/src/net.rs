//! Sockets: the only part of this crate that does I/O.

pub(crate) mod native;

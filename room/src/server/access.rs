//! Which hosts and origins a socket may name.
//!
//! A page of another site, or a name that an attacker points at this machine, must not reach a room with a
//! player's browser. Both are answered with 403 before anything is upgraded.

use std::net::Ipv4Addr;

/// The server's lists, as checked at its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    hosts: Vec<Authority>,
    origins: Vec<Origin>,
    // Invariant: false on a deployed server, which answers to configured names alone.
    loopback: bool,
}

/// `name[:port]`, lower case; an IPv6 address keeps its brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    name: String,
    port: Option<u16>,
}

/// `scheme://name[:port]`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    secure: bool,
    authority: Authority,
}

impl Access {
    /// Reads both lists; an entry that is neither is handed back.
    pub(super) fn new(hosts: &[String], origins: &[String], loopback: bool) -> Result<Access, BadEntry> {
        let hosts = hosts
            .iter()
            .map(|entry| Authority::parse(entry).ok_or_else(|| BadEntry::Host(entry.clone())))
            .collect::<Result<_, _>>()?;
        let origins = origins
            .iter()
            .map(|entry| Origin::parse(entry).ok_or_else(|| BadEntry::Origin(entry.clone())))
            .collect::<Result<_, _>>()?;
        Ok(Access { hosts, origins, loopback })
    }

    /// Whether a request may name `host` as the one it was sent to.
    pub(super) fn host(&self, host: &str) -> bool {
        Authority::parse(host).is_some_and(|host| {
            self.loopback && host.is_loopback()
                || self.hosts.iter().any(|entry| {
                    entry.name == host.name && entry.port.is_none_or(|port| host.port == Some(port))
                })
        })
    }

    /// Whether a page of `origin` may open a socket to `host`.
    pub(super) fn origin(&self, origin: &str, host: &str) -> bool {
        let (Some(origin), Some(host)) = (Origin::parse(origin), Authority::parse(host)) else {
            return false;
        };
        origin.authority.name == host.name
            || origin.authority.is_loopback()
            || self.origins.iter().any(|entry| {
                entry.secure == origin.secure
                    && entry.authority.name == origin.authority.name
                    && entry.port() == origin.port()
            })
    }
}

/// An entry of a list that does not parse.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadEntry {
    Host(String),
    Origin(String),
}

impl Authority {
    fn parse(text: &str) -> Option<Authority> {
        let (name, port) = match text.rfind(':') {
            Some(colon) if !text[colon..].contains(']') => (&text[..colon], Some(&text[colon + 1..])),
            _ => (text, None),
        };
        let port = match port {
            Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => Some(port.parse().ok()?),
            Some(_) => return None,
            None => None,
        };
        let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let valid = match inner {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
            }
        };
        valid.then(|| Authority { name: name.to_ascii_lowercase(), port })
    }

    fn is_loopback(&self) -> bool {
        self.name == "localhost"
            || self.name == "[::1]"
            || self.name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
    }
}

impl Origin {
    fn parse(text: &str) -> Option<Origin> {
        let (scheme, authority) = text.split_once("://")?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Some(Origin { secure, authority: Authority::parse(authority)? })
    }

    fn port(&self) -> u16 {
        self.authority.port.unwrap_or(if self.secure { 443 } else { 80 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(hosts: &[&str], origins: &[&str], loopback: bool) -> Access {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        Access::new(&owned(hosts), &owned(origins), loopback).expect("valid lists")
    }

    #[test]
    fn in_development_a_host_is_loopback_or_listed() {
        let access = access(&["game.example", "lan.example:9000"], &[], true);
        for host in
            ["localhost:8787", "LocalHost", "127.0.0.1:1", "127.9.9.9", "[::1]:8787", "game.example:5"]
        {
            assert!(access.host(host), "{host}");
        }
        assert!(access.host("lan.example:9000"));
        for host in
            ["", "evil.example", "lan.example:9001", "localhost.evil.example", "128.0.0.1", "[::2]", ":80"]
        {
            assert!(!access.host(host), "{host}");
        }
    }

    #[test]
    fn a_deployed_server_answers_to_configured_names_alone() {
        let access = access(&["game.example"], &[], false);
        assert!(access.host("game.example"));
        assert!(!access.host("127.0.0.1:8787"));
    }

    #[test]
    fn an_origin_is_the_host_itself_or_localhost_or_listed() {
        let access = access(&["game.example"], &["https://play.example"], true);
        for origin in [
            "https://game.example",
            "http://game.example:8080",
            "http://localhost:5173",
            "http://[::1]",
            "https://play.example",
            "https://play.example:443",
        ] {
            assert!(access.origin(origin, "game.example"), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://evil.example",
            "http://play.example",
            "https://play.example:8443",
            "file://",
        ] {
            assert!(!access.origin(origin, "game.example"), "{origin}");
        }
    }

    #[test]
    fn entries_that_mean_nothing_are_named() {
        let bad = Access::new(&["http://game.example".to_owned()], &[], true);
        assert_eq!(bad.unwrap_err(), BadEntry::Host("http://game.example".to_owned()));
        let bad = Access::new(&[], &["game.example".to_owned()], true);
        assert_eq!(bad.unwrap_err(), BadEntry::Origin("game.example".to_owned()));
    }
}

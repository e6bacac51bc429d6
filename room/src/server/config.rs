//! The settings of a server, and what is wrong with them.

use std::path::PathBuf;
use std::time::Duration;

use super::access::{Access, BadEntry};
use super::proxies::Proxies;
use super::pulse::Rhythm;
use crate::limits;
use crate::runtime::Settings;
use crate::wire::message::is_room_name;

/// Everything that `Server`'s builder sets.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) room: Settings,
    pub(super) max_rooms: usize,
    pub(super) rooms_per_minute: u32,
    /// What those may ask for who look for any room.
    pub(super) kinds: Vec<String>,
    pub(super) hello: Duration,
    pub(super) sleep: Duration,
    /// `None` for what goes with the seats.
    pub(super) sockets_per_second: Option<u32>,
    pub(super) trusted_proxies: Vec<String>,
    /// The folder of the game's page.
    pub(super) assets: Option<PathBuf>,
    pub(super) rhythm: Rhythm,
    pub(super) threads: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            host: "127.0.0.1".to_owned(),
            port: limits::PORT,
            hosts: Vec::new(),
            origins: Vec::new(),
            room: Settings::default(),
            max_rooms: limits::ROOMS,
            rooms_per_minute: limits::ROOMS_PER_MINUTE,
            kinds: Vec::new(),
            hello: Duration::from_secs(limits::HELLO_SECONDS),
            sleep: Duration::from_secs(limits::SLEEP_SECONDS),
            sockets_per_second: None,
            trusted_proxies: Vec::new(),
            assets: None,
            rhythm: Rhythm::default(),
            threads: 1,
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting has a value that it cannot have.
    #[error("the setting `{name}` is {value}; allowed is {allowed}")]
    Setting {
        /// The builder's method.
        name: &'static str,
        /// The value given.
        value: String,
        /// What would do.
        allowed: &'static str,
    },
    /// A deployed server must know who comes in.
    #[error(
        "a deployed server needs an `authenticate` hook; set one, or leave `deployed()` out in development"
    )]
    NoAuthentication,
    /// A deployed server must know its own names.
    #[error("a deployed server on {0} needs `hosts([…])`: the names under which players reach it")]
    NoHosts(String),
    /// A room of the game could not run: its schema or a setting of its own has a fault.
    #[error(transparent)]
    Room(#[from] crate::runtime::StartError),
    /// The store cannot say what it has.
    #[error(transparent)]
    Store(#[from] crate::storage::StoreError),
    /// The system gives no more threads.
    #[error("the room's threads cannot start: {0}; ask for fewer with `threads(…)`")]
    Threads(std::io::Error),
    /// The game's page cannot be read.
    #[error("the page's files cannot be read: {path}: {error}; name the folder that it was built into with `assets(…)`", path = .path.display())]
    Assets {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Another program has the port.
    #[error("port {port} of {host} is taken; stop the program that has it or choose another with `port(…)`")]
    PortTaken {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {host}:{port}: {error}")]
    Listen {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Config {
    /// Checks every setting; the answer is what the door-keeper compares requests with.
    pub(super) fn check(&self, authenticated: bool) -> Result<Access, StartError> {
        self.room.validate()?;
        let most = limits::SOCKET_BACKLOG as u64 / 2;
        in_range(
            "send_every",
            u64::from(self.room.send_every),
            u64::from(limits::TICK_RATE_MOST),
            "1 to 128",
        )?;
        in_range("max_players", self.room.seats as u64, limits::SEATS_MOST as u64, "1 to 1048576")?;
        in_range("max_rooms", self.max_rooms as u64, 1 << 20, "1 to 1048576")?;
        in_range("rooms_per_minute", u64::from(self.rooms_per_minute), 1 << 20, "1 to 1048576")?;
        if let Some(value) = self.kinds.iter().find(|kind| !is_room_name(kind)) {
            return Err(StartError::Setting { name: "kinds", value: format!("{value:?}"), allowed: KIND });
        }
        in_range("update_cap", self.room.update_cap as u64, most, "60 KiB to 2 MiB")?;
        in_range("window", self.room.window as u64, most, "60 KiB to 2 MiB")?;
        in_range("threads", self.threads as u64, limits::THREADS as u64, "1 to 64")?;
        in_range("sockets_per_second", u64::from(self.sockets_per_second()), 1 << 20, "1 to 1048576")?;
        if self.room.deployed && !authenticated {
            return Err(StartError::NoAuthentication);
        }
        self.access()
    }

    /// New sockets a second.
    pub(super) fn sockets_per_second(&self) -> u32 {
        let seats = u32::try_from(self.room.seats).unwrap_or(u32::MAX);
        self.sockets_per_second.unwrap_or(limits::SOCKETS_PER_SECOND.max(seats / 10))
    }

    /// The proxies that are believed.
    pub(super) fn proxies(&self) -> Result<Proxies, StartError> {
        Proxies::new(&self.trusted_proxies).map_err(|value| StartError::Setting {
            name: "trusted_proxies",
            value,
            allowed: "addresses and networks, such as 10.0.0.0/8 or ::1",
        })
    }

    fn access(&self) -> Result<Access, StartError> {
        let mut hosts = self.hosts.clone();
        let anywhere = matches!(self.host.as_str(), "0.0.0.0" | "::" | "[::]");
        if !anywhere {
            // Who is told to listen on a name answers to it.
            let bare = self.host.trim_start_matches('[').trim_end_matches(']');
            hosts.push(if bare.contains(':') { format!("[{bare}]") } else { bare.to_owned() });
        } else if self.room.deployed && hosts.is_empty() {
            return Err(StartError::NoHosts(self.host.clone()));
        }
        Access::new(&hosts, &self.origins, !self.room.deployed).map_err(|bad| match bad {
            BadEntry::Host(value) if !self.hosts.contains(&value) => {
                StartError::Setting { name: "host", value, allowed: "a host name or an address" }
            }
            BadEntry::Host(value) => StartError::Setting {
                name: "hosts",
                value,
                allowed: "`name` or `name:port`, such as game.example",
            },
            BadEntry::Origin(value) => {
                let allowed = "`scheme://name[:port]`, such as https://game.example";
                StartError::Setting { name: "origins", value, allowed }
            }
        })
    }
}

const KIND: &str = "names of 1 to 64 letters, digits, `.`, `_`, `~` and `-`, but not `.` or `..`";

fn in_range(name: &'static str, value: u64, most: u64, allowed: &'static str) -> Result<(), StartError> {
    if (1..=most).contains(&value) {
        Ok(())
    } else {
        Err(StartError::Setting { name, value: value.to_string(), allowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        config.check(false).expect_err("a fault").to_string()
    }

    #[test]
    fn the_defaults_start() {
        assert!(Config::default().check(false).is_ok());
    }

    #[test]
    fn a_bad_value_is_named_with_what_is_allowed() {
        assert_eq!(fault(|c| c.room.tick_rate = 0), "tick_rate is 0; allowed is 1 to 128");
        assert_eq!(fault(|c| c.max_rooms = 0), "the setting `max_rooms` is 0; allowed is 1 to 1048576");
        assert!(fault(|c| c.rooms_per_minute = 0).contains("`rooms_per_minute` is 0"));
        assert!(fault(|c| c.kinds.push("a b".to_owned())).contains("`kinds` is \"a b\""));
        assert!(fault(|c| c.room.build = "a b".to_owned()).contains("build is \"a b\""));
        assert!(fault(|c| c.origins.push("nonsense".to_owned())).contains("`origins` is nonsense"));
        assert!(fault(|c| c.hosts.push("http://x".to_owned())).contains("`hosts` is http://x"));
        assert!(fault(|c| c.sockets_per_second = Some(0)).contains("`sockets_per_second` is 0"));
        assert!(fault(|c| c.room.hold_seconds = Some(301)).contains("hold_seconds is 301"));
        let config = Config { trusted_proxies: vec!["proxy.example".to_owned()], ..Config::default() };
        assert!(config.proxies().unwrap_err().to_string().contains("`trusted_proxies` is proxy.example"));
    }

    #[test]
    fn large_rooms_take_more_new_sockets() {
        let mut config = Config::default();
        assert_eq!(config.sockets_per_second(), 200);
        config.room.seats = 5000;
        assert_eq!(config.sockets_per_second(), 500);
    }

    #[test]
    fn a_deployed_server_says_what_it_lacks() {
        assert!(fault(|c| c.room.deployed = true).contains("authenticate"));
        let mut config = Config { host: "0.0.0.0".to_owned(), ..Config::default() };
        config.room.deployed = true;
        assert!(config.check(true).expect_err("no hosts").to_string().contains("hosts("));
        let config = Config { hosts: vec!["game.example".to_owned()], ..config };
        assert!(config.check(true).expect("complete").host("game.example"));
    }

    #[test]
    fn an_address_to_listen_on_is_a_host_too() {
        let config = Config { host: "::1".to_owned(), ..Config::default() };
        assert!(config.check(false).is_ok());
        let config = Config { host: "192.168.1.5".to_owned(), ..Config::default() };
        assert!(config.check(false).unwrap().host("192.168.1.5:8787"));
    }
}

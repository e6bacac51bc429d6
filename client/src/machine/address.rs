//! The URL of a room, whichever way it was found.

use super::Machine;

/// The first part of a path that leads to a room; what follows it is a name, a code or a kind.
const WAYS: [&str; 3] = ["rooms", "codes", "any"];

/// The URL of the room of that name on the server that `url` is of; none where `url` is no URL of a room.
fn of_room(url: &str, name: &str) -> Option<String> {
    let (path, query) = match url.find('?') {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    let (before, _) = path.rsplit_once('/')?;
    let (server, way) = before.rsplit_once('/')?;
    WAYS.contains(&way).then(|| format!("{server}/rooms/{name}{query}"))
}

impl Machine {
    /// Where the next socket is to be opened: the URL or name that the client was given or, while it has a session,
    /// that of the room which the session is in.
    #[must_use]
    pub fn room(&self) -> &str {
        match &self.home {
            Some(home) if self.session.is_some() => home,
            _ => &self.options.room,
        }
    }

    /// The room's name; `None` before the first welcome.
    #[must_use]
    pub fn room_name(&self) -> Option<&str> {
        self.room_name.as_deref()
    }

    /// A welcome said in which room this is.
    pub(super) fn arrived(&mut self, name: &str) {
        if self.room_name.as_deref() != Some(name) || self.home.is_none() {
            self.room_name = Some(name.to_owned());
            self.home = of_room(&self.options.room, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_found_again_by_its_name() {
        let of = |url: &str| of_room(url, "duel-abc");
        let named = Some("ws://host:8787/rooms/duel-abc".to_owned());
        for way in ["any/duel", "codes/KWMTRX", "rooms/duel-abc", "rooms/other"] {
            assert_eq!(of(&format!("ws://host:8787/{way}")), named, "{way}");
        }
        assert_eq!(of("ws://host/games/any/duel?v=2"), Some("ws://host/games/rooms/duel-abc?v=2".to_owned()));
        for other in ["", "forest", "ws://host", "ws://host/lobby/duel", "ws://host/any"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}

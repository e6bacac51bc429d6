//! Presence as the room keeps it: one entity a player, made of her sessions.

use super::{Game, Room};
use crate::entity::{Id, PlayerId};
use crate::limits;
use crate::presence::Presence;
use crate::sync::world::Present;

/// A status that was not set; the one before stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatusError {
    /// It is too long.
    #[error("the status of player {player} has {size} bytes; the most is {}: shorten it", limits::STATUS)]
    TooLong {
        /// The player.
        player: PlayerId,
        /// Bytes of the status.
        size: usize,
    },
    /// The player is not in the room.
    #[error("player {player} has no status: only who is in the room has one")]
    Absent {
        /// The player.
        player: PlayerId,
    },
    /// The game has no presence.
    #[error("nobody has a status: the schema is made `without_presence`")]
    Off,
}

impl<G: Game> Room<G> {
    /// A player's presence; `None` where she is not in the room, or the schema has none.
    #[must_use]
    pub fn presence(&self, player: PlayerId) -> Option<&Presence> {
        self.world.presence(player)
    }

    /// The ID of a player's presence: for [`rekey`](Self::rekey), where interest scopes it by more than itself.
    #[must_use]
    pub fn presence_id(&self, player: PlayerId) -> Option<Id<Presence>> {
        self.world.presence_id(player)
    }

    /// Everyone who is in the room, held players too, in the order of their numbers.
    pub fn presences(&self) -> impl DoubleEndedIterator<Item = &Presence> + '_ {
        self.world.presences()
    }

    /// Sets what a player's presence says of her: in place of what she or the game said before, until her last session
    /// ends.
    ///
    /// # Errors
    /// Fails, and changes nothing, where it has more than 256 bytes, she is not in the room, or the schema has no
    /// presence.
    pub fn set_status(&mut self, player: PlayerId, status: &str) -> Result<(), StatusError> {
        if !self.world.schema().has_presence() {
            return Err(StatusError::Off);
        }
        let size = status.len();
        if size > limits::STATUS {
            return Err(StatusError::TooLong { player, size });
        }
        if self.world.set_status(player, status.to_owned()) {
            Ok(())
        } else {
            Err(StatusError::Absent { player })
        }
    }

    /// Brings a player's presence up to date with her sessions. To be called whenever one of them begins, is dropped,
    /// goes on, or ends.
    pub(super) fn present(&mut self, player: PlayerId) {
        let sessions = || self.sessions.of_player(player).iter().filter_map(|id| self.sessions.get(*id));
        let Some(newest) = sessions().next_back() else { return self.world.remove_presence(player) };
        let connections = sessions().filter(|session| session.held.is_none()).count();
        let last = sessions().filter_map(|session| session.held).max();
        let held_until = last.filter(|_| connections == 0).map(|tick| tick.0);
        let connections = u16::try_from(connections).unwrap_or(u16::MAX);
        self.world.present(player, Present { name: &newest.name, connections, held_until });
    }

    /// Brings all presence up to date with the sessions: in a room that came from a store, whose entities and sessions
    /// are back.
    pub(super) fn present_all(&mut self) {
        self.world.find_presences();
        let sessions = self.sessions.iter().map(|(_, session)| session.player);
        let players: std::collections::BTreeSet<PlayerId> =
            sessions.chain(self.world.presence_players()).collect();
        for player in players {
            self.present(player);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::room::runtime::{Identity, Join, Runtime, Settings};
    use crate::room::{ConnectionId, Peer, Refused};
    use crate::session::{Hello, Token};
    use crate::{Schema, SessionId, Tick};

    #[derive(Debug)]
    struct Hall;

    impl Game for Hall {
        type Event = ();
        type Scratch = ();

        fn schema() -> Schema {
            Schema::new()
        }

        fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
            room.set_status(peer.player, "seated").map_err(|error| Refused::new(error.to_string()))
        }
    }

    #[test]
    fn a_room_from_a_store_presents_who_has_a_session_and_keeps_what_was_said() {
        let mut runtime = Runtime::new(Hall, Settings::default(), [7; 32]).unwrap();
        for number in 1..=3 {
            let hello = Hello { name: format!("player {number}"), ..Hello::default() };
            let join = Join { hello, identity: Identity::guest(), token: Token([number as u8; 16]) };
            runtime.handle_open(ConnectionId(number), Duration::ZERO, join);
        }
        runtime.tick(Duration::from_millis(50));
        let (_, room) = runtime.parts_mut();
        // What a wake does: sessions are held, one was not stored, and one player's presence was not.
        room.sessions.hold(SessionId(1), Tick(601));
        room.sessions.hold(SessionId(2), Tick(601));
        room.sessions.remove(SessionId(3)).unwrap();
        room.world.remove_presence(PlayerId(2));

        room.present_all();
        let told = |it: &Presence| (it.player, it.name.clone(), it.status.clone(), it.connections, it.held());
        let until = Some(Tick(601));
        let all: Vec<_> = room.presences().map(told).collect();
        let first = (PlayerId(1), String::from("player 1"), String::from("seated"), 0, until);
        let second = (PlayerId(2), String::from("player 2"), String::new(), 0, until);
        assert_eq!(all, [first, second]);
        assert_eq!(room.count::<Presence>(), 2);
    }
}

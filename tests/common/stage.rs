//! A small game, a server of it, and a player who must not be disturbed by whatever else goes on.

use std::time::{Duration, Instant};

use room::prelude::*;
use room::server::{Server, ServerHandle};
use room_client::{Client, Event};
use tokio::time::sleep;

use super::raw::PATIENCE;

/// The room that the stage is in.
pub(crate) const ROOM: &str = "stage";

/// Somebody in the room.
#[derive(Clone, Debug, Entity)]
pub(crate) struct Avatar {
    pub(crate) name: String,
    pub(crate) hp: u16,
}

/// What no client is told of.
#[derive(Clone, Debug, Entity)]
#[entity(hidden)]
pub(crate) struct Vault {
    pub(crate) combination: u32,
}

/// A game whose events are words: `echo` answers, `flood` sends 6 MB of transients, `pile` as much
/// of events, `kick` kicks the sender, `panic` panics.
#[derive(Default)]
pub(crate) struct Stage {
    /// How connections ended whose players were held.
    pub(crate) dropped: Vec<Dropped>,
}

impl Game for Stage {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Avatar>().entity::<Vault>()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        room.create(Vault { combination: 1234 }).expect("a vault");
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let name = room.connection(peer.conn).map(|conn| conn.name().to_owned()).unwrap_or_default();
        room.create(Avatar { name: name.clone(), hp: 100 }).expect("an avatar");
        if name == "nobody" { Err(Refused::new("nobody may not come in")) } else { Ok(()) }
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: String) {
        match event.as_str() {
            "echo" => room.send(peer.conn, "echo").expect("a short message"),
            "flood" => {
                // More than may wait for one socket.
                for _ in 0..120 {
                    let _ = room.send_transient(peer.conn, &"x".repeat(50_000));
                }
            }
            "pile" => {
                for _ in 0..120 {
                    let _ = room.send(peer.conn, &"x".repeat(50_000));
                }
            }
            "kick" => room.kick(peer.player, "asked for it"),
            "panic" => panic!("asked for it"),
            _ => {}
        }
    }

    fn on_drop(&mut self, _room: &mut Room<Self>, _player: PlayerId, _session: SessionId, how: Dropped) {
        self.dropped.push(how);
    }

    fn on_leave(&mut self, room: &mut Room<Self>, _player: PlayerId, _why: LeaveReason) {
        let stays: Vec<String> = room.connections().map(|conn| conn.name().to_owned()).collect();
        let gone: Vec<_> = room
            .all::<Avatar>()
            .filter(|(_, avatar)| !stays.contains(&avatar.name))
            .map(|(id, _)| id)
            .collect();
        for id in gone {
            room.delete(id);
        }
    }
}

/// A server with Ada in its room.
pub(crate) struct Beside {
    pub(crate) server: ServerHandle<Stage>,
    pub(crate) url: String,
    ada: Client,
    ada_name: &'static str,
}

/// A server of the game on any free port, where nobody is held and one machine may open what it likes.
pub(crate) fn server() -> Server<Stage> {
    Server::new(|_: &str| Stage::default())
        .port(0)
        .hold_seconds(0)
        .sockets_per_second(1 << 20)
        .rooms_per_minute(1 << 20)
}

impl Beside {
    pub(crate) async fn new(server: Server<Stage>) -> Beside {
        let server = server.start().await.expect("a server");
        let url = server.url(ROOM);
        let ada_name = "Ada";
        let ada = room_client::connect(&url, Stage::schema())
            .name(ada_name)
            .auth("friend")
            .await
            .expect("Ada joins");
        Beside { server, url, ada, ada_name }
    }

    /// Players in the room, as the room counts them.
    pub(crate) async fn players(&self) -> usize {
        self.server.inspect(ROOM, |_, room| room.players()).await.expect("the room")
    }

    /// Sessions of the room, those of held players too.
    pub(crate) async fn sessions(&self) -> usize {
        self.server.inspect(ROOM, |_, room| room.sessions()).await.expect("the room")
    }

    /// The names of all avatars in the room.
    pub(crate) async fn avatars(&self) -> Vec<String> {
        let names = |_: &Stage, room: &Room<Stage>| {
            let mut names: Vec<_> = room.all::<Avatar>().map(|(_, avatar)| avatar.name.clone()).collect();
            names.sort_unstable();
            names
        };
        self.server.inspect(ROOM, names).await.expect("the room")
    }

    /// Ada alone is in the room, sees herself alone, and is answered.
    pub(crate) async fn unchanged(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.sessions().await != 1 {
            assert!(Instant::now() < deadline, "somebody else stays in the room");
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.avatars().await, [self.ada_name]);
        self.ada.send("echo").expect("Ada is joined");
        loop {
            self.ada.update(Instant::now());
            assert!(!self.ada.status().is_closed(), "{:?}", self.ada.status());
            let echo =
                |event: Event| matches!(event, Event::Message(m) if m.decode::<String>().unwrap() == "echo");
            let answered = self.ada.events().any(echo);
            let alone = self.ada.all::<Avatar>().map(|(_, a)| a.name.as_str()).eq([self.ada_name]);
            if answered && alone {
                return;
            }
            assert!(Instant::now() < deadline, "Ada is not answered, or sees somebody else");
            // The answer may have come before the last leave; ask again.
            if answered {
                self.ada.send("echo").expect("Ada is joined");
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

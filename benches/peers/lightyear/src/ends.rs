//! The server and the client ends.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use bevy::time::TimeUpdateStrategy;
use bytes::{Bytes, BytesMut};
use lightyear::prelude::client::{ClientPlugins, RawClient};
use lightyear::prelude::server::{RawServer, ServerPlugins};
use lightyear::prelude::*;

/// How long a tick is.
const TICK: Duration = Duration::from_millis(50);

/// When the parts of the last tick began and ended.
#[derive(Resource)]
pub struct Times {
    receive: [Instant; 2],
    send: [Instant; 2],
}

impl Times {
    /// Reading what clients sent.
    pub fn receive(&self) -> Duration {
        self.receive[1] - self.receive[0]
    }

    /// From what changed to packets.
    pub fn send(&self) -> Duration {
        self.send[1] - self.send[0]
    }
}

fn app(plugins: impl PluginGroup, register: impl Fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, StatesPlugin));
    app.add_plugins(plugins);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(TICK));
    register(&mut app);
    app.finish();
    app.cleanup();
    app
}

/// A server that listens, and its entity.
pub fn server(register: impl Fn(&mut App)) -> (App, Entity) {
    let mut app = app(ServerPlugins { tick_duration: TICK }, register);
    let now = Instant::now();
    app.insert_resource(Times { receive: [now; 2], send: [now; 2] });
    let note = |part: fn(&mut Times) -> &mut Instant| {
        move |mut times: ResMut<'_, Times>| *part(&mut times) = Instant::now()
    };
    // All of the schedules in which nothing else runs: reading in the first, sending in the second.
    app.add_systems(First, note(|times| &mut times.receive[0]));
    app.add_systems(
        RunFixedMainLoop,
        note(|times| &mut times.receive[1]).in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop),
    );
    app.add_systems(Update, note(|times| &mut times.send[0]));
    app.add_systems(Last, note(|times| &mut times.send[1]));
    // Nothing is sent until the server is linked.
    let server = app.world_mut().spawn((RawServer, Linked)).id();
    app.update();
    (app, server)
}

fn address(number: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 10_000 + number))
}

/// The server's side of a connection.
pub fn link(world: &mut World, server: Entity, number: u16) -> Entity {
    let addresses = (LocalAddr(address(u16::MAX - 10_000)), PeerAddr(address(number)));
    let link = world.spawn((LinkOf { server }, Link::default(), addresses, ReplicationSender)).id();
    world.entity_mut(link).insert(Linked);
    world.flush();
    link
}

/// A client end.
pub struct Client {
    /// Its app.
    pub app: App,
    link: Entity,
    inbox: Vec<Bytes>,
}

impl Client {
    /// A connected one.
    pub fn new(register: impl Fn(&mut App), number: u16) -> Client {
        let mut app = app(ClientPlugins { tick_duration: TICK }, register);
        let addresses = (LocalAddr(address(number)), PeerAddr(address(u16::MAX - 10_000)));
        let world = app.world_mut();
        let link = world.spawn((RawClient, Link::default(), addresses, ReplicationReceiver)).id();
        world.entity_mut(link).insert(Linked);
        world.flush();
        Client { app, link, inbox: Vec::new() }
    }

    /// Takes the packets for this client from the server; returns their bytes.
    pub fn take(&mut self, server: &mut World, link: Entity) -> u64 {
        let mut link = server.get_mut::<Link>(link).expect("it is linked");
        let before = self.inbox.len();
        self.inbox.extend(link.send.drain());
        self.inbox[before..].iter().map(|packet| packet.len() as u64).sum()
    }

    /// Decodes what was taken, and answers.
    pub fn update(&mut self, server: &mut World, link: Entity) {
        let mut own = self.app.world_mut().get_mut::<Link>(self.link).expect("it is linked");
        for packet in self.inbox.drain(..) {
            own.recv.push_raw(BytesMut::from(packet));
        }
        self.app.update();
        let mut own = self.app.world_mut().get_mut::<Link>(self.link).expect("it is linked");
        let mut theirs = server.get_mut::<Link>(link).expect("it is linked");
        for packet in own.send.drain() {
            theirs.recv.push_raw(BytesMut::from(packet));
        }
    }
}

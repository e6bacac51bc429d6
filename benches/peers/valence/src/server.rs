//! The server, with the times at which its part of a tick begins and ends.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use valence::ServerSettings;
use valence::client::{ClientBundle, ClientBundleArgs};
use valence::entity::arrow::ArrowEntityBundle;
use valence::keepalive::KeepaliveSettings;
use valence::prelude::*;
use valence::protocol::{CompressionThreshold, PacketEncoder};

use crate::client::Link;

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

    /// From what changed to bytes.
    pub fn send(&self) -> Duration {
        self.send[1] - self.send[0]
    }
}

/// A server.
pub fn app(threshold: Option<u32>) -> App {
    // The others have one thread too.
    ComputeTaskPool::init(|| TaskPoolBuilder::new().num_threads(1).build());
    let mut app = App::new();
    let compression_threshold: CompressionThreshold = threshold;
    app.insert_resource(KeepaliveSettings { period: Duration::MAX })
        .insert_resource(ServerSettings { compression_threshold, ..Default::default() })
        .add_plugins(DefaultPlugins);
    let now = Instant::now();
    app.insert_resource(Times { receive: [now; 2], send: [now; 2] });
    let note = |part: fn(&mut Times) -> &mut Instant| {
        move |mut times: ResMut<'_, Times>| *part(&mut times) = Instant::now()
    };
    app.add_systems(First, note(|times| &mut times.receive[0]));
    app.add_systems(StateTransition, note(|times| &mut times.receive[1]));
    app.add_systems(Update, note(|times| &mut times.send[0]));
    app.add_systems(Last, note(|times| &mut times.send[1]));
    app.update();
    app
}

/// A layer for chunks and entities.
pub fn layer(app: &mut App) -> Entity {
    let layer = LayerBundle::new(
        ident!("overworld"),
        app.world.resource::<DimensionTypeRegistry>(),
        app.world.resource::<BiomeRegistry>(),
        app.world.resource::<Server>(),
    );
    app.world.spawn(layer).id()
}

/// A player with a connection.
pub fn player(app: &mut App, layer: Entity, link: Link, place: DVec3, distance: u8) -> Entity {
    let mut encoder = PacketEncoder::new();
    encoder.set_compression(app.world.resource::<Server>().compression_threshold());
    let mut client = ClientBundle::new(ClientBundleArgs {
        username: "player".into(),
        uuid: Uuid::from_u128(app.world.entities().len().into()),
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        properties: Vec::new(),
        conn: Box::new(link),
        enc: encoder,
    });
    client.player.layer.0 = layer;
    client.player.position.set(place);
    client.visible_chunk_layer.0 = layer;
    client.visible_entity_layers.0.insert(layer);
    client.view_distance.set(distance);
    app.world.spawn(client).id()
}

/// Any other entity.
pub fn arrow(app: &mut App, layer: Entity, place: DVec3) -> Entity {
    let arrow =
        ArrowEntityBundle { layer: EntityLayerId(layer), position: Position(place), ..Default::default() };
    app.world.spawn(arrow).id()
}

//! bevy_replicon: the server in process, its messages handed over as its test backend does.

mod place;
mod server;
mod terrain;

use std::time::Instant;

use bevy::prelude::*;
use bevy_replicon::prelude::*;
use bevy_replicon::server::visibility::client_visibility::ClientVisibility;
use bevy_replicon::shared::backend::channels::{ClientChannel, ServerChannel};
use world::{Options, Peer, Sent, Views, World as Ground, sample};

use crate::server::{InView, Times, app, serve};

fn main() {
    if Options::parse().workload == "W6" {
        return terrain::burst();
    }
    world::main(
        |options| {
            let fields = if options.small {
                "replicate_as with hundredths packed into 5 bytes (6 with rotation)"
            } else {
                "plain f32"
            };
            format!(
                "ClientVisibility::set for each entity that enters or leaves, all others hidden at the join; every \
                 mutate message acknowledged; packets of 1,200 bytes; one thread; {fields}; other client ends \
                 acknowledge"
            )
        },
        |ground, options| Box::new(Replicon::new(ground, options)),
    );
}

/// Bytes of a packet, as replicon's tests have it.
pub const PACKET: usize = 1200;

struct Replicon {
    app: App,
    entities: Vec<Entity>,
    connections: Vec<Entity>,
    // One for each connection; those outside the sample only acknowledge.
    clients: Vec<Option<App>>,
    sent: Vec<(Entity, usize, bytes::Bytes)>,
    joined: bool,
}

impl Replicon {
    fn new(ground: &Ground, options: &Options) -> Replicon {
        let register = |app: &mut App| place::register(app, ground.spec.rotation, options);
        let mut app = app(register);
        serve(&mut app);
        let world = app.world_mut();
        let entities =
            (0..ground.len() as u32).map(|entity| place::spawn(world, ground, entity, Replicated)).collect();
        let connections = (0..ground.connections())
            .map(|_| world.spawn(ConnectedClient { max_size: PACKET }).id())
            .collect();
        let mut clients: Vec<Option<App>> = (0..ground.connections()).map(|_| None).collect();
        for connection in sample(ground.connections()) {
            clients[connection] = Some(client(register));
        }
        Replicon { app, entities, connections, clients, sent: Vec::new(), joined: false }
    }

    fn show(&mut self, views: &Views) {
        let InView(bit) = *self.app.world().resource::<InView>();
        for (connection, delta) in self.connections.iter().zip(views.deltas()) {
            let mut visibility =
                self.app.world_mut().get_mut::<ClientVisibility>(*connection).expect("it has one");
            if !self.joined {
                // Replicon shows what is not hidden.
                for entity in &self.entities {
                    visibility.set(*entity, bit, false);
                }
            }
            for entity in &delta.left {
                visibility.set(self.entities[*entity as usize], bit, false);
            }
            for entity in &delta.entered {
                visibility.set(self.entities[*entity as usize], bit, true);
            }
        }
        self.joined = true;
    }
}

/// A connected client end.
pub fn client(register: impl Fn(&mut App)) -> App {
    let mut app = app(register);
    app.world_mut().resource_mut::<NextState<ClientState>>().set(ClientState::Connected);
    app.update();
    app
}

impl Peer for Replicon {
    fn write(&mut self, ground: &Ground) {
        for &mover in ground.movers() {
            place::write(self.app.world_mut(), ground, mover, self.entities[mover as usize]);
        }
    }

    fn tick(&mut self, _: &Ground, views: &Views) -> Sent {
        let start = Instant::now();
        self.show(views);
        let shown = start.elapsed();
        self.app.update();
        let times = self.app.world().resource::<Times>();
        let (send, receive) = (times.send(), times.receive());
        let start = Instant::now();
        self.sent.clear();
        self.sent.extend(self.app.world_mut().resource_mut::<ServerMessages>().drain_sent());
        let time = shown + send + start.elapsed();
        let bytes = self.sent.iter().map(|(_, _, message)| message.len() as u64).sum();
        Sent { time, receive: Some(receive), bytes }
    }

    fn deliver(&mut self) {
        let index: std::collections::HashMap<Entity, usize> =
            self.connections.iter().enumerate().map(|(i, entity)| (*entity, i)).collect();
        let world = self.app.world_mut();
        let mut answers = world.resource_mut::<ServerMessages>();
        for (whose, channel, message) in self.sent.drain(..) {
            match &mut self.clients[index[&whose]] {
                Some(client) => {
                    client.world_mut().resource_mut::<ClientMessages>().insert_received(channel, message)
                }
                // Flags, then the index that is to be acknowledged.
                None if channel == usize::from(ServerChannel::Mutations) => {
                    answers.insert_received(whose, ClientChannel::MutationAcks, message.slice(1..3));
                }
                None => {}
            }
        }
        for (client, whose) in self.clients.iter_mut().zip(&self.connections) {
            let Some(client) = client else { continue };
            client.update();
            for (channel, message) in client.world_mut().resource_mut::<ClientMessages>().drain_sent() {
                answers.insert_received(*whose, channel, message);
            }
        }
    }

    fn held(&mut self, _: &Ground, connection: usize) -> Vec<[f32; 3]> {
        place::held(self.clients[connection].as_mut().expect("it is in the sample").world_mut())
    }
}

//! lightyear: server and clients in process. Packets are taken from its links and put into them, as its transports
//! do; its clock is the benchmark's own.

mod ends;
#[path = "../../replicon/src/place.rs"]
mod place;

use std::time::Instant;

use bevy::prelude::*;
use lightyear::prelude::*;
use world::{Options, Peer, Sent, Views, World as Ground};

use crate::ends::Times;

fn main() {
    world::main(
        |options| {
            let fields = if options.small {
                "replicate_as with hundredths packed into 5 bytes (6 with rotation)"
            } else {
                "plain f32"
            };
            format!(
                "gain_visibility and lose_visibility for each entity that enters or leaves, all others hidden at \
                 the join; raw connections without a cap on bandwidth; no prediction, no interpolation; one thread; \
                 every connection has a real client end in the process, which acknowledges; {fields}"
            )
        },
        |ground, options| Box::new(Lightyear::new(ground, options)),
    );
}

struct Lightyear {
    app: App,
    entities: Vec<Entity>,
    links: Vec<Entity>,
    clients: Vec<ends::Client>,
    joined: bool,
}

impl Lightyear {
    fn new(ground: &Ground, options: &Options) -> Lightyear {
        let register = |app: &mut App| place::register(app, ground.spec.rotation, options);
        let (mut app, server) = ends::server(register);
        let world = app.world_mut();
        let entities = (0..ground.len() as u32)
            .map(|entity| {
                let replicated = Replicate::to_clients(NetworkTarget::All);
                place::spawn(world, ground, entity, replicated)
            })
            .collect();
        let numbers = 0..ground.connections() as u16;
        let links = numbers.clone().map(|number| ends::link(world, server, number)).collect();
        let clients = numbers.map(|number| ends::Client::new(register, number)).collect();
        Lightyear { app, entities, links, clients, joined: false }
    }

    fn show(&mut self, views: &Views) {
        let world = self.app.world_mut();
        for (link, delta) in self.links.iter().zip(views.deltas()) {
            if !self.joined {
                // What is not hidden is shown.
                for entity in &self.entities {
                    world.lose_visibility(*entity, *link);
                }
            }
            for entity in &delta.left {
                world.lose_visibility(self.entities[*entity as usize], *link);
            }
            for entity in &delta.entered {
                world.gain_visibility(self.entities[*entity as usize], *link);
            }
        }
        self.joined = true;
    }
}

impl Peer for Lightyear {
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
        let (time, receive) = (shown + times.send(), times.receive());
        let mut bytes = 0;
        for (link, client) in self.links.iter().zip(&mut self.clients) {
            bytes += client.take(self.app.world_mut(), *link);
        }
        Sent { time, receive: Some(receive), bytes }
    }

    fn deliver(&mut self) {
        for (link, client) in self.links.iter().zip(&mut self.clients) {
            client.update(self.app.world_mut(), *link);
        }
    }

    fn held(&mut self, _: &Ground, connection: usize) -> Vec<[f32; 3]> {
        place::held(self.clients[connection].app.world_mut())
    }
}

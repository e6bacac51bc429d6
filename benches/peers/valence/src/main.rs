//! valence: a Minecraft server in process, with connections that keep what is sent.
//!
//! Its views are circles of chunks and not circles. The worlds are scaled so that as many entities are visible.

mod client;
mod palette;
mod scale;
mod server;
mod terrain;

use std::collections::HashMap;
use std::time::Instant;

use valence::entity::EntityId;
use valence::prelude::*;
use world::{Options, Peer, Sent, Views, World as Ground, sample};

use crate::client::{Link, Replica};
use crate::scale::Scale;
use crate::server::Times;

fn main() {
    if Options::parse().workload == "W6" {
        return terrain::burst();
    }
    world::main(
        |_| {
            "views are circles of whole chunks, scaled so that as many entities are visible; moves are differences \
             in three times 16 bits; no compression; one thread; nothing is acknowledged"
                .to_owned()
        },
        |ground, _| Box::new(Valence::new(ground)),
    );
}

/// How far off a place may be, in blocks. Where an entity comes into view, valence tells of it at its former place,
/// and of the step that it took; its tree may turn the two around, and then the step is lost until it comes anew.
const SLACK: f64 = 2.0;

struct Valence {
    app: App,
    scale: Scale,
    entities: Vec<Entity>,
    links: Vec<Link>,
    // One for each connection of the sample.
    replicas: Vec<Option<Replica>>,
    joined: bool,
}

impl Valence {
    fn new(ground: &Ground) -> Valence {
        let scale = Scale::of(ground);
        let mut app = server::app(None);
        let layer = server::layer(&mut app);
        let mut links = Vec::new();
        let entities = (0..ground.len() as u32)
            .map(|entity| {
                let place = scale.place(ground, entity);
                if (entity as usize) < ground.connections() {
                    let link = Link::default();
                    links.push(link.clone());
                    server::player(&mut app, layer, link, place, scale.distance)
                } else {
                    server::arrow(&mut app, layer, place)
                }
            })
            .collect();
        let mut replicas: Vec<Option<Replica>> = (0..ground.connections()).map(|_| None).collect();
        for connection in sample(ground.connections()) {
            replicas[connection] = Some(Replica::default());
        }
        Valence { app, scale, entities, links, replicas, joined: false }
    }
}

impl Peer for Valence {
    fn write(&mut self, ground: &Ground) {
        for &mover in ground.movers() {
            let place = self.scale.place(ground, mover);
            match self.links.get(mover as usize) {
                // Players say themselves where they are.
                Some(link) => link.say_moved(place),
                None => {
                    let entity = self.entities[mover as usize];
                    self.app.world.get_mut::<Position>(entity).expect("it has one").set(place);
                }
            }
        }
    }

    fn tick(&mut self, _: &Ground, _: &Views) -> Sent {
        self.app.update();
        let start = Instant::now();
        let bytes = self.links.iter().map(Link::waiting).sum();
        let times = self.app.world.resource::<Times>();
        Sent { time: times.send() + start.elapsed(), receive: Some(times.receive()), bytes }
    }

    fn deliver(&mut self) {
        for (link, replica) in self.links.iter().zip(&mut self.replicas) {
            let bytes = link.take();
            if let Some(replica) = replica {
                replica.decode(bytes);
            }
            if !self.joined {
                link.confirm_teleport();
            }
        }
        self.joined = true;
    }

    fn held(&mut self, ground: &Ground, connection: usize) -> Vec<[f32; 3]> {
        let id = |entity: &Entity| self.app.world.get::<EntityId>(*entity).map(|id| id.get());
        let numbers: HashMap<i32, u32> = self
            .entities
            .iter()
            .enumerate()
            .filter_map(|(i, entity)| Some((id(entity)?, i as u32)))
            .collect();
        let replica = self.replicas[connection].as_ref().expect("it is in the sample");
        let held = replica.places().map(|(id, place)| {
            let should = numbers.get(&id).map(|entity| self.scale.place(ground, *entity));
            let near = should.filter(|should| (*should - place).length() <= SLACK);
            self.scale.back(near.unwrap_or(place))
        });
        held.collect()
    }

    fn sees(&self, ground: &Ground, connection: usize, entity: u32) -> bool {
        self.scale.sees(ground, connection, entity)
    }

    fn visible(&self, ground: &Ground) -> Option<f64> {
        Some(self.scale.visible(ground))
    }
}

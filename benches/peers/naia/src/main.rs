//! naia: server and clients in process, over the local transport of its tests, on a clock of the benchmark's own.

mod ends;
mod kinds;
mod land;

use std::time::Instant;

use world::{Options, Peer, Sent, Views, World};

use crate::ends::{Client, Server, TICK_MS};
use crate::kinds::{Kind, Place, Place15, Place17, Place18, Pose, SmallPose};

fn main() {
    world::main(
        |options| {
            let fields = if options.small {
                "integers of hundredths with as many bits as the world needs"
            } else {
                "plain f32"
            };
            format!(
                "user_scope include and exclude for each entity that enters or leaves; no bandwidth cap; every \
                 connection has a real client end in the process, which acknowledges; {fields}"
            )
        },
        make,
    );
}

fn make(ground: &World, options: &Options) -> Box<dyn Peer> {
    match (ground.spec.rotation, options.small) {
        (false, false) => Box::new(Naia::<Place>::new(ground)),
        (true, false) => Box::new(Naia::<Pose>::new(ground)),
        (true, true) => Box::new(Naia::<SmallPose>::new(ground)),
        (false, true) => match (ground.side * 100.0).log2().ceil() as u32 {
            ..=15 => Box::new(Naia::<Place15>::new(ground)),
            16..=17 => Box::new(Naia::<Place17>::new(ground)),
            _ => Box::new(Naia::<Place18>::new(ground)),
        },
    }
}

struct Naia<K: Kind> {
    server: Server<K>,
    clients: Vec<Client<K>>,
}

impl<K: Kind> Naia<K> {
    fn new(ground: &World) -> Self {
        let mut server = Server::new(ground);
        let mut clients: Vec<Client<K>> = (0..ground.connections()).map(|_| server.client()).collect();
        eprintln!("  handshakes");
        server.welcome(&mut clients);
        Naia { server, clients }
    }
}

impl<K: Kind> Peer for Naia<K> {
    fn write(&mut self, ground: &World) {
        for &mover in ground.movers() {
            self.server.write(ground, mover);
        }
    }

    fn tick(&mut self, _: &World, views: &Views) -> Sent {
        naia_socket_shared::TestClock::advance(TICK_MS);
        let start = Instant::now();
        self.server.receive();
        let receive = start.elapsed();
        let start = Instant::now();
        for (connection, delta) in views.deltas().iter().enumerate() {
            self.server.show(connection, delta);
        }
        self.server.send();
        let time = start.elapsed();
        Sent { time, receive: Some(receive), bytes: self.server.sent() }
    }

    fn deliver(&mut self) {
        self.clients.iter_mut().for_each(Client::update);
    }

    fn held(&mut self, _: &World, connection: usize) -> Vec<[f32; 3]> {
        self.clients[connection].held()
    }
}

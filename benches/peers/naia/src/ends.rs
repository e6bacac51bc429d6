//! The server and the client ends.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use naia_client::transport::local as client_side;
use naia_client::{ClientConfig, JitterBufferType};
use naia_server::transport::local as server_side;
use naia_server::{ConnectEvent, RoomKey, ServerConfig, UserKey};
use naia_shared::transport::local::{FAKE_SERVER_ADDR, LocalTransportHub};
use naia_shared::{BandwidthConfig, Instant, Message, Protocol};
use naia_socket_shared::TestClock;
use parking_lot::Mutex;
use world::{Delta, World};

use crate::kinds::Kind;
use crate::land::Land;

/// Milliseconds of a tick.
pub const TICK_MS: u64 = 50;

/// The most ticks until all clients are connected.
const HANDSHAKE: usize = 400;

/// What a client says first: the local transport asks for something.
#[derive(Message)]
struct Hello {
    number: u8,
}

fn protocol<K: Kind>() -> Protocol {
    let mut protocol = Protocol::builder();
    protocol.add_component::<K>().add_message::<Hello>();
    protocol
}

const NO_CAP: BandwidthConfig = BandwidthConfig { target_bytes_per_sec: u32::MAX };

/// The server and its world.
pub struct Server<K: Kind> {
    server: naia_server::Server<u32>,
    land: Land<K>,
    entities: Vec<u32>,
    hub: LocalTransportHub,
    addresses: Vec<SocketAddr>,
    users: Vec<UserKey>,
}

impl<K: Kind> Server<K> {
    /// A server with all entities.
    pub fn new(ground: &World) -> Self {
        TestClock::init(0);
        let mut config = ServerConfig { require_auth: false, ..ServerConfig::default() };
        config.connection.bandwidth = NO_CAP;
        let mut server = naia_server::Server::new(config, protocol::<K>());
        let hub = LocalTransportHub::new(FAKE_SERVER_ADDR.parse().expect("it is an address"));
        server.listen(server_side::Socket::new(server_side::LocalServerSocket::new(hub.clone()), None));
        // Entities must be in a room before they can be included anywhere; nobody else is in it.
        let room: RoomKey = server.create_room().key();
        let mut land = Land::new();
        let entities = (0..ground.len() as u32)
            .map(|entity| {
                let mut made = server.spawn_entity(land.touch());
                made.insert_component(K::of(ground, entity)).enter_room(&room);
                made.id()
            })
            .collect();
        Server { server, land, entities, hub, addresses: Vec::new(), users: Vec::new() }
    }

    /// A client that begins to connect.
    pub fn client(&mut self) -> Client<K> {
        let (address, auth_out, auth_in, data_out, data_in) = self.hub.register_client();
        self.addresses.push(address);
        let socket = client_side::LocalClientSocket::new_with_tokens(
            address,
            self.hub.server_addr(),
            auth_out,
            auth_in,
            data_out,
            data_in,
            client_side::LocalAddrCell::new(),
            Arc::new(Mutex::new(None)),
            Arc::new(Mutex::new(None)),
        );
        let mut config = ClientConfig { jitter_buffer: JitterBufferType::Bypass, ..ClientConfig::default() };
        config.connection.bandwidth = NO_CAP;
        let mut client = naia_client::Client::new(config, protocol::<K>());
        client.auth(Hello { number: 0 });
        client.connect(client_side::Socket::new(socket, None));
        Client { client, land: Land::new() }
    }

    /// Runs both ends until all are connected.
    pub fn welcome(&mut self, clients: &mut [Client<K>]) {
        let mut found: HashMap<SocketAddr, UserKey> = HashMap::new();
        for _ in 0..HANDSHAKE {
            TestClock::advance(TICK_MS);
            self.server.receive_all_packets();
            self.server.process_all_packets(self.land.touch(), &Instant::now());
            for user in self.server.take_world_events().read::<ConnectEvent>() {
                let address = self.server.user_address(&user).expect("it has connected");
                found.insert(address, user);
            }
            self.server.take_tick_events(&Instant::now());
            self.server.send_all_packets(self.land.look());
            clients.iter_mut().for_each(Client::update);
            if found.len() == clients.len() {
                break;
            }
        }
        let user = |address| found.get(address).copied();
        self.users = self.addresses.iter().filter_map(user).collect();
        if self.users.len() < clients.len() {
            world::stop_with(&format!("{} of {} clients connected", self.users.len(), clients.len()));
        }
    }

    /// Writes where an entity is.
    pub fn write(&mut self, ground: &World, entity: u32) {
        self.land.get_mut(self.entities[entity as usize]).expect("nobody deletes it").write(ground, entity);
    }

    /// Reads what clients sent.
    pub fn receive(&mut self) {
        self.server.receive_all_packets();
        self.server.process_all_packets(self.land.touch(), &Instant::now());
        self.server.take_world_events();
        self.server.take_tick_events(&Instant::now());
    }

    /// Changes what a connection sees.
    pub fn show(&mut self, connection: usize, delta: &Delta) {
        if delta.entered.is_empty() && delta.left.is_empty() {
            return;
        }
        let mut scope = self.server.user_scope_mut(&self.users[connection]);
        for entity in &delta.left {
            scope.exclude(&self.entities[*entity as usize]);
        }
        for entity in &delta.entered {
            scope.include(&self.entities[*entity as usize]);
        }
    }

    /// Sends what changed.
    pub fn send(&mut self) {
        self.server.send_all_packets(self.land.look());
    }

    /// Bytes of the last send.
    pub fn sent(&self) -> u64 {
        self.server.outgoing_bytes_last_tick()
    }
}

/// A client end and its world.
pub struct Client<K: Kind> {
    client: naia_client::Client<u32>,
    land: Land<K>,
}

impl<K: Kind> Client<K> {
    /// Takes what came, and answers.
    pub fn update(&mut self) {
        let now = Instant::now();
        self.client.receive_all_packets();
        self.client.process_all_packets(self.land.touch(), &now);
        self.client.take_world_events();
        self.client.take_tick_events(&now);
        self.client.send_all_packets(self.land.look());
    }

    /// x, y and rotation of what it holds.
    pub fn held(&self) -> Vec<[f32; 3]> {
        self.land.all().map(Kind::state).collect()
    }
}

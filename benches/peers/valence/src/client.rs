//! Connections in memory, and a client end that decodes what it is told of entities.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use valence::client::{ClientConnection, ReceivedPacket};
use valence::prelude::*;
use valence::protocol::packets::play::{
    EntitiesDestroyS2c, EntityPositionS2c, EntitySpawnS2c, MoveRelativeS2c, PlayerSpawnS2c,
    PositionAndOnGroundC2s, TeleportConfirmC2s,
};
use valence::protocol::{Encode, Packet, PacketDecoder, VarInt};

/// A connection without a socket. Clones share their queues.
#[derive(Clone, Default)]
pub struct Link(Arc<Mutex<Queues>>);

#[derive(Default)]
struct Queues {
    to_server: VecDeque<ReceivedPacket>,
    to_client: BytesMut,
}

impl Link {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Bytes for the client.
    pub fn waiting(&self) -> u64 {
        self.queues().to_client.len() as u64
    }

    /// Takes them.
    pub fn take(&self) -> BytesMut {
        self.queues().to_client.split()
    }

    /// The player walks.
    pub fn say_moved(&self, position: DVec3) {
        self.say(&PositionAndOnGroundC2s { position, on_ground: false });
    }

    /// The player knows where it begins.
    pub fn confirm_teleport(&self) {
        self.say(&TeleportConfirmC2s { teleport_id: VarInt(0) });
    }

    fn say<P: Packet + Encode>(&self, packet: &P) {
        let mut body = Vec::new();
        packet.encode(&mut body).expect("memory takes it");
        let packet = ReceivedPacket { timestamp: Instant::now(), id: P::ID, body: Bytes::from(body) };
        self.queues().to_server.push_back(packet);
    }
}

impl ClientConnection for Link {
    fn try_send(&mut self, bytes: BytesMut) -> valence_protocol::anyhow::Result<()> {
        self.queues().to_client.unsplit(bytes);
        Ok(())
    }

    fn try_recv(&mut self) -> valence_protocol::anyhow::Result<Option<ReceivedPacket>> {
        Ok(self.queues().to_server.pop_front())
    }

    fn len(&self) -> usize {
        self.queues().to_server.len()
    }
}

/// What a client end holds of entities.
#[derive(Default)]
pub struct Replica {
    decoder: PacketDecoder,
    places: BTreeMap<i32, DVec3>,
}

impl Replica {
    /// Takes what came.
    pub fn decode(&mut self, bytes: BytesMut) {
        self.decoder.queue_bytes(bytes);
        while let Some(frame) = self.decoder.try_next_packet().expect("the server's packets decode") {
            match frame.id {
                EntitySpawnS2c::ID => {
                    let packet: EntitySpawnS2c = frame.decode().expect("it decodes");
                    self.places.insert(packet.entity_id.0, packet.position);
                }
                PlayerSpawnS2c::ID => {
                    let packet: PlayerSpawnS2c = frame.decode().expect("it decodes");
                    self.places.insert(packet.entity_id.0, packet.position);
                }
                EntityPositionS2c::ID => {
                    let packet: EntityPositionS2c = frame.decode().expect("it decodes");
                    self.places.insert(packet.entity_id.0, packet.position);
                }
                MoveRelativeS2c::ID => {
                    let packet: MoveRelativeS2c = frame.decode().expect("it decodes");
                    let [x, y, z] = packet.delta.map(|v| f64::from(v) / 4096.0);
                    if let Some(place) = self.places.get_mut(&packet.entity_id.0) {
                        *place += DVec3::new(x, y, z);
                    }
                }
                EntitiesDestroyS2c::ID => {
                    let packet: EntitiesDestroyS2c<'_> = frame.decode().expect("it decodes");
                    for id in packet.entity_ids.iter() {
                        self.places.remove(&id.0);
                    }
                }
                _ => {}
            }
        }
    }

    /// What is where, by the server's number.
    pub fn places(&self) -> impl Iterator<Item = (i32, DVec3)> + '_ {
        self.places.iter().map(|(id, place)| (*id, *place))
    }
}

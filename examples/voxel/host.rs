//! The server on threads of its own, so that its processor time is told from that of bots in the same process.

use std::sync::Arc;
use std::time::Duration;

use room::server::{Server, ServerHandle};

use crate::bots::Failure;
use crate::cpu::Usage;
use crate::game::Voxel;
use crate::keep::Keep;
use crate::terrain::Terrain;

/// Players that the room seats.
const SEATS: u32 = 200;
/// What the names of the server's threads begin with, and of those that the library starts.
const NAME: &str = "voxel-server";
const LIBRARY: &str = "room-";

/// How the world is served.
#[derive(Clone)]
pub struct Site {
    pub host: String,
    pub port: u16,
    pub terrain: Arc<Terrain>,
    /// Bots that come, all from one address.
    pub bots: u32,
}

/// A running server.
pub struct Host {
    pub handle: ServerHandle<Voxel>,
    pub keep: Keep,
    threads: tokio::runtime::Runtime,
}

impl Host {
    /// Starts the server.
    pub fn start(site: Site, keep: Keep) -> Result<Host, Failure> {
        let Site { host, port, terrain, bots } = site;
        let server = Server::new(move |_: &str| Voxel::new(terrain.clone()))
            .host(host)
            .port(port)
            .max_players(SEATS.max(bots) as usize);
        let server = if bots > 0 { server.sockets_per_second(4 * bots + 200) } else { server };
        let server = keep.attach(server);
        let threads = tokio::runtime::Builder::new_multi_thread()
            .thread_name(NAME)
            // What a thread has used is known for as long as there is that thread.
            .thread_keep_alive(Duration::from_secs(24 * 60 * 60))
            .enable_all()
            .build()?;
        let handle = threads.block_on(server.start())?;
        Ok(Host { handle, keep, threads })
    }

    /// Serves until the process is told to stop.
    pub fn run(self) {
        self.threads.block_on(self.handle.run());
    }

    /// Stops the server.
    pub fn stop(self) {
        self.threads.block_on(self.handle.shutdown());
    }

    /// What all its threads have used.
    pub fn usage() -> Option<Usage> {
        Usage::of(&[NAME, LIBRARY])
    }
}

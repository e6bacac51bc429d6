//! A server in a process of its own, which can be killed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use room::server::{Server, SqliteStore};
use room_page::game::Field;

const PORT: &str = "ROOM_BROWSER_PORT";
const STORE: &str = "ROOM_BROWSER_STORE";

/// Where the page was built.
pub(crate) fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/page/room_page")
}

/// What the other process does: this test, started by others.
#[test]
#[ignore = "other tests start it"]
fn another_process() {
    let Some(port) = std::env::var(PORT).ok().and_then(|port| port.parse().ok()) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(std::env::var(STORE).expect("a file")).expect("a store");
        let server = Server::new(|_: &str| Field).assets(page()).port(port).store(store);
        let server = server.start().await.expect("a server");
        let mut out = std::io::stdout().lock();
        out.write_all(b"\nlistens\n").and_then(|()| out.flush()).expect("a reader");
        server.run().await;
    });
}

/// A server of the field, on the same port and the same store each time that it is started.
pub(crate) struct Host {
    port: u16,
    folder: PathBuf,
    child: Option<Child>,
}

impl Host {
    pub(crate) fn start(name: &str) -> Host {
        let folder = std::env::temp_dir().join(format!("room-field-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = free.local_addr().expect("a port").port();
        drop(free);
        let mut host = Host { port, folder, child: None };
        host.again();
        host
    }

    /// The page's URL, for a player of that name.
    pub(crate) fn url(&self, name: &str) -> String {
        self.file(&format!("?name={name}"))
    }

    /// The URL of a file beside the page.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// Ends the process where it stands.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it ran");
            child.wait().expect("it is gone");
        }
    }

    /// Starts the next process.
    pub(crate) fn again(&mut self) {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "server::another_process", "--ignored", "--nocapture"])
            .env(PORT, self.port.to_string())
            .env(STORE, self.folder.join("field.db"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line == "listens")), "the server did not start");
        self.child = Some(child);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

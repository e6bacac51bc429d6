//! The files of a game's page.

use std::path::PathBuf;
use std::time::Duration;

use room::server::ServerHandle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::raw::Request;
use crate::common::stage::{Beside, Stage, server};

/// A folder of files, gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Folder {
        let folder = std::env::temp_dir().join(format!("room-assets-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for (path, bytes) in files {
            let path = folder.join("page").join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
        std::fs::write(folder.join("secret.txt"), "not for pages").expect("a file");
        Folder(folder)
    }

    fn page(&self) -> PathBuf {
        self.0.join("page")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

async fn ask(server: &ServerHandle<Stage>, method: &str, path: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(server.local_addr()).await.expect("a connection");
    let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.expect("it is taken");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head, body: answer[end + 4..].to_vec() }
}

async fn get(server: &ServerHandle<Stage>, path: &str) -> Answer {
    ask(server, "GET", path, "").await
}

fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("index.html", b"<p>hello</p>"),
        ("game.wasm", b"\0asm"),
        ("game.wasm.gz", b"short"),
        ("a b/c.js", b"1"),
        ("alone.gz", b"packed"),
        (".env", b"PASSWORD=friend"),
        (".git/config", b"[core]"),
    ]
}

#[tokio::test]
async fn a_page_is_served_beside_the_rooms() {
    let folder = Folder::new("served", &files());
    let mut beside = Beside::new(server().assets(folder.page())).await;
    let page = get(&beside.server, "/").await;
    assert_eq!((page.status, page.body.as_slice()), (200, &b"<p>hello</p>"[..]));
    for line in
        ["content-type: text/html", "x-content-type-options: nosniff", "connection: close", "etag: \""]
    {
        assert!(page.head.contains(line), "{line}: {}", page.head);
    }
    assert_eq!(get(&beside.server, "/index.html").await.body, page.body);
    let script = get(&beside.server, "/a%20b/c.js").await;
    assert!(script.body == b"1" && script.head.contains("content-type: text/javascript"), "{}", script.head);
    let head = ask(&beside.server, "HEAD", "/", "").await;
    assert!(head.status == 200 && head.body.is_empty() && head.head.contains("content-length: 12"));
    assert_eq!(ask(&beside.server, "POST", "/", "Content-Length: 0\r\n").await.status, 405);
    assert_eq!(get(&beside.server, "/rooms").await.status, 200, "the list is the server's own");
    beside.unchanged().await;
}

#[tokio::test]
async fn a_browser_gets_the_short_twin_and_nothing_that_it_has() {
    let folder = Folder::new("twin", &files());
    let server = server().assets(folder.page()).start().await.expect("a server");
    let plain = get(&server, "/game.wasm").await;
    assert!(plain.body == b"\0asm" && !plain.head.contains("content-encoding"), "{}", plain.head);
    let packed = ask(&server, "GET", "/game.wasm", "Accept-Encoding: br, gzip;q=0.9\r\n").await;
    assert_eq!(packed.body, b"short");
    for line in ["content-encoding: gzip", "content-type: application/wasm", "vary: accept-encoding"] {
        assert!(packed.head.contains(line), "{line}: {}", packed.head);
    }
    assert_eq!(get(&server, "/alone.gz").await.body, b"packed");
    let tag = plain.head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
    let again = ask(&server, "GET", "/game.wasm", &format!("If-None-Match: \"other\", W/{tag}\r\n")).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(ask(&server, "GET", "/game.wasm", "If-None-Match: \"other\"\r\n").await.status, 200);
}

#[tokio::test]
async fn nothing_but_the_folders_files_can_be_reached() {
    let folder = Folder::new("outside", &files());
    let server = server().assets(folder.page()).start().await.expect("a server");
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/a%20b/../../secret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/.env",
        "/.git/config",
        "/a%20b",
        "/a%20b/",
        "/nothing",
        "/%",
        "/index.html%00",
    ] {
        let answer = get(&server, path).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    let foreign = ask(&server, "GET", "/", "Origin: https://evil.example\r\n").await;
    assert_eq!(foreign.status, 403);
}

#[tokio::test]
async fn a_server_without_a_page_has_none_and_one_without_its_folder_says_so() {
    let plain = server().start().await.expect("a server");
    assert_eq!(get(&plain, "/").await.status, 404);
    let folder = Folder::new("none", &[]);
    let error = server().assets(folder.page()).start().await.err().expect("no folder").to_string();
    assert!(error.contains("room-assets-none") && error.contains("assets(…)"), "{error}");
}

#[tokio::test]
async fn a_file_on_its_way_to_a_slow_page_is_not_cut_off() {
    let large = vec![7; 8 << 20];
    let folder = Folder::new("slow", &[("large.bin", &large)]);
    let server = server().hello_seconds(1).assets(folder.page()).start().await.expect("a server");
    let mut stream = TcpStream::connect(server.local_addr()).await.expect("a connection");
    stream.write_all(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("it is taken");
    let mut first = [0; 1024];
    stream.read_exact(&mut first).await.expect("the start");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("the rest");
    assert!(rest.len() >= large.len() - 1024, "{}", rest.len());
    // A socket that does not say hello has no more time than it had.
    let began = tokio::time::Instant::now();
    let mut idle = TcpStream::connect(server.local_addr()).await.expect("a connection");
    let _ = idle.read_to_end(&mut Vec::new()).await;
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(Request::new(&server.url("stage")).open().await.is_ok());
}

//! What is refused before a socket is a socket.

use crate::common::raw::{PATIENCE, Request};
use crate::common::stage::{Beside, ROOM, server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_foreign_host_is_403() {
    let mut beside = Beside::new(server().hosts(["game.example"])).await;
    for (host, status) in [
        ("evil.example", Some(403)),
        ("127.0.0.1.evil.example", Some(403)),
        ("", Some(403)),
        ("game.example", None),
        ("localhost:8787", None),
    ] {
        let opened = Request::new(&beside.url).with("Host", host).open().await;
        assert_eq!(opened.err(), status, "{host:?}");
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn a_foreign_origin_is_403() {
    let mut beside = Beside::new(server().origins(["https://play.example"])).await;
    for (origin, status) in [
        ("https://evil.example", Some(403)),
        ("null", Some(403)),
        ("http://play.example", Some(403)),
        ("https://play.example", None),
        ("http://localhost:5173", None),
        ("http://127.0.0.1", None),
    ] {
        let opened = Request::new(&beside.url).with("Origin", origin).open().await;
        assert_eq!(opened.err(), status, "{origin:?}");
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn what_is_no_upgrade_to_a_room_is_refused_over_http() {
    let mut beside = Beside::new(server()).await;
    let base = beside.url.trim_end_matches(ROOM).to_owned();
    let open = |request: Request| async { request.open().await.err() };
    assert_eq!(open(Request::new(&beside.url).without("Sec-WebSocket-Protocol")).await, Some(400));
    assert_eq!(open(Request::new(&beside.url).with("Sec-WebSocket-Protocol", "room.v2")).await, Some(400));
    assert_eq!(open(Request::new(&beside.url).with("Sec-WebSocket-Protocol", "chat, room.v1")).await, None);
    assert_eq!(open(Request::new(&beside.url).with("Sec-WebSocket-Version", "8")).await, Some(400));
    assert_eq!(open(Request::new(&beside.url).without("Upgrade")).await, Some(400));
    assert_eq!(open(Request::new(&format!("{base}a%20b"))).await, Some(404));
    assert_eq!(open(Request::new(&format!("{base}{}", "x".repeat(65)))).await, Some(404));
    assert_eq!(open(Request::new(&format!("{base}a/b"))).await, Some(404));
    assert_eq!(beside.server.rooms(), [ROOM], "a socket that has not joined creates no room");
    beside.unchanged().await;
}

#[tokio::test]
async fn hosts_that_only_look_like_this_one_are_403() {
    let mut beside = Beside::new(server()).await;
    for host in [
        "127.0.0.1.evil.com",
        "localhost:80@evil",
        "localhost@evil.com",
        "evil.com#localhost",
        "localhost.",
        "[::ffff:127.0.0.1]",
        "[::2]",
        "::1",
        "127.1",
        "0x7f000001",
        "localhost, evil.com",
        "localhost:",
        "localhost:99999",
        "localh\u{f6}st",
    ] {
        assert_eq!(Request::new(&beside.url).with("Host", host).open().await.err(), Some(403), "{host}");
    }
    for host in ["LocalHost:1", "LOCALHOST", "[::1]", "[::1]:9", "127.0.0.2"] {
        assert_eq!(Request::new(&beside.url).with("Host", host).open().await.err(), None, "{host}");
    }
    for origin in [
        "http://localhost.evil.com",
        "http://evil.com#localhost",
        "http://localhost@evil.com",
        "http://localhost:80@evil.com",
        "http://evil.com/localhost",
        "http://localhost/",
        "https://[::2]",
        "ftp://localhost",
        "//localhost",
        "localhost",
        "http://",
        "",
    ] {
        assert_eq!(
            Request::new(&beside.url).with("Origin", origin).open().await.err(),
            Some(403),
            "{origin}"
        );
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn a_host_or_an_origin_that_is_said_twice_is_403() {
    let mut beside = Beside::new(server()).await;
    let twice = Request::new(&beside.url).and("Host", "evil.example");
    assert_eq!(twice.open().await.err(), Some(403));
    let twice =
        Request::new(&beside.url).with("Origin", "http://localhost").and("Origin", "http://evil.example");
    assert_eq!(twice.open().await.err(), Some(403));
    assert_eq!(Request::new(&beside.url).without("Host").open().await.err(), Some(403));
    beside.unchanged().await;
}

#[tokio::test]
async fn an_upgrade_to_something_else_is_400() {
    let mut beside = Beside::new(server()).await;
    for request in [
        Request::new(&beside.url).with("Upgrade", "h2c"),
        Request::new(&beside.url).without("Connection"),
        Request::new(&beside.url).with("Connection", "keep-alive"),
        Request::new(&beside.url).without("Sec-WebSocket-Key"),
        Request::new(&beside.url).without("Sec-WebSocket-Version"),
        Request::new(&beside.url).with("Sec-WebSocket-Version", "013"),
    ] {
        assert_eq!(request.open().await.err(), Some(400));
    }
    assert_eq!(Request::new(&beside.url).method("HEAD").open().await.err(), Some(400));
    assert_eq!(Request::new(&beside.url).method("POST").open().await.err(), Some(405));
    assert_eq!(Request::new(&beside.url).with("Upgrade", "WebSocket").open().await.err(), None);
    assert_eq!(Request::new(&beside.url).with("Connection", "keep-alive, Upgrade").open().await.err(), None);
    beside.unchanged().await;
}

#[tokio::test]
async fn a_room_is_not_named_by_what_a_path_steps_over() {
    let mut beside = Beside::new(server()).await;
    let base = beside.url.trim_end_matches(ROOM).to_owned();
    for name in [".", "..", "%2e", "%2E%2e", "", "%00", "a%2fb", "..%2fb", "%c3%a4", "%ff", "a\\b", "%"] {
        assert!(
            matches!(Request::new(&format!("{base}{name}")).open().await.err(), Some(400 | 404)),
            "{name}"
        );
    }
    for name in ["...", ".a", "%61", "x?y=z"] {
        assert_eq!(Request::new(&format!("{base}{name}")).open().await.err(), None, "{name}");
    }
    beside.unchanged().await;
}

#[tokio::test]
async fn bytes_that_are_no_http_disturb_nobody() {
    let mut beside = Beside::new(server()).await;
    let long = vec![b'a'; 200_000];
    let mut headers = b"GET /rooms/stage HTTP/1.1\r\n".to_vec();
    for n in 0..5000 {
        headers.extend(format!("x{n}: y\r\n").bytes());
    }
    for garbage in [
        &b"\0\xff\xfe\r\n\r\n"[..],
        b"\x16\x03\x01\x02\0\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &long,
        &headers,
    ] {
        let mut stream = tokio::net::TcpStream::connect(beside.server.local_addr()).await.unwrap();
        let _ = stream.write_all(garbage).await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, stream.take(4096).read_to_end(&mut answer)).await;
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    }
    beside.unchanged().await;
}

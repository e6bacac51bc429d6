//! What is refused before a socket is a socket.

use crate::common::raw::Request;
use crate::common::stage::{Beside, ROOM, server};

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

//! The list of rooms.

use room::server::ServerHandle;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::rooms::{Guest, Lounge, counted, lounges};

/// What a `GET` is answered: the status, the head and the body.
async fn get(
    server: &ServerHandle<Lounge>,
    path: &str,
    headers: &str,
    from: [u8; 4],
) -> (u16, String, String) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((std::net::IpAddr::from(from), 0).into()).expect("a port");
    let mut stream = socket.connect(server.local_addr()).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    // Twice, though one list is given.
    let times = if headers.contains("Connection: close") { 1 } else { 2 };
    let _ = stream.write_all(request.repeat(times).as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).expect("text");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "a connection gets one list: {answer}");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_ascii_lowercase(), body.to_owned())
}

async fn list(server: &ServerHandle<Lounge>, path: &str) -> Vec<Value> {
    let (status, head, body) = get(server, path, "", [127, 0, 0, 1]).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: application/json"), "{head}");
    serde_json::from_str(&body).expect("a list")
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|room| room["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn rooms_are_listed_by_name_with_what_is_played_and_by_how_many() {
    let server = lounges().hold_seconds(30).start().await.expect("a server");
    assert!(list(&server, "/rooms").await.is_empty());
    let mut pair = Guest::at(&server.url("pair")).await;
    pair.say(1, "kind duel").await;
    pair.say(1, "started").await;
    let forest = [Guest::at(&server.url("forest")).await, Guest::at(&server.url("forest")).await];
    counted(&server, "forest", 2).await;
    let rooms = list(&server, "/rooms").await;
    let created = async |name: &str| server.label(name).await.expect("it runs").created;
    let (pairs, forests) = (created("pair").await, created("forest").await);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!((now - 10..=now).contains(&pairs));
    assert_eq!(
        rooms,
        [
            json!({ "name": "forest", "kind": "room", "players": 2, "max": 20, "created": forests,
                "started": false }),
            json!({ "name": "pair", "kind": "duel", "players": 1, "max": 2, "created": pairs,
                "started": true }),
        ]
    );
    // Who is held has a seat, and is counted.
    drop(forest);
    counted(&server, "forest", 2).await;
    assert_eq!(list(&server, "/rooms").await[0]["players"], 2);
}

#[tokio::test]
async fn hidden_and_private_rooms_are_not_listed() {
    let server = lounges().start().await.expect("a server");
    let mut lake = Guest::at(&server.url("lake")).await;
    let mut hill = Guest::at(&server.url("hill")).await;
    let _cellar = Guest::at(&server.url("cellar")).await;
    assert_eq!(names(&list(&server, "/rooms").await), ["hill", "lake"]);
    lake.say(1, "hidden").await;
    hill.say(1, "private").await;
    counted(&server, "hill", 1).await;
    counted(&server, "lake", 1).await;
    assert!(list(&server, "/rooms").await.is_empty());
    assert_eq!(server.rooms(), ["cellar", "hill", "lake"]);
}

#[tokio::test]
async fn a_list_is_asked_for_by_kind_and_in_pages() {
    let server = lounges().max_players(1).start().await.expect("a server");
    let mut guests = Vec::new();
    for _ in 0..3 {
        guests.push(Guest::at(&server.url_by_kind("duel")).await);
    }
    guests.push(Guest::at(&server.url("zoo")).await);
    guests.push(Guest::at(&server.url("ant")).await);
    let all = list(&server, "/rooms").await;
    assert_eq!(names(&all), server.rooms());
    assert_eq!(names(&all[..1]), ["ant"]);
    let duels = list(&server, "/rooms?kind=duel").await;
    assert_eq!(names(&duels), names(&all[1..4]));
    let second = duels[0]["name"].as_str().expect("a name");
    assert_eq!(list(&server, &format!("/rooms?after={second}")).await, all[2..]);
    assert_eq!(list(&server, &format!("/rooms?kind=duel&after={second}")).await, duels[1..]);
    assert!(list(&server, "/rooms?after=zoo").await.is_empty());
    assert!(list(&server, "/rooms?kind=chess").await.is_empty());
    for bad in ["/rooms?kind", "/rooms?after=a%20b", "/rooms?players=2"] {
        assert_eq!(get(&server, bad, "", [127, 0, 0, 1]).await.0, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_list_is_for_the_pages_that_may_open_sockets() {
    let server = lounges().origins(["https://play.example"]).start().await.expect("a server");
    let _guest = Guest::at(&server.url("forest")).await;
    let ask = |origin: &'static str| get(&server, "/rooms", origin, [127, 0, 0, 1]);
    assert_eq!(ask("Connection: close\r\nOrigin: https://evil.example\r\n").await.0, 403);
    let (status, head, body) = ask("Origin: https://play.example\r\n").await;
    assert_eq!(status, 200);
    assert!(head.contains("access-control-allow-origin: https://play.example"), "{head}");
    assert!(head.contains("vary: origin") && head.contains("cache-control: no-store"), "{head}");
    assert!(body.contains("forest"));
    assert!(!ask("").await.1.contains("access-control"));
}

#[tokio::test]
async fn lists_count_as_sockets_do() {
    let server = lounges().sockets_per_second(20).start().await.expect("a server");
    let mut statuses = Vec::new();
    for _ in 0..15 {
        statuses.push(get(&server, "/rooms", "", [127, 0, 0, 1]).await.0);
    }
    assert_eq!(statuses[..10], [200; 10]);
    assert_eq!(statuses[13..], [429; 2], "{statuses:?}");
    assert_eq!(get(&server, "/rooms", "", [127, 0, 0, 2]).await.0, 200);
}

//! Many rooms: how each is found, and who is let into it.

use std::time::{Duration, Instant};

use room::Game;
use room::prelude::*;
use room::server::{Server, ServerHandle};
use room::session::Hello;
use room::wire::message::{ClientMessage, RoomMessage};
use room_client::{Client, ConnectError, Status, connect};
use tokio::time::sleep;

use crate::common::raw::{PATIENCE, Raw, Request, Seat, hello, hello_message};

/// A room that is what its players say: an event `private`, `hidden`, `started` or `discard` makes it so, `kind X`
/// and `seats N` set those.
pub(crate) struct Lounge;

impl Game for Lounge {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        // What its name says.
        match room.name().to_owned().as_str() {
            "den" => room.set_private(true),
            "cellar" => room.set_hidden(true),
            "pair" => room.set_max_players(2),
            _ => {}
        }
        match room.kind() {
            "stadium" => room.set_max_players(110),
            "booth" => room.set_max_players(20),
            _ => {}
        }
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, event: String) {
        match event.split_once(' ').unwrap_or((&event, "")) {
            ("private", _) => room.set_private(true),
            ("hidden", _) => room.set_hidden(true),
            ("started", _) => room.set_started(true),
            ("kind", kind) => room.set_kind(kind).expect("a kind"),
            ("seats", seats) => room.set_max_players(seats.parse().expect("a number")),
            _ => {}
        }
        room.send(peer.conn, "done").expect("a short message");
    }
}

pub(crate) fn schema() -> Schema {
    Lounge::schema()
}

/// A server of lounges where nobody is held, and one machine may do what it likes.
pub(crate) fn lounges() -> Server<Lounge> {
    Server::new(|_: &str| Lounge)
        .port(0)
        .hold_seconds(0)
        .sockets_per_second(1 << 20)
        .rooms_per_minute(1 << 20)
        .kinds(["duel", "ball", "stadium", "booth"])
}

/// Somebody in a room, and the room's name.
pub(crate) struct Guest {
    pub(crate) raw: Raw,
    pub(crate) seat: Seat,
    pub(crate) room: String,
}

impl std::fmt::Debug for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a guest of {}", self.room)
    }
}

impl Guest {
    /// Comes in, or hears a code and a reason.
    pub(crate) async fn knock(request: Request, hello: Hello) -> Result<Guest, (u16, String)> {
        let mut raw = request.open().await.expect("a socket");
        raw.send(&hello_message(hello)).await;
        match raw.next().await.expect("an answer") {
            (0x2, first) => {
                let seat = Seat::of(&first).expect("a welcome");
                let Ok(RoomMessage::Welcome(welcome)) = RoomMessage::decode(&first) else { unreachable!() };
                Ok(Guest { raw, seat, room: welcome.room.to_owned() })
            }
            (0x8, payload) => {
                let (code, reason) = payload.split_first_chunk().expect("a code");
                Err((u16::from_be_bytes(*code), String::from_utf8(reason.to_vec()).expect("text")))
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn at(url: &str) -> Guest {
        match Guest::knock(Request::new(url), hello(&schema())).await {
            Ok(guest) => guest,
            Err(refused) => panic!("{url}: {refused:?}"),
        }
    }

    /// Has the room do something, and waits until it has.
    pub(crate) async fn say(&mut self, gap: u64, words: &str) {
        let mut payload = Vec::new();
        room::wire::payload::encode(words, 1000, &mut payload).expect("short");
        let mut message = Vec::new();
        ClientMessage::Event { gap, payload: &payload }.encode(&mut message);
        self.raw.send(&message).await;
        while self.raw.message().await[0] != 0x83 {}
    }
}

async fn refused(url: &str) -> (u16, String) {
    Guest::knock(Request::new(url), hello(&schema())).await.expect_err("refused")
}

async fn code_of(server: &ServerHandle<Lounge>, room: &str) -> String {
    server.label(room).await.expect("the room runs").code
}

/// Waits until a room counts so many players, which it tells its server behind each turn.
pub(crate) async fn counted(server: &ServerHandle<Lounge>, room: &str, players: usize) {
    let deadline = Instant::now() + PATIENCE;
    while server.stats(room).await.expect("the room").sessions != players {
        assert!(Instant::now() < deadline, "{room} has other players");
        sleep(Duration::from_millis(10)).await;
    }
    // Its turn ends with the word to the server.
    server.stats(room).await.expect("the room");
}

#[tokio::test]
async fn a_private_room_is_joined_by_its_code_alone_and_its_players_come_back_by_name() {
    let server = lounges().hold_seconds(30).start().await.expect("a server");
    // The first to come finds the room made, and is as little let in as the next.
    for _ in 0..2 {
        let reason = "the room is private: its code lets new players in".to_owned();
        assert_eq!(refused(&server.url("den")).await, (4003, reason));
    }
    let code = code_of(&server, "den").await;
    let guest = Guest::at(&server.url_by_code(&code)).await;
    assert_eq!(guest.room, "den");
    let lower = Guest::at(&server.url_by_code(&code.to_lowercase())).await;
    assert_eq!(lower.room, "den");
    let seat = guest.seat;
    drop(guest);
    let mut seat = seat;
    for url in [server.url("den"), server.url_by_code(&code)] {
        let back = Guest::knock(Request::new(&url), seat.hello(&schema())).await;
        let mut back = back.expect("she has a session");
        assert!(back.seat.resumed);
        back.raw.acknowledge(Tick::ZERO).await;
        seat = back.seat;
    }
    // Any room of a kind has no sessions.
    let any = Guest::knock(Request::new(&server.url_by_kind("duel")), seat.hello(&schema())).await;
    assert_eq!(any.expect_err("refused").0, 4007);
}

#[tokio::test]
async fn who_asks_for_any_room_is_never_seated_in_a_private_one_or_one_that_has_started() {
    let server = lounges().start().await.expect("a server");
    let any = server.url_by_kind("duel");
    let mut first = Guest::at(&any).await;
    assert!(first.room.starts_with("duel-") && first.room.len() == 11, "{}", first.room);
    assert_eq!(Guest::at(&any).await.room, first.room);
    first.say(1, "hidden").await;
    assert_eq!(Guest::at(&any).await.room, first.room, "hidden from the list is open still");
    first.say(1, "started").await;
    let mut second = Guest::at(&any).await;
    assert_ne!(second.room, first.room);
    second.say(1, "private").await;
    let third = Guest::at(&any).await;
    assert!(third.room != first.room && third.room != second.room);
    // One that was made by its name is found once it says that it is of the kind.
    let mut named = Guest::at(&server.url("aaa")).await;
    assert_eq!(server.label("aaa").await.expect("it runs").kind, "room");
    named.say(1, "kind duel").await;
    drop(third);
    let mut kinds = Vec::new();
    for name in server.rooms() {
        kinds.push(server.label(&name).await.expect("it runs").kind);
    }
    assert_eq!(kinds, ["duel"; 4]);
    // By name a started one lets everybody in.
    Guest::at(&server.url(&first.room)).await;
}

#[tokio::test]
async fn rooms_of_a_kind_fill_in_the_order_in_which_they_were_made() {
    let server = lounges().max_players(2).start().await.expect("a server");
    let any = server.url_by_kind("ball");
    let mut guests = Vec::new();
    for _ in 0..5 {
        guests.push(Guest::at(&any).await);
    }
    let rooms: Vec<_> = guests.iter().map(|guest| guest.room.clone()).collect();
    assert!(rooms[0] == rooms[1] && rooms[2] == rooms[3], "{rooms:?}");
    assert!(rooms[1] != rooms[2] && rooms[3] != rooms[4] && rooms[4] != rooms[0], "{rooms:?}");
    // A seat that comes free in the first one is the next to be taken.
    guests.remove(0).raw.leave().await;
    counted(&server, &rooms[0], 1).await;
    guests.push(Guest::at(&any).await);
    assert_eq!(guests.last().expect("one").room, rooms[0]);
    assert_eq!(Guest::at(&any).await.room, rooms[4]);
    assert_eq!(server.rooms().len(), 3);
}

#[tokio::test]
async fn a_room_has_the_seats_that_it_says() {
    let server = lounges().start().await.expect("a server");
    let url = server.url("pair");
    let (mut one, _two) = (Guest::at(&url).await, Guest::at(&url).await);
    assert_eq!(refused(&url).await, (4004, r#"{"players":2,"max":2}"#.to_owned()));
    one.say(1, "seats 3").await;
    let _three = Guest::at(&url).await;
    one.say(1, "seats 1").await;
    assert_eq!(refused(&url).await, (4004, r#"{"players":3,"max":1}"#.to_owned()));
    one.say(1, "nobody has lost her seat").await;
}

#[tokio::test]
async fn a_kind_that_the_server_does_not_have_is_404() {
    let server = lounges().start().await.expect("a server");
    for kind in ["chess", "Duel", "a%20b", ".."] {
        let opened = Request::new(&server.url_by_kind(kind)).open().await;
        assert_eq!(opened.err(), Some(404), "{kind}");
    }
    assert!(server.rooms().is_empty());
    let none = Server::new(|_: &str| Lounge).kinds(["a b"]).start().await;
    assert!(none.err().expect("no kind").to_string().contains("`kinds` is \"a b\""));
}

#[tokio::test]
async fn who_tries_codes_is_stopped_and_others_are_not() {
    let server = lounges().start().await.expect("a server");
    let _guest = Guest::at(&server.url("forest")).await;
    let code = code_of(&server, "forest").await;
    // Good ones cost nothing.
    for _ in 0..30 {
        drop(Guest::at(&server.url_by_code(&code)).await);
    }
    for _ in 0..10 {
        let (got, reason) = refused(&server.url_by_code("WWWWWW")).await;
        assert_eq!((got, &*reason), (4003, "no room has the code WWWWWW; ask for it again"));
    }
    for tried in ["WWWWWW", &code] {
        assert_eq!(refused(&server.url_by_code(tried)).await.0, 1013, "{tried}");
    }
    let elsewhere = Request::new(&server.url_by_code(&code)).from([127, 0, 0, 2]);
    assert!(Guest::knock(elsewhere, hello(&schema())).await.is_ok());
    assert_eq!(Request::new(&server.url_by_code("a%20b")).open().await.err(), Some(404));
    assert_eq!(server.rooms(), ["forest"], "a code makes no room");
}

#[tokio::test]
async fn who_makes_too_many_rooms_is_1013_and_others_are_not() {
    let server = lounges().rooms_per_minute(3).start().await.expect("a server");
    for name in ["a", "b", "c"] {
        Guest::at(&server.url(name)).await;
    }
    for url in [server.url("d"), server.url_by_kind("duel")] {
        let reason = "this address made too many rooms; try again in a minute".to_owned();
        assert_eq!(refused(&url).await, (1013, reason));
    }
    Guest::at(&server.url("a")).await;
    let elsewhere = Request::new(&server.url("d")).from([127, 0, 0, 2]);
    assert!(Guest::knock(elsewhere, hello(&schema())).await.is_ok());
}

/// Updates a client until it is joined again, after a drop.
async fn back(client: &mut Client, resumes: u64) {
    let deadline = Instant::now() + PATIENCE;
    while client.stats().resumes < resumes || !client.is_joined() {
        assert!(Instant::now() < deadline, "{:?}", client.status());
        client.update(Instant::now());
        sleep(Duration::from_millis(10)).await;
    }
}

/// Cuts a client's connection: it is silent for longer than the server takes.
async fn cut(client: &mut Client) {
    let deadline = Instant::now() + PATIENCE;
    while client.is_joined() {
        assert!(Instant::now() < deadline, "{:?}", client.status());
        client.update(Instant::now());
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_client_that_came_by_kind_or_by_code_comes_back_to_its_room() {
    let rhythm = (Duration::from_millis(200), Duration::from_millis(600));
    let server = lounges().hold_seconds(30).max_players(1).rhythm(rhythm.0, rhythm.1);
    let server = server.start().await.expect("a server");
    let mut ada = connect(server.url_by_kind("duel"), schema()).await.expect("a seat");
    let room = ada.room_name().expect("a room").to_owned();
    let mut bob = connect(server.url_by_code(&code_of(&server, &room).await), schema());
    assert!(matches!(bob.await, Err(ConnectError::Refused { code: 4004, .. })));
    let saved = ada.checkpoint().expect("a session");
    assert_eq!(saved.room(), server.url(&room));
    drop(ada);
    // Its seat is held; a new player gets a room of her own.
    let cleo = connect(server.url_by_kind("duel"), schema()).await.expect("a seat");
    assert_ne!(cleo.room_name(), Some(&*room));
    // The page is loaded again, with the URL that it was given.
    let mut ada = connect(server.url_by_kind("duel"), schema()).checkpoint(saved).await.expect("her seat");
    assert_eq!((ada.room_name(), ada.stats().resumes), (Some(&*room), 1));
    let saved = ada.checkpoint().expect("a session");
    drop(ada);
    let mut ada = connect(server.url(&room), schema()).checkpoint(saved.clone()).await.expect("her seat");
    assert_eq!((ada.room_name(), ada.stats().resumes), (Some(&*room), 1));
    bob = connect(server.url_by_kind("ball"), schema()).checkpoint(saved);
    assert!(matches!(bob.await, Err(ConnectError::Checkpoint(_))), "of another kind it is not");
    assert!(ada.leave().await);
}

#[tokio::test]
async fn a_client_whose_link_breaks_comes_back_to_the_room_that_it_was_let_into() {
    let server = lounges().hold_seconds(30).max_players(1).start().await.expect("a server");
    let (near, _proxy) = proxy(server.local_addr()).await;
    let url = server.url_by_kind("duel").replace(&server.local_addr().to_string(), &near.address);
    let mut ada = connect(url, schema()).await.expect("a seat");
    let room = ada.room_name().expect("a room").to_owned();
    for round in 1..=2 {
        near.cut();
        cut(&mut ada).await;
        back(&mut ada, round).await;
        assert_eq!((ada.room_name(), ada.status()), (Some(&*room), &Status::Joined));
    }
    assert_eq!(server.rooms(), [room]);
}

/// A line to a server that can be cut.
struct Line {
    address: String,
    cut: tokio::sync::watch::Sender<()>,
}

impl Line {
    fn cut(&self) {
        self.cut.send_replace(());
    }
}

async fn proxy(to: std::net::SocketAddr) -> (Line, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (cut, cuts) = tokio::sync::watch::channel(());
    let task = tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut cuts = cuts.clone();
            cuts.mark_unchanged();
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(to).await.expect("the server");
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    _ = cuts.changed() => {}
                }
            });
        }
    });
    (Line { address, cut }, task)
}

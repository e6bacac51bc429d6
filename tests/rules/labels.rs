//! What a game says of its room, and whom the room lets in for it.

use std::time::Duration;

use room::prelude::*;
use room::room::Label;
use room::runtime::{Identity, Join, Outgoing, Runtime, Settings, Site, StartError, Way};
use room::session::{Hello, Token};

/// Notes what it was told before `on_create`.
#[derive(Default)]
struct Booth {
    told: Option<(String, Label)>,
}

impl Game for Booth {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        self.told = Some((room.name().to_owned(), room.label().clone()));
    }
}

fn site() -> Site {
    let label = Label { code: "KWMTRX".into(), kind: "duel".into(), created: 9, ..Label::default() };
    Site { name: "duel-1".into(), label }
}

fn runtime(seats: usize) -> Runtime<Booth> {
    let settings = Settings { seats, ..Settings::default() };
    Runtime::at(site(), Booth::default(), settings, [7; 32]).expect("a room")
}

/// Asks to come in; says what is answered at once.
fn ask(room: &mut Runtime<Booth>, conn: u64, way: &Way, account: Option<&str>) -> Result<(), Option<u16>> {
    let identity = account.map_or_else(Identity::guest, Identity::account);
    let join = Join { hello: Hello::default(), identity, token: Token([conn as u8; 16]) };
    if room.handle_open_by(ConnectionId(conn), Duration::ZERO, way, join).is_some() {
        assert!(room.poll_transmit().is_none(), "who is handed back is told nothing");
        return Err(None);
    }
    match room.poll_transmit().map(|transmit| transmit.outgoing) {
        None => Ok(()),
        Some(Outgoing::Close { code, .. }) => Err(Some(code)),
        other => panic!("{other:?}"),
    }
}

fn tick(room: &mut Runtime<Booth>) {
    room.tick(Duration::ZERO);
    while room.poll_transmit().is_some() {}
}

fn duel() -> Way {
    Way::Kind("duel".into())
}

#[test]
fn a_room_knows_where_it_stands_before_it_is_created() {
    let room = runtime(2);
    assert_eq!(room.game().told, Some((site().name, site().label)));
    let plain = Runtime::new(Booth::default(), Settings::default(), [7; 32]).expect("a room");
    assert_eq!((plain.room().name(), plain.room().code(), plain.room().kind()), ("room", "", "room"));
    for (name, kind, code) in [("a/b", "duel", ""), ("a", "", ""), ("a", "duel", "KW")] {
        let label = Label { kind: kind.into(), code: code.into(), ..Label::default() };
        let wrong = Site { name: name.into(), label };
        let made = Runtime::at(wrong, Booth::default(), Settings::default(), [7; 32]);
        assert!(matches!(made, Err(StartError::Setting { .. })), "{name} {kind} {code}");
    }
}

#[test]
fn each_change_of_the_label_is_told_once() {
    let mut room = runtime(2);
    assert_eq!(room.label_if_changed(), Some(&site().label), "the first time");
    assert_eq!(room.label_if_changed(), None);
    let version = room.label_version();
    room.parts_mut().1.set_started(false);
    room.parts_mut().1.set_kind("duel").expect("a kind");
    assert_eq!(room.label_if_changed(), None, "nothing has changed");
    assert_eq!(room.label_version(), version);
    room.parts_mut().1.set_started(true);
    room.parts_mut().1.discard_when_empty(true);
    let expected = Label { started: true, discard: true, ..site().label };
    assert_eq!(room.label_if_changed(), Some(&expected));
    assert_ne!(room.label_version(), version);
    let error = room.parts_mut().1.set_kind("a b").expect_err("no kind").to_string();
    assert!(error.contains("\"a b\""), "{error}");
    assert_eq!(room.label_if_changed(), None);
}

#[test]
fn who_is_handed_back_takes_no_seat_and_who_is_not_has_hers_at_once() {
    let mut room = runtime(2);
    assert_eq!(ask(&mut room, 1, &duel(), None), Ok(()));
    assert_eq!(ask(&mut room, 2, &duel(), None), Ok(()));
    // No tick has passed, and yet both seats are taken.
    assert_eq!(ask(&mut room, 3, &duel(), None), Err(None));
    assert_eq!(ask(&mut room, 4, &Way::Name, None), Err(Some(4004)));
    assert_eq!(ask(&mut room, 5, &Way::Code, None), Err(Some(4004)));
    tick(&mut room);
    assert_eq!((room.room().players(), room.sessions()), (2, 2));
    assert_eq!(ask(&mut room, 6, &duel(), None), Err(None));
    room.parts_mut().1.set_max_players(3);
    assert_eq!(ask(&mut room, 7, &duel(), None), Ok(()));
    room.parts_mut().1.set_max_players(0);
    assert_eq!(room.room().max_players(), 1, "the nearest");
}

#[test]
fn a_room_that_is_private_started_or_of_another_kind_hands_back_who_looks_for_any() {
    let mut room = runtime(9);
    assert_eq!(ask(&mut room, 1, &Way::Kind("ball".into()), None), Err(None));
    room.parts_mut().1.set_hidden(true);
    assert_eq!(ask(&mut room, 2, &duel(), None), Ok(()));
    room.parts_mut().1.set_started(true);
    assert_eq!(ask(&mut room, 3, &duel(), None), Err(None));
    assert_eq!(ask(&mut room, 4, &Way::Name, None), Ok(()));
    room.parts_mut().1.set_started(false);
    room.parts_mut().1.set_private(true);
    assert_eq!(ask(&mut room, 5, &duel(), None), Err(None));
    assert_eq!(ask(&mut room, 6, &Way::Name, None), Err(Some(4003)));
    assert_eq!(ask(&mut room, 7, &Way::Code, None), Ok(()));
}

#[test]
fn an_account_that_has_a_session_goes_on_with_it_whichever_way_it_comes() {
    let mut room = runtime(1);
    assert_eq!(ask(&mut room, 1, &Way::Code, Some("ada")), Ok(()));
    tick(&mut room);
    room.parts_mut().1.set_private(true);
    room.parts_mut().1.set_started(true);
    for (conn, way) in [(2, Way::Name), (3, duel()), (4, Way::Code)] {
        assert_eq!(ask(&mut room, conn, &way, Some("ada")), Ok(()), "{way:?}");
        tick(&mut room);
        assert_eq!(room.sessions(), 1);
    }
    assert_eq!(ask(&mut room, 5, &Way::Name, Some("bob")), Err(Some(4003)), "private, and not only full");
}

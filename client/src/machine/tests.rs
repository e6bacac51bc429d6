use super::*;

fn welcome(protocol: u32, build: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    RoomMessage::Welcome(Welcome {
        protocol,
        build,
        player: PlayerId(7),
        tick: Tick(3),
        tick_rate: 20,
        send_every: 1,
        payload_max: 24 * 1024,
    })
    .encode(&mut bytes);
    bytes
}

fn event(value: &str) -> Vec<u8> {
    let mut bytes = vec![message::tag::ROOM_EVENT];
    payload::encode(value, 1000, &mut bytes).unwrap();
    bytes
}

fn machine(build: Option<&str>) -> Machine {
    let options = Options { name: "Ada".to_owned(), build: build.map(str::to_owned), auth: vec![0xc0] };
    let mut machine = Machine::new(Schema::new(), options);
    machine.handle_open(Duration::ZERO);
    machine
}

fn joined() -> Machine {
    let mut machine = machine(None);
    machine.handle_message(Duration::ZERO, welcome(PROTOCOL_VERSION, None));
    while machine.poll_transmit().is_some() {}
    machine
}

fn closed(machine: &Machine) -> (Option<u16>, &str) {
    match machine.status() {
        Status::Closed { code, reason } => (*code, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_says_hello_and_is_seated_by_the_welcome() {
    let mut machine = machine(Some("1.0"));
    let Some(Outgoing::Message(hello)) = machine.poll_transmit() else { panic!("no hello") };
    let ClientMessage::Hello(hello) = ClientMessage::decode(&hello).unwrap() else { panic!("no hello") };
    assert_eq!((hello.protocol, hello.name.as_str(), hello.auth), (PROTOCOL_VERSION, "Ada", vec![0xc0]));
    assert_eq!(machine.send("early"), Err(SendError::NotJoined));
    machine.handle_message(Duration::ZERO, welcome(PROTOCOL_VERSION, Some("1.0")));
    assert!(machine.is_joined());
    assert_eq!((machine.player(), machine.tick_rate()), (Some(PlayerId(7)), 20));
    assert_eq!(machine.events().count(), 0);
}

#[test]
fn another_build_is_told_and_play_goes_on() {
    let mut machine = machine(Some("1.0"));
    machine.handle_message(Duration::ZERO, welcome(PROTOCOL_VERSION, Some("1.1")));
    let told = Event::BuildMismatch { room: "1.1".to_owned(), client: "1.0".to_owned() };
    assert_eq!(machine.events().collect::<Vec<_>>(), [told]);
    assert!(machine.is_joined());
}

#[test]
fn a_welcome_of_another_protocol_is_refused_with_both_versions() {
    let mut machine = machine(None);
    machine.poll_transmit();
    let mut strange = welcome(PROTOCOL_VERSION + 1, None);
    strange.truncate(2);
    machine.handle_message(Duration::ZERO, strange);
    let reason =
        format!(r#"{{"room":"protocol {}","client":"protocol {PROTOCOL_VERSION}"}}"#, PROTOCOL_VERSION + 1);
    assert_eq!(closed(&machine), (Some(4006), reason.as_str()));
    assert_eq!(machine.poll_transmit(), Some(Outgoing::Close { code: 4006, reason }));
}

#[test]
fn events_keep_their_order_and_wait_for_the_update() {
    let mut machine = joined();
    machine.handle_message(Duration::ZERO, event("one"));
    machine.handle_message(Duration::ZERO, event("two"));
    assert_eq!(machine.events().count(), 0);
    machine.update(Duration::ZERO);
    let texts: Vec<String> = machine
        .events()
        .map(|event| match event {
            Event::Message(message) => message.decode().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn what_came_before_a_close_is_still_applied() {
    let mut machine = joined();
    machine.handle_message(Duration::ZERO, event("last words"));
    machine.handle_close(Duration::ZERO, Some(4013), "rude");
    machine.handle_message(Duration::ZERO, event("never"));
    machine.update(Duration::ZERO);
    assert_eq!(machine.events().count(), 1);
    assert_eq!(closed(&machine), (Some(4013), "rude"));
}

#[test]
fn nonsense_closes_with_4000_and_names_the_error() {
    for nonsense in [vec![], vec![0x42], welcome(PROTOCOL_VERSION, None)] {
        let mut machine = joined();
        machine.handle_message(Duration::ZERO, nonsense);
        machine.handle_message(Duration::ZERO, event("after"));
        machine.update(Duration::ZERO);
        let (code, reason) = closed(&machine);
        assert_eq!(code, Some(4000));
        assert!(reason.starts_with("the room sent a bad message: "), "{reason}");
        assert_eq!(machine.events().count(), 0);
        assert!(matches!(machine.poll_transmit(), Some(Outgoing::Close { code: 4000, .. })));
    }
}

#[test]
fn acknowledgements_are_paced_and_the_newest_counts() {
    let mut acks = Acks::default();
    let ms = Duration::from_millis;
    assert_eq!(acks.due(ms(0)), None);
    acks.newest = Some(Tick(1));
    assert_eq!(acks.due(ms(1)), Some(Tick(1)));
    acks.newest = Some(Tick(2));
    assert_eq!(acks.due(ms(50)), None);
    acks.newest = Some(Tick(3));
    assert_eq!(acks.due(ms(51)), Some(Tick(3)));
    assert_eq!(acks.due(ms(500)), None);
}

#[test]
fn a_socket_that_takes_nothing_makes_send_refuse() {
    let mut machine = joined();
    let big = "x".repeat(20 * 1024);
    let sent = (0..).take_while(|_| machine.send(&big).is_ok()).count();
    assert_eq!(sent, 51);
    assert_eq!(machine.send(&big), Err(SendError::Full));
    machine.poll_transmit();
    assert_eq!(machine.send(&big), Ok(()));
    assert!(matches!(machine.send(&"x".repeat(25 * 1024)), Err(SendError::Payload(_))));
}

#[test]
fn a_game_that_never_updates_is_closed_before_memory_runs_out() {
    let mut machine = joined();
    let message = vec![message::tag::ROOM_EVENT; 60 * 1024];
    while machine.is_joined() {
        machine.handle_message(Duration::ZERO, message.as_slice());
    }
    assert!(machine.stats().bytes_received <= (limits::CLIENT_WAITING + message.len()) as u64 + 100);
}

#[test]
fn events_that_nobody_reads_do_not_pile_up() {
    let mut machine = joined();
    for n in 0..limits::CLIENT_EVENTS + 3 {
        machine.handle_message(Duration::ZERO, event(&n.to_string()));
    }
    machine.update(Duration::ZERO);
    assert_eq!(machine.stats().events_dropped, 3);
    let Some(Event::Message(first)) = machine.events().next() else { panic!("no event") };
    assert_eq!(first.decode::<String>().unwrap(), "3");
}

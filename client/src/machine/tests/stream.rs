use super::*;

#[test]
fn it_says_hello_and_is_seated_by_the_welcome() {
    let mut machine = Machine::new(schema(), Options { build: Some("1.0".into()), ..options() }, 1);
    assert_eq!((machine.status(), machine.session(), machine.epoch()), (&Status::Connecting, None, 0));
    let hello = join(&mut machine, ms(0), Welcome { build: Some("1.0"), ..first() });
    assert_eq!((hello.protocol, hello.name.as_str(), hello.auth), (PROTOCOL_VERSION, "Ada", vec![0xc0]));
    assert_eq!((hello.build.as_deref(), hello.resume), (Some("1.0"), None));
    assert_eq!((machine.player(), machine.session()), (Some(PlayerId(7)), Some(SessionId(5))));
    assert_eq!((machine.epoch(), machine.tick_rate(), machine.send_every()), (1, 20, 1));
    assert_eq!(machine.events().count(), 0);
    assert_eq!(said(&mut machine), [Said::Ack(Ack::default()), Said::Ping(0)]);
}

#[test]
fn another_build_is_told_and_play_goes_on() {
    let mut machine = Machine::new(schema(), Options { build: Some("1.0".into()), ..options() }, 1);
    join(&mut machine, ms(0), Welcome { build: Some("1.1"), ..first() });
    let told = Event::BuildMismatch { room: "1.1".to_owned(), client: "1.0".to_owned() };
    assert_eq!(machine.events().collect::<Vec<_>>(), [told]);
    assert!(machine.is_joined());
}

#[test]
fn a_welcome_of_another_protocol_is_refused_with_both_versions() {
    let mut machine = machine();
    open(&mut machine, ms(0));
    let mut strange = bytes(RoomMessage::Welcome(Welcome { protocol: PROTOCOL_VERSION + 1, ..first() }));
    strange.truncate(2);
    machine.handle_message(ms(0), strange);
    let (room, client) = (PROTOCOL_VERSION + 1, PROTOCOL_VERSION);
    let reason = format!(r#"{{"room":"protocol {room}","client":"protocol {client}"}}"#);
    assert_eq!(closed(&machine), (Some(4006), reason.as_str()));
    assert_eq!(said(&mut machine), [Said::Close(4006, reason)]);
    assert!(!machine.poll_dial(seconds(99)));
}

#[test]
fn events_keep_their_order_and_wait_for_the_update() {
    let mut machine = joined();
    event(&mut machine, ms(0), "one");
    hear(&mut machine, ms(0), RoomMessage::Transient(&packed("two")));
    event(&mut machine, ms(0), "three");
    assert_eq!(machine.events().count(), 0);
    machine.update(ms(0));
    assert_eq!(texts(&mut machine), ["one", "~two", "three"]);
}

#[test]
fn what_came_before_a_close_is_still_applied() {
    let mut machine = joined();
    event(&mut machine, ms(0), "last words");
    machine.handle_close(ms(0), Some(4013), "rude");
    event(&mut machine, ms(0), "never");
    machine.update(ms(0));
    assert_eq!(texts(&mut machine), ["last words"]);
    assert_eq!(closed(&machine), (Some(4013), "rude"));
}

#[test]
fn nonsense_closes_with_4000_and_names_the_error() {
    for nonsense in [vec![], vec![0x42], bytes(RoomMessage::Welcome(first())), vec![0x8b], vec![0x8a]] {
        let mut machine = joined();
        machine.handle_message(ms(0), nonsense);
        event(&mut machine, ms(0), "after");
        machine.update(ms(0));
        let (code, reason) = closed(&machine);
        assert_eq!(code, Some(4000));
        assert!(reason.starts_with("the room sent a bad message: "), "{reason}");
        assert_eq!(machine.events().count(), 0);
        assert!(matches!(said(&mut machine).as_slice(), [Said::Close(4000, _)]));
        assert!(!machine.poll_dial(seconds(99)), "it stops");
    }
    // Numbers that no room has.
    for welcome in [Welcome { received: u64::MAX, ..first() }, Welcome { sent: u64::MAX, ..first() }] {
        let mut machine = machine();
        open(&mut machine, ms(0));
        hear(&mut machine, ms(0), RoomMessage::Welcome(welcome));
        assert_eq!(closed(&machine).0, Some(4000));
    }
}

#[test]
fn acknowledgements_are_paced_and_say_what_came_and_what_was_taken() {
    let mut machine = joined();
    let ack = |tick, parts, events| Said::Ack(Ack { tick: Tick(tick), parts, events });
    update(101).enter(2, 5).to(&mut machine, ms(100));
    event(&mut machine, ms(100), "hi");
    machine.update(ms(100));
    assert_eq!(said(&mut machine), [ack(101, 0, 0)], "the game has not looked");
    assert_eq!(machine.events().count(), 1);
    machine.update(ms(149));
    assert_eq!(said(&mut machine), []);
    assert_eq!(machine.poll_timeout(), Some(ms(150)));
    machine.update(ms(150));
    assert_eq!(said(&mut machine), [ack(101, 0, 1)]);
    machine.handle_message(ms(210), update(102).enter(3, 5).part(true, false));
    machine.update(ms(210));
    assert_eq!(said(&mut machine), [ack(101, 1, 1)]);
    machine.update(ms(400));
    assert_eq!(said(&mut machine), [], "nothing differs");
}

#[test]
fn a_game_that_never_updates_lets_the_link_go_and_loses_nothing() {
    let mut machine = joined();
    let payload = packed(&"x".repeat(20_000));
    while machine.is_joined() {
        hear(&mut machine, ms(0), RoomMessage::Event(&payload));
    }
    assert!(machine.stats().bytes_received <= (limits::CLIENT_WAITING + 2 * payload.len()) as u64);
    assert_eq!((said(&mut machine), machine.status()), (vec![Said::Abort], &Status::Reconnecting));
    machine.update(ms(1));
    machine.handle_online(ms(1));
    let hello = join(&mut machine, ms(1), again());
    assert_eq!(hello.resume.unwrap().received, 0, "the room sends it all again");
}

#[test]
fn transients_that_nobody_reads_do_not_pile_up_and_events_are_never_dropped() {
    let mut machine = joined();
    event(&mut machine, ms(0), "kept");
    for n in 0..limits::CLIENT_EVENTS + 3 {
        hear(&mut machine, ms(0), RoomMessage::Transient(&packed(&n.to_string())));
        event(&mut machine, ms(0), "kept");
    }
    machine.update(ms(0));
    assert_eq!(machine.stats().transients_dropped, 3);
    let texts = texts(&mut machine);
    assert_eq!(texts.iter().filter(|text| *text == "kept").count(), limits::CLIENT_EVENTS + 4);
    assert_eq!(texts.iter().find(|text| text.starts_with('~')).unwrap(), "~3");
}

#[test]
fn a_room_that_sends_more_than_any_room_keeps_is_refused() {
    let mut machine = joined();
    let payload = packed(&"x".repeat(20_000));
    for n in 0..2000 {
        hear(&mut machine, ms(n), RoomMessage::Event(&payload));
        machine.update(ms(n));
    }
    assert_eq!(closed(&machine).0, Some(4000));
}

#[test]
fn a_backlog_of_more_than_a_second_is_one_change_without_its_transients() {
    let backlog = |sends: u64| {
        let mut machine = joined();
        update(100).to(&mut machine, ms(0));
        machine.update(ms(0));
        for tick in 101..=100 + sends {
            update(tick).enter(tick, 1).to(&mut machine, ms(0));
            hear(&mut machine, ms(0), RoomMessage::Transient(&packed("effect")));
            event(&mut machine, ms(0), "event");
        }
        machine.update(ms(0));
        let texts = texts(&mut machine);
        let transients = texts.iter().filter(|text| text.starts_with('~')).count();
        assert_eq!((texts.len() - transients) as u64, sends, "events are never dropped");
        assert_eq!((machine.tick(), machine.len() as u64), (Tick(100 + sends), sends));
        (transients, machine.jumped(), machine.stats().catch_ups)
    };
    assert_eq!(backlog(20), (20, false, 0));
    assert_eq!(backlog(21), (0, true, 1));
}

#[test]
fn the_clock_follows_the_quickest_answer() {
    let mut machine = joined();
    assert_eq!(machine.room_time(ms(500)), Some(110.0), "by the welcome");
    assert_eq!(machine.round_trip(), None);
    // Sent at 0, back at 40 ms: the room was at 100.4 in between.
    hear(&mut machine, ms(40), pong(0, 100_400));
    assert_eq!(machine.round_trip(), Some(ms(40)));
    assert!((machine.room_time(ms(20)).unwrap() - 100.4).abs() < 1e-9);
    assert!((machine.room_time(ms(1020)).unwrap() - 120.4).abs() < 1e-9);
    hear(&mut machine, ms(1800), pong(1_000_000, 134_000));
    assert!((machine.room_time(ms(1020)).unwrap() - 120.4).abs() < 1e-9, "a slow one says little");
    assert_eq!(machine.round_trip(), Some((ms(40) * 7 + ms(800)) / 8));
    // One that was not asked for says nothing.
    hear(&mut machine, ms(1900), pong(u64::MAX, u64::MAX));
    assert!((machine.room_time(ms(1020)).unwrap() - 120.4).abs() < 1e-9);
    // Old answers are forgotten after as many new ones.
    for n in 2..18 {
        hear(&mut machine, seconds(n) + ms(100), pong(n * 1_000_000, 0));
    }
    assert!(machine.room_time(seconds(17)).unwrap() < 0.0);
}

#[test]
fn the_clock_of_a_room_that_was_woken_is_that_of_its_welcome() {
    let mut machine = joined();
    hear(&mut machine, ms(1000), pong(900_000, 120_000));
    let woken = Welcome { incarnation: 2, tick: Tick(125), ..again() };
    resume(&mut machine, ms(10_000), woken);
    assert_eq!(machine.room_time(ms(10_000)), Some(125.0), "and not where the one before would be by now");
    assert_eq!(machine.room_time(ms(10_100)), Some(127.0));
}

#[test]
fn the_clock_goes_on_over_a_drop_until_the_first_answer() {
    let mut machine = joined();
    hear(&mut machine, ms(40), pong(0, 100_400));
    resume(&mut machine, ms(1000), Welcome { tick: Tick(119), ..again() });
    assert!((machine.room_time(ms(1020)).unwrap() - 120.4).abs() < 1e-9);
    hear(&mut machine, ms(1100), pong(1_000_000, 500_000));
    assert!((machine.room_time(ms(1050)).unwrap() - 500.0).abs() < 1e-9);
    resume(&mut machine, ms(2000), Welcome { tick: Tick(7), resumed: false, ..again() });
    assert_eq!(machine.room_time(ms(2000)), Some(7.0), "another view, another clock");
}

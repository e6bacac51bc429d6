use super::*;
use crate::entity::{PlayerId, SessionId};

fn hello() -> Hello {
    Hello {
        protocol: 2,
        schema_hash: 0x0102_0304_0506_0708,
        build: Some("1.0-a_b".into()),
        name: "Zoë".into(),
        auth: vec![0xa1, b'x'],
        resume: None,
    }
}

fn resume() -> Resume {
    let ids = [1, 2, 300].map(|id| EntityId::from_wire(id).expect("it is one"));
    let claim = Claim { generation: 7, incarnation: 1, complete: Tick(300), ids: ids.to_vec() };
    Resume { session: SessionId(5), token: Token([9; 16]), received: 4, claim }
}

fn client(message: &ClientMessage<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    assert_eq!(ClientMessage::decode(&out).as_ref(), Ok(message));
    out
}

fn room(message: RoomMessage<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    assert_eq!(RoomMessage::decode(&out), Ok(message));
    out
}

#[test]
fn a_hello_has_these_bytes() {
    let bytes = client(&ClientMessage::Hello(hello()));
    let mut expected = vec![0x01, 2, 8, 7, 6, 5, 4, 3, 2, 1, 7];
    expected.extend_from_slice(b"1.0-a_b\x04Zo\xc3\xab\x02\xa1x\x00");
    assert_eq!(bytes, expected);
    let bytes = client(&ClientMessage::Hello(Hello { resume: Some(resume()), ..hello() }));
    *expected.last_mut().unwrap() = 1;
    expected.push(5);
    expected.extend([9; 16]);
    expected.extend([4, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0xac, 2, 4, 1, 1, 0xaa, 2]);
    assert_eq!(bytes, expected);
}

#[test]
fn a_clients_messages_have_these_bytes() {
    assert_eq!(client(&ClientMessage::Event { gap: 300, payload: &[0xc0] }), [0x02, 0xac, 2, 0xc0]);
    assert_eq!(client(&ClientMessage::Transient(&[0xc0])), [0x03, 0xc0]);
    let through = EntityId::from_wire(300);
    let call = Call { gap: 1, name: "buy", through, deadline: Tick(9), payload: &[0xc0] };
    assert_eq!(client(&ClientMessage::Call(call)), [0x06, 1, 3, b'b', b'u', b'y', 0xac, 2, 9, 0xc0]);
    assert_eq!(client(&ClientMessage::Hidden(true)), [0x08, 1]);
    let ack = Ack { tick: Tick(300), parts: 2, events: 5 };
    assert_eq!(client(&ClientMessage::Ack(ack)), [0x0a, 0xac, 0x02, 2, 5]);
    assert_eq!(client(&ClientMessage::Ping(300)), [0x0b, 0xac, 0x02]);
    let inputs = ClientMessage::Inputs { first: Tick(300), inputs: vec![&[0x80], &[0x81, 0xa1, b'x', 1]] };
    assert_eq!(client(&inputs), [0x04, 0xac, 2, 1, 0x80, 4, 0x81, 0xa1, b'x', 1]);
    let id = EntityId::from_wire(300).expect("one");
    let entries = vec![WriteEntry { kind: 2, id, fields: &[0b101, 7, 8] }];
    assert_eq!(client(&ClientMessage::Writes { number: 9, entries }), [0x05, 9, 2, 0xac, 2, 3, 5, 7, 8]);
    assert_eq!(client(&ClientMessage::Leave), [0x0c]);
    assert_eq!(client(&ClientMessage::Status { gap: 300, text: "é" }), [0x0d, 0xac, 2, 0xc3, 0xa9]);
}

#[test]
fn a_rooms_messages_have_these_bytes() {
    let welcome = Welcome {
        protocol: 2,
        session: SessionId(5),
        epoch: 2,
        token: Token([9; 16]),
        player: PlayerId(3),
        generation: 7,
        incarnation: 1,
        tick: Tick(200),
        tick_rate: 20,
        send_every: 2,
        payload_max: 24_576,
        events_max: 4096,
        retain: 300,
        resumed: true,
        received: 6,
        sent: 8,
        build: None,
        room: "den",
    };
    let mut expected = vec![0x81, 2, 0, 3, b'd', b'e', b'n', 5, 2];
    expected.extend([9; 16]);
    expected.extend([3, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0xc8, 1, 20, 2, 0x80, 0xc0, 1, 0x80, 0x20]);
    expected.extend([0xac, 2, 1, 6, 8]);
    assert_eq!(room(RoomMessage::Welcome(welcome)), expected);
    let mut out = Vec::new();
    let greedy = Welcome { retain: limits::RETAIN as u32 + 1, ..welcome };
    RoomMessage::Welcome(greedy).encode(&mut out);
    assert_eq!(RoomMessage::decode(&out), Err(DecodeError::TooLong), "more than a client would keep");
    for bad in [&b""[..], b"..", b"a/b", b"a?b", "x".repeat(65).as_bytes()] {
        let named = [&expected[..3], &[bad.len() as u8], bad, &expected[7..]].concat();
        assert!(RoomMessage::decode(&named).is_err(), "{bad:?} is no room's name");
    }
    assert_eq!(room(RoomMessage::Update(&[1, 2])), [0x82, 1, 2]);
    assert_eq!(room(RoomMessage::Event(&[0xc0])), [0x83, 0xc0]);
    assert_eq!(room(RoomMessage::Transient(&[0xc0])), [0x84, 0xc0]);
    let accepted = RoomMessage::Result { call: 3, tick: Tick(9), outcome: Outcome::Accepted(&[0xc0]) };
    assert_eq!(room(accepted), [0x86, 3, 9, 1, 0xc0]);
    let refused = RoomMessage::Result { call: 3, tick: Tick(9), outcome: Outcome::Refused("no") };
    assert_eq!(room(refused), [0x86, 3, 9, 0, b'n', b'o']);
    assert_eq!(room(RoomMessage::Failed(300)), [0x87, 0xac, 2]);
    assert_eq!(room(RoomMessage::Ack(300)), [0x8a, 0xac, 2]);
    assert_eq!(room(RoomMessage::Stepped { tick: Tick(300), writes: 7 }), [0x88, 0xac, 2, 7]);
    let pong = |early, late, starved| {
        room(RoomMessage::Pong { clock: 300, time: 1, inputs: Report { early, late, starved } })
    };
    assert_eq!(pong(None, 0, 0), [0x8b, 0xac, 2, 1, 0, 0, 0]);
    assert_eq!(pong(Some(0), 2, 300), [0x8b, 0xac, 2, 1, 1, 2, 0xac, 2]);
    let closing = Closing { code: 4006, visible_hash: 1, hash: 2, schema: "state a\n" };
    let bytes = room(RoomMessage::Closing(closing));
    assert_eq!(bytes[..3], [0x8f, 0xa6, 0x0f]);
    assert_eq!(bytes.len(), 1 + 2 + 8 + 8 + 1 + 8);
}

#[test]
fn limits_hold_at_their_edge() {
    let edge = |name: usize, auth: usize, build: &str| {
        // Encoded by hand, because `encode` asserts the limits.
        let mut out = vec![tag::HELLO, 1];
        out.extend([0; 8]);
        put_blob(&mut out, build.as_bytes());
        put_blob(&mut out, "n".repeat(name).as_bytes());
        put_blob(&mut out, &vec![0; auth]);
        out.push(0);
        ClientMessage::decode(&out).map(|_| ())
    };
    assert_eq!(edge(limits::DISPLAY_NAME, limits::AUTH, &"b".repeat(limits::BUILD)), Ok(()));
    assert_eq!(edge(limits::DISPLAY_NAME + 1, 0, ""), Err(DecodeError::TooLong));
    assert_eq!(edge(0, limits::AUTH + 1, ""), Err(DecodeError::TooLong));
    assert_eq!(edge(0, 0, &"b".repeat(limits::BUILD + 1)), Err(DecodeError::TooLong));
    assert_eq!(edge(0, 0, "a b"), Err(DecodeError::Build));
    assert_eq!(edge(0, 0, "é"), Err(DecodeError::Build));

    let mut event = vec![0; limits::CLIENT_PAYLOAD + 2];
    event[..2].copy_from_slice(&[tag::CLIENT_EVENT, 1]);
    assert!(ClientMessage::decode(&event).is_ok());
    event.push(0);
    assert_eq!(ClientMessage::decode(&event), Err(DecodeError::TooLong));
    assert_eq!(ClientMessage::decode(&[tag::CLIENT_EVENT, 0]), Err(DecodeError::Value), "numbers grow");
    assert_eq!(ClientMessage::decode(&[tag::CALL, 1, 0, 0, 0]), Err(DecodeError::Value), "calls have names");
}

#[test]
fn a_claim_is_as_long_as_it_may_be_and_in_order() {
    let ids: Vec<EntityId> = (1..=limits::CLAIM as u64 + 9).filter_map(EntityId::from_wire).collect();
    assert_eq!(claim_fits(ids.iter().copied()), limits::CLAIM);
    let claim = Claim { ids: ids[..limits::CLAIM].to_vec(), ..Claim::default() };
    let hello = Hello { resume: Some(Resume { claim, ..resume() }), ..hello() };
    let bytes = client(&ClientMessage::Hello(hello));
    assert!(bytes.len() + limits::AUTH + limits::DISPLAY_NAME <= limits::CLIENT_MESSAGE);
    let claimed = |ids: &[u8]| {
        let mut bytes = client(&ClientMessage::Hello(Hello { resume: Some(resume()), ..self::hello() }));
        bytes.truncate(bytes.len() - 5);
        put_blob(&mut bytes, ids);
        ClientMessage::decode(&bytes).map(|_| ())
    };
    assert_eq!(claimed(&[5, 1]), Ok(()));
    assert_eq!(claimed(&[5, 0]), Err(DecodeError::Value), "the same again");
    assert_eq!(claimed(&[0]), Err(DecodeError::Value), "no entity");
    assert_eq!(
        claimed(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        Err(DecodeError::Value)
    );
}

#[test]
fn what_is_cut_or_continued_is_no_message() {
    let mut bytes = client(&ClientMessage::Hello(Hello { resume: Some(resume()), ..hello() }));
    for n in 0..bytes.len() {
        assert!(ClientMessage::decode(&bytes[..n]).is_err(), "{n}");
    }
    bytes.push(0);
    assert_eq!(ClientMessage::decode(&bytes), Err(DecodeError::Trailing));
    assert_eq!(ClientMessage::decode(&[tag::LEAVE, 0]), Err(DecodeError::Trailing));
    assert_eq!(ClientMessage::decode(&[tag::WELCOME]), Err(DecodeError::Tag(tag::WELCOME)));
    assert_eq!(RoomMessage::decode(&[tag::HELLO]), Err(DecodeError::Tag(tag::HELLO)));
    assert_eq!(ClientMessage::decode(&[]), Err(DecodeError::Truncated));
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?}", Hello { resume: Some(resume()), ..hello() });
    assert!(!shown.contains("9, 9") && !shown.contains("161"), "{shown}");
}

#[test]
fn the_protocol_is_read_whatever_follows() {
    assert_eq!(hello_protocol(&client(&ClientMessage::Hello(hello()))), Ok(Some(2)));
    assert_eq!(hello_protocol(&[tag::HELLO, 0xac, 0x02, 0xff, 0xff]), Ok(Some(300)));
    assert_eq!(hello_protocol(&[tag::HELLO]), Ok(None));
    assert_eq!(hello_protocol(&[tag::HELLO, 0x80]), Err(DecodeError::Truncated));
    assert_eq!(hello_protocol(&[tag::LEAVE]), Err(DecodeError::Order));
    assert_eq!(hello_protocol(&[tag::ACK]), Err(DecodeError::Truncated));
    assert_eq!(hello_protocol(&[0x7f]), Err(DecodeError::Tag(0x7f)));
    assert_eq!(hello_protocol(&[]), Err(DecodeError::Truncated));
    assert_eq!(welcome_protocol(&[tag::WELCOME, 9, 0xff]), Ok(Some(9)));
    assert_eq!(welcome_protocol(&[tag::UPDATE]), Err(DecodeError::Order));
}

#[test]
fn room_names_are_short_and_safe_in_a_url() {
    for name in ["a", "forest-2", "A.b_c~d", "...", &"x".repeat(64)] {
        assert!(is_room_name(name), "{name}");
    }
    for name in ["", ".", "..", "a b", "a/b", "ä", "%41", &"x".repeat(65)] {
        assert!(!is_room_name(name), "{name}");
    }
}

#[test]
fn a_message_has_a_few_inputs_and_writes_and_never_none() {
    let inputs = |count: usize, len: usize| {
        let mut one = Vec::new();
        put_blob(&mut one, &vec![0; len]);
        ClientMessage::decode(&[&[tag::INPUT, 5][..], &one.repeat(count)].concat()).map(|_| ())
    };
    assert_eq!(inputs(1, 1).and(inputs(limits::INPUTS, 1)).and(inputs(1, limits::INPUT)), Ok(()));
    assert_eq!(inputs(0, 1), Err(DecodeError::Truncated));
    assert_eq!(inputs(limits::INPUTS + 1, 1), Err(DecodeError::TooLong));
    assert_eq!(inputs(1, limits::INPUT + 1), Err(DecodeError::TooLong));
    let writes = |count: usize| {
        let one = |n: usize| [n as u8 / 32, 9 + n as u8 % 32, 1, 0];
        let all: Vec<u8> = (0..count).flat_map(one).collect();
        ClientMessage::decode(&[&[tag::WRITE, 5][..], &all].concat()).map(|_| ())
    };
    assert_eq!(writes(1).and(writes(limits::WRITES)), Ok(()));
    assert_eq!(writes(0), Err(DecodeError::Truncated));
    assert_eq!(writes(limits::WRITES + 1), Err(DecodeError::TooLong));
    for (entries, again) in
        [([1, 9, 0, 1, 9, 0], "the same"), ([1, 9, 0, 1, 8, 0], "IDs"), ([1, 9, 0, 0, 9, 0], "kinds")]
    {
        let decoded = ClientMessage::decode(&[&[tag::WRITE, 5][..], &entries].concat()).map(|_| ());
        assert_eq!(decoded, Err(DecodeError::Order), "{again}");
    }
    let stepped = |tick: u64| {
        let mut bytes = vec![tag::STEPPED];
        varint::put(&mut bytes, tick);
        RoomMessage::decode(&[&bytes[..], &[0]].concat()).map(|_| ())
    };
    assert_eq!((stepped(limits::ID_MOST), stepped(limits::ID_MOST + 1)), (Ok(()), Err(DecodeError::Value)));
    assert_eq!(writes_number(&[tag::WRITE, 0xac, 2, 0, 0]), Some(300));
    assert_eq!((writes_number(&[tag::WRITE]), writes_number(&[tag::PING, 1])), (None, None));
}

//! Bytes from outside: every prefix and 100,000 mutations of valid messages go through every decoder, none of
//! which panics or allocates more than the library promises.
//!
//! `DECODE_SEED=7 cargo test -p room --test decode` runs other mutations.

#[path = "decode/counting.rs"]
mod counting;
#[path = "decode/mutate.rs"]
mod mutate;

use std::cell::RefCell;
use std::collections::BTreeMap;

use room::migrate::{StoredField, StoredKind, StoredSchema, StoredType};
use room::schema::Role;
use room::wire::deflate::{self, Compressor, Inflater};
use room::wire::message::{
    self, Ack, Call, Claim, ClientMessage, Closing, Hello, Outcome, Report, Resume, RoomMessage, Token,
    Welcome, WriteEntry,
};
use room::wire::{DecodeError, Reader, payload, schema_text};
use room::{EntityId, PlayerId, SessionId, Tick, limits};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const MUTATIONS: usize = 100_000;
const SCHEMA: &str =
    "state match\n  round u32\nentity avatar owner=owner\n  owner player\n  x f32\n  hp u8\n";

/// Reads bytes as one thing or another; that they are something else is its everyday.
struct Decoder {
    name: &'static str,
    decode: fn(&[u8]),
}

const DECODERS: &[Decoder] = &[
    Decoder { name: "client message", decode: |bytes| ignore(ClientMessage::decode(bytes)) },
    Decoder { name: "room message", decode: |bytes| ignore(RoomMessage::decode(bytes)) },
    Decoder { name: "hello's protocol", decode: |bytes| ignore(message::hello_protocol(bytes)) },
    Decoder { name: "welcome's protocol", decode: |bytes| ignore(message::welcome_protocol(bytes)) },
    Decoder { name: "payload of any type", decode: |bytes| payload_of::<IgnoredAny>(bytes) },
    Decoder { name: "payload of moves", decode: |bytes| payload_of::<Vec<Move>>(bytes) },
    Decoder { name: "payload of text", decode: |bytes| payload_of::<Vec<String>>(bytes) },
    Decoder { name: "compressed section", decode: |bytes| ignore(inflate(bytes)) },
    Decoder { name: "schema text", decode: differences },
    Decoder { name: "stored schema", decode: |bytes| ignore(StoredSchema::decode(bytes)) },
];

/// Valid messages of both directions, and the ones that were made to hurt.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![declares_a_million(), ten_thousand_empty_strings(), compressed(), stored_schema()];
    let mut moves = Vec::new();
    payload::encode(&some_moves(), limits::CLIENT_PAYLOAD, &mut moves).unwrap();
    let hello = Hello {
        protocol: 1,
        schema_hash: 7,
        build: Some("1.0-rc_1".into()),
        name: "Zoë".into(),
        auth: moves.clone(),
        resume: Some(Resume {
            session: SessionId(5),
            token: Token([9; 16]),
            received: 300,
            claim: Claim { ids: (1..99).filter_map(EntityId::from_wire).collect(), ..Claim::default() },
        }),
    };
    for message in [
        ClientMessage::Hello(hello),
        ClientMessage::Hello(Hello::default()),
        ClientMessage::Event { gap: 1, payload: &moves },
        ClientMessage::Transient(&moves),
        ClientMessage::Call(Call { gap: 2, name: "buy", through: None, deadline: Tick(9), payload: &moves }),
        ClientMessage::Hidden(true),
        ClientMessage::Ack(Ack { tick: Tick(u64::MAX), parts: 3, events: 70_000 }),
        ClientMessage::Ping(u64::MAX),
        ClientMessage::Leave,
        ClientMessage::Status { gap: 3, text: "away" },
        ClientMessage::Inputs { first: Tick(300), inputs: vec![&[0x80], &[0x81, 0xa1, b'x', 1]] },
        ClientMessage::Writes {
            number: 300,
            entries: vec![WriteEntry { kind: 2, id: EntityId::STATE, fields: &[1, 2, 3] }; 3],
        },
    ] {
        seeds.push(Vec::new());
        message.encode(seeds.last_mut().unwrap());
    }
    let welcome = Welcome {
        protocol: 1,
        build: Some("1.0"),
        room: "forest",
        player: PlayerId(3),
        tick: Tick(1 << 40),
        tick_rate: 20,
        send_every: 1,
        payload_max: 24_576,
        ..Welcome::default()
    };
    for message in [
        RoomMessage::Welcome(welcome),
        RoomMessage::Update(&[1, 2, 3]),
        RoomMessage::Event(&moves),
        RoomMessage::Transient(&moves),
        RoomMessage::Result { call: 3, tick: Tick(9), outcome: Outcome::Accepted(&moves) },
        RoomMessage::Result { call: 3, tick: Tick(9), outcome: Outcome::Refused("sold out") },
        RoomMessage::Failed(300),
        RoomMessage::Ack(300),
        RoomMessage::Stepped { tick: Tick(300), writes: 1 << 40 },
        RoomMessage::Pong {
            clock: 1 << 50,
            time: 1 << 40,
            inputs: Report { early: Some(3), late: 1, starved: 2 },
        },
        RoomMessage::Closing(Closing { code: 4006, visible_hash: 1, hash: 2, schema: SCHEMA }),
    ] {
        seeds.push(Vec::new());
        message.encode(seeds.last_mut().unwrap());
    }
    seeds
}

#[test]
fn every_prefix_of_a_message_decodes_or_is_refused() {
    for seed in seeds() {
        for n in 0..=seed.len() {
            feed(&seed[..n]);
        }
    }
}

#[test]
fn damaged_messages_decode_or_are_refused() {
    let seed =
        std::env::var("DECODE_SEED").ok().map_or(1, |seed| seed.parse().expect("DECODE_SEED is a number"));
    println!("DECODE_SEED={seed}");
    let mut rng = mutate::Rng(seed);
    let seeds = seeds();
    let mut damaged = Vec::new();
    for i in 0..MUTATIONS {
        let other = rng.below(seeds.len());
        mutate::mutate(&mut rng, &seeds[i % seeds.len()], &seeds[other], &mut damaged);
        feed(&damaged);
    }
}

#[test]
fn messages_made_to_hurt_are_refused_almost_unread() {
    for message in [declares_a_million(), ten_thousand_empty_strings()] {
        let ClientMessage::Event { payload: event, .. } = ClientMessage::decode(&message).unwrap() else {
            panic!("an event")
        };
        let asked = counting::allocated(|| {
            assert!(matches!(
                payload::decode::<Vec<String>>(event),
                Err(DecodeError::Truncated | DecodeError::TooLong)
            ));
        });
        assert_eq!(asked, 0);
    }
    assert_eq!(declares_a_million().len(), 2 + 11);
}

/// Puts bytes through every decoder.
fn feed(bytes: &[u8]) {
    let most = limits::decode_allocation(bytes.len());
    for decoder in DECODERS {
        let culprit = Culprit { decoder: decoder.name, bytes };
        let asked = counting::allocated(|| (decoder.decode)(bytes));
        assert!(asked <= most, "{asked} bytes allocated for {}; the most is {most}", bytes.len());
        drop(culprit);
    }
}

/// Says what was being decoded when a test fails.
struct Culprit<'a> {
    decoder: &'static str,
    bytes: &'a [u8],
}

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("as {}: {:02x?}", self.decoder, self.bytes);
        }
    }
}

fn ignore<T>(result: Result<T, DecodeError>) {
    drop(result);
}

/// The payload of an event, past its tag.
fn payload_of<T: serde::de::DeserializeOwned>(bytes: &[u8]) {
    ignore(payload::decode::<T>(bytes.get(1..).unwrap_or_default()));
}

/// A length in two bytes, and a stream.
fn inflate(bytes: &[u8]) -> Result<(), DecodeError> {
    thread_local! {
        // A connection has its inflater before anything comes.
        static INFLATER: RefCell<Inflater> = RefCell::default();
    }
    let mut r = Reader::new(bytes);
    let plain_len = u16::from_le_bytes(r.array()?).into();
    INFLATER.with_borrow_mut(|inflater| inflater.inflate(r.rest(), plain_len, &mut Vec::new()))
}

/// What a client makes of a room's `closing`, or of these bytes as its text.
fn differences(bytes: &[u8]) {
    let text = match RoomMessage::decode(bytes) {
        Ok(RoomMessage::Closing(closing)) => closing.schema,
        _ => std::str::from_utf8(bytes).unwrap_or_default(),
    };
    for line in schema_text::difference(text, SCHEMA) {
        assert!(line.chars().count() <= schema_text::LINE);
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Move {
    Pass,
    Play { card: u8, to: Option<String>, at: [f32; 3] },
    Say(String),
    Many(BTreeMap<String, Vec<u32>>),
}

fn some_moves() -> Vec<Move> {
    vec![
        Move::Pass,
        Move::Play { card: 7, to: Some("ada".into()), at: [1.0, -2.5, f32::NAN] },
        Move::Say("a text longer than thirty-two bytes, so that its head is two".into()),
        Move::Many(BTreeMap::from([("a".into(), vec![1, 300, 70_000]), ("b".into(), vec![])])),
    ]
}

/// The description of a schema as a room stores it.
fn stored_schema() -> Vec<u8> {
    let number = StoredType::Quantized { float: 4, step: 0.5, min: -1.0, max: 1.0 };
    let types = [
        StoredType::Option(Box::new(StoredType::Array(Box::new(number), 3))),
        StoredType::Enum(vec![("North".into(), 0), ("South".into(), 7)]),
        StoredType::Unsigned(8),
        StoredType::Json,
    ];
    let fields = types.into_iter().map(|ty| StoredField { name: "x".into(), ty }).collect();
    let kind = StoredKind { name: "avatar".into(), role: Role::Entity, ephemeral: false, fields };
    let mut bytes = Vec::new();
    StoredSchema { kinds: vec![kind] }.encode(&mut bytes);
    bytes
}

/// An event of 11 bytes of MessagePack, five of them "a list of a million".
fn declares_a_million() -> Vec<u8> {
    vec![0x02, 1, 0xdd, 0x00, 0x0f, 0x42, 0x40, 0xa0, 0xa0, 0xa0, 0xa0, 0xa0, 0xa0]
}

fn ten_thousand_empty_strings() -> Vec<u8> {
    let mut event = vec![0x02, 1, 0xdc];
    event.extend_from_slice(&10_000u16.to_be_bytes());
    event.resize(5 + 10_000, 0xa0);
    event
}

fn compressed() -> Vec<u8> {
    let plain: Vec<u8> = (0..3000u32).map(|i| (i / 70) as u8).collect();
    let mut bytes = (plain.len() as u16 + 2).to_le_bytes().to_vec();
    let mut compressor = Compressor::new();
    compressor.piece(6, &plain[..2000], &mut bytes);
    deflate::stored(&[1, 2], &mut bytes);
    compressor.piece(6, &plain[2000..], &mut bytes);
    deflate::finish(&mut bytes);
    assert_eq!(inflate(&bytes), Ok(()));
    bytes
}

//! The vectors of the book's wire chapter, both ways: a room sends exactly these bytes, and a client that reads
//! them holds exactly these values.

#[path = "golden/chapter.rs"]
mod chapter;
#[path = "golden/game.rs"]
mod game;
#[path = "golden/leaves.rs"]
mod leaves;
#[path = "golden/play.rs"]
mod play;
#[path = "golden/presence.rs"]
mod presence;
#[path = "golden/retained.rs"]
mod retained;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use room::SessionId;
use room::prelude::*;
use room::runtime::{Closed, Identity, Join, Outgoing, Runtime, Settings};
use room::session::{self, Claim, Hello, Resume, Token};
use room::wire::message::{Ack, Call, ClientMessage, Closing, Outcome, RoomMessage, Welcome};
use room::wire::update::{PERIODS, Part, UpdateHead};
use room::wire::{PROTOCOL_VERSION, payload};
use room_client::{Applied, Replica};

use chapter::show;
use game::{Forms, Golden, Hit, Match, Mood, Point, UNIT, Unit, forms, move_points};

/// A player's first connection, and the one over which she comes back.
const CONNS: [ConnectionId; 2] = [ConnectionId(1), ConnectionId(2)];

/// The tokens of their welcomes.
const TOKENS: [Token; 2] = [Token([0x11; 16]), Token([0x22; 16])];

/// What a seed of sevens makes.
const GENERATION: u64 = 0x4bb0_6f8e_4e3a_7715;

fn hello() -> Hello {
    let mut auth = Vec::new();
    payload::encode("swordfish", 100, &mut auth).unwrap();
    Hello {
        protocol: PROTOCOL_VERSION,
        schema_hash: Golden::schema().hash(),
        build: Some("1.0".into()),
        name: "Ada".into(),
        auth,
        resume: None,
    }
}

/// The hello of a client that applied everything up to `update-empty` and took the result of its call.
fn hello_resume() -> Hello {
    let ids = [1, 12, 14].map(|id| EntityId::from_wire(id).expect("an ID"));
    let claim = Claim { generation: GENERATION, incarnation: 1, complete: Tick(6), ids: ids.to_vec() };
    let resume = Resume { session: SessionId(1), token: TOKENS[0], received: 1, claim };
    Hello { resume: Some(resume), ..hello() }
}

fn hit(by: u32) -> Vec<u8> {
    let mut out = Vec::new();
    payload::encode(&Hit { by }, 100, &mut out).unwrap();
    out
}

fn encoded(message: &ClientMessage<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    assert_eq!(ClientMessage::decode(&out).as_ref(), Ok(message));
    out
}

fn call(payload: &[u8]) -> ClientMessage<'_> {
    let through = EntityId::from_wire(UNIT);
    ClientMessage::Call(Call { gap: 1, name: "heal", through, deadline: Tick(9), payload })
}

/// A room with one client in it.
struct Session {
    runtime: Runtime<Golden>,
    now: Duration,
}

impl Session {
    fn new(game: Golden, view_hash: bool) -> Session {
        let settings = Settings { view_hash, build: "1.1".into(), ..Settings::default() };
        let runtime = Runtime::new(game, settings, [7; 32]).unwrap();
        let mut session = Session { runtime, now: Duration::ZERO };
        session.open(0, hello());
        session
    }

    fn open(&mut self, at: usize, hello: Hello) {
        let bytes = encoded(&ClientMessage::Hello(hello));
        let hello = session::admit(&bytes, &Golden::schema()).unwrap();
        let join = Join { hello, identity: Identity::guest(), token: TOKENS[at] };
        self.runtime.handle_open(CONNS[at], self.now, join);
    }

    /// The first connection's client says something.
    fn say(&mut self, message: &ClientMessage<'_>) {
        self.runtime.handle_message(CONNS[0], self.now, &encoded(message));
    }

    fn play(&mut self, change: impl FnOnce(&mut Room<Golden>)) -> Vec<Vec<u8>> {
        change(self.runtime.parts_mut().1);
        self.now += Duration::from_millis(50);
        self.runtime.tick(self.now);
        self.sent()
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        while let Some(transmit) = self.runtime.poll_transmit() {
            match transmit.outgoing {
                Outgoing::Message(bytes) => sent.push(bytes.to_vec()),
                other => panic!("{other:?}"),
            }
        }
        sent
    }
}

fn units(room: &mut Room<Golden>) -> <Unit as Entity>::Writer<'_> {
    let id = room.all::<Unit>().next().unwrap().0;
    room.get_mut(id).unwrap()
}

/// Every message of the chapter that a room sends, by its name.
fn sent_by_a_room() -> BTreeMap<&'static str, Vec<u8>> {
    let mut session = Session::new(Golden::default(), false);
    let mut named = BTreeMap::new();
    let mut keep = |names: &[&'static str], sent: Vec<Vec<u8>>| {
        assert_eq!(names.len(), sent.len(), "{names:?}");
        named.extend(names.iter().copied().zip(sent));
    };
    keep(&["welcome", "update-enters"], session.play(|_| ()));
    session.say(&ClientMessage::Event { gap: 1, payload: &hit(300) });
    session.say(&call(&hit(5)));
    let sent = session.play(|room| {
        let mut unit = units(room);
        unit.set_alive(false);
        unit.set_speed(2.0);
        unit.set_mood(Mood::Angry);
        unit.set_name("Zo".into()).unwrap();
        unit.update_cards(|cards| cards.clear()).unwrap();
        room.broadcast(&Hit { by: 3 }).unwrap();
        room.broadcast_transient(&Hit { by: 4 }).unwrap();
    });
    keep(&["update-whole", "result", "room-event", "room-transient", "room-ack"], sent);
    let sent = session.play(|room| {
        let mut unit = units(room);
        unit.set_gold(501);
        unit.set_seed(1);
        unit.set_depth(69_900);
        unit.set_debt(i64::MAX);
        unit.set_time(0.0);
        unit.set_cell([1, -2, 300]);
        unit.set_target(Some(10));
        move_points(room, 0.5, -0.01);
    });
    keep(&["update-differences"], sent);
    let sent = session.play(|room| {
        room.state_mut::<Match>().set_round(2);
        let mut unit = units(room);
        unit.set_target(None);
        unit.patch_blocks(1, &[0x22, 0x33]).unwrap();
        unit.patch_blocks(9, &[0xaa]).unwrap();
    });
    keep(&["update-ranges"], sent);
    let sent = session.play(|room| {
        let doomed: Vec<EntityId> = room.all::<Point>().take(1).map(|(id, _)| id.entity()).collect();
        let unit = room.all::<Unit>().next().unwrap().0;
        doomed.into_iter().chain([unit.entity()]).for_each(|id| assert!(room.delete(id)));
        room.create_with_id(14, Point { x: 0.0, y: 0.0 }).unwrap();
    });
    keep(&["update-leaves"], sent);
    keep(&["update-empty"], session.play(|_| ()));
    keep(&[], session.play(|_| ()));
    session.now += Duration::from_millis(25);
    session.say(&ClientMessage::Ping(300));
    keep(&["pong"], session.sent());
    session.say(&ClientMessage::Ack(Ack { tick: Tick(6), parts: 0, events: 1 }));
    let mut sent = comes_back(&mut session);
    let again = sent.split_off(2);
    keep(&["welcome-resumed", "update-resumed"], sent);
    // It took the result, so what follows it comes again.
    assert_eq!(again, ["room-event", "room-ack"].map(|name| named[name].clone()));
    let mut flying = Session::new(Golden::default(), false);
    flying.play(|_| ());
    let sent = flying.play(|room| move_points(room, 2.0, -2.0));
    named.extend(std::iter::once("update-packed").zip(sent));
    let hashed = Session::new(Golden { empty: true, ..Golden::default() }, true).play(|_| ()).pop().unwrap();
    named.insert("update-hashed", hashed);
    named
}

/// The client drops, the world changes, and it comes back.
fn comes_back(session: &mut Session) -> Vec<Vec<u8>> {
    session.runtime.handle_close(CONNS[0], session.now, Closed::Broken);
    let sent = session.play(|room| {
        room.state_mut::<Match>().set_round(3);
        let gone = room.all::<Point>().next().unwrap().0;
        assert!(room.delete(gone));
    });
    assert!(sent.is_empty());
    session.open(1, hello_resume());
    session.play(|_| ())
}

/// Messages of the chapter that are put together from values.
fn made_of_values() -> BTreeMap<&'static str, Vec<u8>> {
    let (one, another) = (hit(300), hit(5));
    let mut all = Vec::new();
    payload::encode(&forms(), 100, &mut all).unwrap();
    let client = [
        ("hello", ClientMessage::Hello(hello())),
        ("hello-resume", ClientMessage::Hello(hello_resume())),
        ("client-event", ClientMessage::Event { gap: 1, payload: &one }),
        ("client-event-forms", ClientMessage::Event { gap: 1, payload: &all }),
        ("client-transient", ClientMessage::Transient(&one)),
        ("call", call(&another)),
        ("input", play::inputs()),
        ("write", play::writes()),
        ("hidden", ClientMessage::Hidden(true)),
        ("ack", ClientMessage::Ack(Ack { tick: Tick(300), parts: 2, events: 5 })),
        ("ping", ClientMessage::Ping(300)),
        ("leave", ClientMessage::Leave),
    ];
    let mut named: BTreeMap<_, _> = client.iter().map(|(name, message)| (*name, encoded(message))).collect();
    let closing = Closing {
        code: session::code::VERSION,
        visible_hash: 0x0807_0605_0403_0201,
        hash: 0x1817_1615_1413_1211,
        schema: "entity point\n  x u8\n",
    };
    let room = [
        ("closing", RoomMessage::Closing(closing)),
        ("result-refused", REFUSED),
        ("stepped", play::STEPPED),
        ("pong-inputs", play::PACED),
        ("failed", RoomMessage::Failed(300)),
    ];
    named.extend(room.map(|(name, message)| {
        let mut out = Vec::new();
        message.encode(&mut out);
        (name, out)
    }));
    named.extend(leaves::in_other_forms());
    named.insert("update-periods", periods());
    named
}

/// A call that came too late.
const REFUSED: RoomMessage<'_> =
    RoomMessage::Result { call: 3, tick: Tick(10), outcome: Outcome::Refused("late") };

/// In place of `update-empty`, where points had rates.
fn periods() -> Vec<u8> {
    let head = Some(UpdateHead { tick: Tick(6), complete: Tick(5), hash: None });
    let mut out = Vec::new();
    Part { head, last: true, deflated: None, plain: &[PERIODS, 4, 12, 2, 0] }.encode(&mut out);
    out
}

#[test]
fn the_library_writes_the_chapters_bytes() {
    let mut written = sent_by_a_room();
    written.append(&mut made_of_values());
    written.append(&mut retained::sent_by_a_room());
    written.append(&mut presence::vectors());
    let vectors = chapter::vectors();
    let wrong: Vec<_> = written
        .iter()
        .filter(|(name, bytes)| vectors.get(*name) != Some(*bytes))
        .map(|(name, bytes)| format!("{name}: {}", show(bytes)))
        .collect();
    assert!(wrong.is_empty(), "the chapter differs from what is written:\n{}", wrong.join("\n"));
    let [known, written] =
        [vectors.keys(), written.keys()].map(|names| names.copied().collect::<BTreeSet<_>>());
    assert_eq!(known, written, "every vector is tested");
}

#[test]
fn the_chapters_schema_is_the_librarys() {
    let schema = Golden::schema();
    assert_eq!(chapter::text("schema"), schema.text(false));
    let hashes = format!("all      {:016x}\nvisible  {:016x}\n", schema.hash(), schema.visible_hash());
    assert_eq!(chapter::text("schema-hashes"), hashes);
}

#[test]
fn a_clients_messages_read_as_the_chapter_says() {
    let vectors = chapter::vectors();
    let client = |name| ClientMessage::decode(&vectors[name]).unwrap();
    assert_eq!(client("hello"), ClientMessage::Hello(hello()));
    assert_eq!(client("hello-resume"), ClientMessage::Hello(hello_resume()));
    assert_eq!(client("client-event"), ClientMessage::Event { gap: 1, payload: &hit(300) });
    assert_eq!(client("client-transient"), ClientMessage::Transient(&hit(300)));
    assert_eq!(client("call"), call(&hit(5)));
    assert_eq!(client("hidden"), ClientMessage::Hidden(true));
    assert_eq!(client("ack"), ClientMessage::Ack(Ack { tick: Tick(300), parts: 2, events: 5 }));
    assert_eq!(client("ping"), ClientMessage::Ping(300));
    assert_eq!(client("leave"), ClientMessage::Leave);
}

#[test]
fn a_payload_reads_as_rusts_types() {
    let vectors = chapter::vectors();
    let message = ClientMessage::decode(&vectors["client-event-forms"]);
    let Ok(ClientMessage::Event { gap: 1, payload }) = message else { panic!("{message:?}") };
    assert_eq!(payload::decode::<Forms>(payload), Ok(forms()));
}

#[test]
fn a_rooms_messages_read_as_the_chapter_says() {
    let vectors = chapter::vectors();
    let room = |name| RoomMessage::decode(&vectors[name]).unwrap();
    let welcome = Welcome {
        protocol: 5,
        build: Some("1.1"),
        room: "room",
        session: SessionId(1),
        epoch: 1,
        token: TOKENS[0],
        player: PlayerId(1),
        generation: GENERATION,
        incarnation: 1,
        tick: Tick(1),
        tick_rate: 20,
        send_every: 1,
        payload_max: 24_576,
        events_max: 4096,
        retain: 0,
        resumed: false,
        received: 0,
        sent: 0,
    };
    assert_eq!(room("welcome"), RoomMessage::Welcome(welcome));
    let again =
        Welcome { epoch: 2, token: TOKENS[1], tick: Tick(9), resumed: true, received: 2, sent: 1, ..welcome };
    assert_eq!(room("welcome-resumed"), RoomMessage::Welcome(again));
    assert_eq!(room("room-event"), RoomMessage::Event(&hit(3)));
    assert_eq!(room("room-transient"), RoomMessage::Transient(&hit(4)));
    let accepted = Outcome::Accepted(&[7]);
    assert_eq!(room("result"), RoomMessage::Result { call: 2, tick: Tick(2), outcome: accepted });
    assert_eq!(room("result-refused"), REFUSED);
    assert_eq!(room("failed"), RoomMessage::Failed(300));
    assert_eq!(room("room-ack"), RoomMessage::Ack(2));
    let RoomMessage::Closing(closing) = room("closing") else { panic!("no closing") };
    assert_eq!((closing.code, closing.schema), (4006, "entity point\n  x u8\n"));
    assert_eq!((closing.visible_hash, closing.hash), (0x0807_0605_0403_0201, 0x1817_1615_1413_1211));
}

/// A client that applied these vectors.
fn read(names: &[&str]) -> Replica {
    let mut replica = Replica::new(&Golden::schema());
    for name in names {
        replica.forget_report();
        apply(&mut replica, name);
    }
    replica
}

fn apply(replica: &mut Replica, name: &str) -> Option<Applied> {
    let vectors = chapter::vectors();
    let RoomMessage::Update(part) = RoomMessage::decode(&vectors[name]).unwrap() else { panic!("{name}") };
    replica.handle_part(part).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn unit(replica: &Replica) -> &Unit {
    replica.all::<Unit>().next().unwrap().1
}

const STORY: [&str; 4] = ["update-enters", "update-whole", "update-differences", "update-ranges"];

#[test]
fn an_enter_reads_as_every_field() {
    let replica = read(&STORY[..1]);
    assert_eq!(replica.len(), 4, "no deck is among them");
    assert_eq!(replica.state::<Match>().unwrap().round, 0);
    let unit = unit(&replica);
    assert_eq!((unit.owner, unit.alive, unit.level, unit.gold), (PlayerId(1), true, 7, 500));
    assert_eq!((unit.score, unit.seed, unit.bonus, unit.heat), (70_000, u64::MAX, -1, -300));
    assert_eq!((unit.depth, unit.debt, unit.speed, unit.time), (70_000, i64::MIN, 1.5, -0.25));
    assert_eq!((unit.aim, unit.cell, unit.target, unit.mood), (45.0, [1, -1, 256], Some(9), Mood::Calm));
    assert_eq!((unit.name.as_str(), &*unit.blocks), ("Zoë", &[1, 2, 3, 4, 5, 6, 7, 8][..]));
    assert_eq!(unit.cards.text(), r#"{"a":1,"b":2}"#);
    let points: Vec<_> = replica.all::<Point>().map(|(id, point)| (id.get(), point.x, point.y)).collect();
    assert_eq!(points, [(10, -1000.0, 0.0), (12, 12.34, 1000.0)]);
}

#[test]
fn packed_changes_read_as_differences() {
    let replica = read(&["update-enters", "update-packed"]);
    let points: Vec<_> = replica.all::<Point>().map(|(id, point)| (id.get(), point.x, point.y)).collect();
    assert_eq!(points, [(10, -998.0, -2.0), (12, 14.34, 998.0)]);
}

#[test]
fn changes_read_as_whole_values_differences_and_ranges() {
    let replica = read(&STORY[..2]);
    let whole = unit(&replica);
    assert_eq!((whole.alive, whole.speed, whole.mood), (false, 2.0, Mood::Angry));
    assert_eq!((whole.name.as_str(), whole.cards.text(), whole.gold), ("Zo", "{}", 500));

    let replica = read(&STORY[..3]);
    let moved = unit(&replica);
    assert_eq!((moved.gold, moved.seed, moved.depth, moved.debt), (501, 1, 69_900, i64::MAX));
    assert_eq!((moved.time, moved.cell, moved.target), (0.0, [1, -2, 300], Some(10)));
    let points: Vec<_> = replica.all::<Point>().map(|(_, point)| (point.x, point.y)).collect();
    assert_eq!(points, [(-999.5, -0.01), (12.84, 999.99)]);
    let fields: Vec<_> = replica.changed::<Point>().map(|change| change.fields.len()).collect();
    assert_eq!(fields, [2, 2]);

    let replica = read(&STORY);
    assert_eq!(&*unit(&replica).blocks, &[1, 0x22, 0x33, 4, 5, 6, 7, 8, 0, 0xaa]);
    assert_eq!((unit(&replica).target, replica.state::<Match>().unwrap().round), (None, 2));
}

#[test]
fn leaves_read_the_same_in_every_form() {
    for last in [&["update-leaves"][..], &["update-compressed"], &["update-first-part", "update-last-part"]] {
        let replica = read(&[&STORY, last].concat());
        let points: Vec<_> = replica.all::<Point>().map(|(id, _)| id.get()).collect();
        assert_eq!(points, [12, 14], "{last:?}");
        assert_eq!(replica.all::<Unit>().count(), 0);
        assert_eq!(replica.tick(), Tick(5));
    }
    let replica = read(&[&STORY[..], &["update-leaves"]].concat());
    assert_eq!(replica.left::<Unit>().map(Id::get).collect::<Vec<_>>(), [UNIT]);
    let rest = read(&[&STORY[..], &["update-leaves", "update-empty"]].concat());
    assert_eq!((rest.tick(), rest.complete(), rest.len()), (Tick(6), Tick(6), 3));
}

#[test]
fn periods_hold_until_an_entity_leaves_or_the_client_comes_back() {
    let mut replica = read(&[&STORY[..], &["update-leaves", "update-periods"]].concat());
    let periods = |replica: &Replica| [12, 14].map(|id| replica.period(EntityId::from_wire(id).unwrap()));
    assert_eq!((replica.tick(), replica.complete(), periods(&replica)), (Tick(6), Tick(5), [4, 4]));
    replica.claim();
    replica.rebase();
    assert_eq!(periods(&replica), [1, 1]);
    let part = |plain| {
        let mut out = Vec::new();
        let head = Some(UpdateHead { tick: Tick(9), complete: Tick(9), hash: None });
        Part { head, last: true, deflated: None, plain }.encode(&mut out);
        out
    };
    for wrong in
        [&[PERIODS, 4, 13, 0][..], &[PERIODS, 0, 12, 0], &[PERIODS, 0x81, 1, 12, 0], &[PERIODS, 4, 12]]
    {
        let mut replica = read(&[&STORY[..], &["update-leaves"]].concat());
        assert!(replica.handle_part(&part(wrong)[1..]).is_err(), "{wrong:02x?}");
    }
}

#[test]
fn a_client_that_comes_back_keeps_what_it_claims() {
    let mut replica = read(&[&STORY[..], &["update-leaves", "update-empty"]].concat());
    let claim = hello_resume().resume.unwrap().claim;
    assert_eq!(replica.claim(), (claim.complete, claim.ids));
    replica.rebase();
    replica.forget_report();
    let applied = apply(&mut replica, "update-resumed").expect("it is whole");
    assert_eq!((applied.tick, applied.complete, applied.restored), (Tick(9), Tick(9), Some(2)));
    assert_eq!(replica.state::<Match>().unwrap().round, 3);
    assert_eq!(replica.left::<Point>().map(Id::get).collect::<Vec<_>>(), [12]);
    let points: Vec<_> = replica.all::<Point>().map(|(id, _)| id.get()).collect();
    assert_eq!((points, replica.entered::<Point>().count()), (vec![14], 0));
}

#[test]
fn a_hash_is_that_of_what_is_held() {
    let replica = read(&["update-hashed"]);
    assert_eq!(replica.len(), 1);
    let bytes = &chapter::vectors()["update-hashed"];
    assert_eq!(bytes[4..12], replica.hash().to_le_bytes());
}

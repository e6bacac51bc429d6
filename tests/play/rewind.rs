//! The room as a player drew it.

use room::prelude::*;
use room::runtime::Settings;
use room_client::testing::TestRoom;

/// What moves a meter a tick.
#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(history = "500ms")]
struct Ball {
    x: f32,
    bounces: u32,
}

#[derive(Entity, Clone, Debug)]
struct Stone {
    x: f32,
}

struct Yard;

impl Game for Yard {
    type Event = ();
    type Scratch = ();
    fn schema() -> Schema {
        Schema::new().entity::<Ball>().entity::<Stone>()
    }
    fn on_create(&mut self, room: &mut Room<Self>) {
        room.create_with_id(7, Ball { x: 0.0, bounces: 0 }).expect("it is free");
    }
    fn on_tick(&mut self, room: &mut Room<Self>) {
        let tick = room.tick().0;
        if let Some(mut ball) = room.get_mut(ball()) {
            ball.set_x(tick as f32);
            ball.set_bounces(tick as u32);
        }
    }
}

fn ball() -> Id<Ball> {
    Id::assume(EntityId::explicit(7).expect("it is one"))
}

fn yard(rewind_ms: u32) -> (TestRoom<Yard>, ConnectionId) {
    let mut room = TestRoom::with(Yard, Settings { tick_rate: 20, rewind_ms, ..Settings::default() });
    let _ada = room.join("ada");
    room.advance(60);
    let conn = room.room().connections().next().expect("she is there").id();
    (room, conn)
}

#[test]
fn a_time_that_was_drawn_is_read_as_it_was() {
    let (room, conn) = yard(1000);
    let now = room.room().tick().0 as f64;
    // On a link without delay: drawing, and two sends.
    let back = room.room().rewinds(conn);
    assert!((3.0..=6.0).contains(&back), "{back}");
    let then = room.room().rewind(conn, now - 1.5, |past| past.get(ball()));
    assert_eq!(then, Some(Ball { x: (now - 1.5) as f32, bounces: now as u32 - 2 }));
    room.room().rewind(conn, now - 1.5, |past| assert_eq!(past.all::<Ball>().count(), 1));
}

#[test]
fn no_client_reads_what_it_cannot_have_drawn() {
    let (room, conn) = yard(1000);
    let now = room.room().tick().0 as f64;
    let read = |room: &TestRoom<Yard>, drawn| room.room().rewind(conn, drawn, |past| past.time());
    let back = room.room().rewinds(conn);
    for (drawn, expected) in [
        (0.0, now - back),
        (-1e300, now - back),
        (f64::NEG_INFINITY, now),
        (f64::NAN, now),
        (now + 50.0, now),
        (f64::INFINITY, now),
    ] {
        assert_eq!(read(&room, drawn), expected, "{drawn}");
    }
    assert_eq!(room.room().rewind(ConnectionId(99), now - 1.0, |past| past.time()), now - 1.0);
    let (strict, _) = yard(50);
    assert_eq!(read(&strict, 0.0), now - 1.0, "a setting");
}

#[test]
fn what_was_deleted_is_still_there_for_who_drew_it() {
    let (mut room, conn) = yard(1000);
    room.edit(|_, room| assert!(room.delete(ball())));
    room.advance(1);
    let now = room.room().tick().0 as f64;
    room.room().rewind(conn, now, |past| assert_eq!(past.get(ball()), None));
    room.room().rewind(conn, now - 1.0, |past| assert!(past.get(ball()).is_some()));
}

#[test]
#[should_panic(expected = "stone keeps no history: write `#[entity(history = \"1s\")]`")]
fn a_kind_without_history_says_what_to_write() {
    let (room, conn) = yard(1000);
    room.room().rewind(conn, 0.0, |past| past.all::<Stone>().count());
}

//! The testing kit: what a game's own tests can do with a room in one process.

use std::time::Duration;

use room::prelude::*;
use room::runtime::Settings;
use room_client::testing::{TestRoom, assert_never_received};
use room_client::{CallOptions, Event, Status};

#[derive(Entity, Clone, Debug, Default, PartialEq)]
struct Hand {
    card: u64,
    note: String,
}

#[derive(Entity, Clone, Debug, PartialEq)]
struct Lamp {
    lit: bool,
}

#[derive(Default)]
struct House {
    heard: Vec<String>,
}

impl Game for House {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().private::<Hand>().entity::<Lamp>()
    }

    fn calls() -> Calls<Self> {
        Calls::new().on(
            "half",
            |_: &mut House, _, _, n: u32| {
                if n.is_multiple_of(2) { Ok(n / 2) } else { Err(Refused::new("odd")) }
            },
        )
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, said: String) {
        self.heard.push(said);
        room.send(peer.conn, &self.heard.len()).expect("it is short");
    }

    fn on_drop(&mut self, _: &mut Room<Self>, _: PlayerId, _: SessionId, how: Dropped) {
        self.heard.push(format!("{how:?}"));
    }

    fn on_leave(&mut self, _: &mut Room<Self>, _: PlayerId, why: LeaveReason) {
        self.heard.push(format!("{why:?}"));
    }
}

#[test]
fn a_broken_link_loses_nothing_and_brings_one_update() {
    let mut room = TestRoom::new(House::default());
    let ada = room.join("ada");
    let lamps: Vec<Id<Lamp>> =
        (0..100).map(|_| room.edit(|_, room| room.create(Lamp { lit: false })).expect("it fits")).collect();
    room.advance(2);
    ada.send(&"before").expect("it waits");
    room.drop_link(&ada);
    ada.send(&"while away").expect("it waits");
    room.edit(|_, room| room.get_mut(lamps[7]).expect("it lives").set_lit(true));
    room.edit(|_, room| room.delete(lamps[8]));
    room.advance(20);
    assert_eq!(ada.view::<Lamp>().len(), 100, "it has heard of nothing");
    let came = ada.received().0.len();
    room.resume(&ada);
    room.advance(2);
    assert_eq!(ada.status(), Status::Joined);
    assert!(ada.received().0.len() - came < 150, "only what changed came");
    assert_eq!(ada.view::<Lamp>(), room.stored::<Lamp>());
    assert_eq!(room.game().heard, ["before", "Broken", "while away"]);
    assert_eq!(ada.messages::<usize>(), [1, 3]);
}

#[test]
fn a_hold_runs_out_and_calls_have_results() {
    let settings = Settings { hold_seconds: Some(1), ..Settings::default() };
    let mut room = TestRoom::with(House::default(), settings);
    let (ada, bo) = (room.join("ada"), room.join_account("bo", "bo@example"));
    room.edit(|_, room| {
        room.private_mut::<Hand>(ada.player().expect("she joined"))
            .expect("it is there")
            .set_note("the ace of spades".to_owned())
            .expect("it fits");
    });
    room.close_link(&ada);
    room.advance(22);
    assert_eq!(room.game().heard, ["Closed", "Dropped"]);
    room.resume(&ada);
    assert_eq!(ada.status(), Status::Lost);
    assert!(matches!(ada.events()[..], [Event::SessionLost { .. }]));
    assert!(ada.player().is_none() && ada.notice().is_some());
    room.rejoin(&ada);
    assert_eq!((ada.status(), ada.notice()), (Status::Joined, None));

    for n in [4, 5] {
        let options = CallOptions { deadline: Some(Duration::from_secs(1)), ..CallOptions::default() };
        bo.call("half", &n, options).expect("it waits");
    }
    room.advance(2);
    let results = bo.events().into_iter().filter_map(|event| match event {
        Event::Result { outcome, .. } => Some(outcome.map(|value| value.decode::<u32>().expect("a number"))),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [Ok(2), Err("odd".to_owned())]);
    assert_never_received(&bo, b"ace of spades");
    room.leave(&bo);
    assert_eq!(room.room().sessions(), 1, "Ada's new one");
    assert!(!room.logs().is_empty());
}

#[test]
fn a_process_that_starts_again_goes_on_where_it_was() {
    let mut room = TestRoom::new(House::default());
    let ada = room.join("ada");
    ada.send(&"one").expect("it waits");
    let checkpoint = ada.checkpoint().expect("there is a session");
    room.advance(2);
    let again = room.restart(&ada, checkpoint);
    again.send(&"two").expect("it waits");
    room.advance(2);
    assert_eq!(again.player(), ada.player());
    assert_eq!(room.game().heard, ["one", "Broken", "two"], "the stored event is not handled again");
    assert_eq!(again.unacknowledged(), 0);
}

#[test]
#[should_panic(expected = "was sent the secret")]
fn a_leak_is_found() {
    let mut room = TestRoom::new(House::default());
    let ada = room.join("ada");
    room.edit(|_, room| room.broadcast("the ace of spades").expect("it is short"));
    room.advance(1);
    assert_never_received(&ada, b"ace of spades");
}

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

/// Events are what is to be done outside.
#[derive(Default)]
struct Office {
    heard: Vec<String>,
}

impl Game for Office {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new()
    }

    fn on_event(&mut self, room: &mut Room<Self>, _: Peer, event: String) {
        match event.as_str() {
            "sum" => room.spawn("sum", async { 40 + 2 }),
            "wait" => {
                let mut looks = 0;
                let waits = std::future::poll_fn(move |_| {
                    looks += 1;
                    if looks < 4 { std::task::Poll::Pending } else { std::task::Poll::Ready(looks) }
                });
                room.spawn("wait", waits);
            }
            _ => {
                room.after_commit(&event).expect("it is short");
                room.send_to("archive", &event).expect("it is short");
            }
        }
    }

    fn on_answer(&mut self, _: &mut Room<Self>, name: &str, answer: Answer) {
        let number: u32 = answer.expect("it works").read().expect("a number");
        self.heard.push(format!("{name} {number}"));
    }

    fn on_message(&mut self, _: &mut Room<Self>, from: &str, message: Payload) {
        self.heard.push(format!("{from}: {}", message.read::<String>().expect("text")));
    }

    async fn perform(_: Effect) -> Result<(), String> {
        panic!("a test reaches nothing outside")
    }
}

#[test]
fn effects_and_mail_are_seen_once_each_in_their_order() {
    let mut room = TestRoom::new(Office::default());
    let ada = room.join("ada");
    for what in ["one", "two"] {
        ada.send(what).unwrap();
    }
    room.advance(1);
    let effects = room.effects();
    let said: Vec<String> = effects.iter().map(|effect| effect.payload.read().unwrap()).collect();
    assert_eq!(said, ["one", "two"]);
    assert_ne!(effects[0].key, effects[1].key);
    let mail = room.mail();
    assert!(mail.iter().all(|(to, _)| to == "archive"));
    assert_eq!(mail.iter().map(|(_, it)| it.read().unwrap()).collect::<Vec<String>>(), ["one", "two"]);
    assert!(room.effects().is_empty() && room.mail().is_empty());
}

#[test]
fn work_is_answered_when_it_is_done_and_rooms_hear_of_others() {
    let mut room = TestRoom::new(Office::default());
    let ada = room.join("ada");
    ada.send("sum").unwrap();
    ada.send("wait").unwrap();
    room.send_from("archive", "there is no more space");
    room.advance(2);
    assert_eq!(room.game().heard, ["archive: there is no more space", "sum 42"]);
    room.advance(2);
    assert_eq!(room.game().heard.len(), 2);
    room.advance(1);
    assert_eq!(room.game().heard.last().map(String::as_str), Some("wait 4"));
}

#[test]
fn a_durable_room_asks_again_for_what_it_did_not_live_to_have_done() {
    let settings = Settings { send_every: 5, ..Settings::default() };
    let mut room = TestRoom::durable_with(Office::default, settings);
    let ada = room.join("ada");
    ada.send("one").unwrap();
    let mut asked = room.effects();
    let mut waited = 0;
    while asked.is_empty() {
        assert!(waited < 10, "it is committed at the next send");
        room.advance(1);
        waited += 1;
        asked = room.effects();
    }
    assert!(waited > 1, "before that it is not");
    let key = asked.remove(0).key;
    // Killed before that it was performed is committed.
    room.kill_and_wake();
    let again = room.effects();
    assert_eq!(again.iter().map(|effect| &effect.key).collect::<Vec<_>>(), [&key]);
    room.advance(10);
    room.kill_and_wake();
    assert!(room.effects().is_empty());
}

//! What game and player say of her in her presence.

use room::StatusError;
use room::prelude::*;
use room::room::log::Log;
use room::runtime::Settings;
use room::session::code;
use room::wire::message::ClientMessage;
use room_client::testing::TestRoom;
use room_client::{Event, SendError, Status};

use super::link::Link;
use super::presence::{Alone, Lounge, id, lounge, status};

#[test]
fn the_game_and_the_player_set_her_status() {
    let mut room = lounge();
    let (ada, bo) = (room.join("Ada"), room.join("Bo"));
    ada.set_status("picking a deck").unwrap();
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "picking a deck");
    assert_eq!(ada.unacknowledged(), 0);

    room.edit(|_, room| room.set_status(PlayerId(1), "in match 3")).unwrap();
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "in match 3");
    assert_eq!(status(&ada, id(&ada)), "in match 3");

    ada.set_status("loud").unwrap();
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "LOUD", "the game's word counts");
    ada.set_status("rude").unwrap();
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "LOUD", "the game refused it");
    ada.set_status("").unwrap();
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "");

    room.leave(&ada);
    let again = room.join("Ada");
    assert_eq!(status(&bo, id(&again)), "", "it went with her last session");
}

#[test]
fn a_status_has_its_place_among_her_events() {
    let mut room = lounge();
    let ada = room.join("Ada");
    for at in 0..4 {
        ada.set_status(&format!("status {at}")).unwrap();
        ada.send(&format!("event {at}")).unwrap();
    }
    room.advance(1);
    assert_eq!(status(&ada, id(&ada)), "event 3");
    ada.send(&"event 4").unwrap();
    ada.set_status("status 4").unwrap();
    room.advance(1);
    assert_eq!(status(&ada, id(&ada)), "status 4");
}

#[test]
fn a_status_survives_a_drop_and_is_set_once() {
    let mut room = lounge();
    let (ada, bo) = (room.join("Ada"), room.join("Bo"));
    room.drop_link(&ada);
    ada.set_status("back soon").unwrap();
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "");
    room.resume(&ada);
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "back soon");

    room.edit(|_, room| room.set_status(PlayerId(1), "seated")).unwrap();
    room.drop_link(&ada);
    room.advance(1);
    assert_eq!(status(&bo, id(&ada)), "seated", "a hold keeps it");
    room.resume(&ada);
    room.advance(2);
    assert_eq!(status(&bo, id(&ada)), "seated", "what was handled does not come again");

    room.drop_link(&ada);
    ada.set_status("reloading").unwrap();
    let checkpoint = ada.checkpoint().expect("she has a session");
    let ada = room.restart(&ada, checkpoint);
    room.advance(2);
    assert_eq!(status(&bo, id(&ada)), "reloading", "a checkpoint holds it");
}

#[test]
fn a_status_that_its_session_did_not_live_to_say_is_gone() {
    let mut room = lounge();
    let ada = room.join("Ada");
    room.drop_link(&ada);
    ada.set_status("too late").unwrap();
    ada.send(&"late").unwrap();
    room.advance(700);
    room.resume(&ada);
    assert_eq!(ada.status(), Status::Lost);
    let lost = ada.events().into_iter().find_map(|event| match event {
        Event::SessionLost { undelivered } => Some(undelivered),
        _ => None,
    });
    let lost = lost.expect("she is told");
    assert_eq!(
        lost.iter().map(|lost| lost.message.decode::<String>().unwrap()).collect::<Vec<_>>(),
        ["late"]
    );
    assert_eq!(ada.set_status("now"), Err(SendError::Over));
}

#[test]
fn a_status_has_at_most_256_bytes() {
    let mut room = lounge();
    let ada = room.join("Ada");
    let (most, over) = ("é".repeat(128), "é".repeat(128) + "!");
    ada.set_status(&most).unwrap();
    let refused = ada.set_status(&over).unwrap_err();
    assert_eq!(refused.to_string(), "a status has at most 256 bytes; this one has 257: shorten it");
    room.advance(1);
    assert_eq!(status(&ada, id(&ada)), most);

    let refused = room.edit(|_, room| room.set_status(PlayerId(1), &over)).unwrap_err();
    assert_eq!(refused, StatusError::TooLong { player: PlayerId(1), size: 257 });
    let words = "the status of player 1 has 257 bytes; the most is 256: shorten it";
    assert_eq!(refused.to_string(), words);
    let refused = room.edit(|_, room| room.set_status(PlayerId(7), "who?"));
    assert_eq!(refused, Err(StatusError::Absent { player: PlayerId(7) }));
    assert_eq!(room.room().presence(PlayerId(1)).map(|presence| presence.status.clone()), Some(most.clone()));

    ada.set_status("long").unwrap();
    room.advance(1);
    assert_eq!(status(&ada, id(&ada)), most, "of what a hook returns the first 256 bytes count");
}

#[test]
fn a_client_that_sends_no_status_is_closed() {
    for wrong in [[b'x'; 257].to_vec(), vec![0xff], vec![0xc3]] {
        let mut link = Link::<Lounge>::new(Lounge::default(), Settings::default());
        let conn = link.join();
        link.send_bytes(conn, &[&[0x0d, 1][..], &wrong].concat());
        link.tick();
        assert_eq!(link.client(conn).code(), Some(code::BAD_MESSAGE));
    }
}

#[test]
fn a_status_takes_credit_and_waits_for_it() {
    let settings = Settings { messages_burst: 3, messages_per_second: 1, ..Settings::default() };
    let mut link = Link::<Lounge>::new(Lounge::default(), settings);
    let conn = link.join();
    for text in ["1", "2", "3", "4", "5"] {
        link.say(conn, &ClientMessage::Status { gap: 1, text });
    }
    let now = |link: &Link<Lounge>| link.client(conn).replica.presences()[0].status.clone();
    link.tick();
    assert_eq!(now(&link), "3");
    link.ticks(20);
    assert_eq!(now(&link), "4");
    link.ticks(20);
    assert_eq!(now(&link), "5");
}

#[test]
fn a_hook_that_fails_at_a_status_has_handled_it() {
    let settings = Settings { deployed: true, ..Settings::default() };
    let mut room = TestRoom::with(Lounge::default(), settings);
    let ada = room.join("Ada");
    ada.set_status("fine").unwrap();
    let failed = ada.set_status("panic").unwrap();
    room.advance(2);
    assert!(ada.events().contains(&Event::Failed(failed)));
    assert_eq!(status(&ada, id(&ada)), "fine");
    assert_eq!(ada.unacknowledged(), 0);
    assert!(room.logs().iter().any(|log| matches!(log, Log::HookPanicked { hook: "on_status", .. })));
}

#[test]
fn a_status_in_a_game_without_presence_is_passed_over() {
    let mut link = Link::<Alone>::new(Alone::default(), Settings::default());
    let conn = link.join();
    link.say(conn, &ClientMessage::Status { gap: 1, text: "here" });
    link.tick();
    assert!(link.client(conn).is_joined());
    assert_eq!(link.client(conn).handled, 1);
    assert!(!link.room.game().asked);
}

//! Who may continue a session: tokens, takeovers, accounts.

use room::prelude::*;
use room::runtime::{Identity, Sessions, Settings};
use room::session::{Token, code};
use room::wire::message::{Ack, ClientMessage};

use super::lab::{self, Heard, Lab};
use super::link::{Link, Pace};

fn ada() -> Identity {
    Identity::account("ada")
}

fn token(link: &Link<Lab>, conn: ConnectionId) -> Token {
    link.client(conn).welcome.expect("it was welcomed").token
}

/// Tries a token of a session; returns the code of the refusal.
fn try_token(link: &mut Link<Lab>, of: ConnectionId, token: Token) -> Option<u16> {
    let conn = link.resume_as(of, None, |resume| resume.token = token);
    link.tick();
    let refused = link.client(conn).code();
    assert!(refused.is_none() == link.client(conn).is_joined());
    refused
}

#[test]
fn each_welcome_brings_a_new_token_and_epoch_of_the_same_session() {
    let mut link = lab::open();
    let mut conn = link.join();
    let first = link.client(conn).welcome.expect("it was welcomed");
    assert!(!first.resumed && first.epoch == 1);
    for epoch in 2..5 {
        let before = token(&link, conn);
        link.drop_link(conn);
        conn = link.rejoin(conn);
        let welcome = link.client(conn).welcome.expect("it was welcomed");
        assert!(welcome.resumed);
        assert_eq!((welcome.session, welcome.epoch, welcome.player), (first.session, epoch, first.player));
        assert_ne!(welcome.token, before);
    }
}

#[test]
fn a_token_that_was_used_and_confirmed_gets_4007_and_changes_nothing() {
    let mut link = lab::open();
    let conn = link.join();
    let used = token(&link, conn);
    link.drop_link(conn);
    let again = link.rejoin(conn);
    link.heard();
    assert_eq!(try_token(&mut link, again, used), Some(code::NO_SESSION));
    assert!(link.client(again).is_joined(), "she plays on");
    assert_eq!((link.heard(), link.room.sessions()), (vec![], 1));
}

#[test]
fn a_token_of_a_lost_welcome_dies_and_the_one_presented_stays_good() {
    let mut link = lab::open();
    let mut conn = link.join();
    let presented = token(&link, conn);
    let mut lost = Vec::new();
    for _ in 0..3 {
        link.drop_link(conn);
        let next = link.resume(conn);
        // The welcome leaves, and never arrives.
        link.client_mut(next).pace = Pace::Stalled;
        link.tick();
        assert!(link.client(next).welcome.is_none() && link.room.room().players() == 1);
        link.client_mut(next).pace = Pace::Prompt;
        link.drop_link(next);
        lost.push(Token({
            let mut token = [0; 16];
            token[..8].copy_from_slice(&(0xfeed_0000 + next.0).to_le_bytes());
            token
        }));
        link.tick();
        // She knows of nothing: she comes as she did before.
        link.take_back(conn, next);
    }
    for dead in &lost[..2] {
        assert_eq!(try_token(&mut link, conn, *dead), Some(code::NO_SESSION), "the next welcome killed it");
    }
    assert_eq!(token(&link, conn), presented);
    conn = link.rejoin(conn);
    assert!(link.client(conn).is_joined());
}

#[test]
fn pings_confirm_no_token_and_an_acknowledgement_does() {
    let mut link = lab::open();
    let conn = link.join();
    let presented = token(&link, conn);
    link.drop_link(conn);
    let again = link.resume(conn);
    link.client_mut(again).pace = Pace::Silent;
    link.tick();
    link.say(again, &ClientMessage::Ping(1));
    link.tick();
    let third = link.resume_as(again, None, |resume| resume.token = presented);
    link.client_mut(third).pace = Pace::Silent;
    link.tick();
    assert!(link.client(third).is_joined());
    link.say(third, &ClientMessage::Ack(Ack::default()));
    link.tick();
    assert_eq!(try_token(&mut link, third, presented), Some(code::NO_SESSION));
}

#[test]
fn a_token_that_is_guessed_of_another_session_or_of_another_room_gets_4007() {
    let mut link = lab::open();
    let (conn, other) = (link.join(), link.join());
    let theirs = token(&link, other);
    link.heard();
    assert_eq!(try_token(&mut link, conn, Token([7; 16])), Some(code::NO_SESSION));
    assert_eq!(try_token(&mut link, conn, theirs), Some(code::NO_SESSION));
    let nowhere = link.resume_as(conn, None, |resume| resume.session = SessionId(u64::MAX));
    assert_eq!(link.client(nowhere).code(), Some(code::NO_SESSION));
    // The same connection's number and session in another room, whose secrets differ.
    let mut elsewhere = lab::open();
    elsewhere.open(Identity::guest());
    let there = elsewhere.join();
    let stolen = token(&elsewhere, there);
    assert_eq!(try_token(&mut link, conn, stolen), Some(code::NO_SESSION));
    assert!(link.client(conn).is_joined() && link.client(other).is_joined());
    assert!(link.heard().is_empty());
}

#[test]
fn another_account_with_a_good_token_gets_4003_and_the_owner_can_still_resume() {
    let mut link = lab::open();
    let conn = link.open(ada());
    link.tick();
    link.drop_link(conn);
    link.tick();
    link.heard();
    for thief in [Identity::account("bo"), Identity::guest()] {
        let refused = link.resume_as(conn, Some(thief), |_| {});
        link.tick();
        assert_eq!(link.client(refused).code(), Some(code::NOT_ALLOWED));
        link.take_back(conn, refused);
    }
    assert!(link.heard().is_empty());
    let again = link.rejoin(conn);
    assert!(link.client(again).welcome.is_some_and(|welcome| welcome.resumed && welcome.epoch == 2));
    // While she is connected, too.
    let refused = link.resume_as(again, Some(Identity::guest()), |_| {});
    link.tick();
    assert_eq!(link.client(refused).code(), Some(code::NOT_ALLOWED));
    assert!(link.client(again).is_joined());
}

#[test]
fn a_resume_of_a_session_that_is_connected_takes_it_over_without_a_drop() {
    let mut link = lab::open();
    let older = link.join();
    let player = link.player(older);
    link.stand(older, Some([3.0; 3]));
    link.heard();
    let newer = link.rejoin(older);
    assert_eq!(link.client(older).code(), Some(code::REPLACED));
    assert!(link.client(newer).is_joined() && link.player(newer) == player);
    assert_eq!(link.heard(), [], "neither on_drop nor on_resume: she was never away");
    let scratch = &link.room.room().connection(newer).expect("it is seated").scratch;
    assert_eq!(scratch.at, Some([3.0; 3]));
    // Whatever comes from the older epoch is dropped.
    link.send(older, &"late");
    link.drop_link(older);
    link.ticks(2);
    assert_eq!(link.heard(), []);
    assert!(link.client(newer).is_joined());
}

#[test]
fn the_same_account_without_a_token_goes_on_and_the_displaced_token_gets_4005() {
    let mut link = lab::open();
    let older = link.open(ada());
    link.tick();
    let displaced = token(&link, older);
    link.add(lab::dot(1.0));
    link.edit(|room| room.send(older, "for her")).expect("it is short");
    link.client_mut(older).takes_events = false;
    link.tick();
    link.heard();
    let newer = link.open(ada());
    link.tick();
    let (before, now) = (link.client(older).welcome.unwrap(), link.client(newer).welcome.unwrap());
    assert_eq!(link.client(older).code(), Some(code::REPLACED));
    assert_eq!((now.session, now.player, now.epoch), (before.session, before.player, before.epoch + 1));
    assert!(!now.resumed, "it holds nothing");
    assert_eq!(link.heard(), []);
    assert_eq!(link.held::<lab::Dot>(newer).len(), 1);
    assert_eq!(link.client_mut(newer).take_events::<String>(), ["for her"], "nobody had acknowledged it");
    for _ in 0..2 {
        assert_eq!(try_token(&mut link, older, displaced), Some(code::REPLACED), "it does not steal back");
    }
    assert!(link.client(newer).is_joined());
    // Held, it is still displaced.
    link.drop_link(newer);
    link.tick();
    assert_eq!(try_token(&mut link, older, displaced), Some(code::REPLACED));
    let again = link.rejoin(newer);
    assert!(link.client(again).is_joined());
}

#[test]
fn a_held_session_goes_on_for_its_account_without_a_token() {
    let mut link = lab::open();
    let conn = link.open(ada());
    link.tick();
    let player = link.player(conn);
    link.drop_link(conn);
    link.tick();
    link.heard();
    let again = link.open(ada());
    link.tick();
    assert_eq!((link.player(again), link.heard()), (player, vec![Heard::Resumed(player)]));
}

#[test]
fn a_guest_has_nothing_but_her_token() {
    let mut link = lab::open();
    let (one, two) = (link.join(), link.join());
    assert_ne!(link.player(one), link.player(two));
    assert_eq!(link.room.sessions(), 2);
}

#[test]
fn a_game_can_allow_several_sessions_of_one_player() {
    let mut link = lab::with(Settings { sessions: Sessions::Several, ..Settings::default() });
    let one = link.open(ada());
    link.tick();
    let two = link.open(ada());
    link.tick();
    let player = link.player(one);
    assert!(link.client(one).is_joined() && link.client(two).is_joined());
    assert_eq!(link.player(two), player);
    assert_eq!(link.room.room().sessions_of(player).count(), 2);
    link.edit(|room| room.send_player(player, "both")).expect("it is short");
    link.tick();
    for conn in [one, two] {
        assert_eq!(link.client_mut(conn).take_events::<String>(), ["both"]);
    }
    // Each goes on by its own token, and the player is gone with the last.
    link.drop_link(one);
    let again = link.rejoin(one);
    assert!(link.client(again).is_joined() && link.client(two).is_joined());
    link.heard();
    link.leave(again);
    link.tick();
    assert_eq!(link.heard(), []);
    link.leave(two);
    link.tick();
    assert_eq!(link.heard(), [Heard::Left(player, LeaveReason::Left)]);
}

#[test]
fn a_kick_ends_all_sessions_of_a_player_held_ones_too() {
    let mut link = lab::with(Settings { sessions: Sessions::Several, ..Settings::default() });
    let conns: Vec<ConnectionId> = (0..3).map(|_| link.open(ada())).collect();
    link.tick();
    let player = link.player(conns[0]);
    link.drop_link(conns[1]);
    link.tick();
    link.heard();
    link.edit(|room| room.kick(player, "no"));
    link.tick();
    assert_eq!(link.heard(), [Heard::Left(player, LeaveReason::Kicked)], "once");
    for conn in [conns[0], conns[2]] {
        assert_eq!(link.client(conn).closed, Some((code::KICKED, String::from("no"))));
    }
    assert_eq!(link.room.sessions(), 0);
    for conn in conns {
        let again = link.rejoin(conn);
        assert_eq!(link.client(again).code(), Some(code::NO_SESSION));
    }
}

#[test]
fn a_game_can_refuse_the_newer_connection() {
    let mut link = lab::with(Settings { sessions: Sessions::Refuse, ..Settings::default() });
    let older = link.open(ada());
    link.tick();
    let newer = link.open(ada());
    link.tick();
    assert_eq!(link.client(newer).code(), Some(code::NOT_ALLOWED));
    assert!(link.client(older).is_joined());
    // With its token it is the same one.
    let again = link.rejoin(older);
    assert!(link.client(again).is_joined());
    // Once nobody plays over it, its owner comes back without.
    let session = link.client(again).welcome.map(|it| it.session);
    link.drop_link(again);
    link.tick();
    let back = link.open(ada());
    link.tick();
    assert_eq!(link.client(back).welcome.map(|it| it.session), session);
}

//! Clients that try to gain by lies, by floods and by bad moments.

use room::prelude::*;
use room::runtime::{Identity, Sessions, Settings};
use room::session::code;
use room::wire::message::{Ack, Call, ClientMessage};
use room::{EntityId, Tick, limits};

use super::lab::{self, Dot, Hand, Heard, Lab, dot};
use super::link::{self, Link};

fn close_code(link: &Link<Lab>, conn: ConnectionId) -> Option<u16> {
    link.client(conn).closed.as_ref().map(|(code, _)| *code)
}

fn say(link: &mut Link<Lab>, conn: ConnectionId, message: &ClientMessage<'_>) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    link.send_bytes(conn, &bytes);
}

fn handled(link: &mut Link<Lab>) -> usize {
    link.heard().iter().filter(|heard| matches!(heard, Heard::Event(..))).count()
}

#[test]
fn leaving_buys_no_credit() {
    let mut link = lab::open();
    let conn = link.join();
    for _ in 0..2000 {
        link.send(conn, &"x");
    }
    link.leave(conn);
    link.tick();
    let count = handled(&mut link);
    assert!(count <= 130, "{count} events were handled in one tick");
    // The client waits for a second, and drops its socket.
    link.ticks(20);
    assert_eq!(close_code(&link, conn), None, "the room has not let her go");
    link.drop_link(conn);
    link.ticks(700);
    let heard = link.heard();
    assert_eq!(heard.last(), Some(&Heard::Left(link.player(conn), LeaveReason::Left)));
    assert_eq!(
        count + heard.len() - 1,
        2000,
        "all of them are handled, and then she has left: {:?}",
        heard.len()
    );
    assert_eq!(link.room.sessions(), 0);
}

#[test]
fn what_comes_behind_a_leave_is_not_heard() {
    let mut link = lab::open();
    let conn = link.join();
    let id = link.add(dot(0.0));
    (0..200).for_each(|_| link.send(conn, &"x"));
    link.leave(conn);
    link.send(conn, &"behind it");
    say(&mut link, conn, &ClientMessage::Hidden(true));
    link.tick();
    link.edit(|room| room.get_mut(id).expect("it lives").set_hp(5));
    link.tick();
    assert_eq!(close_code(&link, conn), None, "she waits for what she said before");
    let hp = link.replica(conn).get(id).map(|dot| dot.hp);
    assert_eq!(hp, Some(5), "until then she is sent what there is to see");
    link.ticks(100);
    assert_eq!((close_code(&link, conn), handled(&mut link)), (Some(code::LEFT), 200));
}

#[test]
fn one_who_comes_back_before_her_leave_is_done_stays() {
    let mut link = lab::open();
    let conn = link.join();
    (0..200).for_each(|_| link.send(conn, &"x"));
    link.leave(conn);
    link.tick();
    let hello = link.hello_again(conn, Tick::ZERO, Vec::new());
    let back = link.open_with(&hello, Identity::guest());
    link.ticks(100);
    assert!(link.client(back).is_joined());
    assert_eq!(close_code(&link, conn), Some(code::REPLACED));
    assert_eq!(handled(&mut link), 200);
    assert_eq!(link.room.sessions(), 1);
    link.leave(back);
    link.tick();
    assert_eq!((close_code(&link, back), link.room.sessions()), (Some(code::LEFT), 0));
}

/// Sends an event with any gap.
fn number(link: &mut Link<Lab>, conn: ConnectionId, gap: u64) {
    say(link, conn, &ClientMessage::Event { gap, payload: b"\xa1x" });
}

#[test]
fn numbers_end_at_the_last_and_cost_the_liar_alone() {
    let mut link = lab::open();
    let other = link.join();
    let conn = link.join();
    number(&mut link, conn, limits::ID_MOST);
    link.tick();
    assert_eq!(handled(&mut link), 1);
    number(&mut link, conn, 1);
    assert_eq!(close_code(&link, conn), Some(code::BAD_MESSAGE));
    let conn = link.join();
    number(&mut link, conn, u64::MAX);
    assert_eq!(close_code(&link, conn), Some(code::BAD_MESSAGE));
    link.send(other, &"y");
    link.tick();
    assert_eq!(handled(&mut link), 1);
}

#[test]
fn lies_in_acknowledgements_change_nothing_for_others() {
    let mut link = lab::open();
    let other = link.join();
    let conn = link.join();
    for (tick, parts, events) in
        [(u64::MAX, u32::MAX, u64::MAX), (0, u32::MAX, 0), (1 << 53, 0, 1), (0, 0, u64::MAX)]
    {
        link.add(dot(1.0));
        link.edit(|room| room.broadcast("news")).unwrap();
        say(&mut link, conn, &ClientMessage::Ack(Ack { tick: Tick(tick), parts, events }));
        link.ticks(3);
    }
    assert_eq!(link.client(other).events.len(), 4);
    assert_eq!(link.held::<Dot>(other).len(), 4);
    assert_eq!(link.held::<Dot>(conn).len(), 4);
}

#[test]
fn a_claim_shows_nothing_and_tells_nothing() {
    let mut link = lab::seen_by(|| lab::dots(10.0).radius(2));
    let near = link.add(dot(1.0));
    let far = link.add(dot(1000.0));
    let other = link.join();
    let hand = link.player(other);
    link.edit(|room| room.private_mut::<Hand>(hand).map(|mut hand| hand.set_card(77)));
    let conn = link.join();
    link.ticks(2);
    let all: Vec<_> = (1..400).filter_map(EntityId::from_wire).collect();
    for complete in [0, 1, link.tick_number(), u64::MAX] {
        let hello = link.hello_again(conn, Tick(complete), all.clone());
        let back = link.open_with(&hello, Identity::guest());
        let client = link.client_mut(back);
        client.pace = link::Pace::Stalled;
        client.keep = true;
        link.edit(|room| room.get_mut(far).map(|mut far| far.set_hp(0x5eed_5eed)));
        link.edit(|room| room.send_seeing(far, "who sees it")).unwrap();
        link.tick();
        link.edit(|room| room.send_seeing(far, "who sees it")).unwrap();
        link.edit(|room| room.private_mut::<Hand>(hand).map(|mut hand| hand.set_card(0x5eed_5eed)));
        link.ticks(3);
        let raw = &link.client(back).raw;
        for secret in [&0x5eed_5eedu32.to_le_bytes()[..], b"who sees it"] {
            assert!(!raw.windows(secret.len()).any(|window| window == secret));
        }
        assert!(raw.len() > 100);
    }
    assert!(link.sees(other, near));
}

#[test]
fn two_with_one_token_in_one_tick_are_one_session() {
    let mut link = lab::open();
    let conn = link.join();
    link.heard();
    let hello = link.hello_again(conn, Tick::ZERO, Vec::new());
    let both = [(); 2].map(|()| link.open_with(&hello, Identity::guest()));
    number(&mut link, conn, 1);
    link.tick();
    assert_eq!(both.map(|conn| close_code(&link, conn)), [Some(code::REPLACED), None]);
    assert_eq!(close_code(&link, conn), Some(code::REPLACED));
    assert_eq!((link.room.sessions(), handled(&mut link)), (1, 1));
    // The one before died with its welcome.
    let hello = link.hello_again(both[0], Tick::ZERO, Vec::new());
    let dead = link.open_with(&hello, Identity::guest());
    assert_eq!(close_code(&link, dead), Some(code::NO_SESSION));
    assert!(link.client(both[1]).is_joined());
}

#[test]
fn everything_in_one_tick_ends_in_one_order() {
    // A resume, a leave, a drop and a kick of one session in each order, all in one tick.
    let acts = |order: &[u8]| {
        let mut link = lab::open();
        let conn = link.join();
        let player = link.player(conn);
        link.heard();
        let hello = link.hello_again(conn, Tick::ZERO, Vec::new());
        for act in order {
            match act {
                0 if close_code(&link, conn).is_none() => link.leave(conn),
                1 => drop(link.open_with(&hello, Identity::guest())),
                2 => link.drop_link(conn),
                3 => link.edit(|room| room.kick(player, "out")),
                _ => {}
            }
        }
        link.ticks(3);
        let left = link.heard().iter().filter(|heard| matches!(heard, Heard::Left(..))).count();
        assert_eq!((link.room.sessions(), left), (0, 1), "{order:?}");
        let fresh = link.join();
        assert!(link.client(fresh).is_joined());
        assert_eq!(link.room.sessions(), 1);
    };
    for a in 0..4u8 {
        for b in 0..4 {
            for c in 0..4 {
                // A kick ends it in any case.
                acts(&[a, b, c, 3]);
                acts(&[3, a, b, c]);
            }
        }
    }
}

#[test]
fn a_thousand_sessions_of_one_account_come_and_go() {
    let settings = Settings { seats: 1000, sessions: Sessions::Several, ..Settings::default() };
    let mut link = lab::with(settings);
    let conns: Vec<_> = (0..1000).map(|_| link.open(Identity::account("ada"))).collect();
    let late = link.open(Identity::account("ada"));
    assert_eq!(close_code(&link, late), Some(code::FULL));
    link.tick();
    let player = link.player(conns[0]);
    assert!(conns.iter().all(|conn| link.client(*conn).player == Some(player)));
    link.edit(|room| room.send_player(player, "all of you")).unwrap();
    link.tick();
    assert!(conns.iter().all(|conn| link.client(*conn).events.len() == 1));
    for (n, conn) in conns.iter().enumerate() {
        if n % 2 == 0 { link.leave(*conn) } else { link.drop_link(*conn) }
    }
    link.heard();
    link.ticks(700);
    let left: Vec<_> = link.heard().into_iter().filter(|heard| matches!(heard, Heard::Left(..))).collect();
    assert_eq!(left, [Heard::Left(player, LeaveReason::Dropped)]);
    assert_eq!(link.room.sessions(), 0);
}

#[test]
fn hidden_and_shown_with_a_full_window_catches_up() {
    let mut link = lab::open();
    let conn = link.join();
    link.client_mut(conn).pace = link::Pace::Stalled;
    let mut ids = Vec::new();
    for turn in 0..40u64 {
        say(&mut link, conn, &ClientMessage::Hidden(turn % 3 == 0));
        for n in 0..20 {
            let text = String::from_utf8(vec![b'a' + n; 900]).unwrap();
            ids.push(link.add(lab::Crate { label: text, ..lab::Crate::default() }));
        }
        if turn % 2 == 0 {
            for id in ids.drain(..10) {
                link.edit(|room| room.delete(id));
            }
        }
        link.tick();
    }
    say(&mut link, conn, &ClientMessage::Hidden(false));
    link.client_mut(conn).pace = link::Pace::Prompt;
    link.ticks(40);
    let mut held: Vec<_> = ids.iter().map(|id| id.get()).collect();
    held.sort_unstable();
    assert_eq!(link.held::<lab::Crate>(conn), held);
}

#[test]
fn a_call_through_an_entity_that_changes_its_owner_counts_when_it_runs() {
    let mut link = lab::open();
    let (ada, bob) = (link.join(), link.join());
    let players = [ada, bob].map(|conn| link.player(conn));
    let id = link.add(Dot { owner: players[0], ..Dot::default() });
    for conn in [ada, bob] {
        call(&mut link, conn, Some(id.entity()));
    }
    // It changes hands before they run.
    link.edit(|room| room.get_mut(id).map(|mut dot| dot.set_owner(players[1])));
    link.tick();
    let answers = [ada, bob].map(|conn| link.client(conn).answers.clone());
    assert_eq!(answers[0], [link::Answer::Refused(1, "not_owner".to_owned())]);
    assert!(matches!(answers[1][..], [link::Answer::Accepted(1, _)]));
}

fn call(link: &mut Link<Lab>, conn: ConnectionId, through: Option<EntityId>) {
    let call = Call { gap: 1, name: "double", through, deadline: Tick::ZERO, payload: b"\x02" };
    say(link, conn, &ClientMessage::Call(call));
}

//! Rooms that failed, and are careful.

use super::*;

/// Fails the room as a panic in it does, wakes it, and lets everybody come back.
fn fail(drive: &mut Drive) {
    let failure = drive.runtime.failure().expect("no commit is on its way");
    drive.store.keep(&failure).expect("it is the owner's");
    drive.runtime = open(&drive.store, drive.unix, 99, 1);
    for client in 0..drive.clients.len() {
        let Client { session, token, account, .. } = drive.clients[client].clone();
        let session = session.expect("she has one");
        let resume = Resume { session, token, ..Resume::default() };
        let again = drive.hello(account, Some(resume));
        drive.clients[client] = Client { session: Some(session), ..again };
    }
    settle(drive, 2);
}

fn event(drive: &mut Drive, client: usize) {
    let mut bytes = Vec::new();
    payload::encode(&1u32, 100, &mut bytes).expect("it is short");
    drive.say(client, &ClientMessage::Event { gap: 1, payload: &bytes });
}

fn handled(drive: &Drive, client: usize) -> u64 {
    let session = drive.clients[client].session.expect("she has one");
    drive.runtime.room.sessions.get(session).map_or(0, |session| session.handled)
}

#[test]
fn after_a_failure_nobody_waits_for_an_event_whose_player_is_gone() {
    for ends in [false, true] {
        let mut drive = Drive::new(1, 1);
        for _ in 0..3 {
            let client = drive.hello(None, None);
            drive.clients.push(client);
        }
        settle(&mut drive, 2);
        fail(&mut drive);
        (0..3).for_each(|client| event(&mut drive, client));
        event(&mut drive, 0);
        // It is noted that the first one's event is about to be handled.
        settle(&mut drive, 1);
        assert_eq!((0..3).map(|client| handled(&drive, client)).collect::<Vec<_>>(), [0, 0, 0]);
        if ends {
            let player =
                drive.runtime.room.sessions.get(drive.clients[0].session.expect("one")).expect("she").player;
            drive.runtime.parts_mut().1.kick(player, "enough");
        } else {
            let conn = ConnectionId(drive.clients[0].conn);
            drive.runtime.handle_close(conn, Duration::ZERO, Closed::Broken);
        }
        settle(&mut drive, 6);
        assert_eq!((handled(&drive, 1), handled(&drive, 2)), (1, 1));
        // One a tick, and only those that were tried.
        if !ends {
            assert_eq!(handled(&drive, 0), 2);
        }
    }
}

#[test]
fn an_event_that_failed_two_runs_is_given_up_also_through_a_snapshot_and_a_kill() {
    let mut drive = Drive::new(1, 1);
    let client = drive.hello(None, None);
    drive.clients.push(client);
    settle(&mut drive, 2);
    for round in 0..3 {
        fail(&mut drive);
        assert_eq!(handled(&drive, 0), 0);
        event(&mut drive, 0);
        if round < 2 {
            settle(&mut drive, 1);
            continue;
        }
        drive.tick();
        assert_eq!(handled(&drive, 0), 1, "given up at once");
        let tally = drive.runtime.room.state::<Score>().count;
        assert_eq!(tally, 0, "and not handled");
    }
    // Killed before that was kept, and again after a snapshot: still it is not tried.
    for _ in 0..2 {
        drive.pending = None;
        drive.runtime = open(&drive.store, drive.unix, 77, 1);
        let Client { session, token, .. } = drive.clients[0].clone();
        let session = session.expect("she has one");
        for n in 0..12 {
            let (_, room) = drive.runtime.parts_mut();
            room.create(Beast { data: vec![n; 45_000].into(), ..Beast::default() }).expect("it fits");
            settle(&mut drive, 1);
        }
        let resume = Resume { session, token, ..Resume::default() };
        let again = drive.hello(None, Some(resume));
        drive.clients[0] = Client { session: Some(session), ..again };
        settle(&mut drive, 1);
        event(&mut drive, 0);
        drive.tick();
        assert_eq!((handled(&drive, 0), drive.runtime.room.state::<Score>().count), (1, 0));
    }
}

#[test]
fn after_a_failure_who_says_much_keeps_nobody_from_her_turn() {
    let mut drive = Drive::new(1, 1);
    for _ in 0..3 {
        let client = drive.hello(None, None);
        drive.clients.push(client);
    }
    settle(&mut drive, 2);
    fail(&mut drive);
    (0..2).for_each(|client| (0..10).for_each(|_| event(&mut drive, client)));
    event(&mut drive, 2);
    settle(&mut drive, 5);
    assert_eq!(handled(&drive, 2), 1);
    let before = [handled(&drive, 0), handled(&drive, 1)];
    settle(&mut drive, 6);
    assert_eq!([handled(&drive, 0), handled(&drive, 1)], before.map(|handled| handled + 3), "one a tick");
}

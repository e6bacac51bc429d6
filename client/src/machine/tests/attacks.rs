//! Rooms, games and clocks that do not behave.

use super::*;

#[test]
fn a_game_that_stood_still_while_it_had_no_socket_does_not_give_up_without_a_try() {
    let mut machine = joined();
    machine.handle_close(seconds(1), None, "the link broke");
    machine.update(seconds(1));
    // The device sleeps for ten minutes.
    machine.update(seconds(601));
    assert_eq!(machine.status(), &Status::Reconnecting, "it has not tried even once");
    assert!(machine.poll_dial(seconds(601)));
    // It does give up where it keeps trying.
    let mut now = seconds(601);
    while !machine.status().is_closed() {
        now += seconds(1);
        machine.handle_dial_failed(now, "no route");
        machine.update(now);
        machine.poll_dial(now);
        assert!(now <= seconds(661));
    }
    assert!(now >= seconds(655));
}

#[test]
fn what_waits_in_the_room_over_drops_counts_for_its_inbox() {
    let mut machine = joined();
    for _ in 0..limits::EVENTS {
        machine.send(&"x".repeat(200)).unwrap();
    }
    let cost = 202 + limits::MESSAGE_COST;
    let mut received = sent(&mut machine).len();
    // The room's game handles none of them meanwhile.
    for _ in 0..5 {
        resume(&mut machine, ms(0), Welcome { received: received as u64, ..again() });
        received += sent(&mut machine).len();
    }
    assert!(received * cost <= limits::INBOX, "{} bytes wait in the room", received * cost);
    // It goes on as the room does.
    hear(&mut machine, ms(0), RoomMessage::Ack(10));
    assert_eq!(sent(&mut machine).len(), 10);
}

#[test]
fn large_transients_that_nobody_reads_do_not_pile_up() {
    let mut machine = joined();
    let payload = packed(&"x".repeat(20_000));
    let mut now = ms(0);
    for _ in 0..2000 {
        hear(&mut machine, now, RoomMessage::Transient(&payload));
        machine.update(now);
        now += ms(1);
    }
    let bytes: usize = machine
        .events()
        .map(|event| if let Event::Transient(message) = event { message.bytes().len() } else { 0 })
        .sum();
    assert!(bytes > 0 && bytes <= limits::CLIENT_WAITING, "{bytes}");
}

#[test]
fn messages_without_a_byte_do_not_pile_up_before_an_update() {
    let mut machine = joined();
    let mut came = 0;
    while machine.is_joined() && came < 1_000_000 {
        machine.handle_message(ms(0), Vec::new());
        came += 1;
    }
    assert!(came < 1_000_000, "{came} messages wait");
}

#[test]
fn acknowledgements_of_what_was_never_sent_and_results_of_unknown_calls_are_harmless() {
    let mut machine = joined();
    machine.send("a").unwrap();
    machine.call("b", "b", CallOptions::default()).unwrap();
    hear(&mut machine, ms(0), RoomMessage::Ack(limits::ID_MOST));
    assert_eq!(machine.unacknowledged(), 2, "they have no numbers yet");
    assert_eq!(sent(&mut machine).len(), 2);
    hear(&mut machine, ms(0), RoomMessage::Ack(u64::MAX));
    hear(&mut machine, ms(0), RoomMessage::Ack(0));
    assert_eq!(machine.unacknowledged(), 0);
    for call in [0, 1, 3, u64::MAX] {
        let outcome = Outcome::Refused("no");
        hear(&mut machine, ms(0), RoomMessage::Result { call, tick: Tick(u64::MAX), outcome });
        hear(&mut machine, ms(0), RoomMessage::Failed(call));
    }
    hear(&mut machine, ms(0), pong(u64::MAX, u64::MAX));
    hear(&mut machine, ms(0), pong(0, u64::MAX));
    machine.update(ms(5));
    machine
        .call("late", "b", CallOptions { deadline: Some(Duration::MAX), ..CallOptions::default() })
        .unwrap();
    assert_eq!(sent(&mut machine).len(), 1);
    assert!(machine.room_time(ms(7)).is_some());
    assert!(machine.is_joined());
}

#[test]
fn a_welcome_with_the_highest_numbers_panics_nowhere() {
    let mut machine = machine();
    let highest = Welcome {
        received: limits::ID_MOST,
        sent: limits::ID_MOST,
        tick: Tick(u64::MAX),
        tick_rate: u32::MAX,
        send_every: 0,
        payload_max: u32::MAX,
        events_max: u32::MAX,
        epoch: u32::MAX,
        ..first()
    };
    join(&mut machine, ms(0), highest);
    machine.send("x").unwrap();
    machine.call("y", "y", CallOptions { deadline: Some(seconds(5)), ..CallOptions::default() }).unwrap();
    event(&mut machine, ms(0), "past the last number");
    machine.update(ms(1));
    said(&mut machine);
    let saved = machine.checkpoint().unwrap();
    let restored = Machine::restore(schema(), options(), saved, u64::MAX, 1);
    if let Ok(mut restored) = restored {
        join(&mut restored, ms(0), highest);
        said(&mut restored);
        restored.update(ms(1));
    }
}

#[test]
fn a_second_welcome_ends_it() {
    for before_update in [true, false] {
        let mut machine = machine();
        join(&mut machine, ms(0), first());
        if !before_update {
            machine.update(ms(1));
        }
        hear(&mut machine, ms(1), RoomMessage::Welcome(again()));
        machine.update(ms(2));
        assert_eq!(closed(&machine).0, Some(4000));
    }
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A number that is likely to be right, or at an edge.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => limits::ID_MOST - self.below(3),
            1 => u64::MAX - self.below(3),
            2 => self.below(1 << 20),
            _ => self.below(12),
        }
    }
}

/// One thing that a room may say, sense or not.
fn lie(machine: &mut Machine, now: Duration, dice: &mut Dice) {
    let n = dice.number();
    match dice.below(14) {
        0..3 => hear(machine, now, RoomMessage::Ack(n)),
        3..5 => event(machine, now, "news"),
        5 => hear(machine, now, RoomMessage::Transient(&packed("spark"))),
        6 => {
            let outcome = Outcome::Refused("no");
            hear(machine, now, RoomMessage::Result { call: n, tick: Tick(n), outcome });
        }
        7 => hear(machine, now, RoomMessage::Failed(n)),
        8 => hear(machine, now, pong(n, dice.number())),
        9..12 => {
            let tick = machine.replica().tick().0 + 1 + dice.below(3);
            update(tick).complete(tick - dice.below(2)).enter(1000 + tick, 1).to(machine, now);
        }
        12 if dice.below(20) == 0 => hear(machine, now, RoomMessage::Welcome(again())),
        _ => machine.handle_bytes(now),
    }
}

/// One thing that a game, a page or a clock may do.
fn act(machine: &mut Machine, now: &mut Duration, dice: &mut Dice) {
    match dice.below(16) {
        0..3 => drop(machine.send("a")),
        3 => {
            let deadline = [None, Some(ms(0)), Some(seconds(3)), Some(Duration::MAX)][dice.below(4) as usize];
            drop(machine.call("b", "b", CallOptions { deadline, ..CallOptions::default() }));
        }
        4 => drop(machine.transient("c")),
        5 => machine.handle_hidden(*now, dice.below(2) == 0),
        6 => machine.handle_foreground(*now),
        7 => machine.handle_online(*now),
        8 => drop(machine.events().count()),
        9 => *now += seconds(dice.below(40)),
        10 if dice.below(4) == 0 => *now = now.saturating_sub(seconds(dice.below(30))),
        10 if dice.below(4) == 0 => *now += seconds(600),
        11 => {
            if let Some(saved) = machine.checkpoint() {
                let json = serde_json::to_string(&saved).unwrap();
                let saved = serde_json::from_str(&json).unwrap();
                if dice.below(3) == 0 {
                    let unix_ms = dice.number();
                    *machine = Machine::restore(schema(), options(), saved, unix_ms, 1).unwrap();
                }
            }
        }
        12 => machine.rejoin(*now),
        13 if dice.below(30) == 0 => machine.leave(*now),
        _ => machine.update(*now),
    }
}

#[test]
fn whatever_comes_it_neither_panics_nor_stands_still() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut machine = machine();
        let mut now = ms(0);
        for _ in 0..600 {
            if machine.poll_dial(now) {
                match dice.below(6) {
                    0 => machine.handle_dial_failed(now, "no route"),
                    _ => machine.handle_open(now, Vec::new()),
                }
            }
            while let Some(outgoing) = machine.poll_transmit() {
                if let Outgoing::Message(bytes) = outgoing {
                    ClientMessage::decode(&bytes).expect("what it says is well said");
                }
            }
            if machine.has_socket() && !machine.is_joined() && dice.below(2) == 0 {
                let session = SessionId(5 + dice.below(20) / 19);
                let received = dice.number().min(limits::ID_MOST / 2);
                let sent = dice.number().min(limits::ID_MOST / 2);
                let resumed = dice.below(2) == 0;
                hear(
                    &mut machine,
                    now,
                    RoomMessage::Welcome(Welcome { session, received, sent, resumed, ..first() }),
                );
            }
            if machine.is_joined() && dice.below(2) == 0 {
                lie(&mut machine, now, &mut dice);
            }
            if machine.has_socket() && dice.below(12) == 0 {
                let code = [None, Some(1001), Some(4007), Some(4008), Some(1013), Some(4012)];
                machine.handle_close(now, code[dice.below(6) as usize], "");
            }
            act(&mut machine, &mut now, &mut dice);
            let waits = machine.poll_timeout().is_some();
            let rests = machine.status().is_closed() || machine.status() == &Status::Lost;
            assert!(waits != rests, "{seed}: {machine:?}");
        }
    }
}

//! Prediction and writes, before a room that says whatever it likes.

use room::FieldMask;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
struct Pawn {
    owner: PlayerId,
    x: i32,
    #[field(writable)]
    mood: u8,
    #[field(writable)]
    note: Bytes,
}

#[derive(Input, Clone, Debug, Default, Serialize, Deserialize)]
struct Go {
    right: i32,
    #[input(once)]
    hop: bool,
}

struct Run;

impl Stepper for Run {
    type Input = Go;

    fn step(world: &mut impl StepWorld, input: &Go, seconds: f32) {
        let Some(mut pawn) = world.own::<Pawn>().and_then(|id| world.get_mut(id)) else { return };
        if seconds < 0.049 {
            // A look ahead leaves its mark too.
            pawn.set_note(Bytes::from(vec![9; 50])).unwrap();
        }
        let x = pawn.x.wrapping_add(input.right).wrapping_add(if input.hop { 1000 } else { 0 });
        pawn.set_x(x);
    }
}

const HERS: u64 = 9;

fn hers() -> Id<Pawn> {
    Id::assume(id(HERS))
}

fn whole(owner: u32, x: i32, mood: u8) -> Vec<u8> {
    let mut bytes = owner.to_le_bytes().to_vec();
    bytes.extend(x.to_le_bytes());
    bytes.extend([mood, 0]);
    bytes
}

fn enters(tick: u64, at: u64, owner: u32, x: i32) -> Update {
    let mut update = update(tick);
    update::put_enter_head(0, id(at), &mut update.content);
    update.content.extend(whole(owner, x, 0));
    update
}

/// The fields from `x` on change.
fn changes(tick: u64, at: u64, x: i32, mood: Option<u8>) -> Update {
    let mut update = update(tick);
    let mut mask = FieldMask::NONE;
    mask.insert(1);
    mood.iter().for_each(|_| mask.insert(2));
    update::put_changes_head(0, 4, mask, FieldMask::NONE, None, &mut update.content);
    varint::put(&mut update.content, at);
    update.content.extend(x.to_le_bytes());
    update.content.extend(mood);
    update.content.push(0);
    update
}

/// A machine that has joined, and whose pawn stands at 0.
fn playing() -> Machine {
    playing_since(first())
}

fn playing_since(welcome: Welcome<'_>) -> Machine {
    let mut machine = Machine::new(Schema::new().entity::<Pawn>(), options(), 1);
    let tick = welcome.tick.0;
    join(&mut machine, ms(0), welcome);
    enters(tick + 1, HERS, 7, 0).to(&mut machine, ms(0));
    machine.update(ms(0));
    said(&mut machine);
    machine
}

fn stepped(machine: &mut Machine, now: Duration, tick: u64, writes: u64) {
    hear(machine, now, RoomMessage::Stepped { tick: Tick(tick), writes });
}

/// The first tick of inputs that go now, and the last.
fn inputs(machine: &mut Machine) -> Option<(u64, u64)> {
    let ticks = said(machine).into_iter().filter_map(|said| match said {
        Said::Inputs(first, count) => Some((first.0, first.0 + count as u64 - 1)),
        _ => None,
    });
    ticks.reduce(|(first, _), (_, last)| (first, last))
}

/// Plays on for so many ticks.
fn go(machine: &mut Machine, from: u64, ticks: u64, input: &Go) -> u64 {
    for tick in from + 1..=from + ticks {
        machine.input::<Run>(input.clone());
        machine.update(ms(tick * 50));
    }
    from + ticks
}

#[test]
fn a_room_that_never_says_what_it_has_stepped_costs_no_more_and_more() {
    let mut machine = playing();
    let mut now = 0;
    for _ in 0..1500 {
        update(102 + now).to(&mut machine, ms(now * 50));
        now = go(&mut machine, now, 1, &Go { right: 1, hop: false });
        said(&mut machine);
    }
    // It speaks at last, of each tick that it was silent on, and has her elsewhere.
    changes(102 + now, HERS, -500, None).to(&mut machine, ms(now * 50));
    (101..=102 + now).for_each(|tick| stepped(&mut machine, ms(now * 50), tick, 0));
    machine.update(ms(now * 50));
    assert!(machine.is_joined() && machine.stats().corrections > 0);
    let replayed = machine.stats().replayed_inputs;
    assert!(replayed <= limits::PREDICTED * limits::PREDICTED, "{replayed} steps were made again");
}

#[test]
fn a_room_that_lies_about_its_ticks_is_played_on_in_or_left() {
    for tick in [limits::ID_MOST, limits::ID_MOST + 1, u64::MAX - 1, u64::MAX] {
        let mut machine = playing();
        go(&mut machine, 0, 20, &Go::default());
        stepped(&mut machine, ms(1000), tick, u64::MAX);
        go(&mut machine, 20, 20, &Go { right: 1, hop: false });
        if machine.is_joined() {
            // The next word that can be true is believed.
            stepped(&mut machine, ms(2000), 140, 0);
            go(&mut machine, 40, 20, &Go { right: 1, hop: false });
            assert!(machine.get(hers()).unwrap().x > 0, "she plays on");
            assert!(inputs(&mut machine).is_some());
        }
        // It begins so.
        let mut machine = Machine::new(Schema::new().entity::<Pawn>(), options(), 1);
        open(&mut machine, ms(0));
        hear(&mut machine, ms(0), RoomMessage::Welcome(Welcome { tick: Tick(tick), ..first() }));
        enters(tick, HERS, 7, 0).to(&mut machine, ms(0));
        go(&mut machine, 0, 20, &Go::default());
    }
}

#[test]
fn pongs_may_say_anything() {
    let mut machine = playing();
    for (n, clock) in [0, 1, u64::MAX, 50_000].into_iter().cycle().take(40).enumerate() {
        let report = Report { early: Some(u32::MAX - 1), late: u32::MAX, starved: u32::MAX };
        let time = [0, u64::MAX, 1 << 53, 100_000][n % 3];
        hear(&mut machine, ms(n as u64 * 50), RoomMessage::Pong { clock, time, inputs: report });
        go(&mut machine, n as u64, 1, &Go { right: 1, hop: true });
    }
    assert!(machine.lead_ticks().is_finite());
    said(&mut machine);
}

#[test]
fn a_clock_that_comes_back_from_far_ahead_is_played_by_again() {
    let mut machine = playing();
    let mut now = go(&mut machine, 0, 20, &Go { right: 1, hop: false });
    let clock = now * 50_000;
    // An answer from a year ahead, and then, once that is forgotten, true ones.
    hear(&mut machine, ms(now * 50), pong(clock, 630_720_000_000));
    now = go(&mut machine, now, 1, &Go::default());
    said(&mut machine);
    for _ in 0..40 {
        hear(&mut machine, ms(now * 50), pong(now * 50_000, (100 + now) * 1000));
        now = go(&mut machine, now, 1, &Go { right: 1, hop: false });
    }
    said(&mut machine);
    let before = machine.get(hers()).unwrap().x;
    now = go(&mut machine, now, 10, &Go { right: 1, hop: false });
    let went = inputs(&mut machine).expect("inputs go again");
    assert!((90 + now..115 + now).contains(&went.1), "{went:?} at {}", 100 + now);
    assert!(machine.get(hers()).unwrap().x >= before + 9);
}

#[test]
fn a_jump_that_was_made_offline_is_not_made_after_the_welcome() {
    let mut machine = playing();
    go(&mut machine, 0, 20, &Go::default());
    machine.handle_close(ms(1000), None, "the link broke");
    go(&mut machine, 20, 2, &Go { right: 0, hop: true });
    machine.handle_online(ms(1100));
    join(&mut machine, ms(1100), Welcome { tick: Tick(122), ..again() });
    changes(123, HERS, 5, None).to(&mut machine, ms(1150));
    go(&mut machine, 22, 10, &Go::default());
    assert_eq!(machine.get(hers()).unwrap().x, 5);
}

#[test]
fn what_was_to_go_over_one_connection_does_not_go_over_the_next() {
    let mut machine = playing();
    machine.write(hers()).unwrap().set_mood(1);
    go(&mut machine, 0, 3, &Go { right: 1, hop: false });
    machine.handle_close(ms(150), None, "the link broke");
    machine.handle_online(ms(150));
    join(&mut machine, ms(150), Welcome { tick: Tick(103), ..again() });
    let early = said(&mut machine);
    let play = |said: &Said| matches!(said, Said::Inputs(..) | Said::Writes(..));
    assert!(!early.iter().any(play), "{early:?}");
    changes(104, HERS, 0, None).to(&mut machine, ms(200));
    go(&mut machine, 3, 2, &Go { right: 1, hop: false });
    let later = said(&mut machine);
    assert!(later.contains(&Said::Writes(1, 1)), "{later:?}");
}

#[test]
fn what_fits_in_no_message_is_taken_back_and_what_is_written_beside_it_goes() {
    let mut machine = playing();
    let mut pawn = machine.write(hers()).unwrap();
    pawn.set_note(Bytes::from(vec![1; limits::CLIENT_PAYLOAD])).unwrap();
    pawn.set_mood(3);
    assert_eq!(machine.get(hers()).unwrap().note.len(), limits::CLIENT_PAYLOAD);
    machine.update(ms(100));
    let shown = machine.get(hers()).unwrap();
    assert_eq!((shown.note.len(), shown.mood), (0, 3));
    assert!(said(&mut machine).contains(&Said::Writes(1, 1)));
    // The longest that goes.
    machine.write(hers()).unwrap().set_note(Bytes::from(vec![1; limits::CLIENT_PAYLOAD - 80])).unwrap();
    machine.update(ms(200));
    assert!(said(&mut machine).contains(&Said::Writes(2, 1)));
}

#[test]
fn an_entity_that_changed_hands_goes_on_as_the_room_has_it() {
    let mut machine = playing();
    go(&mut machine, 0, 3, &Go { right: 1, hop: false });
    machine.write(hers()).unwrap().set_mood(1);
    // Another's, under the same ID.
    let mut other = update(110).leave(HERS);
    other.content.extend(enters(110, HERS, 8, 40).content);
    other.to(&mut machine, ms(200));
    go(&mut machine, 4, 5, &Go { right: 1, hop: false });
    assert_eq!(machine.get(hers()), machine.confirmed(hers()));
    assert!(!said(&mut machine).iter().any(|said| matches!(said, Said::Writes(..))));
    assert!(matches!(machine.write(hers()), Err(WriteRefused::NotOwner { .. })));
}

/// A room without a rule, but that its updates can be applied.
struct Liar {
    seed: u64,
    tick: u64,
    here: std::collections::BTreeMap<u64, (u32, i32, u8)>,
}

impl Liar {
    fn below(&mut self, most: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 8) % most
    }

    fn any(&mut self, near: u64) -> u64 {
        match self.below(6) {
            0 => self.below(1 << 53),
            1 => near + self.below(300),
            2 => near.saturating_sub(self.below(300)),
            3 => 0,
            _ => near.saturating_sub(self.below(4)),
        }
    }

    fn speak(&mut self, machine: &mut Machine, now: Duration) {
        let (at, x) = (HERS + self.below(3), self.below(50) as i32);
        match self.below(9) {
            0 => {
                self.tick += 1;
                if self.here.remove(&at).is_some() {
                    update(self.tick).leave(at).to(machine, now);
                } else {
                    let owner = 7 + self.below(2) as u32;
                    self.here.insert(at, (owner, x, 0));
                    enters(self.tick, at, owner, x).to(machine, now);
                }
            }
            1..=3 => {
                let Some(it) = self.here.get_mut(&at) else { return };
                self.tick += 1;
                (it.1, it.2) = (x, x as u8);
                changes(self.tick, at, x, Some(x as u8)).to(machine, now);
            }
            4..=6 => {
                let (tick, writes) = (self.any(self.tick), self.any(3));
                stepped(machine, now, tick, writes);
            }
            7 => {
                let clock = self.any(now.as_micros() as u64);
                let (late, starved) = (self.any(2) as u32, self.any(2) as u32);
                let inputs =
                    Report { early: Some(self.any(3) as u32).filter(|early| *early < 99), late, starved };
                let time = self.any(self.tick) * 1000;
                hear(machine, now, RoomMessage::Pong { clock, time, inputs });
            }
            _ if self.below(6) == 0 => {
                self.tick += 1;
                let sends = *[1, 1, 3].get(self.below(3) as usize).unwrap();
                resume(machine, now, Welcome { tick: Tick(self.tick), send_every: sends, ..again() });
                machine.update(now);
            }
            _ => {}
        }
    }
}

#[test]
fn whatever_a_room_says_a_client_shows_what_it_has_once_it_is_true_again() {
    for seed in 0..60_u64 {
        let mut machine = playing();
        let mut liar = Liar {
            seed: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            tick: 101,
            here: [(HERS, (7, 0, 0))].into(),
        };
        let mut now = 0;
        for _ in 0..300 {
            let gaps = if liar.below(20) == 0 { 6 } else { 5 };
            now += [0, 17, 17, 50, 400, 11_000][liar.below(gaps) as usize];
            (0..liar.below(4)).for_each(|_| liar.speak(&mut machine, ms(now)));
            let pawn = Id::<Pawn>::assume(id(HERS + liar.below(3)));
            if let Ok(mut pawn) = machine.write(pawn) {
                pawn.set_mood(liar.below(200) as u8);
                pawn.set_note(Bytes::from(vec![3; liar.below(400) as usize])).unwrap();
            }
            machine.input::<Run>(Go { right: liar.below(3) as i32, hop: liar.below(9) == 0 });
            machine.update(ms(now));
            said(&mut machine);
            assert!(machine.is_joined(), "seed {seed}: {:?}", machine.status());
        }
        // Everything was handled, and nothing more is done.
        for _ in 0..4 {
            now += 50;
            liar.tick += 1;
            update(liar.tick).to(&mut machine, ms(now));
            stepped(&mut machine, ms(now), limits::ID_MOST, u64::MAX);
            machine.update(ms(now));
            said(&mut machine);
        }
        machine.replica.unstep();
        let shown: Vec<_> = machine.all::<Pawn>().map(|(id, pawn)| (id.get(), pawn.clone())).collect();
        let here = liar.here.iter().map(|(at, (owner, x, mood))| {
            (*at, Pawn { owner: PlayerId(*owner), x: *x, mood: *mood, note: Bytes::default() })
        });
        assert_eq!(shown, here.collect::<Vec<_>>(), "seed {seed}");
    }
}

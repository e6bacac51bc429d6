//! Random writes, steps, changes of the room, acknowledgements and leaves, against a model that works all out anew.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::*;
use crate::field::write::WriteError;
use crate::wire::Reader;
use crate::{Bytes, PlayerId, limits};

#[derive(crate::Entity, Clone, Debug, PartialEq)]
#[entity(crate = "crate", owner = owner)]
struct Pawn {
    owner: PlayerId,
    x: i32,
    #[field(writable)]
    mood: u8,
    #[field(writable)]
    name: String,
    trail: Bytes,
}

fn pawn() -> Pawn {
    Pawn { owner: PlayerId(1), x: 0, mood: 0, name: String::new(), trail: Bytes::default() }
}

fn id(id: u64) -> EntityId {
    EntityId::explicit(id).expect("it is one")
}

/// A room with one entity, and what is shown of it.
struct One {
    ahead: Ahead<Pawn>,
    rows: BTreeMap<EntityId, Pawn>,
}

impl One {
    fn new(pawn: Pawn) -> One {
        One { ahead: Ahead::default(), rows: BTreeMap::from([(id(9), pawn)]) }
    }

    fn open(&mut self, writer: Writer) -> PawnMut<'_> {
        Pawn::writer(self.ahead.open(id(9), &self.rows[&id(9)], writer))
    }

    fn change(&mut self, change: impl FnOnce(&mut Pawn)) {
        let row = self.rows.get_mut(&id(9)).expect("it is there");
        change(row);
        self.ahead.changed(id(9), row);
    }

    fn shown(&self) -> &Pawn {
        self.ahead.get(id(9)).unwrap_or(&self.rows[&id(9)])
    }
}

#[test]
fn a_text_that_is_written_shorter_after_the_room_changed_something_else_is_written() {
    let mut one = One::new(pawn());
    one.open(Writer::Player).set_name("n".repeat(300)).expect("it fits");
    one.change(|pawn| pawn.x = 5);
    one.open(Writer::Player).set_name(String::new()).expect("it is shorter");
    one.open(Writer::Player).set_name("n".repeat(limits::TEXT)).expect("it fits");
    assert_eq!((one.shown().x, one.shown().name.len()), (5, limits::TEXT));
}

#[test]
fn looks_between_two_ticks_cost_no_room_for_what_is_written() {
    let mut one = One::new(Pawn { name: "n".repeat(900), ..pawn() });
    one.open(Writer::Step).set_x(1);
    for _ in 0..200 {
        for name in [String::new(), "n".repeat(2000)] {
            let saved = one.ahead.save();
            one.open(Writer::Step).set_name(name).expect("it fits");
            one.ahead.restore(saved);
        }
        one.open(Writer::Step).set_name("n".repeat(2000)).expect("it fits");
        one.open(Writer::Step).set_name("n".repeat(900)).expect("it fits");
    }
}

#[test]
fn an_entity_that_is_larger_than_any_may_be_is_refused_more_and_given_less() {
    let trail = Bytes::from(vec![7; limits::BLOB]);
    let mut one = One::new(Pawn { trail, name: "n".repeat(limits::TEXT), ..pawn() });
    let refused = one.open(Writer::Player).set_name("m".repeat(limits::TEXT - 1));
    assert_eq!(refused, Ok(()), "it is less than it was");
    let refused = one.open(Writer::Player).set_name("n".repeat(limits::TEXT));
    assert!(matches!(refused, Err(WriteError::EntityTooLarge { .. })), "{refused:?}");
    one.open(Writer::Player).set_name(String::new()).expect("it is shorter");
    assert_eq!(one.shown().name, "");
}

#[test]
fn what_a_step_makes_of_what_she_wrote_is_taken_back_and_does_not_go_as_her_own() {
    let mut one = One::new(pawn());
    one.open(Writer::Player).set_mood(10);
    for tick in 1..=3 {
        let mut step = one.open(Writer::Step);
        let mood = step.mood + 1;
        step.set_mood(mood);
        one.ahead.stepped(Tick(tick));
    }
    assert_eq!(one.shown().mood, 13);
    let mut went = Vec::new();
    one.ahead.send(1, &one.rows, &mut |_, fields| {
        went = fields.to_vec();
        true
    });
    assert_eq!(went.last(), Some(&10));
    one.ahead.unstep(&one.rows);
    assert_eq!(one.shown().mood, 10, "as the steps found it");
}

/// The naive overlay of one entity.
#[derive(Clone, Debug, Default)]
struct Naive {
    /// What she wrote and of which nothing was said: the value, and the number with which it went.
    mine: BTreeMap<u8, (Value, u64)>,
    /// Fields that were predicted.
    stepped: std::collections::BTreeSet<u8>,
    /// All that is shown otherwise than the room has it.
    top: BTreeMap<u8, Value>,
}

/// A value of a field.
type Value = (i64, String);

const FIELDS: [u8; 4] = [1, 2, 3, 4];

fn read(pawn: &Pawn, field: u8) -> Value {
    match field {
        1 => (pawn.x.into(), String::new()),
        2 => (pawn.mood.into(), String::new()),
        3 => (0, pawn.name.clone()),
        _ => (0, String::from_utf8_lossy(&pawn.trail).into_owned()),
    }
}

fn set(pawn: &mut Pawn, field: u8, (number, text): &Value) {
    match field {
        1 => pawn.x = *number as i32,
        2 => pawn.mood = *number as u8,
        3 => pawn.name.clone_from(text),
        _ => pawn.trail = Bytes::from(text.clone().into_bytes()),
    }
}

fn write(mut pawn: PawnMut<'_>, field: u8, (number, text): &Value) {
    match field {
        1 => pawn.set_x(*number as i32),
        2 => pawn.set_mood(*number as u8),
        3 => pawn.set_name(text.clone()).expect("it fits"),
        _ => pawn.set_trail(Bytes::from(text.clone().into_bytes())).expect("it fits"),
    }
}

impl Naive {
    fn shown(&self, room: &Pawn) -> Pawn {
        let mut shown = room.clone();
        self.top.iter().for_each(|(field, value)| set(&mut shown, *field, value));
        shown
    }

    fn unstep(&mut self) {
        self.stepped.clear();
        self.top = self.mine.iter().map(|(field, (value, _))| (*field, value.clone())).collect();
    }

    fn settle(&mut self, number: u64) {
        let gone: Vec<u8> =
            self.mine.iter().filter(|(_, of)| of.1 != 0 && of.1 <= number).map(|(field, _)| *field).collect();
        for field in gone {
            self.mine.remove(&field);
            if !self.stepped.contains(&field) {
                self.top.remove(&field);
            }
        }
    }
}

struct Both {
    rng: ChaCha8Rng,
    rows: BTreeMap<EntityId, Pawn>,
    ahead: Ahead<Pawn>,
    naive: BTreeMap<EntityId, Naive>,
    /// What was shown after each tick that was predicted.
    past: BTreeMap<u64, BTreeMap<EntityId, Pawn>>,
    tick: u64,
    number: u64,
}

impl Both {
    fn below(&mut self, most: u32) -> u32 {
        self.rng.next_u32() % most
    }

    fn value(&mut self) -> Value {
        let len = self.below(40) as usize;
        (self.below(4).into(), "v".repeat(len))
    }

    fn id(&mut self) -> EntityId {
        id(2 + u64::from(self.below(4)))
    }

    fn write(&mut self, writer: Writer) {
        let (at, field, value) = (self.id(), FIELDS[self.below(4) as usize], self.value());
        let field = if writer == Writer::Player { 2 + field % 2 } else { field };
        let Some(row) = self.rows.get(&at) else { return };
        let naive = self.naive.entry(at).or_default();
        // What is written as it is shown records nothing.
        let value = if field < 3 { (value.0, String::new()) } else { (0, value.1) };
        if read(&naive.shown(row), field) != value {
            naive.top.insert(field, value.clone());
            match writer {
                Writer::Player => _ = naive.mine.insert(field, (value.clone(), 0)),
                Writer::Step => _ = naive.stepped.insert(field),
                Writer::Call => unreachable!("calls have tests of their own"),
            }
        }
        write(Pawn::writer(self.ahead.open(at, row, writer)), field, &value);
    }

    fn room(&mut self) {
        let (at, field, value) = (self.id(), FIELDS[self.below(4) as usize], self.value());
        match (self.rows.get_mut(&at), self.rng.next_u32() % 8) {
            (Some(_), 0) => {
                self.rows.remove(&at);
                self.naive.remove(&at);
                self.ahead.left(at);
            }
            (Some(row), _) => {
                set(row, field, &value);
                self.ahead.changed(at, row);
            }
            (None, _) => _ = self.rows.insert(at, pawn()),
        }
    }

    fn send(&mut self) {
        self.number += 1;
        let (number, most) = (self.number, self.below(3));
        let (mut went, mut tried) = (Vec::new(), 0);
        self.ahead.send(number, &self.rows, &mut |at, fields| {
            tried += 1;
            if tried <= most {
                went.push((at, fields.to_vec()));
            }
            tried <= most
        });
        for (at, bytes) in went {
            let mut r = Reader::new(&bytes);
            let mask = FieldMask::take(5, &mut r).expect("a mask");
            let mut read_back = pawn();
            record::take_fields(&mut read_back, mask, &mut r, |_| ()).expect("its fields");
            r.end().expect("no more");
            let naive = self.naive.get_mut(&at).expect("she wrote it");
            for field in mask.iter() {
                let of = naive.mine.get_mut(&(field as u8)).expect("she wrote it");
                assert_eq!((&read(&read_back, field as u8), of.1), (&of.0, 0), "what she wrote, once");
                of.1 = number;
            }
        }
    }

    fn stepped(&mut self) {
        self.tick += 1;
        self.ahead.stepped(Tick(self.tick));
        let stepped = self.naive.iter().filter(|(_, naive)| !naive.stepped.is_empty());
        let past = stepped.map(|(at, naive)| (*at, naive.shown(&self.rows[at]))).collect();
        self.past.insert(self.tick, past);
    }

    fn compare_past(&mut self) {
        let tick = self.tick.saturating_sub(self.below(4).into());
        let differs = self.past.get(&tick).is_some_and(|past| {
            past.iter().any(|(at, predicted)| {
                let Some((room, naive)) = self.rows.get(at).zip(self.naive.get(at)) else { return false };
                naive.stepped.iter().any(|field| read(room, *field) != read(predicted, *field))
            })
        });
        assert_eq!(self.ahead.differs(Tick(tick), &self.rows), differs);
        self.ahead.forget_past(Tick(tick));
        self.past.retain(|of, _| *of > tick);
    }

    fn look(&mut self) {
        let naive = self.naive.clone();
        let saved = self.ahead.save();
        (0..self.below(4)).for_each(|_| self.write(Writer::Step));
        for (at, naive) in &self.naive {
            let shown = naive.shown(&self.rows[at]);
            assert_eq!(self.ahead.get(*at).unwrap_or(&self.rows[at]), &shown);
        }
        let looked = std::mem::replace(&mut self.naive, naive);
        self.ahead.restore(saved);
        for (at, preview) in self.ahead.previews() {
            assert_eq!(*preview, looked[&at].shown(&self.rows[&at]));
        }
    }

    fn act(&mut self) {
        match self.below(20) {
            0..=4 => self.write(Writer::Player),
            5..=8 => self.write(Writer::Step),
            9 | 10 => self.room(),
            11 | 12 => self.send(),
            13 => {
                let number = self.number.saturating_sub(self.below(3).into());
                self.ahead.settle(number, &self.rows);
                self.naive.values_mut().for_each(|naive| naive.settle(number));
            }
            14 => {
                self.ahead.unstep(&self.rows);
                self.naive.values_mut().for_each(Naive::unstep);
                self.past.clear();
            }
            15 => {
                self.ahead.send_again();
                let all = self.naive.values_mut().flat_map(|naive| naive.mine.values_mut());
                all.for_each(|of| of.1 = 0);
            }
            16 => self.look(),
            17 => self.compare_past(),
            18 if self.below(30) == 0 => {
                self.ahead.clear();
                (self.naive, self.past) = (BTreeMap::new(), BTreeMap::new());
            }
            _ => self.stepped(),
        }
    }

    fn check(&self) {
        for (at, row) in &self.rows {
            let naive = self.naive.get(at).cloned().unwrap_or_default();
            assert_eq!(self.ahead.get(*at).unwrap_or(row), &naive.shown(row), "{at}: {naive:?}");
            let mine: Vec<usize> = naive.mine.keys().map(|field| usize::from(*field)).collect();
            assert_eq!(self.ahead.written(*at).iter().collect::<Vec<_>>(), mine);
        }
        for (at, shown) in &self.ahead.shown {
            assert!(self.rows.contains_key(at), "{at} is not here any more");
            let mut whole = Vec::new();
            record::put_fields(&shown.value, FieldMask::first(5), &mut whole);
            assert_eq!(shown.size as usize, whole.len(), "{at}");
        }
    }
}

#[test]
fn what_is_shown_is_what_a_naive_model_works_out() {
    for seed in 0..400 {
        let rows = (2..6).map(|at| (id(at), pawn())).collect();
        let mut both = Both {
            rng: ChaCha8Rng::seed_from_u64(seed),
            rows,
            ahead: Ahead::default(),
            naive: BTreeMap::new(),
            past: BTreeMap::new(),
            tick: 0,
            number: 0,
        };
        for _ in 0..200 {
            both.act();
            both.check();
        }
    }
}

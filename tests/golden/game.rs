//! The game whose messages the wire chapter shows.

use std::collections::BTreeMap;

use room::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Match {
    pub(crate) round: u32,
}

#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
pub(crate) struct Deck {
    pub(crate) order: Json<Vec<u8>>,
}

#[derive(FieldEnum, Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mood {
    Calm = 0,
    Angry = 5,
}

/// A field of every type.
#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
pub(crate) struct Unit {
    pub(crate) owner: PlayerId,
    pub(crate) alive: bool,
    pub(crate) level: u8,
    pub(crate) gold: u16,
    pub(crate) score: u32,
    pub(crate) seed: u64,
    pub(crate) bonus: i8,
    pub(crate) heat: i16,
    pub(crate) depth: i32,
    pub(crate) debt: i64,
    pub(crate) speed: f32,
    pub(crate) time: f64,
    #[field(writable, quantize(step = 0.5, min = 0.0, max = 100.0))]
    pub(crate) aim: f64,
    pub(crate) cell: [i32; 3],
    pub(crate) target: Option<u32>,
    pub(crate) mood: Mood,
    pub(crate) name: String,
    pub(crate) blocks: Bytes,
    pub(crate) cards: Json<BTreeMap<String, u8>>,
}

#[derive(Entity, Clone, Debug, PartialEq)]
pub(crate) struct Point {
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    pub(crate) x: f32,
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    pub(crate) y: f32,
}

/// The event that the chapter shows.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hit {
    pub(crate) by: u32,
}

/// What a game's messages are made of, each once.
pub(crate) type Forms = (Act, Act, Act, Act, Option<u8>, Option<u8>);

/// An enum with each sort of variant.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Act {
    Wait,
    Say(String),
    Move(i32, i32),
    Hit { by: u32 },
}

pub(crate) fn forms() -> Forms {
    (Act::Wait, Act::Say("hi".into()), Act::Move(1, -2), Act::Hit { by: 5 }, None, Some(7))
}

/// A game without rules: the test plays it.
#[derive(Default)]
pub(crate) struct Golden {
    pub(crate) empty: bool,
    /// How many entities clients keep after they left; where it is not 0, points are seen from nearby alone.
    pub(crate) retain: usize,
    pub(crate) away: bool,
}

pub(crate) const UNIT: u64 = 300;

impl Game for Golden {
    type Event = Hit;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().state::<Match>().entity::<Deck>().entity::<Unit>().entity::<Point>()
    }

    fn interest(&self) -> Visibility<Self> {
        if self.retain == 0 {
            return Visibility::everything();
        }
        grid(1000.0)
            .dims(Xy)
            .kind(|point: &Point| [point.x, point.y])
            .around(|room: RoomRef<'_, Golden>, _| (!room.game.away).then_some([0.0, 0.0]))
            .range(2000.0)
            .retain(self.retain)
    }

    fn calls() -> Calls<Self> {
        Calls::new().on("heal", |_: &mut Golden, _room, _peer, _by: Hit| Ok::<_, Refused>(7))
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        if self.empty {
            return;
        }
        room.create(Deck { order: Json::new(vec![3, 1, 2]) }).unwrap();
        room.create_with_id(10, Point { x: -1000.0, y: 0.0 }).unwrap();
        room.create_with_id(12, Point { x: 12.34, y: 1000.0 }).unwrap();
        if self.retain > 0 {
            room.create_with_id(14, Point { x: 0.0, y: 0.0 }).unwrap();
        }
        let unit = Unit {
            owner: PlayerId(1),
            alive: true,
            level: 7,
            gold: 500,
            score: 70_000,
            seed: u64::MAX,
            bonus: -1,
            heat: -300,
            depth: 70_000,
            debt: i64::MIN,
            speed: 1.5,
            time: -0.25,
            aim: 45.0,
            cell: [1, -1, 256],
            target: Some(9),
            mood: Mood::Calm,
            name: "Zoë".into(),
            blocks: Bytes::from(vec![1, 2, 3, 4, 5, 6, 7, 8]),
            cards: Json::new(BTreeMap::from([("b".into(), 2), ("a".into(), 1)])),
        };
        room.create_with_id(UNIT, unit).unwrap();
    }
}

/// Moves all points.
pub fn move_points(room: &mut Room<Golden>, dx: f32, dy: f32) {
    let points: Vec<_> = room.all::<Point>().map(|(id, _)| id).collect();
    for id in points {
        let mut point = room.get_mut(id).unwrap();
        let (x, y) = (point.x + dx, point.y + dy);
        point.set_x(x);
        point.set_y(y);
    }
}

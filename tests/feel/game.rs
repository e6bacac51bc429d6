//! A hall with pillars, in which players walk and jump.

use room::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner, history = "1s")]
pub(crate) struct Walker {
    pub(crate) owner: PlayerId,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) height: f32,
    pub(crate) climb: f32,
    pub(crate) jumps: u32,
    pub(crate) presses: u32,
}

#[derive(Entity, Clone, Debug)]
pub(crate) struct Pillar {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Input, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Steer {
    pub(crate) right: f32,
    pub(crate) forth: f32,
    #[input(once)]
    pub(crate) jump: bool,
}

/// Where somebody aims, and at which time she drew what she aims at.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shot {
    pub(crate) target: u64,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) drawn: f64,
}

/// Meters a second.
pub(crate) const SPEED: f32 = 5.0;
const GRAVITY: f32 = 20.0;
const JUMP: f32 = 7.0;
/// A pillar's and a walker's radius together.
const REACH: f32 = 1.2;

pub(crate) struct Walk;

impl Stepper for Walk {
    type Input = Steer;

    fn step(world: &mut impl StepWorld, input: &Steer, seconds: f32) {
        let Some(id) = world.own::<Walker>() else { return };
        let Some(walker) = world.get(id).cloned() else { return };
        let (right, forth) = (input.right.clamp(-1.0, 1.0), input.forth.clamp(-1.0, 1.0));
        let length = room::step::math::hypot(right, forth).max(1.0);
        let (mut x, mut y) =
            (walker.x + right / length * SPEED * seconds, walker.y + forth / length * SPEED * seconds);
        for (_, pillar) in world.all::<Pillar>() {
            let (dx, dy) = (x - pillar.x, y - pillar.y);
            let away = room::step::math::hypot(dx, dy);
            if away < REACH && away > 0.0 {
                (x, y) = (pillar.x + dx / away * REACH, pillar.y + dy / away * REACH);
            }
        }
        (x, y) = (x.clamp(-20.0, 20.0), y.clamp(-20.0, 20.0));
        let jumps = input.jump && walker.height <= 0.0;
        let climb = if jumps { JUMP } else { walker.climb } - GRAVITY * seconds;
        let height = walker.height + climb * seconds;
        let Some(mut writer) = world.get_mut(id) else { return };
        writer.set_x(x);
        writer.set_y(y);
        writer.set_height(height.max(0.0));
        writer.set_climb(if height > 0.0 { climb } else { 0.0 });
        if input.jump {
            writer.set_presses(walker.presses + 1);
        }
        if jumps {
            writer.set_jumps(walker.jumps + 1);
        }
    }
}

pub(crate) struct Hall;

impl Game for Hall {
    type Event = Shot;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().entity::<Walker>().entity::<Pillar>()
    }

    fn steps() -> Steps<Self> {
        Steps::by::<Walk>()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        for n in 0..25_u8 {
            let (x, y) = (f32::from(n % 5) * 7.0 - 14.0, f32::from(n / 5) * 7.0 - 14.0);
            room.create(Pillar { x, y }).expect("it fits");
        }
    }

    /// A shot hits what is where the shooter aimed: as she drew it, and as it is.
    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, shot: Shot) {
        let target = Id::<Walker>::assume(EntityId::from_wire(shot.target).expect("an ID"));
        let near =
            |walker: Option<Walker>| walker.is_some_and(|at| (at.x - shot.x).hypot(at.y - shot.y) < 0.3);
        let then = room.rewind(peer.conn, shot.drawn, |past| near(past.get(target)));
        let now = near(room.get(target).cloned());
        room.send(peer.conn, &(then, now)).expect("it is short");
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let x = f32::from(peer.player.0 as u8) * 2.0 - 3.0;
        let walker = Walker { owner: peer.player, x, y: 3.0, height: 0.0, climb: 0.0, jumps: 0, presses: 0 };
        room.create(walker).map(|_| ()).map_err(|error| Refused::new(error.to_string()))
    }
}

//! A field with walls on which players walk.

use room::prelude::*;
use room::runtime::Settings;
use room_client::testing::{TestClient, TestRoom};
use serde::{Deserialize, Serialize};

#[derive(Entity, Clone, Debug, PartialEq)]
#[entity(owner = owner)]
pub(crate) struct Avatar {
    pub(crate) owner: PlayerId,
    #[field(quantize(step = 0.01, min = -100.0, max = 100.0))]
    pub(crate) x: f32,
    pub(crate) jumps: u32,
    #[field(writable, quantize(step = 0.5, min = -90.0, max = 90.0))]
    pub(crate) aim: f32,
    #[field(writable)]
    pub(crate) tilt: f32,
    #[field(writable)]
    pub(crate) mood: u8,
    pub(crate) hp: u8,
}

/// Nobody walks past it to the right.
#[derive(Entity, Clone, Debug)]
pub(crate) struct Wall {
    pub(crate) x: f32,
}

/// A player's own.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Purse {
    pub(crate) steps: u32,
}

#[derive(Input, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Steer {
    pub(crate) right: f32,
    #[input(once)]
    pub(crate) jump: bool,
    #[input(keep)]
    pub(crate) heading: u8,
}

pub(crate) struct Walk;

impl Stepper for Walk {
    type Input = Steer;

    fn step(world: &mut impl StepWorld, input: &Steer, seconds: f32) {
        let wall = world.all::<Wall>().map(|(_, wall)| wall.x).fold(f32::INFINITY, f32::min);
        let Some(mut avatar) = world.own::<Avatar>().and_then(|id| world.get_mut(id)) else { return };
        let x = avatar.x + input.right.clamp(-1.0, 1.0) * 4.0 * seconds;
        avatar.set_x(x.min(wall));
        if input.jump {
            let jumps = avatar.jumps + 1;
            avatar.set_jumps(jumps);
        }
        if input.right != 0.0
            && let Some(mut purse) = world.private_mut::<Purse>()
        {
            let steps = purse.steps + 1;
            purse.set_steps(steps);
        }
    }
}

pub(crate) struct Field;

impl Game for Field {
    type Event = String;
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().private::<Purse>().entity::<Avatar>().entity::<Wall>()
    }

    fn steps() -> Steps<Self> {
        Steps::by::<Walk>()
    }

    /// Shifts a wall, not too far.
    fn calls() -> Calls<Self> {
        Calls::new().on("shift", |_, room: &mut Room<Self>, _, (wall, by): (u64, f32)| {
            let wall = Id::<Wall>::assume(EntityId::from_wire(wall).ok_or_else(|| Refused::new("no ID"))?);
            let mut wall = room.get_mut(wall).ok_or_else(|| Refused::new("no wall"))?;
            if by > 10.0 {
                return Err(Refused::new("too far"));
            }
            let x = wall.x + by;
            wall.set_x(x);
            Ok(x)
        })
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let avatar = Avatar { owner: peer.player, x: 0.0, jumps: 0, aim: 0.0, tilt: 0.0, mood: 0, hp: 10 };
        room.create_with_id(100 + u64::from(peer.player.0), avatar)
            .map(|_| ())
            .map_err(|e| Refused::new(e.to_string()))
    }

    fn on_write(&mut self, _: &mut Room<Self>, _: Peer, written: &mut Written) -> Result<(), Refused> {
        let Some(avatar) = written.get_mut::<Avatar>() else { return Ok(()) };
        if avatar.mood == 13 {
            return Err(Refused::new("unlucky"));
        }
        avatar.mood = avatar.mood.min(99);
        // No field that was written, so nobody gets richer.
        avatar.hp = 255;
        Ok(())
    }
}

pub(crate) fn room() -> TestRoom<Field> {
    TestRoom::with(Field, Settings { tick_rate: 20, send_every: 1, ..Settings::default() })
}

/// The entity of a client's player.
pub(crate) fn own(client: &TestClient) -> Id<Avatar> {
    let player = client.player().expect("she has joined");
    Id::assume(EntityId::explicit(100 + u64::from(player.0)).expect("it is one"))
}

pub(crate) fn seen(client: &TestClient, id: Id<Avatar>) -> Avatar {
    client.replica().get(id).expect("it is seen").clone()
}

pub(crate) fn stored(room: &TestRoom<Field>, id: Id<Avatar>) -> Avatar {
    room.room().get(id).expect("it lives").clone()
}

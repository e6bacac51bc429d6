//! A game with entities of every lifetime.

use room::prelude::*;
use room::runtime::Settings;
use room_client::testing::{TestClient, TestRoom};
use serde::{Deserialize, Serialize};

#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub(crate) struct Score {
    pub(crate) rounds: u32,
    pub(crate) dice: u64,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub(crate) struct Purse {
    pub(crate) coins: u32,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(owner = owner)]
pub(crate) struct Walker {
    pub(crate) owner: PlayerId,
    #[field(coarse)]
    pub(crate) x: f64,
    pub(crate) hp: u32,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
pub(crate) struct Rock {
    pub(crate) data: Bytes,
    pub(crate) label: String,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(ephemeral)]
pub(crate) struct Spark {
    pub(crate) heat: u32,
}

#[derive(Entity, Clone, Debug, Default, PartialEq)]
#[entity(hidden)]
pub(crate) struct Vault {
    pub(crate) gold: u64,
}

/// What players ask for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Rock(String),
    Paint(u64, String),
    Dig(u64, u32, u8),
    Break(u64),
    Walk(f64),
    Hit(u32),
    Spark(u32),
    Hide(u64),
    Roll,
    Earn(u32),
    Say(String),
    /// Asks for something outside.
    Pay(String),
    Panic,
    /// Makes the tick panic.
    Poison,
}

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) woken: bool,
    pub(crate) drops: Vec<(PlayerId, Dropped)>,
    pub(crate) leaves: Vec<PlayerId>,
    pub(crate) handled: Vec<String>,
    poisoned: bool,
}

impl Game for World {
    type Event = Ask;
    type Scratch = ();

    fn schema() -> Schema {
        let schema = Schema::new().state::<Score>().private::<Purse>();
        schema.entity::<Walker>().entity::<Rock>().entity::<Spark>().entity::<Vault>()
    }

    fn calls() -> Calls<Self> {
        Calls::new().on("earn", |_, room, peer, coins: u32| {
            let mut purse = room.private_mut::<Purse>(peer.player).ok_or_else(|| Refused::new("no purse"))?;
            let sum = purse.coins + coins;
            purse.set_coins(sum);
            Ok(sum)
        })
    }

    fn on_wake(&mut self, _: &mut Room<Self>) {
        self.woken = true;
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        if !room.all::<Walker>().any(|(_, walker)| walker.owner == peer.player) {
            let walker = Walker { owner: peer.player, ..Walker::default() };
            room.create(walker).map_err(|error| Refused::new(error.to_string()))?;
        }
        Ok(())
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, ask: Ask) {
        self.handled.push(format!("{ask:?}"));
        // What is gone by now cannot be had.
        let _ = self.obey(room, peer, ask);
    }

    fn on_tick(&mut self, _: &mut Room<Self>) {
        assert!(!self.poisoned, "the test asked for it");
    }

    fn on_drop(&mut self, _: &mut Room<Self>, player: PlayerId, _: SessionId, how: Dropped) {
        self.drops.push((player, how));
    }

    fn on_leave(&mut self, _: &mut Room<Self>, player: PlayerId, _: LeaveReason) {
        self.leaves.push(player);
    }
}

impl World {
    fn obey(
        &mut self,
        room: &mut Room<Self>,
        peer: Peer,
        ask: Ask,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let rock = |room: &Room<Self>, id: u64| {
            room.all::<Rock>().map(|(rock, _)| rock).find(|rock| rock.get() == id).ok_or("no such rock")
        };
        match ask {
            Ask::Rock(label) => {
                room.create(Rock { label, data: Bytes::from(vec![0; 2000]) })?;
            }
            Ask::Paint(id, label) => {
                let id = rock(room, id)?;
                room.get_mut(id).ok_or("gone")?.set_label(label)?;
            }
            Ask::Dig(id, at, byte) => {
                let id = rock(room, id)?;
                room.get_mut(id).ok_or("gone")?.patch_data(at as usize, &[byte])?;
            }
            Ask::Break(id) => {
                let id = rock(room, id)?;
                room.delete(id);
            }
            Ask::Walk(x) => {
                let id = walker(room, peer.player).ok_or("no walker")?;
                room.get_mut(id).ok_or("gone")?.set_x(x);
            }
            Ask::Hit(hp) => {
                let id = walker(room, peer.player).ok_or("no walker")?;
                room.get_mut(id).ok_or("gone")?.set_hp(hp);
            }
            Ask::Spark(heat) => {
                room.create(Spark { heat })?;
            }
            Ask::Hide(gold) => {
                room.create(Vault { gold })?;
            }
            Ask::Roll => {
                use rand_chacha::rand_core::RngCore;
                let dice = room.rng().next_u64();
                let rounds = room.state::<Score>().rounds + 1;
                let mut score = room.state_mut::<Score>();
                score.set_dice(dice);
                score.set_rounds(rounds);
            }
            Ask::Earn(coins) => {
                let sum = room.private::<Purse>(peer.player).ok_or("no purse")?.coins + coins;
                room.private_mut::<Purse>(peer.player).ok_or("no purse")?.set_coins(sum);
            }
            Ask::Say(text) => room.broadcast(&text)?,
            Ask::Pay(what) => room.after_commit(&what)?,
            Ask::Panic => panic!("the test asked for it"),
            Ask::Poison => self.poisoned = true,
        }
        Ok(())
    }
}

pub(crate) fn walker(room: &Room<World>, player: PlayerId) -> Option<Id<Walker>> {
    room.all::<Walker>().find(|(_, walker)| walker.owner == player).map(|(id, _)| id)
}

pub(crate) fn room() -> TestRoom<World> {
    TestRoom::durable(World::default)
}

pub(crate) fn room_with(settings: Settings) -> TestRoom<World> {
    TestRoom::durable_with(World::default, settings)
}

/// Whether a client sees all that there is to see.
pub(crate) fn same(room: &TestRoom<World>, client: &TestClient) {
    assert_eq!(client.view::<Walker>(), room.stored::<Walker>());
    assert_eq!(client.view::<Rock>(), room.stored::<Rock>());
    assert_eq!(client.view::<Spark>(), room.stored::<Spark>());
    assert_eq!(client.state::<Score>().as_ref(), Some(room.room().state::<Score>()));
}

//! A naive model beside the log: whatever is done, and whenever the room is killed, what is stored is what was there.

use std::collections::BTreeMap;

use proptest::prelude::*;
use room::PlayerId;
use room::runtime::Settings;
use room_client::Status;
use room_client::testing::TestClient;

use super::game::{Ask, Purse, Rock, Score, Vault, Walker, room_with, same};

#[derive(Clone, Debug)]
enum Act {
    Rock(u16),
    Paint(u8, u8),
    Dig(u8, u16, u8),
    Break(u8),
    Walk(i8),
    Hit(u8),
    Spark,
    Hide(u8),
    Roll,
    Earn(u8),
    Tick(u8),
    Drop(bool),
    Back(bool),
    Kill,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..3000u16).prop_map(Act::Rock),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(rock, text)| Act::Paint(rock, text)),
        5 => (any::<u8>(), 0..3000u16, any::<u8>()).prop_map(|(rock, at, byte)| Act::Dig(rock, at, byte)),
        2 => any::<u8>().prop_map(Act::Break),
        4 => any::<i8>().prop_map(Act::Walk),
        2 => any::<u8>().prop_map(Act::Hit),
        1 => Just(Act::Spark),
        1 => any::<u8>().prop_map(Act::Hide),
        2 => Just(Act::Roll),
        2 => any::<u8>().prop_map(Act::Earn),
        6 => (1..6u8).prop_map(Act::Tick),
        1 => any::<bool>().prop_map(Act::Drop),
        1 => any::<bool>().prop_map(Act::Back),
        2 => Just(Act::Kill),
    ]
}

/// What must be there after a kill: everything but coarse fields and ephemeral kinds.
#[derive(Debug, PartialEq)]
struct Kept {
    rocks: Vec<(u64, Rock)>,
    vaults: Vec<(u64, Vault)>,
    walkers: Vec<(u64, PlayerId, u32)>,
    purses: BTreeMap<PlayerId, Option<Purse>>,
    score: Score,
}

type TestRoom = room_client::testing::TestRoom<super::game::World>;

fn kept(room: &TestRoom) -> Kept {
    let it = room.room();
    let walker = |(id, walker): (room::Id<Walker>, Walker)| (id.get(), walker.owner, walker.hp);
    Kept {
        rocks: room.stored::<Rock>().into_iter().map(|(id, rock)| (id.get(), rock)).collect(),
        vaults: room.stored::<Vault>().into_iter().map(|(id, vault)| (id.get(), vault)).collect(),
        walkers: room.stored::<Walker>().into_iter().map(walker).collect(),
        purses: it.private_players().map(|player| (player, it.private(player).cloned())).collect(),
        score: it.state::<Score>().clone(),
    }
}

fn ask(act: &Act, rocks: &[u64]) -> Option<Ask> {
    let rock = |n: u8| rocks.get(usize::from(n) % rocks.len().max(1)).copied();
    Some(match act {
        Act::Rock(n) => Ask::Rock(format!("rock {n}")),
        Act::Paint(n, text) => Ask::Paint(rock(*n)?, text.to_string()),
        Act::Dig(n, at, byte) => Ask::Dig(rock(*n)?, (*at).into(), *byte),
        Act::Break(n) => Ask::Break(rock(*n)?),
        Act::Walk(x) => Ask::Walk((*x).into()),
        Act::Hit(hp) => Ask::Hit((*hp).into()),
        Act::Spark => Ask::Spark(1),
        Act::Hide(gold) => Ask::Hide((*gold).into()),
        Act::Roll => Ask::Roll,
        Act::Earn(coins) => Ask::Earn((*coins).into()),
        Act::Tick(_) | Act::Drop(_) | Act::Back(_) | Act::Kill => return None,
    })
}

fn back(room: &mut TestRoom, client: &TestClient) {
    if client.status() == Status::Lost {
        room.rejoin(client);
    } else {
        room.resume(client);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_killed_room_is_what_it_was(acts in prop::collection::vec(act(), 1..120), send_every in 1..4u32) {
        let mut room = room_with(Settings { send_every, ..Settings::default() });
        let clients = [room.join("ada"), room.join("bo")];
        room.advance(u64::from(send_every));
        for act in acts {
            match &act {
                Act::Tick(ticks) => room.advance((*ticks).into()),
                Act::Drop(who) => room.drop_link(&clients[usize::from(*who)]),
                Act::Back(who) => back(&mut room, &clients[usize::from(*who)]),
                Act::Kill => {
                    // To the next send: what is not committed yet never happened.
                    while !room.room().tick().0.is_multiple_of(send_every.into()) {
                        room.advance(1);
                    }
                    // What she has said and the room has not handled comes after the kill.
                    let settled = clients[0].unacknowledged() == 0;
                    let before = kept(&room);
                    room.kill_and_wake();
                    prop_assert!(!settled || kept(&room) == before, "{:?} was {:?}", kept(&room), before);
                }
                act => {
                    let rocks: Vec<u64> = room.stored::<Rock>().iter().map(|(id, _)| id.get()).collect();
                    if let Some(ask) = ask(act, &rocks) {
                        clients[0].send(&ask).expect("she may");
                        room.advance(1);
                    }
                }
            }
        }
        for client in &clients {
            back(&mut room, client);
        }
        room.advance(3 * u64::from(send_every) + 3);
        for client in &clients {
            same(&room, client);
        }
    }
}

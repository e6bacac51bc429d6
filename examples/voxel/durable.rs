//! The process is killed, and the world goes on.

use std::sync::Arc;

use room_client::testing::{TestClient, TestRoom};

use crate::blocks::tests::palette;
use crate::blocks::{VOLUME, block_at, offset};
use crate::game::Voxel;
use crate::shared::{Action, Avatar, Chunk, Notice, World, chunk_of};
use crate::terrain::Terrain;

const AIR: u8 = 1;
const STONE: u8 = 0;

/// 3 × 2 × 3 chunks: stone below height 0, air above.
fn flat_world() -> TestRoom<Voxel> {
    let mut chunks = Vec::new();
    for (cx, cy, cz) in (-1..2).flat_map(|x| (-1..1).flat_map(move |y| (-1..2).map(move |z| (x, y, z)))) {
        chunks.push(([cx, cy, cz], vec![if cy < 0 { STONE } else { AIR }; VOLUME]));
    }
    let terrain = Arc::new(Terrain { palette: palette(), chunks });
    TestRoom::durable(move || Voxel::new(terrain.clone()))
}

fn avatar(room: &TestRoom<Voxel>, client: &TestClient) -> Avatar {
    let all = room.stored::<Avatar>();
    all.into_iter().map(|(_, avatar)| avatar).find(|avatar| Some(avatar.owner) == client.player()).unwrap()
}

/// A block as the client has it.
fn seen(client: &TestClient, at: [i32; 3]) -> u8 {
    let id = chunk_of(at).unwrap();
    let chunks = client.view::<Chunk>();
    chunks.iter().find(|(chunk, _)| *chunk == id).unwrap().1.blocks[offset(at)]
}

fn act(room: &mut TestRoom<Voxel>, client: &TestClient, action: Action) {
    client.send(&action).unwrap();
    room.advance(2);
    for notice in client.messages::<Notice>() {
        assert!(!matches!(notice, Notice::Refused { .. }), "{notice:?}");
    }
}

#[test]
fn a_killed_world_has_its_players_and_every_block_that_was_dug_or_placed() {
    let mut room = flat_world();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.advance(5);
    let Avatar { x, y, z, .. } = avatar(&room, &ada);
    act(&mut room, &ada, Action::Walk { x: x + 0.5, z, yaw: 1.0 });
    // What moves is stored within a second.
    room.advance(20);
    let [bx, by, bz] = block_at([x, y, z]);
    let (hole, wall) = ([bx + 2, by - 1, bz], [bx - 2, by, bz]);
    act(&mut room, &ada, Action::Dig { at: hole });
    act(&mut room, &ada, Action::Place { at: wall, block: STONE });
    let stood = avatar(&room, &ada);

    room.kill_and_wake();

    let (again, other) = (avatar(&room, &ada), avatar(&room, &bo));
    assert_eq!((again.x, again.z, again.yaw), (stood.x, stood.z, stood.yaw));
    assert_eq!((again.dug, again.placed, again.name.as_str()), (1, 1, "ada"));
    assert_eq!((other.name.as_str(), room.stored::<Avatar>().len()), ("bo", 2));
    assert_eq!(room.room().state::<World>().high, [32, 16, 32]);
    for client in [&ada, &bo] {
        assert_eq!((seen(client, hole), seen(client, wall)), (AIR, STONE));
    }
    // Both are who they were: they walk and dig on, and a new one finds her place.
    act(&mut room, &ada, Action::Walk { x: again.x + 0.5, z, yaw: 2.0 });
    act(&mut room, &ada, Action::Dig { at: wall });
    assert_eq!((avatar(&room, &ada).dug, seen(&bo, wall)), (2, AIR));
    room.join("cy");
    assert_eq!(room.stored::<Avatar>().len(), 3);
}

#[test]
fn who_is_set_back_by_a_kill_to_where_somebody_has_built_stands_on_it() {
    let mut room = flat_world();
    let (ada, bo) = (room.join("ada"), room.join("bo"));
    room.advance(25);
    let Avatar { x, y, z, .. } = avatar(&room, &ada);
    let stored = block_at([x, y, z]);
    // She goes away by a block, and bo comes and builds there, all within a second.
    room.edit(|_, room| {
        let all: Vec<_> = room.all::<Avatar>().map(|(id, avatar)| (id, avatar.name.clone())).collect();
        for (id, name) in all {
            let mut avatar = room.get_mut(id).unwrap();
            avatar.set_x(if name == "ada" { x + 1.0 } else { x + 3.0 });
            avatar.set_z(z);
        }
    });
    act(&mut room, &bo, Action::Place { at: stored, block: STONE });

    room.kill_and_wake();

    let again = avatar(&room, &ada);
    assert_eq!(block_at(again.feet()), [stored[0], stored[1] + 1, stored[2]]);
}

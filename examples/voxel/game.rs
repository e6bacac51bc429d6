//! The room's side of the voxel world.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_chacha::rand_core::RngCore;
use room::prelude::*;

use crate::blocks::{Blocks, Palette, block_at, chunk_id, offset, stand, surface};
use crate::shared::{self, Action, Avatar, Chunk, EYES, Notice, REACH, SPEED, World, chunk_of};
use crate::terrain::Terrain;

/// Blocks along the edge of a cell of chunks: each chunk is one cell.
const CHUNK_CELL: f64 = 16.0;
/// Chunks seen in each direction.
pub const CHUNK_RADIUS: u16 = 3;
/// Blocks along the edge of a cell of avatars.
const AVATAR_CELL: f64 = 32.0;
/// Blocks within which an avatar comes into view.
pub const AVATAR_RANGE: f64 = 80.0;
/// Blocks past which it goes out of view.
pub const AVATAR_RELEASE: f64 = 96.0;
/// The most entities in a view.
const VIEW: usize = 500;
/// How far from the middle of the world players start, in blocks.
const SPAWN: i32 = 64;
/// The most characters of a player's name.
const NAME: usize = 24;
/// Blocks that an avatar can walk at once after standing for a while.
const STRIDE: f32 = 3.0;

/// The game. All that there is of a world is in the room's entities and state; what is here besides the terrain can be
/// built again from them.
pub struct Voxel {
    /// What a new world is made of.
    terrain: Arc<Terrain>,
    palette: Palette,
    avatars: BTreeMap<PlayerId, Id<Avatar>>,
}

/// How far a connection's avatar may still walk: credit that its time fills.
#[derive(Default)]
pub struct Credit {
    blocks: f32,
    filled: Tick,
}

/// The connection of an avatar's owner subscribes to that avatar, wherever the grids put it.
struct OwnAvatar;

impl Interest<Voxel> for OwnAvatar {
    fn keys(&self, _room: RoomRef<'_, Voxel>, entity: EntityRef<'_>, keys: &mut Keys) {
        if let Some(owner) = entity.owner() {
            keys.add(u64::from(owner.0));
        }
    }

    fn subscriptions(&self, _room: RoomRef<'_, Voxel>, conn: &Connection<Voxel>, keys: &mut Keys) {
        keys.add(u64::from(conn.player().0));
    }
}

impl Game for Voxel {
    type Event = Action;
    type Scratch = Credit;

    fn schema() -> Schema {
        shared::schema()
    }

    fn interest(&self) -> Visibility<Self> {
        let chunks = grid(CHUNK_CELL)
            .dims(Xyz)
            .kind(|chunk: &Chunk| centre(chunk))
            .around(eyes_of)
            .radius(CHUNK_RADIUS);
        let avatars = grid(AVATAR_CELL)
            .dims(Xyz)
            .kind(|avatar: &Avatar| avatar.feet())
            .around(eyes_of)
            .range(AVATAR_RANGE)
            .release(AVATAR_RELEASE);
        combine((chunks, avatars, custom(OwnAvatar))).limit(VIEW, nearness)
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        let (low, high) = self.terrain.block_bounds();
        let names = self.terrain.palette.names().to_vec();
        let mut world = room.state_mut::<World>();
        world.set_palette(Json::new(names)).expect("the loader keeps the palette short");
        world.set_low(low);
        world.set_high(high);
        for (at, blocks) in &self.terrain.chunks {
            let id = chunk_id(*at).expect("the loader checks coordinates");
            let [cx, cy, cz] = at.map(|c| c as i16);
            let chunk = Chunk { cx, cy, cz, blocks: Bytes::from(blocks.clone()) };
            room.create_with_id(id.get(), chunk).expect("the loader refuses a chunk that comes twice");
        }
    }

    /// The world goes on as it was left, whatever terrain this process was given. Where avatars stand may be a second
    /// old, and somebody may have built there since.
    fn on_wake(&mut self, room: &mut Room<Self>) {
        if let Some(palette) = Palette::new(room.state::<World>().palette.to_vec()) {
            self.palette = palette;
        }
        self.avatars = room.all::<Avatar>().map(|(id, avatar)| (avatar.owner, id)).collect();
        for id in self.avatars.values() {
            let place = room.get(*id).and_then(|avatar| stand(room, &self.palette, block_at(avatar.feet())));
            if let (Some([_, y, _]), Some(mut avatar)) = (place, room.get_mut(*id)) {
                avatar.set_y(y as f32);
            }
        }
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let name = room.connection(peer.conn).map_or("", Connection::name).trim().to_owned();
        if name.is_empty() {
            return Err(Refused::new("a player needs a name"));
        }
        if name.chars().count() > NAME || name.chars().any(char::is_control) {
            return Err(Refused::new(format!("names have at most {NAME} characters, all printable")));
        }
        if room.all::<Avatar>().any(|(_, avatar)| avatar.name == name) {
            return Err(Refused::new(format!("the name {name} is taken: choose another")));
        }
        let Some([x, y, z]) = self.spawn_place(room) else {
            return Err(Refused::new("there is no place to stand"));
        };
        let (x, y, z) = (x as f32 + 0.5, y as f32, z as f32 + 0.5);
        let avatar = Avatar { owner: peer.player, name, x, y, z, yaw: 0.0, dug: 0, placed: 0 };
        let id = room.create(avatar).map_err(|error| Refused::new(error.to_string()))?;
        self.avatars.insert(peer.player, id);
        Ok(())
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, action: Action) {
        let done = match action {
            Action::Walk { x, z, yaw } => self.walk(room, peer, x, z, yaw),
            Action::Dig { at } => self.dig(room, peer, at),
            Action::Place { at, block } => self.place(room, peer, at, block),
        };
        if let Err(why) = done {
            let notice = Notice::Refused { why: why.to_owned() };
            room.send(peer.conn, &notice).expect("a notice is far below the limit");
        }
    }

    /// Whoever stands on nothing falls, a block a tick.
    fn on_tick(&mut self, room: &mut Room<Self>) {
        let floats = |avatar: &Avatar| {
            let [x, y, z] = block_at(avatar.feet());
            room.block([x, y - 1, z]).is_some_and(|below| !self.palette.is_solid(below))
        };
        let falling: Vec<Id<Avatar>> =
            room.all::<Avatar>().filter(|(_, avatar)| floats(avatar)).map(|(id, _)| id).collect();
        for id in falling {
            if let Some(mut avatar) = room.get_mut(id) {
                let y = avatar.y - 1.0;
                avatar.set_y(y);
            }
        }
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _why: LeaveReason) {
        if let Some(avatar) = self.avatars.remove(&player) {
            room.delete(avatar);
        }
    }
}

impl Voxel {
    /// A room with this terrain.
    pub fn new(terrain: Arc<Terrain>) -> Voxel {
        Voxel { palette: terrain.palette.clone(), terrain, avatars: BTreeMap::new() }
    }

    /// A random place near the middle of the world, on the ground, where two blocks of air are.
    fn spawn_place(&self, room: &mut Room<Self>) -> Option<[i32; 3]> {
        let (low, high) = (room.state::<World>().low, room.state::<World>().high);
        let middle = |axis: usize| low[axis] + (high[axis] - low[axis]) / 2;
        let spread = |axis: usize| ((high[axis] - low[axis]) / 2).clamp(1, SPAWN);
        (0..256).find_map(|_| {
            let random = room.rng().next_u64();
            let x = middle(0) - spread(0) + (random as u32 % (2 * spread(0)) as u32) as i32;
            let z = middle(2) - spread(2) + ((random >> 32) as u32 % (2 * spread(2)) as u32) as i32;
            let top = high[1] - 1;
            let ([_, y, _], _) = surface(room, &self.palette, [x, top, z], top - low[1])?;
            stand(room, &self.palette, [x, y + 1, z])
        })
    }

    fn avatar<'a>(
        &self,
        room: &'a Room<Self>,
        player: PlayerId,
    ) -> Result<(Id<Avatar>, &'a Avatar), &'static str> {
        let id = *self.avatars.get(&player).ok_or("you are not in the world")?;
        Ok((id, room.get(id).ok_or("you are not in the world")?))
    }

    fn walk(&self, room: &mut Room<Self>, peer: Peer, x: f32, z: f32, yaw: f32) -> Result<(), &'static str> {
        if ![x, z, yaw].iter().all(|n| n.is_finite()) {
            return Err("that is no place");
        }
        let (id, avatar) = self.avatar(room, peer.player)?;
        let [from_x, y, from_z] = avatar.feet();
        let distance = (x - from_x).hypot(z - from_z);
        let blocks = credit(room, peer.conn);
        if distance > blocks {
            return Err("that is too fast");
        }
        let feet = block_at([x, y, z]);
        let [_, y, _] = stand(room, &self.palette, feet).ok_or("something is in the way")?;
        if let Some(connection) = room.connection_mut(peer.conn) {
            connection.scratch.blocks -= distance;
        }
        if let Some(mut avatar) = room.get_mut(id) {
            avatar.set_x(x);
            avatar.set_y(y as f32);
            avatar.set_z(z);
            avatar.set_yaw(yaw);
        }
        Ok(())
    }

    fn dig(&self, room: &mut Room<Self>, peer: Peer, at: [i32; 3]) -> Result<(), &'static str> {
        let (id, avatar) = self.avatar(room, peer.player)?;
        let block = reached(room, avatar, at)?;
        if block == self.palette.air {
            return Err("there is nothing to dig");
        }
        let who = avatar.name.clone();
        write(room, at, self.palette.air)?;
        if let Some(mut avatar) = room.get_mut(id) {
            let dug = avatar.dug.saturating_add(1);
            avatar.set_dug(dug);
        }
        tell(room, at, &Notice::Dug { who, block });
        Ok(())
    }

    fn place(&self, room: &mut Room<Self>, peer: Peer, at: [i32; 3], block: u8) -> Result<(), &'static str> {
        let palette = &self.palette;
        let (id, avatar) = self.avatar(room, peer.player)?;
        if !palette.is_solid(block) {
            return Err("that is no block to build with");
        }
        if palette.is_solid(reached(room, avatar, at)?) {
            return Err("there is a block already");
        }
        let body = |avatar: &Avatar| {
            let [x, y, z] = block_at(avatar.feet());
            at == [x, y, z] || at == [x, y + 1, z]
        };
        if room.all::<Avatar>().any(|(_, avatar)| body(avatar)) {
            return Err("somebody stands there");
        }
        let who = avatar.name.clone();
        write(room, at, block)?;
        if let Some(mut avatar) = room.get_mut(id) {
            let placed = avatar.placed.saturating_add(1);
            avatar.set_placed(placed);
        }
        tell(room, at, &Notice::Placed { who, block });
        Ok(())
    }
}

impl Blocks for Room<Voxel> {
    fn block(&self, at: [i32; 3]) -> Option<u8> {
        self.get(chunk_of(at)?)?.blocks.get(offset(at)).copied()
    }
}

/// Fills a connection's walking credit up to now, and returns it.
fn credit(room: &mut Room<Voxel>, conn: ConnectionId) -> f32 {
    let (now, seconds) = (room.tick(), room.seconds() as f32);
    let Some(connection) = room.connection_mut(conn) else { return 0.0 };
    let credit = &mut connection.scratch;
    let ticks = now.0.saturating_sub(credit.filled.0) as f32;
    credit.blocks = (credit.blocks + ticks * seconds * SPEED).min(STRIDE);
    credit.filled = now;
    credit.blocks
}

/// The block there, if the avatar reaches it.
fn reached(room: &Room<Voxel>, avatar: &Avatar, at: [i32; 3]) -> Result<u8, &'static str> {
    let eyes = [avatar.x, avatar.y + EYES, avatar.z];
    let square: f32 = (0..3).map(|i| (at[i] as f32 + 0.5 - eyes[i]).powi(2)).sum();
    if square > REACH * REACH {
        return Err("that is too far away");
    }
    room.block(at).ok_or("that is outside of the world")
}

/// Changes one block: a patch of one byte.
fn write(room: &mut Room<Voxel>, at: [i32; 3], block: u8) -> Result<(), &'static str> {
    let id = chunk_of(at).ok_or("that is outside of the world")?;
    let mut chunk = room.get_mut(id).ok_or("that is outside of the world")?;
    chunk.patch_blocks(offset(at), &[block]).map_err(|_| "the block cannot be written")
}

/// Tells everyone who sees the chunk.
fn tell(room: &mut Room<Voxel>, at: [i32; 3], notice: &Notice) {
    if let Some(chunk) = chunk_of(at) {
        room.send_seeing(chunk.entity(), notice).expect("a notice is far below the limit");
    }
}

fn centre(chunk: &Chunk) -> [f64; 3] {
    [chunk.cx, chunk.cy, chunk.cz].map(|c| (f64::from(c) + 0.5) * CHUNK_CELL)
}

fn eyes_of(room: RoomRef<'_, Voxel>, conn: &Connection<Voxel>) -> Option<[f64; 3]> {
    let avatar = room.get(*room.game.avatars.get(&conn.player())?)?;
    Some(avatar.feet().map(f64::from))
}

/// The nearer, the higher: minus the square of the distance.
fn nearness(room: RoomRef<'_, Voxel>, conn: &Connection<Voxel>, entity: EntityRef<'_>) -> f64 {
    let place = match (entity.get::<Chunk>(), entity.get::<Avatar>()) {
        (Some(chunk), _) => centre(chunk),
        (_, Some(avatar)) => avatar.feet().map(f64::from),
        _ => return 0.0,
    };
    let Some(eyes) = eyes_of(room, conn) else { return 0.0 };
    -(0..3).map(|i| (place[i] - eyes[i]).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use room::server::{Server, ServerHandle};
    use room_client::{Client, Event};

    use super::*;
    use crate::blocks::VOLUME;
    use crate::blocks::tests::palette;

    /// 3 × 2 × 3 chunks: stone below height 0, air above.
    async fn flat_world() -> ServerHandle<Voxel> {
        let mut chunks = Vec::new();
        for (cx, cy, cz) in (-1..2).flat_map(|x| (-1..1).flat_map(move |y| (-1..2).map(move |z| (x, y, z)))) {
            chunks.push(([cx, cy, cz], vec![if cy < 0 { 0 } else { 1 }; VOLUME]));
        }
        let terrain = Arc::new(Terrain { palette: palette(), chunks });
        Server::new(move |_: &str| Voxel::new(terrain.clone())).port(0).start().await.unwrap()
    }

    async fn join(server: &ServerHandle<Voxel>, name: &str) -> Client {
        room_client::connect(server.url("flat"), shared::schema()).name(name).await.unwrap()
    }

    /// Sends an action and waits for a notice.
    async fn answer(client: &mut Client, action: Action) -> Notice {
        client.send(&action).unwrap();
        for _ in 0..500 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            client.update(Instant::now());
            if let Some(Event::Message(message)) = client.events().next() {
                return message.decode().unwrap();
            }
        }
        panic!("no answer to {action:?}");
    }

    async fn refusal(client: &mut Client, action: Action) -> String {
        match answer(client, action).await {
            Notice::Refused { why } => why,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// Where the only avatar stands, once it is there.
    async fn feet(client: &mut Client) -> [f32; 3] {
        for _ in 0..500 {
            client.update(Instant::now());
            if let Some((_, avatar)) = client.all::<Avatar>().next() {
                return avatar.feet();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no avatar came");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn players_need_a_name_of_their_own() {
        let server = flat_world().await;
        let _ada = join(&server, "Ada").await;
        for (name, part) in [("Ada", "Ada is taken"), (" ", "needs a name"), (&"x".repeat(25), "at most 24")]
        {
            let error =
                room_client::connect(server.url("flat"), shared::schema()).name(name).await.unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        let avatars = server.inspect("flat", |_, room| room.count::<Avatar>()).await;
        assert_eq!(avatars, Some(1), "a refused join leaves nothing behind");
        server.shutdown().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_room_refuses_what_an_avatar_cannot_do() {
        let server = flat_world().await;
        let mut ada = join(&server, "Ada").await;
        let [x, y, z] = feet(&mut ada).await;
        assert_eq!(y, 0.0);
        let [bx, by, bz] = block_at([x, y, z]);
        for (action, part) in [
            (Action::Walk { x: f32::NAN, z, yaw: 0.0 }, "no place"),
            (Action::Walk { x: 1e30, z, yaw: 0.0 }, "too fast"),
            (Action::Dig { at: [bx, by - 9, bz] }, "too far"),
            (Action::Dig { at: [i32::MAX, i32::MIN, 0] }, "too far"),
            (Action::Dig { at: [bx, by + 1, bz] }, "nothing to dig"),
            (Action::Place { at: [bx, by + 1, bz], block: 0 }, "somebody stands"),
            (Action::Place { at: [bx, by - 1, bz], block: 0 }, "a block already"),
            (Action::Place { at: [bx, by + 2, bz], block: 1 }, "build with"),
            (Action::Place { at: [bx, by + 2, bz], block: 200 }, "build with"),
        ] {
            let why = refusal(&mut ada, action.clone()).await;
            assert!(why.contains(part), "{action:?}: {why}");
        }
        server.shutdown().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_digs_the_ground_under_the_feet_falls_and_all_who_see_it_are_told() {
        let server = flat_world().await;
        let mut ada = join(&server, "Ada").await;
        let [x, y, z] = block_at(feet(&mut ada).await);
        let at = [x, y - 1, z];
        let mut bob = join(&server, "Bob").await;
        let notice = answer(&mut ada, Action::Dig { at }).await;
        assert_eq!(notice, Notice::Dug { who: "Ada".to_owned(), block: 0 });
        for _ in 0..500 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            ada.update(Instant::now());
            bob.update(Instant::now());
            let fell = ada.all::<Avatar>().any(|(_, avatar)| avatar.y == -1.0 && avatar.dug == 1);
            if fell && bob.block(at) == Some(1) {
                let told = bob.events().any(|event| matches!(event, Event::Message(_)));
                assert!(told, "Bob sees the chunk, so he hears of it");
                server.shutdown().await;
                return;
            }
        }
        panic!("nobody fell, or Bob does not see the hole");
    }
}

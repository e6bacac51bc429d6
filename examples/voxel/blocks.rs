//! Block arithmetic that server, bots and client share: coordinates, the palette, and where feet can stand.

use room::prelude::*;

/// Blocks along an edge of a chunk.
pub const SIDE: i32 = 16;
/// Blocks in a chunk.
pub const VOLUME: usize = 4096;
/// Chunk coordinates lie from `-CHUNKS` to `CHUNKS - 1` on each axis, so that positions fit their fields.
pub const CHUNKS: i32 = 8192;

/// How many blocks an avatar can step up.
pub const CLIMB: i32 = 2;
/// How deep an avatar can fall in one step.
const FALL: i32 = 256;

/// Names of blocks that a body passes through, as they begin after the mod's name.
const PASSABLE: [&str; 12] = [
    "air",
    "grass_",
    "dry_grass",
    "dry_shrub",
    "fern",
    "flower",
    "junglegrass",
    "marram",
    "sapling",
    "torch",
    "water",
    "river_water",
];

/// Something with blocks: a room, or a client's replica of what it sees.
pub trait Blocks {
    /// The block there; `None` outside of the world, or of what is seen of it.
    fn block(&self, at: [i32; 3]) -> Option<u8>;
}

/// The chunk that a block is in.
pub fn chunk_of(block: [i32; 3]) -> [i32; 3] {
    block.map(|c| c.div_euclid(SIDE))
}

/// A block's place in its chunk's bytes: x fastest, then z, then y.
pub fn offset(block: [i32; 3]) -> usize {
    let [x, y, z] = block.map(|c| c.rem_euclid(SIDE) as usize);
    x + 16 * (z + 16 * y)
}

/// The block that a point is in.
pub fn block_at(point: [f32; 3]) -> [i32; 3] {
    point.map(|c| c.floor() as i32)
}

/// The ID of the chunk at these coordinates, the same in the room and in every client. `None` out of bounds.
///
/// It lies above all automatic IDs, and not far above them near the middle of the world, where it takes five
/// bytes on the wire: 2^32 and the coordinates, each as 0, -1, 1, -2, …, their bits taken in turns.
pub fn chunk_id(chunk: [i32; 3]) -> Option<EntityId> {
    let mut id = 1u64 << 32;
    for (axis, c) in chunk.into_iter().enumerate() {
        if !(-CHUNKS..CHUNKS).contains(&c) {
            return None;
        }
        let folded = (c << 1 ^ c >> 31) as u64;
        id += (0..14).map(|bit| (folded >> bit & 1) << (3 * bit + axis)).sum::<u64>();
    }
    EntityId::explicit(id)
}

/// What the bytes of chunks mean.
#[derive(Clone, Debug)]
pub struct Palette {
    names: Vec<String>,
    solid: Vec<bool>,
    /// The block that digging leaves.
    pub air: u8,
}

impl Palette {
    /// Names by index, empty where an index is not used. `None` where no block is air or there are too many.
    pub fn new(names: Vec<String>) -> Option<Palette> {
        let air = names.iter().position(|name| short(name) == "air")?;
        let solid = names
            .iter()
            .map(|name| !name.is_empty() && !PASSABLE.iter().any(|p| short(name).starts_with(p)))
            .collect();
        (names.len() <= 256).then_some(Palette { names, solid, air: air as u8 })
    }

    /// All names, by index.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A block's name without the mod it comes from; empty for one that is not in the palette.
    pub fn name(&self, block: u8) -> &str {
        self.names.get(usize::from(block)).map_or("", |name| short(name))
    }

    /// Whether feet stand on it; air and plants are not solid, nor is what the palette does not name.
    pub fn is_solid(&self, block: u8) -> bool {
        self.solid.get(usize::from(block)).is_some_and(|solid| *solid)
    }
}

fn short(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, name)| name)
}

/// Where the feet come to stand that enter the column of `feet`, at that height: there, up to [`CLIMB`] higher,
/// or as far down as they fall. `None` where a wall or the end of the world is in the way.
pub fn stand(world: &impl Blocks, palette: &Palette, feet: [i32; 3]) -> Option<[i32; 3]> {
    let [x, y, z] = feet;
    let passable = |y: i32| world.block([x, y, z]).map(|block| !palette.is_solid(block));
    let body_fits = |y: i32| passable(y) == Some(true) && passable(y + 1) != Some(false);
    let mut y = (y..=y + CLIMB).find(|y| body_fits(*y))?;
    for _ in 0..FALL {
        if !passable(y - 1)? {
            return Some([x, y, z]);
        }
        y -= 1;
    }
    None
}

/// The highest solid block of a column, looking down from `from` through at most `depth` blocks; unseen ones
/// are passed over.
pub fn surface(
    world: &impl Blocks,
    palette: &Palette,
    [x, from, z]: [i32; 3],
    depth: i32,
) -> Option<([i32; 3], u8)> {
    (from - depth..=from).rev().find_map(|y| {
        let block = world.block([x, y, z])?;
        palette.is_solid(block).then_some(([x, y, z], block))
    })
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A world of single blocks, air where nothing is set, from -16 to 15.
    #[derive(Default)]
    pub struct Sketch(pub BTreeMap<[i32; 3], u8>);

    impl Blocks for Sketch {
        fn block(&self, at: [i32; 3]) -> Option<u8> {
            at.iter().all(|c| (-16..16).contains(c)).then(|| self.0.get(&at).copied().unwrap_or(1))
        }
    }

    impl Sketch {
        /// Stone at height 0 and below, everywhere.
        pub fn plain() -> Sketch {
            let mut sketch = Sketch::default();
            for x in -16..16 {
                for z in -16..16 {
                    sketch.0.insert([x, 0, z], 0);
                }
            }
            sketch
        }
    }

    pub fn palette() -> Palette {
        let names = ["default:stone", "air", "default:grass_4", "", "default:snow"];
        Palette::new(names.map(str::to_owned).to_vec()).unwrap()
    }

    #[test]
    fn air_and_plants_are_not_solid() {
        let palette = palette();
        let solid: Vec<bool> = (0..6).map(|b| palette.is_solid(b)).collect();
        assert_eq!(solid, [true, false, false, false, true, false]);
        assert_eq!((palette.air, palette.name(4), palette.name(9)), (1, "snow", ""));
        assert!(Palette::new(vec!["default:stone".to_owned()]).is_none());
    }

    #[test]
    fn blocks_below_zero_are_in_the_chunk_below() {
        assert_eq!(chunk_of([-1, 0, 15]), [-1, 0, 0]);
        assert_eq!(chunk_of([-16, 16, -17]), [-1, 1, -2]);
        assert_eq!(offset([-16, 0, 0]), 0);
        assert_eq!(offset([1, 0, 0]), 1);
        assert_eq!(offset([0, 0, 1]), 16);
        assert_eq!(offset([0, 1, 0]), 256);
        assert_eq!(offset([-1, -1, -1]), VOLUME - 1);
    }

    #[test]
    fn every_chunk_has_an_id_of_its_own_above_the_automatic_ones() {
        let ids: Vec<u64> =
            [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [-8192, -8192, -8192], [8191, 8191, 8191]]
                .map(|c| chunk_id(c).unwrap().get())
                .to_vec();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len());
        assert!(unique[0] >= 1 << 32);
        assert_eq!(chunk_id([8192, 0, 0]), None);
        assert_eq!(chunk_id([0, i32::MIN, 0]), None);
    }

    #[test]
    fn feet_climb_two_blocks_and_no_more_and_fall_to_the_ground() {
        let palette = palette();
        let mut world = Sketch::plain();
        assert_eq!(stand(&world, &palette, [0, 1, 0]), Some([0, 1, 0]));
        assert_eq!(stand(&world, &palette, [0, 9, 0]), Some([0, 1, 0]), "falls");
        world.0.insert([1, 1, 0], 0);
        world.0.insert([1, 2, 0], 0);
        assert_eq!(stand(&world, &palette, [1, 1, 0]), Some([1, 3, 0]), "climbs");
        world.0.insert([1, 3, 0], 4);
        assert_eq!(stand(&world, &palette, [1, 1, 0]), None, "a wall");
        assert_eq!(stand(&world, &palette, [16, 1, 0]), None, "the end of the world");
        world.0.remove(&[5, 0, 5]);
        assert_eq!(stand(&world, &palette, [5, 1, 5]), None, "a hole without a floor");
    }

    #[test]
    fn the_surface_is_the_highest_solid_block() {
        let mut world = Sketch::plain();
        world.0.insert([2, 1, 2], 2);
        assert_eq!(surface(&world, &palette(), [2, 40, 2], 60), Some(([2, 0, 2], 0)));
        assert_eq!(surface(&world, &palette(), [2, -3, 2], 60), None);
    }
}

//! What a key does: the step, the block dug or the block placed.

use std::f32::consts::{FRAC_PI_2, PI};

use crate::blocks::{Blocks, Palette, block_at, stand};
use crate::shared::{Action, Avatar};

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    /// Look there, and step there if nothing is in the way.
    Walk(Facing),
    /// Dig the block ahead, or the ground ahead.
    Dig,
    /// Dig the block under the feet.
    DigDown,
    /// Place a block ahead.
    Place,
    /// Take the next block to place.
    NextBlock,
    /// End.
    Quit,
}

/// The four ways to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Facing {
    East,
    South,
    West,
    North,
}

impl Facing {
    /// One block that way, on x and z.
    fn step(self) -> [i32; 2] {
        match self {
            Facing::East => [1, 0],
            Facing::South => [0, 1],
            Facing::West => [-1, 0],
            Facing::North => [0, -1],
        }
    }

    /// As the room has it.
    fn yaw(self) -> f32 {
        match self {
            Facing::East => 0.0,
            Facing::South => FRAC_PI_2,
            Facing::West => PI,
            Facing::North => -FRAC_PI_2,
        }
    }

    /// The nearest of the four.
    fn of(yaw: f32) -> Facing {
        let quarter = (yaw / FRAC_PI_2).round() as i32;
        [Facing::East, Facing::South, Facing::West, Facing::North][quarter.rem_euclid(4) as usize]
    }

    /// For the status line.
    pub fn name(self) -> &'static str {
        match self {
            Facing::East => "east",
            Facing::South => "south",
            Facing::West => "west",
            Facing::North => "north",
        }
    }
}

/// The key that a character stands for.
pub fn key_of(character: char) -> Option<Key> {
    Some(match character.to_ascii_lowercase() {
        'w' => Key::Walk(Facing::North),
        's' => Key::Walk(Facing::South),
        'a' => Key::Walk(Facing::West),
        'd' => Key::Walk(Facing::East),
        ' ' => Key::Dig,
        'x' => Key::DigDown,
        'p' => Key::Place,
        'b' => Key::NextBlock,
        'q' => Key::Quit,
        _ => return None,
    })
}

/// What the player carries, and where she looked last.
#[derive(Debug, Default)]
pub struct Hands {
    block: u8,
    facing: Option<Facing>,
}

impl Hands {
    /// The way she looks.
    pub fn facing(&self, me: &Avatar) -> Facing {
        self.facing.unwrap_or_else(|| Facing::of(me.yaw))
    }

    /// The block she would place: the chosen one, or the first that is solid.
    pub fn block(&self, palette: &Palette) -> u8 {
        let from = (0..=255u8).map(|i| self.block.wrapping_add(i));
        from.clone().find(|block| palette.is_solid(*block)).unwrap_or(self.block)
    }

    /// What to send for a key; nothing where it would have no effect.
    pub fn press(&mut self, key: Key, world: &impl Blocks, palette: &Palette, me: &Avatar) -> Option<Action> {
        let feet = block_at(me.feet());
        match key {
            Key::Walk(facing) => self.walk(facing, world, palette, me),
            Key::Dig => ahead(feet, self.facing(me), [1, 0, -1])
                .into_iter()
                .find(|at| world.block(*at).is_some_and(|block| palette.is_solid(block)))
                .map(|at| Action::Dig { at }),
            Key::DigDown => Some(Action::Dig { at: [feet[0], feet[1] - 1, feet[2]] }),
            Key::Place => ahead(feet, self.facing(me), [-1, 0, 1])
                .into_iter()
                .find(|at| world.block(*at).is_some_and(|block| !palette.is_solid(block)))
                .map(|at| Action::Place { at, block: self.block(palette) }),
            Key::NextBlock => {
                self.block = self.block(palette).wrapping_add(1);
                self.block = self.block(palette);
                None
            }
            Key::Quit => None,
        }
    }

    fn walk(
        &mut self,
        facing: Facing,
        world: &impl Blocks,
        palette: &Palette,
        me: &Avatar,
    ) -> Option<Action> {
        self.facing = Some(facing);
        let [x, y, z] = block_at(me.feet());
        let [dx, dz] = facing.step();
        let [to_x, _, to_z] = stand(world, palette, [x + dx, y, z + dz]).unwrap_or([x, y, z]);
        Some(Action::Walk { x: to_x as f32 + 0.5, z: to_z as f32 + 0.5, yaw: facing.yaw() })
    }
}

/// The blocks one step ahead, at these heights above the feet.
fn ahead([x, y, z]: [i32; 3], facing: Facing, heights: [i32; 3]) -> [[i32; 3]; 3] {
    let [dx, dz] = facing.step();
    heights.map(|dy| [x + dx, y + dy, z + dz])
}

#[cfg(test)]
mod tests {
    use room::prelude::*;

    use super::*;
    use crate::blocks::tests::{Sketch, palette};

    fn press(keys: &str, world: &Sketch) -> Option<Action> {
        let (owner, name) = (PlayerId(1), "Ada".to_owned());
        let me = Avatar { owner, name, x: 0.5, y: 1.0, z: 0.5, yaw: 0.0, dug: 0, placed: 0 };
        let mut hands = Hands::default();
        keys.chars().map(|c| hands.press(key_of(c).unwrap(), world, &palette(), &me)).last().flatten()
    }

    #[test]
    fn walking_goes_to_the_middle_of_the_next_block_or_only_turns() {
        let mut world = Sketch::plain();
        assert_eq!(press("a", &world), Some(Action::Walk { x: -0.5, z: 0.5, yaw: PI }));
        for y in 1..5 {
            world.0.insert([0, y, -1], 0);
        }
        assert_eq!(press("w", &world), Some(Action::Walk { x: 0.5, z: 0.5, yaw: -FRAC_PI_2 }));
    }

    #[test]
    fn digging_takes_what_is_ahead_from_the_head_down() {
        let mut world = Sketch::plain();
        assert_eq!(press(" ", &world), Some(Action::Dig { at: [1, 0, 0] }));
        world.0.insert([1, 2, 0], 0);
        assert_eq!(press(" ", &world), Some(Action::Dig { at: [1, 2, 0] }));
        assert_eq!(press("x", &world), Some(Action::Dig { at: [0, 0, 0] }));
    }

    #[test]
    fn placing_fills_what_is_free_ahead_with_the_chosen_block() {
        let world = Sketch::plain();
        assert_eq!(press("p", &world), Some(Action::Place { at: [1, 1, 0], block: 0 }));
        assert_eq!(press("bp", &world), Some(Action::Place { at: [1, 1, 0], block: 4 }));
        assert_eq!(press("bbp", &world), Some(Action::Place { at: [1, 1, 0], block: 0 }));
        assert_eq!(press("sp", &world), Some(Action::Place { at: [0, 1, 1], block: 0 }));
    }

    #[test]
    fn every_heading_is_one_of_four() {
        for facing in [Facing::East, Facing::South, Facing::West, Facing::North] {
            assert_eq!(Facing::of(facing.yaw() + 0.3), facing);
        }
        assert_eq!(Facing::of(-PI), Facing::West);
        assert_eq!(key_of('z'), None);
    }
}

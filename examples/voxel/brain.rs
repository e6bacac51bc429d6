//! What a bot does next: it walks long ways over the surface, and digs and builds as it goes.

use std::f32::consts::PI;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::blocks::{Blocks, Palette, block_at, stand, surface};
use crate::shared::{Action, SPEED};

/// A bot walks at this share of the speed that is allowed, so that a late message is no refusal.
const PACE: f32 = 0.8;
/// Seconds between two blocks dug or placed, on average.
const WORK_SECONDS: f32 = 1.5;
/// How far the bot's own idea of its place may be from the room's before it takes the room's.
const DRIFT: f32 = 3.0;

/// A bot's mind: the same seed and the same world make the same walk.
pub struct Brain {
    rng: ChaCha8Rng,
    yaw: f32,
    /// Seconds until it turns.
    onward: f32,
    /// Where it is once the room has handled all it sent.
    ahead: Option<[f32; 2]>,
}

impl Brain {
    /// Bot `number` of a run.
    pub fn new(seed: u64, number: u64) -> Brain {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        Brain { rng, yaw: 0.0, onward: 0.0, ahead: None }
    }

    /// What to do in the `seconds` since the last call. `feet` is where the room says the bot is.
    pub fn think(
        &mut self,
        world: &impl Blocks,
        palette: &Palette,
        feet: [f32; 3],
        seconds: f32,
    ) -> Option<Action> {
        if self.chance(seconds / WORK_SECONDS)
            && let Some(work) = self.work(world, palette, feet)
        {
            return Some(work);
        }
        self.onward -= seconds;
        if self.onward <= 0.0 {
            self.turn();
        }
        let near = |at: &[f32; 2]| (at[0] - feet[0]).hypot(at[1] - feet[2]) < DRIFT;
        let [x, z] = self.ahead.filter(near).unwrap_or([feet[0], feet[2]]);
        let step = SPEED * PACE * seconds;
        let (x, z) = (x + step * self.yaw.cos(), z + step * self.yaw.sin());
        if stand(world, palette, block_at([x, feet[1], z])).is_none() {
            self.turn();
            return None;
        }
        self.ahead = Some([x, z]);
        Some(Action::Walk { x, z, yaw: self.yaw })
    }

    /// A block to dig or place on the surface, two or three blocks away so that it buries nobody.
    fn work(&mut self, world: &impl Blocks, palette: &Palette, feet: [f32; 3]) -> Option<Action> {
        let yaw = self.number(-PI, PI);
        let reach = self.number(2.0, 3.5);
        let [x, y, z] = block_at([feet[0] + reach * yaw.cos(), feet[1], feet[2] + reach * yaw.sin()]);
        let (at, block) = surface(world, palette, [x, y + 2, z], 5)?;
        if self.chance(0.5) {
            return Some(Action::Dig { at });
        }
        let above = [at[0], at[1] + 1, at[2]];
        let free = world.block(above).is_some_and(|above| !palette.is_solid(above));
        free.then_some(Action::Place { at: above, block })
    }

    fn turn(&mut self) {
        self.yaw = self.number(-PI, PI);
        self.onward = self.number(4.0, 12.0);
    }

    fn number(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.rng.next_u32() as f32 / u32::MAX as f32)
    }

    fn chance(&mut self, probability: f32) -> bool {
        self.number(0.0, 1.0) < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::tests::{Sketch, palette};

    fn walk(seed: u64) -> Vec<Action> {
        let (world, palette) = (Sketch::plain(), palette());
        let mut brain = Brain::new(seed, 3);
        let mut feet = [0.5, 1.0, 0.5];
        let mut done = Vec::new();
        for _ in 0..2000 {
            let Some(action) = brain.think(&world, &palette, feet, 0.05) else { continue };
            if let Action::Walk { x, z, .. } = action {
                assert!((x - feet[0]).hypot(z - feet[2]) <= SPEED * 0.05 + 1e-3);
                feet = [x, 1.0, z];
                assert!(stand(&world, &palette, block_at(feet)).is_some());
            }
            done.push(action);
        }
        done
    }

    #[test]
    fn a_bot_walks_digs_and_builds_and_stays_in_the_world() {
        let done = walk(1);
        assert!(done.iter().any(|a| matches!(a, Action::Dig { .. })));
        assert!(done.iter().any(|a| matches!(a, Action::Place { .. })));
        assert!(done.iter().filter(|a| matches!(a, Action::Walk { .. })).count() > 1000);
    }

    #[test]
    fn a_seed_is_a_walk() {
        assert_eq!(walk(1), walk(1));
        assert_ne!(walk(1), walk(2));
    }
}

//! What entities carry, and how it is sent.

use naia_shared::{Property, Replicate, UnsignedInteger};
use world::World;

/// A component that says where its entity is.
pub trait Kind: Replicate + Sized {
    /// That of an entity.
    fn of(ground: &World, entity: u32) -> Self;
    /// Writes where an entity is now.
    fn write(&mut self, ground: &World, entity: u32);
    /// x, y and rotation.
    fn state(&self) -> [f32; 3];
}

/// Two coordinates.
#[derive(Replicate)]
pub struct Place {
    pub x: Property<f32>,
    pub y: Property<f32>,
}

/// Two coordinates and a rotation.
#[derive(Replicate)]
pub struct Pose {
    pub x: Property<f32>,
    pub y: Property<f32>,
    pub rotation: Property<f32>,
}

impl Kind for Place {
    fn of(ground: &World, entity: u32) -> Self {
        let [x, y] = ground.place(entity);
        Place::new_complete(x, y)
    }

    fn write(&mut self, ground: &World, entity: u32) {
        [*self.x, *self.y] = ground.place(entity);
    }

    fn state(&self) -> [f32; 3] {
        [*self.x, *self.y, 0.0]
    }
}

impl Kind for Pose {
    fn of(ground: &World, entity: u32) -> Self {
        let [x, y] = ground.place(entity);
        Pose::new_complete(x, y, ground.rotation(entity))
    }

    fn write(&mut self, ground: &World, entity: u32) {
        [*self.x, *self.y] = ground.place(entity);
        *self.rotation = ground.rotation(entity);
    }

    fn state(&self) -> [f32; 3] {
        [*self.x, *self.y, *self.rotation]
    }
}

/// Two coordinates in hundredths, of as many bits as a world needs.
macro_rules! small_place {
    ($name:ident, $bits:literal) => {
        #[doc = "Two coordinates in hundredths."]
        #[derive(Replicate)]
        pub struct $name {
            pub x: Property<UnsignedInteger<$bits>>,
            pub y: Property<UnsignedInteger<$bits>>,
        }

        impl Kind for $name {
            fn of(ground: &World, entity: u32) -> Self {
                let [x, y] = ground.hundredths(entity).map(UnsignedInteger::new);
                $name::new_complete(x, y)
            }

            fn write(&mut self, ground: &World, entity: u32) {
                [*self.x, *self.y] = ground.hundredths(entity).map(UnsignedInteger::new);
            }

            fn state(&self) -> [f32; 3] {
                [unit(self.x.get()), unit(self.y.get()), 0.0]
            }
        }
    };
}

small_place!(Place15, 15);
small_place!(Place17, 17);
small_place!(Place18, 18);

/// Two coordinates and a rotation in hundredths.
#[derive(Replicate)]
pub struct SmallPose {
    pub x: Property<UnsignedInteger<16>>,
    pub y: Property<UnsignedInteger<16>>,
    pub rotation: Property<UnsignedInteger<10>>,
}

impl Kind for SmallPose {
    fn of(ground: &World, entity: u32) -> Self {
        let [x, y] = ground.hundredths(entity).map(UnsignedInteger::new);
        SmallPose::new_complete(x, y, UnsignedInteger::new(ground.turn(entity)))
    }

    fn write(&mut self, ground: &World, entity: u32) {
        [*self.x, *self.y] = ground.hundredths(entity).map(UnsignedInteger::new);
        *self.rotation = UnsignedInteger::new(ground.turn(entity));
    }

    fn state(&self) -> [f32; 3] {
        [unit(self.x.get()), unit(self.y.get()), unit(self.rotation.get())]
    }
}

fn unit(hundredths: i128) -> f32 {
    (hundredths as f64 / 100.0) as f32
}

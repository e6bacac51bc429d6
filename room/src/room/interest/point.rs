//! Positions as games have them.

use super::Axes;

/// Two or three numbers. Two go to a grid's first two axes in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinates {
    at: [f64; 3],
    flat: bool,
}

impl Coordinates {
    pub(super) fn on(self, axes: Axes) -> [f64; 3] {
        match self.at {
            [a, b, _] if self.flat && axes == Axes::Xz => [a, 0.0, b],
            at => at,
        }
    }
}

/// What places an entity or a connection: two or three numbers, or an option of them.
pub trait Point {
    /// The coordinates; none where there are none.
    fn coordinates(self) -> Option<Coordinates>;
}

impl<P: Point> Point for Option<P> {
    fn coordinates(self) -> Option<Coordinates> {
        self?.coordinates()
    }
}

macro_rules! points {
    ($($ty:ty),*) => { $(
        impl Point for [$ty; 2] {
            fn coordinates(self) -> Option<Coordinates> {
                let [a, b] = self.map(|v| v as f64);
                Some(Coordinates { at: [a, b, 0.0], flat: true })
            }
        }
        impl Point for [$ty; 3] {
            fn coordinates(self) -> Option<Coordinates> {
                Some(Coordinates { at: self.map(|v| v as f64), flat: false })
            }
        }
    )* };
}

points!(f32, f64, i16, i32, i64, u16, u32);

#[cfg(feature = "glam")]
mod glam_points {
    use super::{Coordinates, Point};

    impl Point for glam::Vec2 {
        fn coordinates(self) -> Option<Coordinates> {
            self.to_array().coordinates()
        }
    }

    impl Point for glam::Vec3 {
        fn coordinates(self) -> Option<Coordinates> {
            self.to_array().coordinates()
        }
    }
}

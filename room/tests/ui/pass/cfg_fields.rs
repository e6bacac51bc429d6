//! Fields and variants that are configured away do not count.

use room::prelude::*;

#[derive(FieldEnum, Clone, Copy, Debug)]
enum Facing {
    North,
    #[cfg(all())]
    East,
    #[cfg(any())]
    South(u8),
    West,
}

#[derive(Entity, Clone, Debug)]
#[cfg_attr(all(), entity(name = "walker"))]
#[cfg_attr(any(), entity(name = "2"))]
struct Avatar {
    #[cfg(any())]
    id: std::time::Duration,
    #[cfg(all())]
    x: f32,
    #[cfg_attr(all(), field(name = "height"))]
    y: f32,
    #[cfg(any())]
    y: f64,
    facing: Facing,
}

fn main() {
    let names: Vec<_> = Avatar::KIND.fields.iter().map(|f| f.name).collect();
    assert_eq!(names, ["x", "height", "facing"]);
    assert_eq!(Avatar::KIND.name, "walker");
    assert_eq!(Avatar::FACING.index(), 2);
    assert_eq!(<Facing as FieldEnum>::VARIANTS, [("North", 0), ("East", 1), ("West", 2)]);
    let _ = Facing::North;
}

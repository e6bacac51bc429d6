//! A private field's setter is as private as the field.

mod game {
    use room::prelude::*;

    #[derive(Entity, Clone, Debug)]
    pub struct Avatar {
        hp: u8,
        pub x: f32,
    }
}

fn hit(avatar: &mut game::AvatarMut<'_>) {
    avatar.set_x(3.0);
    avatar.set_hp(3);
}

fn main() {}

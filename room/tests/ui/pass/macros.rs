//! Structs that a macro writes: types, literals and names arrive in invisible groups.

use room::prelude::*;

macro_rules! entity {
    ($name:ident, $wire:literal, $owner:ident, $($field:ident: $ty:ty = ($step:literal, $max:literal)),*) => {
        #[derive(Entity, Clone, Debug)]
        #[entity(name = $wire, owner = $owner)]
        pub struct $name {
            pub $owner: PlayerId,
            $(#[field(writable, quantize(step = $step, min = -5, max = $max))] pub $field: $ty,)*
            pub more: Json<Vec<Self>>,
        }
    };
}

entity!(Avatar, "walker", player, x: f32 = (0.5, 10), y: [f64; 2] = (0.25, 4.0), z: Option<f32> = (1, 3));

impl serde::Serialize for Avatar {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f32(self.x)
    }
}

impl<'de> serde::Deserialize<'de> for Avatar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let x = f32::deserialize(deserializer)?;
        Ok(Avatar { player: PlayerId(1), x, y: [0.0; 2], z: None, more: Json::new(Vec::new()) })
    }
}

macro_rules! choice {
    ($name:ident { $($variant:ident = $number:expr),* }) => {
        #[derive(FieldEnum, Clone, Copy, Debug)]
        pub enum $name { $($variant = $number),* }
    };
}

choice!(Facing { North = 3, South = 0x10 });

fn main() {
    assert_eq!(Avatar::KIND.name, "walker");
    assert_eq!(Avatar::KIND.owner, Some(0));
    assert_eq!(Avatar::KIND.fields[2].wire.to_string(), "[f64:0.25:-5:4;2]");
    assert_eq!(<Facing as FieldEnum>::VARIANTS, [("North", 3), ("South", 16)]);
}

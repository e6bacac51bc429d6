use room::prelude::*;

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
pub struct Avatar {
    pub owner: PlayerId,
    pub x: f32,
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000))]
    pub y: f32,
    #[field(writable)]
    pub aim: Option<[f32; 3]>,
    pub r#type: u8,
    pub name: String,
    pub blocks: Bytes,
    pub cards: Json<Vec<Self>>,
    pub face: Facing,
}
impl serde::Serialize for Avatar { fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> { s.serialize_unit() } }
impl<'de> serde::Deserialize<'de> for Avatar { fn deserialize<S: serde::Deserializer<'de>>(_: S) -> Result<Self, S::Error> { loop {} } }

#[derive(FieldEnum, Clone, Copy, Debug)]
pub enum Facing { North, East = 4, South, r#West }

#[test]
fn a() { println!("{:?}", Avatar::KIND); }

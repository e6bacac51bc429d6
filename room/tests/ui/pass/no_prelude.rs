//! Nothing in scope: the expansions name all they use in full, and nothing of theirs is in the way.

#![no_implicit_prelude]

#[derive(::room::FieldEnum, ::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
enum Facing {
    North,
    South,
}

#[derive(::room::Entity, ::core::clone::Clone, ::core::fmt::Debug)]
#[entity(owner = owner)]
struct Avatar {
    owner: ::room::PlayerId,
    facing: Facing,
    maybe: ::core::option::Option<Facing>,
    #[field(writable, quantize(step = 0.5, min = -10, max = 10))]
    x: f32,
    name: ::std::string::String,
    blocks: ::room::Bytes,
    cards: ::room::Json<::std::vec::Vec<u8>>,
}

#[derive(::room::Entity, ::core::clone::Clone, ::core::fmt::Debug)]
#[entity(hidden)]
struct Empty {}

mod crowded {
    //! Names that the expansion might have used for its own.

    #[derive(::room::FieldEnum, ::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
    #[allow(dead_code)]
    pub enum Option {
        Some,
        None,
    }

    #[derive(::room::FieldEnum, ::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
    pub enum Track {
        Codec,
    }

    #[derive(::room::Entity, ::core::clone::Clone, ::core::fmt::Debug)]
    pub struct Entity {
        pub value: Option,
        pub track: Track,
        pub write: V,
        pub source: S,
        pub visit: R,
        pub change: Result,
        pub entity: bool,
        pub bytes: bool,
        pub offset: bool,
    }

    pub type V = u8;
    pub type S = u16;
    pub type R = u32;
    pub type Result = ::room::Json<::std::vec::Vec<R>>;
}

fn main() {
    let fields = <Avatar as ::room::Entity>::KIND.fields.len();
    ::core::assert_eq!(fields, 7);
    ::core::assert!(<Empty as ::room::Entity>::KIND.fields.is_empty());
    ::core::assert_eq!(<crowded::Entity as ::room::Entity>::KIND.fields.len(), 9);
    let _ = [Facing::North, Facing::South];
    let _ = [crowded::Option::Some, crowded::Option::None];
}

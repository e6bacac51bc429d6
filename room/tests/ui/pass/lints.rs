//! A crate that is strict with itself: nothing of the expansion is undocumented, unused or otherwise amiss.

#![deny(missing_docs, missing_debug_implementations, unreachable_pub, unused, warnings)]
#![deny(nonstandard_style, single_use_lifetimes, unused_qualifications, unused_lifetimes)]
#![deny(elided_lifetimes_in_paths, explicit_outlives_requirements, trivial_casts, missing_copy_implementations)]
#![forbid(unsafe_code)]

/// What a game's crate shows.
pub mod game {
    use room::prelude::*;

    /// Where to.
    #[derive(FieldEnum, Clone, Copy, Debug)]
    pub enum Facing {
        /// Up.
        North,
        /// Down.
        South,
    }

    /// A player's body.
    ///
    /// It has *several* lines of `docs`, with "quotes".
    #[derive(Entity, Clone, Debug)]
    #[entity(owner = owner)]
    pub struct Avatar {
        /// Whose.
        pub owner: PlayerId,
        #[doc = "Where."]
        #[field(writable)]
        /** Still where. */
        pub x: f32,
        /// Where to.
        pub facing: Facing,
        /// Its name.
        pub name: String,
        /// Blocks.
        pub blocks: Bytes,
        /// Cards.
        pub cards: Json<Vec<u8>>,
        /// Gone soon.
        #[deprecated]
        pub old: u8,
        pub(crate) _private: u8,
        __more: u8,
    }

    /// Nothing.
    #[derive(Entity, Clone, Copy, Debug)]
    pub struct Marker {}
}

mod own {
    use room::prelude::*;

    #[derive(Entity, Clone, Debug)]
    #[entity(hidden, ids = "random")]
    struct Deck {
        order: Json<Vec<Card>>,
        #[field(quantize(step = 0.5, min = 0, max = 10))]
        angle: f32,
        bytes: Bytes,
    }

    #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
    struct Card(u8);

    pub(super) fn show() -> usize {
        let deck =
            Deck { order: Json::new(vec![Card(1)]), angle: 0.0, bytes: Bytes::default() };
        deck.order.len() + deck.bytes.len() + deck.angle as usize
    }
}

fn main() {
    /// Within a function.
    #[derive(room::Entity, Clone, Debug)]
    struct Local {
        /// One.
        x: f32,
    }
    assert_eq!(<Local as room::Entity>::KIND.fields.len(), 1);
    assert_eq!(Local { x: 1.0 }.clone().x, 1.0);
    assert_eq!(own::show(), 1);
}

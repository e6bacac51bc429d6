//! What the derives write, held against files that a person can read.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test -p room-derive` writes them anew.

use std::path::Path;

use proc_macro2::TokenStream;

/// Compares the expansion of a snapshot's input with the snapshot.
fn check(name: &str, derive: fn(TokenStream) -> TokenStream, input: &str) {
    let expansion = syn::parse2(derive(input.parse().unwrap())).unwrap();
    let expansion = prettyplease::unparse(&expansion);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(name).with_extension("rs");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, expansion).unwrap();
        return;
    }
    let snapshot = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        snapshot.replace("\r\n", "\n") == expansion,
        "the expansion is not {}; where it should differ, UPDATE_SNAPSHOTS=1 writes it anew:\n{expansion}",
        path.display()
    );
}

fn entity(name: &str, input: &str) {
    check(name, crate::expand::derive, input);
}

fn field_enum(name: &str, input: &str) {
    check(name, crate::field_enum::derive, input);
}

#[test]
fn a_kind_with_every_sort_of_field() {
    entity(
        "avatar",
        r#"
        /// A player's body.
        #[entity(owner = owner, ids = "random")]
        pub struct Avatar {
            pub owner: PlayerId,
            /// Where to.
            #[field(writable, quantize(step = 0.5, min = -180, max = 180.0))]
            pub aim: Option<f32>,
            #[field(name = "sort")]
            pub r#type: Sort,
            pub name: String,
            #[field(coarse)]
            pub(crate) blocks: Bytes,
            cards: Json<Vec<Self>>,
        }
        "#,
    );
}

#[test]
fn a_hidden_kind_in_a_renamed_crate() {
    entity(
        "deck",
        r#"#[entity(hidden, ephemeral, name = "cards", crate = "my_room")] struct Deck { order: Json<Vec<u8>> }"#,
    );
}

#[test]
fn a_kind_without_fields() {
    entity("marker", "struct Marker {}");
}

#[test]
fn mistakes_leave_an_entity_so_that_each_is_one_message() {
    entity("mistakes", "#[entity(nmae)] struct Rock { id: u8, x: f32 }");
    entity("tuple", "#[entity(hidden)] struct Pair<T: Clone>(T, T) where T: Copy;");
}

#[test]
fn an_enum() {
    field_enum("facing", "pub enum Facing { North, r#East = 7, South }");
    field_enum("enum_mistakes", r#"#[field_enum(crate = "my_room")] enum Facing { North(u8) }"#);
}

#[test]
fn an_input() {
    let input = |name: &str, input: &str| check(name, crate::input::derive, input);
    input("steer", "pub struct Steer { right: f32, #[input(once)] jump: bool, #[input(keep)] heading: u8 }");
    input("input_mistakes", r#"#[input(crate = "my_room")] struct Pair(f32, f32);"#);
}

#[test]
fn nothing_names_the_crate_by_its_own_name_where_it_has_another() {
    let input = r#"
        #[entity(crate = "my_net", owner = a)]
        struct Avatar { a: PlayerId, #[field(writable)] b: Bytes, c: Json<u8>, d: String, e: [f32; 2] }
    "#;
    let expansion = crate::expand::derive(input.parse().unwrap()).to_string();
    assert!(expansion.contains("my_net") && !expansion.contains("room"), "{expansion}");
}

#[test]
fn only_the_room_crate_names_kinds_for_the_library() {
    let named = |path| {
        let input = format!("#[entity(crate = \"{path}\", name = \"room_presence\")] struct Presence {{}}");
        crate::expand::derive(input.parse().unwrap()).to_string().contains("compile_error")
    };
    assert!(!named("crate") && named("room") && named("crate::room"));
}

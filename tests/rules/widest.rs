//! The largest entity with the most fields, and values that JSON cannot carry.
#![allow(dead_code, reason = "the derive makes more than these tests use")]

use room::prelude::*;
use room::runtime::Settings;
use serde::{Deserialize, Serialize};

use super::link::Link;

macro_rules! wide {
    ($($field:ident $set:ident),*) => {
        #[derive(Entity, Clone, Debug, Default)]
        pub(crate) struct Wide {
            pub(crate) n: u16,
            pub(crate) data: Bytes,
            pub(crate) text: String,
            $(pub(crate) $field: bool,)*
        }

        fn flip(wide: &mut WideMut<'_>) {
            $(wide.$set(true);)*
        }
    };
}

wide! {
    b0 set_b0, b1 set_b1, b2 set_b2, b3 set_b3, b4 set_b4, b5 set_b5, b6 set_b6, b7 set_b7, b8
    set_b8, b9 set_b9, b10 set_b10, b11 set_b11, b12 set_b12, b13 set_b13, b14 set_b14, b15 set_b15,
    b16 set_b16, b17 set_b17, b18 set_b18, b19 set_b19, b20 set_b20, b21 set_b21, b22 set_b22, b23
    set_b23, b24 set_b24, b25 set_b25, b26 set_b26, b27 set_b27, b28 set_b28, b29 set_b29, b30
    set_b30, b31 set_b31, b32 set_b32, b33 set_b33, b34 set_b34, b35 set_b35, b36 set_b36, b37
    set_b37, b38 set_b38, b39 set_b39, b40 set_b40, b41 set_b41, b42 set_b42, b43 set_b43, b44
    set_b44, b45 set_b45, b46 set_b46, b47 set_b47, b48 set_b48, b49 set_b49, b50 set_b50, b51
    set_b51, b52 set_b52, b53 set_b53, b54 set_b54, b55 set_b55, b56 set_b56, b57 set_b57, b58
    set_b58, b59 set_b59, b60 set_b60, b61 set_b61, b62 set_b62, b63 set_b63, b64 set_b64, b65
    set_b65, b66 set_b66, b67 set_b67, b68 set_b68, b69 set_b69, b70 set_b70, b71 set_b71, b72
    set_b72, b73 set_b73, b74 set_b74, b75 set_b75, b76 set_b76, b77 set_b77, b78 set_b78, b79
    set_b79, b80 set_b80, b81 set_b81, b82 set_b82, b83 set_b83, b84 set_b84, b85 set_b85, b86
    set_b86, b87 set_b87, b88 set_b88, b89 set_b89, b90 set_b90, b91 set_b91, b92 set_b92, b93
    set_b93, b94 set_b94, b95 set_b95, b96 set_b96, b97 set_b97, b98 set_b98, b99 set_b99, b100
    set_b100, b101 set_b101, b102 set_b102, b103 set_b103, b104 set_b104, b105 set_b105, b106
    set_b106, b107 set_b107, b108 set_b108, b109 set_b109, b110 set_b110, b111 set_b111, b112
    set_b112, b113 set_b113, b114 set_b114, b115 set_b115, b116 set_b116, b117 set_b117, b118
    set_b118, b119 set_b119, b120 set_b120, b121 set_b121, b122 set_b122, b123 set_b123, b124
    set_b124, b125 set_b125, b126 set_b126, b127 set_b127, b128 set_b128, b129 set_b129, b130
    set_b130, b131 set_b131, b132 set_b132, b133 set_b133, b134 set_b134, b135 set_b135, b136
    set_b136, b137 set_b137, b138 set_b138, b139 set_b139, b140 set_b140, b141 set_b141, b142
    set_b142, b143 set_b143, b144 set_b144, b145 set_b145, b146 set_b146, b147 set_b147, b148
    set_b148, b149 set_b149, b150 set_b150, b151 set_b151, b152 set_b152, b153 set_b153, b154
    set_b154, b155 set_b155, b156 set_b156, b157 set_b157, b158 set_b158, b159 set_b159, b160
    set_b160, b161 set_b161, b162 set_b162, b163 set_b163, b164 set_b164, b165 set_b165, b166
    set_b166, b167 set_b167, b168 set_b168, b169 set_b169, b170 set_b170, b171 set_b171, b172
    set_b172, b173 set_b173, b174 set_b174, b175 set_b175, b176 set_b176, b177 set_b177, b178
    set_b178, b179 set_b179, b180 set_b180, b181 set_b181, b182 set_b182, b183 set_b183, b184
    set_b184, b185 set_b185, b186 set_b186, b187 set_b187, b188 set_b188, b189 set_b189, b190
    set_b190, b191 set_b191, b192 set_b192, b193 set_b193, b194 set_b194, b195 set_b195, b196
    set_b196, b197 set_b197, b198 set_b198, b199 set_b199, b200 set_b200, b201 set_b201, b202
    set_b202, b203 set_b203, b204 set_b204, b205 set_b205, b206 set_b206, b207 set_b207, b208
    set_b208, b209 set_b209, b210 set_b210, b211 set_b211, b212 set_b212, b213 set_b213, b214
    set_b214, b215 set_b215, b216 set_b216, b217 set_b217, b218 set_b218, b219 set_b219, b220
    set_b220, b221 set_b221, b222 set_b222, b223 set_b223, b224 set_b224, b225 set_b225, b226
    set_b226, b227 set_b227, b228 set_b228, b229 set_b229, b230 set_b230, b231 set_b231, b232
    set_b232, b233 set_b233, b234 set_b234, b235 set_b235, b236 set_b236, b237 set_b237, b238
    set_b238, b239 set_b239, b240 set_b240, b241 set_b241, b242 set_b242, b243 set_b243, b244
    set_b244, b245 set_b245, b246 set_b246, b247 set_b247, b248 set_b248, b249 set_b249, b250
    set_b250, b251 set_b251
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Deep(Vec<Deep>);

#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Note {
    pub(crate) numbers: Json<Vec<f64>>,
    pub(crate) tree: Json<Deep>,
}

struct Widest;

impl Game for Widest {
    type Event = ();
    type Scratch = ();

    fn schema() -> Schema {
        Schema::new().without_presence().entity::<Wide>().entity::<Note>()
    }
}

fn link() -> Link<Widest> {
    Link::new(Widest, Settings { view_hash: true, ..Settings::default() })
}

#[test]
fn a_change_of_every_field_of_the_largest_entity_fits_in_a_part() {
    let mut link = link();
    let conn = link.join();
    // Every field but the text: 2, 252 and 49,152 bytes, and the lengths of both long ones.
    let text = room::limits::ENTITY - (2 + 252 + 49_152 + 3) - 2;
    let wide = Wide { n: 5, data: Bytes::from(vec![1; 49_152]), text: "a".repeat(text), ..Wide::default() };
    let id = link.edit(|room| room.create_with_id(1 << 52, wide)).expect("it is within the limit");
    link.ticks(2);
    link.edit(|room| {
        let mut wide = room.get_mut(id).expect("it lives");
        wide.set_n(6);
        wide.set_data(Bytes::from(vec![2; 49_152])).expect("it is as long");
        wide.set_text("b".repeat(text)).expect("it is as long");
        flip(&mut wide);
    });
    link.ticks(2);
    let held = link.replica(conn).get(id).expect("it is seen");
    assert_eq!((held.n, held.b251, held.data[0]), (6, true, 2));
}

#[test]
fn json_that_a_client_could_not_read_is_refused() {
    let mut link = link();
    let conn = link.join();
    let id = link.edit(|room| room.create(Note::default())).expect("a note");
    let tree = (0..200).fold(Deep::default(), |tree, _| Deep(vec![tree]));
    link.edit(|room| {
        let mut note = room.get_mut(id).expect("it lives");
        assert!(note.set_numbers(Json::new(vec![f64::NAN])).is_err());
        assert!(note.set_tree(Json::new(tree)).is_err());
    });
    link.ticks(2);
    assert!(link.replica(conn).get(id).is_some());
}

#[test]
fn parts_that_say_nothing_are_not_kept() {
    let mut replica = room_client::replica::Replica::new(&Widest::schema());
    assert!(replica.handle_part(&[1, 1, 0]).is_err());
}

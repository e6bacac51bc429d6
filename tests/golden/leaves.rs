//! The forms in which one content travels.

use room::Tick;
use room::wire::deflate;
use room::wire::update::{Part, UpdateHead};

/// The content of `update-leaves` compressed, and in two parts.
pub(crate) fn in_other_forms() -> [(&'static str, Vec<u8>); 3] {
    let leaves = [1, 10, 0xa2, 2, 0];
    let enter = [2, 2, 14, 0xa0, 0x86, 1, 0xa0, 0x86, 1];
    let head = Some(UpdateHead { tick: Tick(5), complete: Tick(5), hash: None });
    let mut stream = Vec::new();
    deflate::stored(&leaves, &mut stream);
    deflate::stored(&enter[..3], &mut stream);
    deflate::finish(&mut stream);
    // A section may end inside a block; the content of the part is what counts.
    let deflated = Some((8, stream.as_slice()));
    let encode = |part: Part<'_>| {
        let mut out = Vec::new();
        part.encode(&mut out);
        out
    };
    [
        ("update-compressed", encode(Part { head, last: true, deflated, plain: &enter[3..] })),
        ("update-first-part", encode(Part { head, last: false, deflated: None, plain: &leaves })),
        ("update-last-part", encode(Part { head: None, last: true, deflated: None, plain: &enter })),
    ]
}

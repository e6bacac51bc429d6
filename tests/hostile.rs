//! A replica that is fed damaged updates: it refuses them or holds something, and never panics or allocates past
//! the bounds. The seed is printed; `DECODE_SEED=n` runs another.

#![allow(missing_docs)]

#[path = "golden/chapter.rs"]
#[allow(dead_code, reason = "the golden tests use the rest")]
mod chapter;
#[path = "../room/tests/decode/counting.rs"]
mod counting;
#[path = "golden/game.rs"]
#[allow(dead_code, reason = "the golden tests use the rest")]
mod game;
#[path = "../room/tests/decode/mutate.rs"]
mod mutate;

use game::Golden;
use mutate::{Rng, mutate};
use room::Game as _;
use room::limits;
use room::wire::update::Part;
use room_client::replica::Replica;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Updates of the book's wire chapter. Each of the first five leads on from the one before.
const STORY: [&str; 10] = [
    "update-enters",
    "update-whole",
    "update-differences",
    "update-ranges",
    "update-leaves",
    "update-compressed",
    "update-first-part",
    "update-last-part",
    "update-hashed",
    "update-periods",
];

/// Those of a room in which entities are retained, each led on to by the ones before.
const RETAINED: [&str; 3] = ["update-near", "update-away", "update-returns"];

/// Feeds a damaged part to a replica that holds what `before` says, and maybe another part behind it.
fn feed(before: &[&[u8]], damaged: &[u8]) {
    let mut replica = Replica::new(&Golden::schema());
    replica.retain(8);
    for part in before {
        replica.handle_part(part).expect("the chapter's updates apply");
    }
    // What a part may cost follows the plain bytes that it declares: at most 61,440.
    let declared = Part::decode(damaged).ok().and_then(|part| part.deflated).map_or(0, |(plain, _)| plain);
    let most = limits::decode_allocation(damaged.len() + declared);
    let asked = counting::allocated(|| {
        let _ = replica.handle_part(damaged);
    });
    assert!(asked <= most, "{asked} bytes for {} and {declared} plain: {damaged:02x?}", damaged.len());
    // Whatever came of it, it can be read and emptied.
    let _ = (replica.hash(), replica.len(), replica.all::<game::Unit>().count());
    // A refused update may stand in the middle of one.
    let copies = replica.retained::<game::Unit>().count() + replica.retained::<game::Point>().count();
    assert!(copies <= replica.retained_ids().count() + 1);
    replica.clear();
    assert!(replica.is_empty() && replica.retained_ids().count() == 0);
    assert_eq!(replica.retained::<game::Point>().count(), 0);
}

/// How many updates stand before one: periods are of what the fifth leaves.
fn before(i: usize) -> usize {
    if STORY[i] == "update-periods" { 5 } else { i.min(4) }
}

#[test]
fn damaged_updates_are_refused_or_read_and_cost_no_more_than_they_may() {
    let vectors = chapter::vectors();
    let parts = |names: &[&'static str]| names.iter().map(|name| &vectors[name][1..]).collect::<Vec<&[u8]>>();
    let (story, retained) = (parts(&STORY), parts(&RETAINED));
    let led = |i: usize, part| (&story[..before(i)], part);
    let mut all: Vec<(&[&[u8]], &[u8])> = story.iter().enumerate().map(|(i, part)| led(i, *part)).collect();
    all.extend(retained.iter().enumerate().map(|(i, part)| (&retained[..i], *part)));
    for (before, part) in &all {
        for end in 0..=part.len() {
            feed(before, &part[..end]);
        }
    }
    let seed = std::env::var("DECODE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("DECODE_SEED={seed}");
    let mut rng = Rng(seed);
    let mut damaged = Vec::new();
    for _ in 0..100_000 {
        let ((before, part), (_, other)) = (all[rng.below(all.len())], all[rng.below(all.len())]);
        mutate(&mut rng, part, other, &mut damaged);
        feed(before, &damaged);
    }
}

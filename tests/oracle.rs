//! Random worlds, interests, links and stories: whenever a client is drained, its replica is what a naive filter
//! of the world says, through the real encoder, differences, parts, DEFLATE and decoder.
//!
//! `PROPTEST_CASES=2000 cargo test --test oracle` runs more cases. A case that fails is printed, shrunk; as a
//! named test below it stays.

#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

#[path = "oracle/drive.rs"]
mod drive;
#[path = "oracle/game.rs"]
mod game;
#[path = "oracle/interest.rs"]
mod interest;
#[path = "oracle/kinds.rs"]
mod kinds;
#[path = "oracle/model.rs"]
mod model;
#[path = "oracle/script.rs"]
mod script;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Cases unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 200;

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let failure_persistence: Option<Box<FileFailurePersistence>> = None;
    ProptestConfig {
        cases,
        max_shrink_iters: 4000,
        failure_persistence: failure_persistence.map(|it| it as _),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_drained_replica_equals_the_oracle(case in script::case()) {
        drive::run(case);
    }
}

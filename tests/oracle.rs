//! Random worlds, interests, links and stories: whenever a client is drained, its replica is what a naive filter
//! of the world says, through the real encoder, differences, parts, DEFLATE and decoder.
//!
//! `PROPTEST_CASES=2000 cargo test --test oracle` runs more cases. A case that fails is printed, shrunk, with its
//! seed: `ORACLE_SEED=… cargo test --test oracle` runs it again, and `check(…)` in a named test below keeps it.

#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

#[path = "common/workers.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod workers;

#[path = "oracle/drive.rs"]
mod drive;
#[path = "oracle/fresh.rs"]
mod fresh;
#[path = "oracle/game.rs"]
mod game;
#[path = "oracle/interest.rs"]
mod interest;
#[path = "oracle/kinds.rs"]
mod kinds;
#[path = "oracle/model.rs"]
mod model;
#[path = "oracle/retained.rs"]
mod retained;
#[path = "oracle/script.rs"]
mod script;

use std::hash::{BuildHasher, RandomState};

use room::sync::workers::Workers;
use workers::{Shuffled, Spread};

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// Cases unless `PROPTEST_CASES` says otherwise.
const CASES: u64 = 150;

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is {value}; it should be a number")))
}

/// Runs the case of a seed.
fn check(seed: u64) {
    check_as(seed, drive::run);
}

/// Runs the case of a seed in a way of its own.
fn check_as(seed: u64, run: impl Fn(script::Case)) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: 1,
        max_shrink_iters: 4000,
        max_shrink_time: 60_000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let outcome = runner.run(&script::case(), |case| {
        run(case);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => {
            panic!("seed {seed}: {why}\n{case:#?}\nagain: ORACLE_SEED={seed} cargo test --test oracle")
        }
        Err(TestError::Abort(why)) => panic!("seed {seed}: {why}"),
    }
}

#[test]
fn every_drained_replica_equals_the_oracle() {
    if let Some(seed) = variable("ORACLE_SEED") {
        return check(seed);
    }
    // Another run, other cases.
    let first = RandomState::new().hash_one(()) >> 1;
    (first..first + variable("PROPTEST_CASES").unwrap_or(CASES)).for_each(check);
}

/// A case each for so many of the others.
const SAME_EVERY: u64 = 10;

#[test]
fn each_connection_gets_the_same_bytes_for_any_number_of_jobs() {
    let first = RandomState::new().hash_one(1) >> 1;
    let cases = (variable("PROPTEST_CASES").unwrap_or(CASES) / SAME_EVERY).max(1);
    (first..first + cases).for_each(|seed| check_as(seed, same_bytes));
}

fn same_bytes(case: script::Case) {
    let with = |workers: Option<Box<dyn Workers>>| drive::run_with(case.clone(), workers);
    let alone = with(None);
    for jobs in [1, 2, 3, 8, 40] {
        let shuffled = with(Some(Box::new(Shuffled::new(jobs, jobs as u64))));
        assert!(alone == shuffled, "{jobs} jobs on one thread send other bytes than one");
        let spread = with(Some(Box::new(Spread { threads: jobs.min(4), jobs })));
        assert!(alone == spread, "{jobs} jobs on several threads send other bytes than one");
    }
}

/// An entity's size did not count that a patch had made its field's length prefix longer.
#[test]
fn a_patched_field_with_a_longer_prefix() {
    check(6_025_304_136_407_565_649);
}

/// An entity that lost the key by which one part showed it is sent at the pace of the part that still does.
#[test]
fn a_part_that_lets_go_leaves_the_pace_to_another() {
    check(7_107_212_978_094_551_795);
    // The same where the game no longer says yes.
    check(5_739_414_697_570_107_620);
}

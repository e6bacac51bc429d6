//! The fuzz of the whole server session with inputs from a seed: a room under whatever clients, sockets and a
//! careless game may do. What it checks is in `fuzz/session.rs`; `fuzz` has the same for libFuzzer.
//!
//! `FUZZ_INPUTS=n` runs more, `FUZZ_LEN=n` longer ones. An input that fails is printed, as short as it still fails, for `FOUND` below;
//! `FUZZ_SEED=n FUZZ_INPUTS=1` runs it again.

#[path = "../room/tests/decode/counting.rs"]
mod counting;
#[path = "../room/tests/decode/mutate.rs"]
#[allow(dead_code, reason = "messages are damaged otherwise here")]
mod mutate;
#[path = "../fuzz/session.rs"]
mod session;

use std::panic::{AssertUnwindSafe, catch_unwind};

use session::Reached;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Inputs unless `FUZZ_INPUTS` says otherwise.
const INPUTS: u64 = 3000;
/// The most bytes of an input unless `FUZZ_LEN` says otherwise.
const LEN: usize = 250;

/// Inputs that found something, and what.
const FOUND: &[(&str, &str)] = &[(
    "1ceff125060ea6045ad7c70b5f173602e9dce693132f6d7f377ead9893dc6a069c0cb31d5c6d64176e9064bcc44f15d3ff2e61429e8d65f7484ba186c7017f6ed515a0ff2596f5cea996cbae8c28eb29c6e27a16af8e57bbd16604737312453a8e7f009f9dafba78dff9ee0429a47c57f01b664fd2c6249a1e72f39d",
    "a connection that was closed is aborted once its held session ends",
)];

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is {value}; it should be a number")))
}

/// The input of a seed.
fn input(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = mutate::Rng(seed);
    let len = 1 + rng.below(len);
    (0..len).map(|_| rng.next() as u8).collect()
}

fn fails(data: &[u8], reached: &mut Reached) -> bool {
    catch_unwind(AssertUnwindSafe(|| session::session(data, reached))).is_err()
}

/// Without what it still fails without.
fn shrunk(mut data: Vec<u8>) -> Vec<u8> {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut size = data.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= data.len() {
            let mut less = data.clone();
            less.drain(at..at + size);
            if fails(&less, &mut Reached::default()) { data = less } else { at += size }
        }
        size /= 2;
    }
    std::panic::set_hook(quiet);
    data
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
    (0..text.len()).step_by(2).map(digit).collect()
}

#[test]
fn no_input_makes_the_room_panic_hold_too_much_or_break_its_word() {
    let inputs = variable("FUZZ_INPUTS").unwrap_or(INPUTS);
    let first = variable("FUZZ_SEED").unwrap_or(1);
    let len = variable("FUZZ_LEN").map_or(LEN, |len| len as usize);
    let mut reached = Reached::default();
    for seed in first..first + inputs {
        if fails(&input(seed, len), &mut reached) {
            let short = shrunk(input(seed, len));
            println!("FUZZ_SEED={seed} {}", hex(&short));
            // Once more, for its words.
            session::session(&short, &mut reached);
            panic!("FUZZ_SEED={seed} fails, and not again when it is shorter");
        }
    }
    println!("{reached:?}");
    if inputs >= INPUTS {
        // Inputs that are all refused would find nothing.
        assert!(session::CODES.iter().chain(&[0]).all(|code| reached.codes.contains(code)), "{reached:?}");
        let counts =
            [reached.resumed[0], reached.resumed[1], reached.compared, reached.emptied, reached.answered];
        assert!(reached.written > 20, "{reached:?}");
        assert!(counts.iter().all(|count| *count > INPUTS as usize / 30), "{reached:?}");
    }
}

#[test]
fn inputs_that_found_something_find_nothing_more() {
    for (input, what) in FOUND {
        assert!(!fails(&from_hex(input), &mut Reached::default()), "again: {what}");
    }
}

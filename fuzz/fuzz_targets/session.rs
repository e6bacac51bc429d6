//! A whole room, its sessions and its clients: `cargo +nightly fuzz run session`.

#![no_main]

#[path = "../../room/tests/decode/counting.rs"]
mod counting;
#[path = "../session.rs"]
mod session;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

libfuzzer_sys::fuzz_target!(|data: &[u8]| session::session(data, &mut session::Reached::default()));

//! One stepper on two machines.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use room_page::steps::{INPUT, walk};

use crate::stage::{Stage, join};

const INPUTS: usize = 100_000;

/// What somebody did who holds a direction for a while, and jumps now and then.
fn recording() -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut bytes, mut way) = (Vec::new(), [0, 0]);
    for _ in 0..INPUTS {
        if rng.next_u32().is_multiple_of(10) {
            way = [rng.next_u32() as u8, rng.next_u32() as u8];
        }
        bytes.extend([way[0], way[1], u8::from(rng.next_u32().is_multiple_of(20))]);
    }
    assert_eq!(bytes.len(), INPUTS * INPUT);
    bytes
}

#[test]
fn a_hundred_thousand_inputs_end_in_the_same_bytes_in_a_browser() {
    let Some(stage) = Stage::set("steps") else { return };
    let recording = recording();
    let native = walk(&recording);
    let ada = join(&stage.browser, &stage.host, "Ada");
    assert_eq!(ada.tab.run("typeof page.walk"), "function", "build the page with `--features steps`");
    let list = serde_json::to_string(&recording).expect("JSON");
    let web = ada.tab.run(&format!("Array.from(page.walk(new Uint8Array({list})))"));
    let web: Vec<u8> = serde_json::from_value(web).expect("bytes");
    assert_eq!(web, native);
    drop(ada);
    stage.end();
}

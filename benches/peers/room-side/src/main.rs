//! `room` itself, on the worlds that the peers get.

mod crowd;
mod terrain;

use world::Options;

fn main() {
    let options = Options::parse();
    if options.workload == "W6" {
        return terrain::burst();
    }
    world::main(
        |options| {
            let fields = if options.small { "fields in steps of 0.01" } else { "plain f32" };
            format!(
                "in process; one thread; grid with an exact circle; {fields}; other client ends acknowledge"
            )
        },
        crowd::make,
    );
}

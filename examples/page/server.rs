//! Serves the field, and the page to play it on.
//!
//! ```text
//! cargo web build examples/page --release
//! cargo run --example page                     # then open http://127.0.0.1:8787
//! cargo run --example page -- --store field.db # and keep the field
//! ```

#[path = "../common/args.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod args;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use args::{Args, Flag};
use room::server::{Server, SqliteStore, init_logs};
use room_page::game::Field;

const FLAGS: &[Flag] = &[
    Flag { name: "port", value: "PORT", help: "port to listen on (8787)" },
    Flag { name: "page", value: "FOLDER", help: "where the page was built (target/page/room_page)" },
    Flag { name: "store", value: "FILE", help: "keeps the field in a file" },
];

fn main() -> ExitCode {
    let args = Args::of_process("A field for squares, and its page.", FLAGS);
    init_logs();
    match serve(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("page: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn serve(args: &Args) -> Result<(), Box<dyn Error>> {
    let folder = args.text("page").unwrap_or("target/page/room_page");
    if !Path::new(folder).join("index.html").exists() {
        return Err(format!("{folder} has no page; build it: cargo web build examples/page --release").into());
    }
    let mut server =
        Server::new(|_: &str| Field).assets(folder).port(args.number("port", 8787, 0..=65535)?);
    if let Some(file) = args.text("store") {
        server = server.store(SqliteStore::open(file)?);
    }
    Ok(server.run().await?)
}

//! Builds a game's page for browsers: `cargo web build examples/page --release`.
//!
//! The page is a crate that makes a `cdylib` and uses `wasm-bindgen`. What comes out is a folder that any web server can
//! serve: what the crate's `static` folder has (at least its `index.html`), the JavaScript, the WebAssembly, and each of
//! them as `.gz` where that is shorter.

mod build;
mod fault;
mod folder;
mod toolchain;

use std::path::PathBuf;
use std::process::ExitCode;

use build::Build;
use fault::Fault;
use toolchain::Toolchain;

const HELP: &str = "\
usage:
  cargo web build CRATE [--release] [--features LIST] [--out FOLDER]
      compiles the crate in the folder CRATE for browsers, and writes its page to FOLDER (target/page/NAME unless set);
      --release makes it small
  cargo web cargo ARGUMENTS
      runs cargo for wasm32-unknown-unknown: `cargo web cargo check -p room-client --no-default-features --features web`

Where the target is not installed, rustup is asked for it; where that does not work, Debian's compiler for it is unpacked
into ~/.cache/room-wasm (or $ROOM_WASM_HOME), and the standard library is compiled.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("room-web: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Fault> {
    match arguments.split_first() {
        Some((command, rest)) if command == "build" => parse(rest)?.run(),
        Some((command, rest)) if command == "cargo" && !rest.is_empty() => {
            let (command, rest) = rest.split_first().ok_or(Fault::Usage(HELP))?;
            fault::run(Toolchain::find()?.cargo(command).args(rest))
        }
        _ => Err(Fault::Usage(HELP)),
    }
}

fn parse(arguments: &[String]) -> Result<Build, Fault> {
    let mut build = Build::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--release" => build.release = true,
            "--features" => build.features = Some(rest.next().ok_or(Fault::Usage(HELP))?.clone()),
            "--out" => build.out = Some(PathBuf::from(rest.next().ok_or(Fault::Usage(HELP))?)),
            folder if !folder.starts_with('-') && build.folder.as_os_str().is_empty() => {
                build.folder = PathBuf::from(folder);
            }
            _ => return Err(Fault::Usage(HELP)),
        }
    }
    if build.folder.as_os_str().is_empty() { Err(Fault::Usage(HELP)) } else { Ok(build) }
}

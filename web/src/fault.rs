//! What goes wrong, and running other programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}")]
    Usage(&'static str),
    #[error("{program} does not start: {error}")]
    Start { program: String, error: std::io::Error },
    #[error("{program} failed")]
    Failed { program: String },
    #[error("cargo says nothing of {0}: {1}")]
    Metadata(PathBuf, String),
    #[error("{0} makes no library for browsers: put `[lib] crate-type = [\"cdylib\"]` into its Cargo.toml")]
    NoLibrary(PathBuf),
    #[error("binding {0}: {1}")]
    Bind(PathBuf, String),
    #[error("{path}: {error}")]
    File { path: PathBuf, error: std::io::Error },
    #[error(
        "there is no wasm32-unknown-unknown: install it with `rustup target add wasm32-unknown-unknown` ({0})"
    )]
    NoTarget(String),
}

/// Runs a program to its end; what it says is the user's to read.
pub(crate) fn run(command: &mut Command) -> Result<(), Fault> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Fault::Failed { program }),
        Err(error) => Err(Fault::Start { program, error }),
    }
}

/// What a program says.
pub(crate) fn output(command: &mut Command) -> Result<String, Fault> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(_) => Err(Fault::Failed { program }),
        Err(error) => Err(Fault::Start { program, error }),
    }
}

//! The peers: how each is built and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use world::Spec;

use crate::args::Args;
use crate::child;

/// All workloads, in the order in which they run.
pub const WORKLOADS: [&str; 9] = ["W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9"];

/// What a workload is.
pub fn about(workload: &str) -> &'static str {
    let burst = "500 joins in one tick into the same 125 terrain chunks, nothing compressed before";
    Spec::named(workload).map_or(burst, |spec| spec.about)
}

/// A library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// This project.
    Room,
    /// bevy_replicon.
    Replicon,
    /// lightyear.
    Lightyear,
    /// naia.
    Naia,
    /// Colyseus, run by node.
    Colyseus,
    /// valence.
    Valence,
}

/// How fields are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Plain `f32`.
    Plain,
    /// The setting of the library with the fewest bytes at a precision of 0.01.
    Small,
}

impl Peer {
    /// All but `room`.
    pub const OTHERS: [Peer; 5] =
        [Peer::Replicon, Peer::Lightyear, Peer::Naia, Peer::Colyseus, Peer::Valence];

    /// Its name in arguments and results.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Room => "room",
            Peer::Replicon => "replicon",
            Peer::Lightyear => "lightyear",
            Peer::Naia => "naia",
            Peer::Colyseus => "colyseus",
            Peer::Valence => "valence",
        }
    }

    /// Whether it can do a workload at all.
    pub fn takes(self, workload: &str) -> bool {
        match (self, workload) {
            // Its components must fit a packet, or nothing of it is made for blobs.
            (Peer::Naia | Peer::Lightyear | Peer::Colyseus, "W6") => false,
            // Its entities have the rotation, but their places are of another precision: one line is enough.
            (Peer::Valence, "W1") => false,
            _ => true,
        }
    }

    /// Whether it has another setting for a workload.
    pub fn takes_small(self, workload: &str) -> bool {
        self != Peer::Valence && workload != "W6"
    }

    /// Builds it.
    pub fn build(self) -> Result<(), String> {
        if self == Peer::Colyseus {
            return install_node_modules();
        }
        let package = format!("peer-{}", self.name());
        eprintln!("building {package}");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--release", "--locked", "-p", &package, "--manifest-path"])
            .arg(home().join("Cargo.toml"))
            .status()
            .map_err(|error| format!("cargo does not run: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{package} does not build")) }
    }

    /// Runs it on a workload.
    pub fn run(self, args: &Args, workload: &str, setting: Setting) -> Result<Value, String> {
        let mut command;
        let mut script = None;
        if self == Peer::Colyseus {
            let spec = Spec::named(workload).ok_or("the script has only entities that move")?;
            let setting = if setting == Setting::Small { "small" } else { "plain" };
            command = Command::new("node");
            command.arg(colyseus().join("peer.js"));
            command.args([args.ticks.to_string(), args.warmup.to_string(), setting.to_owned()]);
            script = Some((spec, args.ticks + args.warmup));
        } else {
            command = Command::new(release().join(format!("peer-{}", self.name())));
            command.args(["--workload", workload]);
            command.args(["--ticks", &args.ticks.to_string(), "--warmup", &args.warmup.to_string()]);
            if setting == Setting::Small {
                command.arg("--small");
            }
        }
        child::run(command, script, args.limit)
    }
}

/// The folder of this workspace.
fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn colyseus() -> PathBuf {
    home().join("colyseus")
}

/// Where cargo puts what it builds: beside this program.
fn release() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors().nth(2).map(|target| target.join("release")).unwrap_or_default()
}

fn install_node_modules() -> Result<(), String> {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !runs("node") || !runs("npm") {
        return Err("node and npm are missing; install Node.js 20 or later".into());
    }
    if colyseus().join("node_modules").is_dir() {
        return Ok(());
    }
    eprintln!("installing colyseus/node_modules");
    let status = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund"])
        .current_dir(colyseus())
        .stdout(std::io::stderr())
        .status()
        .map_err(|error| format!("npm does not run: {error}"))?;
    if status.success() { Ok(()) } else { Err("npm ci failed in benches/peers/colyseus".into()) }
}

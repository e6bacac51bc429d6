//! A compiler for wasm32, by whichever way this machine has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fault::{Fault, output, run};

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// What compiles.
pub(crate) enum Toolchain {
    /// The machine's own, which has the target.
    Installed,
    /// Debian's, unpacked in a folder of its own. It comes with the source of the standard library.
    Unpacked { root: PathBuf, linker: PathBuf },
}

impl Toolchain {
    pub(crate) fn find() -> Result<Toolchain, Fault> {
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
            return Ok(Toolchain::Installed);
        }
        let mut add = Command::new("rustup");
        match run(add.args(["target", "add", TARGET])) {
            Ok(()) => Ok(Toolchain::Installed),
            Err(fault) => unpacked().map_err(|other| Fault::NoTarget(format!("{fault}; {other}"))),
        }
    }

    /// Cargo, which compiles for browsers with this command.
    pub(crate) fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.arg(command);
        if let Toolchain::Unpacked { root, linker } = self {
            // The standard library is compiled with the rest, which needs leave where the compiler is no nightly.
            cargo.args(["-Z", "build-std=std,panic_abort"]);
            cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", root.join("usr/bin/rustc"));
            cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
            cargo.env("LD_LIBRARY_PATH", libraries(root));
        }
        cargo.args(["--target", TARGET]);
        cargo
    }
}

/// Where the unpacked compiler finds its own libraries.
fn libraries(root: &Path) -> String {
    let own = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let others = std::env::var("LD_LIBRARY_PATH").map(|others| format!(":{others}")).unwrap_or_default();
    format!("{}{others}", own.display())
}

/// Debian's compiler; fetched where it is not there yet.
fn unpacked() -> Result<Toolchain, Fault> {
    let home = std::env::var_os("ROOM_WASM_HOME").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/room-wasm")
    });
    let root = home.join("root");
    if linker(&root).is_none() || !root.join("usr/bin/rustc").is_file() {
        println!("unpacking Debian's compiler for browsers into {}", home.display());
        fetch(&home)?;
    }
    match linker(&root) {
        Some(linker) => Ok(Toolchain::Unpacked { root, linker }),
        None => Err(Fault::NoTarget("Debian's lld has no wasm-ld".to_owned())),
    }
}

fn linker(root: &Path) -> Option<PathBuf> {
    let programs = std::fs::read_dir(root.join("usr/bin")).ok()?;
    programs
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("wasm-ld")))
}

/// Fetches the packages: the compiler, the standard library's source, and the linker of the same LLVM.
fn fetch(home: &Path) -> Result<(), Fault> {
    let debs = home.join("debs");
    std::fs::create_dir_all(&debs).map_err(|error| Fault::File { path: debs.clone(), error })?;
    run(Command::new("apt-get").args(["update", "-qq"]))?;
    let depends = |package: &str| output(Command::new("apt-cache").args(["depends", package]));
    let name = |text: &str, start: &str| {
        let named = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        named.map(str::to_owned).find(|name| name.starts_with(start)).unwrap_or_default()
    };
    let std = name(&depends("libstd-rust-web-dev")?, "libstd-rust-web-");
    let llvm = name(&depends(&std)?, "libllvm");
    let lld = llvm.replacen("libllvm", "lld-", 1);
    let packages = ["rustc-web", "rust-web-src", "libstd-rust-web-dev", "rust-web-llvm", &std, &llvm, &lld];
    run(Command::new("apt-get").current_dir(&debs).arg("download").args(packages).stdout(Stdio::null()))?;
    let fetched = std::fs::read_dir(&debs).map_err(|error| Fault::File { path: debs.clone(), error })?;
    for deb in fetched.filter_map(Result::ok) {
        run(Command::new("dpkg-deb").arg("-x").arg(deb.path()).arg(home.join("root")))?;
    }
    std::fs::remove_dir_all(&debs).map_err(|error| Fault::File { path: debs, error })
}

//! From a crate to a page.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use wasm_bindgen_cli_support::Bindgen;

use crate::fault::{Fault, output, run};
use crate::folder::{self, Size};
use crate::toolchain::{TARGET, Toolchain};

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Build {
    pub(crate) folder: PathBuf,
    pub(crate) release: bool,
    pub(crate) features: Option<String>,
    pub(crate) out: Option<PathBuf>,
}

/// What cargo knows of the crate.
struct Crate {
    /// As cargo names the file.
    library: String,
    target: PathBuf,
}

/// What makes a release small: a page is downloaded before it is run.
const SMALL: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
];

impl Build {
    pub(crate) fn run(&self) -> Result<(), Fault> {
        let of = self.look()?;
        self.compile()?;
        let profile = if self.release { "release" } else { "debug" };
        let wasm = of.target.join(TARGET).join(profile).join(format!("{}.wasm", of.library));
        let out = self.out.clone().unwrap_or_else(|| of.target.join("page").join(&of.library));
        folder::renew(&out)?;
        folder::copy(&self.folder.join("static"), &out)?;
        self.bind(&wasm, &out)?;
        let index = out.join("index.html");
        if !index.exists() {
            std::fs::write(&index, plain_index(&of.library)).map_err(folder::at(&index))?;
        }
        report(&out, &folder::pack(&out)?);
        Ok(())
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }

    fn look(&self) -> Result<Crate, Fault> {
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]);
        let text = output(cargo.arg(self.manifest()))?;
        let bad = |what: &str| Fault::Metadata(self.folder.clone(), what.to_owned());
        let metadata: Value = serde_json::from_str(&text).map_err(|error| bad(&error.to_string()))?;
        let manifest = std::fs::canonicalize(self.manifest()).map_err(folder::at(&self.manifest()))?;
        let packages = metadata["packages"].as_array().ok_or_else(|| bad("no packages"))?;
        let package = packages
            .iter()
            .find(|package| package["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest))
            .ok_or_else(|| bad("it is no package"))?;
        let is_page = |target: &Value| {
            let types = target["crate_types"].as_array();
            types.is_some_and(|types| types.iter().any(|is| is == "cdylib"))
        };
        let targets = package["targets"].as_array().into_iter().flatten();
        let library =
            targets.into_iter().find(|target| is_page(target)).and_then(|target| target["name"].as_str());
        let library = library.ok_or_else(|| Fault::NoLibrary(self.folder.clone()))?.replace('-', "_");
        let target = metadata["target_directory"].as_str().ok_or_else(|| bad("no target folder"))?;
        Ok(Crate { library, target: PathBuf::from(target) })
    }

    fn compile(&self) -> Result<(), Fault> {
        let mut cargo = Toolchain::find()?.cargo("build");
        cargo.arg("--lib").arg("--manifest-path").arg(self.manifest());
        if let Some(features) = &self.features {
            cargo.args(["--features", features]);
        }
        if self.release {
            cargo.arg("--release").envs(SMALL);
        }
        run(&mut cargo)
    }

    /// Writes the JavaScript, and the WebAssembly that goes with it.
    fn bind(&self, wasm: &Path, out: &Path) -> Result<(), Fault> {
        let mut bindgen = Bindgen::new();
        bindgen.input_path(wasm).typescript(false).keep_debug(!self.release).omit_default_module_path(false);
        bindgen.remove_name_section(self.release).remove_producers_section(self.release);
        bindgen
            .web(true)
            .and_then(|bindgen| bindgen.generate(out))
            .map_err(|error| Fault::Bind(wasm.to_owned(), format!("{error:#}")))
    }
}

/// A page that does nothing but to start the game.
fn plain_index(library: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{library}</title>\n\
         <script type=\"module\">import start from \"./{library}.js\"; start();</script>\n"
    )
}

fn report(out: &Path, sizes: &[(String, Size)]) {
    println!("{}", out.display());
    let line = |name: &str, size: Size| {
        println!("  {name:<28} {:>9} bytes, {:>9} with gzip", size.plain, size.packed);
    };
    let mut whole = Size::default();
    for (name, size) in sizes {
        line(name, *size);
        whole = Size { plain: whole.plain + size.plain, packed: whole.packed + size.packed };
    }
    line("together", whole);
}

//! The folder that comes out: whole files, their short twins, and what they weigh.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fault::Fault;

/// What a page weighs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) plain: usize,
    pub(crate) packed: usize,
}

/// Copies a folder's files, if there is such a folder.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Fault> {
    if !from.is_dir() {
        return Ok(());
    }
    for path in files(from)? {
        let target = to.join(path.strip_prefix(from).unwrap_or(&path));
        let parent = target.parent().unwrap_or(to);
        std::fs::create_dir_all(parent).map_err(at(parent))?;
        std::fs::copy(&path, &target).map_err(at(&path))?;
    }
    Ok(())
}

/// Puts a `.gz` beside every file that is shorter so, and says what each weighs.
pub(crate) fn pack(folder: &Path) -> Result<Vec<(String, Size)>, Fault> {
    let mut sizes = Vec::new();
    for path in files(folder)? {
        if path.extension().is_some_and(|extension| extension == "gz") {
            continue;
        }
        let plain = std::fs::read(&path).map_err(at(&path))?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let packed = encoder.write_all(&plain).and_then(|()| encoder.finish()).map_err(at(&path))?;
        let short = packed.len() < plain.len();
        if short {
            let twin = PathBuf::from(format!("{}.gz", path.display()));
            std::fs::write(&twin, &packed).map_err(at(&twin))?;
        }
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let packed = if short { packed.len() } else { plain.len() };
        sizes.push((name, Size { plain: plain.len(), packed }));
    }
    sizes.sort();
    Ok(sizes)
}

/// An empty folder, in the place of one that was there.
pub(crate) fn renew(folder: &Path) -> Result<(), Fault> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(at(folder))
}

/// Blames a path.
pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> Fault {
    let path = path.to_owned();
    move |error| Fault::File { path: path.clone(), error }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

impl PartialOrd for Size {
    fn partial_cmp(&self, other: &Size) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Size {
    fn cmp(&self, other: &Size) -> std::cmp::Ordering {
        (self.plain, self.packed).cmp(&(other.plain, other.packed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_and_what_gets_shorter_is_packed() {
        let base = std::env::temp_dir().join(format!("room-web-{}", std::process::id()));
        let (from, to) = (base.join("from"), base.join("to"));
        std::fs::create_dir_all(from.join("deep")).unwrap();
        std::fs::write(from.join("index.html"), "<p>".repeat(100)).unwrap();
        std::fs::write(from.join("deep/one"), "1").unwrap();
        renew(&to).unwrap();
        copy(&from, &to).unwrap();
        let sizes = pack(&to).unwrap();
        let names: Vec<&str> = sizes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["deep/one", "index.html"]);
        assert_eq!(sizes[0].1, Size { plain: 1, packed: 1 });
        assert!(sizes[1].1.plain == 300 && sizes[1].1.packed < 60);
        assert!(to.join("index.html.gz").is_file() && !to.join("deep/one.gz").exists());
        renew(&to).unwrap();
        assert!(files(&to).unwrap().is_empty());
        std::fs::remove_dir_all(&base).unwrap();
    }
}

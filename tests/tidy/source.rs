//! Source files as these rules look at them.

use std::path::{Path, PathBuf};

/// A Rust file.
pub(crate) struct Source {
    /// From the workspace's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A file of the workspace.
pub(crate) fn read(path: &str) -> String {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()))
}

/// The Rust files of some folders, in order; without those that only stand for what a compiler prints.
pub(crate) fn sources(folders: &[&str]) -> Vec<Source> {
    let paths = folders.iter().flat_map(|folder| files(folder, "rs"));
    let own = paths.filter(|path| !path.contains("/snapshots/") && !path.contains("/ui/"));
    own.map(|path| Source { text: read(&path), path }).collect()
}

/// The files of a folder whose names end so, in order.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
        for path in paths {
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                let inside = path.strip_prefix(root).expect("below the root");
                found.push(inside.to_str().expect("plain names").replace('\\', "/"));
            }
        }
    }
    found.sort_unstable();
    found
}

impl Source {
    /// The module of the crate's root that the file belongs to.
    pub(crate) fn module(&self) -> &str {
        let inside = self.path.split_once("src/").map_or(self.path.as_str(), |(_, inside)| inside);
        inside.split(['/', '.']).next().unwrap_or_default()
    }

    /// Lines up to the tests that end the file.
    pub(crate) fn lines_before_tests(&self) -> usize {
        let lines: Vec<_> = self.text.lines().collect();
        let tests =
            lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests {"));
        tests.unwrap_or(lines.len())
    }

    /// The code without comments.
    fn code(&self) -> impl Iterator<Item = &str> {
        self.text.lines().map(|line| match line.find("//") {
            // A URL in a string is code.
            Some(at) if !line[..at].ends_with(':') => &line[..at],
            _ => line,
        })
    }

    /// Whether the code has this identifier.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        self.code().any(|line| line.split(|c| !inside(c)).any(|other| other == word))
    }

    /// What follows `crate::`, once each, in order.
    pub(crate) fn uses_of_crate(&self) -> Vec<&str> {
        let mut used = Vec::new();
        for line in self.code() {
            for (at, found) in line.match_indices("crate::") {
                // `$crate::` expands elsewhere.
                if line[..at].ends_with('$') {
                    continue;
                }
                let rest = &line[at + found.len()..];
                match rest.strip_prefix('{') {
                    Some(list) => used.extend(heads(list)),
                    None => used.push(identifier(rest)),
                }
            }
        }
        used.sort_unstable();
        used.dedup();
        used
    }
}

/// The first identifiers of a list's items, up to its end or the line's.
fn heads(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut heads) = (0, 0, Vec::new());
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 0) || depth < 0 {
            heads.push(identifier(list[start..at].trim_start()));
            start = at + 1;
        }
        if depth < 0 {
            break;
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

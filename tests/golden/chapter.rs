//! Reads the vectors of the book's wire chapter.

use std::collections::BTreeMap;

const CHAPTER: &str = include_str!("../../book/src/wire.md");

/// The vectors by name: blocks marked `golden NAME`, in which a line's text behind `;` is a comment.
pub(crate) fn vectors() -> BTreeMap<&'static str, Vec<u8>> {
    blocks("golden ")
        .into_iter()
        .map(|(name, lines)| (name, lines.iter().flat_map(|l| hex(l)).collect()))
        .collect()
}

/// A block of text marked `golden-text NAME`.
pub(crate) fn text(name: &str) -> String {
    let lines = &blocks("golden-text ")[name];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Blocks whose first line is the mark and a name.
fn blocks(mark: &str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found = BTreeMap::new();
    let mut lines = CHAPTER.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("```").and_then(|info| info.strip_prefix(mark)) {
            let block: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            assert!(found.insert(name, block).is_none(), "the chapter has two vectors called {name}");
        }
    }
    found
}

fn hex(line: &'static str) -> Vec<u8> {
    let bytes = line.split(';').next().unwrap_or_default().split_whitespace();
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("{byte} in {line:?} is no byte")))
        .collect()
}

/// Bytes as the chapter writes them.
pub(crate) fn show(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

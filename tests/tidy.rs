//! The project's own rules of order: sizes, layers, what the core may not touch, and a book that is up to date.

#[path = "tidy/limits.rs"]
mod limits;
#[path = "tidy/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::path::Path;

use source::{Source, read, sources};

/// All folders with code.
const OWN: &[&str] =
    &["room", "room-derive", "client", "examples", "tests", "benches", "book", "fuzz", "web/src"];

/// The most lines of a file, without the tests at its end.
const LINES: usize = 500;

/// Modules of the room crate that may know each other; `limits` and `tick` know none of them.
const BASE: &[&str] =
    &["entity", "faults", "field", "limits", "presence", "schema", "step", "store", "tick", "wire"];

/// What each module may use besides itself and the base.
const ABOVE: &[(&str, &[&str])] = &[
    ("sync", &[]),
    ("session", &[]),
    ("storage", &["sync"]),
    ("room", &["sync", "session", "storage"]),
    ("server", &["sync", "session", "storage", "room", "runtime"]),
];

/// Names that the crate's root re-exports from the base.
const BASE_NAMES: &[&str] =
    &["Bytes", "Entity", "EntityId", "FieldMask", "Id", "Json", "PlayerId", "Schema", "Tick"];

/// What reaches the world outside: for the server and the client's sockets alone.
const OUTSIDE: &[&str] = &[
    "tokio",
    "axum",
    "hyper",
    "fastwebsockets",
    "getrandom",
    "tracing",
    "net",
    "fs",
    "env",
    "process",
    "thread",
    "Instant",
    "SystemTime",
    "Mutex",
    "RwLock",
    "Condvar",
    "mpsc",
    "stdin",
    "stdout",
    "println",
    "eprintln",
];

/// Where the core has its one lock, for what the threads that it is lent share.
const SHARED: &str = "room/src/sync/workers.rs";

/// Where hash maps are: each is only looked up in, or sorted before its order can be seen.
const HASH_MAPS: &[&str] = &["client/src/replica.rs", "room/src/sync/cells.rs", "room/src/sync/world.rs"];

fn fail_if_any(wrong: Vec<String>, rule: &str) {
    assert!(wrong.is_empty(), "{rule}:\n  {}", wrong.join("\n  "));
}

#[test]
fn files_are_short() {
    let wrong = sources(OWN)
        .into_iter()
        .map(|file| (file.lines_before_tests(), file))
        .filter(|(lines, _)| *lines > LINES)
        .map(|(lines, file)| format!("{}: {lines}", file.path))
        .collect();
    fail_if_any(wrong, "a file has at most 500 lines before its tests: split it");
}

#[test]
fn modules_use_what_lies_below_them() {
    let mut wrong = Vec::new();
    for file in sources(&["room/src"]) {
        let module = file.module();
        let allowed: BTreeSet<&str> = match module {
            "lib" => continue,
            "limits" | "tick" => BTreeSet::from([module]),
            base if BASE.contains(&base) => BASE.iter().copied().collect(),
            above => {
                let Some((_, more)) = ABOVE.iter().find(|(name, _)| *name == above) else {
                    wrong.push(format!("{}: say in this test where {above} belongs", file.path));
                    continue;
                };
                BASE.iter().chain(*more).copied().chain([above]).collect()
            }
        };
        for used in file.uses_of_crate() {
            let root_name = BASE_NAMES.contains(&used) || module == "room" || module == "server";
            let fine = if used.starts_with(char::is_uppercase) { root_name } else { allowed.contains(used) };
            if !fine {
                wrong.push(format!("{} uses crate::{used}", file.path));
            }
        }
    }
    fail_if_any(wrong, "the arrow is server → room → {sync, session} → base, and nothing points back");
}

#[test]
fn the_core_does_no_io_and_reads_no_clock() {
    let at_the_edge = |path: &str| {
        ["room/src/server", "client/src/net"].iter().any(|edge| path.starts_with(edge))
            // The client's root hands on what its net module has.
            || path == "client/src/lib.rs"
    };
    let mut wrong = Vec::new();
    for file in sources(&["room/src", "client/src"]).iter().filter(|file| !at_the_edge(&file.path)) {
        let shared = |word: &str| word == "Mutex" && file.path == SHARED;
        for word in OUTSIDE.iter().filter(|word| file.has_word(word) && !shared(word)) {
            wrong.push(format!("{}: {word}", file.path));
        }
    }
    fail_if_any(wrong, "only room/src/server and client/src/net may touch the world outside");
}

#[test]
fn hash_maps_are_where_their_order_is_never_seen() {
    let edge = |path: &str| path.starts_with("room/src/server") || path.starts_with("client/src/net");
    let found: Vec<String> = sources(&["room/src", "client/src"])
        .into_iter()
        .filter(|file| !edge(&file.path) && (file.has_word("HashMap") || file.has_word("HashSet")))
        .map(|file| file.path)
        .collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let known = HASH_MAPS.iter().copied().collect();
    assert_eq!(found, known, "use a BTreeMap, or list the file here once nothing depends on the order");
}

#[test]
fn nothing_is_left_unfinished() {
    let mut wrong = Vec::new();
    for file in sources(OWN) {
        if file.path.starts_with("tests/tidy") {
            continue;
        }
        for word in ["todo!", "dbg!", "unimplemented!", "TODO", "FIXME", "XXX"] {
            if file.text.contains(word) {
                wrong.push(format!("{}: {word}", file.path));
            }
        }
    }
    fail_if_any(wrong, "finish it, or take it out");
}

#[test]
fn the_book_has_every_chapter_and_its_code_is_built() {
    let summary = read("book/src/SUMMARY.md");
    let built = read("book/lib.rs");
    let mut wrong = Vec::new();
    for chapter in source::files("book/src", "md") {
        let name = Path::new(&chapter).file_name().unwrap().to_str().unwrap();
        let text = read(&chapter);
        if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
            wrong.push(format!("{name} is not in SUMMARY.md"));
        }
        if text.contains("```rust") && !built.contains(&format!("\"src/{name}\"")) {
            wrong.push(format!("the code of {name} is not in book/lib.rs"));
        }
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            if file.ends_with(".md")
                && !Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src").join(file).exists()
            {
                wrong.push(format!("{name} points to {target}"));
            }
        }
    }
    fail_if_any(wrong, "the book is not whole");
}

#[test]
fn the_books_limits_are_the_codes() {
    let code = limits::constants(&read("room/src/limits.rs"));
    let book = limits::table(&read("book/src/limits.md"));
    let mut wrong = Vec::new();
    for (name, value) in &code {
        match book.get(name) {
            Some(written) if written == value => {}
            Some(written) => wrong.push(format!("{name} is {value}; the book says {written}")),
            None if limits::INTERNAL.contains(&name.as_str()) => {}
            None => wrong.push(format!("{name} is missing in book/src/limits.md")),
        }
    }
    wrong.extend(
        book.keys().filter(|name| !code.contains_key(*name)).map(|name| format!("{name} is no limit")),
    );
    fail_if_any(wrong, "the book's limits differ from room/src/limits.rs");
}

#[test]
fn these_rules_see_what_they_forbid() {
    let file = Source {
        path: "room/src/sync/world.rs".into(),
        text:
            "use crate::{limits, room::{Game, Room}};\n// crate::server\nlet a = $crate::field::X; let b = \
               crate::session::code; // tokio\nlet now = Instant::now();\n#[cfg(test)]\nmod tests {\n}\n"
                .into(),
    };
    assert_eq!(file.uses_of_crate(), ["limits", "room", "session"]);
    assert_eq!((file.module(), file.lines_before_tests()), ("sync", 4));
    assert!(file.has_word("Instant") && !file.has_word("tokio") && !file.has_word("Inst"));
    let text =
        "pub const A: usize = 2 * B - 64;\npub const B: usize = 4 * KIB;\npub const C: u64 = (1 << 5) - 1;\n";
    let constants = limits::constants(&format!("const KIB: usize = 1024;\n{text}"));
    assert_eq!(
        constants.into_iter().collect::<Vec<_>>(),
        [("A".into(), 8128), ("B".into(), 4096), ("C".into(), 31)]
    );
}

//! The constants of `limits.rs`, and the book's table of them.

use std::collections::BTreeMap;

/// Constants that nobody meets but those who change the library.
pub(crate) const INTERNAL: &[&str] =
    &["SOCKET_BUFFER", "SOCKET_UNSENT", "HANDED_OVER", "ROOM_QUEUE", "CLOSE_DISCARD"];

/// The public constants with their values. Others count where they are used.
pub(crate) fn constants(code: &str) -> BTreeMap<String, u64> {
    let mut public = BTreeMap::new();
    let mut expressions = BTreeMap::new();
    for line in code.lines() {
        let Some((head, value)) = line.trim_end_matches(';').split_once(" = ") else { continue };
        let Some(name) = head.split_once("const ").and_then(|(_, name)| name.split(':').next()) else {
            continue;
        };
        if name != "_" {
            expressions.insert(name.to_owned(), value.to_owned());
            if head.starts_with("pub ") {
                public.insert(name.to_owned(), 0);
            }
        }
    }
    for (name, value) in &mut public {
        *value = evaluate(&expressions[name], &expressions);
    }
    public
}

/// The rows of the book's tables: a constant's name and its value.
pub(crate) fn table(chapter: &str) -> BTreeMap<String, u64> {
    let rows = chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(name, rest)| {
        let digits: String = rest.chars().take_while(|c| *c != ' ').filter(|c| *c != ',').collect();
        (name.to_owned(), digits.parse().unwrap_or_else(|_| panic!("{name} has no value in the book")))
    })
    .collect()
}

fn evaluate(text: &str, names: &BTreeMap<String, String>) -> u64 {
    let mut tokens = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let len = if rest.starts_with("<<") { 2 } else { word.max(first.len_utf8()) };
        tokens.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    let mut at = 0;
    let value = level(&tokens, &mut at, names, 0);
    assert_eq!(at, tokens.len(), "{text:?} is no number to this test");
    value
}

/// Operators by how loosely they bind.
const OPERATORS: [&[&str]; 3] = [&["<<"], &["+", "-"], &["*", "/"]];

fn level(tokens: &[&str], at: &mut usize, names: &BTreeMap<String, String>, depth: usize) -> u64 {
    let Some(operators) = OPERATORS.get(depth) else { return atom(tokens, at, names) };
    let mut value = level(tokens, at, names, depth + 1);
    while let Some(operator) = tokens.get(*at).filter(|token| operators.contains(token)) {
        *at += 1;
        let right = level(tokens, at, names, depth + 1);
        value = match *operator {
            "<<" => value << right,
            "+" => value + right,
            "-" => value - right,
            "*" => value * right,
            _ => value / right,
        };
    }
    value
}

fn atom(tokens: &[&str], at: &mut usize, names: &BTreeMap<String, String>) -> u64 {
    let token = tokens[*at];
    *at += 1;
    if token == "(" {
        let value = level(tokens, at, names, 0);
        assert_eq!(tokens[*at], ")");
        *at += 1;
        return value;
    }
    match names.get(token) {
        Some(expression) => evaluate(expression, names),
        None => {
            token.replace('_', "").parse().unwrap_or_else(|_| panic!("{token} is no number to this test"))
        }
    }
}

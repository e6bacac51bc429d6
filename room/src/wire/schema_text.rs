//! The text of a schema read back, from an end that is not trusted, to say in what two schemas differ.

use crate::limits;

/// The most lines of a difference.
pub const LINES: usize = 64;
/// The most characters of one line.
pub const LINE: usize = 200;
/// The last line of a text that was cut.
const CUT: &str = "...";

/// Cuts a text at the end of a line so that it fits a `closing` message, and marks it.
#[must_use]
pub fn cut(mut text: String) -> String {
    let most = limits::SCHEMA_TEXT;
    if text.len() > most {
        let room = &text.as_bytes()[..most - CUT.len() - 1];
        let end = room.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        text.truncate(end);
        text.push_str(CUT);
        text.push('\n');
    }
    text
}

/// In what the client's schema differs from the room's: at most [`LINES`] lines of at most [`LINE`] characters.
/// Of the room's text no more is read than a message holds; lines that make no sense are passed over.
#[must_use]
pub fn difference(room: &str, client: &str) -> Vec<String> {
    let (room, client) = (parse(head(room)), parse(client));
    let mut report = Report::default();
    let mut common = Vec::new();
    for (i, kind) in room.kinds.iter().enumerate() {
        match client.kinds.iter().position(|other| other.name == kind.name) {
            Some(at) => {
                common.push(at);
                // Of the kind that the room's text was cut in, fields may be missing.
                let partial = room.cut && i + 1 == room.kinds.len();
                compare_kinds(kind, &client.kinds[at], partial, &mut report);
            }
            None => report.add(format!("kind {}: only in the room", kind.name)),
        }
    }
    for kind in &client.kinds {
        if !room.cut && !room.kinds.iter().any(|other| other.name == kind.name) {
            report.add(format!("kind {}: only in the client", kind.name));
        }
    }
    if !common.is_sorted() {
        report.add("order of kinds differs".to_owned());
    }
    report.finish()
}

/// As much of a text as a message holds.
fn head(text: &str) -> &str {
    let mut most = text.len().min(limits::SCHEMA_TEXT);
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    &text[..most]
}

#[derive(Default)]
struct Text<'a> {
    kinds: Vec<KindText<'a>>,
    // Whether lines are missing after the last one.
    cut: bool,
}

struct KindText<'a> {
    role: &'a str,
    name: &'a str,
    flags: &'a str,
    fields: Vec<FieldText<'a>>,
}

struct FieldText<'a> {
    name: &'a str,
    ty: &'a str,
}

/// Reads the first 255 kinds of a text and the first 255 fields of each.
fn parse(text: &str) -> Text<'_> {
    let mut parsed = Text::default();
    for line in text.lines() {
        if line == CUT {
            parsed.cut = true;
        } else if let Some(field) = line.strip_prefix("  ") {
            if let Some((name, ty)) = field.split_once(' ')
                && let Some(kind) = parsed.kinds.last_mut()
                && kind.fields.len() < limits::FIELDS
            {
                kind.fields.push(FieldText { name, ty });
            }
        } else if let Some((role @ ("state" | "private" | "entity" | "presence"), rest)) =
            line.split_once(' ')
            && parsed.kinds.len() < limits::KINDS
        {
            let (name, flags) = rest.split_once(' ').unwrap_or((rest, ""));
            parsed.kinds.push(KindText { role, name, flags, fields: Vec::new() });
        }
    }
    parsed
}

fn compare_kinds(room: &KindText<'_>, client: &KindText<'_>, partial: bool, report: &mut Report) {
    let name = room.name;
    if room.role != client.role {
        report.add(format!("kind {name}: {} in the room and {} in the client", room.role, client.role));
    }
    if room.flags != client.flags {
        let [there, here] =
            [room, client].map(|kind| if kind.flags.is_empty() { "none" } else { kind.flags });
        report.add(format!("kind {name}: flags are {there} in the room and {here} in the client"));
    }
    let mut common = Vec::new();
    for FieldText { name: field, ty } in &room.fields {
        let Some(at) = client.fields.iter().position(|other| other.name == *field) else {
            report.add(format!("kind {name}: field {field}: only in the room"));
            continue;
        };
        common.push(at);
        if client.fields[at].ty != *ty {
            let (there, here) = (shorten(ty), shorten(client.fields[at].ty));
            report.add(format!("kind {name}: field {field} is {there} in the room and {here} in the client"));
        }
    }
    for FieldText { name: field, .. } in &client.fields {
        if !partial && !room.fields.iter().any(|other| other.name == *field) {
            report.add(format!("kind {name}: field {field}: only in the client"));
        }
    }
    if !common.is_sorted() {
        report.add(format!("kind {name}: order of fields differs"));
    }
}

/// A type's text, short enough that a line can hold two of them.
fn shorten(ty: &str) -> String {
    const MOST: usize = 40;
    if ty.chars().nth(MOST).is_none() {
        return ty.to_owned();
    }
    ty.chars().take(MOST - 1).chain(['…']).collect()
}

/// Lines up to a limit.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    more: usize,
}

impl Report {
    fn add(&mut self, line: String) {
        if self.lines.len() == LINES - 1 {
            self.more += 1;
            return;
        }
        // Names and types came from outside, and the line is for a terminal or a log.
        let shown =
            |c: char| if c.is_alphanumeric() || c.is_ascii_graphic() || " …".contains(c) { c } else { '?' };
        self.lines.push(line.chars().take(LINE).map(shown).collect());
    }

    fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.lines.push(format!("and {} more differences", self.more));
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: &str = "state match\n  round u32\nentity avatar owner=owner\n  x f32\n  hp u8\n  aim f32 writable\n\
                        entity chest\n  gold u16\n";

    #[test]
    fn says_what_differs_by_kind_and_field() {
        let client = "state match\n  round u32\nentity avatar\n  hp u16\n  x f32\n  y f32\n  aim f32\n\
                      private hand\n  cards json\n";
        assert_eq!(
            difference(ROOM, client),
            [
                "kind avatar: flags are owner=owner in the room and none in the client",
                "kind avatar: field hp is u8 in the room and u16 in the client",
                "kind avatar: field aim is f32 writable in the room and f32 in the client",
                "kind avatar: field y: only in the client",
                "kind avatar: order of fields differs",
                "kind chest: only in the room",
                "kind hand: only in the client",
            ]
        );
        assert!(difference(ROOM, ROOM).is_empty());
    }

    #[test]
    fn order_and_role_count() {
        assert_eq!(difference("entity a\nentity b\n", "entity b\nentity a\n"), ["order of kinds differs"]);
        assert_eq!(
            difference("state a\n", "private a\n"),
            ["kind a: state in the room and private in the client"]
        );
    }

    #[test]
    fn a_long_enum_leaves_room_for_the_other() {
        let long = format!("entity a\n  e enum({})\n", "variant=1,".repeat(100));
        let lines = difference(&long, "entity a\n  e u8\n");
        assert!(lines[0].ends_with("… in the room and u8 in the client"), "{lines:?}");
    }

    #[test]
    fn garbage_is_passed_over_and_the_report_bounded() {
        for garbage in ["", "\n\n", "  x", "  x u8\n", "what is this", "entity", "\u{0}\r\n  ", "...\n..."] {
            assert!(difference(garbage, "").is_empty(), "{garbage:?}");
        }
        let many: String = (0..255).map(|i| format!("entity k{i}\n")).collect();
        let lines = difference(&many, "");
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[LINES - 1], "and 192 more differences");

        let long = format!("entity {}\n", "x".repeat(70_000));
        assert!(difference(&long, "").iter().all(|line| line.chars().count() <= LINE));
        let rude = difference("entity \u{1b}[2Ja\u{202e}\n", "");
        assert_eq!(rude, ["kind ?[2Ja?: only in the room"]);
        let wide = "é".repeat(70_000);
        assert!(difference(&wide, &wide).is_empty());
    }

    #[test]
    fn what_a_cut_text_leaves_out_is_not_missing() {
        let kind = |k: usize| {
            let fields: String = (0..200).map(|f| format!("  field_{f} u32\n")).collect();
            format!("entity kind_{k}\n{fields}")
        };
        let whole: String = (0..40).map(kind).collect();
        let text = cut(whole.clone());
        assert!(text.len() <= limits::SCHEMA_TEXT && text.len() > limits::SCHEMA_TEXT - 100);
        assert!(text.ends_with("u32\n...\n"));
        assert_eq!(cut("entity a\n".to_owned()), "entity a\n");
        // The client's own text is whole.
        assert!(difference(&text, &whole).is_empty());
        let other = whole.replace("field_7 u32", "field_7 u8");
        assert!(difference(&text, &other)[0].starts_with("kind kind_0: field field_7 is u32"));
    }
}

//! The rooms by what they say of themselves: by code, by kind, in the list, and open to anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use crate::room::Label;

/// Where a room stands in the order of creation. The second number tells apart those of one second.
pub(in crate::server) type Rank = (u64, u64);

/// Names of rooms. It knows nothing of what runs.
#[derive(Debug, Default)]
pub(super) struct Index {
    // Trees all of them, which give back what they took: a hash table stays as large as it ever was.
    codes: BTreeMap<String, String>,
    // By kind; `ALL` has all of them.
    listed: BTreeMap<String, BTreeSet<String>>,
    // By kind: those that have a free seat, by the last that was heard of them.
    open: BTreeMap<String, BTreeMap<Rank, String>>,
}

/// No kind is so called.
const ALL: &str = "";

impl Index {
    /// The name of the room that has this code.
    pub(super) fn by_code(&self, code: &str) -> Option<&str> {
        self.codes.get(code).map(String::as_str)
    }

    pub(super) fn put_code(&mut self, code: &str, name: &str) {
        if !code.is_empty() {
            self.codes.insert(code.to_owned(), name.to_owned());
        }
    }

    pub(super) fn drop_code(&mut self, code: &str, name: &str) {
        if self.by_code(code) == Some(name) {
            self.codes.remove(code);
        }
    }

    /// Names behind `after` that are listed, of a kind or of all, in order.
    pub(super) fn listed<'a>(
        &'a self,
        kind: Option<&str>,
        after: &'a str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let names = self.listed.get(kind.unwrap_or(ALL));
        let range = (Excluded(after), Unbounded);
        names.into_iter().flat_map(move |names| names.range::<str, _>(range)).map(String::as_str)
    }

    /// Open rooms of a kind behind `after`, in order of creation.
    pub(super) fn open<'a>(
        &'a self,
        kind: &str,
        after: Option<Rank>,
    ) -> impl Iterator<Item = (Rank, &'a str)> + use<'a> {
        let range = (after.map_or(Unbounded, Excluded), Unbounded);
        let rooms = self.open.get(kind).into_iter().flat_map(move |rooms| rooms.range(range));
        rooms.map(|(rank, name)| (*rank, name.as_str()))
    }

    /// A running room says this of itself now. `free` is whether it has a free seat.
    pub(super) fn put(&mut self, name: &str, rank: Rank, label: &Label, free: bool) {
        if label.is_listed() {
            for kind in [ALL, &label.kind] {
                self.listed.entry(kind.to_owned()).or_default().insert(name.to_owned());
            }
        }
        if free && label.is_open() {
            self.open.entry(label.kind.clone()).or_default().insert(rank, name.to_owned());
        }
    }

    /// Forgets what a running room said, which was this.
    pub(super) fn take(&mut self, name: &str, rank: Rank, label: &Label) {
        for kind in [ALL, &label.kind] {
            if let Some(names) = self.listed.get_mut(kind) {
                names.remove(name);
                if names.is_empty() {
                    self.listed.remove(kind);
                }
            }
        }
        if let Some(rooms) = self.open.get_mut(&label.kind) {
            rooms.remove(&rank);
            if rooms.is_empty() {
                self.open.remove(&label.kind);
            }
        }
    }
}

/// Letters that nobody takes for another one or for a digit, and that make no words.
const LETTERS: &[u8] = b"BCDFGHJKMNPRTVWXZ";

/// So many random letters, each as likely as the others.
pub(super) fn letters(count: usize) -> Result<String, getrandom::Error> {
    let even = 256 / LETTERS.len() * LETTERS.len();
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let good = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < even);
        text.extend(good.take(count - text.len()).map(|byte| char::from(LETTERS[byte % LETTERS.len()])));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn of(kind: &str) -> Label {
        Label { kind: kind.to_owned(), ..Label::default() }
    }

    #[test]
    fn what_is_taken_leaves_nothing_behind() {
        let mut index = Index::default();
        let rooms = [("a", (5, 1), of("duel")), ("b", (5, 0), of("duel")), ("c", (4, 2), of("ball"))];
        for (name, rank, label) in &rooms {
            index.put(name, *rank, label, true);
        }
        assert_eq!(index.listed(None, "").collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(index.listed(None, "a").collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(index.listed(Some("ball"), "").collect::<Vec<_>>(), ["c"]);
        assert_eq!(index.listed(Some("none"), "").count(), 0);
        assert_eq!(index.open("duel", None).collect::<Vec<_>>(), [((5, 0), "b"), ((5, 1), "a")]);
        assert_eq!(index.open("duel", Some((5, 0))).collect::<Vec<_>>(), [((5, 1), "a")]);
        for (name, rank, label) in &rooms {
            index.take(name, *rank, label);
        }
        assert!(index.listed.is_empty() && index.open.is_empty());
    }

    #[test]
    fn rooms_that_are_private_hidden_started_or_full_are_not_where_they_should_not_be() {
        let mut index = Index::default();
        let seen = |index: &Index| (index.listed(None, "").count(), index.open("room", None).count());
        let mut shown = |label: Label, free| {
            index.put("a", (0, 0), &label, free);
            let seen = seen(&index);
            index.take("a", (0, 0), &label);
            seen
        };
        assert_eq!(shown(Label::default(), true), (1, 1));
        assert_eq!(shown(Label::default(), false), (1, 0));
        assert_eq!(shown(Label { hidden: true, ..Label::default() }, true), (0, 1));
        assert_eq!(shown(Label { private: true, ..Label::default() }, true), (0, 0));
        assert_eq!(shown(Label { started: true, ..Label::default() }, true), (1, 0));
    }

    #[test]
    fn codes_are_six_letters_that_are_told_apart() {
        let mut index = Index::default();
        for n in 0..2000 {
            let code = letters(limits::CODE).expect("randomness");
            assert!(crate::runtime::is_code(&code), "{code}");
            assert!(!code.contains(['I', 'L', 'O', 'Q', 'S', 'U', 'Y']), "{code}");
            index.put_code(&code, &n.to_string());
            assert_eq!(index.by_code(&code), Some(&*n.to_string()));
            index.drop_code(&code, "another");
            assert!(index.by_code(&code).is_some());
            index.drop_code(&code, &n.to_string());
        }
        assert!(index.codes.is_empty());
        index.put_code("", "nobody");
        assert_eq!(index.by_code(""), None);
    }
}

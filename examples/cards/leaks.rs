//! Finds secrets in bytes: what each player was shown by the rules, and a scan for everything else.

use std::collections::{BTreeMap, BTreeSet};

use room::prelude::*;

/// What the rules made and whom they showed it to, noted move by move, apart from what the room sends.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    minted: BTreeSet<u64>,
    shown: BTreeMap<PlayerId, BTreeSet<u64>>,
}

impl Ledger {
    /// Notes that there is such a card.
    pub fn mint(&mut self, token: u64) {
        self.minted.insert(token);
    }

    /// Notes that a player may know it.
    pub fn show(&mut self, player: PlayerId, token: u64) {
        self.mint(token);
        self.shown.entry(player).or_default().insert(token);
    }

    /// Notes all that another ledger has, as that of a process that was killed.
    #[cfg(test)]
    pub fn merge(&mut self, other: &Ledger) {
        self.minted.extend(&other.minted);
        for (player, shown) in &other.shown {
            self.shown.entry(*player).or_default().extend(shown);
        }
    }

    /// How many tokens are in bytes that `player` was sent, and were never shown to her.
    pub fn leaks(&self, player: PlayerId, streams: [&[u8]; 2]) -> usize {
        let mut found = BTreeSet::new();
        for bytes in streams {
            scan(bytes, &self.minted, &mut found);
        }
        let shown = self.shown.get(&player);
        found.iter().filter(|token| !shown.is_some_and(|shown| shown.contains(token))).count()
    }
}

/// Adds every secret that stands in the bytes: as eight bytes in either order, or as decimal or hexadecimal text.
/// Secrets have 16 hexadecimal digits, so 19 or 20 decimal ones.
fn scan(bytes: &[u8], secrets: &BTreeSet<u64>, found: &mut BTreeSet<u64>) {
    let mut meet = |value: u64| {
        if secrets.contains(&value) {
            found.insert(value);
        }
    };
    for window in bytes.windows(8) {
        let raw: [u8; 8] = window.try_into().expect("windows of eight");
        meet(u64::from_le_bytes(raw));
        meet(u64::from_be_bytes(raw));
    }
    for (digits, radix) in [(19, 10), (20, 10), (16, 16)] {
        for window in bytes.windows(digits).filter(|window| window[0].is_ascii_hexdigit()) {
            // A sign would parse too; the first byte is known to be a digit.
            if let Some(value) =
                std::str::from_utf8(window).ok().and_then(|text| u64::from_str_radix(text, radix).ok())
            {
                meet(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 0xfedc_ba98_7654_3210;
    const OTHER: u64 = 0x1234_5678_9abc_def0;

    fn leaks(bytes: &[u8]) -> usize {
        let mut ledger = Ledger::default();
        ledger.mint(SECRET);
        ledger.show(PlayerId(1), OTHER);
        ledger.leaks(PlayerId(1), [b"nothing", bytes])
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let around = |secret: &[u8]| [b"12ab", secret, b"34cd"].concat();
        assert_eq!(leaks(&around(&SECRET.to_le_bytes())), 1);
        assert_eq!(leaks(&around(&SECRET.to_be_bytes())), 1);
        assert_eq!(leaks(&around(SECRET.to_string().as_bytes())), 1);
        assert_eq!(leaks(&around(format!("{SECRET:x}").as_bytes())), 1);
        assert_eq!(leaks(&around(format!("{SECRET:X}").as_bytes())), 1);
        assert_eq!(
            leaks(&around(&[&SECRET.to_le_bytes()[..], &SECRET.to_be_bytes()].concat())),
            1,
            "once a token"
        );
    }

    #[test]
    fn what_was_shown_and_what_is_no_secret_are_no_leaks() {
        assert_eq!(leaks(&OTHER.to_be_bytes()), 0);
        assert_eq!(leaks(&(SECRET - 1).to_be_bytes()), 0);
        assert_eq!(leaks(b"fedcba987654321"), 0);
        let mut ledger = Ledger::default();
        ledger.show(PlayerId(1), OTHER);
        assert_eq!(
            ledger.leaks(PlayerId(2), [&[], &OTHER.to_be_bytes()]),
            1,
            "shown to another player alone"
        );
    }
}

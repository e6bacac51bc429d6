//! Effects: each is one line in a file beside the store, with the run that performed it.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::kinds::Sum;

/// What is to be done outside: the nth of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pay {
    pub life: u64,
    pub n: u64,
}

/// Where this process writes its lines.
struct Side {
    run: u64,
    file: Mutex<File>,
    /// Keys of which the first try has failed.
    failed: Mutex<HashSet<String>>,
}

static SIDE: OnceLock<Side> = OnceLock::new();

/// Opens the file for this process, which is the nth that runs the room.
pub fn open(path: &Path, run: u64) -> io::Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let side = Side { run, file: Mutex::new(file), failed: Mutex::default() };
    SIDE.set(side).map_err(|_| io::Error::other("it is open"))
}

/// Writes the line of an effect. Some fail once before they do, and some take their time afterwards, so that a kill
/// may come before the room hears of it.
pub async fn perform(key: &str, pay: Pay) -> Result<(), String> {
    let side = SIDE.get().ok_or("no file is open")?;
    let luck = Sum::new(side.run).bytes(key.as_bytes()).end() % 16;
    if luck == 0 && side.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned()) {
        return Err("not at the first try".to_owned());
    }
    let line = format!("{} {key} {} {}\n", side.run, pay.life, pay.n);
    let written = side.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    written.map_err(|error| error.to_string())?;
    if luck < 6 {
        tokio::time::sleep(Duration::from_millis(30 * luck)).await;
    }
    Ok(())
}

/// What the lines say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// How many were asked for.
    pub asked: u64,
    /// Asked for by a word that was kept, and not performed.
    pub lost: u64,
    /// Performed again by a later run.
    pub repeated: u64,
    /// Performed again by the same run, or under another key, or not asked for by any word that was kept.
    pub wrong: u64,
}

impl Effects {
    /// Counts, where each life has asked for so many.
    pub fn count(lines: &str, asked: &BTreeMap<u64, u64>) -> Effects {
        let mut effects = Effects { asked: asked.values().sum(), ..Effects::default() };
        let (mut keys, mut runs) = (BTreeMap::new(), HashSet::new());
        for line in lines.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [run, key, life, n] = words[..] else {
                effects.wrong += 1;
                continue;
            };
            let number = |word: &str| word.parse::<u64>().unwrap_or_default();
            let pay = (number(life), number(n));
            let is_asked = asked.get(&pay.0).is_some_and(|most| (1..=*most).contains(&pay.1));
            let first = !keys.contains_key(&pay);
            let same_key = *keys.entry(pay).or_insert(key) == key;
            effects.repeated += u64::from(!first);
            effects.wrong += u64::from(!is_asked || !same_key || !runs.insert((run, key)));
        }
        let keys_apart: HashSet<&&str> = keys.values().collect();
        effects.wrong += (keys.len() - keys_apart.len()) as u64;
        let all = asked.iter().flat_map(|(life, most)| (1..=*most).map(|n| (*life, n)));
        effects.lost = all.filter(|pay| !keys.contains_key(pay)).count() as u64;
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_held_against_what_was_asked_for() {
        let asked = BTreeMap::from([(7, 2), (8, 1)]);
        let good = "1 a 7 1\n2 b 7 2\n2 c 8 1\n3 a 7 1\n";
        let expected = Effects { asked: 3, lost: 0, repeated: 1, wrong: 0 };
        assert_eq!(Effects::count(good, &asked), expected);
        assert_eq!(Effects::count("1 a 7 1\n", &asked).lost, 2);
        assert_eq!(Effects::count("1 a 7 1\n1 a 7 1\n", &asked).wrong, 1, "by the same run");
        assert_eq!(Effects::count("1 a 7 1\n2 b 7 1\n", &asked).wrong, 1, "another key");
        assert_eq!(Effects::count("1 a 7 1\n1 a 7 2\n", &asked).wrong, 2, "a key for two, in one run");
        assert_eq!(Effects::count("1 a 7 3\n", &asked).wrong, 1, "nobody asked");
        assert_eq!(Effects::count("1 a 7", &asked).wrong, 1, "no line");
    }
}

//! Flags of the examples: `--name value` and `--switch`, each declared once, read with clear errors.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A flag that an example knows.
#[derive(Clone, Copy)]
pub struct Flag {
    /// Its name without the dashes.
    pub name: &'static str,
    /// What its value is called in the help; empty for a switch.
    pub value: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// The flags that were given.
#[derive(Debug, Default)]
pub struct Args {
    given: BTreeMap<&'static str, String>,
}

impl Args {
    /// The flags of this process. Prints the help and exits with 0 where `--help` is among them; prints what is
    /// wrong and exits with 2 where one is unknown or incomplete.
    pub fn of_process(about: &str, flags: &'static [Flag]) -> Args {
        let words: Vec<String> = std::env::args().skip(1).collect();
        if words.iter().any(|word| word == "--help" || word == "-h") {
            print!("{}", help(about, flags));
            std::process::exit(0);
        }
        Args::parse(words, flags).unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(2);
        })
    }

    /// Reads `--name value`, `--name=value` and `--switch`.
    pub fn parse(words: impl IntoIterator<Item = String>, flags: &'static [Flag]) -> Result<Args, String> {
        let mut args = Args::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(text) = word.strip_prefix("--") else {
                return Err(format!("`{word}` is no flag: flags begin with `--`; `--help` lists them"));
            };
            let (name, attached) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (text, None),
            };
            let Some(flag) = flags.iter().find(|flag| flag.name == name) else {
                return Err(format!("there is no flag `--{name}`; `--help` lists them"));
            };
            let value = match (flag.value, attached) {
                ("", None) => String::new(),
                ("", Some(_)) => return Err(format!("`--{name}` is a switch and takes no value")),
                (_, Some(value)) => value,
                (called, None) => {
                    words.next().ok_or_else(|| format!("`--{name}` needs a value: `--{name} {called}`"))?
                }
            };
            if args.given.insert(flag.name, value).is_some() {
                return Err(format!("`--{name}` is given twice"));
            }
        }
        Ok(args)
    }

    /// Whether a flag is there.
    pub fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The value of a flag, where it is there.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// The number a flag gives, or `default`. One that is no number or out of range is an error that says what
    /// is allowed.
    pub fn number<T>(&self, name: &str, default: T, range: RangeInclusive<T>) -> Result<T, String>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
            format!("`--{name} {text}`: must be a whole number from {} to {}", range.start(), range.end())
        })
    }
}

fn help(about: &str, flags: &[Flag]) -> String {
    let mut text = format!("{about}\n\n");
    for flag in flags {
        let left = format!("--{} {}", flag.name, flag.value);
        let _ = writeln!(text, "  {left:<18} {}", flag.help);
    }
    let _ = writeln!(text, "  {:<18} this text", "--help");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[
        Flag { name: "bots", value: "N", help: "how many" },
        Flag { name: "json", value: "", help: "as JSON" },
    ];

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned), FLAGS)
    }

    #[test]
    fn values_and_switches_are_read() {
        let args = parse("--json --bots 50").unwrap();
        assert!(args.has("json"));
        assert_eq!(args.number("bots", 1u32, 0..=100), Ok(50));
        assert_eq!(parse("--bots=7").unwrap().number("bots", 1u32, 0..=100), Ok(7));
        assert_eq!(parse("").unwrap().number("bots", 3u32, 0..=100), Ok(3));
    }

    #[test]
    fn mistakes_say_what_to_do() {
        assert!(parse("--robots 5").unwrap_err().contains("`--robots`"));
        assert!(parse("bots").unwrap_err().contains("begin with"));
        assert!(parse("--bots").unwrap_err().contains("`--bots N`"));
        assert!(parse("--json=yes").unwrap_err().contains("switch"));
        assert!(parse("--json --json").unwrap_err().contains("twice"));
        let many = parse("--bots 101").unwrap().number("bots", 1u32, 0..=100).unwrap_err();
        assert!(many.contains("from 0 to 100"), "{many}");
        assert!(parse("--bots x").unwrap().number("bots", 1u32, 0..=100).is_err());
        assert!(help("about", FLAGS).contains("--bots N"));
    }
}

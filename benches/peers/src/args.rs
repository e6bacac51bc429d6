//! The command line.

use crate::peers::{self, Peer};

/// What `--help` prints.
pub const HELP: &str = "\
Compares `room` with other libraries on the same worlds. Builds what it needs first.

  cargo run --release --manifest-path benches/peers/Cargo.toml -- --json

  --json                one line of JSON a workload; without it, rows of a table
  --workloads W1,W3     W1 to W9; all if not said
  --peers replicon,naia replicon, lightyear, naia, colyseus, valence; all if not said, `none` for room alone
  --ticks N             ticks to measure; 60 if not said
  --quick               5 ticks, to see that all works
  --limit SECONDS       a peer that takes longer on a workload is cut off; 600 if not said
  --table               reads lines of JSON from standard input and prints tables in Markdown
  --help
";

/// What to do.
pub enum Command {
    /// Measure.
    Run(Args),
    /// Print tables of what was measured.
    Table,
    /// Explain.
    Help,
}

/// What to measure.
pub struct Args {
    /// Print JSON.
    pub json: bool,
    /// Which workloads.
    pub workloads: Vec<String>,
    /// Which peers besides `room`.
    pub peers: Vec<Peer>,
    /// Ticks to measure.
    pub ticks: usize,
    /// Ticks before them.
    pub warmup: usize,
    /// Seconds that a peer may take.
    pub limit: u64,
}

impl Args {
    /// From the command line.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Command, String> {
        let mut args = Args {
            json: false,
            workloads: peers::WORKLOADS.map(str::to_owned).to_vec(),
            peers: Peer::OTHERS.to_vec(),
            ticks: 60,
            warmup: 10,
            limit: 600,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--json" => args.json = true,
                "--workloads" => args.workloads = workloads(&value()?)?,
                "--peers" => args.peers = peers(&value()?)?,
                "--ticks" => args.ticks = number(&word, &value()?)?,
                "--limit" => args.limit = number(&word, &value()?)? as u64,
                "--quick" => (args.ticks, args.warmup) = (5, 2),
                "--table" => return Ok(Command::Table),
                "--help" | "-h" => return Ok(Command::Help),
                other => return Err(format!("{other} is no flag")),
            }
        }
        Ok(Command::Run(args))
    }
}

fn number(flag: &str, value: &str) -> Result<usize, String> {
    let parsed = value.parse().ok().filter(|number| *number > 0);
    parsed.ok_or_else(|| format!("{flag} is {value}; it should be a whole number above 0"))
}

fn workloads(names: &str) -> Result<Vec<String>, String> {
    let check = |name: &str| match peers::WORKLOADS.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("{name} is no workload; they are {}", peers::WORKLOADS.join(", "))),
    };
    names.split(',').map(check).collect()
}

fn peers(names: &str) -> Result<Vec<Peer>, String> {
    if names == "none" {
        return Ok(Vec::new());
    }
    let find = |name: &str| {
        let found = Peer::OTHERS.into_iter().find(|peer| peer.name() == name);
        found.ok_or_else(|| {
            format!("{name} is no peer; they are {}", Peer::OTHERS.map(|peer| peer.name()).join(", "))
        })
    };
    names.split(',').filter(|name| *name != "room").map(find).collect()
}

//! Runs the peers on the workloads, each in a process of its own, and prints one JSON line a workload.

mod args;
mod child;
mod peers;
mod table;

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value, json};

use crate::args::{Args, Command};
use crate::peers::{Peer, Setting};

fn main() {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(Command::Run(args)) => args,
        Ok(Command::Help) => return print!("{}", args::HELP),
        Ok(Command::Table) => return print!("{}", table::markdown(&lines_of_input())),
        Err(why) => {
            eprintln!("{why}\n\n{}", args::HELP);
            std::process::exit(2);
        }
    };
    let mut broken = BTreeMap::new();
    for peer in std::iter::once(&Peer::Room).chain(&args.peers) {
        if let Err(why) = peer.build() {
            eprintln!("{}: {why}", peer.name());
            broken.insert(peer.name(), why);
        }
    }
    for workload in &args.workloads {
        eprintln!("{workload}: {}", peers::about(workload));
        let line = measure(&args, workload, &broken);
        let mut out = std::io::stdout().lock();
        if args.json {
            let _ = writeln!(out, "{line}");
        } else {
            let _ = writeln!(out, "{}", table::rows(&line));
        }
        let _ = out.flush();
    }
}

fn lines_of_input() -> Vec<Value> {
    std::io::stdin()
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}

/// One workload with all peers.
fn measure(args: &Args, workload: &str, broken: &BTreeMap<&'static str, String>) -> Value {
    let mut line = Map::new();
    let mut reasons = Map::new();
    line.insert("workload".into(), json!(workload));
    line.insert("about".into(), json!(peers::about(workload)));
    for peer in std::iter::once(&Peer::Room).chain(&args.peers) {
        if !peer.takes(workload) {
            continue;
        }
        let name = peer.name();
        let report = match broken.get(name) {
            Some(why) => Err(why.clone()),
            None => peer.run(args, workload, Setting::Plain),
        };
        let mut report = match report {
            Ok(report) => report,
            Err(why) => {
                eprintln!("  {name}: {why}");
                line.insert(name.into(), Value::Null);
                reasons.insert(name.into(), json!(why));
                continue;
            }
        };
        say(name, "plain", &report);
        if peer.takes_small(workload) {
            match peer.run(args, workload, Setting::Small) {
                Ok(small) => {
                    say(name, "small", &small);
                    report["small"] = small;
                }
                Err(why) => report["small_reason"] = json!(why),
            }
        }
        split_floor(&mut report, &mut line);
        line.insert(name.into(), report);
    }
    if !reasons.is_empty() {
        line.insert("reasons".into(), Value::Object(reasons));
    }
    let mut line = Value::Object(line);
    compare(&mut line);
    line
}

fn say(name: &str, setting: &str, report: &Value) {
    let number = |key: &str| report[key].as_f64().unwrap_or_default();
    eprintln!(
        "  {name}, {setting}: {:.1} us a tick, {:.1} bytes a client, {} client ends checked",
        number("tick_us"),
        number("bytes_per_client"),
        report["checked"]
    );
}

/// What `room` measured of compressing for each connection is a row of its own.
fn split_floor(report: &mut Value, line: &mut Map<String, Value>) {
    let Some(report) = report.as_object_mut() else { return };
    let (Some(time), Some(bytes)) =
        (report.remove("compress_each_us"), report.remove("compress_each_bytes_per_client"))
    else {
        return;
    };
    let settings = "each connection's chunks compressed for it alone, at level 6";
    let floor = json!({ "tick_us": time, "bytes_per_client": bytes, "settings": settings });
    line.insert("compress_each".into(), floor);
}

/// Adds to each peer how many times the time and the bytes of `room` it takes.
fn compare(line: &mut Value) {
    let room = line["room"].clone();
    let Some(line) = line.as_object_mut() else { return };
    for (name, report) in line.iter_mut() {
        if name == "room" || !report.is_object() || report.get("tick_us").is_none() {
            continue;
        }
        ratios(report, &room);
        if report.get("small").is_some() {
            ratios(&mut report["small"], &room["small"]);
        }
    }
}

fn ratios(report: &mut Value, room: &Value) {
    let ratio = |key: &str| {
        let (theirs, own) = (report[key].as_f64()?, room[key].as_f64()?);
        (own > 0.0).then(|| (theirs / own * 100.0).round() / 100.0)
    };
    let (time, bytes) = (ratio("tick_us"), ratio("bytes_per_client"));
    report["ratio"] = json!(time);
    report["bytes_ratio"] = json!(bytes);
}

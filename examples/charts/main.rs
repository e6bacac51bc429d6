//! Draws the book's charts from what the measuring tools print.
//!
//! ```text
//! cargo bench --bench scale -- --json > scale.jsonl
//! cargo run --release --manifest-path benches/peers/Cargo.toml -- --json > peers.jsonl
//! cargo bench --bench tick -- --json > tick.jsonl
//! cargo run --example charts -- --lines scale.jsonl,peers.jsonl,tick.jsonl
//! ```
//!
//! It takes JSON lines of three forms, in any order, and leaves out what it does not know:
//!
//! - `{"dimension": …, "what": …, "factors": […], "instructions": […], "exponent": …}`: lines of growth;
//! - `{"workload": …, "room": {"tick_us": …, "bytes_per_client": …}, "<peer>": {…}}`: bars for each workload;
//! - `{"name": …, "tick_us": …, "floor_us": …}`: a bar for each measurement, beside its floor where it has one.

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
#[allow(dead_code, reason = "it takes texts alone")]
mod args;
mod read;
mod svg;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use args::{Args, Flag};

const FLAGS: &[Flag] = &[
    Flag {
        name: "lines",
        value: "FILES",
        help: "files with JSON lines, separated by commas; - is the input",
    },
    Flag { name: "out", value: "FOLDER", help: "where the charts go (book/src/images)" },
];

fn main() -> ExitCode {
    let args = Args::of_process("Draws the book's charts from JSON lines of the measuring tools.", FLAGS);
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("charts: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let files = args.text("lines").ok_or("`--lines FILES` says what to draw")?;
    let mut text = String::new();
    for file in files.split(',') {
        text += &match file {
            "-" => std::io::read_to_string(std::io::stdin())?,
            file => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?,
        };
        text.push('\n');
    }
    let folder = Path::new(args.text("out").unwrap_or("book/src/images"));
    std::fs::create_dir_all(folder)?;
    let charts = charts(&text);
    if charts.is_empty() {
        return Err("none of the lines is of a form that can be drawn".into());
    }
    for (name, chart) in charts {
        let path = folder.join(name);
        std::fs::write(&path, chart)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Every chart for which there are lines, and the name of its file.
fn charts(text: &str) -> Vec<(&'static str, String)> {
    let lines: Vec<serde_json::Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut charts = Vec::new();
    let growth = read::growth(&lines);
    if !growth.is_empty() {
        charts.push(("growth.svg", svg::lines("Instructions a tick", "times the base", &growth)));
    }
    for (name, title, key, small) in [
        ("peers-time.svg", "Microseconds a tick", "tick_us", false),
        ("peers-bytes.svg", "Bytes a client and tick", "bytes_per_client", true),
    ] {
        let groups = read::peers(&lines, key, small);
        if !groups.is_empty() {
            charts.push((name, svg::bars(title, &groups)));
        }
    }
    let ticks = read::ticks(&lines);
    if !ticks.is_empty() {
        charts.push(("tick.svg", svg::bars("Microseconds a tick", &ticks)));
    }
    charts
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"
{"dimension":"entities","what":"all move","factors":[1,2,4,8],"instructions":[100,200,400,800],"exponent":1.0}
{"dimension":"entities","what":"none moves","factors":[1,2,4,8],"instructions":[10,10,10,10],"exponent":0.0}
no JSON at all
{"workload":"W1","about":"a & b","room":{"tick_us":90.0,"bytes_per_client":1000,"small":{"tick_us":91.0,"bytes_per_client":500}},"replicon":{"tick_us":12345.6},"naia":null,"reasons":{}}
{"name":"crowd","tick_us":5000.0,"floor_us":2000.0}
{"name":"idle","tick_us":0.3}
"#;

    fn chart(name: &str) -> String {
        charts(LINES).into_iter().find(|(file, _)| *file == name).expect("it is drawn").1
    }

    #[test]
    fn each_form_of_line_has_its_chart_and_each_chart_is_balanced() {
        let charts = charts(LINES);
        let names: Vec<_> = charts.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["growth.svg", "peers-time.svg", "peers-bytes.svg", "tick.svg"]);
        for (name, chart) in charts {
            assert!(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"), "{name}");
            for tag in ["text", "style", "title"] {
                assert_eq!(
                    chart.matches(&format!("<{tag}")).count(),
                    chart.matches(&format!("</{tag}>")).count()
                );
            }
            assert!(!chart.contains("NaN") && !chart.contains("inf"), "{name}");
        }
    }

    #[test]
    fn what_is_drawn_is_what_was_measured() {
        let growth = chart("growth.svg");
        assert_eq!(growth.matches("<polyline").count(), 2);
        assert!(growth.contains("entities, all move: 1.0"), "{growth}");
        let time = chart("peers-time.svg");
        assert!(time.contains("12,346") && time.contains(">replicon<") && !time.contains(">naia<"), "{time}");
        assert!(time.contains("W1: a &amp; b"), "{time}");
        let bytes = chart("peers-bytes.svg");
        assert!(!bytes.contains("replicon"), "it said nothing of bytes");
        assert!(bytes.contains("room, steps of 0.01") && !time.contains("steps"), "{bytes}");
        let tick = chart("tick.svg");
        assert!(tick.contains("0.3") && tick.contains(">floor<"), "{tick}");
    }

    #[test]
    fn a_longer_time_has_a_longer_bar() {
        let time = chart("peers-time.svg");
        let widths: Vec<f64> = time
            .match_indices("<rect class=\"bar")
            .map(|(at, _)| {
                let width = time[at..].split("width=\"").nth(1).expect("a width");
                width.split('"').next().expect("its end").parse().expect("a number")
            })
            .collect();
        // From 10 to 100,000 there are four decades: 90 is 0.95 of one, 12,345.6 is 3.09.
        let ratio = widths[1] / widths[0];
        assert!((3.2..3.3).contains(&ratio), "{widths:?}");
    }
}

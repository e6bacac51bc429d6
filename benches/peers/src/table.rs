//! Tables of what was measured.

use serde_json::Value;

const NAMES: [&str; 7] = ["room", "replicon", "lightyear", "naia", "colyseus", "valence", "compress_each"];

/// Tables in Markdown of lines of JSON: how many times `room`'s time and bytes each peer takes, then each workload.
pub fn markdown(lines: &[Value]) -> String {
    let mut text = String::from("Times `room`'s time a tick, plain `f32`:\n\n");
    text += &summary(lines, |report| report["ratio"].as_f64(), 1);
    text += "\nTimes `room`'s bytes, plain `f32`:\n\n";
    text += &summary(lines, |report| report["bytes_ratio"].as_f64(), 2);
    text += "\nTimes `room`'s bytes, each in its smallest setting at a precision of 0.01:\n\n";
    text += &summary(lines, |report| report["small"]["bytes_ratio"].as_f64(), 2);
    text += "\n";
    for line in lines {
        text += &format!(
            "### {}\n\n{}\n\n",
            line["workload"].as_str().unwrap_or_default(),
            line["about"].as_str().unwrap_or_default()
        );
        text += "| | tick, µs | p99, µs | times `room` | bytes a client and tick | times `room` | join, ms | memory, MB | checked |\n";
        text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
        text += &rows(line);
        text += "\n";
        let reasons = line["reasons"].as_object();
        for (name, why) in reasons.into_iter().flatten() {
            text += &format!("{name}: {}.\n\n", why.as_str().unwrap_or_default());
        }
    }
    text
}

/// One number of each peer on each workload.
fn summary(lines: &[Value], number: impl Fn(&Value) -> Option<f64>, digits: usize) -> String {
    let peers: [&str; 6] = std::array::from_fn(|i| NAMES[i + 1]);
    let mut text = format!("| | {} |\n", peers.map(title).join(" | "));
    text += &format!("|---|{}\n", "---:|".repeat(peers.len()));
    for line in lines {
        let cells =
            peers.iter().map(|name| number(&line[*name]).map_or(String::new(), |v| grouped(v, digits)));
        let cells: Vec<String> = cells.collect();
        text += &format!("| {} | {} |\n", line["workload"].as_str().unwrap_or_default(), cells.join(" | "));
    }
    text
}

/// The rows of one workload.
pub fn rows(line: &Value) -> String {
    let mut text = String::new();
    for name in NAMES {
        let report = &line[name];
        if !report.is_object() {
            continue;
        }
        text += &row(&title(name), report);
        if report["small"].is_object() {
            text += &row(&format!("{}, 0.01", title(name)), &report["small"]);
        }
    }
    text
}

fn title(name: &str) -> String {
    match name {
        "room" => "**room**".into(),
        "compress_each" => "compressed for each".into(),
        other => other.into(),
    }
}

fn row(name: &str, report: &Value) -> String {
    let number = |key: &str| report[key].as_f64();
    let cell = |value: Option<f64>, digits: usize| value.map_or("".into(), |v| grouped(v, digits));
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        cell(number("tick_us"), 0),
        cell(number("tick_p99_us"), 0),
        cell(number("ratio"), 1),
        cell(number("bytes_per_client"), 1),
        cell(number("bytes_ratio"), 2),
        cell(number("join_us").map(|us| us / 1000.0), 1),
        cell(number("rss_mb"), 0),
        cell(number("checked"), 0),
    )
}

/// With commas between thousands.
fn grouped(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

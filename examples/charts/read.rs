//! What the lines say.

use serde_json::Value;

/// A line of growth: its label, and points.
pub struct Growth {
    pub label: String,
    pub points: Vec<(f64, f64)>,
}

/// Bars under one heading.
pub struct Group {
    pub title: String,
    pub bars: Vec<(String, f64)>,
}

/// Dimensions that were counted.
pub fn growth(lines: &[Value]) -> Vec<Growth> {
    let growth = |line: &Value| {
        let numbers =
            |key: &str| -> Option<Vec<f64>> { line[key].as_array()?.iter().map(Value::as_f64).collect() };
        let points: Vec<_> = numbers("factors")?.into_iter().zip(numbers("instructions")?).collect();
        let label = format!(
            "{}, {}: {:.1}",
            line["dimension"].as_str()?,
            line["what"].as_str()?,
            // Without the sign of a nought.
            line["exponent"].as_f64()?.max(0.0)
        );
        points.iter().all(|(x, y)| *x > 0.0 && *y > 0.0).then_some(Growth { label, points })
    };
    lines.iter().filter_map(growth).filter(|growth| growth.points.len() > 1).collect()
}

/// A figure of each library in each workload, those of `room` first and the others from small to large. With `small`
/// those of each library's smallest settings as well.
pub fn peers(lines: &[Value], key: &str, small: bool) -> Vec<Group> {
    let figure = |report: &Value| report[key].as_f64().filter(|figure| *figure > 0.0);
    let group = |line: &Value| {
        let mut title = line["workload"].as_str()?.to_owned();
        if let Some(about) = line["about"].as_str() {
            title += &format!(": {about}");
        }
        let mut bars = Vec::new();
        for (name, report) in line.as_object()? {
            let name = name.replace("compress_each", "compressed for each");
            bars.extend(figure(report).map(|figure| (name.clone(), figure)));
            let settings = figure(&report["small"]).filter(|_| small);
            bars.extend(settings.map(|figure| (format!("{name}, steps of 0.01"), figure)));
        }
        bars.sort_by(|(a, x), (b, y)| is_own(b).cmp(&is_own(a)).then(x.total_cmp(y)));
        (!bars.is_empty()).then_some(Group { title, bars })
    };
    lines.iter().filter_map(group).collect()
}

/// Whether a bar is of `room`, or of a tick beside its floor.
pub fn is_own(name: &str) -> bool {
    name == "tick" || name.split(',').next() == Some("room")
}

/// Measurements of a tick, each beside its floor.
pub fn ticks(lines: &[Value]) -> Vec<Group> {
    let group = |line: &Value| {
        let title = line["name"].as_str()?.to_owned();
        let bars: Vec<_> = [("tick", "tick_us"), ("floor", "floor_us")]
            .into_iter()
            .filter_map(|(name, key)| Some((name.to_owned(), line[key].as_f64().filter(|us| *us > 0.0)?)))
            .collect();
        (!bars.is_empty()).then_some(Group { title, bars })
    };
    lines.iter().filter_map(group).collect()
}

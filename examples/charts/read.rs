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

/// A figure of each library in each workload, those of `room` first and the others from small to large.
pub fn peers(lines: &[Value], key: &str) -> Vec<Group> {
    let group = |line: &Value| {
        let mut title = line["workload"].as_str()?.to_owned();
        if let Some(about) = line["about"].as_str() {
            title += &format!(": {about}");
        }
        let figure = |report: &Value| report[key].as_f64().filter(|figure| *figure > 0.0);
        let mut bars: Vec<(String, f64)> = line
            .as_object()?
            .iter()
            .filter_map(|(name, report)| Some((name.clone(), figure(report)?)))
            .collect();
        bars.sort_by(|(a, x), (b, y)| (a != "room").cmp(&(b != "room")).then(x.total_cmp(y)));
        (!bars.is_empty()).then_some(Group { title, bars })
    };
    lines.iter().filter_map(group).collect()
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

//! Rows of what was counted, and how they grow.

use std::fmt::Write as _;

/// One dimension.
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    /// Factors, and the instructions of a tick there.
    pub steps: Vec<(usize, u64)>,
}

impl Row {
    /// The power with which instructions grow, by least squares of the logarithms: 0 is not at all, 1 in proportion.
    pub fn exponent(&self) -> f64 {
        let points = self.steps.iter().map(|(by, count)| ((*by as f64).ln(), (*count as f64).ln()));
        let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (a, b) in points {
            n += 1.0;
            x += a;
            y += b;
            xx += a * a;
            xy += a * b;
        }
        (n * xy - x * y) / (n * xx - x * x)
    }

    pub fn json(&self) -> String {
        let list = |values: Vec<String>| format!("[{}]", values.join(","));
        let factors = list(self.steps.iter().map(|(by, _)| by.to_string()).collect());
        let counts = list(self.steps.iter().map(|(_, count)| count.to_string()).collect());
        format!(
            r#"{{"dimension":"{}","what":"{}","factors":{factors},"instructions":{counts},"exponent":{:.2}}}"#,
            self.name,
            self.what,
            self.exponent()
        )
    }
}

/// One rule of an interest, and the instructions of a tick with it.
pub struct Rule {
    pub name: &'static str,
    pub moving: u64,
    pub still: u64,
}

impl Rule {
    pub fn json(&self) -> String {
        let Rule { name, moving, still } = self;
        format!(r#"{{"rule":"{name}","moving":{moving},"still":{still}}}"#)
    }
}

pub fn rules_markdown(rules: &[Rule]) -> String {
    let mut text = String::from(
        "| grid with | all move | times plain | none moves | times plain |\n|---|---:|---:|---:|---:|\n",
    );
    let Some(plain) = rules.first() else { return text };
    for Rule { name, moving, still } in rules {
        let times = |count: u64, plain: u64| count as f64 / plain.max(1) as f64;
        let _ = writeln!(
            text,
            "| {name} | {} | {:.1} | {} | {:.1} |",
            grouped(*moving),
            times(*moving, plain.moving),
            grouped(*still),
            times(*still, plain.still)
        );
    }
    text
}

pub fn markdown(rows: &[Row]) -> String {
    let mut text =
        String::from("| grows | | 1x | 2x | 4x | 8x | exponent |\n|---|---|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let _ = write!(text, "| {} | {} |", row.name, row.what);
        for (_, count) in &row.steps {
            let _ = write!(text, " {} |", grouped(*count));
        }
        let _ = writeln!(text, " {:.2} |", row.exponent());
    }
    text
}

/// With commas between thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

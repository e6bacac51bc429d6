//! Charts as plain SVG, on a light card so that they can be read on a page of any colour.

use std::fmt::Write as _;

use crate::read::{Group, Growth, is_own};

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 16.0;
/// Where bars begin, and the room behind them for their figures.
const NAMES: f64 = 190.0;
const FIGURES: f64 = 90.0;
const BAR: f64 = 16.0;
const COLOURS: [&str; 8] =
    ["#0b6e4f", "#c8553d", "#3d5a80", "#b08900", "#7b4b94", "#5c6b73", "#d17b88", "#2a9d8f"];

const STYLE: &str = "<style>text{font:13px system-ui,sans-serif;fill:#222}.head{font-weight:600}\
                     .note{fill:#666}.grid{stroke:#ddd}.bar{fill:#9aa5b1}.own{fill:#0b6e4f}</style>";

/// A scale in powers of a base that holds all values.
struct Scale {
    base: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn of(base: f64, values: impl Iterator<Item = f64>) -> Scale {
        // A power that is a hair off a whole number is one.
        let logs: Vec<f64> = values.map(|value| value.log(base)).collect();
        let least = (logs.iter().copied().fold(f64::INFINITY, f64::min) + 1e-9).floor();
        let most = (logs.iter().copied().fold(f64::NEG_INFINITY, f64::max) - 1e-9).ceil();
        Scale { base, from: least, to: most.max(least + 1.0) }
    }

    /// From 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value.log(self.base) - self.from) / (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.from as i32..=self.to as i32).map(|power| self.base.powi(power))
    }

    fn middle(&self) -> f64 {
        self.base.powf((self.from + self.to) / 2.0)
    }
}

/// Horizontal bars on one logarithmic scale, in groups with a heading each. Those of `room` stand out.
pub fn bars(title: &str, groups: &[Group]) -> String {
    let scale = Scale::of(10.0, groups.iter().flat_map(|group| group.bars.iter().map(|(_, value)| *value)));
    let span = WIDTH - NAMES - FIGURES;
    let rows: usize = groups.iter().map(|group| group.bars.len()).sum();
    let height = 70.0 + groups.len() as f64 * 34.0 + rows as f64 * (BAR + 4.0);
    let mut svg = open(title, height);
    for value in scale.ticks() {
        let x = NAMES + span * scale.place(value);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"40\" y2=\"{:.1}\"/>",
            height - 28.0
        );
        text(&mut svg, x, height - 12.0, "middle", "note", &figure(value));
    }
    let mut y = 44.0;
    for group in groups {
        y += 24.0;
        text(&mut svg, MARGIN, y, "start", "head", &group.title);
        y += 10.0;
        for (name, value) in &group.bars {
            let own = if is_own(name) { " own" } else { "" };
            // One that stands at the scale's begin can still be seen.
            let width = (span * scale.place(*value)).max(1.0);
            text(&mut svg, NAMES - 8.0, y + BAR - 4.0, "end", "", name);
            let _ = writeln!(
                svg,
                "<rect class=\"bar{own}\" x=\"{NAMES}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\"/>"
            );
            text(&mut svg, NAMES + width + 6.0, y + BAR - 4.0, "start", "", &figure(*value));
            y += BAR + 4.0;
        }
    }
    svg + "</svg>\n"
}

/// Lines on two logarithmic scales, each with its label at its end.
pub fn lines(title: &str, below: &str, all: &[Growth]) -> String {
    let (left, right, top, height) = (110.0, 230.0, 50.0, 460.0);
    let across = Scale::of(2.0, all.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)));
    let up = Scale::of(10.0, all.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)));
    let x_of = |x: f64| left + (WIDTH - left - right) * across.place(x);
    let y_of = |y: f64| top + (height - top - 60.0) * (1.0 - up.place(y));
    let mut svg = open(title, height);
    for value in up.ticks() {
        let y = y_of(value);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
            WIDTH - right
        );
        text(&mut svg, left - 8.0, y + 4.0, "end", "note", &figure(value));
    }
    for value in across.ticks() {
        text(&mut svg, x_of(value), height - 38.0, "middle", "note", &figure(value));
    }
    text(&mut svg, x_of(across.middle()), height - 16.0, "middle", "note", below);
    let mut labels: Vec<(f64, usize)> = Vec::new();
    for (index, line) in all.iter().enumerate() {
        let points: Vec<String> =
            line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), y_of(*y))).collect();
        let colour = COLOURS[index % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
            points.join(" ")
        );
        labels.extend(line.points.last().map(|(_, y)| (y_of(*y), index)));
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = 0.0f64;
    for (y, index) in labels {
        // Where lines end side by side, labels give way downwards.
        let y = y.max(free);
        free = y + 16.0;
        let colour = COLOURS[index % COLOURS.len()];
        let x = WIDTH - right + 22.0;
        let _ = write!(
            svg,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-width=\"3\"/>",
            x - 16.0,
            x - 4.0
        );
        text(&mut svg, x, y + 4.0, "start", "", &all[index].label);
    }
    svg + "</svg>\n"
}

fn open(title: &str, height: f64) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n\
         <title>{0}</title>{STYLE}\n<rect width=\"{WIDTH}\" height=\"{height:.0}\" rx=\"8\" fill=\"#fafafa\"/>\n",
        escaped(title)
    );
    text(&mut svg, MARGIN, 28.0, "start", "head", &format!("{title} (logarithmic)"));
    svg
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, class: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{words}</text>"
    );
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// To three digits or so, with commas between thousands.
fn figure(value: f64) -> String {
    let digits = match value {
        value if value >= 100.0 => 0,
        value if value >= 1.0 => 1,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

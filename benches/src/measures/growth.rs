//! How costs grow: the curves that fit what was measured.

use crate::markdown::{Table, count};
use crate::report::Facts;
use crate::stats::{line, power};
use crate::svg::{Plot, Series};

/// The points that count: with fewer things than `from`, what does not grow hides what does.
fn points(series: &Series, from: f64) -> Vec<(f64, f64)> {
    series.points.iter().copied().filter(|point| point.0 >= from).collect()
}

/// The exponent of each curve, and the line through its points. `show` writes a value with its unit.
pub fn fits(plot: &Plot, from: f64, step: f64, what: &str, show: fn(f64) -> String) -> Table {
    let each = if step > 1.0 { format!("{what} for {} more", count(step)) } else { format!("{what} for each more") };
    let mut table = Table::new([&plot.title, "exponent", &each, "R² of the line"]);
    for series in &plot.series {
        let points = points(series, from);
        let (power, line) = (power(&points), line(&points));
        table.row([
            series.name.clone(),
            power.map_or(String::new(), |power| format!("{:.2}", power.exponent)),
            line.map_or(String::new(), |line| show(step * line.slope.max(0.0))),
            line.map_or(String::new(), |line| format!("{:.3}", line.r2)),
        ]);
    }
    table
}

/// Keeps the curve of Answerback for the targets.
pub fn keep(name: &str, series: &Series, from: f64, facts: &mut Facts) {
    facts.set(format!("growth.{name}.exponent"), power(&points(series, from)).map(|power| power.exponent));
}

//! Plots with two logarithmic or two linear axes. The colours follow the reader's light or dark mode.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 58.0;
/// The height of a line of the legend.
const LINE: f64 = 20.0;

/// In light and in dark mode. They can be told apart by people who see fewer colours too, and each series has its own shape.
const COLOURS: [(&str, &str); 8] = [
    ("#707070", "#a0a0a0"),
    ("#0060c0", "#6cb6ff"),
    ("#2e8b3d", "#6bc46d"),
    ("#b35900", "#f69d50"),
    ("#8a3ffc", "#c297ff"),
    ("#c0185a", "#ff80b0"),
    ("#00808a", "#4fd0d8"),
    ("#7a6a00", "#d8c24a"),
];

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}\
    .axis{stroke:#59636e}.grid{stroke:#d1d9e0;stroke-width:.6}.back{fill:#ffffff}";
const DARK: &str = "text{fill:#f0f6fc}.axis{stroke:#9198a1}.grid{stroke:#3d444d}.back{fill:#0d1117}";

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Where it goes through. Negative values cannot be shown, and zero only on a linear axis.
    pub points: Vec<(f64, f64)>,
}

/// How values are placed on both axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Between two powers of ten.
    Log,
    /// From zero on.
    Linear,
}

/// A plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What is on the axis at the bottom, with its unit.
    pub x: String,
    /// What is on the axis at the left, with its unit.
    pub y: String,
    /// How values are placed.
    pub scale: Scale,
    /// The curves.
    pub series: Vec<Series>,
}

/// The most steps that a linear axis has.
const STEPS: f64 = 5.0;

/// An axis. On a logarithmic one, everything is counted in powers of ten.
struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    step: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn new(scale: Scale, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (from, to, step) = match scale {
            _ if values.is_empty() => (0.0, 1.0, 1.0),
            Scale::Log => {
                let from = (least.log10() + 1e-9).floor();
                (from, (most.log10() - 1e-9).ceil().max(from + 1.0), 1.0)
            }
            Scale::Linear => {
                let least_step = 10f64.powf((most / STEPS).log10().floor());
                let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * least_step);
                let step = steps.into_iter().find(|step| most / step <= STEPS).unwrap_or(most);
                (0.0, (most / step - 1e-9).ceil() * step, step)
            }
        };
        Self { scale, from, to, step, start, end }
    }

    fn shows(&self, value: f64) -> bool {
        value > 0.0 || (self.scale == Scale::Linear && value == 0.0)
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.scale == Scale::Log { value.log10() } else { value };
        self.start + (value - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = ((self.to - self.from) / self.step).round() as u32;
        (0..=count).map(|index| {
            let value = self.from + f64::from(index) * self.step;
            if self.scale == Scale::Log { 10f64.powf(value) } else { value }
        })
    }
}

/// The value of a tick, as people write it.
fn tick(value: f64) -> String {
    // As many digits as there are.
    let short = |value: f64| format!("{}", (value * 100.0).round() / 100.0);
    match value {
        1e9.. => format!("{}G", short(value / 1e9)),
        1e6.. => format!("{}M", short(value / 1e6)),
        1e3.. => format!("{}k", short(value / 1e3)),
        0.9.. | 0.0 => short(value),
        _ => format!("{value:.6}").trim_end_matches('0').to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The mark of a series at a point.
fn mark(series: usize, x: f64, y: f64) -> String {
    let class = format!("class=\"f{series}\"");
    match series % 4 {
        0 => format!("<circle {class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        1 => format!("<rect {class} x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>", x - 4.0, y - 4.0),
        2 => format!("<path {class} d=\"M{x:.1} {:.1}l5 9h-10z\"/>", y - 5.5),
        _ => format!("<path {class} d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"/>", y - 5.0),
    }
}

impl Plot {
    /// As an SVG file.
    pub fn render(&self) -> String {
        let legend = self.series.len() as f64 * LINE;
        let height = HEIGHT + legend;
        let all = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::new(self.scale, all().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Axis::new(self.scale, all().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{0}\">\n\
             <title>{0}</title>\n",
            escape(&self.title)
        );
        let colours = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
            let colour = |(index, pair)| format!(".s{index}{{stroke:{0}}}.f{index}{{fill:{0}}}", pick(pair));
            COLOURS.iter().enumerate().map(colour).collect::<String>()
        };
        let _ = writeln!(
            svg,
            "<style>{STYLE}{}@media(prefers-color-scheme:dark){{{DARK}{}}}</style>",
            colours(|pair| pair.0),
            colours(|pair| pair.1)
        );
        let _ = writeln!(svg, "<rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>");
        let _ = writeln!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"26\">{}</text>", escape(&self.title));
        self.draw_axes(&mut svg, &x, &y);
        for (index, series) in self.series.iter().enumerate() {
            let index = index % COLOURS.len();
            let points: Vec<(f64, f64)> = series
                .points
                .iter()
                .filter(|(a, b)| x.shows(*a) && y.shows(*b))
                .map(|(a, b)| (x.place(*a), y.place(*b)))
                .collect();
            let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                svg,
                "<polyline class=\"s{index}\" fill=\"none\" stroke-width=\"2\" points=\"{}\"/>",
                path.join(" ")
            );
            for (x, y) in points {
                let _ = writeln!(svg, "{}", mark(index, x, y));
            }
            let row = HEIGHT + index as f64 * LINE;
            let _ = writeln!(svg, "{}", mark(index, LEFT + 6.0, row));
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\">{}</text>", LEFT + 20.0, row + 4.5, escape(&series.name));
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_axes(&self, svg: &mut String, x: &Axis, y: &Axis) {
        for value in x.ticks() {
            let at = x.place(value);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{at:.1} {:.1}V{:.1}\"/>", y.start, y.end);
            let label = y.start + 20.0;
            let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{label:.1}\" text-anchor=\"middle\">{}</text>", tick(value));
        }
        for value in y.ticks() {
            let at = y.place(value);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{:.1} {at:.1}H{:.1}\"/>", x.start, x.end);
            let left = x.start - 8.0;
            let _ =
                writeln!(svg, "<text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", at + 4.5, tick(value));
        }
        let _ = writeln!(
            svg,
            "<path class=\"axis\" fill=\"none\" d=\"M{0:.1} {1:.1}V{2:.1}H{3:.1}\"/>",
            x.start, y.end, y.start, x.end
        );
        let middle = f64::midpoint(x.start, x.end);
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y.start + 42.0,
            escape(&self.x)
        );
        let middle = f64::midpoint(y.start, y.end);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(22 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escape(&self.y)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(scale: Scale, points: Vec<(f64, f64)>) -> Plot {
        let series = vec![Series { name: "a <b>".into(), points }];
        Plot { title: "T & t".into(), x: "waits".into(), y: "ms".into(), scale, series }
    }

    #[test]
    fn a_plot_names_its_axes_and_series() {
        let svg = plot(Scale::Log, vec![(1.0, 0.02), (1000.0, 30.0)]).render();
        for part in ["T &amp; t", ">waits<", ">ms<", "a &lt;b&gt;", ">1k<", ">0.01<", ">100<", "prefers-color-scheme"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 3, "two points and the legend: {svg}");
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }

    #[test]
    fn a_greater_value_is_further_up_and_to_the_right() {
        let axis = |scale| Axis::new(scale, [1.0, 1000.0].into_iter(), 0.0, 300.0);
        assert_eq!([1.0, 10.0, 1000.0].map(|value| axis(Scale::Log).place(value).round()), [0.0, 100.0, 300.0]);
        assert_eq!([0.0, 500.0, 1000.0].map(|value| axis(Scale::Linear).place(value).round()), [0.0, 150.0, 300.0]);
    }

    #[test]
    fn a_linear_axis_begins_at_zero_and_has_round_steps() {
        let ticks = |most: f64| {
            let axis = Axis::new(Scale::Linear, [1.0, most].into_iter(), 0.0, 1.0);
            axis.ticks().map(tick).collect::<Vec<_>>()
        };
        assert_eq!(ticks(3.0), ["0", "1", "2", "3"]);
        assert_eq!(ticks(2300.0), ["0", "500", "1k", "1.5k", "2k", "2.5k"]);
        assert_eq!(ticks(7400.0), ["0", "2k", "4k", "6k", "8k"]);
    }

    #[test]
    fn nothing_and_equal_values_can_be_drawn() {
        for points in [vec![], vec![(5.0, 5.0)], vec![(0.0, 1.0), (10.0, 10.0)]] {
            for scale in [Scale::Log, Scale::Linear] {
                let svg = plot(scale, points.clone()).render();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }
}

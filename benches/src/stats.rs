//! Medians, percentiles and fitted curves.

use std::time::{Duration, Instant};

/// Measured values of one thing, for example times in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a time.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64());
    }

    /// Adds the time since a moment.
    pub fn push_since(&mut self, moment: Instant) {
        self.push(moment.elapsed());
    }

    /// Adds all of the others.
    pub fn append(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// The value that half of the samples do not exceed. `None` without samples.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The value that 99 of 100 samples do not exceed. `None` without samples.
    pub fn p99(&self) -> Option<f64> {
        self.quantile(0.99)
    }

    /// The largest sample.
    pub fn max(&self) -> Option<f64> {
        self.quantile(1.0)
    }

    fn quantile(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The curve `a * n^b`, fitted to points in a plot with two logarithmic axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// `b`: 0 is flat, 1 is linear.
    pub exponent: f64,
    /// How much of the variation the curve explains, 0 to 1.
    pub r2: f64,
}

/// The line `a + b * n`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// `a`
    pub base: f64,
    /// `b`
    pub slope: f64,
    /// How much of the variation the line explains, 0 to 1.
    pub r2: f64,
}

/// Fits `a * n^b`. `None` with fewer than two points, or with one that is not positive.
pub fn power(points: &[(f64, f64)]) -> Option<Power> {
    if points.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return None;
    }
    let logs: Vec<_> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    line(&logs).map(|line| Power { exponent: line.slope, r2: line.r2 })
}

/// Fits `a + b * n` by least squares. `None` unless there are two different `n`.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread_x = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let spread_y = points.iter().map(|(_, y)| (y - mean_y).powi(2)).sum::<f64>();
    let both = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    if points.len() < 2 || spread_x == 0.0 {
        return None;
    }
    let slope = both / spread_x;
    // Points that are all equal lie on the line.
    let r2 = if spread_y == 0.0 { 1.0 } else { both * both / (spread_x * spread_y) };
    Some(Line { base: mean_y - slope * mean_x, slope, r2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Samples {
        values.iter().copied().collect()
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let all: Samples = (1..=100).rev().map(f64::from).collect();
        assert_eq!((all.median(), all.p99(), all.max()), (Some(50.0), Some(99.0), Some(100.0)));
        assert_eq!(samples(&[3.0]).p99(), Some(3.0));
        assert_eq!(samples(&[]).median(), None);
    }

    #[test]
    fn one_slow_moment_does_not_move_the_median() {
        assert_eq!(samples(&[1.0, 1.0, 1.0, 900.0]).median(), Some(1.0));
    }

    #[test]
    fn a_power_is_found_again() {
        for exponent in [0.0, 0.5, 1.0, 2.0] {
            let points: Vec<_> = [1.0, 10.0, 100.0, 1000.0].map(|n: f64| (n, 3.0 * n.powf(exponent))).to_vec();
            let found = power(&points).unwrap();
            assert!((found.exponent - exponent).abs() < 1e-9 && found.r2 > 0.999, "{found:?}");
        }
    }

    #[test]
    fn a_line_is_found_again() {
        let points = [(0.0, 5.0), (10.0, 25.0), (100.0, 205.0)];
        let found = line(&points).unwrap();
        assert!((found.base - 5.0).abs() < 1e-9 && (found.slope - 2.0).abs() < 1e-9 && found.r2 > 0.999, "{found:?}");
    }

    #[test]
    fn noise_lowers_the_share_that_is_explained() {
        let found = line(&[(1.0, 1.0), (2.0, 9.0), (3.0, 2.0), (4.0, 8.0)]).unwrap();
        assert!(found.r2 < 0.5, "{found:?}");
    }

    #[test]
    fn too_few_points_have_no_curve() {
        assert_eq!(line(&[(1.0, 1.0)]), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(power(&[(1.0, 0.0), (2.0, 2.0)]), None);
    }
}

//! How many frames a companion may send.

use std::time::Duration;

use tokio::time::Instant;

/// A person answers a few times a minute, and a page that reconnects sends a handful of frames.
const BURST: f64 = 500.0;
const PER_SECOND: f64 = 100.0;

/// Fills with time, and empties with each frame.
#[derive(Debug)]
pub(super) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new(now: Instant) -> Self {
        Self { left: BURST, at: now }
    }

    /// Whether one more frame is fine.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let passed: Duration = now.saturating_duration_since(self.at);
        self.at = now;
        self.left = (self.left + passed.as_secs_f64() * PER_SECOND).min(BURST) - 1.0;
        self.left >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_fine_and_a_flood_is_not() {
        let start = Instant::now();
        let mut bucket = Bucket::new(start);
        assert_eq!((0..1000).filter(|_| bucket.take(start)).count(), 500);
        let mut bucket = Bucket::new(start);
        let steady = |n: u32| start + Duration::from_millis(10) * n;
        assert!((0..10_000).all(|n| bucket.take(steady(n))), "a hundred a second");
    }
}

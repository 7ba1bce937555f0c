//! Random numbers that a seed determines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A source of random numbers (SplitMix64). Threads may share it.
#[derive(Debug)]
pub(crate) struct Chance(AtomicU64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Another source, which this one determines.
    pub(crate) fn another(&self) -> Self {
        Self::new(self.next())
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn percent(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A time of at most `most`.
    pub(crate) fn up_to(&self, most: Duration) -> Duration {
        Duration::from_micros(self.next() % u64::try_from(most.as_micros().max(1)).unwrap())
    }
}

//! The clock of the engine, carried on with a local clock that nobody can set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use tokio::time::Instant;

/// The time of the engine. All daemons go by it, so it does not matter if the clock of a machine is wrong.
#[derive(Debug, Clone)]
pub(super) struct Clock(Arc<Carried>);

#[derive(Debug)]
struct Carried {
    base: Instant,
    /// The engine's time at the base, in microseconds since 1970.
    at_base: AtomicI64,
}

impl Clock {
    /// A clock that shows the time of this machine until it hears from the engine.
    pub(super) fn new() -> Self {
        Self(Arc::new(Carried {
            base: Instant::now(),
            at_base: AtomicI64::new(crate::store::wall_clock().as_microsecond()),
        }))
    }

    /// The engine said this time in reply to something that was sent at `sent`. It read its clock somewhere in between. If what is known
    /// fits that, it stays as it is: a slow reply says little.
    pub(super) fn set(&self, engine: i64, sent: Instant) {
        let half = sent.elapsed() / 2;
        let at_base = engine - microseconds(sent.duration_since(self.0.base) + half);
        if (self.0.at_base.load(Ordering::Relaxed) - at_base).abs() > microseconds(half) {
            self.0.at_base.store(at_base, Ordering::Relaxed);
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        let now = self.0.at_base.load(Ordering::Relaxed).saturating_add(microseconds(self.0.base.elapsed()));
        Timestamp::from_microsecond(now).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

fn microseconds(time: std::time::Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

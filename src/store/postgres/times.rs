//! How long everything may take. Nobody configures this; tests make it shorter.

use std::time::Duration;

/// How long everything may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// A call to the engine. A call that is late ends its connection.
    pub(super) call: Duration,
    /// A call of a list or a search.
    pub(super) query: Duration,
    /// How long something waits for a connection. A hook has two seconds for everything.
    pub(super) unsent: Duration,
    /// How long a command is repeated whose outcome is not known.
    pub(super) unknown: Duration,
    /// Pauses between attempts to connect.
    pub(super) first_pause: Duration,
    pub(super) last_pause: Duration,
    /// How often the follower looks for changes, in case a notice was lost.
    pub(super) poll: Duration,
    /// How long a lease lasts.
    pub(super) lease: Duration,
    /// How often it is renewed.
    pub(super) renewal: Duration,
    /// How long after its lease the asks of a host are left alone.
    pub(super) dead: Duration,
    /// How often to look whether there is a place for the changes of the next days. There is one for three days.
    pub(super) days: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(3),
            query: Duration::from_secs(20),
            unsent: Duration::from_millis(1500),
            unknown: Duration::from_secs(10),
            first_pause: Duration::from_millis(20),
            last_pause: Duration::from_millis(500),
            poll: Duration::from_secs(5),
            lease: Duration::from_secs(15),
            renewal: Duration::from_secs(5),
            dead: Duration::from_secs(120),
            days: Duration::from_secs(60 * 60),
        }
    }
}

/// A time as the engine takes it.
pub(super) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

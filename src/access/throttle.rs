//! A machine that fails to sign in too often has to wait. Every credential has 128 bits or more, so this does not keep guessers out.
//! It keeps them from costing anything, and makes them visible in the log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::entrance::Blamed;

/// How many failures a machine is forgiven within [`WINDOW`].
const FORGIVEN: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// How many machines are remembered.
const MAX_MACHINES: usize = 1024;

/// The failures of the last minute, by machine.
#[derive(Debug, Default)]
pub(super) struct Throttle(Mutex<HashMap<Blamed, VecDeque<Instant>>>);

impl Throttle {
    /// Notes a failure. If it is one too many, it returns how long the machine has to wait.
    pub(super) fn failed(&self, blamed: Blamed, now: Instant) -> Option<Duration> {
        let mut machines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = machines.get(&blamed).and_then(|failures| wait(failures, now)) {
            return Some(wait);
        }
        let is_recent = |failure: &Instant| now.saturating_duration_since(*failure) < WINDOW;
        if machines.len() >= MAX_MACHINES && !machines.contains_key(&blamed) {
            machines.retain(|_, failures| failures.back().is_some_and(is_recent));
            // If all of them are recent, the machine that has been quiet for longest gives way.
            let quietest =
                machines.iter().min_by_key(|(_, failures)| failures.back().copied()).map(|(blamed, _)| *blamed);
            if let Some(quietest) = quietest.filter(|_| machines.len() >= MAX_MACHINES) {
                machines.remove(&quietest);
            }
        }
        let failures = machines.entry(blamed).or_default();
        failures.retain(is_recent);
        failures.push_back(now);
        if failures.len() == FORGIVEN {
            tracing::warn!(address = %blamed.address, behind_proxy = blamed.behind_proxy, "too many failures to sign in");
        }
        None
    }
}

/// How long it takes until one more failure is forgiven, if it is not forgiven now.
fn wait(failures: &VecDeque<Instant>, now: Instant) -> Option<Duration> {
    // The oldest of the newest ones: when it leaves the window, there is room again.
    let oldest = failures.iter().rev().nth(FORGIVEN - 1)?;
    WINDOW.checked_sub(now.saturating_duration_since(*oldest)).filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(n: u32) -> Blamed {
        Blamed { address: std::net::Ipv4Addr::from_bits(n).into(), behind_proxy: false }
    }

    fn wait(throttle: &Throttle, blamed: Blamed, now: Instant) -> Option<Duration> {
        super::wait(throttle.0.lock().unwrap().get(&blamed)?, now)
    }

    #[test]
    fn the_eleventh_failure_within_a_minute_is_one_too_many() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for second in 0..10 {
            let now = start + Duration::from_secs(second);
            assert_eq!(wait(&throttle, machine(1), now), None);
            assert_eq!(throttle.failed(machine(1), now), None);
        }
        let now = start + Duration::from_secs(10);
        assert_eq!(throttle.failed(machine(1), now), Some(Duration::from_secs(50)));
        assert_eq!(wait(&throttle, machine(1), now), Some(Duration::from_secs(50)));
        assert_eq!(wait(&throttle, machine(2), now), None);
        // One goes out of the window, and there is room for one.
        let now = start + WINDOW;
        assert_eq!(throttle.failed(machine(1), now), None);
        assert_eq!(throttle.failed(machine(1), now), Some(Duration::from_secs(1)));
        assert_eq!(wait(&throttle, machine(1), now + WINDOW), None);
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::default();
        let now = Instant::now();
        for n in 0..3000 {
            throttle.failed(machine(n), now + Duration::from_millis(n.into()));
        }
        let machines = throttle.0.lock().unwrap();
        assert_eq!(machines.len(), MAX_MACHINES);
        assert!(machines.contains_key(&machine(2999)) && !machines.contains_key(&machine(0)));
    }
}

//! Who fails to sign in too often has to wait. What is guessed at has 128 bits or more, so this is not what keeps guessers
//! out: it keeps them from costing anything, and makes them visible in the log.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use crate::api::Problem;

use super::entrance::Entrance;

/// So many failures are forgiven...
const FORGIVEN: usize = 10;
/// ...within so long.
const WINDOW: Duration = Duration::from_secs(60);
/// So many machines are remembered; one that fails from more than these is no guesser's problem but ours.
const MAX_CALLERS: usize = 1024;

type Blamed = (bool, IpAddr);

/// The failures of the last minute.
#[derive(Debug, Default)]
pub(super) struct Throttle(Mutex<HashMap<Blamed, VecDeque<Instant>>>);

impl Throttle {
    /// Notes a failure, and gives what to say about it: this problem, or that it was one too many.
    pub(super) fn failed(&self, entrance: Entrance, problem: Problem) -> Problem {
        let wait = entrance.blamed().and_then(|blamed| self.note(blamed, Instant::now()));
        wait.map_or(problem, too_many)
    }

    /// How long it takes until this one may try again, if it may not now.
    fn wait(&self, blamed: Blamed, now: Instant) -> Option<Duration> {
        let callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = callers.get(&blamed)?;
        // Of the newest ones, the oldest: when it is out of the window, there is room again.
        let oldest = failures.iter().rev().nth(FORGIVEN - 1)?;
        WINDOW.checked_sub(now.saturating_duration_since(*oldest)).filter(|wait| !wait.is_zero())
    }

    fn note(&self, blamed: Blamed, now: Instant) -> Option<Duration> {
        if let Some(wait) = self.wait(blamed, now) {
            return Some(wait);
        }
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |failure: &Instant| now.saturating_duration_since(*failure) < WINDOW;
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&blamed) {
            callers.retain(|_, failures| failures.back().is_some_and(is_recent));
            // All of them recent: the one that has been quiet for longest gives way.
            let quietest =
                callers.iter().min_by_key(|(_, failures)| failures.back().copied()).map(|(blamed, _)| *blamed);
            if let Some(quietest) = quietest.filter(|_| callers.len() >= MAX_CALLERS) {
                callers.remove(&quietest);
            }
        }
        let failures = callers.entry(blamed).or_default();
        failures.retain(is_recent);
        failures.push_back(now);
        if failures.len() == FORGIVEN {
            tracing::warn!(address = %blamed.1, behind_proxy = blamed.0, "too many failures to sign in");
        }
        None
    }
}

fn too_many(wait: Duration) -> Problem {
    // A minute at most.
    let seconds = u16::try_from(wait.as_secs()).unwrap_or(u16::MAX).saturating_add(1);
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-failures", "Too many attempts have failed.");
    Problem { retry_after: Some(seconds), ..problem.hint(format!("Try again in {seconds} seconds.")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(n: u32) -> Blamed {
        (false, std::net::Ipv4Addr::from_bits(n).into())
    }

    #[test]
    fn the_eleventh_failure_within_a_minute_is_one_too_many() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for second in 0..10 {
            let now = start + Duration::from_secs(second);
            assert_eq!(throttle.wait(caller(1), now), None);
            assert_eq!(throttle.note(caller(1), now), None);
        }
        let now = start + Duration::from_secs(10);
        assert_eq!(throttle.note(caller(1), now), Some(Duration::from_secs(50)));
        assert_eq!(throttle.wait(caller(1), now), Some(Duration::from_secs(50)));
        assert_eq!(throttle.wait(caller(2), now), None);
        // One goes out of the window, and there is room for one.
        let now = start + WINDOW;
        assert_eq!(throttle.note(caller(1), now), None);
        assert_eq!(throttle.note(caller(1), now), Some(Duration::from_secs(1)));
        assert_eq!(throttle.wait(caller(1), now + WINDOW), None);
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::default();
        let now = Instant::now();
        for n in 0..3000 {
            throttle.note(caller(n), now + Duration::from_millis(n.into()));
        }
        let callers = throttle.0.lock().unwrap();
        assert_eq!(callers.len(), MAX_CALLERS);
        assert!(callers.contains_key(&caller(2999)) && !callers.contains_key(&caller(0)));
    }
}

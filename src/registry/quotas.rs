//! How much each asker may ask. What was asked is kept for months, so the number of open asks alone is no bound.
//!
//! A quota fills up evenly, by so many bytes a day, and each ask takes from it. It is counted in memory only: a daemon that is started again
//! begins with full ones.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::ask::{Host, NewAsk};

use super::Registry;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What each asker has, unless the daemon is told otherwise.
const USUAL: u64 = 256 * 1024 * 1024;
/// All agents and programs of this machine's own user share one quota, and it is so many times as large.
const PARTS_HERE: u64 = 8;

/// Somebody who has a quota.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Asker {
    /// The agents and the programs of this machine's own user.
    Here,
    /// A person, with all their devices.
    Person(i64),
    /// A device that belongs to nobody.
    Device(i64),
    /// Another machine, with everything on it.
    Host(Host),
}

/// The quotas of everybody who has asked since the daemon was started.
#[derive(Debug)]
pub(super) struct Quotas {
    /// In bytes.
    per_day: AtomicU64,
    left: Mutex<HashMap<Asker, Left>>,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { per_day: AtomicU64::new(USUAL), left: Mutex::default() }
    }
}

/// What was left of a quota at a moment, in bytes. An ask that is larger makes it a debt.
#[derive(Debug, Clone, Copy)]
struct Left {
    bytes: f64,
    at: Instant,
}

impl Left {
    /// Takes from what is left, if something is. Otherwise, says how long it takes until something is.
    fn take(&mut self, bytes: f64, per_day: f64, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64() / DAY.as_secs_f64();
        *self = Self { bytes: (self.bytes + passed * per_day).min(per_day), at: now };
        if self.bytes <= 0.0 {
            return Err(DAY.mul_f64((-self.bytes / per_day).min(1.0)));
        }
        self.bytes -= bytes;
        Ok(())
    }
}

/// What an ask takes from the quota of its asker. It is given back if the ask is not opened.
#[derive(Debug)]
pub struct Charge {
    registry: Registry,
    asker: Asker,
    bytes: f64,
}

impl Charge {
    /// The ask is opened.
    pub fn keep(mut self) {
        self.bytes = 0.0;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0.0
            && let Some(left) = self.registry.0.quotas.left().get_mut(&self.asker)
        {
            left.bytes += self.bytes;
        }
    }
}

impl Quotas {
    fn left(&self) -> std::sync::MutexGuard<'_, HashMap<Asker, Left>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// Sets how many bytes each asker may ask in a day.
    pub fn set_quota(&self, per_day: u64) {
        self.0.quotas.per_day.store(per_day, Ordering::Relaxed);
    }

    /// Takes an ask from the quota of its asker. If nothing is left, says after how long something is again.
    pub fn charge(&self, asker: &Asker, new: &NewAsk) -> Result<Charge, Duration> {
        self.charge_bytes(asker, new.weight() + new.detail.len())
    }

    /// The same for something else that is kept.
    pub fn charge_bytes(&self, asker: &Asker, bytes: usize) -> Result<Charge, Duration> {
        let each = self.0.quotas.per_day.load(Ordering::Relaxed);
        let per_day = if *asker == Asker::Here { each.saturating_mul(PARTS_HERE) } else { each };
        let (bytes, per_day, now) = (bytes as f64, per_day as f64, Instant::now());
        let mut all = self.0.quotas.left();
        all.entry(asker.clone()).or_insert(Left { bytes: per_day, at: now }).take(bytes, per_day, now)?;
        Ok(Charge { registry: self.clone(), asker: asker.clone(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::new_ask;
    use crate::registry::OpenError;
    use crate::store::samples::in_scratch_dir;

    #[test]
    fn a_quota_fills_up_in_a_day() {
        let start = Instant::now();
        let mut left = Left { bytes: 100.0, at: start };
        assert_eq!(left.take(60.0, 100.0, start), Ok(()));
        // The last ask may be larger than what is left, so that even a large one comes through some day.
        assert_eq!(left.take(90.0, 100.0, start), Ok(()));
        assert_eq!(left.take(1.0, 100.0, start), Err(DAY / 2));
        assert_eq!(left.take(1.0, 100.0, start + DAY / 4), Err(DAY / 4));
        assert_eq!(left.take(1.0, 100.0, start + DAY / 2 + DAY / 10), Ok(()));
        // It never holds more than a day's worth.
        assert_eq!(left.take(100.0, 100.0, start + DAY * 9), Ok(()));
        assert!(left.take(1.0, 100.0, start + DAY * 9).is_err());
    }

    #[tokio::test]
    async fn an_asker_without_quota_is_refused_and_others_are_not() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        registry.set_quota(1);
        let device = Asker::Device(1);
        let open = async |key: &str, asker: &Asker| registry.open(new_ask(key), asker.clone()).await;
        open("s1__t", &device).await.unwrap();
        // What is open already is found, and costs nothing.
        assert_eq!(open("s1__t", &device).await.unwrap().key.as_str(), "s1__t");
        let refused = open("s2__t", &device).await.unwrap_err();
        assert!(matches!(refused, OpenError::TooMuch(wait) if wait > DAY / 2), "{refused}");
        for other in [Asker::Device(2), Asker::Person(1), Asker::Host(Host::new("box")), Asker::Here] {
            open(&format!("{other:?}__t").replace(['(', ')', '"', ' '], ""), &other).await.unwrap();
        }
        store.close().await;
    }
}

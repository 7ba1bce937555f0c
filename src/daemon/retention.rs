//! Forgetting settled questions when they are old enough.
//!
//! How old they are is a matter of the wall clock, and clocks are wrong at times: a machine that has just been started may be years ahead
//! until it has asked the network. In everyday use a day's worth of questions is due each day. If more than that is due, the clock is in
//! doubt, and it gets an hour to be corrected before anything is deleted.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::store::{Store, StoreError};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// Waits before the first look, so that hooks that lost their daemon can come back for their answers.
const FIRST: Duration = Duration::from_secs(60);
/// How long a clock in doubt is watched.
const SECOND_LOOK: Duration = Duration::from_secs(60 * 60);
/// By how much the wall clock may differ from a steady one in that time.
const IN_STEP: SignedDuration = SignedDuration::from_mins(1);

/// Once a day, forgets the questions that were settled longer ago than `retention`.
pub async fn keep(store: Store, retention: SignedDuration) {
    let mut purger = Purger { retention, doubted: None };
    let mut pause = FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = match purger.look(&store, Timestamp::now(), Instant::now()).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(%error, "old questions could not be forgotten");
                SECOND_LOOK
            }
        };
    }
}

#[derive(Debug)]
struct Purger {
    retention: SignedDuration,
    /// The moment since which more than a day's worth has been due, by both clocks.
    doubted: Option<(Timestamp, Instant)>,
}

impl Purger {
    /// Forgets what is due. Returns how long to wait until the next look.
    async fn look(&mut self, store: &Store, wall: Timestamp, steady: Instant) -> Result<Duration, StoreError> {
        let Ok(before) = wall.checked_sub(self.retention) else { return Ok(INTERVAL) };
        let oldest = store.oldest_settled().await?;
        if oldest.is_some_and(|oldest| before.duration_since(oldest) > DAY) && !self.is_clock_trusted(wall, steady) {
            tracing::warn!(
                "more than a day's worth of old questions is due for deletion: this waits an hour, in case the clock is wrong"
            );
            return Ok(SECOND_LOOK);
        }
        self.doubted = None;
        match store.purge(before).await? {
            0 => {}
            forgotten => tracing::info!(forgotten, "old questions were forgotten"),
        }
        Ok(INTERVAL)
    }

    /// Whether the wall clock has gone on evenly for an hour.
    fn is_clock_trusted(&mut self, wall: Timestamp, steady: Instant) -> bool {
        if let Some((first_wall, first_steady)) = self.doubted {
            let watched = steady.duration_since(first_steady);
            let gone = wall.duration_since(first_wall);
            let is_even = SignedDuration::try_from(watched).is_ok_and(|watched| (gone - watched).abs() < IN_STEP);
            if is_even {
                return watched >= SECOND_LOOK;
            }
        }
        self.doubted = Some((wall, steady));
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ask::samples::new_ask;
    use crate::ask::{Host, Outcome, Settlement};
    use crate::store::{Filter, Opened, Opening, StateFilter};

    const RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);

    fn days(days: i64) -> SignedDuration {
        SignedDuration::from_hours(24 * days)
    }

    /// A store with questions that were settled so many days ago.
    async fn store(now: Timestamp, ages: &[i64]) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let (opening, _) = Opening::open(&dir.path().join("asks.db"), true, Host::new("here")).unwrap();
        let store = opening.start(Box::new(|_| {})).unwrap();
        for age in ages {
            let new = new_ask(&format!("s__t{age}"));
            let at = now - days(*age);
            let Opened::New(ask) = store.open_ask(Arc::new(new), at, 64).await.unwrap() else { panic!("not new") };
            store.settle(ask.id, Settlement { outcome: Outcome::Released, by: None, at }).await.unwrap();
        }
        (dir, store)
    }

    async fn left(store: &Store) -> usize {
        store.list(Filter::all(StateFilter::All, 100)).await.unwrap().asks.len()
    }

    #[tokio::test]
    async fn a_days_worth_is_forgotten_at_once() {
        let (now, steady) = (Timestamp::now(), Instant::now());
        let (_dir, store) = store(now, &[1, 89, 90]).await;
        let mut purger = Purger { retention: RETENTION, doubted: None };
        let look = now + SignedDuration::from_hours(1);
        assert_eq!(purger.look(&store, look, steady).await.unwrap(), INTERVAL);
        assert_eq!(left(&store).await, 2);
    }

    #[tokio::test]
    async fn a_clock_that_is_corrected_within_the_hour_costs_nothing() {
        let (now, steady) = (Timestamp::now(), Instant::now());
        let (_dir, store) = store(now, &[1, 30, 60]).await;
        let mut purger = Purger { retention: RETENTION, doubted: None };
        assert_eq!(purger.look(&store, now + days(365), steady).await.unwrap(), SECOND_LOOK);
        assert_eq!(
            purger.look(&store, now + SignedDuration::from_hours(1), steady + SECOND_LOOK).await.unwrap(),
            INTERVAL
        );
        assert_eq!(left(&store).await, 3);
        // It jumps again, by another amount: the hour begins anew.
        assert_eq!(purger.look(&store, now + days(365), steady + SECOND_LOOK).await.unwrap(), SECOND_LOOK);
        assert_eq!(purger.look(&store, now + days(366), steady + SECOND_LOOK * 2).await.unwrap(), SECOND_LOOK);
        assert_eq!(left(&store).await, 3);
    }

    #[tokio::test]
    async fn a_clock_that_goes_on_evenly_for_an_hour_is_believed() {
        let (now, steady) = (Timestamp::now(), Instant::now());
        let (_dir, store) = store(now, &[1, 30, 100, 200]).await;
        let mut purger = Purger { retention: RETENTION, doubted: None };
        assert_eq!(purger.look(&store, now, steady).await.unwrap(), SECOND_LOOK);
        let hour = SignedDuration::from_hours(1);
        assert_eq!(purger.look(&store, now + hour, steady + SECOND_LOOK).await.unwrap(), INTERVAL);
        assert_eq!(left(&store).await, 2);
    }
}

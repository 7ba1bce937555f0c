//! Deletes settled questions that are older than the configured time, and the oldest ones if there is too much.
//!
//! Their age depends on the clock of the store. With a file, this is the clock of the machine, and it may be wrong: on a machine that has
//! just started, it may be years ahead until it is set from the network. Normally, one day's worth of questions is due each day. If more
//! is due, the clock may be wrong. Then the daemon watches the clock for an hour before it deletes anything.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::store::{Store, StoreError};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// The first look comes after this, so that hooks that lost their daemon can fetch their answers first.
const FIRST: Duration = Duration::from_secs(60);
/// How long a doubtful clock is watched.
const SECOND_LOOK: Duration = Duration::from_secs(60 * 60);
/// How much the wall clock and the steady clock may drift apart in that time.
const IN_STEP: SignedDuration = SignedDuration::from_mins(1);

/// How often the size of the store is looked at. What everybody may ask in this time is little, compared with a whole day.
const SIZE_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Deletes what is too old, and what is too much: so that the store has at most `most` bytes.
pub async fn keep(store: Store, retention: SignedDuration, most: u64) {
    tokio::join!(keep_for(&store, retention), keep_below(&store, most));
}

/// Once an hour, deletes the questions that were settled first, if the store is too large. This needs no clock that is right.
async fn keep_below(store: &Store, most: u64) {
    tokio::time::sleep(FIRST).await;
    loop {
        match store.shrink(most).await {
            Ok(0) => {}
            Ok(deleted) => tracing::warn!(deleted, most, "the oldest questions were deleted: there were too many"),
            Err(error) => tracing::error!(%error, "the store could not be made smaller"),
        }
        tokio::time::sleep(SIZE_INTERVAL).await;
    }
}

/// Once a day, deletes the questions that were settled longer ago than `retention`.
async fn keep_for(store: &Store, retention: SignedDuration) {
    let mut purger = Purger { retention, doubted: None };
    let mut pause = FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = match purger.look(store, store.now(), Instant::now()).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(%error, "old questions could not be deleted");
                SECOND_LOOK
            }
        };
    }
}

#[derive(Debug)]
struct Purger {
    retention: SignedDuration,
    /// When more than a day's worth was first found to be due, by both clocks.
    doubted: Option<(Timestamp, Instant)>,
}

impl Purger {
    /// Deletes the questions that are due. Returns how long to wait until the next look.
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
            deleted => tracing::info!(deleted, "old questions were deleted"),
        }
        Ok(INTERVAL)
    }

    /// Whether the wall clock has kept pace with the steady clock for an hour.
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
    use crate::ask::{Outcome, Settlement};
    use crate::store::samples::in_scratch_dir;
    use crate::store::{Filter, Opened, StateFilter};

    const RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);

    fn days(days: i64) -> SignedDuration {
        SignedDuration::from_hours(24 * days)
    }

    /// A store with one question for each age. The age says how many days ago the question was settled.
    async fn store(now: Timestamp, ages: &[i64]) -> (tempfile::TempDir, Store) {
        let (dir, opening, _) = in_scratch_dir();
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
    async fn one_days_worth_is_deleted_at_once() {
        let (now, steady) = (Timestamp::now(), Instant::now());
        let (_dir, store) = store(now, &[1, 89, 90]).await;
        let mut purger = Purger { retention: RETENTION, doubted: None };
        let look = now + SignedDuration::from_hours(1);
        assert_eq!(purger.look(&store, look, steady).await.unwrap(), INTERVAL);
        assert_eq!(left(&store).await, 2);
    }

    #[tokio::test]
    async fn nothing_is_deleted_if_the_clock_is_corrected_within_the_hour() {
        let (now, steady) = (Timestamp::now(), Instant::now());
        let (_dir, store) = store(now, &[1, 30, 60]).await;
        let mut purger = Purger { retention: RETENTION, doubted: None };
        assert_eq!(purger.look(&store, now + days(365), steady).await.unwrap(), SECOND_LOOK);
        assert_eq!(
            purger.look(&store, now + SignedDuration::from_hours(1), steady + SECOND_LOOK).await.unwrap(),
            INTERVAL
        );
        assert_eq!(left(&store).await, 3);
        // The clock jumps again, by another amount. The hour starts over.
        assert_eq!(purger.look(&store, now + days(365), steady + SECOND_LOOK).await.unwrap(), SECOND_LOOK);
        assert_eq!(purger.look(&store, now + days(366), steady + SECOND_LOOK * 2).await.unwrap(), SECOND_LOOK);
        assert_eq!(left(&store).await, 3);
    }

    #[tokio::test]
    async fn a_clock_that_runs_evenly_for_an_hour_is_trusted() {
        let (now, steady) = (Timestamp::now(), Instant::now());
        let (_dir, store) = store(now, &[1, 30, 100, 200]).await;
        let mut purger = Purger { retention: RETENTION, doubted: None };
        assert_eq!(purger.look(&store, now, steady).await.unwrap(), SECOND_LOOK);
        let hour = SignedDuration::from_hours(1);
        assert_eq!(purger.look(&store, now + hour, steady + SECOND_LOOK).await.unwrap(), INTERVAL);
        assert_eq!(left(&store).await, 2);
    }
}

//! How asks end that nobody settles: at their deadline, or after their askers are gone.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::sleep;

use crate::ask::{Ask, AskKey, OnTimeout, Outcome, Source};
use crate::store::StoreError;

use super::open_asks::{Abandoned, Parked, Waiters};
use super::{GRACE, Registry, SettleError, Unconfirmed};

/// Pauses between attempts to save an expiry or a withdrawal that the store could not save.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

impl Registry {
    /// Withdraws an ask if nobody parks on it within the grace. A program's ask needs no wait. It is `unconfirmed` until that is done.
    pub(super) fn withdraw_unless_parked(&self, key: &AskKey, grace: Duration, unconfirmed: Option<Unconfirmed>) {
        if let Some((ask, waiters)) = self.0.open.waiters(key)
            && ask.origin.needs_wait()
            && let Some(abandoned) = waiters.abandoned()
        {
            self.withdraw_after(grace, ask, waiters, abandoned, unconfirmed);
        }
    }

    pub(super) fn withdraw_after_grace(&self, left: &Parked, abandoned: Abandoned) {
        self.withdraw_after(GRACE, Arc::clone(&left.ask), Arc::clone(&left.waiters), abandoned, None);
    }

    /// Whether an ask is this daemon's to end. The daemon of another machine ends its own asks.
    pub(super) fn watches_over(&self, ask: &Ask) -> bool {
        ask.host == *self.0.store.host()
    }

    fn withdraw_after(
        &self,
        grace: Duration,
        ask: Arc<Ask>,
        waiters: Arc<Waiters>,
        abandoned: Abandoned,
        unconfirmed: Option<Unconfirmed>,
    ) {
        if !self.watches_over(&ask) {
            return;
        }
        let registry = self.clone();
        self.0.runtime.spawn(async move {
            let _unconfirmed = unconfirmed;
            sleep(grace).await;
            // It may have been deferred meanwhile, and then needs nobody.
            let waits_for_nobody = registry.0.open.get(&ask.key).is_none_or(|ask| ask.deferred);
            if !waits_for_nobody && waiters.close(abandoned) {
                registry.end_unasked(&ask, Outcome::Withdrawn, None).await;
            }
        });
    }

    /// Ends an ask that nobody settled. It tries until the store can save that, because nobody else will: a full disk must not keep an ask
    /// open for ever.
    pub(super) async fn end_unasked(&self, ask: &Ask, outcome: Outcome, by: Option<Source>) {
        let mut pause = FIRST_RETRY;
        loop {
            let ended = match (&outcome, ask.on_timeout) {
                (Outcome::Expired, OnTimeout::Defer) => self.0.store.defer(ask.id, self.0.store.now()).await.map(drop),
                _ => match self.settle(ask.id, outcome.clone(), by.clone()).await {
                    Err(SettleError::Store(error)) => Err(error),
                    // Settled by us or by somebody else: it is over.
                    _ => Ok(()),
                },
            };
            match ended {
                Ok(()) | Err(StoreError::Closed) => return,
                Err(error) => tracing::error!(key = %ask.key, %error, "could not be ended, and is tried again"),
            }
            sleep(pause).await;
            pause = LAST_RETRY.min(pause * 2);
        }
    }

    pub(super) fn watch_deadline(&self, ask: &Arc<Ask>) {
        let Some(expires_at) = ask.expires_at.filter(|_| self.watches_over(ask)) else { return };
        let (registry, ask) = (self.clone(), Arc::clone(ask));
        self.0.runtime.spawn(async move {
            let left = expires_at.duration_since(registry.0.store.now()).max(SignedDuration::ZERO);
            tokio::select! {
                () = sleep(left.unsigned_abs()) => registry.end_unasked(&ask, Outcome::Expired, None).await,
                _ = registry.until_settled(&ask.key) => {}
            }
        });
    }
}

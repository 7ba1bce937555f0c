//! An asker parked on an ask.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use crate::ask::Ask;

use super::Registry;
use super::open_asks::{Signal, Waiters};

/// How a wait ended.
#[derive(Debug, Clone)]
pub enum WaitEnd {
    /// The ask has its outcome.
    Settled(Arc<Ask>),
    /// The ask stays open, and the asker shall come back for the answer.
    Deferred,
}

/// An asker parked on an open ask. Dropping the last one before the ask is settled means that the asker is gone: the ask is
/// withdrawn, unless it comes back within the grace.
#[derive(Debug)]
pub struct Wait {
    registry: Registry,
    ask: Arc<Ask>,
    waiters: Arc<Waiters>,
    signal: watch::Receiver<Signal>,
    /// Deferrals before this wait concern others.
    deferrals: u32,
}

impl Wait {
    /// `waiters` must already count this wait.
    pub(super) fn new(registry: Registry, ask: Arc<Ask>, waiters: Arc<Waiters>) -> Self {
        let signal = waiters.signal.subscribe();
        let deferrals = signal.borrow().deferrals;
        Self { registry, ask, waiters, signal, deferrals }
    }

    /// The ask it waits for, as it was when the wait began.
    pub fn ask(&self) -> &Arc<Ask> {
        &self.ask
    }

    /// Waits for as long as it takes. Safe to cancel: that drops the wait.
    pub async fn end(mut self) -> WaitEnd {
        loop {
            let signal = self.signal.borrow_and_update().clone();
            if let Some(ask) = signal.settled {
                return WaitEnd::Settled(ask);
            }
            if signal.deferrals > self.deferrals {
                return WaitEnd::Deferred;
            }
            // It cannot fail: this wait holds the sender.
            drop(self.signal.changed().await);
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let last = self.waiters.parked.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && self.signal.borrow().settled.is_none() {
            self.registry.withdraw_after_grace(&self.ask);
        }
    }
}

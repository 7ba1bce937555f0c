//! An asker parked on an ask.

use std::sync::Arc;

use tokio::sync::watch;

use crate::ask::{Ask, AskKey};

use super::Registry;
use super::open_asks::{Parked, Signal};

/// How a wait ended.
#[derive(Debug, Clone)]
pub enum WaitEnd {
    /// The ask has its outcome.
    Settled(Arc<Ask>),
    /// The ask stays open, and the asker is to come back for the answer.
    Deferred,
}

/// An asker parked on an open ask. If the last wait is dropped before the ask is settled, the asker is gone. The ask is then withdrawn,
/// unless an asker comes back within the grace.
#[derive(Debug)]
pub struct Wait {
    registry: Registry,
    parked: Parked,
    signal: watch::Receiver<Signal>,
}

impl Wait {
    pub(super) fn new(registry: Registry, parked: Parked) -> Self {
        let signal = parked.waiters.signal.subscribe();
        Self { registry, parked, signal }
    }

    /// The name of the ask.
    pub fn key(&self) -> &AskKey {
        &self.parked.ask.key
    }

    /// Waits for as long as it takes. Safe to cancel: that drops the wait.
    pub async fn end(mut self) -> WaitEnd {
        loop {
            let signal = self.signal.borrow_and_update().clone();
            if let Some(ask) = signal.settled {
                return WaitEnd::Settled(ask);
            }
            if signal.deferrals > self.parked.deferrals {
                return WaitEnd::Deferred;
            }
            // This cannot fail, because the wait holds the sender.
            drop(self.signal.changed().await);
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let abandoned = self.parked.waiters.leave();
        if let Some(abandoned) = abandoned.filter(|_| self.signal.borrow().settled.is_none()) {
            self.registry.withdraw_after_grace(&self.parked, abandoned);
        }
    }
}

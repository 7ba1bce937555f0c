//! An asker parked on an ask.

use crate::ask::{Ask, AskKey};

use super::Registry;
use super::open_asks::{Parked, Settled};

/// How a wait ended.
#[derive(Debug, Clone)]
pub enum WaitEnd {
    /// The ask has its outcome.
    Settled(Settled),
    /// The ask stays open, and the asker is to come back for the answer.
    Deferred,
    /// The ask is gone, and the asker is to ask again.
    Lost,
}

/// An asker parked on an open ask. If the last wait is dropped before the ask is settled, the asker is gone. The ask is then withdrawn,
/// unless an asker comes back within the grace.
#[derive(Debug)]
pub struct Wait {
    registry: Registry,
    parked: Parked,
}

impl Wait {
    pub(super) fn new(registry: Registry, parked: Parked) -> Self {
        Self { registry, parked }
    }

    /// The ask, as it was when the asker was parked.
    pub(super) fn ask(&self) -> &Ask {
        &self.parked.ask
    }

    /// The name of the ask.
    pub fn key(&self) -> &AskKey {
        &self.parked.ask.key
    }

    /// Waits for as long as it takes. Safe to cancel: that drops the wait.
    pub async fn end(self) -> WaitEnd {
        self.parked.waiters.until_end(self.parked.deferrals).await
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let abandoned = self.parked.waiters.leave();
        if let Some(abandoned) = abandoned.filter(|_| !self.parked.waiters.is_over()) {
            self.registry.withdraw_after_grace(&self.parked, abandoned);
        }
    }
}

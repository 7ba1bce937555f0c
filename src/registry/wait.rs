//! An asker parked on an ask.

use std::time::Duration;

use crate::ask::{Ask, AskKey};

use super::Registry;
use super::open_asks::{Parked, Settled};
use super::unconfirmed::Unconfirmed;

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
    /// Until it is certain that the asker knows that it is parked. Boxed, because most of the time it is not there.
    unconfirmed: Option<Box<Unconfirmed>>,
}

impl Wait {
    pub(super) fn new(registry: Registry, parked: Parked) -> Self {
        Self { registry, parked, unconfirmed: None }
    }

    /// The same for an ask that was just opened.
    pub(super) fn of_new(mut self, unconfirmed: Option<Unconfirmed>) -> Self {
        self.unconfirmed = unconfirmed.map(Box::new);
        self
    }

    /// The ask, as it was when the asker was parked.
    pub(super) fn ask(&self) -> &Ask {
        &self.parked.ask
    }

    /// The name of the ask.
    pub fn key(&self) -> &AskKey {
        &self.parked.ask.key
    }

    /// The asker knows that it is parked, and stays. From now on, people can answer.
    pub fn confirm(&mut self) {
        if let Some(unconfirmed) = self.unconfirmed.take() {
            self.registry.confirm(unconfirmed.key());
        }
    }

    /// Waits for as long as it takes. Safe to cancel: that drops the wait.
    pub async fn end(self) -> WaitEnd {
        self.parked.waiters.until_end(self.parked.deferrals).await
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let abandoned = self.parked.waiters.leave();
        let Some(abandoned) = abandoned.filter(|_| !self.parked.waiters.is_over()) else { return };
        match self.unconfirmed.take() {
            // It has given up, and does not come back.
            Some(unconfirmed) => {
                self.registry.withdraw_unless_parked(&self.parked.ask.key, Duration::ZERO, Some(*unconfirmed));
            }
            None => self.registry.withdraw_after_grace(&self.parked, abandoned),
        }
    }
}

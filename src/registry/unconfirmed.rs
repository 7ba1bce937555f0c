//! Asks whose askers may be gone.
//!
//! A store can be slow, and an asker does not wait for it for long. So an ask can be there after its asker has gone. Nobody is told that
//! their answer counts before the asker is there to get it: until then they wait. If the asker has gone, the ask is withdrawn.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::ask::{Ask, AskKey, Host};

use super::Registry;

/// Between two attempts to tell a hub.
const PAUSE: Duration = Duration::from_secs(1);

/// The machines and the keys of all unconfirmed asks. A key can be opened twice at the same time, so they are counted.
pub(super) type Keys = Arc<watch::Sender<HashMap<(Host, AskKey), u32>>>;

/// An ask that is being opened, or was opened, and whose asker may be gone, until this is dropped.
#[derive(Debug)]
pub struct Unconfirmed {
    keys: Keys,
    ask: (Host, AskKey),
}

impl Unconfirmed {
    pub(super) fn key(&self) -> &AskKey {
        &self.ask.1
    }
}

impl Drop for Unconfirmed {
    fn drop(&mut self) {
        self.keys.send_modify(|keys| {
            if let Some(count) = keys.get_mut(&self.ask) {
                *count -= 1;
                if *count == 0 {
                    keys.remove(&self.ask);
                }
            }
        });
    }
}

/// An ask that was opened or found. If it was opened, this is dropped when its asker is parked, or comes within the grace, or is gone. It is
/// also dropped if the caller that opened it is gone before it gets this.
pub(super) struct Found {
    pub(super) ask: Arc<Ask>,
    /// `None` if it was open before.
    pub(super) opened_by: Option<Registry>,
    pub(super) unconfirmed: Option<Unconfirmed>,
    pub(super) grace: Duration,
}

impl Found {
    /// The asker is parked, and its wait takes over.
    pub(super) fn hand_over(&mut self) -> Option<Unconfirmed> {
        self.opened_by.take()?;
        self.unconfirmed.take()
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        let Some(registry) = &self.opened_by else { return };
        let key = &self.ask.key;
        if self.grace.is_zero() && !registry.0.open.has_asker(key) {
            registry.withdraw_unless_parked(key, self.grace, self.unconfirmed.take());
        } else {
            registry.confirm(key);
            registry.withdraw_unless_parked(key, self.grace, None);
        }
    }
}

impl Registry {
    /// An ask is about to be opened for an asker on this machine.
    pub fn unconfirmed(&self, host: &Host, key: &AskKey) -> Unconfirmed {
        let ask = (host.clone(), key.clone());
        self.0.unconfirmed.send_modify(|keys| *keys.entry(ask.clone()).or_default() += 1);
        Unconfirmed { keys: Arc::clone(&self.0.unconfirmed), ask }
    }

    /// Returns when the asker of an ask is there, or the ask is over. Safe to cancel.
    pub async fn until_confirmed(&self, ask: &Ask) {
        let ask = (ask.host.clone(), ask.key.clone());
        // There is no error: the registry has the sender.
        drop(self.0.unconfirmed.subscribe().wait_for(|keys| !keys.contains_key(&ask)).await);
    }

    /// Whether an asker is parked on an ask of this machine, or about to be.
    pub(super) fn has_asker(&self, ask: &Ask) -> bool {
        let is_opened = || self.0.unconfirmed.borrow().contains_key(&(ask.host.clone(), ask.key.clone()));
        self.0.open.has_asker(&ask.key) || is_opened()
    }

    /// Tells the hub of an edge that the asker is there. Nobody could answer if the hub did not hear it.
    pub(super) fn confirm(&self, key: &AskKey) {
        if self.0.store.hub().is_some() {
            let (registry, key) = (self.clone(), key.clone());
            self.0.runtime.spawn(async move {
                while registry.is_open(&key) && registry.0.store.confirm(&key).await.is_err() {
                    sleep(PAUSE).await;
                }
            });
        }
    }
}

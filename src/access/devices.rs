//! The devices that are signed in: browsers and phones, each with a token of its own.

use std::collections::BTreeSet;
use std::future::Future;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::store::{Device, DeviceKind, Store, StoreError};

use super::{Token, TokenHash};

/// How exact "last seen" is. It is not written at every request.
const SEEN: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug)]
pub(super) struct Devices {
    store: Store,
    /// The devices that were signed out since the daemon was started. An id is never given to another device.
    revoked: watch::Sender<BTreeSet<i64>>,
}

impl Devices {
    pub(super) fn new(store: Store) -> Self {
        Self { store, revoked: watch::Sender::default() }
    }

    /// Puts a device on the list. If one with this token is on it, nothing changes.
    pub(super) async fn add(&self, name: String, kind: DeviceKind, token: &Token) -> Result<i64, StoreError> {
        self.store.add_device(name, kind, token.hash().bytes(), Timestamp::now()).await
    }

    /// The device with this token. It counts as seen.
    pub(super) async fn find(&self, token: TokenHash) -> Result<Option<Device>, StoreError> {
        let now = Timestamp::now();
        let device = self.store.device(token.bytes(), now).await?;
        if let Some(device) = device.as_ref().filter(|device| now.duration_since(device.last_seen_at) > SEEN) {
            self.note_seen(device.id, now);
        }
        Ok(device)
    }

    /// In the background, so that no request waits for the disk.
    fn note_seen(&self, id: i64, now: Timestamp) {
        let store = self.store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.device_seen(id, now).await {
                tracing::warn!(%error, "it could not be noted that a device was seen");
            }
        });
    }

    /// All of them, oldest first.
    pub(super) async fn list(&self) -> Result<Vec<Device>, StoreError> {
        self.store.devices(Timestamp::now()).await
    }

    /// Signs a device out; `false` if there is none with this id. Its token is refused from now on.
    pub(super) async fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        let found = self.store.remove_device(id).await?;
        if found {
            self.revoked.send_if_modified(|revoked| revoked.insert(id));
        }
        Ok(found)
    }

    /// Returns when the device is signed out.
    pub(super) fn revoked(&self, id: i64) -> impl Future<Output = ()> + Send + use<> {
        let mut revoked = self.revoked.subscribe();
        // An error means that the daemon is gone, and the device with it.
        async move { drop(revoked.wait_for(|revoked| revoked.contains(&id)).await) }
    }
}

//! The devices that are signed in: browsers and phones, each with a token of its own.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ask::Host;
use crate::store::{Device, DeviceKind, Store, StoreError};

use super::people::People;
use super::{Token, TokenHash};

/// How exact "last seen" is. It is not written at every request.
const SEEN: SignedDuration = SignedDuration::from_mins(5);
/// How often to look whether another daemon has signed out a device that is connected here. Its requests are refused at once, because
/// every request is looked up.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Devices {
    store: Store,
    people: People,
    /// The devices that were signed out since the daemon was started. An id is never given to another device.
    revoked: watch::Sender<BTreeSet<i64>>,
    /// The devices that other daemons have left in the store, as of the last look. One look is for everybody who is connected here.
    listed: watch::Sender<Option<Listed>>,
    /// Looks at the store, if other daemons use it and somebody was connected here.
    looking: OnceLock<()>,
}

/// The devices in the store.
#[derive(Debug)]
struct Listed {
    /// When the look at the store began. A device that was added later may be missing.
    begun: Instant,
    ids: BTreeSet<i64>,
}

impl Devices {
    pub(super) fn new(store: Store, people: People) -> Self {
        Self {
            store,
            people,
            revoked: watch::Sender::default(),
            listed: watch::Sender::default(),
            looking: OnceLock::new(),
        }
    }

    /// Puts a device on the list, as one of `person` or of nobody. If one with this token is on it, nothing changes. `None`, and nothing
    /// done, if there is no such person any more.
    pub(super) async fn add(
        &self,
        name: String,
        kind: DeviceKind,
        person: Option<i64>,
        token: &Token,
    ) -> Result<Option<i64>, StoreError> {
        let (token, now) = (token.hash().bytes(), self.store.now());
        match person {
            Some(person) => self.store.add_device_of(person, name, kind, token, now).await,
            None => self.store.add_device(name, kind, token, now).await.map(Some),
        }
    }

    /// Puts the daemon of another machine on the list. `None` if another machine has its name.
    pub(super) async fn add_host(&self, name: Host, token: &Token) -> Result<Option<i64>, StoreError> {
        self.store.add_host(name, token.hash().bytes(), self.store.now()).await
    }

    /// The name of this daemon's own machine.
    pub(super) fn own_host(&self) -> &Host {
        self.store.host()
    }

    /// Whether a daemon of this store has the name, and not only an edge.
    pub(super) async fn is_daemon(&self, host: &Host) -> Result<bool, StoreError> {
        Ok(host == self.store.host() || self.store.is_daemon(host).await?)
    }

    /// The device with this token. It counts as seen.
    pub(super) async fn find(&self, token: TokenHash) -> Result<Option<Device>, StoreError> {
        let now = self.store.now();
        let device = self.store.device(token.bytes(), now).await?;
        if let Some(device) = device.as_ref().filter(|device| now.duration_since(device.last_seen_at) > SEEN) {
            self.note_seen(device.id, now);
        }
        Ok(device)
    }

    /// Notes that a device is there now.
    pub(super) fn is_here(&self, id: i64) {
        self.note_seen(id, self.store.now());
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
        self.store.devices(self.store.now()).await
    }

    /// Signs a device out; `false` if there is none with this id. Its token is refused from now on.
    pub(super) async fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        let found = self.store.remove_device(id).await?;
        if found {
            self.are_removed(&[id]);
        }
        Ok(found)
    }

    /// These devices are not in the store any more. What is under way for them ends.
    pub(super) fn are_removed(&self, ids: &[i64]) {
        self.revoked.send_modify(|revoked| revoked.extend(ids));
    }

    /// Returns when the device is signed out.
    pub(super) fn revoked(&self, id: i64) -> impl Future<Output = ()> + Send + use<> {
        let (mut revoked, mut listed) = (self.revoked.subscribe(), self.listed.subscribe());
        let since = Instant::now();
        self.look_elsewhere();
        async move {
            // An error means that the daemon is gone, and the device with it.
            let is_missing = |listed: &Listed| listed.begun >= since && !listed.ids.contains(&id);
            tokio::select! {
                _ = revoked.wait_for(|revoked| revoked.contains(&id)) => {}
                _ = listed.wait_for(|listed| listed.as_ref().is_some_and(is_missing)) => {}
            }
        }
    }

    /// Whether a device is signed in at this moment. Another daemon of the store may have signed it out, or changed what its person may do.
    /// What is found out counts for everything that is open here.
    pub(super) async fn is_signed_in(&self, id: i64) -> Result<bool, StoreError> {
        if self.revoked.borrow().contains(&id) {
            return Ok(false);
        }
        if !self.store.is_shared() {
            return Ok(true);
        }
        let Some(device) = self.store.device_with_id(id, self.store.now()).await? else {
            self.are_removed(&[id]);
            return Ok(false);
        };
        device.person.iter().for_each(|person| drop(self.people.rights_of(person)));
        Ok(true)
    }

    /// Begins to look for what other daemons of the store do to devices.
    fn look_elsewhere(&self) {
        if self.store.is_shared() {
            self.looking.get_or_init(|| {
                tokio::spawn(keep_listed(self.store.clone(), self.people.clone(), self.listed.clone()));
            });
        }
    }
}

/// Lists the devices. If another daemon has changed what a person may do, that counts here, too.
async fn look(store: &Store, people: &People) -> Result<Listed, StoreError> {
    let begun = Instant::now();
    let devices = store.devices(store.now()).await?;
    devices.iter().filter_map(|device| device.person.as_ref()).for_each(|person| drop(people.rights_of(person)));
    Ok(Listed { begun, ids: devices.iter().map(|device| device.id).collect() })
}

/// Tells everybody who is connected, unless a later look was faster.
fn note(listed: &watch::Sender<Option<Listed>>, found: Listed) {
    listed.send_if_modified(|known| {
        let is_newer = known.as_ref().is_none_or(|known| known.begun < found.begun);
        if is_newer {
            *known = Some(found);
        }
        is_newer
    });
}

/// Lists the devices again and again, for as long as somebody wants to know.
async fn keep_listed(store: Store, people: People, listed: watch::Sender<Option<Listed>>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if listed.receiver_count() == 0 {
            continue;
        }
        match look(&store, &people).await {
            Ok(found) => note(&listed, found),
            Err(StoreError::Closed) => return,
            Err(error) => tracing::warn!(%error, "it is not known whether devices were signed out"),
        }
    }
}
